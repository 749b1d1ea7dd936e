"""Every wording of a context overflow: whether strands-agents recognises it, as `wordings.OVERFLOWS` says."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models import BedrockModel
from strands.types.exceptions import ContextWindowOverflowException

from converse_harness import Fake, reply
from converse_harness.bedrock.families import CLIENTS, OVERFLOWS
from converse_harness.literals import OverflowWording
from tests.clients.overflows import overflow, places, wordings

MODEL: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
HISTORY: Final[list[Any]] = [
    {"role": role, "content": [{"text": f"{role} {number}"}]} for number in range(3) for role in ("user", "assistant")
]


def test_the_default_is_one_that_every_client_recognises() -> None:
    assert reply.context_overflow().summary == reply.context_overflow("input_too_long").summary
    assert OVERFLOWS["input_too_long"].recognised_by == frozenset(CLIENTS)
    assert frozenset().union(*(row.recognised_by for row in OVERFLOWS.values())) == frozenset(CLIENTS)


@cache
def make_model(*, streaming: bool) -> BedrockModel:
    return BedrockModel(model_id=MODEL, streaming=streaming, region_name="us-east-1")


class Watched(SlidingWindowConversationManager):
    """strands' default way to shorten a conversation, which remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.reduced: list[int] = []

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        assert isinstance(e, ContextWindowOverflowException)
        before = len(agent.messages)
        super().reduce_context(agent, e, **kwargs)
        self.reduced.append(before - len(agent.messages))


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "not streaming"])
@places
@wordings
def test_strands_shortens_the_conversation_where_it_recognises_it(
    name: str, place: str, streaming: bool, converse: Fake
) -> None:
    manager = Watched()
    agent = Agent(
        model=make_model(streaming=streaming),
        callback_handler=None,
        conversation_manager=manager,
        messages=[dict(message) for message in HISTORY],  # type: ignore[misc]  # Messages of strands' own type
    )
    converse.script(overflow(name, place))
    if "strands-agents" not in OVERFLOWS[name].recognised_by:
        with pytest.raises(ClientError) as caught:
            agent("hi")
        assert not isinstance(caught.value, ContextWindowOverflowException)
        assert (len(converse.calls), manager.reduced) == (1, [])
        return
    converse.script(reply.text("ok"))
    assert str(agent("hi")).strip() == "ok"
    before, after = converse.calls
    assert len(before.messages) == 7
    assert len(after.messages) == 7 - manager.reduced[0] < 7
    assert after.last_user_text == "hi"


@wordings
def test_strands_gives_up_where_nothing_can_be_left_out(name: OverflowWording, converse: Fake) -> None:
    converse.script(reply.context_overflow(name))
    known = "strands-agents" in OVERFLOWS[name].recognised_by
    with pytest.raises(ContextWindowOverflowException if known else ClientError):
        Agent(model=make_model(streaming=True), callback_handler=None)("hi")
    assert len(converse.calls) == 1
