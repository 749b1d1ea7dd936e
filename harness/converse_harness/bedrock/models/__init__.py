"""What is known of Bedrock's models: a row for each line, their list, and the forms of their answers."""

from __future__ import annotations

from converse_harness.bedrock.models.answers import (
    COUNTERS,
    READ,
    CacheCounters,
    OtherForm,
    ToolIdForm,
    ToolUseType,
)
from converse_harness.bedrock.models.claude import IMAGE_LIMITS
from converse_harness.bedrock.models.forms import cache_counters, tool_id_form, tool_use_type
from converse_harness.bedrock.models.listed import listed_model, listed_models, provider_of
from converse_harness.bedrock.models.row import (
    TOPICS,
    Ability,
    AdditionalFields,
    Caching,
    Fact,
    ListedModel,
    Model,
    Topic,
)
from converse_harness.bedrock.models.table import MODELS, Standing, bare, cut_as, standing, stands_for

__all__ = [
    "COUNTERS",
    "IMAGE_LIMITS",
    "MODELS",
    "READ",
    "TOPICS",
    "Ability",
    "AdditionalFields",
    "CacheCounters",
    "Caching",
    "Fact",
    "ListedModel",
    "Model",
    "OtherForm",
    "Standing",
    "ToolIdForm",
    "ToolUseType",
    "Topic",
    "bare",
    "cache_counters",
    "cut_as",
    "listed_model",
    "listed_models",
    "provider_of",
    "standing",
    "stands_for",
    "tool_id_form",
    "tool_use_type",
]
