"""The environment of a child that coverage does not measure."""

import os
from collections.abc import Mapping


def untraced(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The same environment without the variables by which coverage measures a child process.

    For a child that is interrupted: the interrupt can arrive while coverage's tracer holds its lock
    (`Collector.lock_data`), and every thread that is traced waits for that lock for ever then. Seen 6 times in 180
    interrupts, with coverage 7.17 on CPython 3.13 and both cores busy. And for an example, which takes half the time.
    """
    return {name: value for name, value in environ.items() if not name.startswith("COVERAGE_PROCESS_")}
