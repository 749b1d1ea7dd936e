"""Make the entries of an outline: what is new in each request, and what the script answered.

This module decides the form of an outline, which changes only with FORM.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

from converse_harness.json_values import canonical, is_array, is_number, is_object, is_text, object_of, objects_of
from converse_harness.recordings.chance import DURATIONS, TOKENS
from converse_harness.recordings.differences import aligned
from converse_harness.words import counted

FORM: Final = 1
"""The version of the form of outlines. It changes only with a major release."""

Entry = dict[str, Any]

_BYTES: Final = ("bytes", "redactedContent")
"""Members with binary data: bytes in an answer, base64 in the JSON of a request."""


@dataclass(slots=True, eq=False)
class OutlinedCall:
    """One request and its answer, as an outline tells them.

    `body` is the JSON of the request. `answer` contains the members of the entry that tell the answer. `failed` is true
    if the client got no whole answer, so that it may ask again. `follows` is the call before it in the conversation, as
    the fake has recognised it; an outline uses it only if the messages do not tell.
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
    request: _Request = field(init=False)
    entry: Entry = field(default_factory=dict[str, Any])
    place: tuple[tuple[str, str], bool, str, str] = (("", ""), False, "", "")
    """The key by which conversations, and the calls that continue one call, are sorted: by agent, then failed calls."""

    def __post_init__(self) -> None:
        self.request = _Request(self)


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
                made[name] = cleaned(value)
        return made

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
        made.messages.append(told)
        made.keys.append(canonical(told))
    return made


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
            kind = {"type": use["type"]} if use.get("type") not in (None, "tool_use") else {}
            yield {"toolUse": {"name": use.get("name"), **kind, "input": cleaned(use.get("input"))}}
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
                tools[name] = {**cleaned(spec), **({"inputSchema": _schema(schema)} if schema else {})}
    choice = {"toolChoice": cleaned(config["toolChoice"])} if "toolChoice" in config else {}
    return {"tools": dict(sorted(tools.items())), **choice}


def _schema(value: Any) -> Any:
    """Return a JSON Schema in which the names in `required` are sorted: frameworks make them of sets, too."""
    if is_object(value):
        made = {name: _schema(each) for name, each in value.items()}
        required = made.get("required")
        return {**made, "required": sorted(required)} if is_array(required) and all(map(is_text, required)) else made
    return [*map(_schema, value)] if is_array(value) else value


def cleaned(value: Any, name: str = "") -> Any:
    """Return a JSON value without durations and tokens of one call, and with a digest in place of binary data."""
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


def _is_chance(name: str, value: object) -> bool:
    return name in TOKENS or (is_number(value) and name.lower().endswith(DURATIONS))


def _digest(data: bytes) -> str:
    return f"{counted(len(data), 'byte')}, sha256 {sha256(data).hexdigest()[:16]}"


def linked(calls: Iterable[OutlinedCall]) -> tuple[list[OutlinedCall], list[OutlinedCall]]:
    """Link each call to the calls that continue it, and fold repetitions.

    Return the first calls of conversations, and all calls without those that repeat one.

    `calls` come in the order of their arrival. A call continues the call with the most messages with which its own
    begin. If there is none, since the agent has changed its messages, it continues the call that the fake recognised.
    """
    begun, made = list[OutlinedCall](), list[OutlinedCall]()
    by_prefix: dict[tuple[int, int], list[OutlinedCall]] = {}
    failed: dict[tuple[Any, ...], OutlinedCall] = {}
    for call in calls:
        request = call.request
        same = canonical(request.settings), request.prefixes[-1]
        again = failed.pop(same, None)
        if again is not None:  # the client asks again what was not answered: one entry, with the answers of each try
            again.retried.append(again.answer)
            again.answer, again.failed = call.answer, call.failed
            call.repeats = again
            call = again  # noqa: PLW2901 - what follows is about the first try
        else:
            before = _before(call, by_prefix) or (call.follows and (call.follows.repeats or call.follows))
            (begun if before is None else before.later).append(call)
            made.append(call)
            call.follows = before
            by_prefix.setdefault((len(request.keys), request.prefixes[-1]), []).append(call)
        if call.failed:
            failed[same] = call
    return begun, made


def _before(call: OutlinedCall, by_prefix: Mapping[tuple[int, int], Sequence[OutlinedCall]]) -> OutlinedCall | None:
    """Return the call that a call continues: its messages, and its answer if one of several has it."""
    keys, prefixes = call.request.keys, call.request.prefixes
    for length in range(len(keys) - 1, 0, -1):
        found = by_prefix.get((length, prefixes[length]), ())
        told = [each for each in found if answered(each) == keys[length]]
        if found:  # several are equal, and so it does not matter which one; the next call gets another one
            return min(told or found, key=lambda each: len(each.later))
    return None


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
    return flat if len(flat) <= _WIDTH else f"{flat[: _WIDTH - 3]}..."
