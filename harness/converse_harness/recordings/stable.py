"""A recording as a conversation, without what differs between two recordings of the same session.

Left out are times, padding, request ids and latency. Ids are numbered in the order of their appearance. Each message is
shown once, so that a change of a text is a change of its lines alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.json_values import is_array, is_object, mapped, object_of, objects_of, parsed_json
from converse_harness.recordings.keys import ONE_OF
from converse_harness.recordings.lines import body_bytes
from converse_harness.recordings.matching import canonical
from converse_harness.recordings.replies import RecordedExchange
from converse_harness.recordings.timeline import answered, block_rows

StableRow = tuple[str, str]
"""A label, and a text that may have several lines."""

_OPERATIONS: Final = frozenset({"Converse", "ConverseStream", "CountTokens"})
"""The operations with a conversation. In the JSON of all others more members are ids."""

_ID: Final = frozenset({"toolUseId"})
_OTHER_IDS: Final = _ID | {"id", "tool_use_id", "tool_call_id"}
_USERS_JSON: Final = frozenset({"input", "json", "inputSchema"})
"""Members with JSON of the application, in which an `id` is no id of the service."""

_CHANCE: Final = frozenset({"signature", "guardrailProcessingLatency", "latencyMs", "created"})

_WORD: Final = re.compile(r"[A-Za-z0-9_-]{12,}")
"""Matches a word that is long enough to be an id within a text."""

_REDACTED: Final = re.compile(r"\(\d+ bytes, redacted\)")
_CACHED: Final = ("cacheReadInputTokens", "cacheWriteInputTokens")
_KNOWN: Final = ("messages", "system", "toolConfig")


def stable_rows(exchanges: Sequence[RecordedExchange], call: int | None = None) -> Iterator[StableRow]:
    """Yield the rows of a session, or those of one call in it. The row of a call has an empty label."""
    view = _View()
    for exchange in exchanges:
        rows = list(view.rows(exchange))  # all calls are read, since ids count from the first call on
        if call in (None, exchange.call["call"]):
            yield from rows


class _View:
    """What was shown already: ids with their numbers, messages, tools, and the latest value of all other members."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._count = 0
        self._shown: set[str] = set()
        self._messages: set[str] = set()
        self._latest: dict[str, str] = {}

    def rows(self, exchange: RecordedExchange) -> Iterator[StableRow]:
        """The rows of one exchange: the request as far as it is new, then the answer."""
        self._collect(exchange)
        head = exchange.head
        status = f"status {head['status']}" if head.get("status", 200) != 200 else ""
        yield (
            "",
            "  ".join(filter(None, (f"call {exchange.call['call']}", exchange.operation, exchange.model_id, status))),
        )
        yield from self._asked(exchange)
        yield from self._answered(exchange)

    # Requests

    def _asked(self, exchange: RecordedExchange) -> Iterator[StableRow]:
        before = len(self._messages)
        rows = [*self._request(exchange)]
        yield from rows
        for key in ONE_OF["call"]:
            if key in exchange.call and key not in ("request", "parts"):
                yield key, self._text(str(exchange.call[key]))
        if not rows and len(self._messages) == before and exchange.request:
            yield "request", "(as before)"

    def _request(self, exchange: RecordedExchange) -> Iterator[StableRow]:
        if exchange.operation not in _OPERATIONS:
            others = object_of(self._numbered(exchange.request, _OTHER_IDS))
            yield from self._members(others, _indented)
            return
        request = object_of(self._numbered(exchange.request))
        request = object_of(object_of(request.get("input")).get("converse")) or request
        config = object_of(request.get("toolConfig"))
        tools = objects_of(config.get("tools"))
        others = {name: value for name, value in request.items() if name not in _KNOWN}
        others |= {f"toolConfig.{name}": value for name, value in config.items() if name != "tools"}
        yield from self._changed("system", request.get("system"), self._blocks("system", request.get("system")))
        names = ", ".join(map(_tool_name, tools)) or "(none)"
        yield from self._changed("tools", [*map(_tool_name, tools)], [("tools", names)])
        for tool in tools:
            if self._is_new("tool", tool):
                yield "tool", _indented(tool)
        yield from self._members(others, _json)
        chain = ""
        for message in objects_of(request.get("messages")):
            chain, is_new = self._chained(chain, message)
            if is_new:
                yield from self._message(message)

    def _members(self, members: Mapping[str, Any], text: Callable[[object], str]) -> Iterator[StableRow]:
        """The rows of other members of a request, as far as they are not as in the call before."""
        gone = [name for name in self._latest if name not in (*_ALWAYS, *members)]
        for name in (*members, *gone):
            shown = text(members[name]) if name in members else "(none)"
            yield from self._changed(name, members.get(name), [(name, shown)])

    def _message(self, message: Mapping[str, Any]) -> Iterator[StableRow]:
        rows = self._blocks(str(message.get("role")), message.get("content"))
        if self._is_new("message", _comparable(message)):
            yield from rows
        else:  # it stands at another place of a conversation now
            yield from ((label, _shortened(text)) for label, text in rows)

    def _chained(self, chain: str, message: Mapping[str, Any]) -> tuple[str, bool]:
        """The digest of a conversation with one more message, and whether no call before had this conversation."""
        text = f"{chain}{canonical(_comparable(message))}"
        chain = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        is_new = chain not in self._messages
        self._messages.add(chain)
        return chain, is_new

    def _changed(self, name: str, value: object, rows: Sequence[StableRow]) -> Iterator[StableRow]:
        """Yield rows if a member of the request has another value than in the call before."""
        known = canonical(value) if value not in (None, [], {}) else ""
        if known != self._latest.get(name, ""):
            yield from rows or [(name, "(none)")]
        if known:
            self._latest[name] = known
        else:
            self._latest.pop(name, None)

    def _is_new(self, kind: str, value: object) -> bool:
        text = f"{kind} {canonical(value)}"
        is_new = text not in self._shown
        self._shown.add(text)
        return is_new

    def _blocks(self, label: str, content: object) -> list[StableRow]:
        rows: list[StableRow] = []
        for block in objects_of(content):
            for name, pieces in block_rows(block, None, label):
                said = "".join(piece.text for piece in pieces)
                rows.append((name, self._text(_REDACTED.sub("(redacted)", said))))
        return rows

    # Answers

    def _answered(self, exchange: RecordedExchange) -> Iterator[StableRow]:
        body = parsed_json(body_bytes("body", exchange.head) or b"")
        message = object_of(object_of(body).get("output")).get("message")
        if exchange.operation not in _OPERATIONS and body is not None and exchange.head.get("status", 200) < 400:
            yield "body", _indented(self._numbered(body, _OTHER_IDS))
            return
        head, events, end = exchange.answer
        numbered = [self._numbered(line) for line in (head, *events)]
        for label, pieces in answered(
            RecordedExchange(exchange.at, exchange.call, numbered[0], tuple(numbered[1:]), end)
        ):
            if label != "usage":
                text = self._text(_REDACTED.sub("(redacted)", "".join(piece.text for piece in pieces)))
                yield ("assistant" if label == "text" else label), text
        usage = object_of(object_of(body).get("usage")) or _usage_in(exchange)
        if usage:
            yield "usage", _figures(usage)
        if message is None:
            message = _streamed(exchange)
        if message is not None:
            message = object_of(self._numbered(message))
            self._is_new("message", _comparable(message))
            chain = ""
            for each in (*objects_of(object_of(self._numbered(exchange.request)).get("messages")), message):
                chain, _ = self._chained(chain, each)

    # Ids

    def _collect(self, exchange: RecordedExchange) -> None:
        """Give each new id of the exchange the next number."""
        names = _ID if exchange.operation in _OPERATIONS else _OTHER_IDS
        for value in (exchange.call.get("request"), exchange.head.get("body"), *exchange.events):
            for found in _ids(value, names):
                if found not in self._numbers:
                    self._count += 1
                    self._numbers[found] = f"#{self._count}"
        request_id = exchange.head.get("requestId")
        if isinstance(request_id, str):
            self._numbers.setdefault(request_id, "(request id)")

    def _numbered(self, value: Any, names: frozenset[str] = _ID) -> Any:
        """A JSON value with numbers in the place of ids, and without what is another one each time."""
        if isinstance(value, str):
            return self._text(value)
        if is_object(value):
            return {
                name: ""
                if name in _CHANCE
                else self._numbers.get(each, each)
                if name in names and isinstance(each, str)
                else self._numbered(each, names - _USERS_JSON if name not in _USERS_JSON else frozenset())
                for name, each in value.items()
            }
        return mapped(value, lambda _, each: self._numbered(each, names))

    def _text(self, text: str) -> str:
        """A text with numbers in the place of ids that are long enough to be recognised."""
        return (
            self._numbers.get(text, text)
            if len(text) < _SHORTEST
            else _WORD.sub(lambda found: self._numbers.get(found[0], found[0]), text)
        )


_SHORTEST: Final = 12
_LONGEST: Final = 60
_ALWAYS: Final = ("system", "tools")


def _tool_name(tool: Mapping[str, Any]) -> str:
    for kind, value in tool.items():
        return str(object_of(value).get("name") or kind)
    return ""


def _shortened(text: str) -> str:
    line, more, _ = text.partition("\n")
    return f"{line[:_LONGEST]}... (as above)" if more or len(line) > _LONGEST else line


def _ids(value: object, names: frozenset[str]) -> Iterator[str]:
    if is_object(value):
        for name, each in value.items():
            if name in names and isinstance(each, str):
                yield each
            elif name not in _USERS_JSON:
                yield from _ids(each, names)
    elif is_array(value):
        for each in value:
            yield from _ids(each, names)


def _comparable(message: Mapping[str, Any]) -> object:
    """A message as it is compared with those that were shown: a client may drop the type of a tool use."""
    content: list[object] = []
    for block in objects_of(message.get("content")):
        tool = block.get("toolUse")
        content.append({"toolUse": {**tool, "type": None}} if is_object(tool) else block)
    return [message.get("role"), content]


def _streamed(exchange: RecordedExchange) -> object:
    """The message of a stream; None if it amounts to none."""
    from converse_harness.errors import StreamOrderError
    from converse_harness.stream.assemble import assemble

    events = [{key: value for key, value in line.items() if key not in _KEYS} for line in exchange.events]
    try:
        return assemble(events).message
    except StreamOrderError:
        return None


_KEYS: Final = frozenset({"t", "p", "joined", "payload", "frame", "bytes"})


def _usage_in(exchange: RecordedExchange) -> Mapping[str, Any]:
    found = (object_of(object_of(line.get("metadata")).get("usage")) for line in exchange.events)
    return next(filter(None, found), object_of(None))


def _figures(usage: Mapping[str, Any]) -> str:
    """Tokens in, those of the cache among them, because a second recording reads what a first wrote; and tokens out."""
    into = sum(usage.get(name, 0) for name in ("inputTokens", *_CACHED))
    return f"{into} in, {usage.get('outputTokens')} out"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _indented(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
