"""pytest-run-parallel: it runs one test in several threads at once, and a fake of this process answers all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.plugin.settings import MARKER

PLUGINS: Final = ("run-parallel", "pytest_run_parallel.plugin")
"""The names under which pytest knows it: found where it is installed, or loaded with `-p`."""

_FIXTURES: Final = frozenset({"converse", "converse_client", "converse_httpx"})
_FUNCTIONS: Final = frozenset({"fake_converse", "record"})
_OURS: Final = str(Path(__file__).resolve().parents[1])

_REASON: Final = (
    "uses a fake of converse-harness that answers every thread of the process, so that threads would take each other's "
    "replies; one for each thread opens with converse_server.script(...)"
)


def in_one_thread(items: Iterable[pytest.Item]) -> None:
    """Mark tests that share a fake as `thread_unsafe`, so that pytest-run-parallel runs them once."""
    for item in items:
        used = _FIXTURES & {*getattr(item, "fixturenames", ())}
        if used or item.get_closest_marker(MARKER) or any(map(_opens_one, _functions(item))):
            item.add_marker(pytest.mark.thread_unsafe(reason=_REASON))


def _functions(item: pytest.Item) -> Iterator[Callable[..., Any]]:
    """The function of a test and the functions that it wraps."""
    function = getattr(item, "obj", None)
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


def _opens_one(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and (bool(_FUNCTIONS & {*code.co_names}) or code.co_filename.startswith(_OURS))
