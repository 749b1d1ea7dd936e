"""Rules about additionalModelRequestFields, the members of a request that only some models know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from converse_harness.bedrock.models import MODELS, Model
from converse_harness.bedrock.rules.request import FIELDS, RuleRequest, RuleViolation, in_request, needs
from converse_harness.json_values import member_of

_TWINS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("max_tokens",): ("inferenceConfig", "maxTokens"),
    ("stop_sequences",): ("inferenceConfig", "stopSequences"),
    ("temperature",): ("inferenceConfig", "temperature"),
    ("top_p",): ("inferenceConfig", "topP"),
    ("tool_choice", "type"): ("toolConfig", "toolChoice"),
}
"""Maps additional fields of Claude to the members of a Converse request that become the same field."""


@needs(FIELDS)
def fields_that_a_member_sets(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find additional fields that a member of the request sets as well."""
    for field, member in _TWINS.items():
        value = member_of(asked.body, *member)
        if member_of(asked.fields, *field) is not None and value is not None:
            chosen = [*value] if member[-1] == "toolChoice" else []
            values = {"field": "/".join(field), "member": ".".join((*member, *chosen))}
            yield RuleViolation(".".join((FIELDS, *field)), values)


@needs(FIELDS)
def fields_of_others(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find additional fields that the model was seen to refuse, or that only models of other makers know."""
    model = asked.model.model
    if model is not None:
        for name in asked.fields:
            if name in _refused_by(model.maker, model.fields.refused):
                yield RuleViolation(f"{FIELDS}.{name}", {"name": name})


@cache
def _refused_by(maker: str, refused: tuple[str, ...]) -> frozenset[str]:
    known = {name for model in MODELS if model.maker == maker for name in model.fields.known}
    of_others = {name for model in MODELS if model.maker != maker for name in model.fields.known}
    return frozenset(of_others - known) | {*refused}


def judged_fields(model: Model) -> frozenset[str]:
    """Return the additional fields for which it is known whether the model accepts them."""
    fields = model.fields
    refused = _refused_by(model.maker, fields.refused) if fields.strict else frozenset[str]()
    return frozenset(fields.known) | refused


def _reasoning(asked: RuleRequest, member: str) -> object:
    return member_of(asked.fields, "reasoningConfig", member)


reasoning_configs: Final = in_request(
    f"{FIELDS}.reasoningConfig", lambda asked: "reasoningConfig" in asked.fields, FIELDS
)
"""Finds Nova's settings of reasoning."""

limits_beside_high_reasoning: Final = in_request(
    "inferenceConfig.maxTokens",
    lambda asked: (
        "maxTokens" in asked.inference
        and _reasoning(asked, "type") == "enabled"
        and _reasoning(asked, "maxReasoningEffort") == "high"
    ),
    FIELDS,
)
"""Finds maxTokens in a request that enables Nova's reasoning with a high effort."""
