"""What Bedrock refuses in a request: `RULES`, and `refusal_of` a request. Sources are named rule by rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from converse_harness.bedrock.rules.rule import LEVELS, Models, Refusal, Rule, RuleLevel, RuleRequest
from converse_harness.bedrock.rules.table import BY_NAME, RULES
from converse_harness.errors import ReplyError

__all__ = [
    "BY_NAME",
    "LEVELS",
    "RULES",
    "Models",
    "Refusal",
    "Rule",
    "RuleLevel",
    "RuleRequest",
    "level_of",
    "refusal_of",
    "refusals_of",
]


def level_of(value: RuleLevel | str) -> RuleLevel:
    """A level by its name. Raises ReplyError that lists them."""
    for level in LEVELS:
        if level == value:
            return level
    known = ", ".join(f'"{level}" ({meaning})' for level, meaning in LEVELS.items())
    raise ReplyError(f"rules={value!r}; one of {known}.")


def refusal_of(asked: RuleRequest, level: RuleLevel = "default") -> Refusal | None:
    """What Bedrock says of a request that it refuses; None where it accepts it.

    >>> blank = {"role": "user", "content": [{"text": " "}]}
    >>> refusal_of(RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": [blank]})).rule.name
    'text_is_not_blank'
    """
    return next(refusals_of(asked, level), None)


def refusals_of(asked: RuleRequest, level: RuleLevel = "default") -> Iterator[Refusal]:
    """Each rule that a request breaks, with the first place where it does; Bedrock says the first of them."""
    for rule in _rules_for(asked.model_id, level):
        for path, values in rule.find(asked):
            yield Refusal(rule, path, rule.message.format(**values))
            break


@lru_cache(256)
def _rules_for(model_id: str, level: RuleLevel) -> tuple[Rule, ...]:
    if level == "off":
        return ()
    return tuple(rule for rule in RULES if model_id in rule.models and (level == "strict" or not rule.strict))
