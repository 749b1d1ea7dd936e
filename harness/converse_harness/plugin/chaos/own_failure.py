"""Decide whether an exception is a failed assertion of the test itself, and whether this assertion reads calls."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Final

import pytest

_CALLS: Final = frozenset(
    (
        *("assert_any_call", "assert_awaited_once", "assert_called_once", "assert_called_once_with"),
        *("assert_called_with", "assert_has_calls", "await_count", "call_args", "call_args_list", "call_count"),
        *("calls", "mock_calls", "transcript"),
    )
)
"""The attributes that read or count the calls of a fake or of a mock."""

_ACCIDENTS: Final = (LookupError, AttributeError, TypeError, ValueError)
"""Exceptions of a test that unpacks a result of an unexpected form; ValueError comes from unpacking too many values."""

_ERROR_WORDS: Final = re.compile(
    r"\w*(?:error|exception)\w*|fail\w*|time[ds]?[ -]?out|throttl\w*|unavailable|incomplete|interrupted|truncated",
    re.IGNORECASE,
)


def whole(error: BaseException) -> BaseException:
    """Return the only exception in a group of exceptions; return a group with several exceptions unchanged."""
    inner: tuple[BaseException, ...]
    while len(inner := getattr(error, "exceptions", ())) == 1:
        error = inner[0]
    return error


def own_line(error: BaseException, test_file: Path, function: str) -> tuple[str, int] | None:
    """Return the file and line of the failed code if it is the test's own; None if the error comes from other code.

    An assertion or `pytest.fail` is the test's own if it is in the test's file, or in a module whose assertions pytest
    rewrites: conftest.py and test helpers. An accident such as IndexError is the test's own if the test function itself
    raised it while it unpacked the result. Frames of pytest and unittest that raise for the test are ignored.
    """
    frames = [(frame, line) for frame, line in walk_tb(error.__traceback__) if not _of_framework(frame)]
    if not frames:
        return None
    frame, line = frames[-1]
    file = frame.f_code.co_filename
    if "@pytest_ar" not in frame.f_globals and Path(file) != test_file:
        return None
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return file, line
    return (file, line) if isinstance(error, _ACCIDENTS) and frame.f_code.co_name == function else None


def _of_framework(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in ("_pytest", "pytest", "unittest", "pluggy", "converse_harness")


def reads_calls(line: tuple[str, int]) -> bool:
    """Whether the statement in this line reads calls, as `assert len(converse.calls) == 2` does.

    A fake or mock counts more calls if the code under test repeats a request. Names to which calls were assigned count
    as calls too.
    """
    statement = _statement(*line)
    if statement is None:
        return False
    assigned = {
        target.id
        for node in _statements(line[0])
        if isinstance(node, ast.Assign) and _mentions_calls(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return _mentions_calls(statement) or bool(names & assigned)


def _mentions_calls(tree: ast.AST) -> bool:
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool(attributes & _CALLS)


def names_an_error(error: BaseException, line: tuple[str, int]) -> bool:
    """Whether a failed assertion shows the text of an error that the assertion's own source does not contain.

    An example is `assert 'failed: ThrottlingException' == 'Hi'`: the code under test returned an error as its result.
    """
    if not isinstance(error, AssertionError):
        return False
    statement = _statement(*line)
    source = "" if statement is None else ast.unparse(statement).lower()
    return any(word.lower() not in source for word in _ERROR_WORDS.findall(str(error)))


def _statement(file: str, line: int) -> ast.stmt | None:
    found = [node for node in _statements(file) if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(found, key=lambda node: node.lineno, default=None)


@cache
def _statements(file: str) -> list[ast.stmt]:
    try:
        module = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(module) if isinstance(node, ast.stmt)]
