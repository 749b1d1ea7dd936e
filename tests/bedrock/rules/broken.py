"""For each rule a request that breaks it and no other, where that is, and what Bedrock says: all written by hand."""

from __future__ import annotations

from typing import Final

from converse_harness import bedrock
from tests.bedrock.rules import broken_claude, broken_gateway, broken_news, broken_profiles

ALL: Final = {**broken_gateway.BROKEN, **broken_claude.BROKEN, **broken_profiles.BROKEN, **broken_news.BROKEN}

NEEDS: Final = {
    "claude_answers_closed_objects": ("ConverseRequest", "outputConfig"),
    "claude_answers_without_limits": ("ConverseRequest", "outputConfig"),
    "claude_answers_without_recursion": ("ConverseRequest", "outputConfig"),
    "claude_before_4_5_caches_for_five_minutes": ("CachePointBlock", "ttl"),
    "claude_caches_ever_shorter": ("CachePointBlock", "ttl"),
    "claude_cites_no_results": ("DocumentBlock", "citations"),
    "claude_cites_pdfs_and_texts": ("DocumentBlock", "citations"),
    "claude_uses_strict_tools_with_closed_objects": ("ToolSpecification", "strict"),
    "claude_uses_strict_tools_without_limits": ("ToolSpecification", "strict"),
    "counted_tools_are_known": ("CountTokensRequest", "input"),
    "messages_are_not_the_systems": ("ConversationRole", "system"),
    "messages_do_not_change_tools": ("ContentBlock", "toolRemoval"),
    "model_counts_tokens": ("CountTokensRequest", "input"),
    "model_is_known_to_count_tokens": ("CountTokensRequest", "input"),
    "newer_claudes_answer_without_a_schema": ("ConverseRequest", "outputConfig"),
    "newer_claudes_have_no_strict_tools": ("ToolSpecification", "strict"),
    "nova_caches_for_five_minutes": ("CachePointBlock", "ttl"),
    "output_schema_is_json": ("ConverseRequest", "outputConfig"),
    "service_tier_is_one": ("ConverseRequest", "serviceTier"),
    "some_cite_nothing": ("DocumentBlock", "citations"),
    "some_claudes_answer_without_a_schema": ("ConverseRequest", "outputConfig"),
    "some_claudes_have_no_strict_tools": ("ToolSpecification", "strict"),
}
"""Rules about members and values that older versions of botocore do not know: there they break another rule first."""


def _is_known(shape: str, name: str) -> bool:
    if not bedrock.has_shape(shape):
        return False
    found = bedrock.shape(shape)
    return name in (found.members if found.type_name == "structure" else found.enum)


BROKEN: Final = {name: broken for name, broken in ALL.items() if name not in NEEDS or _is_known(*NEEDS[name])}
"""Those that can be broken with the installed botocore."""
