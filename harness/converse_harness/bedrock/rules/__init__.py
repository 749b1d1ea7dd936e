"""The rules by which Bedrock refuses requests; `refusal_of` and `notes_of` apply the rules to a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from converse_harness.bedrock.rules.claude import CLAUDE_TALK
from converse_harness.bedrock.rules.claude_contents import CLAUDE_CONTENTS
from converse_harness.bedrock.rules.families import OTHER_FAMILIES
from converse_harness.bedrock.rules.gateway import CONTENTS, REQUEST
from converse_harness.bedrock.rules.nova import NOVA
from converse_harness.bedrock.rules.request import Part, RuleRequest, has_to_look
from converse_harness.bedrock.rules.rule import (
    MODEL,
    NOTING,
    VERDICTS,
    Models,
    Refusal,
    Rule,
    Verdict,
    Witness,
)
from converse_harness.settings import RuleLevel
from converse_harness.words import unknown_in_table

__all__ = [
    "BY_NAME",
    "GATEWAY",
    "NOTING",
    "PROFILES",
    "RULES",
    "VERDICTS",
    "Models",
    "Refusal",
    "Rule",
    "RuleRequest",
    "Verdict",
    "Witness",
    "notes_of",
    "refusal_of",
    "refusals_of",
    "unknown_rule",
]


GATEWAY: Final[tuple[Rule, ...]] = (*REQUEST, *CONTENTS)
"""The rules that Bedrock's gateway applies before any model receives a request."""

PROFILES: Final[tuple[Rule, ...]] = (*CLAUDE_TALK, *CLAUDE_CONTENTS, *NOVA, *OTHER_FAMILIES)
"""The rules of single model families."""

RULES: Final[tuple[Rule, ...]] = (*GATEWAY, *PROFILES)
"""All rules in Bedrock's order; a request is refused for the first rule that it breaks."""

BY_NAME: Final[Mapping[str, Rule]] = {rule.name: rule for rule in RULES}
"""The rules by their names."""


def unknown_rule(name: object) -> str:
    """Return the text of an error about a name that no rule has; "" if a rule has it."""
    return unknown_in_table(
        name,
        BY_NAME,
        "rule",
        "`converse-harness docs rules` lists the rules; a failure `Bedrock would refuse` has the name in its line "
        "`rule`.",
    )


_NO_EXCEPTIONS: Final[Mapping[str, RuleLevel]] = {}


def refusal_of(
    asked: RuleRequest, level: RuleLevel = "default", single: Mapping[str, RuleLevel] = _NO_EXCEPTIONS
) -> Refusal | None:
    """Return the refusal with which Bedrock answers a request; None if Bedrock accepts the request.

    >>> blank = {"role": "user", "content": [{"text": " "}]}
    >>> refusal_of(RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": [blank]})).rule.name
    'text_is_not_blank'
    """
    return next(refusals_of(asked, level, single), None)


def refusals_of(
    asked: RuleRequest, level: RuleLevel = "default", single: Mapping[str, RuleLevel] = _NO_EXCEPTIONS
) -> Iterator[Refusal]:
    """Yield one Refusal for each broken rule; its `path` is the first place where the request breaks the rule.

    Bedrock itself sends only the first of these refusals. `single` are the levels of single rules, by their names.

    Verdicts are not cached by the bytes of a request: a cache
    would hide what a new request costs.
    """
    rules = _rules_for(asked.model.id, asked.judged_as, _REFUSING[level], asked.parts)
    if single:
        all_rules = _rules_for(asked.model.id, asked.judged_as, _REFUSING["strict"], asked.parts)
        rules = tuple(rule for rule in all_rules if rule.verdict in _REFUSING[single.get(rule.name, level)])
    yield from _broken(asked, rules)


def notes_of(asked: RuleRequest, single: Mapping[str, RuleLevel] = _NO_EXCEPTIONS) -> Iterator[Refusal]:
    """Yield a Refusal for each broken rule that never refuses a request: Bedrock may no longer enforce the rule, or
    ignores what breaks it. Rules with the level "off" in `single` are left out.

    >>> asked = {"messages": [{"role": "user", "content": [{"text": "Hello?"}]}] * 2}
    >>> [each.rule.name for each in notes_of(RuleRequest("Converse", "anthropic.claude-3-haiku-20240307-v1:0", asked))]
    ['roles_alternate']
    """
    rules: Iterable[Rule] = _rules_for(asked.model.id, asked.judged_as, NOTING, asked.parts)
    if single:
        rules = [rule for rule in rules if single.get(rule.name) != "off"]
    yield from _broken(asked, rules)


def _broken(asked: RuleRequest, rules: Iterable[Rule]) -> Iterator[Refusal]:
    for rule in rules:
        for path, values in rule.find(asked):
            yield _refusal(asked, rule, path, rule.message.format(**values))
            break


def _refusal(asked: RuleRequest, rule: Rule, path: str, message: str) -> Refusal:
    place = path if path == "modelId" else ".".join((*asked.within, path))
    # CountTokens says what a model says without the prefix: its answers about tools and about too long a prompt.
    return Refusal(rule, place, message.removeprefix(MODEL if asked.within else ""), asked.model)


_REFUSING: Final[Mapping[RuleLevel, tuple[Verdict, ...]]] = {
    "off": (),
    "warn": ("refuse",),
    "default": ("refuse",),
    "strict": ("refuse", "strict"),
}
"""Maps each rule level to the verdicts of the rules that `refusals_of` applies at this level. At the level "warn", the
caller of `refusal_of` turns the Refusal into a note."""


@lru_cache(512)
def _rules_for(name: str, operation: str, verdicts: tuple[Verdict, ...], parts: frozenset[Part]) -> tuple[Rule, ...]:
    """Return the rules for the model id `name` with one of `verdicts` that a request with `parts` can break."""
    return tuple(rule for rule in _rules_of(name, operation, verdicts) if has_to_look(rule.find, parts))


@lru_cache(512)
def _rules_of(name: str, operation: str, verdicts: tuple[Verdict, ...]) -> tuple[Rule, ...]:
    judging = (rule for rule in RULES if operation in rule.operations and rule.verdict in verdicts)
    return tuple(rule for rule in judging if name in rule.models)
