"""What a user's type checker must accept of samples."""

from typing import Any

import pytest

from converse_harness import samples
from converse_harness.types.content import Message
from converse_harness.types.guardrails import PIIEntity
from converse_harness.types.session import Session

message: Message = samples.sample("Message")
number: str = samples.pii("CREDIT_DEBIT_CARD_NUMBER")
blocks: dict[str, Any] = samples.variants("content_block")
names: tuple[str, ...] = samples.NAMES


@pytest.mark.parametrize("block", blocks.values(), ids=blocks.keys())
def test_parameters(block: dict[str, Any]) -> None:
    assert block


def test_fixtures(converse_message: Message, converse_session: Session, converse_each_pii_kind: PIIEntity) -> None:
    assert converse_message["content"]
    assert converse_session.session_id
    assert converse_each_pii_kind["match"]


def ask(name: str) -> Any:
    try:
        return samples.sample(name)
    except samples.UnknownSample:
        return None
