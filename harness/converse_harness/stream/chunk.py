"""Convert a message to the events of a stream.

The caller chooses how the text is cut: as a model family cuts it, into the given `pieces`, or by a Cutter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol, cast

from converse_harness import bedrock
from converse_harness.bedrock import families
from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.bedrock.families import FAMILIES, NEUTRAL, Family
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.literals import FamilyName
from converse_harness.stream.arguments import check_optional_text, pieces_by_block, wrong
from converse_harness.stream.grammar import CARRIED
from converse_harness.types.content import Message
from converse_harness.types.event_loop import Metrics, Usage
from converse_harness.words import shown

STREAMABLE: Final = ("text", "reasoningContent", "toolUse", "toolResult", "citationsContent", "image")
"""The members of ContentBlock that have a delta in AWS's API model."""

_CUT: Final = ("text", "reasoningContent", "toolUse", "citationsContent")
"""The members of ContentBlock that are cut into several deltas, and for which a caller can give `pieces`."""

_VALUES: Final = frozenset(bedrock.FindingKind) - {
    bedrock.FindingKind.TYPE,
    bedrock.FindingKind.REQUIRED,
    bedrock.FindingKind.UNION,
}
"""The kinds of violation with which a message can still be cut into deltas."""

_MISSING: Final = (bedrock.FindingKind.REQUIRED,)

_ROLES: Final = ("assistant", "user")

CUT_OFF: Final = ("max_tokens", "model_context_window_exceeded")
"""The stop reasons of a message that was cut off, possibly in the middle of a tool input."""


class Deltas(NamedTuple):
    """Successive contentBlockDelta events of one block that differ only in the text.

    `member` is the member of the delta that carries the text: "text", "toolUse" or "reasoningContent".
    """

    block: int
    member: str
    pieces: Sequence[str]

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield one contentBlockDelta event for each piece."""
        index, carrier = self.block, self.member
        inner = CARRIED.get(carrier)
        for piece in self.pieces:
            delta = {carrier: piece if inner is None else {inner: piece}}
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


Run = Deltas | dict[str, Any]
"""A part of a stream: successive deltas of one block, or the dict of any single event."""


_LONG_RUN: Final = 65_536
_PART_OF_A_RUN: Final = 64


def short_runs(runs: Iterable[Run]) -> Iterator[Run]:
    """Split long runs, so that only few encoded frames are in memory at once if a client reads slowly."""
    for run in runs:
        if isinstance(run, Deltas) and sum(map(len, run.pieces)) > _LONG_RUN:
            for start in range(0, len(run.pieces), _PART_OF_A_RUN):
                yield run._replace(pieces=run.pieces[start : start + _PART_OF_A_RUN])
        else:
            yield run


def events_of(runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    """Convert runs to events, and yield the events one by one."""
    for run in runs:
        if isinstance(run, Deltas):
            yield from run.events()
        else:
            yield run


def chunk(
    message: Message | Mapping[str, object],
    *,
    stop_reason: str | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
    family: FamilyName | Family = NEUTRAL,
    usage: Usage | Mapping[str, object] | None = None,
    metrics: Metrics | Mapping[str, object] | None = None,
) -> list[dict[str, Any]]:
    """Cut an AWS Message into the events of a complete ConverseStream, from messageStart to metadata.

    `stop_reason` defaults to `tool_use` if the message has a tool use for the client, otherwise to `end_turn`. `pieces`
    maps the index of a text, toolUse, reasoning or citations block to the exact deltas of this block. If `max_tokens`
    cut off a tool use at the end of the message, the pieces of this tool use may be incomplete. `family` decides how
    the blocks without `pieces` are cut (`"claude"`, `"nova"`, ...). `usage` and `metrics` default to estimates. Raises
    ReplyError for a block that cannot be streamed, and for a message, stop reason, usage or metrics that AWS's API
    model does not allow.

    >>> for event in chunk({"role": "assistant", "content": [{"text": "Hi there"}]})[1:-2]:
    ...     print(event)
    {'contentBlockDelta': {'contentBlockIndex': 0, 'delta': {'text': 'Hi'}}}
    {'contentBlockDelta': {'contentBlockIndex': 0, 'delta': {'text': ' there'}}}
    {'contentBlockStop': {'contentBlockIndex': 0}}
    """
    _check_message(message)
    check_optional_text("chunk", stop_reason=stop_reason)
    if stop_reason is not None:
        bedrock.check("StopReason", stop_reason, root="stop_reason")
    for name, value in (("usage", usage), ("metrics", metrics)):
        if value is None:
            continue
        if not is_object(value):
            raise wrong("chunk", name, value, "it must be a dict, as in a metadata event of the AWS API.")
        bedrock.check(bedrock.member("ConverseStreamMetadataEvent", name).name, value, root=name, allowing=_MISSING)
    cut_by = family_named("chunk", family)
    given = pieces_by_block("chunk", pieces)
    blocks = cast("Sequence[Mapping[str, Any]]", message["content"])
    events = [*events_of(message_runs(message, pieces=given, family=cut_by, stop_reason=stop_reason))]
    events.append({"messageStop": {"stopReason": stop_reason or default_stop_reason(blocks)}})
    output = estimate_tokens(blocks)
    usage = usage or {"inputTokens": 1, "outputTokens": output, "totalTokens": output + 1}
    events.append({"metadata": {"usage": dict(usage), "metrics": dict(metrics or {"latencyMs": 10 * output})}})
    return events


def _check_message(message: object) -> None:
    """Raise ReplyError unless the value has the structure of a Message. Its strings and numbers may violate limits."""
    content = message.get("content") if is_object(message) else None
    kinds = (
        [next(iter(block)) for block in content if is_object(block) and len(block) == 1] if is_array(content) else []
    )
    if all(kind in STREAMABLE for kind in kinds):
        bedrock.check("Message", message, root="message", allowing=_VALUES)
    if is_object(message) and message.get("role") not in _ROLES:
        raise ReplyError(f"message.role is {shown(message.get('role'))}; it must be 'assistant', or 'user'.")


def family_named(call: str, family: object) -> Family:
    """Return `family` itself, or the Family with this name. Raises ReplyError, which names the function `call`."""
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]
    raise wrong(call, "family", family, f"it must be one of {', '.join(FAMILIES)}.")


def message_runs(
    message: Mapping[str, object],
    *,
    pieces: Mapping[int, Sequence[str]] | None = None,
    family: Family = NEUTRAL,
    stop_reason: str | None = None,
    strict: bool = True,
) -> Iterator[Run]:
    """Convert a message to runs (parts of a stream), from messageStart to the last contentBlockStop.

    If AWS's API model has no delta for a block, ReplyError is raised. With `strict=False`, such a block becomes one
    delta with the block's name, because a future kind of block may be sent in this way.
    """
    blocks = cast("Sequence[Mapping[str, Any]]", message["content"])
    for index in pieces or {}:
        if not (0 <= index < len(blocks) and blocks[index].keys() & set(_CUT)):
            raise ReplyError(
                Argument(name="pieces", path=(index,)),
                f": content[{index}] is not there or not cut into pieces. Cut: {', '.join(_CUT)}.",
            )
    last = len(blocks) - 1
    unfinished = last if stop_reason in CUT_OFF else None
    ending = last if families.ends_empty(family, blocks, stop_reason or default_stop_reason(blocks)) else None
    return _cut_in_runs(message, ByFamily(family, pieces or {}, unfinished, ending), strict=strict)


class Cutter(Protocol):
    """The interface for cutting a message's blocks into deltas; `index` is the position of a block in the message."""

    def text(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Cut the text of a text or citations block into one or more deltas; return them in sequences of any length."""
        ...

    def reasoning(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Cut a reasoning text into one or more deltas; return them in sequences of any length."""
        ...

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """Cut the JSON of a tool input into deltas."""
        ...

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """Cut the content of a server tool's result into deltas, each with one or more items of the content."""
        ...


@dataclass(frozen=True, slots=True)
class ByFamily:
    """A Cutter that cuts as a model family does.

    `pieces` maps the index of a block to the block's exact deltas. Together, they must be the block's text, or the JSON
    of a tool use's input, in any spelling (whitespace and escapes). The deltas of the tool use with the index
    `unfinished` may be only the beginning of this JSON. The text of the block with the index `ending` ends with an
    empty delta.
    """

    family: Family
    pieces: Mapping[int, Sequence[str]]
    unfinished: int | None = None
    ending: int | None = None

    def text(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Return the block's `pieces`; if there are none, cut the text as the family does."""
        given = self._given(index, text, text.__eq__)
        if given:
            return (given,)
        runs = families.text_runs(text, self.family)
        return chain(runs, ([""],)) if index == self.ending else runs

    def reasoning(self, index: int, text: str) -> Iterable[Sequence[str]]:
        """Return the block's `pieces`; if there are none, cut the reasoning text as the family does."""
        given = self._given(index, text, text.__eq__)
        return (given,) if given else families.reasoning_runs(text, self.family)

    def tool_input(self, index: int, value: object) -> Sequence[str]:
        """Return the block's `pieces`, which may be empty for an empty input.

        Without `pieces` for this block, cut the JSON of the input as the family does.
        """
        given = self.pieces.get(index)
        if given is None:
            return families.cut_tool_input(families.spell_tool_input(value, self.family), self.family)
        if value == {} and not given:
            return ()
        more = ", or its beginning" if index == self.unfinished else ""
        fits = partial(_begins if more else _spells, value)
        return self._given(index, families.spell_tool_input(value, NEUTRAL), fits, more) or ()

    def tool_result(self, index: int, content: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Mapping[str, Any]]]:
        """Make one delta for each item of a tool result's content."""
        return ([item] for item in content)

    def _given(self, index: int, text: str, fits: Callable[[str], bool], more: str = "") -> Sequence[str] | None:
        given = self.pieces.get(index)
        if given is not None and (isinstance(given, str) or not given or not fits("".join(given))):
            given_json, text_json = (json.dumps(each, ensure_ascii=False) for each in (given, text))
            must = "; joined they must be the block's text, "
            raise ReplyError(
                Argument(name="pieces", path=(index,)),
                Advice(f" is {given!r}{must}{text!r}{more}.", f" is {given_json}{must}{text_json}{more}."),
            )
        return given


def _spells(value: object, joined: str) -> bool:
    """Whether the text `joined` is JSON of `value`, whatever its whitespace and escapes are."""
    try:
        return families.spell_tool_input(json.loads(joined), NEUTRAL) == families.spell_tool_input(value, NEUTRAL)
    except ValueError:
        return False


def _begins(value: object, joined: str) -> bool:
    """Whether the text `joined` begins the JSON of `value`, with the whitespace that one of the families writes."""
    return any(
        json.dumps(value, ensure_ascii=escaped, **spelling).startswith(joined)
        for spelling in families.SPELLINGS.values()
        for escaped in (False, True)
    )


def cut_message(message: Mapping[str, object], cutter: Cutter) -> Iterator[dict[str, Any]]:
    """Convert a message to events, from messageStart to the last contentBlockStop; `cutter` makes the deltas.

    Raises ReplyError for a block that has no delta in AWS's API model.
    """
    return events_of(_cut_in_runs(message, cutter, strict=True))


def _cut_in_runs(message: Mapping[str, object], cutter: Cutter, *, strict: bool) -> Iterator[Run]:
    yield {"messageStart": {"role": message["role"]}}
    for index, block in enumerate(cast("Sequence[Mapping[str, Any]]", message["content"])):
        start, deltas = _cut_block(index, block, cutter, strict)
        if start is not None:
            yield {"contentBlockStart": {"contentBlockIndex": index, "start": start}}
        for delta in deltas:
            if isinstance(delta, Deltas):
                yield delta
            else:
                yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}


def default_stop_reason(blocks: Iterable[Mapping[str, Any]]) -> str:
    """Return `tool_use` if a block is a tool use that the client (not the service) must run, otherwise `end_turn`."""
    asks = any("toolUse" in block and block["toolUse"].get("type") != "server_tool_use" for block in blocks)
    return "tool_use" if asks else "end_turn"


def estimate_tokens(value: object) -> int:
    """Estimate the number of tokens of a value: one per four characters of text, 1,500 per file, and at least 1."""
    return max(1, round(weigh(value)))


def weigh(value: object) -> float:
    """Return the unrounded estimate for `estimate_tokens`. Files may be bytes, as in boto3, or base64, as in JSON."""
    if isinstance(value, str):
        return len(value) / 4
    if isinstance(value, dict | Mapping):  # dict comes first, because isinstance() with an abstract class is slow
        return _weigh_members(cast("Mapping[object, object]", value))
    if isinstance(value, bytes | bytearray):
        return _FILE
    if isinstance(value, list | tuple):
        return sum(map(weigh, cast("Iterable[object]", value)))
    return 0.5


_FILE: Final = 1500.0


def _weigh_members(value: Mapping[object, object]) -> float:
    redacted = value.get("redactedContent")
    if isinstance(redacted, bytes):
        return len(redacted) / 4
    if isinstance(redacted, str):
        return len(redacted) * 3 / 16
    total = 0.0
    for name, item in value.items():
        total += len(name) / 4 if isinstance(name, str) else weigh(name)
        if not isinstance(item, str):
            total += weigh(item)
        elif (name == "bytes" and len(value) == 1) or (name == "data" and value.get("type") == "base64"):
            total += _FILE  # in Converse, or in a body for Claude
        else:
            total += len(item) / 4
    return total


def _cut_block(
    index: int, block: Mapping[str, Any], cutter: Cutter, strict: bool
) -> tuple[dict[str, Any] | None, Iterable[Run]]:
    """Return the start of a block (None if it has no start) and its deltas.

    An instance of `Deltas` stands for successive deltas with text; a dict is a single delta.
    """
    match block:
        case {"text": text}:
            return None, (Deltas(index, "text", pieces) for pieces in cutter.text(index, text))
        case {"reasoningContent": {"redactedContent": redacted}}:
            return None, [{"reasoningContent": {"redactedContent": redacted}}]
        case {"reasoningContent": {"reasoningText": reasoning}}:
            return None, _cut_reasoning(index, reasoning, cutter)
        case {"toolUse": {"input": value, **start}}:
            return {"toolUse": start}, [Deltas(index, "toolUse", cutter.tool_input(index, value))]
        case {"toolResult": {"content": content, **start}}:
            unstreamable = [name for item in content for name in item if name not in ("text", "json")]
            if unstreamable:
                raise ReplyError(
                    Argument(name="content", path=(index, "toolResult", "content")),
                    f" has {unstreamable[0]!r}, which has no delta in AWS's API model; a streamed tool result holds "
                    "text and json.",
                )
            return {"toolResult": start}, ({"toolResult": items} for items in cutter.tool_result(index, content))
        case {"citationsContent": cited}:
            return None, _cut_citations(index, cited, cutter)
        case {"image": {"format": form, **delta}}:
            return {"image": {"format": form}}, [{"image": delta}]
        case _ if not strict and block:
            return None, [dict(block)]
        case _:
            name = next(iter(block), None)
            if name in STREAMABLE:  # the block lacks members of its shape; strict=False allows this
                bedrock.check("ContentBlock", block, root=Argument(name="content", path=(index,)))
            raise ReplyError(
                Argument(name="content", path=(index,)),
                f" is {name!r}, which cannot be streamed: AWS's API model has no delta for it. Streamable: "
                f"{', '.join(STREAMABLE)}.",
            )


def _cut_reasoning(index: int, reasoning: Mapping[str, Any], cutter: Cutter) -> Iterator[Run]:
    text, signature = reasoning["text"], reasoning.get("signature")
    if text or signature is None:
        yield from (Deltas(index, "reasoningContent", pieces) for pieces in cutter.reasoning(index, text))
    if signature is not None:
        yield {"reasoningContent": {"signature": signature}}


def _cut_citations(index: int, cited: Mapping[str, Any], cutter: Cutter) -> list[dict[str, Any]]:
    content, citations = cited.get("content", []), cited.get("citations", [])
    if len(content) > 1 or not citations:
        raise ReplyError(
            Argument(name="content", path=(index, "citationsContent")),
            f" has {len(content)} generated texts and {len(citations)} citations; a stream can carry one text with at "
            "least one citation. Use one block for each text.",
        )
    deltas: list[dict[str, Any]] = [{"citation": citation} for citation in citations]
    return deltas + [
        {"text": piece} for item in content for pieces in cutter.text(index, item["text"]) for piece in pieces
    ]
