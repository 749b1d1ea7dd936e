"""What shows on the bill alone, and keys: consumers that count, each with the bug that a thread tells of."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import boto3
import pytest

from converse_harness import fake_converse, reply
from converse_harness.cases import CASES
from tests.public_threads.lessons import NOVA, Lessons, ScriptLesson, bedrock, user

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def counts_input_tokens(*, mended: bool) -> int:
    """How many tokens a request had, for whoever pays."""
    usage = bedrock().converse(modelId=SONNET, messages=[user("?")])["usage"]
    cached = usage["cacheReadInputTokens"] + usage["cacheWriteInputTokens"]
    tokens: int = usage["inputTokens"] + (cached if mended else 0)
    return tokens


def prices_new_tokens(*, mended: bool) -> int:
    """How many tokens of a request are paid in full: with other providers the cached ones are among them."""
    usage = bedrock().converse(modelId=SONNET, messages=[user("?")])["usage"]
    cached = usage["cacheReadInputTokens"] + usage["cacheWriteInputTokens"]
    tokens: int = usage["inputTokens"] - (0 if mended else cached)
    return max(tokens, 0)


def counts_what_the_cache_has(count: Callable[[], int]) -> None:
    with fake_converse(CASES["metadata_cache"].reply):
        assert count() == 110, "cached tokens are not counted"


def prices_what_is_new(price: Callable[[], int]) -> None:
    with fake_converse(CASES["metadata_cache"].reply):
        assert price() == 10, "new tokens are taken for cached ones"


def signs_by_itself(*, mended: bool) -> str:
    """Whose keys a request is signed with; with a bearer token alone there are none."""
    sdk: Any = boto3  # it has no types
    session = sdk.Session(region_name="us-east-1")
    session.client("bedrock-runtime").converse(modelId=NOVA, messages=[user("?")])
    keys = session.get_credentials()
    if mended and keys is None:
        return "bearer token"
    return str(keys.access_key)


def works_with_a_token_alone(sign: Callable[[], str]) -> None:
    with pytest.MonkeyPatch.context() as patch, fake_converse(reply.text("ok")):
        patch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-of-a-test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        assert "AWS_ACCESS_KEY_ID" not in os.environ
        assert sign() == "bearer token"


LESSONS: Final[Lessons] = {
    "cached tokens are not counted": ScriptLesson(
        counts_input_tokens, counts_what_the_cache_has, by="metadata_cache", says="not counted"
    ),
    "cached tokens are subtracted": ScriptLesson(
        prices_new_tokens, prices_what_is_new, by="metadata_cache", says="taken for cached"
    ),
    "a bearer token is alone": ScriptLesson(
        signs_by_itself, works_with_a_token_alone, by="fake_converse", says="access_key", fails=AttributeError
    ),
}
