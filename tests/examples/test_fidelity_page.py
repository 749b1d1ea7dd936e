"""How near the default answers come to the recorded ones, of each model family: docs/fidelity.md, held to its figures.

Run as a script, this file writes the tables of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import pytest

from converse_harness.bedrock.families import FAMILIES, TOKENS, WHOLE, WORDS, Lengths
from converse_harness.bedrock.models import COUNTERS, MODELS, READ, CacheCounters, OtherForm, ToolUseType, cut_as
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write
from tests.oracle.census.reading import NO_FAMILY, CensusAnswer, Kind, observations
from tests.oracle.census.sources import Asked, ours_to, recorded
from tests.oracle.conftest import ROOT, shared
from tests.oracle.fidelity import ASPECTS, Pair, distance, empties, keys, lengths, pairs

__all__ = ["shared"]

PAGE: Final = "fidelity.md"
KINDS: Final = ("text", "reasoning", "tool input")
ENOUGH: Final = 5
"""From so many streams on the lengths of a family's deltas are held to a bound."""


class Recordings(NamedTuple):
    """What is compared: streams, and answers that are one JSON body."""

    streams: list[Pair]
    bodies: list[Pair]
    answers: list[Asked]

    @classmethod
    def read(cls, shared: Path) -> Recordings:
        """All of the corpus that AWS answered."""
        return cls(pairs(shared, "ConverseStream"), pairs(shared, "Converse"), recorded(shared))


class Difference(NamedTuple):
    """Something in which some answers of a family are not as recorded."""

    operation: str
    family: str
    what: str


AGE: Final = "AWS sends it since October 2025; these recordings are older"
TYPE: Final = "one of Claude 3.7, whose date is not known; newer ones have the type"
BY_TOKEN: Final = "older recordings, cut by token, have empty deltas for some spaces and for what a guardrail masked"
HALF: Final = "13 of 27 recordings end so, 5 of them here: the one that more clients trip over is the default"

DETAILS: Final = "6 of them read what an earlier call had written, which is not recorded; 2 writes are older"

REASONS: Final[Mapping[str, str]] = {
    "ours alone: metadata.usage.serverToolUsage": AGE,
    "ours alone: body.usage.serverToolUsage": AGE,
    "ours alone: body.usage.cacheDetails": DETAILS,
    "ours alone: body.output.message.content.toolUse.type": TYPE,
    "empty deltas: between, last; ours: last": BY_TOKEN,
    "empty deltas: none; ours: last": HALF,
    **{
        f"recorded alone: body.usage.cache{what}InputToken{number}": "the ARN of an application profile names no model"
        for what in ("Read", "Write")
        for number in ("s", "Count")
    },
}
"""Why what differs does. A difference that is not here fails the test, and a reason that nothing needs does."""

BOUNDS: Final[Mapping[tuple[str, str], float]] = {
    ("claude", "text"): 0.06,
    ("claude", "reasoning"): 0.10,
    ("claude", "tool input"): 0.12,
    ("claude-3", "text"): 0.08,
    ("claude-3", "tool input"): 0.08,
    ("nova", "text"): 0.40,
    ("nova", "tool input"): 0.0,
    ("nova, newer", "text"): 0.07,
    ("nova, newer", "tool input"): 0.0,
    ("titan", "text"): 0.09,
}
"""The greatest Kolmogorov-Smirnov distance of the lengths of deltas, of families with five streams or more."""


def by_family(some: Iterable[Pair]) -> dict[str, list[Pair]]:
    """The pairs of each family, by its name."""
    found: dict[str, list[Pair]] = {}
    for pair in some:
        found.setdefault(pair.family, []).append(pair)
    return dict(sorted(found.items()))


def groups(streams: Iterable[Pair]) -> dict[str, list[Pair]]:
    """The families, and beside Nova the newer streams of Nova, whose deltas are more than a token."""
    found = by_family(streams)
    newer = [pair for pair in found.get("nova", ()) if not _by_token(pair)]
    return dict(sorted({**found, "nova, newer": newer}.items()))


def _by_token(pair: Pair) -> bool:
    (recorded, _) = lengths([pair], "text")
    return len(recorded) > ENOUGH and median(recorded) <= ENOUGH


def differences(given: Recordings) -> Counter[Difference]:
    """In what answers differ, and how many of them do."""
    found: Counter[Difference] = Counter()
    for operation, some in (("ConverseStream", given.streams), ("Converse", given.bodies)):
        for pair in some:
            found.update(Difference(operation, pair.family, what) for what in _differing(pair))
    return found


def _differing(pair: Pair) -> Iterator[str]:
    recorded, ours = keys(pair.recorded), keys(pair.ours)
    yield from (f"recorded alone: {path}" for path in recorded - ours)
    yield from (f"ours alone: {path}" for path in ours - recorded)
    theirs, own = empties(pair.blocks[0]), empties(pair.blocks[1])
    for there, here in zip(theirs, own, strict=True):
        if there != here:
            yield f"empty deltas: {there or 'none'}; ours: {here or 'none'}"
    for name in ("order of events", "spelling of tool input"):
        seen, sent = ASPECTS[name](pair)
        if seen != sent:
            yield f"{name}: {seen}; ours: {sent}"


# The tables of the page.


def families() -> Iterator[Row]:
    """How each family is cut."""
    yield (
        "family",
        "models",
        "text, characters a delta",
        "reasoning",
        "empty text deltas",
        "tool input",
    )
    for family in FAMILIES.values():
        cut = [model.name for model in MODELS if model.converses and cut_as(model.example) == family.name]
        models = "all others" if family.name == "neutral" else ", ".join(cut)
        first = "the first of each text" if family.opens_empty else ""
        last = f"the last, if the text is the last block, at {', '.join(sorted(map(code, family.ends_empty)))}"
        fragments = f" of {min(family.fragments)} to {max(family.fragments)} characters" if family.fragments else ""
        yield (
            code(family.name),
            models,
            _sizes(family.text),
            "as text" if family.reasoning is None else _sizes(family.reasoning),
            first or (last if family.ends_empty else "none"),
            f"{family.tool_json}, {family.tool_input}{fragments}",
        )


def _sizes(sizes: Lengths) -> str:
    named: dict[Lengths, str] = {WHOLE: "whole", WORDS: "a word", TOKENS: "a token"}
    if sizes in named:
        return named[sizes]
    return f"{min(sizes)} to {max(sizes)}, median {median(sizes):g}" if len(sizes) > 1 else f"about {max(sizes)}"


def tool_types() -> Iterator[Row]:
    """Where a tool use has the type "tool_use"."""
    yield "models", "operations", "sent", "as of", "recorded", "recorded otherwise"
    models: dict[ToolUseType, list[str]] = {}
    for model in MODELS:
        for form in model.tool_types:
            models.setdefault(form, []).append(model.name)
    for form, of in models.items():
        operations = ", ".join(map(code, form.operations))
        yield ", ".join(of), operations, form.sent, form.as_of or "not known", form.seen, _others(form.others)


def counters() -> Iterator[Row]:
    """Which counters of the cache the usage of a body always has."""
    yield "models", "always", "as of", "recorded", "recorded otherwise"
    models: dict[CacheCounters, list[str]] = {}
    for model in MODELS:
        if model.counters.seen:
            models.setdefault(model.counters, []).append(model.name)
    pairs: dict[tuple[str, ...], str] = {(): "none", READ: "read", COUNTERS: "read and write"}
    for row, of in models.items():
        yield ", ".join(of), pairs[row.always], row.as_of or "not known", row.seen, _others(row.others)


def _others(others: Iterable[OtherForm]) -> str:
    return ", ".join(f"{each.of} ({f'to {each.month}' if each.month else 'no date'})" for each in others)


def agreement(given: Recordings) -> Iterator[Row]:
    """On how many streams of each family what is compared agrees."""
    yield "family", *ASPECTS, "keys of plain Converse"
    bodies = by_family(given.bodies)
    streams = by_family(given.streams)
    for family in sorted({*bodies, *streams}):
        some = streams.get(family, [])
        shown = [_share(see(pair) for pair in some) for see in ASPECTS.values()]
        yield code(family), *shown, _share((keys(each.recorded), keys(each.ours)) for each in bodies.get(family, []))


def _share(some: Iterable[tuple[object, object]]) -> str:
    same = [recorded == ours for recorded, ours in some]
    return f"{sum(same)} of {len(same)}" if same else ""


def newest(answers: Sequence[Asked]) -> Iterator[Row]:
    """The newest recordings of each maker beside ours: keys, orders, forms of ids, deltas."""
    yield (
        "models",
        "operation",
        "newest",
        "answers",
        "keys",
        "orders",
        "ids",
        "characters a text delta; ours",
        "differs",
    )
    found: dict[tuple[str, str], list[Asked]] = {}
    for answer, asked in answers:
        if answer.month and not answer.error and answer.family != NO_FAMILY:
            found.setdefault((answer.family, answer.operation), []).append((answer, asked))
    for (family, operation), some in sorted(found.items()):
        month = max(answer.month for answer, _ in some)
        compared = [(answer, ours_to(answer, asked)) for answer, asked in some if answer.month == month]
        beside = [(answer, ours) for answer, ours in compared if ours is not None]
        if beside:
            whole = [pair for pair in beside if pair[0].has_order]
            same = [
                _share(_both(one, other, *of) for one, other in (whole if of == _ORDER else beside)) for of in _COMPARED
            ]
            differs = Counter(each for one, other in beside for each in _differences_of(one, other))
            yield (
                family,
                operation,
                month,
                str(len(beside)),
                *same,
                _deltas(beside),
                "; ".join(f"{what} ({count})" for what, count in sorted(differs.items())),
            )


_ORDER: Final[tuple[Kind, ...]] = ("order of keys",)
_COMPARED: Final[tuple[tuple[Kind, ...], ...]] = (("member", "member of a union"), _ORDER, ("form of an id",))
_OF_BYTES: Final = "the padding p of an event"
"""What a recorder that kept parsed events has not kept, as it has not kept the order of keys."""


def _of_kind(answer: CensusAnswer, *kinds: Kind) -> set[str]:
    """What an answer has of some kinds, without headers and what a test scripts."""
    found = {what for kind, what in observations(answer) if kind in kinds}
    return {what for what in found if not what.startswith("header") and not _SCRIPTED & {*re.split(r"[.:]", what)}}


_SCRIPTED: Final = frozenset(
    {"trace", "performanceConfig", "additionalModelResponseFields", "citation", "citationsContent"}
)


def _both(recorded: CensusAnswer, ours: CensusAnswer, *kinds: Kind) -> tuple[set[str], set[str]]:
    theirs, own = _of_kind(recorded, *kinds), _of_kind(ours, *kinds)
    return theirs, own if recorded.has_order else own - {_OF_BYTES}


def _differences_of(recorded: CensusAnswer, ours: CensusAnswer) -> Iterator[str]:
    for kinds in _COMPARED:
        if kinds == _ORDER and not recorded.has_order:
            continue
        theirs, own = _both(recorded, ours, *kinds)
        yield from (f"recorded alone: {code(each)}" for each in theirs - own)
        yield from (f"ours alone: {code(each)}" for each in own - theirs)


def _deltas(beside: Iterable[tuple[CensusAnswer, CensusAnswer]]) -> str:
    sides: tuple[list[int], list[int]] = ([], [])
    for pair in beside:
        for lengths_of, answer in zip(sides, pair, strict=True):
            texts = (members.get("delta", {}).get("text") for name, members in answer.events if "Delta" in name)
            lengths_of += [len(text) for text in texts if text]
    return "; ".join(f"{median(each):g}" for each in sides) if all(sides) else ""


def sizes(given: Recordings) -> Iterator[Row]:
    """How long deltas are: recorded, and ours of the same texts."""
    yield (
        "family",
        "streams",
        "deltas of",
        "recorded",
        "median, 90 %, longest",
        "ours",
        "median, 90 %, longest",
        "distance",
    )
    for family, some in groups(given.streams).items():
        for kind in KINDS:
            recorded, ours = lengths(some, kind)
            if recorded:
                yield (
                    family,
                    str(len(some)),
                    kind,
                    str(len(recorded)),
                    _spread(recorded),
                    str(len(ours)),
                    _spread(ours),
                    f"{distance(recorded, ours):.3f}",
                )


def _spread(found: list[int]) -> str:
    ordered = sorted(found)
    return f"{median(ordered):g}, {ordered[(9 * (len(ordered) - 1)) // 10]}, {ordered[-1]}"


def differing(given: Recordings) -> Iterator[Row]:
    """Every difference, with its reason."""
    yield "operation", "family", "what differs", "answers", "why"
    for found, count in sorted(differences(given).items()):
        yield found.operation, code(found.family), found.what, str(count), REASONS.get(found.what, "not known")


def tables(given: Recordings) -> Tables:
    """The tables, of these recordings."""
    return {
        "families": families,
        "types": tool_types,
        "counters": counters,
        "agreement": partial(agreement, given),
        "newest": partial(newest, given.answers),
        "sizes": partial(sizes, given),
        "differing": partial(differing, given),
    }


@pytest.fixture(scope="module")
def given(shared: Path) -> Recordings:
    return Recordings.read(shared)


def test_all_recorded_messages_are_compared(given: Recordings) -> None:
    assert (len(given.streams), len(given.bodies)) == (66, 283)


def test_the_tables_of_the_page_are_those_of_the_recordings(given: Recordings) -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert names(text) == list(tables(given))
    assert text == with_tables(text, tables(given)), (
        f"docs/{PAGE} is behind: python -m tests.examples.test_fidelity_page"
    )


def test_every_difference_has_its_reason_and_every_reason_is_needed(given: Recordings) -> None:
    assert {found.what for found in differences(given)} == set(REASONS)


def test_no_stream_has_another_order_or_pads_other_events(given: Recordings) -> None:
    for pair in given.streams:
        recorded, ours = ASPECTS["order of events"](pair)
        assert ours == recorded, pair.file
        assert {frame.name for frame in pair.ours if not frame.padded} == {
            frame.name for frame in pair.recorded if not frame.padded
        }


def test_the_lengths_of_deltas_are_near_those_recorded(given: Recordings) -> None:
    held: set[tuple[str, str]] = set()
    for family, some in groups(given.streams).items():
        for kind in KINDS:
            recorded, ours = lengths(some, kind)
            if len(some) >= ENOUGH and recorded:
                found = distance(recorded, ours)
                print(f"{family}, {kind}: {found:.3f} of {BOUNDS[family, kind]}")
                assert found <= BOUNDS[family, kind], (family, kind)
                held.add((family, kind))
    assert held == set(BOUNDS)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [([1, 2, 3], [3, 2, 1], 0.0), ([1, 1, 1], [2], 1.0), ([1, 2, 3, 4], [3, 4, 5, 6], 0.5), ([1], [1, 2], 0.5)],
)
def test_the_distance_is_the_greatest_gap_of_the_shares(one: list[int], other: list[int], expected: float) -> None:
    assert distance(one, other) == distance(other, one) == expected


if __name__ == "__main__":
    write(PAGE, tables(Recordings.read(ROOT.parent / "shared")))
