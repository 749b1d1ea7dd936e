"""Bugs that are found by how arguments and texts are drawn: wide, of every type, and like something else."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from converse_harness import assemble
from converse_strategies.values import decoding
from converse_strategies.values.lookalikes import LOOK_ALIKES
from tests.planted.finding import EVERY_CHECK, SEARCHES, events_of
from tests.strategies.smallest import PROPERTIES, SLACK, searched, size

Change = Callable[[Any], Any]


def everywhere(change: Change) -> Change:
    """A change of each scalar of a value, at any depth."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(member) for name, member in cast("dict[str, Any]", value).items()}
        return [changed(item) for item in cast("Sequence[Any]", value)] if isinstance(value, list) else change(value)

    return changed


def parsed(value: Any) -> Any:
    """What a consumer makes of a string that holds an object or an array."""
    try:
        found: Any = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return value
    return cast("Any", found) if isinstance(found, dict | list) else value


OF_ARGUMENTS: Final[Mapping[str, Change]] = {
    "each third argument is lost": lambda given: {
        name: value for place, (name, value) in enumerate(given.items()) if place % 3 != 2
    },
    "integers become floats": everywhere(lambda value: float(value) if type(value) is int else value),
    "0 and false are lost": lambda given: {
        name: value for name, value in given.items() if not isinstance(value, bool | int | float) or value
    },
    "booleans become integers": everywhere(lambda value: int(value) if isinstance(value, bool) else value),
}
ALIKE_ARGUMENTS: Final[Mapping[str, Change]] = {
    '"true" becomes a boolean': everywhere(lambda value: True if value == "true" else value),
    '"12" becomes an integer': everywhere(lambda value: 12 if value == "12" else value),
    "JSON in a string is parsed": everywhere(parsed),
}
ALIKE_TEXTS: Final[Mapping[str, Change]] = {
    "thoughts are cut out": lambda text: re.sub(r"<thinking>.*?</thinking>", "", text, flags=re.DOTALL),
    "a byte order mark is removed": lambda text: text.removeprefix("\ufeff"),
}


def missed(
    strategy: st.SearchStrategy[Any], number: int, arguments: Mapping[str, Change], texts: Mapping[str, Change]
) -> set[str]:
    """Which of the changes are seen in none of the drawn answers. Values are compared with their types, as JSON."""
    left = {*arguments, *texts}

    @seed(number)
    @settings(
        max_examples=200,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=EVERY_CHECK,
    )
    @given(strategy)
    def search(drawn: Any) -> None:
        for block in assemble(events_of(drawn)).message["content"]:
            for changes, value in ((texts, block.get("text")), (arguments, block.get("toolUse", {}).get("input"))):
                if value is not None:
                    unlike = {name for name in changes if json.dumps(changes[name](value)) != json.dumps(value)}
                    left.difference_update(unlike)

    search()
    return left


def often_missed(strategy: st.SearchStrategy[Any], arguments: Mapping[str, Change], texts: Mapping[str, Change]) -> Any:
    """The changes that two of three seeds miss. One may: which values a seed draws depends on what else is imported."""
    counts = Counter(name for number in (1, 2, 3) for name in missed(strategy, number, arguments, texts))
    return [name for name, count in counts.items() if count > 1]


@pytest.mark.parametrize("search", SEARCHES)
def test_arguments_are_as_wide_as_real_ones_and_of_every_type(search: str) -> None:
    assert often_missed(SEARCHES[search](), OF_ARGUMENTS, {}) == []


def test_some_texts_and_arguments_look_like_something_else() -> None:
    assert often_missed(SEARCHES["stream_events"](), ALIKE_ARGUMENTS, ALIKE_TEXTS) == []


def test_each_look_alike_is_drawn_at_every_place() -> None:
    texts = {each.text for each in LOOK_ALIKES}
    assert len(texts) == len(LOOK_ALIKES) >= 40
    assert all(each.bug for each in LOOK_ALIKES)
    strings = {code.scalar for code in decoding.VALUES if isinstance(code, decoding.TypedScalar) and code.kind is str}
    for table in (decoding.FIRST, decoding.PIECES, decoding.MEMBERS, strings):
        assert texts <= {*table}


@given(st.binary(max_size=200))
def test_every_object_survives_json(drawn: bytes) -> None:
    value = decoding.read_object(drawn)
    text = json.dumps(value, allow_nan=False)
    assert json.dumps(json.loads(text)) == text
    assert decoding.read_text(drawn).encode().decode() == decoding.read_text(drawn)


@given(st.binary(min_size=1, max_size=30), st.integers(0, 29))
def test_fewer_bytes_are_not_more_members(drawn: bytes, place: int) -> None:
    assert len(decoding.read_object(drawn[:place])) <= len(decoding.read_object(drawn))


SMALLEST: Final = {"a return in a text": (5, 2), "five blocks": (13, 0), "two tools of one name": (9, 2)}


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("name", SMALLEST)
def test_no_counterexample_is_long_where_a_short_one_shows_the_bug(name: str, number: int) -> None:
    found = searched(PROPERTIES[name], number)
    if found is not None:
        events, characters = size(found)
        assert events <= SMALLEST[name][0] + 2
        assert characters <= SMALLEST[name][1] + SLACK
