"""The class Endpoint answers each request from a script, or with the error that Bedrock would send. It does no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, Unpack, cast

from converse_harness import bedrock
from converse_harness.bedrock.models import stands_for
from converse_harness.bedrock.request_items import RequestItems, RequestReader
from converse_harness.bedrock.rules import Refusal
from converse_harness.endpoint import failure_texts, operations
from converse_harness.endpoint.call import SCRIPTED, Call, CallOutcome, NotesOfCall
from converse_harness.endpoint.condition import NAMED, check_answer, in_short
from converse_harness.endpoint.occasion import Occasion
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.outputs import answer_of, own_response
from converse_harness.endpoint.own_answers.control_plane import ANSWERS
from converse_harness.endpoint.own_answers.unknown_paths import gets_no_answer, no_answer
from converse_harness.endpoint.render import Renderer, error_json
from converse_harness.endpoint.script import Replies, Responder, Script, Slot, each_reply
from converse_harness.endpoint.stage import Exchange, Source, Stage, StageHooks
from converse_harness.endpoint.stages import STAGES
from converse_harness.endpoint.usage import count_tokens
from converse_harness.errors import (
    CallError,
    ConverseHarnessError,
    DamagedData,
    RefusedRequest,
    ReplyError,
    UnusedReplies,
)
from converse_harness.faults.model import Transport
from converse_harness.left_behind import LEFT_BEHIND
from converse_harness.notes import Note
from converse_harness.reply.body import ErrorBody, OutputBody
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask, mask_headers
from converse_harness.settings import (
    DEFAULTS,
    OF_ENDPOINT,
    EndpointSettings,
    HistoryLevel,
    RuleLevel,
    check_settings,
    rule_levels,
    shows_settings,
    unknown_name,
)
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.events import encode_event
from converse_harness.stream.http import Chunk, HttpResponse, Request, error_response, json_response, stream_response

_S = TypeVar("_S", bound=Stage)
_T = TypeVar("_T")

AskedOperation = tuple[str | None, Mapping[str, str], str]
"""The operation of a request (None if it is not known), the parameters in its path, and its service."""

MakeStage = Callable[["Endpoint"], Stage]
"""A class of stages, or a function that makes a stage for one Endpoint."""

_GATEWAY_STATUS: Final = {"SerializationException": 400, "UnknownOperationException": 404}
"""The HTTP statuses of two errors that are missing in the model of its API that AWS publishes.

The second one is the fake's own error, for an operation of Bedrock that it cannot answer.
"""


_INTERRUPTING: Final = frozenset({"asyncio", "converse_harness", "eventlet", "gevent", "greenlet", "trio"})
"""The packages whose exceptions interrupt a function from outside, although they are no subclasses of Exception.

Those of this package end a test that runs again.
"""


def _call_all(
    methods: Iterable[Callable[[Call], None]], call: Call, problems: list[ConverseHarnessError | Exception]
) -> None:
    """Call all these methods. Their errors fail the test, and not the client, which has or gets its answer."""
    for each in methods:
        try:
            each(call)
        except Exception as error:  # noqa: BLE001 - any error of a stage
            problems.append(error)


@dataclass(frozen=True, slots=True)
class AnsweredExchange(Exchange):
    """A call that the fake answers.

    `on_ended` are the methods `ended` of the stages. Their errors join `problems`, those of the Endpoint.
    """

    call: Call
    response: HttpResponse
    taken: SentChunks
    on_ended: tuple[Callable[[Call], None], ...]
    problems: list[ConverseHarnessError | Exception]
    captured: None = field(default=None, init=False)
    """Always None, which means that the call is not forwarded to a real service."""

    def ended(self, outcome: CallOutcome) -> None:
        """Store the outcome of the answer in the call, and call `on_ended`; if an outcome is stored, do nothing."""
        if self.call.answered.end(outcome):
            _call_all(self.on_ended, self.call, self.problems)
            self.call.release()


@shows_settings(EndpointSettings)
class Endpoint:
    """Answers requests from a script, and keeps the calls: all of them, or only the last ones.

    Ids and padding lengths are hashes of `seed` and other values. `transport` names the transport in use; a reply with
    a fault that this transport cannot express raises ReplyError. `problems` contains the errors that must fail the test
    even if the client catches them, `notes` contains the notes about requests. An Endpoint is not
    thread-safe until it gets a `lock`, as a Fake gives it. Raises ReplyError for a wrong setting.

    >>> from converse_harness import Endpoint
    >>> from converse_harness import reply
    >>> from converse_harness.stream.http import Request
    >>> endpoint = Endpoint(reply.text("hi"))
    >>> body = b'{"messages":[{"role":"user","content":[{"text":"hello"}]}]}'
    >>> exchange = endpoint.exchange(Request("POST", "/model/amazon.nova-lite-v1%3A0/converse", (), body))
    >>> exchange.response.status, exchange.call.last_user_text
    (200, 'hello')
    """

    def __init__(
        self,
        *replies: Responder | Replies,
        transport: Transport | None = None,
        **settings: Unpack[EndpointSettings],
    ) -> None:
        check_settings(settings, of=OF_ENDPOINT)
        chosen: dict[str, Any] = {**DEFAULTS, **settings}
        self.keep_calls: int | None = chosen["keep_calls"]
        self.models: Mapping[str, str] = dict(chosen["models"] or {})
        self.received = 0
        """The number of calls so far, of every operation."""
        self.seed: int = chosen["seed"]
        self.rules: RuleLevel
        self.rules, self.single_rules = rule_levels(chosen["rules"])
        """The level of the rules, and the levels of single rules by their names."""
        self.answers: RuleLevel
        self.answers, self.single_answers = rule_levels(chosen["answers"], self.rules)
        """The level of the table FITS, and the levels of its rows by their names."""
        for name in ("rules", "answers"):
            if unknown := unknown_name(name, chosen[name]):
                raise ReplyError(f"{name}: {unknown}")
        self.history: HistoryLevel = chosen["history"]
        self.script = Script()
        self.script.add(replies)
        self.cache_minimum: int | None = chosen["cache_minimum"]
        self.calls: list[Call] = []
        self.problems: list[ConverseHarnessError | Exception] = []
        self.notes: list[Note] = []
        self.transport: Transport | None = transport
        self.lock: AbstractContextManager[object] = nullcontext()
        """The lock under which calls arrive, and under which the script changes. A Fake replaces it by a real lock."""
        self.awaits_call = False
        """Whether the test has opened this fake itself, and does not know that it got no call."""
        self.looks_at_calls = False
        """Whether the test went through the calls when there was none."""
        self.attached: tuple[MakeStage, ...] = ()
        """What made the stages that came by `attach`."""
        self._built_in: list[Stage] = [make(self) for make in STAGES]
        self._attached: dict[MakeStage, Stage] = {}
        self._added: list[Stage] = []
        self._on = StageHooks(self._built_in)
        self._renderer = Renderer()
        self._reader = RequestReader()
        self.check(*replies)

    def exchange(self, request: Request, *, operation: str | None = None, service: str | None = None) -> Exchange:
        """Answer one request. This method is the life of a call, and asks the stages in turn.

        Give `service` if the transport knows the Bedrock service that the client asks, and then also `operation` if it
        knows the operation. Otherwise both are found by the request.
        """
        on = self._on
        with self.lock:  # one call after the other; of the user's code, only conditions and match functions run here
            call = self.receive(request, operation=operation, service=service)
            try:
                for received in on.received:
                    received(call)
                refusal = _first(on.refusal, call)
                sources: Iterable[Source] = on.source if refusal is None else on.source_of_refused
                source = _first(sources, call)
            except Exception as error:  # noqa: BLE001 - an error of a condition or match function must fail the test
                return self.fail(call, error)
            except BaseException as error:
                self._ended_by(error)
                raise
        try:  # several calls at once, because a function of the user may make the reply
            answer = self._scripted(call, source) if isinstance(source, Slot) else None
            reply = self._reply(call, answer, refusal) if answer is not None else None
            for accepted in on.accepted:
                accepted(call, reply)
            if isinstance(source, Exchange):
                return source
            if reply is not None and isinstance(source, Slot):
                call.answered.reply = reply
                response = self._renderer.render(reply, Occasion(self.seed, source.place, call, on.usage))
                for sending in on.sending:
                    response = sending(call, reply, response)
            else:
                response = self._without_reply(call, refusal)
        except Exception as error:  # noqa: BLE001 - what a scripted function raises must fail the test
            return self.fail(call, error, source)
        except BaseException as error:
            self._ended_by(error)
            raise
        return self._answered(call, response)

    def receive(self, request: Request, *, operation: str | None = None, service: str | None = None) -> Call:
        """Parse a request, append the resulting Call to `calls`, and return it."""
        is_usual = service is None or service == bedrock.SERVICE
        found = operations.find(request.method, request.target, bedrock.SERVICE) if is_usual else None
        name, path_params, of = found or self._in_other_service(request, operation, service)
        items = self._reader.read(name, request.body) if name in SCRIPTED else None
        malformed = None
        if items is None:
            body, malformed = _parse(name, of, request.body)
            items = RequestItems.of(body, request.body)
        head = Request(request.method, request.target, mask_headers(request.headers), b"")
        self.received += 1
        model = path_params.get("modelId", "")
        if self.models:
            model = stands_for(self.models, model)
        call = Call(self.received, name, head, path_params, items, malformed, model, of)
        if self.keep_calls is not None and len(self.calls) == self.keep_calls:
            _call_all(self._on.forgotten, self.calls.pop(0), self.problems)
        self.calls.append(call)
        return call

    def _in_other_service(self, request: Request, operation: str | None, service: str | None) -> AskedOperation:
        """Return the operation of a request whose path is none of Bedrock Runtime's. A known service counts."""
        if service is None:
            return operations.any_route(request, self.script.named) or (operation, {}, bedrock.SERVICE)
        known = service != bedrock.SERVICE and service in bedrock.services()
        found = operations.find(request.method, request.target, service, operation) if known else None
        return found or (operation, {}, service)

    def fail(self, call: Call, error: Exception, source: Slot | Exchange | None = None) -> AnsweredExchange:
        """Answer with an HTTP error, because a function of the user raised `error`; add `error` to `problems`.

        If the function is in the Slot `source`, a note about it is added to the error.
        """
        if isinstance(source, Slot):
            source.blame(error, call)
        self.problems.append(error)
        call.answered.error = in_short(error, call)
        return self._answered(call, self._error(call, call.answered.error))

    def _ended_by(self, error: BaseException) -> None:
        """Add a problem if a function of the user ends the test, as pytest.fail does: its client may catch that.

        An interrupt from outside, such as Ctrl-C or a timeout of gevent, is not the function's.
        """
        outside = type(error).__module__.partition(".")[0] in _INTERRUPTING
        if not outside and not isinstance(error, KeyboardInterrupt | GeneratorExit):
            problem = CallError(LEFT_BEHIND["function_ended"].told(kind=type(error).__name__, error=error))
            problem.__cause__ = error
            self.problems.append(problem)

    def note(self, call: Call, note: Note) -> None:
        """Add a note about a call."""
        notes = call.of(NotesOfCall)
        if notes is None:
            call.keep(NotesOfCall, notes := NotesOfCall())
        notes.append(note)
        self.notes.append(note)

    def wants(self, call: Call, refusal: Refusal) -> bool:
        """Whether the test expects the refusal of a call, so that it is no problem."""
        wanted = [wanted(call, refusal) for wanted in self._on.wanted]
        return any(wanted)  # every stage was asked

    def leftovers(self, *, unused: bool = True) -> list[Exception | Note]:
        """Return the errors about what the test has prepared and not used, and what else stages add at the end.

        Without `unused`, and if a stage is lenient, errors of the class UnusedReplies are left out.
        """
        stages = self.stages
        allowed = not unused or any(stage.lenient for stage in stages)
        asked = [stage for stage in stages if not (allowed and stage.leaves_only_unused)]
        left = [each for stage in asked for each in stage.leftovers()]
        lines = [each for each in left if isinstance(each, str)]
        others = [each for each in left if not isinstance(each, str)]
        if allowed:
            return [each for each in others if not isinstance(each, UnusedReplies)]
        return [UnusedReplies(mask("\n".join(lines))), *others] if lines else others

    @property
    def stages(self) -> list[Stage]:
        """The stages, in the order in which their methods are called: the built-in ones, the attached, the added."""
        return [*self._built_in, *self._attached.values(), *self._added]

    def stage(self, kind: type[_S]) -> _S:
        """Return the stage of this class. Raises LookupError if there is none."""
        for stage in self.stages:
            if isinstance(stage, kind):
                return stage
        raise LookupError(f"the endpoint has no stage {kind.__name__}")

    def add(self, make: Callable[[Endpoint], _S]) -> _S:
        """Make a stage for this Endpoint, append it to `stages`, and return it."""
        with self.lock:
            stage = make(self)
            self._added.append(stage)
            self._on = StageHooks(self.stages)
        return stage

    def remove(self, stage: Stage) -> None:
        """Remove a stage that was added."""
        with self.lock:
            self._added.remove(stage)
            self._on = StageHooks(self.stages)

    def attach(self, makes: tuple[MakeStage, ...]) -> None:
        """Have the stages that these classes or functions make, and no other attached stages.

        A stage that is already attached is kept. The caller holds the lock.
        """
        self._attached = {make: self._attached[make] if make in self._attached else make(self) for make in makes}
        self._on = StageHooks(self.stages)
        self.attached = makes  # last, because other threads read it without the lock, and go on if it is `makes`

    @property
    def runs_functions(self) -> bool:
        """Whether answering a call may run a function of the user."""
        return self.script.runs_functions

    def level_of(self, rule: str) -> RuleLevel:
        """Return the level at which a rule is applied, by the rule's name."""
        return self.single_rules.get(rule, self.rules)

    def _request_id(self, call: Call) -> str:
        """Return the request id for an answer that does not come from the script."""
        return Occasion(self.seed, "", call).request_id

    def _error(self, call: Call, message: str, error: str = "ValidationException") -> HttpResponse:
        status = _GATEWAY_STATUS.get(error) or bedrock.all_errors()[error].status
        return error_response(error, status, error_json(error, {"message": message}), self._request_id(call))

    def _answered(self, call: Call, response: HttpResponse) -> AnsweredExchange:
        call.answered.status = response.status
        return AnsweredExchange(call, response, call.answered.taken, self._on.ended, self.problems)

    def _refused(self, call: Call, refusal: Refusal) -> HttpResponse:
        """Answer as Bedrock refuses a call. The refusal is a problem unless the test expects it."""
        if not self.wants(call, refusal):
            if call.operation in SCRIPTED:
                problem = failure_texts.refused_request(call, refusal)
                call.keep(RefusedRequest, problem)
                self.problems.append(problem)
            else:  # a client that counts tokens can count by itself, and goes on
                self.note(call, Note(refusal.rule.name, failure_texts.noted_request(call, refusal), call.number))
        if refusal.rule.framed and call.operation == "ConverseStream":
            event = {"validationException": {"message": refusal.message}}
            return stream_response([Chunk(encode_event(event), 0.0, event)], self._request_id(call))
        return self._error(call, refusal.message, refusal.rule.error)

    def _scripted(self, call: Call, slot: Slot) -> Reply:
        """Return the reply in a slot, or the one that the function in the slot returns."""
        call.answered.line = slot.line
        responder = slot.responder
        result = responder(call) if callable(responder) else responder
        if call.operation is not None and call.operation not in SCRIPTED:
            return answer_of(NamedOperation(call.service, call.operation), result)
        if isinstance(result, Reply):
            return result
        raise ReplyError(
            f"{slot.summary} returned {result!r}; it must return a Reply, made by reply.text(...) or its like."
        )

    def _reply(self, call: Call, reply: Reply, refusal: Refusal | None) -> Reply:
        """Return the reply to send in place of the script's. Raises ReplyError if it cannot be sent."""
        if refusal is not None and isinstance(reply.plan.body, ErrorBody):
            # The message that Bedrock has sent takes the place of the one that the rule predicts.
            self.wants(call, refusal._replace(message=str(reply.plan.body.members.get("message", ""))))
        for instead in self._on.instead:
            if not isinstance(reply.plan.body, OutputBody):
                reply = instead(call, reply)
        reply.plan.check_sendable(self.transport)
        check_answer(call.operation, reply)
        return reply

    def _without_reply(self, call: Call, refusal: Refusal | None) -> HttpResponse:
        """Answer a call for which no stage has a reply: with the fake's own answer, or with an error."""
        if refusal is not None:
            return self._refused(call, refusal)
        if call.malformed is not None:
            self.problems.append(failure_texts.malformed_request(call))
            return self._error(call, call.malformed, "SerializationException")
        with self.lock:  # another call may take the reply that is looked at
            ran_out = self.script.ran_out(call)
        own = None if ran_out else self._own_answer(call)
        if own is not None:
            return own
        recorded = any(queue.answers(call) for queue in self.script.recordings)
        if recorded or call.operation in SCRIPTED or self.script.for_operation(call):
            error, problem = "ValidationException", failure_texts.unexpected_call(self.script, call)
        else:
            error, problem = "UnknownOperationException", failure_texts.unknown_operation(self.script, call)
            if gets_no_answer(call):
                self.problems.append(problem)
                return no_answer(call, self._request_id(call))
        self.problems.append(problem)
        return self._error(call, str(problem).partition("\n")[0], error)

    def _own_answer(self, call: Call) -> HttpResponse | None:
        """Return the answer that the fake computes without a script; None if it cannot answer this call."""
        if call.operation == "CountTokens":
            return json_response(json.dumps({"inputTokens": count_tokens(call)}).encode(), self._request_id(call))
        if call.operation == operations.OPERATION:
            return json_response(operations.applied(None, call).encode(), self._request_id(call))
        answer = ANSWERS.get(call.operation or "") if call.service == bedrock.CONTROL_PLANE else None
        known = None if answer is None else answer(call, self.models)
        return None if known is None else own_response(known, self._request_id(call))

    def check(self, *responders: object) -> None:
        """Raise ReplyError if the transport cannot send one of the replies in `responders`. Ignore functions."""
        for responder in each_reply(responders):
            if isinstance(responder, Reply):
                responder.plan.check_sendable(self.transport)


def _first(ask: Iterable[Callable[[Call], _T]], call: Call) -> _T | None:
    """Return the first result of these methods that is not None; the others are not called."""
    for each in ask:
        if (found := each(call)) is not None:
            return found
    return None


def _parse(operation: str | None, service: str, body: bytes) -> tuple[Mapping[str, Any], str | None]:
    """Return the JSON object in the body of a request, and None. For an invalid body, return {} and an error text.

    The error is Bedrock's SerializationException. Its text is invented, because no recording contains this error. A
    body that AWS's API model does not describe may be anything; it counts as {} if it is no JSON object.
    """
    scripted = operation is not None and _is_described(operation, service)
    try:
        parsed: Any = json.loads(body, parse_constant=_no_number if scripted else None) if body else {}
    except (ValueError, RecursionError) as error:
        return {}, f"The request body is not JSON: {error}" if scripted else None
    if not isinstance(parsed, dict):
        name = type(parsed).__name__
        return {}, f"The request body is a JSON {name}; it must be an object." if scripted else None
    members = cast("dict[str, Any]", parsed)
    if operation is None or not scripted or operation not in bedrock.operations(service):
        return members, None
    try:
        return bedrock.read_json(_body_shape(operation, service).name, members, of=service), None
    except DamagedData as error:
        return {}, str(error)


def _is_described(operation: str, service: str) -> bool:
    """Whether AWS's API model describes the JSON in the body of an operation's requests."""
    if operation in SCRIPTED or operation in NAMED:
        return True
    return operation in bedrock.operations(service) and _body_shape(operation, service).type_name == "structure"


def _body_shape(operation: str, service: str) -> bedrock.Shape:
    """Return the shape of an operation's body: that of its input, or of the member that is the whole body."""
    shape = bedrock.operation(operation, service).input_shape
    payload = shape.serialization.get("payload")
    return shape if payload is None else shape.members[payload]


def _no_number(name: str) -> object:
    """Reject `NaN` and `Infinity`, which Python's JSON parser accepts."""
    raise ValueError(f"{name} is no number of JSON")
