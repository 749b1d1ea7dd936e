"""JSON as Bedrock Runtime sends it: rest-json bodies and the payloads of stream events.

Compact, UTF-8 unescaped, the keys of every structure sorted; a free-form document keeps its own order. So recorded
AWS answers decode and encode again byte for byte. Illegal values encode too (they are sent on request): what does not
fit its shape is written as the JSON that it is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import Any, Final

from converse_harness.errors import ReplyError
from converse_harness.model.findings import shown
from converse_harness.model.service import Shape, body_shape, is_document
from converse_harness.model.values import is_array, is_object

Encode = Callable[[Any], str]


def to_json(shape_name: str, value: object) -> str:
    """A value of a shape as compact JSON: structure keys sorted, blobs in base64, members outside the model included.

    Raises NotInModel for an unknown shape, ReplyError for a value that JSON cannot carry at all.

    >>> to_json("ContentBlockDeltaEvent", {"p": "abc", "delta": {"text": "Zürich"}, "contentBlockIndex": 0})
    '{"contentBlockIndex":0,"delta":{"text":"Zürich"},"p":"abc"}'
    """
    encode = _ENCODERS.get(shape_name) or _compile(shape_name)
    text = encode(value)
    return text if text.isascii() else _encodable(text)


def from_json(shape_name: str, parsed: object) -> Any:
    r"""The value of a shape from parsed JSON: blobs become bytes, all else stays, members outside the model included.

    >>> from_json("ImageSource", {"bytes": "iVBORw=="})
    {'bytes': b'\x89PNG'}
    """
    return _decode(body_shape(shape_name), parsed)


_ENCODERS: Final[dict[str, Encode]] = {}


def _compile(shape_name: str) -> Encode:
    # Shapes may contain themselves, so encoders refer to each other by `fresh`; they are published once complete, so
    # that another thread never meets half of one.
    fresh: dict[str, Encode] = {}
    encode = _encoder(body_shape(shape_name), fresh)
    _ENCODERS.update(fresh)
    _ENCODERS[shape_name] = encode
    return encode


def _encoder(shape: Shape, fresh: dict[str, Encode]) -> Encode:
    if is_document(shape):
        return _document
    if shape.type_name == "timestamp":
        return _iso8601 if shape.serialization.get("timestampFormat") == "iso8601" else _epoch_seconds
    if shape.type_name not in ("structure", "map", "list"):
        return _SCALARS[shape.type_name]
    known = _ENCODERS.get(shape.name) or fresh.get(shape.name)
    if known is not None:
        return known
    if shape.type_name == "structure":
        members: dict[str, tuple[str, Encode]] = {}
        fresh[shape.name] = encode = _keyed(members, _document)
        for name, each in shape.members.items():
            members[name] = f"{encode_basestring(name)}:", _encoder(each, fresh)
        return encode
    inner: list[Encode] = []
    if shape.type_name == "list":
        fresh[shape.name] = encode = _listed(inner)
        inner.append(_encoder(shape.member, fresh))
    else:
        fresh[shape.name] = encode = _keyed({}, lambda item: inner[0](item))  # noqa: PLW0108  (inner is empty as yet)
        inner.append(_encoder(shape.value, fresh))
    return encode


def _keyed(members: Mapping[str, tuple[str, Encode]], encode_other: Encode) -> Encode:
    def encode(value: Any) -> str:
        if not is_object(value):
            return _document(value)
        try:
            keys = sorted(value)
        except TypeError:
            return _document(value)
        parts: list[str] = []
        for key in keys:
            member = members.get(key)
            if member is not None:
                parts.append(member[0] + member[1](value[key]))
            elif isinstance(key, str):
                parts.append(f"{encode_basestring(key)}:{encode_other(value[key])}")
            else:
                return _document(value)
        return "{" + ",".join(parts) + "}"

    return encode


def _listed(inner: list[Encode]) -> Encode:
    def encode(value: Any) -> str:
        if not is_array(value):
            return _document(value)
        encode_item = inner[0]
        return "[" + ",".join([encode_item(item) for item in value]) + "]"

    return encode


def _string(value: Any) -> str:
    return encode_basestring(value) if isinstance(value, str) else _document(value)


def _integer(value: Any) -> str:
    return str(value) if type(value) is int else _document(value)


def _blob(value: Any) -> str:
    return f'"{_base64(value)}"' if isinstance(value, bytes | bytearray) else _document(value)


def _iso8601(value: Any) -> str:
    return _document(_utc(value).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value)


def _epoch_seconds(value: Any) -> str:
    if not isinstance(value, datetime):
        return _document(value)
    seconds = round(_utc(value).timestamp(), 3)
    return _document(int(seconds) if seconds.is_integer() else seconds)


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _plain(value: Any) -> Any:
    # What `json` asks for each value that it does not know.
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


_SCALARS: Final[Mapping[str, Encode]] = {
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "float": _document,
    "double": _document,
    "boolean": _document,
    "blob": _blob,
}


def _encodable(text: str) -> str:
    """The same JSON with lone surrogates escaped, which UTF-8 cannot carry; they come from illegal values only."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(each):04x}" if "\ud800" <= each <= "\udfff" else each for each in text)
    return text


def _decode(shape: Shape, parsed: Any) -> Any:
    if is_document(shape):
        return parsed
    if shape.type_name == "structure" and is_object(parsed):
        members = shape.members
        return {key: _decode(members[key], item) if key in members else item for key, item in parsed.items()}
    if shape.type_name == "map" and is_object(parsed):
        return {key: _decode(shape.value, item) for key, item in parsed.items()}
    if shape.type_name == "list" and is_array(parsed):
        return [_decode(shape.member, item) for item in parsed]
    if shape.type_name == "blob" and isinstance(parsed, str):
        try:
            return base64.b64decode(parsed, validate=True)
        except ValueError:
            return parsed
    return parsed
