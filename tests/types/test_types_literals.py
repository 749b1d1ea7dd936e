"""What the types say that the service can say is what AWS's API model says; Strands' own words are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import pytest

from converse_harness import bedrock
from converse_harness.types import content, event_loop, guardrails, media, streaming, tools

ENUMS: Mapping[str, Any] = {
    "AudioFormat": media.AudioFormat,
    "ConversationRole": content.Role,
    "DocumentFormat": media.DocumentFormat,
    "GuardrailContentFilterConfidence": get_type_hints(guardrails.ContentFilter)["confidence"],
    "GuardrailContentFilterType": get_type_hints(guardrails.ContentFilter)["type"],
    "GuardrailContextualGroundingFilterType": get_type_hints(guardrails.ContextualGroundingFilter)["type"],
    "GuardrailContextualGroundingPolicyAction": get_type_hints(guardrails.ContextualGroundingFilter)["action"],
    "GuardrailConverseContentQualifier": content.GuardContentQualifier,
    "GuardrailManagedWordType": get_type_hints(guardrails.ManagedWord)["type"],
    "GuardrailPiiEntityType": guardrails.PIIType,
    "GuardrailTopicType": get_type_hints(guardrails.Topic)["type"],
    "ImageFormat": media.ImageFormat,
    "StopReason": event_loop.StopReason,
    "ToolResultStatus": tools.ToolResultStatus,
    "VideoFormat": media.VideoFormat,
}

STRANDS_ALONE: Mapping[str, frozenset[str]] = {
    "StopReason": frozenset(
        {"cancelled", "checkpoint", "interrupt", "limit_output_tokens", "limit_total_tokens", "limit_turns"}
    )
}
"""What agents say and the service never does."""


@pytest.mark.parametrize("shape", sorted(ENUMS))
def test_literal_is_the_enum_of_aws(shape: str) -> None:
    if not bedrock.has_shape(shape):
        pytest.skip(f"botocore {bedrock.botocore_version()} has no {shape}")
    said = set(get_args(ENUMS[shape]))
    assert said - STRANDS_ALONE.get(shape, frozenset()) <= set(bedrock.enum(shape))
    assert not STRANDS_ALONE.get(shape, frozenset()) & set(bedrock.enum(shape))


def test_every_kind_of_personal_data_is_there() -> None:
    assert set(get_args(guardrails.PIIType)) == set(bedrock.enum("GuardrailPiiEntityType"))


def test_every_event_of_aws_is_an_event() -> None:
    assert set(bedrock.shape("ConverseStreamOutput").members) == set(streaming.StreamEvent.__annotations__) - {
        "redactContent"
    }
