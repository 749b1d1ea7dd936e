"""The environment of a child that is interrupted: coverage does not measure it."""

import os
from collections.abc import Mapping


def untraced(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The same environment without coverage's own variables, which would measure a child process too.

    An interrupt can arrive while coverage's tracer holds its lock (`Collector.lock_data`); every thread that is traced
    waits for that lock for ever then. Seen 6 times in 180 interrupts with coverage 7.17 on CPython 3.13, busy.
    """
    return {name: value for name, value in environ.items() if not name.startswith("COVERAGE_PROCESS_")}
