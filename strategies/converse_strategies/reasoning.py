"""Strategies for AWS GuardrailAutomatedReasoningFindings: all kinds that the installed botocore has."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import leaves
from converse_strategies.leaves import composite

Texts = st.SearchStrategy[str]

_FINDING: Final = "GuardrailAutomatedReasoningFinding"
_ARN: Final = "arn:aws:bedrock:us-east-1:123456789012:automated-reasoning-policy"
_MOST: Final = 1000
"""Characters of a statement, in AWS's model."""

_CONFIDENCES: Final = leaves.made(st.integers(0, 100), lambda percent: percent / 100)
_IDENTIFIERS: Final = st.text(string.ascii_lowercase + string.digits, min_size=12, max_size=12)
_FEW: Final = st.integers(0, 2)


def draw_findings(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    """Draw one or two findings; statements are from `texts`, cut to the model's limit."""
    return draw(_findings(texts))


@cache
def _findings(texts: Texts) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(_draw_finding(texts), min_size=1, max_size=2)


@composite
def _draw_finding(draw: st.DrawFn, texts: Texts) -> dict[str, Any]:
    kind = draw(_kinds())
    members = bedrock.member(_FINDING, kind).members
    parts = {name: _PARTS[each.name](draw, texts) for name, each in members.items() if each.name in _PARTS}
    return {kind: {name: part for name, part in parts.items() if part is not None}}


@cache
def _kinds() -> st.SearchStrategy[str]:
    kinds = bedrock.shape(_FINDING).members
    return st.sampled_from(sorted(kinds, key=lambda kind: len(kinds[kind].members)))


def _statements(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    texts_drawn = draw(_pairs(texts))
    return [{"logic": logic[:_MOST], "naturalLanguage": words[:_MOST]} for logic, words in texts_drawn]


@cache
def _pairs(texts: Texts) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(texts, texts), max_size=2)


def _references(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    return [{"text": draw(texts)[:_MOST]} for _ in range(draw(_FEW))]


def _translation(draw: st.DrawFn, texts: Texts) -> dict[str, Any]:
    return {
        "premises": _statements(draw, texts),
        "claims": _statements(draw, texts),
        "untranslatedPremises": _references(draw, texts),
        "untranslatedClaims": _references(draw, texts),
        "confidence": draw(_CONFIDENCES),
    }


def _scenario(draw: st.DrawFn, texts: Texts) -> dict[str, Any]:
    return {"statements": _statements(draw, texts)}


def _rules(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    ids = draw(_rule_ids())
    return [{"identifier": rule, "policyVersionArn": f"{_ARN}/{policy}:1"} for rule, policy in ids]


@cache
def _rule_ids() -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(_IDENTIFIERS, _IDENTIFIERS), max_size=2)


def _warning(draw: st.DrawFn, texts: Texts) -> dict[str, Any] | None:
    kind = draw(_warnings())
    if kind is None:
        return None
    return {"type": kind, "premises": _statements(draw, texts), "claims": _statements(draw, texts)}


@cache
def _warnings() -> st.SearchStrategy[str | None]:
    return st.sampled_from((None, *bedrock.enum("GuardrailAutomatedReasoningLogicWarningType")))


def _options(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    return [{"translations": [_translation(draw, texts)]} for _ in range(draw(_FEW))]


def _differences(draw: st.DrawFn, texts: Texts) -> list[dict[str, Any]]:
    return [_scenario(draw, texts) for _ in range(draw(_FEW))]


_PARTS: Final[Mapping[str, Callable[[st.DrawFn, Texts], Any]]] = {
    "GuardrailAutomatedReasoningTranslation": _translation,
    "GuardrailAutomatedReasoningScenario": _scenario,
    "GuardrailAutomatedReasoningRuleList": _rules,
    "GuardrailAutomatedReasoningLogicWarning": _warning,
    "GuardrailAutomatedReasoningTranslationOptionList": _options,
    "GuardrailAutomatedReasoningDifferenceScenarioList": _differences,
}
"""How the parts of a finding are drawn, by their shape."""
