"""Run the default tier many times in random order; in every second run, other processes keep all cores busy.

`nox -s flakes -- --help` lists the options; pytest gets all others, such as `-n 2`. A test that fails once is a flake.
The printed seed repeats its order.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

CLOSING_LINE = re.compile(r"^=* ?(\d+ \w+.* in [\d.]+s.*?) ?=*$", re.MULTILINE)


def main() -> int:
    """Run the tests; return the exit status, which is 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.flakes", description=__doc__, allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=20, help="how many runs (20)")
    parser.add_argument("--first-seed", type=int, default=0, help="of pytest-randomly; the next run has the next (0)")
    parser.add_argument("--quiet", action="store_true", help="keep no core busy")
    arguments, more = parser.parse_known_args()
    failed = 0
    for run in range(arguments.runs):
        busy = run % 2 == 1 and not arguments.quiet
        seed = arguments.first_seed + run
        command = ["pytest", "-q", "-p", "no:cacheprovider", f"--randomly-seed={seed}", *more]
        started = time.monotonic()
        with every_core_busy() if busy else idle():
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
        closing = CLOSING_LINE.findall(done.stdout)
        how = "busy" if busy else "idle"
        verdict = closing[-1] if closing else f"pytest ended with {done.returncode}"
        print(f"{run + 1:3} seed {seed} {how} {seconds:5.0f} s  {verdict}", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout[-20_000:], flush=True)
    print(f"{arguments.runs - failed} of {arguments.runs} runs passed")
    return 1 if failed else 0


@contextmanager
def every_core_busy() -> Iterator[None]:
    """Start one process for each core, which computes without end, but not longer than this process lives."""
    # After a run was killed, such a process once used a core for two hours and made all measurements wrong.
    loop = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass"]
    processes = [subprocess.Popen(loop) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def idle() -> Iterator[None]:
    """Start no process."""
    yield


if __name__ == "__main__":
    sys.exit(main())
