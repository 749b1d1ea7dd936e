"""The items of a request's JSON: each message, and each other member. What several requests repeat is kept once.

An agent sends its whole conversation again with every call. Therefore a RequestReader compares the text of each item
with the items of earlier requests, and parses only new ones. Whatever is computed from an item alone, such as its
weight in tokens, is computed once (`RequestItem.once`). Equality means equal bytes: `1` and `1.0` are different items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from sys import intern
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeVar
from weakref import WeakValueDictionary

from converse_harness import bedrock
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_array

_T = TypeVar("_T")


class RequestItem:
    """A message or another member of a request: its JSON `value` without nulls, and its `text` as it was sent.

    All requests that repeat the item share this object. Therefore nobody may change the value.
    """

    __slots__ = ("__weakref__", "_known", "text", "value")

    def __init__(self, value: Any, text: str = "") -> None:
        self.value: Final = value
        self.text: Final = text
        self._known: dict[Callable[[Any], Any], Any] = {}

    def once(self, compute: Callable[[Any], _T]) -> _T:
        """Return `compute(value)`. The function is called once, and must depend on nothing but the value."""
        try:
            found: _T = self._known[compute]
        except KeyError:
            found = self._known[compute] = compute(self.value)
        return found


class RequestItems:
    """The items of one request. `body` is its JSON without nulls, and consists of the values of the items.

    `messages` are the items of the member "messages", `members` the items of all other members by name. `before` is an
    earlier request with the same first messages, `repeated` is their number. The fake releases `before` when the call
    has ended.
    """

    __slots__ = (
        "__weakref__",
        "_body",
        "_known",
        "_pieces",
        "_place",
        "_raw",
        "before",
        "members",
        "messages",
        "repeated",
    )

    def __init__(
        self,
        messages: Sequence[RequestItem],
        members: Mapping[str, RequestItem],
        body: Mapping[str, Any],
        raw: bytes = b"",
        pieces: Sequence[str | RequestItem] = (),
    ) -> None:
        self.messages = tuple(messages)
        self.members = members or _NO_MEMBERS
        self.before: RequestItems | None = None
        self.repeated = 0
        self._body: Mapping[str, Any] | None = body
        self._raw: bytes | None = raw
        self._pieces = tuple(pieces)
        self._place = [*body].index("messages") if pieces else 0
        self._known: dict[type, Any] | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any], raw: bytes = b"") -> RequestItems:
        """Make the items of JSON that is already parsed."""
        members = {name: RequestItem(value) for name, value in body.items()}
        messages = members.pop("messages").value if is_array(body.get("messages")) else ()
        return cls([RequestItem(message) for message in messages], members, body, raw)

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON of the request without nulls, with its members in the order in which they were sent."""
        body = self._body  # read once, because a finalizer may call `release` between any two lines
        if body is not None:
            return body
        members: list[tuple[str, Any]] = [(name, item.value) for name, item in self.members.items()]
        members.insert(self._place, ("messages", [each.value for each in self.messages]))
        return dict(members)

    @property
    def raw(self) -> bytes:
        """The bytes of the body as they were sent."""
        raw = self._raw
        if raw is not None:
            return raw
        return "".join([each if isinstance(each, str) else each.text for each in self._pieces]).encode(*_UTF8)

    def of_kind(self, kind: type[_T]) -> _T | None:
        """Return what was stored with `keep` as a value of this class; None if there is no such value."""
        known: _T | None = None if self._known is None else self._known.get(kind)
        return known

    def keep(self, value: object) -> None:
        """Store what is known of this sequence of items, for later requests that begin with the same messages."""
        if self._known is None:
            self._known = {}
        self._known[type(value)] = value

    def release(self) -> None:
        """Drop what only a running call needs: the earlier request, and what the items can make again."""
        self.before = None
        if self._pieces:
            self._body = self._raw = None


_NO_MEMBERS: Final[Mapping[str, RequestItem]] = MappingProxyType({})
"""The members of all requests that have only messages."""


def has_cache_point(items: RequestItems) -> bool:
    """Whether a request has a cachePoint: in a message, in the system prompt or between the tools."""
    members = items.members
    return (
        any(each.once(_has_point_in_message) for each in items.messages)
        or ("system" in members and members["system"].once(_has_point))
        or ("toolConfig" in members and members["toolConfig"].once(_has_point_in_tools))
    )


def _has_point_in_message(message: Mapping[str, Any]) -> bool:
    return _has_point(message.get("content"))


def _has_point_in_tools(config: Mapping[str, Any]) -> bool:
    return _has_point(config.get("tools"))


def _has_point(blocks: Sequence[Mapping[str, Any]] | None) -> bool:
    return any("cachePoint" in each for each in blocks or ())


_UTF8: Final = ("utf-8", "surrogatepass")
"""The encoding and the error handler with which the module json decodes bytes."""

_SPACE: Final = r"[ \t\n\r]*"
_OPENS: Final = re.compile(rf"{_SPACE}{{{_SPACE}")
_NAME: Final = re.compile(rf'"([^"\\\x00-\x1f]*)"{_SPACE}:{_SPACE}')
_ARRAY: Final = re.compile(rf"\[{_SPACE}")
_NEXT: Final = re.compile(rf"{_SPACE}([,\]}}]){_SPACE}")
_COMMA: Final = ", "
"""What most clients write between two messages."""

_RECENT: Final = 8
"""The number of conversations of one fake whose latest requests are compared with a new request."""

_LONG: Final = 1_000_000
"""Members of requests with more characters are not kept for other fakes."""


class _Unusual(ValueError):
    """Raised for a body that is not JSON, or that has a form in which no client writes. It is read as a whole."""


class RequestReader:
    """Reads the requests of one fake. It is not thread-safe."""

    def __init__(self) -> None:
        self._messages: WeakValueDictionary[str, RequestItem] = WeakValueDictionary()
        """The messages of all requests that are still in memory, by their texts."""
        self._recent: list[RequestItems] = []
        """The latest requests, the newest first. Of a conversation that grows, only the latest is kept."""

    def read(self, operation: str, raw: bytes) -> RequestItems | None:
        """Return the items of the body of a Converse or ConverseStream request.

        Return None if the body is not valid or has an unusual form, for example two members of the same name.
        """
        try:
            shapes = _shapes_of(operation)
            found = _Reading(raw.decode(*_UTF8), self._messages, self._recent).request(shapes, raw)
        except (ValueError, RecursionError, DamagedData):
            return None
        if found.before is not None and found.repeated == len(found.before.messages):
            self._recent.remove(found.before)
        self._recent.insert(0, found)
        del self._recent[_RECENT:]
        return found


class _Reading:
    """One request that is being read: its text, the position that was reached, and the pieces before it."""

    def __init__(self, text: str, known: WeakValueDictionary[str, RequestItem], recent: Sequence[RequestItems]) -> None:
        self.text = text
        self.at = 0
        self.known = known
        self.recent = recent
        self.pieces: list[str | RequestItem] = []
        self.before: RequestItems | None = None
        self.repeated = 0

    def request(self, shapes: Mapping[str, str], raw: bytes) -> RequestItems:
        """Read the whole text. Raises ValueError for an unusual form, DamagedData for a value of a wrong type."""
        body: dict[str, Any] = {}
        messages: list[RequestItem] = []
        members: dict[str, RequestItem] = {}
        names: set[str] = set()
        glue, separator = self.after(_OPENS)[0], ","
        while separator == ",":
            named = self.after(_NAME)
            name = named[1]
            if name in names:
                raise _Unusual
            names.add(name)
            self.glue(glue + named[0])
            if name == "messages":
                messages = self.messages()
                body[name] = [each.value for each in messages]
            elif (item := self.member(name, shapes.get(name, ""))).value is not None:
                body[name] = item.value
                members[name] = item
            found = self.after(_NEXT)
            glue, separator = found[0], found[1]
        if separator != "}" or self.at != len(self.text) or not messages:
            raise _Unusual
        self.glue(glue)
        items = RequestItems(messages, members, body, raw, self.pieces)
        items.before, items.repeated = self.before, self.repeated
        return items

    def after(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Match a pattern at the position, and go to its end."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Unusual
        self.at = found.end()
        return found

    def glue(self, text: str) -> None:
        """Keep a text between items. Such texts are short and the same in most requests, so they are kept once."""
        if self.pieces and isinstance(before := self.pieces[-1], str):
            self.pieces[-1] = intern(before + text)
        else:
            self.pieces.append(intern(text))

    def messages(self) -> list[RequestItem]:
        """Read the messages. Those at the beginning are compared with the messages of recent requests."""
        found: list[RequestItem] = []
        self.glue(self.after(_ARRAY)[0])
        text, pieces, separator = self.text, self.pieces, ","
        others = iter(self.recent)
        latest = next(others, None)
        while separator == ",":
            count = len(found)
            while latest is not None and not self._goes_on(latest, count):
                if count > self.repeated:
                    self.before, self.repeated = latest, count
                latest = next((each for each in others if [*each.messages[:count]] == found), None)
            item = latest.messages[count] if latest is not None else self._message()
            if latest is not None:
                self.at += len(item.text)
            found.append(item)
            pieces.append(item)
            if text.startswith(_COMMA, self.at):
                self.at += len(_COMMA)
                pieces.append(_COMMA)
                continue
            ends = self.after(_NEXT)
            separator = ends[1]
            self.glue(ends[0])
        if separator != "]":
            raise _Unusual
        if latest is not None:
            self.before, self.repeated = latest, len(found)
        return found

    def _goes_on(self, request: RequestItems, count: int) -> bool:
        """Whether the message at this index of an earlier request comes next."""
        messages = request.messages
        return count < len(messages) and self.text.startswith(messages[count].text, self.at)

    def _message(self) -> RequestItem:
        value, text = self.value()
        item = self.known.get(text)
        if item is None:
            item = self.known[text] = RequestItem(bedrock.read_json("Message", value), text)
        return item

    def member(self, name: str, shape_name: str) -> RequestItem:
        """Read a member other than the messages. Most requests repeat those of another one, also of another fake."""
        for each in (*[request.members.get(name) for request in self.recent], _latest.get(shape_name)):
            # The text of a number may be the beginning of another one. Then the request is read as a whole.
            if each is not None and self.text.startswith(each.text, self.at):
                item = each
                self.at += len(each.text)
                break
        else:
            value, text = self.value()
            item = _item(shape_name, value, text)
            if shape_name and len(text) <= _LONG:
                _latest[shape_name] = item
        self.pieces.append(item)
        return item

    def value(self) -> tuple[Any, str]:
        """Parse the value at the position, and go to its end. Return it with its text."""
        value, end = _DECODER.raw_decode(self.text, self.at)
        text = self.text[self.at : end]
        self.at = end
        return value, text


_latest: dict[str, RequestItem] = {}
"""The latest member of each shape that any fake has received."""


def _no_number(name: str) -> NoReturn:
    raise _Unusual(name)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


@cache
def _shapes_of(operation: str) -> Mapping[str, str]:
    """Return the names of the shapes of a request's members."""
    return {name: shape.name for name, shape in bedrock.operation(operation).input_shape.members.items()}


def _item(shape_name: str, value: object, text: str) -> RequestItem:
    read = value if value is None or not shape_name else bedrock.read_json(shape_name, value)
    return RequestItem(read, text)
