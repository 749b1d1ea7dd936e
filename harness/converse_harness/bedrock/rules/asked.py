"""RuleRequest: a request as rules look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from typing import Any, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock import Violation
from converse_harness.bedrock.findings import is_object
from converse_harness.bedrock.models import Standing, standing

Message = Mapping[str, Any]

Block = tuple[int, int, Any]
"""A content block: the indexes of its message and in that, and what it holds."""


class RuleViolation(NamedTuple):
    """A place where a request breaks a rule: its path for people, and the values for the rule's message."""

    path: str
    values: Mapping[str, object] = {}


@dataclass(frozen=True)
class RuleRequest:
    """A request as the rules see it: operation, decoded model id, and the JSON body without nulls.

    `stands_for` is the model behind an id that does not name its model.
    """

    operation: str
    model_id: str
    body: Mapping[str, Any]
    stands_for: str = ""

    @property
    def model(self) -> Standing:
        """The row of the models table for the request's model."""
        return standing(self.stands_for or self.model_id)

    @property
    def shape(self) -> str:
        """The name of the operation's input in AWS's model."""
        return str(bedrock.operation(self.operation).input_shape.name)

    @cached_property
    def violations(self) -> Sequence[Violation]:
        """The body's violations of AWS's model. Computed once, because several rules read them."""
        sent = {**dict.fromkeys(labels(self.operation), "m"), **self.body}
        return bedrock.validate(self.shape, sent, checks=bedrock.JSON_CHECKS)

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The messages, blobs as base64; consecutive messages of one role are merged if the model merges them."""
        found: Sequence[Message] = self.body.get("messages", ())
        model = self.model.model
        return found if model is None or not model.merges else [*_merged(found)]

    @property
    def system(self) -> Sequence[Mapping[str, Any]]:
        """The system content blocks."""
        found: Sequence[Mapping[str, Any]] = self.body.get("system", ())
        return found

    @property
    def inference(self) -> Mapping[str, Any]:
        """The inferenceConfig; empty if absent."""
        found: Mapping[str, Any] = self.body.get("inferenceConfig", {})
        return found

    @property
    def tool_config(self) -> Mapping[str, Any]:
        """The toolConfig; empty if absent."""
        found: Mapping[str, Any] = self.body.get("toolConfig", {})
        return found

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The entries of the toolConfig's `tools`: tools and cache points."""
        found: Sequence[Mapping[str, Any]] = self.tool_config.get("tools", ())
        return found

    @property
    def thinking(self) -> Mapping[str, Any]:
        """The `thinking` settings of a Claude request, empty if absent."""
        fields = self.body.get("additionalModelRequestFields")
        found = fields.get("thinking") if is_object(fields) else None
        return found if is_object(found) else {}

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of the request, by which `needs` decides whether a finder has to run."""
        found = {*self.body, *self._blocks}
        found.update([f"role {message.get('role')}" for message in self.messages])
        if self.violations:
            found.add("a violation of AWS's model")
        for _, _, result in self.blocks("toolResult"):
            for block in result.get("content", ()):
                found.update(block)
        return frozenset(found & _NEEDED)

    def blocks(self, kind: str) -> Sequence[Block]:
        """The values of all blocks of one kind in `content`, in order."""
        return self._blocks.get(kind, ())

    def block(self, n: int, m: int) -> Mapping[str, Any]:
        """The content block at these indexes; an empty one if there is none."""
        content: Sequence[Mapping[str, Any]] = self.messages[n].get("content", ())
        return content[m] if 0 <= m < len(content) else {}

    def shown(self, kind: str) -> Iterator[tuple[str, Any]]:
        """All blocks of one kind in messages and in tool results, each with its path."""
        for n, m, value in self.blocks(kind):
            yield at(n, m, kind), value
        for n, m, result in self.blocks("toolResult"):
            for k, inner in enumerate(result.get("content", ())):
                if kind in inner:
                    yield at(n, m, f"toolResult.content[{k}].{kind}"), inner[kind]

    @cached_property
    def _blocks(self) -> Mapping[str, Sequence[Block]]:
        """All blocks by kind. Collected in one pass, because most rules are about kinds that few requests contain."""
        found: dict[str, list[Block]] = {}
        for n, message in enumerate(self.messages):
            for m, block in enumerate(message.get("content", ())):
                for kind, value in block.items():
                    found.setdefault(kind, []).append((n, m, value))
        return found


Finder = Callable[[RuleRequest], Iterator[RuleViolation]]
"""Finds each place where a request breaks a rule."""

_NEEDED: set[str] = set()
_NEEDS: dict[Finder, frozenset[str]] = {}


def needs(*parts: str) -> Callable[[Finder], Finder]:
    """Mark a finder that can match only requests with one of these parts, so that it is skipped for all others.

    A part is a member of the request's body, a kind of content block in its messages or tool results, "role X" for a
    message of that role, or "a violation of AWS's model".
    """

    def mark(find: Finder) -> Finder:
        _NEEDED.update(parts)
        _NEEDS[find] = frozenset(parts)
        return find

    return mark


def has_to_look(find: Finder, parts: frozenset[str]) -> bool:
    """Whether a finder can match a request with these parts."""
    needed = _NEEDS.get(find)
    return needed is None or not needed.isdisjoint(parts)


@cache
def labels(operation: str) -> frozenset[str]:
    """The members of an operation's input that are sent in the URL path and not in the body."""
    members = bedrock.operation(operation).input_shape.members
    return frozenset(name for name, each in members.items() if each.serialization.get("location") == "uri")


def _merged(messages: Sequence[Message]) -> Iterator[Message]:
    for role, run in groupby(messages, key=lambda message: message.get("role")):
        first, *others = run
        if not others:
            yield first
        else:
            yield {"role": role, "content": [block for each in (first, *others) for block in each.get("content", ())]}


def at(n: int, m: int | None = None, *more: str) -> str:
    """The path of a message or of a content block."""
    block = f"messages[{n}]" if m is None else f"messages[{n}].content[{m}]"
    return ".".join((block, *more))
