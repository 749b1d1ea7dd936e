"""Words that people write are no secrets, though they begin as tokens of a vendor do, or stand next to a name."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from converse_harness.recordings.leaks import scan

TRAPS: Final = (
    "Account: 202611271530",
    "account: 123456789012 units",
    "Cookie: chocolate-chip=recipe-number-0012345",
    "xoxo-hugs-and-kisses-1",
    "bb_test_fixture_for_the_database_layer",
    "figd_design_system_component_library_tokens",
    "sb_secret_santa_party_planning_for_2026_all",
    "ATBBtelecommunicationsincorporated",
    "hf_TransformersTokenizerFastImplementation",
    "tvly-search-results-for-the-query",
    "rnd_seedvalueforexperiment2024a",
    "'Set-Cookie: number=7\\r\\nSet-Cookie: string=seven'",
)
"""What was seen to be masked, and is ordinary."""

PREFIXES: Final = (
    *("xoxo-", "sk-", "tvly-", "fc-", "xai-", "pplx-", "bb_", "figd_", "sb_secret_", "secret_", "hf_", "rnd_", "npm_"),
    *("r8_", "fw_", "csk_", "gsk_", "phc_", "lin_api_", "e2b_", "SG.", "dapi", "ATBB"),
)
"""What tokens of vendors begin with, as far as names of files, branches and functions begin so as well."""

WORDS: Final = (
    *("search", "results", "for", "the", "query", "database", "layer", "design", "system", "component", "library"),
    *("token", "fixture", "party", "planning", "number", "recipe", "weather", "station", "report", "monthly", "index"),
    *(
        "customer",
        "archive",
        "release",
        "notes",
        "internal",
        "service",
        "worker",
        "queue",
        "retry",
        "policy",
        "default",
    ),
)
SEPARATORS: Final = ("-", "_", "")


def found(text: str) -> list[str]:
    """The kinds of secrets that are found in a text."""
    line: dict[str, Any] = {"call": 1, "request": {"messages": [{"content": [{"text": text}]}]}}
    return [leak.kind for leak in scan([line], own=())]


@pytest.mark.parametrize("trap", TRAPS, ids=range(len(TRAPS)))
def test_ordinary_text_is_no_secret(trap: str) -> None:
    assert found(trap) == []


@pytest.mark.parametrize("separator", SEPARATORS, ids=["hyphens", "underscores", "capitals"])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_words_behind_the_beginning_of_a_token_are_no_secret(prefix: str, separator: str) -> None:
    chance = random.Random(f"{prefix} {separator}")
    phrases = [prefix + _phrase(chance, separator) for _ in range(6)]
    assert [(phrase, found(phrase)) for phrase in phrases if found(phrase)] == []


def _phrase(chance: random.Random, separator: str) -> str:
    """Four to seven words; the last ones may be a year or a number, as in names of files and branches."""
    words = chance.sample(WORDS, chance.randint(4, 7))
    words = words if separator else [word.capitalize() for word in words]
    return separator.join([*words, *chance.choice([[], [], ["2026"], ["v2"]])])


def test_a_time_of_twelve_digits_is_no_account() -> None:
    chance = random.Random(0)
    times = [
        f"20{chance.randint(10, 39)}{chance.randint(1, 12):02}{chance.randint(1, 28):02}{hour:02}30"
        for hour in range(24)
    ]
    assert [time for time in times if found(f"Account: {time}")] == []
