"""Skip the waits of tenacity between attempts, in a `with` block; open fakes skip those of botocore and strands."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_waits_of_tenacity() -> Generator[None, None, None]:
    """Context manager: in its block, tenacity sleeps 0 seconds between attempts, in threads and in event loops.

    Before it sleeps, tenacity makes a `DoSleep`, a float of seconds. This function gives this class a `__new__` that
    returns 0 seconds, and removes it at the end.
    """
    tenacity: Any = sys.modules.get("tenacity")
    sleep: Any = getattr(tenacity, "DoSleep", None)
    if not isinstance(sleep, type) or "__new__" in vars(sleep):
        yield
        return

    def no_seconds(kind: Any, *_: object) -> Any:
        return float.__new__(kind, 0.0)

    setattr(sleep, "__new__", no_seconds)  # noqa: B010 - a type checker knows no assignment to it
    try:
        yield
    finally:
        del sleep.__new__
