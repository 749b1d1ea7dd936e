"""`converse-harness init`: write the files with which tests in another language use the fake."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from converse_harness.cli.terminal import BOLD, Arguments, CommandFailed, say
from converse_harness.words import plural

_FILES: Final[Mapping[str, tuple[str, ...]]] = {"vitest": ("converse.ts", "converse-api.d.ts")}
"""Maps each kind of tests to the names of its files, which are in the folder of that kind beside this module."""

_NEXT: Final[Mapping[str, str]] = {
    "vitest": """\
In vitest.config.ts, one server for the whole run; without it each test file starts its own:

  export default defineConfig({{ test: {{ globalSetup: ["{first}"] }} }});

In tsconfig.json, with @types/node installed; TypeScript 7 looks for no types by itself:

  "types": ["node"]

In a test, with the path from there:

  import {{ fakeBedrock }} from "./converse";

  test("answers", async (t) => {{
    const fake = await fakeBedrock(t, {{ script: [{{ text: "18 °C and sunny." }}] }});
    const client = new BedrockRuntimeClient(fake.config);
    // Run your agent with this client; what it asked is in `await fake.calls()`.
  }});

More: converse-harness docs javascript""",
}
"""Maps each kind of tests to the text that is printed after its files are written."""

DESCRIPTION: Final = (
    "Write the files by which tests in another language use the fake. `vitest` is for TypeScript with vitest or "
    "node:test: converse.ts opens a fake for each test and checks it at the end of the test; converse-api.d.ts has the "
    "types of the control API."
)
ARGUMENTS: Final[Arguments] = {
    "kind": {"metavar": "KIND", "choices": [*_FILES], "help": f"what runs the tests: {', '.join(_FILES)}"},
    "dir": {
        "metavar": "DIR",
        "nargs": "?",
        "type": Path,
        "default": Path(),
        "help": "the folder for the files; it is made if it is missing (default: the current one)",
    },
    "--force": {"action": "store_true", "help": "write over files that are there"},
}


def run(given: argparse.Namespace) -> int:
    """Write the files and print the next steps; return the exit code 0.

    Raises CommandFailed if a file cannot be written. If a file exists and --force is not given, raises CommandFailed
    before any file is written.
    """
    paths = {given.dir / name: files("converse_harness.features.vitest").joinpath(name) for name in _FILES[given.kind]}
    there = [str(path) for path in paths if path.exists()]
    if there and not given.force:
        raise CommandFailed(
            f"{' and '.join(there)} {plural(len(there), 'is', 'are')} there already, and nothing is written. "
            "Give another DIR, or write over it with --force."
        )
    try:
        given.dir.mkdir(parents=True, exist_ok=True)
        for path, source in paths.items():
            path.write_bytes(source.read_bytes())
    except OSError as error:
        raise CommandFailed(f"{error.filename or given.dir} cannot be written: {error.strerror or error}") from error
    say(f"Wrote {' and '.join(map(str, paths))}.", BOLD)
    say()
    first = next(iter(paths)).as_posix()
    say(_NEXT[given.kind].format(first=first if given.dir.is_absolute() else f"./{first}"))
    return 0
