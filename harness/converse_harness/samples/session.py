"""A session as it is kept, and messages whose bytes have to become JSON for that."""

from __future__ import annotations

from typing import Any, Final, cast

from converse_harness.samples import content, media

CREATED: Final = "2026-03-13T09:24:07.513204+00:00"
UPDATED: Final = "2026-03-13T09:24:11.038815+00:00"


def session_type() -> Any:
    """The only type there is."""
    from converse_harness.types.session import SessionType

    return SessionType.AGENT


def session() -> Any:
    """A session."""
    from converse_harness.types.session import Session

    return Session("07d11351-698e-4e18-bb16-229a2e77d2ae", session_type(), CREATED, UPDATED)


def agent() -> Any:
    """The agent of the session."""
    from converse_harness.types.session import SessionAgent

    manager = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
    return SessionAgent(
        agent_id="travel",
        state={"traveller": content.TRAVELLER},
        conversation_manager_state=manager,
        created_at=CREATED,
        updated_at=UPDATED,
    )


def message() -> Any:
    """The second message of the session."""
    from converse_harness.types.session import SessionMessage

    return SessionMessage(cast("Any", content.message()), 1, created_at=CREATED, updated_at=UPDATED)


def with_bytes() -> dict[str, Any]:
    """A message with the bytes of an image."""
    return {"role": "user", "content": [{"text": "What is this?"}, {"image": media.image()}]}


def without_bytes() -> dict[str, Any]:
    """The same message as it is kept: JSON, the bytes as marked base64."""
    from converse_harness.types.session import encode_bytes_values

    kept: dict[str, Any] = encode_bytes_values(with_bytes())
    return kept
