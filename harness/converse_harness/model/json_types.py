"""The types that the JSON of a request has to have, as AWS reads it: before any rule about its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from converse_harness.errors import DamagedData
from converse_harness.model.service import Shape, body_shape, is_document

Reader = Callable[[Any], Any]

_JSON_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "a string"),
    "blob": ((str,), "a string of base64"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "long": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}
"""What each type of the model is in JSON, and how people call it. A timestamp has several forms."""

_READERS: Final[dict[str, Reader]] = {}


class _Mistyped(Exception):
    """A value of another type than its shape; `steps` lead to it from what is read, the last one first."""

    def __init__(self, value: object, called: str) -> None:
        self.problem = f"is a JSON {type(value).__name__}; it must be {called}."
        self.steps: list[str] = []


def read_json(shape_name: str, parsed: object) -> Any:
    """Parsed JSON in which every value has the type that a shape gives it. Raises DamagedData for the first other one.

    A member that is null counts as absent, as for AWS; members outside the model and documents stay as they are.

    >>> read_json("ContentBlock", {"text": "hi", "image": None})
    {'text': 'hi'}
    >>> read_json("ContentBlock", {"toolUse": {"name": 5}})
    Traceback (most recent call last):
    converse_harness.errors.DamagedData: toolUse.name is a JSON int; it must be a string.
    """
    reader = _READERS.get(shape_name)
    if reader is None:
        # Published once complete: another thread never meets a structure that still lacks members.
        fresh: dict[str, Reader] = {}
        reader = _reader(body_shape(shape_name), fresh)
        _READERS.update({**fresh, shape_name: reader})
    try:
        return reader(parsed)
    except _Mistyped as wrong:
        path = "".join(reversed(wrong.steps)).removeprefix(".")
        raise DamagedData(f"{path or 'the request body'} {wrong.problem}") from None


def _reader(shape: Shape, fresh: dict[str, Reader]) -> Reader:
    known = _READERS.get(shape.name) or fresh.get(shape.name)
    if known is not None:
        return known
    if shape.type_name in _JSON_TYPES:
        reader = fresh[shape.name] = _scalar(*_JSON_TYPES[shape.type_name])
    elif is_document(shape) or shape.type_name == "timestamp":
        reader = fresh[shape.name] = _as_it_is
    elif shape.type_name == "structure":
        # Entered before its members are made, which may hold it again.
        members: dict[str, Reader] = {}
        reader = fresh[shape.name] = _structure(members)
        members |= {name: _reader(each, fresh) for name, each in shape.members.items()}
    else:
        inner: list[Reader] = []
        reader = fresh[shape.name] = (_list if shape.type_name == "list" else _map)(inner)
        inner.append(_reader(shape.member if shape.type_name == "list" else shape.value, fresh))
    return reader


def _expect(expected: type, value: object, called: str) -> None:
    if type(value) is not expected:
        raise _Mistyped(value, called)


def _as_it_is(value: Any) -> Any:
    return value


def _scalar(types: tuple[type, ...], called: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) not in types:
            raise _Mistyped(value, called)
        return value

    return read


def _structure(members: Mapping[str, Reader]) -> Reader:
    def read(value: Any) -> Any:
        _expect(dict, value, "an object")
        found: dict[str, Any] = {}
        for name, item in value.items():
            if item is None:
                continue
            try:
                found[name] = members.get(name, _as_it_is)(item)
            except _Mistyped as wrong:
                wrong.steps.append(f".{name}")
                raise
        return found

    return read


def _list(inner: list[Reader]) -> Reader:
    def read(value: Any) -> Any:
        _expect(list, value, "a list")
        found: list[Any] = []
        for index, item in enumerate(value):
            try:
                found.append(inner[0](item))
            except _Mistyped as wrong:
                wrong.steps.append(f"[{index}]")
                raise
        return found

    return read


def _map(inner: list[Reader]) -> Reader:
    def read(value: Any) -> Any:
        _expect(dict, value, "an object")
        found: dict[str, Any] = {}
        for name, item in value.items():
            try:
                found[name] = inner[0](item)
            except _Mistyped as wrong:
                wrong.steps.append(f"[{name!r}]")
                raise
        return found

    return read
