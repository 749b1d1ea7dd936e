"""Call: one HTTP request that came in (each retry is a Call of its own), with what was answered and how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from converse_harness import bedrock
from converse_harness.errors import StreamOrderError
from converse_harness.reply.body import summarize_block
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.delivery import SentChunks, SentEvent
from converse_harness.stream.http import Request

if TYPE_CHECKING:
    from converse_harness.bedrock.rules import Refusal
    from converse_harness.notes import Note
    from converse_harness.stream.http import Chunk

CONVERSATIONS: Final = ("Converse", "ConverseStream", "CountTokens")
"""The operations whose request holds a conversation; that of another may have members of the same names."""


CallOutcome = Literal["still running", "complete", "closed by client", "cut"]
"""How an answer ended."""


class Parting(NamedTuple):
    """Where a request stops being the same as an earlier one: the path, the character there, what was and what is.

    The character is the first of the word that differs, or of the difference where the word is long; None for what is
    no text.
    """

    path: str
    character: int | None
    was: str
    now: str

    def __str__(self) -> str:
        return self.path if self.character is None else f"{self.path}, character {self.character}"


class CacheUse(NamedTuple):
    """What a call read from the prompt cache and wrote to it, in tokens.

    `parted_at` is where its prefix stops being that of an earlier call of its conversation, or of an earlier call with
    nearly the same prompt; `from_call` is the number of the call that wrote what it read. It is not `certain` where
    a prefix is about as long as the model's minimum, where the answer broke, and of a cache without cachePoints.
    """

    read: int = 0
    written: int = 0
    parted_at: Parting | None = None
    from_call: int | None = None
    certain: bool = True


@dataclass(slots=True, weakref_slot=True)
class Answered:
    """What became of a Call; written by the Endpoint and the transport."""

    status: int = 0
    reply: Reply | None = None
    response: Response | None = None
    taken: SentChunks = field(default_factory=SentChunks)
    outcome: CallOutcome = "still running"
    waited: float = 0.0
    refusal: Refusal | None = None
    notes: Sequence[Note] = ()
    prompt: object = None
    """What the prompt cache knows of the call: `use_of` reads it."""
    cache: Callable[[Call], CacheUse] | None = None
    """What people ask of that."""
    parent: Callable[[], Call | None] | None = None
    """The call that this one goes on from; None as long as nobody looked."""
    passed_on: Callable[[], ForwardedCall] | None = None
    """What came, where the call was passed on to the real service: read when somebody asks."""


class ForwardedCall(NamedTuple):
    """What the client took of an answer of the real service; `status` is 0 until it has begun.

    `summary` says it in a few words; after `at` seconds the last of it came.
    """

    status: int
    taken: Sequence[tuple[Chunk, float]]
    response: Response | None
    summary: str
    at: float


@dataclass(frozen=True, eq=False)
class Call:
    """One request to the fake, parsed.

    `number` counts from 1; `operation` is the AWS operation's name (None where the path is none of Bedrock Runtime's);
    `request` is what came in, secrets masked; `model_id` is decoded; `body` the
    request's JSON (`malformed` says why it is not one), `params` the keyword arguments that a boto3 caller gave, blobs
    as bytes; `stands_for` is the model behind the id, where a setting names one, else the id. Everything about
    the answer is filled in while it is sent.
    """

    number: int
    operation: str | None
    request: Request = field(repr=False)
    path_params: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)
    malformed: str | None = field(default=None, repr=False)
    stands_for: str = field(default="", repr=False)
    answered: Answered = field(default_factory=Answered, repr=False)

    @property
    def model_id(self) -> str:
        """The model id, inference profile id or ARN, percent-decoded; empty where the operation has none."""
        return self.path_params.get("modelId", "")

    @cached_property
    def attempt(self) -> int:
        """Which attempt of the client's own retries this is, counted from 1 (header `amz-sdk-request`)."""
        for name, value in self.request.headers:  # not by `headers`, which would be kept with every call
            if name.lower() == "amz-sdk-request":
                match = re.search(r"attempt=(\d+)", value)
                return int(match[1]) if match else 1
        return 1

    @cached_property
    def params(self) -> dict[str, Any]:
        """The keyword arguments of the boto3 call, so that existing `assert_called_with` assertions carry over."""
        if self.operation not in bedrock.operations():
            return {**self.path_params, **self.body}
        shape = bedrock.operation(self.operation).input_shape
        return {**self.path_params, **bedrock.from_json(shape.name, self.body)}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, blobs as bytes; for CountTokens the one that is to be counted."""
        return cast("list[dict[str, Any]]", self._conversation.get("messages", []))

    @property
    def system(self) -> list[dict[str, Any]]:
        """The system content blocks."""
        return cast("list[dict[str, Any]]", self._conversation.get("system", []))

    @cached_property
    def system_text(self) -> str:
        """The text of the system content blocks, one a line."""
        return "\n".join(block["text"] for block in self.system if "text" in block)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the model may ask for, as the API has them."""
        return cast("list[dict[str, Any]]", self._tool_config.get("tools", []))

    @cached_property
    def tool_names(self) -> list[str]:
        """The names of the tools, in their order."""
        return [tool["toolSpec"]["name"] for tool in self.tools if "name" in tool.get("toolSpec", ())]

    @property
    def tool_choice(self) -> dict[str, Any] | None:
        """The toolChoice, or None."""
        return self._tool_config.get("toolChoice")

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """The ToolResultBlocks of the last message."""
        return [block["toolResult"] for block in self._last_content if "toolResult" in block]

    @cached_property
    def last_user_text(self) -> str:
        """The text of the last message with role user that has any, its blocks one a line; empty if there is none."""
        for message in reversed(self.messages):
            texts = [block["text"] for block in message.get("content", ()) if "text" in block]
            if message.get("role") == "user" and texts:
                return "\n".join(texts)
        return ""

    @property
    def turn(self) -> int:
        """Which of the model's answers in this conversation is asked for, from 1."""
        # Every answer asks this, before its first byte: roles are the same in the JSON, which may be long, as it came.
        whole = self.operation in ("Converse", "ConverseStream")
        messages = self.body.get("messages", ()) if whole else self.messages
        return 1 + [message.get("role") for message in messages].count("assistant")

    @property
    def inference(self) -> dict[str, Any]:
        """The inferenceConfig."""
        return cast("dict[str, Any]", self.params.get("inferenceConfig", {}))

    @property
    def guardrail(self) -> dict[str, Any] | None:
        """The guardrailConfig, or None."""
        return self.params.get("guardrailConfig")

    @property
    def raw(self) -> bytes:
        """The request body as it came."""
        return self.request.body

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The request headers by lower-case name; secrets are masked."""
        return {name.lower(): value for name, value in self.request.headers}

    @property
    def status(self) -> int:
        """The HTTP status that was answered; 0 for a connection failure."""
        passed_on = self.answered.passed_on
        return self.answered.status if passed_on is None else passed_on().status

    @property
    def reply(self) -> Reply | None:
        """The Reply that was used, if one was."""
        return self.answered.reply

    @property
    def refusal(self) -> Refusal | None:
        """What Bedrock would refuse in the request, where the rules were held against it; None where nothing."""
        return self.answered.refusal

    @property
    def cache(self) -> CacheUse:
        """What the call read from the prompt cache and wrote to it; of a recorded answer what its usage says."""
        return self.answered.cache(self) if self.answered.cache is not None else CacheUse()

    @property
    def parent(self) -> Call | None:
        """The call that this one goes on from: its answer is the last of this fake's in the messages.

        None for the first of a conversation, where `history` is "off", and once the fake has let the other one go.
        """
        return self.answered.parent() if self.answered.parent is not None else None

    @property
    def summary(self) -> str:
        """What was answered, in a few words; empty where nothing was."""
        if self.answered.passed_on is not None:
            return self.answered.passed_on().summary
        return self.answered.reply.summary if self.answered.reply is not None else ""

    @property
    def events(self) -> Sequence[SentEvent]:
        """The stream events that the client took, with their times."""
        passed_on = self.answered.passed_on
        if passed_on is None:
            return (*self.answered.taken.events,)
        taken = [(chunk, at) for chunk, at in passed_on().taken if chunk.event is not None]
        return tuple(SentEvent(event, at) for chunk, at in taken for event in (chunk.event, *chunk.more) if event)

    @property
    def outcome(self) -> CallOutcome:
        """How the answer ended."""
        return self.answered.outcome

    @property
    def response(self) -> Response | None:
        """The whole answer, assembled; None if there was an error or the stream did not end well."""
        if self.answered.passed_on is not None and (response := self.answered.passed_on().response) is not None:
            return response
        if self.answered.response is not None:
            return self.answered.response
        events = self.events
        if not events:
            return None
        try:
            response = assemble(event for event, _ in events)
        except StreamOrderError:
            return None
        if self.outcome != "still running":
            self.answered.response = response
        return response

    @property
    def asked(self) -> str:
        """One line for people: operation, model, and what the last message says."""
        last = self.messages[-1] if self.messages else {}
        content = [summarize_block(block) for block in last.get("content", ())]
        count = len(self.messages)
        size = f", {count} message{'s' * (count != 1)}, last: {' + '.join(content)}" if last else ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        operation = self.operation or f"{self.request.method} {self.request.target}"
        return f"{operation} {self.model_id}".rstrip() + size + attempt

    @cached_property
    def _conversation(self) -> Mapping[str, Any]:
        if self.operation not in CONVERSATIONS:
            return {}
        if self.operation == "CountTokens":
            counted = self.params.get("input")
            return cast("dict[str, dict[str, Any]]", counted).get("converse", {}) if isinstance(counted, dict) else {}
        return self.params

    @property
    def _tool_config(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._conversation.get("toolConfig") or {})

    @property
    def _last_content(self) -> Sequence[Mapping[str, Any]]:
        return self.messages[-1].get("content", ()) if self.messages else ()
