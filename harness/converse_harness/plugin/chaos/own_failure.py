"""Decide whether an exception is a failed assertion of the test itself, and whether it checks a fake's calls."""

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
"""Exceptions that a test may raise when it unpacks a result of an unexpected form, such as one with too many values."""

_ERROR_WORDS: Final = re.compile(
    r"\w*(?:error|exception)\w*|fail\w*|time[ds]?[ -]?out|throttl\w*|unavailable|incomplete|interrupted|truncated",
    re.IGNORECASE,
)


def whole(error: BaseException) -> BaseException:
    """Return the single exception in a group, also if the group has several levels.

    Return a group of several exceptions, or any other exception, unchanged.
    """
    inner: tuple[BaseException, ...]
    while len(inner := getattr(error, "exceptions", ())) == 1:
        error = inner[0]
    return error


def own_line(error: BaseException, test_file: Path, function: str) -> tuple[str, int] | None:
    """Return the file and line of the failed code if it is the test's own; None if the error comes from other code.

    An assertion or `pytest.fail` is the test's own if it is in the test's file, or in a module whose assertions pytest
    rewrites: conftest.py and test helpers. An exception in `_ACCIDENTS`, such as IndexError, is the test's own only if
    a function named `function` raised it there. Frames of pytest and unittest that raise for the test are ignored.
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
    """Whether the statement at `line` (a file and a line number) reads or counts the calls of a fake or a mock.

    An example is `assert len(converse.calls) == 2`. Such a statement may fail only because the code under test repeated
    a request. A statement also reads calls if it uses a name to which calls were assigned.
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
    """Whether the message of a failed assertion has a word for an error, such as "exception", that its source lacks.

    An example is `assert 'failed: ThrottlingException' == 'Hi'`: the code under test returned an error as its result.
    `line` is the file and the line number of the assertion.
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
