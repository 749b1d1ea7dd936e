"""Rows of the corpus: a kind of secret in a shape, in a place of a session, whole or cut; and what is written of it."""

from __future__ import annotations

import json
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random
from typing import Any, Final

from converse_harness.recordings.record.write import safe_lines
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.removal import without_secrets
from tests.secrets.shapes.kinds import KINDS_OF_SECRETS, KindOfSecret
from tests.secrets.shapes.shapes import HIDINGS, PLAIN, READ, TEMPLATES, slots

Line = dict[str, Any]

# Places


def _asked(content: Sequence[object], role: str = "user") -> list[Line]:
    return [{"format": "x", "version": 1}, _call({"messages": [{"role": role, "content": [*content]}]}), _answer([])]


def _call(request: Line) -> Line:
    return {"call": 1, "operation": "Converse", "modelId": "m", "request": request}


def _answer(content: Sequence[object]) -> Line:
    return {
        "t": 1,
        "status": 200,
        "body": {
            "output": {"message": {"role": "assistant", "content": [*content]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        },
    }


def _answered(content: Sequence[object]) -> list[Line]:
    return [*_asked([])[:2], _answer(content)]


def _texts(pieces: Sequence[str]) -> list[Line]:
    return [{"text": piece} for piece in pieces]


def _result(content: Sequence[object]) -> Line:
    return {"toolResult": {"toolUseId": "u", "content": [*content]}}


def _use(value: object) -> Line:
    return {"toolUse": {"toolUseId": "u", "name": "t", "input": value}}


def _streamed(deltas: Sequence[object]) -> list[Line]:
    events: list[Line] = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas]
    call = {"call": 1, "operation": "ConverseStream", "modelId": "m", "request": {"messages": []}}
    ends: list[Line] = [{"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "end_turn"}}]
    events = [{"messageStart": {"role": "assistant"}}, *events, *ends]
    return [{"format": "x", "version": 1}, call, {"t": 1, "status": 200}, *({"t": 2, **event} for event in events)]


def _as_json(pieces: Sequence[str]) -> list[str]:
    """The pieces of a JSON text with these pieces in it."""
    return ['{"command": "', *(json.dumps(piece)[1:-1] for piece in pieces), '"}']


PYTEST: Final = "pytest's output"

PLACES: Final[Mapping[str, Callable[[Sequence[str]], list[Line]]]] = {
    "a user's text": lambda pieces: _asked(_texts(pieces)),
    "the system prompt": lambda pieces: [
        *_asked([])[:1],
        _call({"messages": [], "system": _texts(pieces)}),
        _answer([]),
    ],
    "the input of a tool": lambda pieces: _asked([_use({"command": "".join(pieces)})], "assistant"),
    "the text of a tool's result": lambda pieces: _asked([_result(_texts(pieces))]),
    "the JSON of a tool's result": lambda pieces: _asked([_result([{"json": {"stdout": "".join(pieces)}}])]),
    "the text of an answer": lambda pieces: _answered(_texts(pieces)),
    "the tool use of an answer": lambda pieces: _answered([_use({"command": "".join(pieces)})]),
    "a streamed text": lambda pieces: _streamed(_texts(pieces)),
    "a streamed input of a tool": lambda pieces: _streamed([{"toolUse": {"input": each}} for each in _as_json(pieces)]),
    PYTEST: lambda pieces: [],
}

BLOCKS_OF_TEXT: Final = ("a user's text", "the system prompt", "the text of a tool's result", "the text of an answer")
STREAMS: Final = ("a streamed text", "a streamed input of a tool")

CUTS: Final[Mapping[str, Sequence[str]]] = {
    "whole": tuple(PLACES),
    "over two blocks": BLOCKS_OF_TEXT,
    "over many deltas": STREAMS,
    "in a wrapped line": ("a user's text", "the text of a tool's result", "a streamed text", PYTEST),
}
"""The places in which a text can be cut in a way."""


@dataclass(frozen=True, repr=False)
class CorpusRow:
    """A row: names of its kind, shape, place and cut; its text in pieces; the secrets, and how a reader finds them."""

    kind: str
    shape: str
    place: str
    cut: str
    turn: int
    pieces: tuple[str, ...]
    secrets: tuple[str, ...]
    undo: Callable[[str], str]

    def __repr__(self) -> str:
        # pytest masks the secrets that it finds in the name of a test, and this row may be one that it does not find
        return f"{self.kind} | {self.shape} | {self.place} | {self.cut} | {self.turn}"


def kinds_in(group: str) -> list[KindOfSecret]:
    """The kinds that a group of shapes fits."""
    return [kind for kind in KINDS_OF_SECRETS if set(group.split()) & set(kind.groups.split())]


def pairs() -> list[tuple[KindOfSecret, str]]:
    """Each kind with each shape that fits it."""
    shaped = [
        (kind, f"{group}: {shape}") for group in TEMPLATES for shape in TEMPLATES[group] for kind in kinds_in(group)
    ]
    return shaped + [(kind, f"hidden: {shape}") for shape in HIDINGS for kind in KINDS_OF_SECRETS]


PLAINLY: Final = "plainly"
"""The shape of rows whose place and cut are tried."""


def row(kind: KindOfSecret, shape: str, place: str, cut: str, turn: int, seed: int) -> CorpusRow:
    """One row; the same arguments give the same row."""
    chance = Random(f"{seed} {kind.title} {shape} {place} {cut} {turn}")
    name, value, secrets = kind.drawn(chance, turn)
    group, _, way = shape.partition(": ")
    undo: Callable[[str], str] = str
    template = TEMPLATES[group][way] if group in TEMPLATES else PLAIN[kind.groups.split()[0]]
    text = template.format_map(slots(name, value))
    if group == "hidden":
        hiding = HIDINGS[way]
        text, undo = hiding.hide(text, text.index(secrets[0]) + _middle(chance, secrets[0])), hiding.undo
    elif group == "cookie":
        secrets = tuple(each for each in secrets if each in text)[-1:]
    else:
        undo = _reader(template)
    pieces, undo = _cut(text, secrets[0], cut, chance, undo)
    return CorpusRow(kind.title, shape, place, cut, turn, pieces, secrets, undo)


def _middle(chance: Random, secret: str) -> int:
    return len(secret) // 2 + chance.randint(-2, 2)


def _reader(template: str) -> Callable[[str], str]:
    return next((READ[way] for way in READ if f"{{value:{way}}}" in template), str)


def _cut(
    text: str, secret: str, cut: str, chance: Random, undo: Callable[[str], str]
) -> tuple[tuple[str, ...], Callable[[str], str]]:
    if cut == "whole":
        return (text,), undo
    start = text.find(secret)
    at = len(text) // 2 if start < 0 else start + _middle(chance, secret)  # it is written in other characters
    if cut == "over two blocks":
        return (text[:at], text[at:]), undo
    if cut == "in a wrapped line":
        return (f"{text[:at]}\n{text[at:]}",), lambda left: undo(left.replace("\n", ""))
    cuts = sorted({at, *chance.sample(range(1, len(text)), min(12, len(text) - 1))})
    return tuple(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)), undo


def shape_rows(seed: int) -> Iterator[CorpusRow]:
    """Every kind in every shape, whole, in a user's text. The shapes of a kind have its names and forms in turn."""
    for kind, shape, turn in in_turn():
        yield row(kind, shape, *FIRST, turn, seed)


@cache
def in_turn() -> Sequence[tuple[KindOfSecret, str, int]]:
    """Each kind with each shape that fits it, and the turn of that shape among those of its kind."""
    turns = Counter[str]()
    made: list[tuple[KindOfSecret, str, int]] = []
    for kind, shape in pairs():
        made.append((kind, shape, turns[kind.title]))
        turns[kind.title] += 1
    return made


def place_rows(seed: int) -> Iterator[CorpusRow]:
    """Every kind in its plainest shape in every place, whole and cut in every way; in one place, many values of it."""
    for kind in KINDS_OF_SECRETS:
        for cut, places in CUTS.items():
            for place in places:
                for turn in range(VALUES if (place, cut) == FIRST else 1):
                    yield row(kind, PLAINLY, place, cut, turn, seed)


FIRST: Final = ("a user's text", "whole")
VALUES: Final = 12
"""So many values of each kind are tried in the first place, because some may be found and others not."""


def rows(seed: int, count: int) -> list[CorpusRow]:
    """So many rows, each of another kind and shape, in places and cuts at random."""
    chance = Random(seed)
    return [*islice(_at_random(chance, seed), count)]


def _at_random(chance: Random, seed: int) -> Iterator[CorpusRow]:
    drawn = [*in_turn()]
    chance.shuffle(drawn)
    for kind, shape, turn in drawn:
        cut = "whole" if shape.startswith("hidden") or kind.groups == "block" else chance.choice([*CUTS])
        yield row(kind, shape, chance.choice(CUTS[cut]), cut, turn, seed)


# What is written

SHOWN: Final = 12
"""So many characters of a secret in a row are a leak; a shorter secret may not be there as a whole."""


def verdict(row: CorpusRow) -> str:
    """What becomes of a row that is recorded, or printed by pytest: "found", "left out" (its exchange) or "written"."""
    if row.place == PYTEST:
        left = without_secrets("".join(row.pieces), ()).text
        return "written" if leaks(row, left) else "found"
    lines = safe_lines(PLACES[row.place](row.pieces), Redaction()).lines
    if not any("call" in line for line in lines):
        return "left out"
    return "written" if leaks(row, text_in(lines)) else "found"


def text_in(lines: Sequence[Line]) -> str:
    """The text of a row in the lines of a recording, its pieces joined."""
    if any("contentBlockDelta" in line for line in lines):
        deltas = [line["contentBlockDelta"]["delta"] for line in lines if "contentBlockDelta" in line]
        if "toolUse" in deltas[0]:
            text = "".join(delta["toolUse"]["input"] for delta in deltas)
            try:
                return str(json.loads(text)["command"])
            except ValueError:
                return text
        return "".join(delta["text"] for delta in deltas)
    return "".join(_leaves([line.get("request") or line.get("body") for line in lines]))


_ROLES: Final = frozenset({"user", "assistant", "end_turn", "u", "t"})


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str) and value not in _ROLES:
        yield value


def leaks(row: CorpusRow, left: str) -> bool:
    """Whether a part of a secret can be read in what is left of a row's text."""
    try:
        seen = left + "\n" + row.undo(left)
    except (
        ValueError,
        LookupError,
        TypeError,
        EOFError,
        OSError,
        lzma.LZMAError,
        zlib.error,
    ):  # what was masked cannot be undone
        seen = left
    return any(
        secret[at : at + SHOWN] in seen for secret in row.secrets for at in range(max(len(secret) - SHOWN, 0) + 1)
    )
