"""For each rule a request that breaks it and no other, where that is, and what Bedrock says: all written by hand."""

from __future__ import annotations

from typing import Final

from converse_harness import bedrock
from tests.rules import broken_claude, broken_gateway, broken_news, broken_profiles

ALL: Final = {**broken_gateway.BROKEN, **broken_claude.BROKEN, **broken_profiles.BROKEN, **broken_news.BROKEN}

NEEDS: Final = {
    "claude_answers_closed_objects": ("ConverseRequest", "outputConfig"),
    "claude_caches_ever_shorter": ("CachePointBlock", "ttl"),
    "messages_are_not_the_systems": ("ConversationRole", "system"),
    "messages_do_not_change_tools": ("ContentBlock", "toolRemoval"),
    "output_schema_is_json": ("ConverseRequest", "outputConfig"),
    "service_tier_is_one": ("ConverseRequest", "serviceTier"),
    "some_claudes_answer_without_a_schema": ("ConverseRequest", "outputConfig"),
}
"""Rules about members and values that older versions of botocore do not know: there they break another rule first."""


def _is_known(shape: str, name: str) -> bool:
    found = bedrock.shape(shape)
    return name in (found.members if found.type_name == "structure" else found.enum)


BROKEN: Final = {name: broken for name, broken in ALL.items() if name not in NEEDS or _is_known(*NEEDS[name])}
"""Those that can be broken with the installed botocore."""
