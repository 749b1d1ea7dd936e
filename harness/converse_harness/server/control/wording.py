"""Convert error messages about Python functions and arguments to messages about JSON members."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
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
    """Return a text in which a condition such as `when(model='*haiku*')` is written `when {"model": "*haiku*"}`."""

    def written(found: re.Match[str]) -> str:
        parts = {name: _value(value) for name, value in _PART.findall(found[1])}
        return "when {" + ", ".join(f'"{name}": {value}' for name, value in parts.items()) + "}"

    return _WHEN.sub(written, text)


def argument_in_json(text: str, first: str, *, beside: bool) -> str:
    """Return an error text with `function.name is value: ` in place of its beginning `function(name=value): `.

    If the name is `first`, the value is that of the member `function` itself, and the new beginning is
    `function is value: `. If `beside` is true, each other argument is a member of its own, and the new beginning is
    `name is value: `.
    """
    found = _ARGUMENT.match(text)
    if found is None:
        return text
    function, name, item = found["function"], found["name"], found["item"] or ""
    member = function if name in (None, first) else name if beside else f"{function}.{name}"
    return f"{member}{item} is {_value(found['value'])}: {text[found.end() :]}"


def pair_in_json(text: str, first: str, second: str) -> str:
    """Return an error text about one of two arguments, with the new beginning `function.argument is value: `.

    If the second argument is wrong, `text` begins with `function is [value, value]: `. If the first argument is wrong,
    it begins with `function is value: `.

    >>> pair_in_json('fails_after is [1, "throttled"]: it is no exception.', "events", "exception")
    'fails_after.exception is "throttled": it is no exception.'
    """
    text, pairs = _PAIR.subn(rf"\1.{second} is \2: ", text)
    return text if pairs else re.sub(r"^(\w+) is ", rf"\1.{first} is ", text)


_PAIR: Final = re.compile(r'^(\w+) is \[[^\[\],]*, ("(?:[^"\\]|\\.)*"|[^\[\],]*)\]: ')

_TYPES: Final = {
    "a dict": "an object",
    "a str": "a string",
    "an int": "a whole number",
    "a finite float or int": "a number",
    "a bool": "true or false",
    "bytes": "a string in base64",
}
"""The names of Python types in error messages, each with the name of the same type in JSON."""

_WRONG_TYPE: Final = re.compile(
    rf"is (?P<value>.*?)(?: \((?:str|int|float|bool|dict|list|NoneType)\))?(?P<must>[;:] it must be )"
    rf"(?P<type>{'|'.join(_TYPES)})\b"
)


def types_in_json(text: str) -> str:
    """Return an error text in which the wrong value and the required type are written as in JSON."""
    return _WRONG_TYPE.sub(
        lambda found: f"is {_value(found['value'])}{found['must']}{_TYPES[found['type']]}", text, count=1
    )


def setting_in_json(text: str) -> str:
    """Return an error text with `setting is value; ` in place of its beginning `setting=value; `."""
    return _SETTING.sub(lambda found: f"{found[1]} is {_value(found[2])}; ", text, count=1)


def _value(written: str) -> str:
    """Return the JSON text of a Python literal or of a `regex` pattern; of `<Reply ...>`, the text inside.

    Any other text is returned unchanged.
    """
    pattern = written.removeprefix("regex ")
    if written.startswith("<Reply "):
        return written[len("<Reply ") : -1]
    try:
        value = json.dumps(ast.literal_eval(pattern), ensure_ascii=False)
    except (ValueError, SyntaxError, TypeError):
        return written
    return value if pattern == written else f'{{"regex": {value}}}'


NOT_OVER_HTTP: Final[Mapping[str, str]] = {
    "connection_refused": (
        "a server that answers cannot refuse a connection. Give the client an endpoint where nothing listens, for "
        'instance "http://127.0.0.1:1"'
    ),
    "connect_timeout": (
        "a server that answers cannot be late to accept a connection. Give the client an address of no host, for "
        'instance "http://192.0.2.1"'
    ),
    "output": (
        "only Converse and ConverseStream have replies over HTTP. A response of Converse is written as "
        '{"response": {"output": ...}}'
    ),
}
"""The functions of `reply` that the control API does not offer, each with what to do instead."""
