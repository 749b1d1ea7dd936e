"""The stored parts of an agent's session: the session, the agent's state and its messages, each convertible to JSON.

Instances are mutable, as in Strands. Strands can read sessions that were written here, and vice versa.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, cast

from converse_harness.types.content import Message

_MARK = "__bytes_encoded__"


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _known(cls: type, env: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items of `env` that are fields of `cls`. Data from other versions of Strands may have other items."""
    return {place.name: env[place.name] for place in fields(cls) if place.name in env}


class SessionType(str, Enum):  # noqa: UP042  (as in Strands: str() of it is 'SessionType.AGENT')
    """The kind of session; so far only sessions of one agent exist."""

    AGENT = "AGENT"


def encode_bytes_values(obj: Any) -> Any:
    """Return a copy of nested dicts and lists for JSON: each bytes value becomes a dict with its base64 text.

    >>> encode_bytes_values({"source": {"bytes": b"GIF89a"}})
    {'source': {'bytes': {'__bytes_encoded__': True, 'data': 'R0lGODlh'}}}
    """
    match obj:
        case bytes():
            return {_MARK: True, "data": b64encode(obj).decode("ascii")}
        case dict():
            members = cast("Mapping[Any, Any]", obj)
            return {key: encode_bytes_values(value) for key, value in members.items()}
        case list():
            return [encode_bytes_values(value) for value in cast("Iterable[Any]", obj)]
        case _:
            return obj


def decode_bytes_values(obj: Any) -> Any:
    """Undo `encode_bytes_values`: return a copy in which each dict with `__bytes_encoded__` becomes the bytes again.

    >>> decode_bytes_values([{"__bytes_encoded__": True, "data": "R0lGODlh"}])
    [b'GIF89a']
    """
    match obj:
        case {"__bytes_encoded__": True, "data": data}:
            return b64decode(cast("str", data))
        case dict():
            members = cast("Mapping[Any, Any]", obj)
            return {key: decode_bytes_values(value) for key, value in members.items()}
        case list():
            return [decode_bytes_values(value) for value in cast("Iterable[Any]", obj)]
        case _:
            return obj


@dataclass
class SessionMessage:
    """A message of a session. `message_id` is the message's index in the conversation, from 0; times are ISO 8601, UTC.

    `redact_message`, if given, replaces the message because a guardrail intervened.
    """

    message: Message
    message_id: int
    redact_message: Message | None = None
    created_at: str = field(default_factory=_now)
    updated_at: str = field(default_factory=_now)

    @classmethod
    def from_message(cls, message: Message, index: int) -> "SessionMessage":
        """Make a SessionMessage from a message and its index in the conversation, with the current time."""
        return cls(message=message, message_id=index)

    def to_message(self) -> Message:
        """Return the message for the conversation: the redacted message if there is one.

        >>> secret = {"role": "user", "content": [{"text": "my pin is 1234"}]}
        >>> redacted = {"role": "user", "content": [{"text": "[removed]"}]}
        >>> SessionMessage(secret, 0, redacted).to_message()
        {'role': 'user', 'content': [{'text': '[removed]'}]}
        """
        return self.message if self.redact_message is None else self.redact_message

    @classmethod
    def from_dict(cls, env: dict[str, Any]) -> "SessionMessage":
        """Make a SessionMessage from the result of `to_dict`, with base64 decoded to bytes.

        Keys that are not fields of SessionMessage are ignored.
        """
        return cls(**decode_bytes_values(_known(cls, env)))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict, in which each bytes value is encoded by `encode_bytes_values`."""
        return cast("dict[str, Any]", encode_bytes_values(asdict(self)))


@dataclass
class SessionAgent:
    """An agent of a session: the user's `state`, the conversation manager's state, and times in ISO 8601, UTC.

    `_internal_state` is Strands' own state; it is in strands-agents 1.62, but not in the documentation that these types
    follow.
    """

    agent_id: str
    state: dict[str, Any]
    conversation_manager_state: dict[str, Any]
    _internal_state: dict[str, Any] = field(default_factory=dict[str, Any])
    created_at: str = field(default_factory=_now)
    updated_at: str = field(default_factory=_now)

    @classmethod
    def from_agent(cls, agent: Any) -> "SessionAgent":
        """Make the object from a Strands Agent, or from any object with the same attributes.

        The required attributes are `agent_id` and `state.get()`; `conversation_manager.get_state()`,
        `_interrupt_state.to_dict()` and `_model_state` are optional. Raises ValueError if `agent_id` is None.
        """
        if agent.agent_id is None:
            raise ValueError(
                "SessionAgent.from_agent: the agent has no agent_id, by which a session finds it again. "
                'Give it one: Agent(agent_id="..."), or agent.agent_id = "...".'
            )
        manager = getattr(agent, "conversation_manager", None)
        internal: dict[str, Any] = {}
        if hasattr(agent, "_interrupt_state"):
            internal = {
                "interrupt_state": agent._interrupt_state.to_dict(),
                "model_state": getattr(agent, "_model_state", {}),
            }
        return cls(
            agent_id=agent.agent_id,
            state=agent.state.get(),
            conversation_manager_state={} if manager is None else manager.get_state(),
            _internal_state=internal,
        )

    def initialize_internal_state(self, agent: Any) -> None:
        """Restore, in a Strands agent, the internal state that `from_agent` saved."""
        if not hasattr(agent, "_interrupt_state"):
            return
        if "interrupt_state" in self._internal_state:
            agent._interrupt_state = agent._interrupt_state.from_dict(self._internal_state["interrupt_state"])
        if "model_state" in self._internal_state:
            agent._model_state = self._internal_state["model_state"]

    @classmethod
    def from_dict(cls, env: dict[str, Any]) -> "SessionAgent":
        """Make a SessionAgent from the result of `to_dict`, with base64 decoded to bytes.

        Keys that are not fields of SessionAgent are ignored.
        """
        return cls(**decode_bytes_values(_known(cls, env)))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict, in which each bytes value is encoded by `encode_bytes_values`."""
        return cast("dict[str, Any]", encode_bytes_values(asdict(self)))


@dataclass
class Session:
    """A session: its id, its type, and times in ISO 8601, UTC."""

    session_id: str
    session_type: SessionType
    created_at: str = field(default_factory=_now)
    updated_at: str = field(default_factory=_now)

    @classmethod
    def from_dict(cls, env: dict[str, Any]) -> "Session":
        """Make a Session from the result of `to_dict`. Keys that are not fields of Session are ignored.

        >>> Session.from_dict({"session_id": "s1", "session_type": "AGENT", "color": "red"}).session_type
        <SessionType.AGENT: 'AGENT'>
        """
        known = _known(cls, env)
        return cls(**{**known, "session_type": SessionType(known["session_type"])})

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict. `session_type` stays a SessionType, which `json.dumps` writes as a string."""
        return asdict(self)
