"""Texts that were written for Python, in the words of JSON."""

from __future__ import annotations

import ast
import json
import re
from typing import Final

_VALUE: Final = r"""(?:regex )?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+)"""
_PART: Final = re.compile(rf"(\w+)=({_VALUE})")
_WHEN: Final = re.compile(rf"\bwhen\((\w+={_VALUE}(?:, \w+={_VALUE})*)\)")
_ARGUMENT: Final = re.compile(
    r"(?P<function>\w+)\((?:(?P<name>\w+)(?P<item>(?:\[\d+\])*)=)?"
    r"(?P<value><Reply .*?>|(?:(?!, \w+=)[^()])*)\): "
)
_SETTING: Final = re.compile(r"(\w+)=(.*?); ")


def conditions_in_json(text: str) -> str:
    """Return a text in which each condition `when(model='*haiku*')` is written as `when {"model": "*haiku*"}`."""

    def written(found: re.Match[str]) -> str:
        parts = {name: _value(value) for name, value in _PART.findall(found[1])}
        return "when {" + ", ".join(f'"{name}": {value}' for name, value in parts.items()) + "}"

    return _WHEN.sub(written, text)


def argument_in_json(text: str, first: str, *, beside: bool) -> str:
    """Return an error text whose beginning `function(name=value): ` is written as `function.name is value: `.

    `first` is the name of the argument that is the member's own value. With `beside`, the other arguments stand beside
    the member.
    """
    found = _ARGUMENT.match(text)
    if found is None:
        return text
    function, name, item = found["function"], found["name"], found["item"] or ""
    member = function if name in (None, first) else name if beside else f"{function}.{name}"
    return f"{member}{item} is {_value(found['value'])}: {text[found.end() :]}"


def setting_in_json(text: str) -> str:
    """Return an error text whose beginning `setting=value; ` is written as `setting is value; `."""
    return _SETTING.sub(lambda found: f"{found[1]} is {_value(found[2])}; ", text, count=1)


def _value(written: str) -> str:
    """Return a literal of Python as JSON, and anything else as it is."""
    pattern = written.removeprefix("regex ")
    if written.startswith("<Reply "):
        return written[len("<Reply ") : -1]
    try:
        value = json.dumps(ast.literal_eval(pattern), ensure_ascii=False)
    except (ValueError, SyntaxError, TypeError):
        return written
    return value if pattern == written else f'{{"regex": {value}}}'
