"""The environment for a child process that coverage does not measure."""

import os
from collections.abc import Mapping


def untraced(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment without the variables that make coverage measure a child process.

    Use it for a child process that a test interrupts. The interrupt can arrive while coverage's tracer holds its lock
    (`Collector.lock_data`); then every traced thread waits for this lock forever. This happened 6 times in 180
    interrupts, with coverage 7.17 on CPython 3.13 and both cores busy. Examples use it too; it halves their time.
    """
    return {name: value for name, value in environ.items() if not name.startswith("COVERAGE_PROCESS_")}
