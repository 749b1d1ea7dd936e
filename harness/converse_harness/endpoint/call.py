"""Call: one HTTP request, its answer, and the outcome of the answer. Each retry of a client is a separate Call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, SupportsIndex, TypeVar, cast, overload
from weakref import ref

from converse_harness import bedrock
from converse_harness.bedrock.api import rest
from converse_harness.bedrock.request_items import RequestItems
from converse_harness.bedrock.rules import Refusal
from converse_harness.bedrock.rules.request import conversation_in
from converse_harness.errors import Argument, ReplyError, StreamOrderError, quoted_whole
from converse_harness.features import with_methods_of_features
from converse_harness.json_values import member_of, object_of
from converse_harness.notes import Note
from converse_harness.reply.body import OutputBody, summarize_block
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.delivery import SentChunks, SentEvent
from converse_harness.stream.http import Chunk, Request
from converse_harness.user_lines import UserLine
from converse_harness.words import counted, nearest, one_line

SCRIPTED: Final = ("Converse", "ConverseStream")
"""The operations that a reply answers unless the script names an operation."""

INVOKING: Final = ("InvokeModel", "InvokeModelWithResponseStream")
"""The operations whose body is that of a model, which AWS's API model does not describe."""

CONVERSATIONS: Final = (*SCRIPTED, "CountTokens")
"""The operations whose request contains a conversation. In other requests, `messages` may have another meaning."""

_T = TypeVar("_T")

_ROLE: Final = methodcaller("get", "role")
_VALUE: Final = attrgetter("value")

CallOutcome = Literal["still running", "complete", "closed by client", "cut"]
"""The outcome of an answer. It is "complete" if the client took all bytes that the fake sends, also those of an error.

A "cut" answer ends early, for example because of a fault or a stopped server.
"""


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


@dataclass(slots=True)
class Answered:
    """The answer to a Call. The Endpoint and the transport set its fields while the answer is made and sent."""

    status: int = 0
    reply: Reply | None = None
    """The reply that the script gave; None if the answer does not come from the script."""
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

    def end(self, outcome: CallOutcome) -> bool:
        """Store the outcome of the answer, and return True. If an outcome is already stored, return False."""
        # No function is called between these two lines, so that no other thread and no finalizer runs there.
        if self.outcome != "still running":
            return False
        self.outcome = outcome
        return True


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


class ForwardedAnswer:
    """The answer of a real service to a forwarded call. `Call.of` returns None if the fake answered the call itself."""

    __slots__ = ()

    def so_far(self) -> ForwardedCall:
        """Return the part of the answer that the client has received."""
        raise NotImplementedError


class ParentOfCall:
    """The parent of a call, as the stage that compares histories has found it; None if there is none.

    The reference is weak, so that a call which the fake has dropped can be freed.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: Call | None) -> None:
        self._parent = None if parent is None else ref(parent)

    @property
    def parent(self) -> Call | None:
        """The parent; None if there is none, or if the fake has dropped it."""
        return None if self._parent is None else self._parent()


class CacheOfCall:
    """The use of the prompt cache by a call. The stage of the prompt cache stores it."""

    __slots__ = ()

    def used(self, call: Call) -> CacheUse:
        """Return the tokens that the call read and wrote."""
        raise NotImplementedError

    def lines(self, call: Call) -> list[str]:
        """Return the lines about the cache in the transcript of the call."""
        raise NotImplementedError


class FitOfCall:
    """Whether the answer to a call fits its request. The stage that compares them stores it."""

    __slots__ = ()

    sends_trace: bool = True
    """False if the answer has a guardrail's trace that the request does not ask for, so that it is not sent."""

    def used(self, call: Call) -> list[str]:
        """Return the paths of the members of the request that the answer uses, such as `toolConfig.tools`."""
        raise NotImplementedError


class _Params(NamedTuple):
    """The `params` of a call that still runs."""

    params: dict[str, Any]


class NotesOfCall(list[Note]):
    """The notes about a call, in the order in which they were made."""


if TYPE_CHECKING:  # the members that features add; at run time they are there if the feature is
    from converse_harness.features.outline.names import OutlineOfCall
else:
    OutlineOfCall = object


@with_methods_of_features
@dataclass(frozen=True, eq=False, repr=False)
class Call(OutlineOfCall):
    """One request to the fake, parsed. `number` is its position among the calls of all operations, counted from 1.

    `operation` is the AWS operation's name (None if Bedrock has no operation at this path). `service` is the Bedrock
    service that has it, such as "bedrock-agent-runtime". `head` is the HTTP request
    without its body, with secrets masked. `items` are the messages and the other members of the body, which calls of a
    conversation share. If the body is not valid, there are no items, and `malformed` is the reason. `model_id` is
    percent-decoded. `params` are the keyword arguments of the boto3 call, with blobs as bytes. `stands_for` is the id
    of the model that the setting `models` assigns to the model id, otherwise the model id itself. The fields about the
    answer are filled in while the answer is sent.

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
    head: Request
    path_params: Mapping[str, str]
    items: RequestItems
    malformed: str | None = None
    stands_for: str = ""
    service: str = bedrock.SERVICE
    answered: Answered = field(default_factory=Answered)
    _known: dict[type, Any] = field(default_factory=dict[type, Any], init=False)

    def of(self, kind: type[_T]) -> _T | None:
        """Return what a stage has stored of this call as a value of this class; None if there is no such value."""
        known: _T | None = self._known.get(kind)
        return known

    def keep(self, kind: type[_T], value: _T) -> None:
        """Store what a stage knows of this call. `of(kind)` returns it; an earlier value of this class is replaced."""
        self._known[kind] = value

    @property
    def model_id(self) -> str:
        """The percent-decoded model id, inference profile id or ARN; empty if the operation has no model id."""
        return self.path_params.get("modelId", "")

    @property
    def request(self) -> Request:
        """The HTTP request, with secrets masked."""
        return replace(self.head, body=self.raw)

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON of the request without nulls; empty if it is not valid. Calls share its parts: do not change it."""
        return self.items.body

    @cached_property
    def attempt(self) -> int:
        """The number of this attempt of the client, as in the header `amz-sdk-request`; 1 for the first attempt."""
        for name, value in self.head.headers:  # `self.headers` would stay in memory for each call
            if name.lower() == "amz-sdk-request" and (found := re.search(r"attempt=(\d+)", value)):
                return int(found[1])
        return 1

    @property
    def params(self) -> dict[str, Any]:
        """The keyword arguments of the boto3 call, in the form in which a mock of the client would get them.

        AWS's API model does not describe the body of InvokeModel and InvokeModelWithResponseStream. For these,
        `params` contains the arguments in the path and the members of the JSON body.
        """
        known = self.of(_Params)
        params = self._made_params() if known is None else known.params
        if known is None and self.outcome == "still running":  # many conditions may ask
            self.keep(_Params, _Params(params))
        return params

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
        return "\n".join(block["text"] for block in self._json.get("system", ()) if "text" in block)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the model may use, in the API's form."""
        config: Mapping[str, Any] = self._conversation.get("toolConfig") or {}
        return cast("list[dict[str, Any]]", config.get("tools", []))

    @cached_property
    def tool_names(self) -> list[str]:
        """The names of the tools that the model may use, in the order of the request."""
        config: Mapping[str, Any] = self._json.get("toolConfig") or {}
        return [tool["toolSpec"]["name"] for tool in config.get("tools", ()) if "name" in tool.get("toolSpec", ())]

    @property
    def tool_choice(self) -> dict[str, Any] | None:
        """The toolChoice of the request; None if the request has none."""
        config: Mapping[str, Any] = self._conversation.get("toolConfig") or {}
        return config.get("toolChoice")

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """The ToolResultBlocks of the last message."""
        messages = self._json_messages
        last: Mapping[str, Any] = bedrock.from_json("Message", messages[-1]) if messages else {}
        return [block["toolResult"] for block in last.get("content", ()) if "toolResult" in block]

    @cached_property
    def last_user_text(self) -> str:
        """The text of the last user message that has text, one block per line; empty if there is none."""
        for message in reversed(self._json_messages):
            texts = [block["text"] for block in message.get("content", ()) if "text" in block]
            if message.get("role") == "user" and texts:
                return "\n".join(texts)
        return ""

    @cached_property
    def turn(self) -> int:
        """The number of the requested answer in its conversation: 1 plus the number of answers in the messages."""
        return 1 + [*map(_ROLE, self._json_messages)].count("assistant")

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
        return self.items.raw

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The request headers by lower-case name; secrets are masked."""
        return {name.lower(): value for name, value in self.head.headers}

    @property
    def status(self) -> int:
        """The HTTP status of the answer; 0 for a connection failure."""
        forwarded = self.of(ForwardedAnswer)
        return self.answered.status if forwarded is None else forwarded.so_far().status

    @property
    def reply(self) -> Reply | None:
        """The Reply that answered the call; None if no Reply answered, or if the answer is that of `on_operation`."""
        reply = self.answered.reply
        return None if reply is None or isinstance(reply.plan.body, OutputBody) else reply

    @property
    def refusal(self) -> Refusal | None:
        """The refusal that Bedrock would send; None if the request breaks no rule, or if no rule was checked."""
        return self.of(Refusal)

    @property
    def notes(self) -> Sequence[Note]:
        """The notes about the call, for example that Bedrock may refuse it, or that it changes an earlier answer."""
        return tuple(self.of(NotesOfCall) or ())

    @property
    def cache(self) -> CacheUse:
        """The tokens that the call read from the prompt cache and wrote to it.

        For a recorded answer, these are the numbers in its usage.
        """
        known = self.of(CacheOfCall)
        return CacheUse() if known is None else known.used(self)

    @property
    def parent(self) -> Call | None:
        """The call that this call continues; None for the first call of a conversation.

        The last answer of this fake in the messages of this call is the answer to the parent. The value is also None if
        the fake has dropped the parent.
        """
        known = self.of(ParentOfCall)
        return None if known is None else known.parent

    @property
    def summary(self) -> str:
        """The answer in a few words; empty if there was no answer."""
        forwarded = self.of(ForwardedAnswer)
        if forwarded is not None:
            return forwarded.so_far().summary
        return self.answered.reply.summary if self.answered.reply is not None else ""

    @property
    def events(self) -> Sequence[SentEvent]:
        """The stream events that the client has received, each with its time."""
        forwarded = self.of(ForwardedAnswer)
        if forwarded is None:
            return (*self.answered.taken.events,)
        events = ((event, at) for chunk, at in forwarded.so_far().taken for event in (chunk.event, *chunk.more))
        return tuple(SentEvent(event, at) for event, at in events if event)

    @property
    def outcome(self) -> CallOutcome:
        """The outcome of the answer: "still running", "complete", "closed by client" or "cut".

        It is "complete" if the client took all bytes that the fake sends, even those of an error or a damaged answer.
        """
        return self.answered.outcome

    @property
    def response(self) -> Response | None:
        """The whole answer, assembled; None after an error, and if the answer is incomplete or in a wrong order."""
        forwarded = self.of(ForwardedAnswer)
        response = (None if forwarded is None else forwarded.so_far().response) or self.answered.response
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
        messages = self._json_messages
        last: Mapping[str, Any] = bedrock.from_json("Message", messages[-1]) if messages else {}
        content = [summarize_block(block) for block in last.get("content", ())]
        count = len(messages)
        size = f", {counted(count, 'message')}, last: {' + '.join(content)}" if last else ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        operation = self.operation or f"{self.head.method} {self.head.target}"
        return f"{operation} {self.model_id}".rstrip() + size + attempt

    def __str__(self) -> str:
        """Return the answer in one line: HTTP status, a summary of the answer, and the outcome."""
        said = self.summary
        if not said:
            why = self.malformed if self.refusal is None else self.refusal.rule.name
            unscripted = self.answered.error or ("not from the script" if self.status == 200 else "no reply")
            said = unscripted if why is None else f"refused: {why}"
        return f"{self.status or 'no HTTP answer'}  {said}  ({self.outcome})"

    def __repr__(self) -> str:
        return mask(f"<Call {self.number}: {self.asked} -> {one_line(str(self))}>")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def release(self) -> None:
        """Drop what is needed only until the answer has ended. What is asked for later is made again."""
        self._known.pop(_Params, None)
        self.items.release()

    def _made_params(self) -> dict[str, Any]:
        if self.operation is None or self.operation in INVOKING:
            return {**self.path_params, **self.body}
        described = bedrock.operation(self.operation, self.service)
        if self.operation in CONVERSATIONS:
            return {**self.path_params, **bedrock.from_json(described.input_shape.name, self.body)}
        return rest.params_of(
            described,
            self.service,
            path=self.path_params,
            target=self.head.target,
            headers=self.headers,
            raw=self.raw,
            body=self.body,
        )

    @property
    def _conversation(self) -> Mapping[str, Any]:
        if self.operation == "CountTokens":
            return object_of(member_of(self.params, "input", "converse"))
        return self.params if self.operation in SCRIPTED else {}

    @property
    def _json(self) -> Mapping[str, Any]:
        """The JSON of the conversation. It is read before the first byte of every answer; `params` may be slow."""
        return _conversation_of(self)

    @property
    def _json_messages(self) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", self._json.get("messages", ()))


def _conversation_of(call: Call) -> Mapping[str, Any]:
    return conversation_in(call.operation, call.body) if call.operation in CONVERSATIONS else {}


_SHOWN: Final = 6
"""The repr shows at most this number of calls."""


class UsedTool(str):
    """A str with the name of a tool that the agent executed; it equals the plain name.

    `input` is the input that the model gave, `content` is the content of the toolResult, as blocks of the API. `failed`
    is true if the result has the status "error". `call` is the call whose request contains the result.

    >>> UsedTool("clock", {"zone": "UTC"}, {"content": [{"text": "12:00"}]}) == "clock"
    True
    """

    __slots__ = ("call", "content", "failed", "input")

    input: Any
    content: list[dict[str, Any]]
    failed: bool
    call: Call | None

    def __new__(cls, name: str, input: Any, result: Mapping[str, Any], call: Call | None = None) -> UsedTool:
        """Create a str with the tool's name, and with the input and the toolResult as attributes."""
        made = super().__new__(cls, name)
        made.input, made.content, made.call = input, list(result.get("content", ())), call
        made.failed = result.get("status") == "error"
        return made


def check_service(function: str, service: object) -> None:
    """Raise ReplyError unless the argument `service` of a function is a Bedrock service in botocore."""
    if service not in bedrock.services():
        close = nearest(service, bedrock.services()) if isinstance(service, str) else None
        raise ReplyError(
            Argument(function, "service", value=quoted_whole(service)),
            f": it must be one of the services of Bedrock in botocore {bedrock.botocore_version()}:"
            f"{f' did you mean {close!r}? All:' if close else ''} {', '.join(bedrock.services())}.",
        )


class Calls(Sequence[Call]):
    """The calls that asked a model for an answer, those of Converse and ConverseStream, in the order of their arrival.

    Each retry is a separate Call. `all` contains the calls of every operation, `of("CountTokens")` the calls of one
    operation. A slice is also a Calls. Two Calls, or a Calls and a list, are equal if they contain the same calls. A
    Calls does not grow: `fake.calls` returns a new one.

    >>> from converse_harness import fake_converse
    >>> with fake_converse() as fake:
    ...     fake.calls
    <no calls>
    """

    __slots__ = ("_calls", "_every", "_of")
    __hash__ = None  # type: ignore[assignment]  # a Calls equals a list, and no list has a hash

    def __init__(
        self, every: Iterable[Call] = (), *, only: Sequence[str] | None = SCRIPTED, service: str | None = None
    ) -> None:
        self._every = tuple(every)
        self._of = only[0] if only is not None and only is not SCRIPTED else None
        """The operation of these calls if the method `of` made this object; otherwise None."""
        self._calls = self._every if only is None else tuple([call for call in self._every if call.operation in only])
        if service is not None:
            self._calls = tuple([call for call in self._calls if call.service == service])

    @property
    def all(self) -> Calls:
        """The calls of every operation, also of CountTokens, ApplyGuardrail, InvokeModel and the control plane.

        `Call.number` is the call's position among them, counted from 1.
        """
        return Calls(self._every, only=None)

    def of(self, operation: str, *, service: str | None = None) -> Calls:
        """The calls of one operation, such as "CountTokens" or "Retrieve"; with `service`, those of this service.

        Raises ReplyError if Bedrock has no operation of this name, and if the service does not have it.
        """
        given = cast("object", operation)  # a test may pass a value of another type
        if service is not None:
            check_service("calls.of", service)
            having: tuple[str, ...] = (service,)
        else:
            having = bedrock.services_of(given) if isinstance(given, str) else ()
        if not any(given in bedrock.operations(each) for each in having):
            known = [name for each in having or bedrock.services() for name in bedrock.operations(each)]
            close = nearest(str(operation).replace("_", ""), known)
            hint, version = f" Did you mean {close!r}?" if close else "", bedrock.botocore_version()
            raise ReplyError(
                Argument("calls.of", "operation", value=quoted_whole(operation)),
                f": no operation of {service or 'Bedrock'} has this name in botocore {version}.{hint} It takes "
                f'the name of one operation, as "ConverseStream" or "CountTokens".{self._came()}',
            )
        return Calls(self._every, only=(operation,), service=service)

    @property
    def last(self) -> Call:
        """The newest of these calls. Raises IndexError if there is none."""
        if not self._calls:
            raise IndexError(f"{self._name}.last: {self._none()}")
        return self._calls[-1]

    @property
    def tools_used(self) -> list[UsedTool]:
        """The tools that the agent executed, in order: the tool uses whose results are in requests.

        An item equals the tool's name, and has `input`, `content`, `failed` and `call`. A result counts once, however
        often requests repeat it. An error result for a tool that the request does not offer is left out, because no
        such tool was executed.
        """
        return [*_executed(self._calls)]

    @property
    def _name(self) -> str:
        return "calls" if self._of is None else f"calls.of({self._of!r})"

    def _none(self) -> str:
        if not self._every:
            return "no call reached the fake. Look at what the code under test asks, and whether the fake is open."
        gone = " Earlier ones were let go (keep_calls)." if self._every[0].number > 1 else ""
        if self._of is not None:
            return f"no {self._of} call arrived.{self._came()}{gone}"
        return f"none of the calls asked a model for an answer.{self._came()}{gone} Look at calls.all."

    def _came(self) -> str:
        counts = Counter(call.operation or f"{call.head.method} {call.head.target}" for call in self._every)
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        return f" Calls so far: {listed}." if counts else ""

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Calls: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Call | Calls:
        if isinstance(index, slice):
            return Calls(self._calls[index], only=None)
        try:
            return self._calls[index]
        except IndexError:
            count = len(self._calls)
            last = f"{self._name}[{count - 1}]"
            there = f"there is 1 call: {last}." if count == 1 else f"there are {count} calls, the last is {last}."
            raise IndexError(f"{self._name}[{index}]: {there if count else self._none()}") from None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Calls):
            return self._calls == other._calls
        return [*self._calls] == [*other] if isinstance(other, list | tuple) else NotImplemented

    def __repr__(self) -> str:
        own = {call.number for call in self._calls}
        rest = Counter(call.operation or "an unknown path" for call in self._every if call.number not in own)
        beside = f" (and {', '.join(f'{count} of {name}' for name, count in rest.items())} in .all)" if rest else ""
        if not self._calls:
            return f"<no calls{beside}>"
        shown = self._calls[-_SHOWN:]
        lines = [f"\n  {call!r}" for call in shown]
        if len(shown) < len(self._calls):
            lines.insert(0, f"\n  {len(self._calls) - len(shown)} more before these")
        return f"<{counted(len(self._calls), 'call')}{beside}:{''.join(lines)}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


def _executed(calls: Iterable[Call]) -> Iterator[UsedTool]:
    """Yield each tool use whose result is in a request.

    Requests repeat results, and two conversations may contain the same toolUseId. Therefore a toolUseId counts at most
    as often as the fake has sent it. A toolUseId that the fake has never sent was written by the test, and counts once.
    """
    sent: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for call in calls:
        uses, results = _latest(call)
        for use in uses:
            use_id, name = str(use.get("toolUseId")), str(use.get("name"))
            result = results.get(use_id)
            if result is None or counted[use_id] >= max(1, sent[use_id]):
                continue
            if result.get("status") != "error" or name in call.tool_names:
                counted[use_id] += 1
                is_plain = all("text" in block or "json" in block for block in result.get("content", ()))
                given = result if is_plain else bedrock.from_json("ToolResultBlock", result)  # files are bytes there
                yield UsedTool(name, use.get("input"), given, call)
        content = call.response.message["content"] if call.response else ()
        for block in content:
            if "toolUse" in block:
                sent[block["toolUse"]["toolUseId"]] += 1


def _latest(call: Call) -> tuple[list[Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """Return the tool uses of the last answer in the messages, and the results after this answer, by toolUseId.

    They are as JSON. A long conversation is not converted, and only its end is read.
    """
    items = reversed(call.items.messages)
    backwards = (
        map(_VALUE, items) if call.operation in SCRIPTED else reversed(_conversation_of(call).get("messages", ()))
    )
    after: list[Mapping[str, Any]] = []
    uses: list[Mapping[str, Any]] = []
    for message in backwards:
        content = message.get("content", ())
        if message.get("role") == "assistant":
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            break
        after[:0] = [block["toolResult"] for block in content if "toolResult" in block]
    return uses, {str(result.get("toolUseId")): result for result in after}
