"""Call: one HTTP request, its answer, and the outcome of the answer. Each retry of a client is a separate Call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import methodcaller
from typing import Any, Final, Literal, NamedTuple, cast

from converse_harness import bedrock
from converse_harness.bedrock.rules import Refusal
from converse_harness.errors import StreamOrderError
from converse_harness.json_values import member_of, object_of
from converse_harness.notes import Note
from converse_harness.reply.body import summarize_block
from converse_harness.reply.output import OperationOutput
from converse_harness.reply.reply import Reply
from converse_harness.secrets import mask
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.delivery import SentChunks, SentEvent
from converse_harness.stream.http import Chunk, Request
from converse_harness.user_lines import UserLine

SCRIPTED: Final = ("Converse", "ConverseStream")
"""The operations that a reply answers unless the script names an operation."""

CONVERSATIONS: Final = (*SCRIPTED, "CountTokens")
"""The operations whose request contains a conversation. In other requests, `messages` may have another meaning."""

_ROLE: Final = methodcaller("get", "role")

CallOutcome = Literal["still running", "complete", "closed by client", "cut"]
"""The outcome of an answer. A "cut" answer is incomplete, for example because of a fault or a stopped server."""


class Parting(NamedTuple):
    """The first difference between a request and an earlier request: its path, the old text and the new text.

    `character` is the index at which the first different word starts. In a long word, it is the index of the first
    different character. `character` is None if the values are not texts.
    """

    path: str
    character: int | None
    was: str
    now: str

    def __str__(self) -> str:
        return self.path if self.character is None else f"{self.path}, character {self.character}"


class CacheUse(NamedTuple):
    """The tokens that a call read from the prompt cache and wrote to it.

    `parted_at` is the first difference between the prompt and an earlier prompt, of the same conversation or nearly the
    same. `from_call` is the number of the call that wrote the prefix which this call read. `certain` is false if a
    prefix is about as long as the model's minimum, if the answer was incomplete, or if the model caches without
    cachePoints.
    """

    read: int = 0
    written: int = 0
    parted_at: Parting | None = None
    from_call: int | None = None
    certain: bool = True


@dataclass(slots=True, weakref_slot=True)
class Answered:
    """The answer to a Call. The Endpoint and the transport set its fields while the answer is made and sent."""

    status: int = 0
    reply: Reply | None = None
    output: OperationOutput | None = None
    """The scripted answer if it is an OperationOutput, for example of CountTokens; None if it is a Reply."""
    error: str = ""
    """The text of the error that replaced the answer; empty if there was none.

    A function of the user raised this error, or returned an invalid value; or the answer is UNKNOWN_OPERATION.
    """
    line: UserLine | None = None
    """The line of the user's code at which the answer was scripted; None if it is not known."""
    response: Response | None = None
    taken: SentChunks = field(default_factory=SentChunks)
    outcome: CallOutcome = "still running"
    waited: float = 0.0
    refusal: Refusal | None = None
    notes: Sequence[Note] = ()
    cache: Callable[[Call], CacheUse] = field(init=False)
    """The function that computes the value of `Call.cache`. For each Call, the Endpoint sets this field and `html`."""
    html: Callable[[Call], str] = field(init=False)
    """The function that makes the HTML of a Call for a notebook."""
    prompt: object = None
    """The PromptUse of the call; `use_of` returns it."""
    parent: Callable[[], Call | None] | None = None
    """A function that returns the value of `Call.parent`; None until the parent has been looked up."""
    differs: Callable[[], str] | None = None
    """A function that returns the paths of the differences between the request and the recorded request, except ids.

    The field is None if the answer is not from a recording, or if the two requests are equal.
    """
    passed_on: Callable[[], ForwardedCall] | None = None
    """A function that returns the part of a real service's answer that the client has received.

    The field is None if the fake answered the call itself.
    """


class ForwardedCall(NamedTuple):
    """The part of a real service's answer that the client has received so far.

    `status` is 0 before the answer begins. `summary` describes the received part. `at` is the time at which the last
    bytes were received, in seconds since the request.
    """

    status: int
    taken: Sequence[tuple[Chunk, float]]
    response: Response | None
    summary: str
    at: float


@dataclass(frozen=True, eq=False, repr=False)
class Call:
    """One request to the fake, parsed. `number` is its position among the calls of all operations, counted from 1.

    `operation` is the AWS operation's name (None if Bedrock has no operation at this path). `request` is the HTTP
    request with secrets masked, `body` is its JSON. If the body is not valid, `body` is empty and `malformed` is the
    reason. `model_id` is percent-decoded. `params` are the keyword arguments of the boto3 call, with blobs as bytes.
    `stands_for` is the id of the model that the setting `models` assigns to the model id, otherwise the model id
    itself. The fields about the answer are filled in while the answer is sent.

    >>> import boto3
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.text("hi")) as fake:
    ...     client = boto3.client("bedrock-runtime")
    ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
    >>> call = fake.calls[0]
    >>> call.operation, call.model_id, call.last_user_text, call.status
    ('Converse', 'm', 'hello', 200)
    >>> call.params
    {'modelId': 'm', 'messages': [{'role': 'user', 'content': [{'text': 'hello'}]}]}
    """

    number: int
    operation: str | None
    request: Request
    path_params: Mapping[str, str]
    body: Mapping[str, Any]
    malformed: str | None = None
    stands_for: str = ""
    answered: Answered = field(default_factory=Answered)

    @property
    def model_id(self) -> str:
        """The percent-decoded model id, inference profile id or ARN; empty if the operation has no model id."""
        return self.path_params.get("modelId", "")

    @cached_property
    def attempt(self) -> int:
        """The number of this attempt of the client, as in the header `amz-sdk-request`; 1 for the first attempt."""
        for name, value in self.request.headers:  # `self.headers` would stay in memory for each call
            if name.lower() == "amz-sdk-request" and (found := re.search(r"attempt=(\d+)", value)):
                return int(found[1])
        return 1

    @cached_property
    def params(self) -> dict[str, Any]:
        """The keyword arguments of the boto3 call, in the form in which a mock of the client would get them.

        AWS's API model does not describe the body of InvokeModel and of some other operations. For these,
        `params` contains the arguments in the path and the members of the JSON body.
        """
        if self.operation not in bedrock.operations():
            return {**self.path_params, **self.body}
        shape = bedrock.operation(self.operation).input_shape
        return {**self.path_params, **bedrock.from_json(shape.name, self.body)}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the request, with blobs as bytes. For CountTokens, these are the messages to count."""
        return cast("list[dict[str, Any]]", self._conversation.get("messages", []))

    @property
    def system(self) -> list[dict[str, Any]]:
        """The system content blocks of the request."""
        return cast("list[dict[str, Any]]", self._conversation.get("system", []))

    @cached_property
    def system_text(self) -> str:
        """The text of the system content blocks, one per line."""
        return "\n".join(block["text"] for block in self.system if "text" in block)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the model may use, in the API's form."""
        return cast("list[dict[str, Any]]", self._tool_config.get("tools", []))

    @cached_property
    def tool_names(self) -> list[str]:
        """The names of the tools that the model may use, in the order of the request."""
        return [tool["toolSpec"]["name"] for tool in self.tools if "name" in tool.get("toolSpec", ())]

    @property
    def tool_choice(self) -> dict[str, Any] | None:
        """The toolChoice of the request; None if the request has none."""
        return self._tool_config.get("toolChoice")

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """The ToolResultBlocks of the last message."""
        content: Sequence[Mapping[str, Any]] = self.messages[-1].get("content", ()) if self.messages else ()
        return [block["toolResult"] for block in content if "toolResult" in block]

    @cached_property
    def last_user_text(self) -> str:
        """The text of the last user message that has text, one block per line; empty if there is none."""
        for message in reversed(self.messages):
            texts = [block["text"] for block in message.get("content", ()) if "text" in block]
            if message.get("role") == "user" and texts:
                return "\n".join(texts)
        return ""

    @property
    def turn(self) -> int:
        """The number of the requested answer in its conversation: 1 plus the number of answers in the messages."""
        # The turn is needed before the first byte of every answer. Therefore the roles are read from the JSON body; its
        # conversion to `params` may be slow.
        messages = self.body.get("messages", ()) if self.operation in SCRIPTED else self.messages
        return 1 + [*map(_ROLE, messages)].count("assistant")

    @property
    def inference(self) -> dict[str, Any]:
        """The inferenceConfig of the request; empty if the request has none."""
        return cast("dict[str, Any]", self.params.get("inferenceConfig", {}))

    @property
    def guardrail(self) -> dict[str, Any] | None:
        """The guardrailConfig of the request; None if the request has none."""
        return self.params.get("guardrailConfig")

    @property
    def raw(self) -> bytes:
        """The raw request body."""
        return self.request.body

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The request headers by lower-case name; secrets are masked."""
        return {name.lower(): value for name, value in self.request.headers}

    @property
    def status(self) -> int:
        """The HTTP status of the answer; 0 for a connection failure."""
        passed_on = self.answered.passed_on
        return self.answered.status if passed_on is None else passed_on().status

    @property
    def reply(self) -> Reply | None:
        """The Reply that answered the call; None if no Reply answered."""
        return self.answered.reply

    @property
    def refusal(self) -> Refusal | None:
        """The refusal that Bedrock would send; None if the request breaks no rule, or if no rule was checked."""
        return self.answered.refusal

    @property
    def cache(self) -> CacheUse:
        """The tokens that the call read from the prompt cache and wrote to it.

        For a recorded answer, these are the numbers in its usage.
        """
        return self.answered.cache(self)

    @property
    def parent(self) -> Call | None:
        """The call that this call continues; None for the first call of a conversation, or if `history` is "off".

        The last answer of this fake in the messages of this call is the answer to the parent. The value is also None if
        the fake has dropped the parent.
        """
        return self.answered.parent() if self.answered.parent is not None else None

    @property
    def summary(self) -> str:
        """The answer in a few words; empty if there was no answer."""
        if self.answered.passed_on is not None:
            return self.answered.passed_on().summary
        answer = self.answered.reply or self.answered.output
        return answer.summary if answer is not None else ""

    @property
    def events(self) -> Sequence[SentEvent]:
        """The stream events that the client has received, each with its time."""
        passed_on = self.answered.passed_on
        if passed_on is None:
            return (*self.answered.taken.events,)
        events = ((event, at) for chunk, at in passed_on().taken for event in (chunk.event, *chunk.more))
        return tuple(SentEvent(event, at) for event, at in events if event)

    @property
    def outcome(self) -> CallOutcome:
        """The outcome of the answer, for example "complete" or "cut"."""
        return self.answered.outcome

    @property
    def response(self) -> Response | None:
        """The whole answer, assembled; None after an error, or if the stream is incomplete or in a wrong order."""
        passed_on = self.answered.passed_on
        response = (None if passed_on is None else passed_on().response) or self.answered.response
        if response is not None:
            return response
        try:
            response = assemble(event for event, _ in self.events)
        except StreamOrderError:
            return None
        if self.outcome != "still running":
            self.answered.response = response
        return response

    @property
    def asked(self) -> str:
        """The request in one line: operation, model, and a summary of the last message."""
        last = self.messages[-1] if self.messages else {}
        content = [summarize_block(block) for block in last.get("content", ())]
        count = len(self.messages)
        size = f", {count} message{'s' * (count != 1)}, last: {' + '.join(content)}" if last else ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        operation = self.operation or f"{self.request.method} {self.request.target}"
        return f"{operation} {self.model_id}".rstrip() + size + attempt

    @property
    def outline(self) -> str:
        """The answer in one line: HTTP status, a summary of the answer, and the outcome."""
        said = self.summary
        if not said:
            why = self.malformed if self.refusal is None else self.refusal.rule.name
            unscripted = self.answered.error or ("not from the script" if self.status == 200 else "no reply")
            said = unscripted if why is None else f"refused: {why}"
        return f"{self.status or 'no HTTP answer'}  {said}  ({self.outcome})"

    def __repr__(self) -> str:
        return mask(f"<Call {self.number}: {self.asked} -> {' '.join(self.outline.split())}>")

    def _repr_html_(self) -> str:
        """Return HTML for a notebook, with secrets masked: the whole request, and the answer with its times."""
        return self.answered.html(self)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    @cached_property
    def _conversation(self) -> Mapping[str, Any]:
        if self.operation == "CountTokens":
            return object_of(member_of(self.params, "input", "converse"))
        return self.params if self.operation in SCRIPTED else {}

    @property
    def _tool_config(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._conversation.get("toolConfig") or {})
