"""Convert boto3's values to JSON and back, and check the types in a request's JSON as AWS does."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from json.encoder import encode_basestring
from sys import intern
from typing import Any, Final

from converse_harness.bedrock.api.checks import INTEGERS, is_array, is_object
from converse_harness.bedrock.api.service import SERVICE, Shape, ShapeWalk, body_shape, is_document
from converse_harness.errors import DamagedData, ReplyError
from converse_harness.json_values import Unsearched
from converse_harness.words import shown

Reader = Callable[[Any], Any]

_JSON_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}
"""Maps a type of AWS's API model to the Python types that parsed JSON may have, and to the type's description in
messages. Integers and blobs have checks of their own. Timestamps are not checked, because they have several forms."""


class _Mistyped(Exception):
    """Raised for a JSON value that does not fit its shape; `steps` is the path to the value, innermost step first."""

    def __init__(self, value: object, called: str, came: str = "") -> None:
        self.problem = f"is {came or f'a JSON {type(value).__name__}'}; it must be {called}."
        self.steps: list[str] = []


def read_json(shape_name: str, parsed: object, *, recorded: bool = False, of: str = SERVICE) -> Any:
    """Check the types of parsed JSON against a shape, and return the JSON without members that are null.

    AWS treats such members as absent. Unknown members and free-form documents are not changed. Blobs stay base64 text;
    if `recorded` is true, any text is accepted, because recordings contain shortened files and digests. `of` is the
    service whose model has the shape. Raises DamagedData for the first wrong type.

    >>> read_json("ContentBlock", {"text": "hi", "image": None})
    {'text': 'hi'}
    >>> read_json("ContentBlock", {"toolUse": {"name": 5}})
    Traceback (most recent call last):
    converse_harness.errors.DamagedData: toolUse.name is a JSON int; it must be a string.
    """
    try:
        return _readers(of, recorded=recorded)[shape_name](parsed)
    except _Mistyped as wrong:
        path = "".join(reversed(wrong.steps)).removeprefix(".")
        raise DamagedData(f"{path or 'the request body'} {wrong.problem}") from None


class _Readers(ShapeWalk[Reader]):
    """Maps the name of each shape to its reader, a function that checks a parsed JSON value and returns it.

    `blob` is the reader of blobs. The readers of structures leave out members that are null.
    """

    def __init__(self, blob: Reader, of: str) -> None:
        super().__init__(of)
        self._scalars = {name: _scalar(*each) for name, each in _JSON_TYPES.items()}
        self._scalars |= {name: _whole_number(*each) for name, each in INTEGERS.items()}
        self._scalars["blob"] = blob

    def plain(self, shape: Shape) -> Reader:
        return self._scalars.get(shape.type_name, _as_it_is)

    def holder(self, shape: Shape, inner: Mapping[str, Reader]) -> Reader:
        return _HOLDER_READERS[shape.type_name](inner)


def _as_it_is(value: Any) -> Any:
    return value


def _scalar(types: tuple[type, ...], called: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) not in types:
            raise _Mistyped(value, called)
        return value

    return read


def _whole_number(least: int, most: int) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not int:
            raise _Mistyped(value, "a whole number")
        if not least <= value <= most:
            raise _Mistyped(value, f"{least} to {most}", shown(value))
        return value

    return read


def _encoded(value: Any) -> Any:
    _TEXT_OF_BLOB(value)
    try:
        base64.b64decode(value, validate=True)
    except ValueError as error:
        raise _Mistyped(value, "base64", f"{shown(value)} ({error})") from None
    return value


def _structure(members: Mapping[str, Reader]) -> Reader:
    def read(value: Any) -> Any:
        if value.__class__ is not dict:  # faster than is_object(); runs for every object of every request
            raise _Mistyped(value, "an object")
        found: dict[str, Any] = {}
        for name, item in value.items():
            if item is None:
                continue
            try:
                found[intern(name)] = members.get(name, _as_it_is)(item)  # many messages are kept, with equal names
            except _Mistyped as wrong:
                wrong.steps.append(f".{name}")
                raise
        return found

    return read


def _list(inner: Mapping[str, Reader]) -> Reader:
    def read(value: Any) -> Any:
        if value.__class__ is not list:
            raise _Mistyped(value, "a list")
        items: list[Any] = value
        return _each_read(inner["member"], enumerate(items))

    return read


def _map(inner: Mapping[str, Reader]) -> Reader:
    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _Mistyped(value, "an object")
        return dict(zip(value, _each_read(inner["value"], value.items()), strict=True))

    return read


def _each_read(read: Reader, items: Iterable[tuple[int | str, Any]]) -> list[Any]:
    found: list[Any] = []
    for step, item in items:
        try:
            found.append(read(item))
        except _Mistyped as wrong:
            wrong.steps.append(f"[{step!r}]")
            raise
    return found


_HOLDER_READERS: Final[Mapping[str, Callable[[Mapping[str, Reader]], Reader]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
}

_TEXT_OF_BLOB: Final = _scalar((str,), "a string of base64")


def _recorded(value: Any) -> Any:
    return value if isinstance(value, Unsearched) else _TEXT_OF_BLOB(value)


@cache
def _readers(service: str, *, recorded: bool) -> _Readers:
    return _Readers(_recorded if recorded else _encoded, service)


_Encode = Callable[[Any], str]


def to_json(shape_name: str, value: object, of: str = SERVICE) -> str:
    """Encode a value of a shape as compact JSON with sorted structure keys, base64 blobs and all unknown members.

    `of` is the service whose model has the shape. Raises NotInModel for an unknown shape, ReplyError for a value that
    JSON cannot represent.

    >>> to_json("ContentBlockDeltaEvent", {"p": "abc", "delta": {"text": "Zürich"}, "contentBlockIndex": 0})
    '{"contentBlockIndex":0,"delta":{"text":"Zürich"},"p":"abc"}'
    """
    text = (_ENCODERS if of == SERVICE else _encoders(of))[shape_name](value)
    return text if text.isascii() else _encodable(text)


def from_json(shape_name: str, parsed: object, of: str = SERVICE) -> Any:
    r"""Convert parsed JSON to a value of a shape, of the service `of`.

    Blobs become bytes, and timestamps become datetimes. Other values and unknown members do not change.

    >>> from_json("ImageSource", {"bytes": "iVBORw=="})
    {'bytes': b'\x89PNG'}
    """
    return _decode(body_shape(shape_name, of), parsed)


class _Encoders(ShapeWalk[_Encode]):
    """Maps the name of each shape to its encoder, a function that converts a value to JSON text."""

    def plain(self, shape: Shape) -> _Encode:
        if shape.type_name == "timestamp" and shape.serialization.get("timestampFormat") == "iso8601":
            return _iso8601
        return _SCALARS.get(shape.type_name, _document)

    def holder(self, shape: Shape, inner: Mapping[str, _Encode]) -> _Encode:
        if shape.type_name == "list":
            return _listed(inner)
        if shape.type_name == "structure":
            names = names_in_json(shape)
            return _renamed(names, inner) if names else _keyed(inner, _document)
        return _keyed({}, lambda item: inner["value"](item))  # noqa: PLW0108  (`inner` is still empty here)


def _keyed(members: Mapping[str, _Encode], encode_other: _Encode) -> _Encode:
    def encode(value: Any) -> str:
        if value.__class__ is not dict and not is_object(value):
            return _document(value)
        try:
            return (
                "{"
                + ",".join(
                    [f"{encode_basestring(key)}:{members.get(key, encode_other)(value[key])}" for key in sorted(value)]
                )
                + "}"
            )
        except TypeError:  # a key is not a str: `json` converts the key, or refuses it
            return _document(value)

    return encode


def names_in_json(shape: Shape) -> Mapping[str, str]:
    """Map the members of a structure that have another name in JSON to this name. Few structures have such members."""
    named = {name: each.serialization.get("name", name) for name, each in shape.members.items()}
    located = {name for name, each in shape.members.items() if "location" in each.serialization}
    return {name: in_json for name, in_json in named.items() if in_json != name and name not in located}


def _renamed(names: Mapping[str, str], members: Mapping[str, _Encode]) -> _Encode:
    def encode(value: Any) -> str:
        if not is_object(value):
            return _document(value)
        pairs = ((names.get(key, key), members.get(key, _document)(item)) for key, item in sorted(value.items()))
        return "{" + ",".join(f"{_document(key)}:{item}" for key, item in pairs) + "}"

    return encode


def _listed(inner: Mapping[str, _Encode]) -> _Encode:
    def encode(value: Any) -> str:
        if not is_array(value):
            return _document(value)
        return "[" + ",".join(map(inner["member"], value)) + "]"

    return encode


def _integer(value: Any) -> str:
    return str(value) if type(value) is int else _document(value)


def _iso8601(value: Any) -> str:  # a text is in ISO 8601 already
    return _document(_utc(value).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value)


def _epoch_seconds(value: Any) -> str:
    value = to_datetime(value) if isinstance(value, str) else value
    if not isinstance(value, datetime):
        return _document(value)
    seconds = round(_utc(value).timestamp(), 3)
    return _document(int(seconds) if seconds.is_integer() else seconds)


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _plain(value: Any) -> Any:
    # The `default` hook of `json`: called for each value of a type that `json` cannot encode.
    if is_object(value):
        return dict(value)
    if isinstance(value, bytes | bytearray):
        return _base64(value)
    if isinstance(value, datetime):
        return _utc(value).isoformat().replace("+00:00", "Z")
    raise TypeError(f"a value is {shown(value)} ({type(value).__name__})")


_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def _document(value: Any) -> str:
    try:
        return _dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ReplyError(
            f"{error}: JSON cannot carry it. A value is made of dict with str keys, list, str, int, float, bool and "
            "None, blobs of bytes, and does not contain itself."
        ) from error


_SCALARS: Final[Mapping[str, _Encode]] = {
    "string": lambda value: encode_basestring(value) if isinstance(value, str) else _document(value),
    "integer": _integer,
    "long": _integer,
    "float": _document,
    "double": _document,
    "boolean": _document,
    "blob": lambda value: f'"{_base64(value)}"' if isinstance(value, bytes | bytearray) else _document(value),
    "timestamp": _epoch_seconds,
}

_ENCODERS: Final = _Encoders()
_encoders: Final = cache(_Encoders)


def _encodable(text: str) -> str:
    """Escape the lone surrogates in a JSON text, because UTF-8 cannot encode them. Valid values contain none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(each):04x}" if "\ud800" <= each <= "\udfff" else each for each in text)
    return text


def to_datetime(sent: Any) -> Any:
    """Return the time that a number of seconds or a text in ISO 8601 stands for; any other value is not changed."""
    try:
        if isinstance(sent, int | float) and not isinstance(sent, bool):
            return datetime.fromtimestamp(sent, UTC)
        found = datetime.fromisoformat(sent) if isinstance(sent, str) else sent
    except (ValueError, OverflowError, OSError):
        return sent
    return _utc(found) if isinstance(found, datetime) else found


def _decode(shape: Shape, parsed: Any) -> Any:
    if is_document(shape):
        return parsed
    if shape.type_name == "structure" and is_object(parsed):
        members, names = shape.members, {in_json: name for name, in_json in names_in_json(shape).items()}
        found: Mapping[Any, Any] = {names.get(key, key): item for key, item in parsed.items()} if names else parsed
        return {key: _decode(members[key], item) if key in members else item for key, item in found.items()}
    if shape.type_name == "map" and is_object(parsed):
        return {key: _decode(shape.value, item) for key, item in parsed.items()}
    if shape.type_name == "list" and is_array(parsed):
        return [_decode(shape.member, item) for item in parsed]
    if shape.type_name == "timestamp":
        return to_datetime(parsed)
    if shape.type_name == "blob" and isinstance(parsed, str):
        try:
            return base64.b64decode(parsed, validate=True)
        except ValueError:
            return parsed
    return parsed
