"""Show a recording as a conversation, without what differs by chance between two recordings of the same session.

The rows contain everything else: two recordings with the same rows differ only by chance. Ids are numbered in the order
of their appearance. Each message is shown once, so that a change in a text affects only the lines of this text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeGuard

from converse_harness.errors import StreamOrderError
from converse_harness.json_values import canonical, is_array, is_number, is_object, json_text, member_of
from converse_harness.recordings.chance import ids_in, normalised, numbers
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.lines import ONE_OF, Line, event_of
from converse_harness.recordings.format.shared_parts import message_of
from converse_harness.recordings.review.timeline import block_rows, file_in_words, json_line
from converse_harness.stream.grammar import StreamOrder, is_exception

StableRow = tuple[str, str]
"""A label, and a text that may have several lines."""

_OPERATIONS: Final = frozenset({"Converse", "ConverseStream", "CountTokens"})
"""The operations with a conversation."""

_LONGEST: Final = 60

_IN_TITLE: Final = frozenset({"operation", "method", "path", "modelId", "status", "failed"})
_SHOWN_APART: Final = frozenset({*_IN_TITLE, "faults", "masked", "type", *ONE_OF["call"], *ONE_OF["head"]})


def stable_rows(exchanges: Sequence[RecordedExchange], call: int | None = None) -> Iterator[StableRow]:
    """Yield the rows of a session, or only the rows of one call. The first row of each call has an empty label."""
    view = _View(numbers(each for exchange in exchanges for each in ids_in(exchange.lines())))
    for exchange in exchanges:
        rows = list(view.rows(exchange))  # all calls are read, because each message is shown at its first call
        if call in (None, exchange.call["call"]):
            yield from rows


class _View:
    """Makes the rows of exchanges in order, and stores the messages, tools and other members that it has shown.

    `names` maps each id to the text that is shown in its place.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._call = 0
        self._latest: dict[str, str] = {}
        self._latest_of: dict[str, dict[str, str]] = {}
        """The members of the latest request of each operation. Those with a conversation share one entry."""
        self._shown: set[str] = set()
        self._shortened: dict[str, str] = {}
        self._tools: dict[str, list[str]] = {}
        self._conversations: dict[str, int] = {}
        """Maps a digest of messages to the first call whose conversation begins with them."""
        self._asked = self._answered = ""
        """The digests of the call before: of its messages, and of its messages with the answer."""

    def rows(self, exchange: RecordedExchange) -> Iterator[StableRow]:
        """Yield the rows of one exchange: the new parts of the request, then the answer."""
        call, head, *events = self._normal(exchange.lines())
        self._call = exchange.call["call"]
        status = head.get("status", 200)
        title = f"call {self._call}", exchange.operation, exchange.model_id
        yield "", "  ".join(filter(None, (*title, "" if status == 200 else f"status {status}")))
        rows = [*self._request(exchange.operation, call)]
        again = not rows or rows == [_AS_BEFORE]
        yield from [("request", _AS_BEFORE[1])] if again and exchange.request else rows
        yield from self._answer(exchange.operation, call, head, events)
        message = message_of(exchange.lines())
        if message is not None:  # mark the answer as shown: if later requests repeat it, they get no rows for it
            before = member_of(call, "request", "messages")
            (asked,) = self._normal([{"request": {"messages": [message]}}])
            messages = [*(before if is_array(before) else ()), *asked["request"]["messages"]]
            for digest in _digests(messages):
                self._conversations.setdefault(digest, self._call)
                self._answered = digest
            self._shown.add(canonical(messages[-1]))

    def _normal(self, lines: Sequence[Line]) -> list[Any]:
        return [_sorted(line) for line in normalised(lines, names=self._names)]

    # The following methods make the rows of requests.

    def _request(self, operation: str, call: Line) -> Iterator[StableRow]:
        yield from ((key, _text(value)) for key, value in call.items() if key not in _SHOWN_APART)
        yield from ((key, str(call[key])) for key in ONE_OF["call"] if key in call and key != "request")
        request = call.get("request")
        kind = "" if operation in _OPERATIONS else f"{call.get('service', '')} {operation}"
        self._latest = self._latest_of.setdefault(kind, {})
        if operation == "CountTokens" and is_object(request) and [*request] == ["input"]:
            inner = request["input"]
            request = inner["converse"] if is_object(inner) and [*inner] == ["converse"] else request
        if not is_object(request):
            yield from [] if request is None else [("request", json_text(request))]
        elif operation in _OPERATIONS:
            yield from self._conversation(request)
        else:
            yield from self._members({name: _json_member(name, value) for name, value in request.items()})

    def _conversation(self, request: Mapping[str, Any]) -> Iterator[StableRow]:
        rest = dict(request)
        members: dict[str, _Member] = {}
        if _are_objects(system := rest.get("system")):
            members["system"] = system, partial(self._blocks, "system", system)
            del rest["system"]
        config = rest.get("toolConfig")
        if is_object(config) and _are_objects(tools := config.get("tools")):
            members["tools"] = tools, partial(self._offered, tools)
            rest |= {f"toolConfig.{name}": value for name, value in config.items() if name != "tools"}
            del rest["toolConfig"]
        messages = rest.pop("messages") if _are_messages(rest.get("messages")) else None
        yield from self._members(members | {name: _json_member(name, value, None) for name, value in rest.items()})
        if messages is not None:
            yield from self._messages(messages)
        elif "messages" not in request and self._conversations:
            yield "messages", "(none)"

    def _members(self, members: Mapping[str, _Member]) -> Iterator[StableRow]:
        """Yield the rows of each member whose value differs from its value in the call before, of the same operation.

        If only that call had a member, the text of its row is "(none)".
        """
        for name in [name for name in self._latest if name not in members]:
            del self._latest[name]
            yield name, "(none)"
        for name, (value, rows) in members.items():
            if (known := canonical(value)) != self._latest.get(name):
                yield from rows() or [(name, json_line(value))]
            self._latest[name] = known

    def _offered(self, tools: Sequence[Mapping[str, Any]]) -> list[StableRow]:
        """Return the rows of the tools: their names, then each new definition. Later definitions have a number."""
        names: list[str] = []
        rows: list[StableRow] = []
        for tool in tools:
            kind, value = next(iter(tool.items()), ("", None))
            name = str(member_of(value, "name") or kind)
            known = self._tools.setdefault(name, [])
            text = canonical(tool)
            if text not in known:
                known.append(text)
                rows.append(("tool", json_text(tool)))
            number = known.index(text) + 1
            names.append(name if number == 1 else f"{name} ({number})")
        return [("tools", ", ".join(names) or "[]"), *rows]

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> list[StableRow]:
        """Return the rows of messages, without those that continue the conversation of the call before.

        If the messages begin with other known messages, a row tells with which.
        """
        digests = [*_digests(messages)]
        known = sum(digest in self._conversations for digest in digests)
        start = digests[known - 1] if known else ""
        rows: list[StableRow] = []
        if not known:
            rows += [("messages", "(a new conversation)")] if self._conversations else []
        elif start == self._answered:
            # Without new messages, the request repeats the answer, or it is the request of a call without an answer.
            rows += (
                [("messages", "(as before, with the answer)")] if known == len(digests) and start != self._asked else []
            )
        else:
            of = self._conversations[start]
            rows.append(_AS_BEFORE if start == self._asked else ("messages", f"(the first {known}, as in call {of})"))
        for message in messages[known:]:
            made = self._blocks(message["role"], message["content"]) or [(message["role"], "(nothing)")]
            text, shortened = canonical(message), [(label, _shortened(text)) for label, text in made]
            # The message was shown before, but with other messages before it. It must be the only one so shortened.
            if text in self._shown and self._shortened.get(canonical(shortened)) == text:
                made = shortened
            self._shown.add(text)
            self._shortened.setdefault(canonical(shortened), text)
            rows += made
        for digest in digests:
            self._conversations.setdefault(digest, self._call)
        self._asked = self._answered = digests[-1] if digests else ""
        return rows

    # The following methods make the rows of answers.

    def _answer(self, operation: str, call: Line, head: Line, lines: list[Line]) -> Iterator[StableRow]:
        yield from (("fault", str(fault)) for fault in call.get("faults", ()))
        yield from (("masked", str(place)) for place in call.get("masked", ()))
        yield from ((name, _text(value)) for name, value in head.items() if name not in _SHOWN_APART)
        end = lines.pop() if lines and "end" in lines[-1] else None
        body = next((head[name] for name in ONE_OF["head"] if name in head), None)
        if "failed" in head:
            yield "failed", str(head["failed"])
        elif head["status"] >= 400 and body is not None:
            message = member_of(body, "message")
            whole = is_object(body) and [*body] == ["message"] and isinstance(message, str)
            yield "error", ": ".join(filter(None, (head.get("type"), message if whole else _text(body))))
        else:
            yield from [("type", str(head["type"]))] if "type" in head else []
            if operation == "Converse" and _is_answer(body):
                yield from self._blocks("assistant", body["output"]["message"]["content"])
                yield "stop", str(body["stopReason"])
                rest = {name: each for name, each in body.items() if name not in ("output", "stopReason")}
                yield from _metadata(rest)
            elif body is not None:
                yield "body", body if isinstance(body, str) else json_text(body)
        yield from self._stream(lines) if operation == "ConverseStream" and _are_in_order(lines) else map(_row, lines)
        if end is not None:
            yield "end", str(end["end"])

    def _stream(self, lines: Sequence[Line]) -> Iterator[StableRow]:
        """Yield the rows of a stream whose events are in a legal order: so the ends of blocks need no rows."""
        block: list[Line] = []
        last = ""
        for line in lines:
            name, members = event_of(line) or ("", {})
            is_of_block = name in _OF_BLOCKS and members.keys() == _OF_BLOCKS[name]
            if is_of_block and name != "contentBlockStop":
                block.append(line)
            else:
                yield from self._block(block)
                block = []
                if is_exception(name) and last:
                    yield "unfinished", f"after {last}"
                yield from [] if is_of_block or line in _USUAL else self._event(name, members, line)
            last = name or last
        yield from self._block(block)
        if last and last != "metadata" and not is_exception(last):
            yield "unfinished", f"after {last}"

    def _block(self, events: Sequence[Line]) -> Iterator[StableRow]:
        """Yield the rows of a block as those of a message, or a row for each event of it."""
        content = _content(events)
        yield from self._blocks("assistant", [content]) if content else map(_row, events)

    def _event(self, name: str, members: Mapping[str, Any], line: Line) -> Iterator[StableRow]:
        if name == "messageStop" and "stopReason" in members:
            rest = {key: value for key, value in members.items() if key != "stopReason"}
            yield "stop", str(members["stopReason"]) + (f" {json_line(rest)}" if rest else "")
        elif name == "metadata":
            yield from _metadata(members)
        elif is_exception(name) and [*members] == ["message"]:
            yield "exception", f"{name}: {members['message']}"
        else:
            yield _row(line)

    # The following methods make the rows of content blocks.

    def _blocks(self, label: str, content: Sequence[Mapping[str, Any]]) -> list[StableRow]:
        return [row for block in content for row in self._rows(label, block)]

    def _rows(self, label: str, block: Mapping[str, Any]) -> Iterator[StableRow]:
        match block:
            case {"reasoningContent": {"reasoningText": {"text": str(text), **more} as reasoning}} if len(block) == len(
                block["reasoningContent"]
            ) == 1 and more.keys() <= {"signature"}:
                signed = f" ({self._mark('signed', reasoning['signature'])})" if more else ""
                yield "reasoning", text + signed
            case {"reasoningContent": {"redactedContent": str(name)}} if (
                len(block) == len(block["reasoningContent"]) == 1
            ):
                yield "reasoning", f"({self._mark('redacted', name)})"
            case {
                "citationsContent": {"citations": [*citations], "content": [{"text": str(text), **other}], **more}
            } if len(block) == 1 and not other and not more:
                yield "cited", "\n".join([text, *map(json_line, citations)])
            case _ if _is_plain(block):
                for row in block_rows([block], None, label):
                    yield row.label, "".join(piece.text for piece in row.pieces)
            case _:
                yield from (
                    ((name, json_line(value)) for name, value in block.items())
                    if len(block) == 1
                    else [("block", json_line(block))]
                )

    def _mark(self, word: str, name: str) -> str:
        """Return `word` at the first use of this name, then the name. So a new signature changes no other rows."""
        is_new = name not in self._shown
        self._shown.add(name)
        return word if is_new else name


_Member = tuple[Any, Callable[[], list[StableRow]]]
"""A value, and a function that makes its rows."""

_AS_BEFORE: Final = ("messages", "(as before)")

_USUAL: Final[Sequence[Line]] = [{"messageStart": {"role": "assistant"}}]
"""The events that need no row if the order of the stream is legal."""

_OF_BLOCKS: Final = {
    "contentBlockStart": {"contentBlockIndex", "start"},
    "contentBlockDelta": {"contentBlockIndex", "delta"},
    "contentBlockStop": {"contentBlockIndex"},
}


def _sorted(value: Any) -> Any:
    """Return JSON with sorted keys, because their order is no difference."""
    if is_object(value):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if is_array(value) else value


def _digests(messages: Iterable[object]) -> Iterator[str]:
    """Yield a digest of each message with all messages before it."""
    digest = ""
    for message in messages:
        text = f"{digest}{canonical(message)}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        yield digest


def _json_member(name: str, value: object, indent: int | None = 2) -> _Member:
    return value, lambda: [(name, json_text(value, indent=indent))]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_line(value)


def _row(line: Line) -> StableRow:
    """Return the row of an event, or of bytes that are no event."""
    name, members = event_of(line) or ("", {})
    if name:
        return name, json_line(members)
    data = base64.b64decode(line.get("bytes") or line.get("frame") or "")
    return "bytes", f"{len(data)} bytes that are no event (sha256 {hashlib.sha256(data).hexdigest()[:12]})"


_TOKENS: Final = ("inputTokens", "outputTokens", "totalTokens")


def _metadata(members: Mapping[str, Any]) -> Iterator[StableRow]:
    """Yield the rows of metadata: the usage in words, and the other members as JSON."""
    usage = members.get("usage")
    if is_object(usage):
        used, made, total = (usage.get(name, "no") for name in _TOKENS)
        rest = {"totalTokens": total, **usage}  # the total is shown only if it is not the sum, or absent
        left_out = (
            _TOKENS
            if is_number(used) and is_number(made) and canonical(total) == canonical(used + made)
            else _TOKENS[:2]
        )
        others = (f"{name} {_text(value)}" for name, value in rest.items() if name not in left_out)
        yield "usage", ", ".join([f"{used} in", f"{made} out", *others])
    yield from ((name, json_text(value)) for name, value in members.items() if name != "usage" or not is_object(usage))


def _are_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return is_array(value) and all(map(is_object, value))


def _are_messages(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return _are_objects(value) and all(
        each.keys() == {"role", "content"} and isinstance(each["role"], str) and _are_objects(each["content"])
        for each in value
    )


def _is_answer(body: object) -> TypeGuard[dict[str, Any]]:
    """Whether a body is a ConverseResponse that the rows show completely."""
    return (
        is_object(body)
        and {"output", "stopReason"} <= body.keys()
        and is_object(output := body["output"])
        and [*output] == ["message"]
        and _are_messages([output["message"]])
        and output["message"]["role"] == "assistant"
    )


def _are_in_order(lines: Sequence[Line]) -> bool:
    """Whether the events of a stream are in a legal order, as far as they came, with nothing else between them."""
    order = StreamOrder()
    try:
        for before, line in pairwise([{}, *lines]):
            if event_of(line) is not None:
                if before and event_of(before) is None:
                    return False
                order.feed(line)
    except StreamOrderError:
        return False
    return True


def _content(events: Sequence[Line]) -> dict[str, Any] | None:
    """Return the content block that these events of one block form; None if a content block cannot show all of them."""
    start: dict[str, Any] = {}
    deltas: list[dict[str, Any]] = []
    for line in events:
        name, members = event_of(line) or ("", {})
        if name == "contentBlockStart":
            start = members["start"]
        else:
            deltas.append(members["delta"])
    kinds = [f"{name}.{inner}" for each in deltas for name, value in each.items() for inner in _inner(name, value)]
    if len(kinds) != len(deltas):  # a delta has no members, or several
        return None
    use = start.get("toolUse")
    if kinds == ["toolUse.input"] and [*start] == ["toolUse"] and is_object(use):
        return {"toolUse": {**use, **deltas[0]["toolUse"]}}
    if start:
        return None
    if kinds in (["text."], ["reasoningContent.redactedContent"]):
        return deltas[0]
    if kinds in (["reasoningContent.text"], ["reasoningContent.text", "reasoningContent.signature"]):
        parts = [part for each in deltas for part in each["reasoningContent"].items()]
        return {"reasoningContent": {"reasoningText": dict(parts)}}
    if kinds == [*["citation."] * (len(deltas) - 1), "text."]:
        *cited, text = deltas
        return {"citationsContent": {"citations": [each["citation"] for each in cited], "content": [text]}}
    return None


def _inner(name: str, value: object) -> Iterable[str]:
    return value if is_object(value) and name != "citation" else [""]


def _is_plain(block: Mapping[str, Any]) -> bool:
    """Whether `block_rows` shows all of a block."""
    match block:
        case {"text": str()}:
            return len(block) == 1
        case {"toolUse": {"name": str(), "toolUseId": str(), "input": _, **more}}:
            return len(block) == 1 and not more
        case {"toolResult": {"toolUseId": str(), "content": [{"text": str(), **other}], **more}}:
            return len(block) == 1 and not other and more.keys() <= {"status"}
        case _:
            return [*map(bool, map(file_in_words, block.values()))] == [True]


def _shortened(text: str) -> str:
    line, more, _ = text.partition("\n")
    return f"{line[:_LONGEST]}... (as above)" if more or len(line) > _LONGEST else line
