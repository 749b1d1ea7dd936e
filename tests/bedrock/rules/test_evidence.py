"""Each rule says who saw it and when, and its verdict follows from that."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from converse_harness.bedrock.rules import RULES, Rule, Witness

DATE = re.compile(r"20\d\d(-(0\d|1[0-2])(-[0-3]\d)?)?")
OLD = 2
"""Years."""


def newest(witnesses: tuple[Witness, ...]) -> str:
    """Dates as they are written sort as they should: a month comes before its days."""
    return max((each.date for each in witnesses), default="")


def test_dates_are_dates_and_witnesses_stand_in_their_order() -> None:
    for rule in RULES:
        dates = [each.date for each in (*rule.witnesses, *rule.against)]
        assert all(DATE.fullmatch(date) or date == "" for date in dates), rule.name
        assert all(each.where for each in rule.witnesses)


@pytest.mark.parametrize("rule", [each for each in RULES if each.verdict != "note"], ids=lambda rule: rule.name)
def test_what_is_refused_has_a_dated_witness_and_nothing_newer_against_it(rule: Rule) -> None:
    assert newest(rule.witnesses) > newest(rule.against)


@pytest.mark.parametrize("rule", [each for each in RULES if each.verdict == "note"], ids=lambda rule: rule.name)
def test_what_is_noted_says_why(rule: Rule) -> None:
    """Something speaks against it, or a remark says what is not known."""
    assert rule.against or rule.remark


def test_what_a_model_accepts_has_a_witness_or_says_why_it_is_not_held() -> None:
    exempt = {rule.name: [*rule.models.but.values()] for rule in RULES if rule.models.but}
    assert {*exempt} == {"first_message_is_the_users", "text_is_not_blank"}
    assert all(each.date if isinstance(each, Witness) else each for found in exempt.values() for each in found)


@pytest.mark.nightly
def test_rules_that_nobody_was_seen_to_break_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    """They are listed, for people to look at: a verdict is theirs. Few may be old."""
    today = dt.datetime.now(dt.UTC).date()
    since = today.replace(year=today.year - OLD, day=1).isoformat()
    old = [rule for rule in RULES if rule.verdict == "refuse" and newest(rule.witnesses) < since]
    with capsys.disabled():
        for rule in old:
            print(f"\n{rule.name}: its newest witness is of {newest(rule.witnesses)}", end="")
    assert len(old) < len(RULES) / 4, "most of what the rules say is old: look at their witnesses"
