"""Commands for people to type: what is printed works in the shells of POSIX, and in cmd and PowerShell on Windows."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./~-]+")
"""Matches a word that no shell needs in quotes."""

_ON_WINDOWS: Final = os.name == "nt"


def quoted(text: str, *, always: bool = False) -> str:
    """Return `text` as one word of a command; a word without special characters gets quotes only if `always` is true.

    The quotes are double if possible, because cmd knows no others.

    >>> quoted("recordings/test_trip.jsonl"), quoted("test_trip[a-b].jsonl"), quoted("a$b")
    ('recordings/test_trip.jsonl', '"test_trip[a-b].jsonl"', "'a$b'")
    """
    if _PLAIN.fullmatch(text) and not text.startswith("~") and not always:
        return text
    if _ON_WINDOWS:
        return '"{}"'.format(text.replace('"', r"\""))
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'


def words(command: str) -> list[str]:
    """Split a command into its words and remove their quotes. On Windows, a backslash is part of a path.

    >>> words('-k "two words" tests')
    ['-k', 'two words', 'tests']
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    if _ON_WINDOWS:
        lexer.escape = ""
    return list(lexer)


def joined(each: Iterable[str]) -> str:
    """Return a command of these words."""
    return " ".join(map(quoted, each))


def make_folder(path: str) -> str:
    """Return the command that makes a folder and the folders above it."""
    return f"mkdir {quoted(path, always=True)}" if _ON_WINDOWS else f"mkdir -p {quoted(path)}"


def set_variables(variables: Mapping[str, str]) -> str:
    """Return the line that sets environment variables for the programs that are started later; PowerShell's on Windows.

    >>> set_variables({"AWS_REGION": "us-east-1", "AWS_PROFILE": "my own"})
    'export AWS_REGION=us-east-1 AWS_PROFILE="my own"'
    """
    if _ON_WINDOWS:
        return "; ".join(f"$env:{name} = {quoted(value, always=True)}" for name, value in variables.items())
    return f"export {' '.join(f'{name}={quoted(value)}' for name, value in variables.items())}"
