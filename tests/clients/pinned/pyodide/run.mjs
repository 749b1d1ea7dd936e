// Pyodide runs a Python file of the host: node run.mjs NODE_MODULES PACKAGES PROJECT FILE ARGUMENT...
//
// PACKAGES is a folder on Python's path and PROJECT the working folder; the exit status is what the file's function
// `status` returns for the arguments.
import fs from "node:fs";
import { createRequire } from "node:module";
import { isMainThread, Worker, workerData } from "node:worker_threads";

if (isMainThread) {
  // Python's stack is that of the thread. On the main thread's, a deep recursion ends Node before Python notices it.
  const limits = { stackSizeMb: 200, maxOldGenerationSizeMb: 4096 };
  const worker = new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2), resourceLimits: limits });
  worker.on("exit", (status) => {
    const { user, system } = process.cpuUsage();
    console.log(`CPython in Pyodide took ${((user + system) / 1e6).toFixed(0)} s of CPU.`);
    process.exit(status);
  });
} else {
  const [modules, packages, project, file, ...given] = workerData;
  const { loadPyodide } = createRequire(`${modules}/`)("pyodide");
  const python = await loadPyodide({ env: { HOME: "/tmp" } });
  // A worker has no file descriptors of its own, which Pyodide would ask Node for.
  python.setStdin({ stdin: () => null });
  python.setStdout({ write: (bytes) => fs.writeSync(1, bytes), isatty: false });
  python.setStderr({ write: (bytes) => fs.writeSync(2, bytes), isatty: false });
  for (const [name, folder] of Object.entries({ packages, project })) {
    python.FS.mkdir(`/${name}`);
    python.mountNodeFS(`/${name}`, folder);
  }
  const names = python.toPy({ file, given });
  process.exit(
    python.runPython(
      "import os, runpy, sys; sys.path.insert(0, '/packages'); os.chdir('/project'); " +
        "runpy.run_path(file)['status'](given)",
      { globals: names },
    ),
  );
}
