"""Sessions survive JSON, with their bytes; redaction takes the place of what was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.types.content import Message
from converse_harness.types.session import (
    Session,
    SessionAgent,
    SessionMessage,
    SessionType,
    decode_bytes_values,
    encode_bytes_values,
)

plain = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=3)
blocks = st.fixed_dictionaries({"text": st.text()}) | st.fixed_dictionaries(
    {"reasoningContent": st.fixed_dictionaries({"redactedContent": st.binary()})}
)
messages = st.builds(
    lambda content: Message(role="user", content=content),
    st.lists(blocks, max_size=3),
)


@given(values)
def test_bytes_survive_json(value: Any) -> None:
    assert decode_bytes_values(json.loads(json.dumps(encode_bytes_values(value)))) == value


def test_what_is_given_is_not_changed() -> None:
    value = {"bytes": b"a", "list": [b"b"]}
    encode_bytes_values(value)
    assert value == {"bytes": b"a", "list": [b"b"]}


@pytest.mark.parametrize(
    "value", [{"__bytes_encoded__": False, "data": "YQ=="}, {"__bytes_encoded__": True}, {"data": "YQ=="}]
)
def test_only_the_whole_mark_is_read(value: dict[str, Any]) -> None:
    assert decode_bytes_values(value) == value


@given(st.builds(SessionMessage, messages, st.integers(0), st.none() | messages))
def test_session_message_survives_json(kept: SessionMessage) -> None:
    again = SessionMessage.from_dict({**json.loads(json.dumps(kept.to_dict())), "color": "red"})
    assert again == kept
    assert again.to_message() == (kept.redact_message or kept.message)


@given(st.builds(SessionAgent, st.text(), objects, objects, objects))
def test_session_agent_survives_json(kept: SessionAgent) -> None:
    assert SessionAgent.from_dict({**json.loads(json.dumps(kept.to_dict())), "color": "red"}) == kept


@given(st.builds(Session, st.text(), st.sampled_from(SessionType)))
def test_session_survives_json(kept: Session) -> None:
    again = Session.from_dict({**json.loads(json.dumps(kept.to_dict())), "color": "red"})
    assert again == kept
    assert isinstance(again.session_type, SessionType)


def test_empty_redaction_is_one() -> None:
    nothing: Message = {"role": "user", "content": []}
    kept = SessionMessage({"role": "user", "content": [{"text": "secret"}]}, 0, redact_message=nothing)
    assert kept.to_message() is nothing


def test_from_message_keeps_place_and_time() -> None:
    message: Message = {"role": "user", "content": [{"text": "Tea?"}]}
    before = datetime.now(UTC)
    kept = SessionMessage.from_message(message, 3)
    assert (kept.message, kept.message_id, kept.redact_message) == (message, 3, None)
    for stamp in (kept.created_at, kept.updated_at):
        assert timedelta(0) <= datetime.fromisoformat(stamp) - before < timedelta(minutes=1)


def agent(**more: Any) -> Any:
    return SimpleNamespace(agent_id="a", state=SimpleNamespace(get=lambda: {"mood": "good"}), **more)


def test_agent_needs_no_more_than_an_id_and_a_state() -> None:
    kept = SessionAgent.from_agent(agent())
    assert (kept.agent_id, kept.state, kept.conversation_manager_state) == ("a", {"mood": "good"}, {})
    assert "_internal_state" in kept.to_dict()
    untouched = agent()
    kept.initialize_internal_state(untouched)
    assert vars(untouched).keys() == {"agent_id", "state"}


class Interrupts(dict[str, int]):
    """The state of interrupts, as Strands has it."""

    def to_dict(self) -> dict[str, int]:
        return dict(self)

    @classmethod
    def from_dict(cls, kept: dict[str, int]) -> Interrupts:
        return cls(kept)


@pytest.mark.parametrize("lost", ["", "interrupt_state", "model_state"])
def test_an_agent_gets_back_what_was_kept_of_its_inner_state(lost: str) -> None:
    """An older file may lack a part: then the agent keeps its own."""
    before = {"_interrupt_state": Interrupts(asked=1), "_model_state": {"response_id": "r-1"}}
    kept = SessionAgent.from_agent(agent(**before)).to_dict()
    kept["_internal_state"].pop(lost, None)
    own = {"_interrupt_state": Interrupts(), "_model_state": {}}
    restored = agent(**own)
    SessionAgent.from_dict(kept).initialize_internal_state(restored)
    expected = {**before, f"_{lost}": own[f"_{lost}"]} if lost else before
    assert {name: getattr(restored, name) for name in before} == expected


def test_agent_without_an_id_is_told_what_to_do() -> None:
    nobody = agent()
    nobody.agent_id = None
    with pytest.raises(ValueError, match=r"no agent_id.*Agent\(agent_id="):
        SessionAgent.from_agent(nobody)
