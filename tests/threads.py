"""Run functions in threads that interrupt each other as often as possible."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager


@contextmanager
def taking_turns() -> Generator[None, None, None]:
    """Make a context in which the interpreter switches between threads after a few steps."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work: Iterable[Callable[[], object]]) -> None:
    """Run each function in its own thread, all at the same time. Raise the first exception that a function raised."""
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
