"""Threads that disturb one another as much as they can."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager


@contextmanager
def taking_turns() -> Generator[None, None, None]:
    """Every thread may be interrupted after a few steps of its own."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work: Iterable[Callable[[], object]]) -> None:
    """Run each function in a thread of its own, all at once, and raise what the first of them raised."""
    functions, raised = [*work], list[BaseException]()
    # Threads that start in the same moment may not set the tracer of coverage, so all of them wait for the last one.
    ready = threading.Barrier(len(functions) + 1)

    def run(function: Callable[[], object]) -> None:
        ready.wait()
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            raised.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in functions]
    for thread in threads:
        thread.start()
    with taking_turns():
        ready.wait()
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]
