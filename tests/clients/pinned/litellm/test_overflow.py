"""Every wording of a context overflow: whether litellm recognises it, as `wordings.OVERFLOWS` says."""

from __future__ import annotations

import re
from typing import Any, Final

import litellm
import pytest
from litellm.exceptions import BadRequestError, ContextWindowExceededError

from converse_harness import HttpxFake, reply
from converse_harness.bedrock.families import OVERFLOWS
from converse_harness.intercept.clients import ACCOUNT
from converse_harness.literals import OverflowWording

ASKED: Final[dict[str, Any]] = {
    "model": "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.mark.parametrize("stream", [False, True], ids=["Converse", "ConverseStream"])
@pytest.mark.parametrize("name", OVERFLOWS)
def test_litellm_raises_its_own_error_where_it_recognises_it(
    name: OverflowWording, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm.in_memory_llm_clients_cache.cache_dict.clear()  # it keeps clients, with their transport
    for variable, value in ACCOUNT.items():
        monkeypatch.setenv(variable, value)
    with HttpxFake(reply.context_overflow(name)) as fake:
        with pytest.raises(BadRequestError, match=re.escape(OVERFLOWS[name].message[-20:])) as caught:
            litellm.completion(**ASKED, stream=stream)
        assert isinstance(caught.value, ContextWindowExceededError) is ("litellm" in OVERFLOWS[name].recognised_by)
        assert len(fake.calls) == 1
