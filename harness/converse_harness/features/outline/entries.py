"""Make the entries of an outline: what is new in each request, and what the script answered.

This module decides the form of an outline, which changes only with FORM.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from inspect import cleandoc
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

from converse_harness.json_values import (
    canonical,
    is_array,
    is_number,
    is_object,
    is_text,
    mapped,
    object_of,
    objects_of,
)
from converse_harness.recordings.chance import APPLICATION, DURATIONS, TOKENS
from converse_harness.recordings.differences import aligned
from converse_harness.secrets.mask import common_length
from converse_harness.words import counted

FORM: Final = 1
"""The version of the form of outlines. It changes only with a major release."""

Entry = dict[str, Any]

OF_ANSWER: Final = (
    *("retried", "error", "events", "output", "answer", "content", "stopReason"),
    *("additionalModelResponseFields", "trace", "broken"),
)
"""The members of an entry that tell what the script answered. All others are of the request."""

_BYTES: Final = ("bytes", "redactedContent")
"""Members with binary data: bytes in an answer, base64 in the JSON of a request."""


@dataclass(slots=True, eq=False)
class OutlinedCall:
    """One request and its answer, as an outline tells them.

    `body` is the JSON of the request. `answer` contains the members of the entry that tell the answer. `failed` is true
    if the client got no whole answer, so that it may ask again. `follows` is the call before it in the conversation. As
    long as `linked` has not found it, it is what the fake has recognised: then it only saves reading messages twice.
    """

    operation: str
    service: str
    model_id: str
    body: Mapping[str, Any]
    answer: Entry
    failed: bool = False
    conversation: bool = True
    follows: OutlinedCall | None = None
    repeats: OutlinedCall | None = None
    retried: list[Entry] = field(default_factory=list[Entry])
    later: list[OutlinedCall] = field(default_factory=list["OutlinedCall"])
    invocation: str = ""
    """The id by which a client marks all attempts of one request; empty if it has none."""
    request: _Request = field(init=False)
    entry: Entry = field(default_factory=dict[str, Any])
    place: tuple[tuple[str, str], bool, str, str] = (("", ""), False, "", "")
    """The key by which conversations, and the calls that continue one call, are sorted: by agent, then failed calls."""

    def __post_init__(self) -> None:
        self.request = _Request(self)

    @property
    def tries(self) -> list[Entry]:
        """The answers to all attempts."""
        return [*self.retried, self.answer]

    def fold(self, later: OutlinedCall) -> None:
        """Make a later attempt a part of this call."""
        self.retried, self.answer = [*self.tries, *later.retried], later.answer
        self.failed, later.repeats = later.failed, self

    def fold_into(self, other: OutlinedCall) -> None:
        """Make this failed call a part of a call that was answered."""
        other.retried, self.repeats = [*self.tries, *other.retried], other


class _Request:
    """A request of a conversation without what differs by chance: its settings, and its messages."""

    def __init__(self, call: OutlinedCall) -> None:
        self._call = call

    @cached_property
    def settings(self) -> Entry:
        """Everything but the messages: model, system prompt, tools and the other members, by the names of entries."""
        body = self._call.body
        made: Entry = {"operation": self._call.operation, "modelId": self._call.model_id}
        for name, value in sorted(body.items()):
            if name == "system":
                made[name] = [*_blocks(value, {})]
            elif name == "toolConfig":
                made |= _tool_config(object_of(value))
            elif name != "messages":
                made[name] = cleaned(value, name)
        return {name: value for name, value in made.items() if value not in ([], {})}

    @cached_property
    def key(self) -> str:
        """A text that is equal for equal settings."""
        return canonical(self.settings)

    @cached_property
    def agent(self) -> tuple[str, str]:
        """The text by which agents are told apart, and sorted: the system prompt, then the model."""
        return canonical(self.settings.get("system", [])), self._call.model_id

    @cached_property
    def told(self) -> Messages:
        """The messages. Those that the call before it has sent too are read once."""
        raw = objects_of(self._call.body.get("messages"))
        before = self._call.follows
        return messages_of(raw, None if before is None else before.request.told)

    @property
    def messages(self) -> list[Entry]:
        """The messages, with the names of tools in place of ids."""
        return self.told.messages

    @property
    def keys(self) -> list[str]:
        """A text for each message, equal for equal messages."""
        return self.told.keys

    @cached_property
    def prefixes(self) -> list[int]:
        """A number for each number of first messages, equal for equal messages."""
        made = [0]
        for key in self.keys:
            made.append(hash((made[-1], key)))
        return made


class Messages(NamedTuple):
    """Messages of the API, without what differs by chance, and a text for each that is equal for equal messages.

    `raw` are the messages of the API. `names` maps the id of each tool use to its position and to the tool.
    """

    raw: Sequence[Mapping[str, Any]]
    messages: list[Entry]
    keys: list[str]
    names: dict[str, tuple[int, str]]


def messages_of(raw: Sequence[Mapping[str, Any]], before: Messages | None = None) -> Messages:
    """Return messages of the API without what differs by chance. `before` are messages with which these may begin.

    A toolResult has the name of its tool in place of the id. The results of one message stand in the order of the tool
    uses, because agents that run tools in parallel send them in the order in which they came.
    """
    made = Messages(raw, [], [], {})
    if before is not None and len(before.raw) <= len(raw) and all(map(_is_same, before.raw, raw)):
        made = Messages(raw, [*before.messages], [*before.keys], {**before.names})
    names = made.names
    for message in raw[len(made.messages) :]:
        content = [block for block in objects_of(message.get("content")) if "cachePoint" not in block]
        for block in content:
            use = object_of(block.get("toolUse"))
            names |= {str(use["toolUseId"]): (len(names), str(use.get("name")))} if "toolUseId" in use else {}
        results = iter(sorted(filter(_is_result, content), key=lambda block: _place(block, names)))
        ordered = [next(results) if _is_result(block) else block for block in content]
        told = {"role": message.get("role"), "content": [*_blocks(ordered, names)]}
        key = canonical(told)
        # Some frameworks write ids into texts.
        if _ID.search(key) or any(use_id in key for use_id in names if len(use_id) >= _LONG):
            told = _with_names(told, names)
            key = canonical(told)
        made.messages.append(told)
        made.keys.append(key)
    return made


_LONG: Final = 12
"""Shorter ids of tool uses are written by people, and may be words."""

_ID: Final = re.compile(r"\btooluse_[\w-]{16,}")
"""Matches an id as Bedrock makes them, also if its tool use is in no request."""


def _with_names(value: Any, names: Mapping[str, tuple[int, str]]) -> Any:
    """Return a value with the tool in place of the id of a tool use, also inside texts."""
    if is_text(value):
        for use_id, (_, tool) in names.items():
            value = value.replace(use_id, f"(id of {tool})") if len(use_id) >= _LONG else value
        return _ID.sub("(id of a tool use)", value)
    return mapped(value, lambda _, each: _with_names(each, names))


def _is_same(one: object, other: object) -> bool:
    return one is other or one == other


def _is_result(block: Mapping[str, Any]) -> bool:
    return "toolResult" in block


def _place(block: Mapping[str, Any], names: Mapping[str, tuple[int, str]]) -> tuple[int, str]:
    place, _ = names.get(str(object_of(block["toolResult"]).get("toolUseId")), (len(names), ""))
    return place, canonical(block)


def _blocks(blocks: object, names: Mapping[str, tuple[int, str]]) -> Iterator[Entry]:
    """Yield content blocks without ids, signatures and cache points. `names` maps the ids of tool uses to tools."""
    for block in objects_of(blocks):
        use, result, thought = (object_of(block.get(name)) for name in ("toolUse", "toolResult", "reasoningContent"))
        if use:
            # `type` is left out: old versions of botocore drop it, so that the message would seem to be another one.
            yield {"toolUse": {"name": use.get("name"), "input": _plain(use.get("input"))}}
        elif result:
            _, tool = names.get(str(result.get("toolUseId")), (0, "unknown"))
            told = {"tool": tool, "status": result.get("status") or "success"}
            yield {"toolResult": {**told, "content": [*_blocks(result.get("content"), names)]}}
        elif "reasoningText" in thought:
            text = object_of(thought["reasoningText"])
            yield {"reasoningContent": {"text": text.get("text"), "signed": bool(text.get("signature"))}}
        elif thought:
            yield {"reasoningContent": {"redacted": True}}
        elif "cachePoint" not in block:
            yield cleaned(block)


def _tool_config(config: Mapping[str, Any]) -> Entry:
    """Return the offered tools by name, sorted, because the order is often that of a set; and the choice."""
    tools: Entry = {}
    for tool in objects_of(config.get("tools")):
        for kind, value in tool.items():
            if kind != "cachePoint":
                spec = dict(object_of(value))
                name = str(spec.pop("name", kind))
                schema = object_of(object_of(spec.pop("inputSchema", None)).get("json"))
                told = {key: _text(each) for key, each in cleaned(spec).items()}
                tools[name] = {**told, **({"inputSchema": _schema(schema)} if schema else {})}
    choice = {"toolChoice": cleaned(config["toolChoice"])} if "toolChoice" in config else {}
    return {"tools": dict(sorted(tools.items())), **choice}


def _schema(value: Any) -> Any:
    """Return a JSON Schema in which the names in `required` are sorted: frameworks make them of sets, too."""
    if is_object(value):
        made = {name: _text(each) if name == "description" else _schema(each) for name, each in value.items()}
        required = made.get("required")
        return {**made, "required": sorted(required)} if is_array(required) and all(map(is_text, required)) else made
    return [*map(_schema, value)] if is_array(value) else value


def _text(value: Any) -> Any:
    """Return a text without the indentation of a docstring, which Python 3.13 removes."""
    return cleandoc(value) if isinstance(value, str) else value


def cleaned(value: Any, name: str = "") -> Any:
    """Return a JSON value without durations and tokens of one call, and with a digest in place of binary data.

    JSON of the application, such as the input of a tool, stays as it is.
    """
    if name in APPLICATION:
        return _plain(value)
    if isinstance(value, bytes | bytearray):
        return _digest(bytes(value))
    if name in _BYTES and is_text(value):
        try:
            return _digest(b64decode(value, validate=True))
        except (Error, ValueError):
            return value
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: cleaned(each, key) for key, each in members.items() if not _is_chance(key, each)}
    if isinstance(value, list | tuple):
        return [cleaned(each, name) for each in cast("Sequence[Any]", value)]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _plain(value: Any) -> Any:
    """Return a value of the application as JSON."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in cast("Mapping[object, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [*map(_plain, cast("Sequence[Any]", value))]
    return value if value is None or isinstance(value, str | int | float) else str(value)


_GONE: Final = TOKENS | {"toolUseId", "appliedGuardrailDetails"}
"""Members that are left out: ids, and what the fake adds to a trace if botocore knows it."""


def _is_chance(name: str, value: object) -> bool:
    return name in _GONE or (is_number(value) and name.lower().endswith(DURATIONS))


def _digest(data: bytes) -> str:
    return f"{counted(len(data), 'byte')}, sha256 {sha256(data).hexdigest()[:16]}"


def folded(calls: Iterable[OutlinedCall]) -> list[OutlinedCall]:
    """Return the calls, in the order of their arrival, without those that repeat a failed one.

    A client's next attempt has the id of the first one. Other repetitions are known by their request; if several agents
    ask the same at once, nobody knows who repeats what, and so each answered call gets its share of the failures.
    """
    made: list[OutlinedCall] = []
    invoked: dict[str, OutlinedCall] = {}
    for call in calls:
        first = invoked.setdefault(call.invocation, call) if call.invocation else call
        if first is call:
            made.append(call)
        else:
            first.fold(call)
    same: dict[tuple[str, int], list[OutlinedCall]] = {}
    for call in made:
        same.setdefault((call.request.key, call.request.prefixes[-1]), []).append(call)
    for group in same.values():
        if len(group) > 1:
            _share(group)
    return [call for call in made if call.repeats is None]


def _share(group: Sequence[OutlinedCall]) -> None:
    """Fold the failed ones of calls with the same request."""
    answered = [call for call in group if not call.failed]
    last = max((at for at, call in enumerate(group) if not call.failed), default=-1)
    failures = sorted((call for call in group[: max(last, 0)] if call.failed), key=lambda call: canonical(call.tries))
    for failure in failures:
        failure.fold_into(answered[0])
    if len(answered) > 1:  # which of the equal calls met a failure is left to chance
        tries = sorted((each for call in answered for each in call.retried), key=canonical)
        answered.sort(key=lambda call: canonical(call.answer))
        for at, call in enumerate(answered):
            call.retried = tries[at :: len(answered)]
    for failure in group[last + 2 :]:  # nothing came after these: the first of them stands for all
        group[last + 1].fold(failure)


class _Known:
    """The calls that a later call may continue, by what its messages contain."""

    def __init__(self) -> None:
        self._begins: dict[tuple[int, int], list[OutlinedCall]] = {}
        self._told: dict[tuple[int, int, str], list[OutlinedCall]] = {}
        self._ends: dict[tuple[tuple[str, str], str, str], list[OutlinedCall]] = {}

    def add(self, call: OutlinedCall) -> None:
        """Add a call: by its messages, and by these, or the last of them, with its answer."""
        request, answer = call.request, answered(call)
        whole = len(request.keys), request.prefixes[-1]
        self._begins.setdefault(whole, []).append(call)
        self._told.setdefault((*whole, answer), []).append(call)
        for end in ("", *request.keys[-1:]):  # the first message of a window may be the answer itself
            self._ends.setdefault((request.agent, end, answer), []).append(call)

    def before(self, call: OutlinedCall) -> OutlinedCall | None:
        """Return the call that a call continues: what its messages tell, and never who came first.

        It is the call whose answer is the last of those in the messages, after all of its messages or, in the same
        agent, after its last one, as in a sliding window. If there is none, it is a call of the same agent with whose
        messages they begin. Tried for the others: the parent that the fake has recognised. Of calls with equal answers,
        that is the one that arrived last.
        """
        keys, prefixes, agent = call.request.keys, call.request.prefixes, call.request.agent
        for at in range(len(keys) - 1, -1, -1):
            told = self._told.get((at, prefixes[at], keys[at]), ())
            ending = self._ends.get((agent, keys[at - 1] if at else "", keys[at]), ())
            found = [*told, *ending]
            if found:
                return self._best(call.request, at, found)
        for at in range(len(keys) - 1, 0, -1):
            found = [each for each in self._begins.get((at, prefixes[at]), ()) if each.request.agent == agent]
            if found:
                return self._best(call.request, at, found)
        return None

    def _best(self, request: _Request, at: int, found: Sequence[OutlinedCall]) -> OutlinedCall:
        best, *_ = sorted(found, key=lambda each: self._rank(request, at, each))
        return best

    def _rank(self, request: _Request, at: int, each: OutlinedCall) -> tuple[Any, ...]:
        """Return the key of the best: by agent, number of equal messages, settings, and number of next calls."""
        other = each.request
        shared = common_length(request.keys[:at][::-1], other.keys[::-1])
        is_other = request.key != other.key
        return request.agent != other.agent, -shared, is_other, other.key, other.keys, len(each.later)


def linked(calls: Iterable[OutlinedCall]) -> tuple[list[OutlinedCall], list[OutlinedCall]]:
    """Link each call to the calls that continue it. Return the first calls of conversations, and all calls."""
    begun, made, known = list[OutlinedCall](), folded(calls), _Known()
    for call in made:
        before = known.before(call)
        (begun if before is None else before.later).append(call)
        call.follows = before
        known.add(call)
    return begun, made


def answered(call: OutlinedCall) -> str:
    """Return the key of the message with a call's answer, as in `_Request.keys`; empty if there was no message."""
    content = call.answer.get("content")
    return "" if content is None else canonical({"role": "assistant", "content": content})


def entries(calls: Iterable[OutlinedCall]) -> Iterator[Entry]:
    """Yield the entry of each call, conversation after conversation.

    Conversations are sorted by system prompt, model and content, because agents that run at once arrive in any order.
    An entry has no number that depends on other conversations, so that an agent more or less changes nothing else. The
    calls of other operations are last.
    """
    asked, others = list[OutlinedCall](), list[OutlinedCall]()
    for call in calls:
        (asked if call.conversation else others).append(call)
    begun, made = linked(asked)
    for call in reversed(made):
        call.later.sort(key=attrgetter("place"))
        call.entry = entry_of(call)
        after = "".join(each.place[-1] for each in call.later)
        text = canonical(call.entry)
        call.place = call.request.agent, not call.failed, text, sha256(f"{text}{after}".encode()).hexdigest()
    agents: dict[tuple[str, str], Entry] = {}
    conversation: dict[int, int] = {}
    waiting = sorted(begun, key=attrgetter("place"), reverse=True)
    latest: OutlinedCall | None = None
    while waiting:
        call = waiting.pop()
        agent = call.request.agent
        if call.follows is None:
            conversation.clear()
            begins = {"begins": "conversation" if agent in agents else "agent"}
            yield {**begins, **(_entry(call, agents[agent]) if agent in agents else call.entry)}
            agents[agent] = call.request.settings
        else:
            branch = {} if call.follows is latest else {"continues": conversation[id(call.follows)]}
            yield {**branch, **call.entry}
        conversation[id(call)] = len(conversation) + 1
        latest = call
        waiting += reversed(call.later)
    yield from sorted(map(_other, others), key=canonical)


def entry_of(call: OutlinedCall) -> Entry:
    """Return the entry of one call: what is new in comparison with `call.follows`."""
    if not call.conversation:
        return _other(call)
    return _entry(call, {} if call.follows is None else call.follows.request.settings)


def _entry(call: OutlinedCall, known: Entry) -> Entry:
    retried = {"retried": call.retried} if call.retried else {}
    return {**_changed(known, call.request.settings), **_new_messages(call), **retried, **call.answer}


def _changed(before: Entry, now: Entry) -> Entry:
    """Return the settings that differ, and of the tools only those that differ. None stands for what is gone."""
    made = {name: now.get(name) for name in [*now, *before] if before.get(name) != now.get(name)}
    if before.get("tools") and made.get("tools"):
        made["tools"] = _changed(before["tools"], now["tools"])
    return made


def _new_messages(call: OutlinedCall) -> Entry:
    """Return the messages that the agent has added, and a line for each that it has left out."""
    request, before = call.request, call.follows
    if before is None:
        return {"messages": request.messages}
    told, keys = before.request.messages, before.request.keys
    if (answer := answered(before)) != "":
        told = [*told, {"role": "assistant", "content": before.answer["content"]}]
        keys = [*keys, answer]
    pairs = aligned(keys, request.keys, str, leftovers=False)
    gone = [one_line(told[pair.old]) for pair in pairs if pair.new is None and pair.old is not None]
    new = [request.messages[pair.new] for pair in pairs if pair.old is None and pair.new is not None]
    return {**({"left_out": gone} if gone else {}), "messages": new}


def _other(call: OutlinedCall) -> Entry:
    """Return the entry of a call that asks a model for no answer of a conversation, such as Retrieve."""
    model = {"modelId": call.model_id} if call.model_id else {}
    return {"operation": call.operation, "service": call.service, **model, "input": cleaned(call.body), **call.answer}


def one_line(message: Mapping[str, Any]) -> str:
    """Return a message of an outline in one line, such as `user: toolResult timetable success`."""
    return f"{message.get('role')}: {' + '.join(map(block_line, objects_of(message.get('content')))) or 'nothing'}"


_WIDTH: Final = 60
"""The maximum number of characters of a text in the text of an outline. The rest becomes a number and a digest."""


def block_line(block: Mapping[str, Any]) -> str:
    """Return a content block of an outline in one line."""
    match block:
        case {"text": str(text)}:
            return _cut(repr(text))
        case {"toolUse": {"name": name, "input": given}}:
            return f"toolUse {name} {_cut(canonical(given))}"
        case {"toolResult": {"tool": tool, "status": status, "content": content}}:
            return f"toolResult {tool} {status}: {_cut(', '.join(map(block_line, content)))}"
        case {"reasoningContent": {"text": text}}:
            return f"reasoning {_cut(repr(text))}"
        case _:
            name = next(iter(block), "empty block")
            return f"{name} {_cut(canonical(block.get(name)))}"


def _cut(text: str) -> str:
    flat = text.replace("\n", " ")
    return flat if len(flat) <= _WIDTH else f"{flat[:_WIDTH]}... ({len(text):,} characters, {digest_of(text)})"


def digest_of(text: str) -> str:
    """Return the first digits of a text's SHA-256."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:6]
