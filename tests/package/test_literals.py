"""The closed lists of names, as types, are what the tables and AWS's API model say."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any, get_args

import pytest

from converse_harness import bedrock, literals
from converse_harness.bedrock import guardrails
from converse_harness.bedrock.families import ERRORS, FAMILIES, OVERFLOWS, THROTTLES
from converse_harness.endpoint.call import SCRIPTED

TABLES: dict[str, Collection[str]] = {
    "ThrottleWording": THROTTLES,
    "OverflowWording": OVERFLOWS,
    "GuardrailPolicy": guardrails.POLICIES,
    "GuardrailSide": guardrails.BOTH,
    "FamilyName": FAMILIES,
    "ScriptedOperation": SCRIPTED,
}
"""Lists that are ours."""

MODELLED: dict[str, Collection[str]] = {
    "StopReason": bedrock.enum("StopReason"),
    "StreamException": bedrock.stream_exceptions(),
    "ErrorName": bedrock.all_errors(),
    "OtherErrorName": {*chain.from_iterable(map(bedrock.all_errors, bedrock.services()))} - {*bedrock.all_errors()},
    "BlockingPolicy": guardrails.able("BLOCKED"),
    "MaskingPolicy": guardrails.able("ANONYMIZED"),
}
"""Lists of AWS's API model, of which an older botocore has less."""

NEWER = {
    *("malformed_model_output", "malformed_tool_use", "model_context_window_exceeded"),
    *("DuplicateIdException", "ResourceInUseException", "RetryableConflictException", "SubscriptionRequiredException"),
}
"""What botocore 1.40.0 lacks."""


def names(alias: str) -> list[str]:
    """The names in a Literal, or in a union of Literals."""
    return [each for part in get_args(getattr(literals, alias)) for each in (get_args(part) or [part])]


@pytest.mark.parametrize("alias", TABLES)
def test_a_list_of_ours_is_its_table(alias: str) -> None:
    assert names(alias) == list(TABLES[alias])


@pytest.mark.parametrize("alias", MODELLED)
def test_a_list_of_aws_is_that_of_the_model(alias: str) -> None:
    assert set(MODELLED[alias]) <= set(names(alias)), "AWS's API model has more: add it to literals.py"
    assert set(names(alias)) - set(MODELLED[alias]) <= NEWER


def test_every_list_is_held_to_a_table() -> None:
    aliases = {name for name, value in vars(literals).items() if get_args(value)}
    assert aliases == {*TABLES, *MODELLED}
    assert set(ERRORS) <= set(names("ErrorName"))


def test_every_name_is_taken() -> None:
    from converse_harness import chunk, reply

    taken: Any = reply
    for wording in names("ThrottleWording"):
        assert taken.throttled(wording=wording)
    for wording in names("OverflowWording"):
        assert taken.context_overflow(wording)
    for policy in MODELLED["BlockingPolicy"]:
        assert taken.guardrail_blocked(policy=policy)
    for family in names("FamilyName"):
        assert chunk({"role": "assistant", "content": [{"text": "a"}]}, family=FAMILIES[family])
