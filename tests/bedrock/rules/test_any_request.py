"""Whatever is asked, rules find something or nothing: none of them raises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.rules import RULES, RuleRequest, notes_of, refusals_of
from converse_harness.bedrock.rules.request import conversation_in, has_to_look
from converse_harness.errors import DamagedData
from converse_strategies import shapes
from converse_strategies.rule_breaks import MODELS
from tests.profiles import examples

Json = dict[str, Any]

EMPTY: tuple[Any, ...] = ({}, [], "", 0)


@st.composite
def bodies(draw: st.DrawFn) -> Json:
    """Requests that are valid for the model, with one place that may be missing, empty or new."""
    drawn = draw(shapes.values("ConverseRequest"))
    drawn.pop("modelId", None)
    body: Json = json.loads(bedrock.to_json("ConverseRequest", drawn))
    holders = list(objects(body))
    holder = holders[draw(st.integers(0, len(holders) - 1))]
    name = draw(st.sampled_from([*holder, "unknown"]))
    if draw(st.booleans()):
        holder.pop(name, None)
    else:
        holder[name] = draw(st.sampled_from(EMPTY))
    return body


def objects(value: Any) -> Iterator[Json]:
    """Every object in it, the outermost first."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def asked_of(operation: str, model_id: str, body: Json) -> RuleRequest | None:
    """The request as the rules see it; None if its body has another structure."""
    sent = {"input": {"converse": body}} if operation == "CountTokens" else body
    try:
        read = bedrock.read_json(bedrock.operation(operation).input_shape.name, sent)
    except DamagedData:
        return None
    return RuleRequest(operation, model_id, conversation_in(operation, read))


OPERATIONS = [each for each in ("Converse", "ConverseStream", "CountTokens") if each in bedrock.operations()]


@given(bodies(), st.sampled_from([*MODELS, "my-model"]), st.sampled_from(OPERATIONS))
@settings(max_examples=examples(5))
def test_no_rule_raises(body: Json, model_id: str, operation: str) -> None:
    asked = asked_of(operation, model_id, body)
    if asked is None:
        return
    found = [(each.rule, each.path, each.message) for each in (*refusals_of(asked, "strict"), *notes_of(asked))]
    assert len(found) == len({rule.name for rule, _, _ in found}) <= len(RULES)
    assert all(path and message and "{errors}" not in message for _, path, message in found)


@given(bodies(), st.sampled_from([*MODELS, "my-model"]), st.sampled_from(OPERATIONS))
@settings(max_examples=examples(5))
def test_a_finder_that_need_not_look_finds_nothing(body: Json, model_id: str, operation: str) -> None:
    asked = asked_of(operation, model_id, body)
    if asked is None:
        return
    skipped = [rule for rule in RULES if not has_to_look(rule.find, asked.parts)]
    assert skipped
    assert [rule.name for rule in skipped if [*rule.find(asked)]] == []
