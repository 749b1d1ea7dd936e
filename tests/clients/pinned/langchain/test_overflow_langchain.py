"""Every wording of a context overflow: whether langchain-aws recognises it, as `wordings.OVERFLOWS` says."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest
from botocore.exceptions import ClientError
from langchain_aws import ChatBedrockConverse
from langchain_core.exceptions import ContextOverflowError

from converse_harness import Fake
from converse_harness.bedrock.families import OVERFLOWS
from tests.clients.overflows import overflow, places, wordings

MODEL: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


@cache
def chat() -> ChatBedrockConverse:
    return ChatBedrockConverse(model=MODEL, region_name="us-east-1")


@places
@wordings
def test_langchain_raises_its_own_error_where_it_recognises_it(name: str, place: str, converse: Fake) -> None:
    converse.script(overflow(name, place).times(2))
    known = "langchain-aws" in OVERFLOWS[name].recognised_by
    for ask in (chat().invoke, lambda text: list(chat().stream(text))):
        with pytest.raises(ClientError) as caught:
            ask("hi")
        assert isinstance(caught.value, ContextOverflowError) is known
    assert [call.operation for call in converse.calls] == ["Converse", "ConverseStream"]
