"""Each recorded answer beside the one that the fake gives to the same request, when a test scripts the same message."""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from converse_harness import Endpoint, bedrock, reply
from converse_harness.bedrock.families import family_of
from converse_harness.stream.assemble import assemble
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import is_exception, kind
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media, rows_of_aws

Event = dict[str, Any]

OPTIONS: Final[Mapping[str, str]] = {
    "trace": "trace",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
    "additionalModelResponseFields": "additional",
}
"""What an answer has where its request asks for it, and the argument of `reply.message` by which a test writes it."""

LEAVES: Final = frozenset({"input", "json", "location", "sourceContent", "cacheDetails", *OPTIONS})
"""What a test writes itself, or is free-form: it is not looked into for keys."""

ASKED: Final[Mapping[str, Any]] = {"messages": [{"role": "user", "content": [{"text": "?"}]}]}
"""What is asked where a recorder kept no request."""


@dataclass(frozen=True)
class Frame:
    """One event of a stream as its JSON is, with its padding."""

    name: str
    members: Mapping[str, Any]
    padded: bool

    @property
    def index(self) -> int | None:
        """The number of its block, if it is of one."""
        return self.members.get("contentBlockIndex")


@dataclass(frozen=True)
class Block:
    """The deltas of one kind of one block of a stream: texts, parts of reasoning or of a tool's input."""

    kind: str
    deltas: tuple[str, ...]

    @property
    def lengths(self) -> list[int]:
        """How long those are that are not empty."""
        return [len(delta) for delta in self.deltas if delta]

    @property
    def empty(self) -> str:
        """Where empty deltas are."""
        last = len(self.deltas) - 1
        if last <= 0:
            return ""
        places = {
            "first" if at == 0 else "last" if at == last else "between" for at, d in enumerate(self.deltas) if not d
        }
        return ", ".join(sorted(places))


@dataclass(frozen=True)
class Pair:
    """A recorded answer and ours; of a stream the frames, of a whole answer one with the members of its body."""

    file: str
    model_id: str
    recorded: tuple[Frame, ...]
    ours: tuple[Frame, ...]

    @property
    def family(self) -> str:
        """The name of the family by which ours is cut."""
        return family_of(self.model_id).name

    @cached_property
    def blocks(self) -> tuple[list[Block], list[Block]]:
        """Of the recorded stream, and of ours."""
        return list(_blocks(self.recorded)), list(_blocks(self.ours))


def pairs(shared: Path, operation: str) -> list[Pair]:
    """Every answer of AWS in the corpus to this operation that is a message, with ours."""
    corpus = shared / "corpus"
    found: list[Pair] = []
    for row in rows_of_aws(shared):
        if row["operation"] == operation and row["status"] == 200:
            recorded = json.loads((corpus / row["file"]).read_text())
            pair = _pair(row["file"], recorded, base64.b64decode(recorded["response"]["body_base64"]))
            if pair is not None:
                found.append(pair)
    return found


def _pair(file: str, recorded: Mapping[str, Any], body: bytes) -> Pair | None:
    """None for what is no message: a stream that failed."""
    if recorded["operation"] == "ConverseStream":
        frames = tuple(_frames(body))
        if any(is_exception(frame.name) for frame in frames):
            return None
        read = assemble(decode_event(frame)[0] for frame in Decoder().feed(body))
        options = {"trace": read.trace} if read.trace else {}
        ours = tuple(_frames(_answered(recorded, read.message, read.stop_reason, options)))
    else:
        frames = (Frame("body", json.loads(body), padded=False),)
        whole = bedrock.from_json("ConverseResponse", frames[0].members)
        options = {argument: whole[name] for name, argument in OPTIONS.items() if name in whole}
        answered = _answered(recorded, whole["output"]["message"], whole["stopReason"], options)
        ours = (Frame("body", json.loads(answered), padded=False),)
    return Pair(file, recorded["model_id"], frames, ours)


def _answered(
    recorded: Mapping[str, Any], message: Mapping[str, Any], stop_reason: str, options: Mapping[str, Any]
) -> bytes:
    """What the fake sends to the recorded request, for this message as a test writes it: no tool use has a type."""
    content = [dict(block) for block in message["content"]]
    for block in content:
        if block.get("toolUse", {}).get("type") == "tool_use":
            block["toolUse"] = {name: value for name, value in block["toolUse"].items() if name != "type"}
    body = recorded["request"]["body"]
    asked = cast("Mapping[str, Any]", body) if isinstance(body, dict) and "messages" in body else ASKED
    action = "converse-stream" if recorded["operation"] == "ConverseStream" else "converse"
    path = f"/model/{quote(recorded['model_id'], safe='')}/{action}"
    endpoint = Endpoint(reply.message(*content, stop_reason=stop_reason, strict=False, **options), rules="off")
    exchange = endpoint.exchange(Request("POST", path, (), body_with_media(asked)))
    return b"".join(chunk.data for chunk in exchange.response.chunks)


def _frames(body: bytes) -> Iterator[Frame]:
    for frame in Decoder().feed(body):
        event, padding = decode_event(frame)
        yield Frame(kind(event), json.loads(frame.payload), padding is not None)


def _blocks(frames: Iterable[Frame]) -> Iterator[Block]:
    deltas: list[tuple[str, str]] = []
    for frame in frames:
        match frame.members:
            case {"delta": {"text": str(text)}}:
                deltas.append(("text", text))
            case {"delta": {"reasoningContent": {"text": str(text)}}}:
                deltas.append(("reasoning", text))
            case {"delta": {"toolUse": {"input": str(text)}}}:
                deltas.append(("tool input", text))
            case _ if frame.name == "contentBlockStop" and deltas:
                yield Block(deltas[0][0], tuple(text for _, text in deltas))
                deltas = []
            case _:
                pass


def order(frames: Iterable[Frame]) -> list[str]:
    """The events as they come, deltas of a kind in a row as one."""
    shown: list[str] = []
    for frame in frames:
        step = f"{frame.name} {'' if frame.index is None else frame.index}"
        if frame.name == "contentBlockDelta":
            step = f"{step} {'/'.join(_paths(frame.members['delta']))}"
        if not shown or shown[-1] != step:
            shown.append(step)
    return shown


def keys(frames: Iterable[Frame]) -> set[str]:
    """The paths of all keys, with the event that they are in."""
    found: set[str] = set()
    for frame in frames:
        found |= {f"{frame.name}.{path}" for path in _paths(frame.members)}
    return found


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield name
            if name not in LEAVES:
                yield from (f"{name}.{path}" for path in _paths(inner))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _paths(inner)


def empties(blocks: Iterable[Block]) -> list[str]:
    """Where each block has empty deltas."""
    return [block.empty for block in blocks]


def inputs(blocks: Iterable[Block]) -> list[str]:
    """The JSON of each tool input, as it is spelled."""
    return ["".join(block.deltas) for block in blocks if block.kind == "tool input"]


Seen = Callable[[Pair], tuple[object, object]]

ASPECTS: Final[Mapping[str, Seen]] = {
    "order of events": lambda pair: (order(pair.recorded), order(pair.ours)),
    "keys of events": lambda pair: (keys(pair.recorded), keys(pair.ours)),
    "empty deltas": lambda pair: (empties(pair.blocks[0]), empties(pair.blocks[1])),
    "spelling of tool input": lambda pair: (inputs(pair.blocks[0]), inputs(pair.blocks[1])),
}
"""What is compared of a stream: what is recorded, and what is ours."""


def lengths(some: Iterable[Pair], kind: str) -> tuple[list[int], list[int]]:
    """How long the deltas of a kind are: recorded, and ours."""
    recorded: list[int] = []
    ours: list[int] = []
    for pair in some:
        for found, blocks in zip((recorded, ours), pair.blocks, strict=True):
            found.extend(length for block in blocks if block.kind == kind for length in block.lengths)
    return recorded, ours


def distance(one: Iterable[int], other: Iterable[int]) -> float:
    """The Kolmogorov-Smirnov distance of two samples: the most by which their cumulated shares differ."""
    first, second = sorted(one), sorted(other)
    return max(
        abs(bisect_right(first, value) / len(first) - bisect_right(second, value) / len(second))
        for value in {*first, *second}
    )
