"""The class RuleRequest (the input of the rules), and functions that make Finders.

A Finder is a function that finds the places where a request breaks a rule.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock import Violation
from converse_harness.bedrock.models import Standing, standing
from converse_harness.bedrock.request_items import RequestItem, RequestItems
from converse_harness.json_values import member_of, object_of, objects_of

Message = Mapping[str, Any]

Block = tuple[int, int, Any]
"""A content block: the index of its message, the index of the block in this message, and the block's value."""


class RuleViolation(NamedTuple):
    """A place where a request breaks a rule.

    `path` is the path of the place, for messages to the user. `values` replace the placeholders in the rule's message.
    """

    path: str
    values: Mapping[str, object] = {}


@dataclass(frozen=True)
class RuleRequest:
    """A request as the input of the rules: operation, URL-decoded model id, and the JSON body without nulls.

    For CountTokens, `body` is the result of `conversation_in`. `stands_for` is the model's real id if `model_id` does
    not contain it, as with the ARN of an imported model. `items` are the items of `body`, if the caller has them: what
    is known of items that other requests contained is not computed again.
    """

    operation: str
    model_id: str
    body: Mapping[str, Any]
    stands_for: str = ""
    items: RequestItems | None = field(default=None, repr=False, compare=False)

    @cached_property
    def model(self) -> Standing:
        """The row of the table MODELS for the requested model, as `standing` returns it."""
        return standing(self.stands_for or self.model_id)

    def of_model(self, model_id: str, stands_for: str = "") -> RuleRequest:
        """Return a copy of this request with another model id. Both share `violations`, which are slow to compute."""
        other = RuleRequest(self.operation, model_id, self.body, stands_for, self.items_of_body)
        other.__dict__["violations"] = self.violations  # cached_property stores its value in __dict__
        return other

    @property
    def within(self) -> tuple[str, ...]:
        """The path of `body` in the body that was sent: empty, except for CountTokens."""
        if self.operation != "CountTokens":
            return ()
        return ("input",) if INVOKED in self.body else ("input", "converse")

    @property
    def judged_as(self) -> str:
        """The operation whose rules apply: the operation itself, or InvokeModel if CountTokens counts its body."""
        return "InvokeModel" if self.within and INVOKED in self.body else self.operation

    @property
    def input_shape(self) -> str:
        """The name of the operation's input shape in AWS's API model."""
        return str(bedrock.operation(self.operation).input_shape.name)

    @property
    def shape(self) -> str:
        """The name of the shape of `body` in AWS's API model: the input shape, except for CountTokens."""
        name = self.input_shape
        for member in self.within:
            name = str(bedrock.member(name, member).name)
        return name

    @cached_property
    def violations(self) -> Sequence[Violation]:
        """The body's violations of AWS's API model. They are computed once, because several rules read them."""
        in_path = () if self.within else labels(self.operation)
        if self._items_are_valid(in_path):
            return ()
        return bedrock.validate(self.shape, {**dict.fromkeys(in_path, "m"), **self.body}, checks=bedrock.JSON_CHECKS)

    def _items_are_valid(self, in_path: Iterable[str]) -> bool:
        """Whether each item is valid on its own, and none is missing or unknown. If so, the whole body is valid."""
        shape, items = bedrock.shape(self.shape), self.items_of_body
        members, required = shape.members, shape.metadata.get("required", ())
        several = members.get("messages")
        if not {*required} <= {*self.body, *in_path}:
            return False
        if several is not None and not _LIMITS.isdisjoint(several.metadata):
            return False
        return all(name in members and _is_valid(item, members[name]) for name, item in items.members.items()) and (
            several is None or all(_is_valid(item, several.member) for item in items.messages)
        )

    @cached_property
    def invoked(self) -> object:
        """The JSON of the InvokeModel body whose tokens CountTokens counts; None if there is none."""
        return invoke_body(self.body.get(INVOKED))

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The request's messages, with base64 blobs. For some models, consecutive messages of one role are merged."""
        found: Sequence[Message] = self.body.get("messages", ())
        model = self.model.model
        return found if model is None or not model.merges else [*_merged(found)]

    @cached_property
    def system(self) -> Sequence[Mapping[str, Any]]:
        """The system content blocks."""
        return objects_of(self.body.get("system"))

    @cached_property
    def inference(self) -> Mapping[str, Any]:
        """The inferenceConfig; empty if absent."""
        return object_of(self.body.get("inferenceConfig"))

    @cached_property
    def tool_config(self) -> Mapping[str, Any]:
        """The toolConfig; empty if absent."""
        return object_of(self.body.get("toolConfig"))

    @cached_property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The entries of the toolConfig's `tools`: tools and cache points."""
        return objects_of(self.tool_config.get("tools"))

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The additionalModelRequestFields; empty if absent."""
        return object_of(self.body.get(FIELDS))

    @cached_property
    def thinking(self) -> Mapping[str, Any]:
        """The `thinking` settings of a Claude request, empty if absent."""
        return object_of(member_of(self.body, FIELDS, "thinking"))

    @cached_property
    def parts(self) -> frozenset[Part]:
        """The parts of the request that decide which Finders are called; see `needs` and `alone`."""
        found: set[Part] = {*self.body}
        for item in self._message_items:
            found |= item.once(_parts_of_message)
        for name, find in _PARTS_OF_MEMBERS.items():
            if name in self.items_of_body.members:
                found |= self.items_of_body.members[name].once(find)
        if self.violations:
            found.add("a violation of AWS's API model")
        return frozenset(found & _NEEDED)

    @cached_property
    def items_of_body(self) -> RequestItems:
        """The items of `body`: `items` if the caller has them."""
        return RequestItems.of(self.body) if self.items is None else self.items

    @property
    def _message_items(self) -> Sequence[RequestItem]:
        """The items of `messages`. Merged messages are no items of the request."""
        items = self.items_of_body.messages
        return items if len(items) == len(self.messages) else [RequestItem(each) for each in self.messages]

    @property
    def kinds(self) -> Iterable[str]:
        """The kinds of the content blocks in the messages."""
        return self._blocks

    @cached_property
    def client_ids(self) -> Mapping[str, Mapping[int, Sequence[str]]]:
        """The toolUseIds by the kind of their block ("toolUse" or "toolResult"), and by the index of their message.

        Blocks of tools that the service runs are skipped.
        """
        found: dict[str, dict[int, list[str]]] = {"toolUse": {}, "toolResult": {}}
        for kind, ids in found.items():
            for n, _, block in self.blocks(kind):
                if block.get("type") in _CLIENT_TYPES:
                    ids.setdefault(n, []).append(str(block.get("toolUseId")))
        return found

    def blocks(self, kind: str) -> Sequence[Block]:
        """Return all content blocks of the given `kind` in the messages, in order."""
        return self._blocks.get(kind, ())

    def block(self, n: int, m: int) -> Mapping[str, Any]:
        """Return the content block `m` of the message `n`; an empty mapping if there is none."""
        return block_in(self.messages[n], m)

    def in_results(self) -> Iterator[tuple[int, int, int, Mapping[str, Any]]]:
        """Yield each block in a tool result, as (index of message, index of tool result, index of block, block)."""
        for n, m, result in self.blocks("toolResult"):
            for k, inner in enumerate(result.get("content", ())):
                yield n, m, k, inner

    def shown(self, kind: str) -> Iterator[tuple[str, int, int, Any]]:
        """Yield each block of the given `kind` in the messages, then each one in tool results.

        A tuple contains the block's path, the index of its message, an index in this message, and the block's value.
        The third item is the index of the block itself or of the tool result that contains the block.
        """
        for n, m, value in self.blocks(kind):
            yield at(n, m, kind), n, m, value
        for n, m, k, inner in self.in_results():
            if kind in inner:
                yield at(n, m, f"toolResult.content[{k}].{kind}"), n, m, inner[kind]

    @cached_property
    def _blocks(self) -> Mapping[str, Sequence[Block]]:
        """All content blocks of the messages, by kind; collected once, because most rules are about rare kinds."""
        found: dict[str, list[Block]] = {}
        for n, message in enumerate(self.messages):
            for m, block in enumerate(message.get("content", ())):
                for kind, value in block.items():
                    found.setdefault(kind, []).append((n, m, value))
        return found


_CLIENT_TYPES: Final = (None, "tool_use")
"""The recorded values of `type` in tool uses and tool results for tools that the client runs. For its own tools, the
service sets other values: `server_tool_use` for a use, and for example `nova_grounding_result` for a result.
"""

Finder = Callable[[RuleRequest], Iterator[RuleViolation]]
"""A function that yields a RuleViolation for each place where a request breaks a rule."""

FIELDS: Final = "additionalModelRequestFields"
"""The name of the request's member with fields that only some models have."""

LONG_TEXT: Final = "a long text"
"""The part of a request, as in `needs`, that has a message with so much text that the sizes of all texts matter."""

_LONG: Final = 100_000

INVOKED: Final = "invokeModel"
"""The member of CountTokens' input that contains a body of InvokeModel."""

Part = str | Finder
"""A part of a request that decides which Finders are called: a name as in `needs`, or a Finder of `alone`."""

_NEEDED: set[Part] = set()
_NEEDS: dict[Finder, frozenset[str]] = {}

Alone = Literal["messages", "toolConfig"]
_ALONE: Final[Mapping[Alone, list[Finder]]] = {"messages": [], "toolConfig": []}


def needs(*parts: str) -> Callable[[Finder], Finder]:
    """Make a decorator for a Finder that applies only to requests with at least one of `parts`.

    The decorated Finder is not called for other requests.

    A part is a member of the request's body, a kind of content block in its messages or tool results, "role X" for a
    message with this role, "cachePoint" also for one in tools or system, LONG_TEXT, or "a violation of AWS's API
    model".
    """

    def mark(find: Finder) -> Finder:
        _NEEDED.update(parts)
        _NEEDS[find] = frozenset(parts)
        return find

    return mark


def alone(member: Alone, *parts: str) -> Callable[[Finder], Finder]:
    """Make a decorator for a Finder that looks at each message alone, or at nothing but the toolConfig.

    Whether it finds something in a message does not depend on the model, the operation or the rest of the request. So
    it is called once for each message, and for the whole request only if it has found something. `parts` are those of
    `needs`, as far as they can be in one message.
    """

    def mark(find: Finder) -> Finder:
        _ALONE[member].append(find)
        _NEEDED.add(find)
        _NEEDS[find] = frozenset(parts)
        return find

    return mark


def _parts_of_message(message: Message) -> frozenset[Part]:
    asked = RuleRequest("Converse", "", {"messages": [message]})
    found: set[Part] = {*asked.kinds, f"role {message.get('role')}"}
    if sum(len(text) for _, _, text in asked.blocks("text")) > _LONG:
        found.add(LONG_TEXT)
    for _, _, _, block in asked.in_results():
        found.update(block)
    return _shared(frozenset(found) | _found_alone("messages", asked, found))


@lru_cache(maxsize=256)
def _shared(parts: frozenset[Part]) -> frozenset[Part]:
    """Return the same object for equal parts. This saves memory, because each message of a call keeps its parts."""
    return parts


def _parts_of_tools(config: object) -> frozenset[Part]:
    asked = RuleRequest("Converse", "", {"toolConfig": config})
    points = {"cachePoint"} if any("cachePoint" in tool for tool in asked.tools) else set[str]()
    return frozenset(points) | _found_alone("toolConfig", asked, {"toolConfig"})


def _parts_of_system(system: object) -> frozenset[Part]:
    return frozenset({"cachePoint"} if any("cachePoint" in block for block in objects_of(system)) else ())


_PARTS_OF_MEMBERS: Final[Mapping[str, Callable[[object], frozenset[Part]]]] = {
    "toolConfig": _parts_of_tools,
    "system": _parts_of_system,
}


def _found_alone(member: Alone, asked: RuleRequest, parts: AbstractSet[Part]) -> frozenset[Part]:
    """Return those Finders of `alone` that find something in a request with only this member."""
    finders = [find for find in _ALONE[member] if not _NEEDS[find] or not _NEEDS[find].isdisjoint(parts)]
    return frozenset(find for find in finders if any(True for _ in find(asked)))


_LIMITS: Final = frozenset({"min", "max"})


def _is_valid(item: RequestItem, shape: bedrock.Shape) -> bool:
    return item.once(_validity(shape.name))


@cache
def _validity(shape_name: str) -> Callable[[object], bool]:
    return lambda value: not bedrock.validate(shape_name, value, checks=bedrock.JSON_CHECKS)


def parts_of(find: Finder) -> frozenset[str]:
    """Return the parts that `needs` or `alone` declared for a Finder.

    The set is empty if the Finder applies to all requests.
    """
    return _NEEDS.get(find, frozenset())


def in_request(path: str, breaks: Callable[[RuleRequest], bool], *parts: str) -> Finder:
    """Make a Finder that yields `path` if `breaks(request)` is true. `parts` are the arguments of `needs`."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if breaks(asked):
            yield RuleViolation(path)

    return needs(*parts)(find) if parts else find


def in_blocks(kind: str, breaks: Callable[[Any], bool], path: str = "") -> Finder:
    """Make a Finder that yields each content block of the given `kind` if `breaks(the block's value)` is true.

    `path` is appended to the block's path.
    """

    @alone("messages", kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, m, value in asked.blocks(kind):
            if breaks(value):
                yield RuleViolation(at(n, m, kind + path), {"n": n, "m": m})

    return find


def in_messages(*kinds: str, breaks: Callable[[Message, int], bool]) -> Finder:
    """Make a Finder that yields each content block of the given `kinds` if `breaks` returns true.

    The arguments of `breaks` are the message, and the index of the block in this message.
    """

    @alone("messages", *kinds)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for kind in kinds:
            for n, m, _ in asked.blocks(kind):
                if breaks(asked.messages[n], m):
                    yield RuleViolation(at(n, m, kind), {"n": n, "m": m, "kind": kind})

    return find


def any_block(*kinds: str, role: str = "") -> Finder:
    """Make a Finder that yields each content block of the given `kinds`; with `role`, only in messages of this role."""
    return in_messages(*kinds, breaks=lambda message, _: role in ("", message.get("role")))


def in_contents(kind: str, breaks: Callable[[AbstractSet[str]], bool]) -> Finder:
    """Make a Finder that yields each message with a block of the given `kind` if `breaks` returns true.

    The argument of `breaks` is the set of the kinds of all blocks in the message.
    """

    @alone("messages", kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n in dict.fromkeys(n for n, _, _ in asked.blocks(kind)):
            if breaks({each for block in asked.messages[n]["content"] for each in block}):
                yield RuleViolation(at(n, None, "content"), {"n": n})

    return find


def in_shown(kind: str, breaks: Callable[[Any], bool], path: str = "") -> Finder:
    """Make a Finder like `in_blocks` that also checks the blocks in tool results."""

    @alone("messages", kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for place, n, m, value in asked.shown(kind):
            if breaks(value):
                yield RuleViolation(place + path, {"n": n, "m": m})

    return find


def in_results(*kinds: str, breaks: Callable[[Any], bool] = lambda _: True, path: str = "") -> Finder:
    """Make a Finder that yields each block of the given `kinds` in tool results if `breaks(the block's value)` is true.

    `path` is appended to the block's path.
    """

    @alone("messages", "toolResult")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, m, k, inner in asked.in_results():
            for kind in kinds:
                if kind in inner and breaks(inner[kind]):
                    place = at(n, m, f"toolResult.content[{k}].{kind}{path}")
                    yield RuleViolation(place, {"n": n, "m": m, "k": k})

    return find


def in_tools(breaks: Callable[[Mapping[str, Any]], bool], path: str) -> Finder:
    """Make a Finder that yields each entry of the request's list of tools if `breaks(entry)` is true.

    `path` is appended to the entry's path.
    """

    @alone("toolConfig", "toolConfig")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for k, tool in enumerate(asked.tools):
            if breaks(tool):
                yield RuleViolation(f"toolConfig.tools[{k}].{path}", {"k": k})

    return find


def has_to_look(find: Finder, parts: frozenset[Part]) -> bool:
    """Whether a Finder must be called for a request with these parts."""
    if find in _NEEDED:
        return find in parts
    needed = _NEEDS.get(find)
    return needed is None or not needed.isdisjoint(parts)


def conversation_in(operation: str | None, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a request's body that has the members of a Converse body, such as `messages`.

    It is the body itself, except for CountTokens. If CountTokens counts a body of InvokeModel, return the `input`.

    >>> conversation_in("CountTokens", {"input": {"converse": {"messages": []}}})
    {'messages': []}
    """
    if operation != "CountTokens":
        return body
    given = object_of(body.get("input"))
    return given if INVOKED in given else object_of(given.get("converse"))


def invoke_body(invoked: object) -> object:
    """Return the JSON of the body in an InvokeModelTokensRequest; the text itself if it is not JSON, None if it lacks.

    The body is base64, as in the JSON of a request.
    """
    sent = member_of(invoked, "body")
    if not isinstance(sent, str):
        return None
    text = base64.b64decode(sent).decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@cache
def labels(operation: str) -> frozenset[str]:
    """Return the names of an operation's input members that are sent in the URL path and not in the body."""
    members = bedrock.operation(operation).input_shape.members
    return frozenset(name for name, each in members.items() if each.serialization.get("location") == "uri")


def block_in(message: Message, m: int) -> Mapping[str, Any]:
    """Return the content block `m` of a message; an empty mapping if there is none."""
    content: Sequence[Mapping[str, Any]] = message.get("content", ())
    return content[m] if 0 <= m < len(content) else {}


def _merged(messages: Sequence[Message]) -> Iterator[Message]:
    for role, run in groupby(messages, key=lambda message: message.get("role")):
        same = [*run]
        content = [block for each in same for block in each.get("content", ())]
        yield same[0] if len(same) == 1 else {"role": role, "content": content}


def at(n: int, m: int | None = None, *more: str) -> str:
    """Return the path of message `n`, or of content block `m` in this message, with the steps `more` appended."""
    block = f"messages[{n}]" if m is None else f"messages[{n}].content[{m}]"
    return ".".join((block, *more))
