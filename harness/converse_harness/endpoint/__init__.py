"""The class Endpoint answers each request from a script, or with the error that Bedrock would send. It does no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Unpack, cast

from converse_harness import bedrock
from converse_harness.bedrock.models import stands_for
from converse_harness.bedrock.rules import Refusal, RuleRequest, notes_of, refusal_of
from converse_harness.bedrock.rules.request import conversation_in
from converse_harness.endpoint import failure_texts, operations
from converse_harness.endpoint.call import CONVERSATIONS, SCRIPTED, Call, CallOutcome
from converse_harness.endpoint.condition import NAMED, check_answer, in_short
from converse_harness.endpoint.control_plane import ANSWERS
from converse_harness.endpoint.expected_refusals.expected import RefusalBlock, is_expected
from converse_harness.endpoint.history.compare import HISTORY_CHANGES, KEEP_ANSWERS, changed_answer
from converse_harness.endpoint.history.recognise import Conversation
from converse_harness.endpoint.occasion import Occasion
from converse_harness.endpoint.outputs import output_response
from converse_harness.endpoint.prompt_cache.cache import PromptCache
from converse_harness.endpoint.prompt_cache.rewrites import cache_use
from converse_harness.endpoint.render import Renderer, error_json
from converse_harness.endpoint.replacing import Replacing
from converse_harness.endpoint.script import Replies, Responder, Script, Slot, each_reply
from converse_harness.endpoint.unknown_paths import gets_no_answer, no_answer
from converse_harness.endpoint.usage import count_tokens
from converse_harness.errors import ChangedHistory, ConverseHarnessError, DamagedData, ReplyError
from converse_harness.faults.model import Transport
from converse_harness.notes import Note
from converse_harness.reply.body import ErrorBody
from converse_harness.reply.operation_output import OperationOutput
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask_headers
from converse_harness.settings import (
    DEFAULTS,
    OF_ENDPOINT,
    EndpointSettings,
    HistoryLevel,
    RuleLevel,
    check_settings,
    shows_settings,
)
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.events import encode_event
from converse_harness.stream.http import Chunk, HttpResponse, Request, error_response, json_response, stream_response

_GATEWAY_STATUS: Final = {"SerializationException": 400, "UnknownOperationException": 404}
"""The HTTP statuses of two errors that are missing in the model of its API that AWS publishes.

The second one is the fake's own error, for an operation of Bedrock that it cannot answer.
"""

_SOCKETS: Final = ("server", "asgi")
"""The transports that send each chunk without waiting until the client has read it."""

_REPLACED: Final = "again"
"""The name (`Slot.place`) of each reply that comes from `Endpoint.replacing` and not from the script."""

_TIME_TO_LEAVE: Final = 1.0
"""Seconds that a client has to disconnect after the last chunk of a partial recording, if `transport` is in _SOCKETS.
"""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call in progress. The transport sends the `response`, and then calls the method `ended`."""

    call: Call
    response: HttpResponse
    taken: SentChunks
    """The list to which the transport appends each chunk that the client received."""
    on_ended: Callable[[Call], None] | None = None
    captured: None = field(default=None, init=False)
    """Always None, which means that the call is not forwarded to a real service."""

    def ended(self, outcome: CallOutcome) -> None:
        """Store the outcome of the answer in the call, and call `on_ended`.

        If an outcome is already stored, do nothing.
        """
        if self.call.answered.outcome == "still running":
            self.call.answered.outcome = outcome
            if self.on_ended is not None:
                self.on_ended(self.call)


@shows_settings(EndpointSettings)
class Endpoint:
    """Answers requests from a script, and keeps the calls: all of them, or only the last ones.

    Ids and padding lengths are hashes of `seed` and other values. `transport` names the transport in use; a reply with
    a fault that this transport cannot express raises ReplyError. `problems` contains the errors that must fail the test
    even if the client catches them, `notes` contains the notes about requests. An Endpoint is not thread-safe; a
    Fake locks its own. Raises ReplyError for a wrong setting.

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
        self.rules: RuleLevel = chosen["rules"]
        self.history: HistoryLevel = chosen["history"]
        self.script = Script()
        self.script.add(replies)
        self.calls: list[Call] = []
        self.conversation = Conversation(self.calls)
        self.problems: list[ConverseHarnessError | Exception] = []
        self.notes: list[Note] = []
        self.expected: list[RefusalBlock] = []
        """The `with fake.refuses(...)` blocks in which the test is now, the outermost first."""
        self.blocks: list[RefusalBlock] = []
        """All context managers that `Fake.refuses` has returned, even those that no `with` statement has entered."""
        self.asked: RuleRequest | None = None
        """The latest request that was checked against the rules."""
        self.transport: Transport | None = transport
        self.replacing: Replacing | None = None
        """The object that replaces replies while a test runs a second time; None if no replies are replaced.

        In the first run of the test, it may be an object that changes nothing and only observes the replies.
        """
        self.on_ended: Callable[[Call], None] | None = None
        """A function that gets each Call when its answer has ended. It runs in any thread, so it must not block."""
        self.check(*replies)
        self.cache = PromptCache(self.conversation.parent, chosen["cache_minimum"])
        self._renderer = Renderer(self.cache)

    def exchange(self, request: Request, *, operation: str | None = None) -> Exchange:
        """Answer one request. Give `operation` only if the path of the request does not show the operation."""
        call = self.receive(request, operation=operation)
        try:
            slot = self.choose(call)
        except Exception as error:  # noqa: BLE001 - an error of a predicate or match function must fail the test
            return self.fail(call, error)
        return self.answer(call, slot)

    def receive(self, request: Request, *, operation: str | None = None) -> Call:
        """Parse a request, append the resulting Call to `calls`, and return it."""
        found = operations.find(request.method, request.target, bedrock.SERVICE)
        if found is None and (operation is None or operation in ANSWERS):
            found = operations.control_route(request)
        name, path_params = found if found is not None else (operation, dict[str, str]())
        body, malformed = _parse(name, request.body)
        shown = Request(request.method, request.target, mask_headers(request.headers), request.body)
        self.received += 1
        model = path_params.get("modelId", "")
        if self.models:
            model = stands_for(self.models, model)
        call = Call(self.received, name, shown, path_params, body, malformed, model)
        call.answered.cache = cache_use
        if self.keep_calls is not None and len(self.calls) == self.keep_calls:
            self.conversation.forget(self.calls.pop(0))
            if not call.number % self.keep_calls:
                self.cache.forget(call.number - self.keep_calls)
        self.calls.append(call)
        return call

    def choose(self, call: Call) -> Slot | None:
        """Choose the reply to a call, and store the call's refusal and notes in `call.answered`.

        Return None if neither the script nor `replacing` has a reply. If Bedrock would refuse the call, the script
        answers it only from a recording, unless `rules` is "warn" or "off". Raises what a predicate of the user raises,
        and MatchFailed if the user's match function of a recording raises an error.
        """
        history: Sequence[Note] = ()
        if self.history != "off" and call.operation in SCRIPTED and call.turn > 1:
            call.answered.notes = history = self._changes_of_history(call)
            self.notes += history
        refusal, noted = None, list[Refusal]()
        if call.operation in CONVERSATIONS and call.malformed is None and self.rules != "off":
            body = conversation_in(call.operation, call.body)
            self.asked = asked = RuleRequest(call.operation, call.model_id, body, call.stands_for)
            refusal, noted = refusal_of(asked, self.rules), [*notes_of(asked)]
        call.answered.refusal = refusal
        if refusal is not None and self.rules == "warn":
            noted.insert(0, refusal)
        refused = refusal is not None and self.rules != "warn"
        replacing = self.replacing if call.operation in SCRIPTED else None
        again = None if replacing is None or refused else replacing.again(call)
        slot = self.script.choose(call, refused=refused) if again is None else Slot(again, _REPLACED, None)
        if replacing is not None and slot is None and (beyond := replacing.beyond(call, refused=refused)) is not None:
            slot = Slot(beyond, _REPLACED, None)
        # A call with a recorded reply gets no notes, because Bedrock accepted the recorded request.
        if noted and not (slot and isinstance(slot.responder, Reply) and slot.responder.plan.recorded):
            notes = [Note(each.rule.name, failure_texts.noted_request(call, each), call.number) for each in noted]
            call.answered.notes = [*history, *notes]
        return slot

    def _changes_of_history(self, call: Call) -> Sequence[Note]:
        """Return a note for each change that the messages of a call make to an earlier answer.

        With history="fail", add one error about all changes to `problems`, and return no notes.
        """
        changes = [*self.conversation.changes(call)]
        texts = [changed_answer(call, each) for each in changes]
        if changes and self.history == "fail":
            self.problems.append(ChangedHistory("\n\n".join(texts) + "\n\n", KEEP_ANSWERS))
            return ()
        return [
            Note(each.kind, f"{text}\n\n{KEEP_ANSWERS.python}", call.number, f"{text}\n\n{KEEP_ANSWERS.json}")
            for each, text in zip(changes, texts, strict=True)
        ]

    def answer(self, call: Call, slot: Slot | None) -> Exchange:
        """Answer a call with the reply in `slot`, or with the reply that the function in `slot` returns.

        If `slot` is None, the answer is the fake's own answer to the operation, or an error.
        """
        try:
            response = self._respond(call, slot)
        except Exception as error:  # noqa: BLE001 - what a scripted function raises must fail the test
            if slot is not None:
                slot.blame(error, call)
            return self.fail(call, error)
        call.answered.status = response.status
        return Exchange(call, response, call.answered.taken, self.on_ended)

    def fail(self, call: Call, error: Exception) -> Exchange:
        """Answer with an HTTP error, because a function of the user raised `error`; add `error` to `problems`."""
        self.problems.append(error)
        call.answered.error = in_short(error, call)
        response = self._refused(call, call.answered.error)
        call.answered.status = response.status
        return Exchange(call, response, call.answered.taken, self.on_ended)

    @property
    def runs_functions(self) -> bool:
        """Whether answering a call may run a function of the user."""
        return self.script.runs_functions

    def _request_id(self, call: Call) -> str:
        """Return the request id for an answer that does not come from the script."""
        return Occasion(self.seed, "", call).request_id

    def _refused(self, call: Call, message: str, error: str = "ValidationException") -> HttpResponse:
        status = _GATEWAY_STATUS.get(error) or bedrock.all_errors()[error].status
        return error_response(error, status, error_json(error, {"message": message}), self._request_id(call))

    def _respond(self, call: Call, slot: Slot | None) -> HttpResponse:
        if call.answered.notes:
            self.notes += [note for note in call.answered.notes if note.kind not in HISTORY_CHANGES]
        if slot is not None:
            call.answered.line = slot.line
            return self._scripted(call, slot)
        refusal = call.answered.refusal
        if refusal is not None and self.rules != "warn":
            if not is_expected(self.expected, call, refusal):
                problem = failure_texts.refused_request(call, refusal)
                if call.operation in SCRIPTED:
                    self.problems.append(problem)
                else:  # a client that counts tokens can count by itself, and goes on
                    self._note_refusal(call, refusal)
                for block in self.expected:
                    block.missed.append((call, refusal, problem))
            if refusal.rule.framed and call.operation == "ConverseStream":
                event = {"validationException": {"message": refusal.message}}
                return stream_response([Chunk(encode_event(event), 0.0, event)], self._request_id(call))
            return self._refused(call, refusal.message, refusal.rule.error)
        if call.malformed is not None:
            self.problems.append(failure_texts.malformed_request(call))
            return self._refused(call, call.malformed, "SerializationException")
        return self._by_default(call)

    def _note_refusal(self, call: Call, refusal: Refusal) -> None:
        note = Note(refusal.rule.name, failure_texts.noted_request(call, refusal), call.number)
        call.answered.notes = [note, *call.answered.notes]
        self.notes.append(note)

    def _scripted(self, call: Call, slot: Slot) -> HttpResponse:
        responder = slot.responder
        result = responder if isinstance(responder, Reply | OperationOutput) else responder(call)
        if not isinstance(result, Reply) and call.operation not in SCRIPTED:
            output = result if isinstance(result, OperationOutput) else OperationOutput(result)
            response = output_response(call.operation or "", output.members, self._request_id(call))
            call.answered.output = output
            return response
        reply: object = result
        if not isinstance(reply, Reply):
            raise ReplyError(
                f"{slot.summary} returned {result!r}; it must return a Reply, made by reply.text(...) or its like."
            )
        refusal = call.answered.refusal
        # Bedrock's recorded message takes the place of the message that the rule predicts.
        if refusal is not None and isinstance(reply.plan.body, ErrorBody):
            message = str(reply.plan.body.members.get("message", ""))
            is_expected(self.expected, call, refusal._replace(message=message))
        if self.replacing is not None and slot.place != _REPLACED and call.operation in SCRIPTED:
            reply = self.replacing.instead(call, reply, self.transport)
        return self._render(call, reply, slot.place)

    def _by_default(self, call: Call) -> HttpResponse:
        """Answer a call for which the script has no reply: with the fake's own answer, or with an error."""
        own = None if self.script.ran_out(call) else self._own_answer(call)
        if own is not None:
            return own
        recorded = any(queue.answers(call) for queue in self.script.recordings)
        if recorded or call.operation in SCRIPTED or self.script.for_operation(call.operation):
            error, problem = "ValidationException", failure_texts.unexpected_call(self.script, call)
        else:
            error, problem = "UnknownOperationException", failure_texts.unknown_operation(call)
            if gets_no_answer(call):
                self.problems.append(problem)
                return no_answer(call, self._request_id(call))
        self.problems.append(problem)
        return self._refused(call, str(problem).partition("\n")[0], error)

    def _own_answer(self, call: Call) -> HttpResponse | None:
        """Return the answer that the fake computes without a script; None if it cannot answer this call."""
        if call.operation == "CountTokens":
            return json_response(json.dumps({"inputTokens": count_tokens(call)}).encode(), self._request_id(call))
        if call.operation == operations.OPERATION:
            return json_response(operations.applied(None, call).encode(), self._request_id(call))
        answer = ANSWERS.get(call.operation or "")
        known = None if answer is None else answer(call, self.models)
        return None if known is None else output_response(call.operation or "", known, self._request_id(call))

    def _render(self, call: Call, reply: Reply, place: str = "") -> HttpResponse:
        reply.plan.check_sendable(self.transport)
        check_answer(call.operation, reply)
        call.answered.reply = reply
        response = self._renderer.render(reply, Occasion(self.seed, place, call))
        recorded = reply.plan.recorded
        if recorded is None or not recorded.partial or recorded.operation != call.operation:
            return response
        return replace(response, chunks=self._as_far_as_recorded(response.chunks, call))

    def _as_far_as_recorded(self, chunks: Iterable[Chunk], call: Call) -> Iterator[Chunk]:
        """Yield the chunks of a partial recording, then raise UnexpectedCall if the client reads on.

        The recorded client disconnected after these chunks, so the rest of the answer is unknown. Transports fetch one
        chunk ahead. Therefore an empty chunk precedes the error, so that only a client that reads on gets the error.
        For a transport in _SOCKETS, the client first has _TIME_TO_LEAVE seconds to disconnect.
        """
        yield from chunks
        yield Chunk(b"", _TIME_TO_LEAVE if self.transport in _SOCKETS else 0.0)
        problem = failure_texts.recorded_no_further(call)
        self.problems.append(problem)
        raise problem

    def check(self, *responders: object) -> None:
        """Raise ReplyError if the transport cannot send one of the replies in `responders`. Ignore functions."""
        for responder in each_reply(responders):
            if isinstance(responder, Reply):
                responder.plan.check_sendable(self.transport)


def _parse(operation: str | None, body: bytes) -> tuple[Mapping[str, Any], str | None]:
    """Return the JSON object in the body of a request, and None. For an invalid body, return {} and an error text.

    The error is Bedrock's SerializationException. Its text is invented, because no recording contains this error. For
    an operation outside SCRIPTED and NAMED, an invalid body counts as {} and is no error.
    """
    scripted = operation in SCRIPTED or operation in NAMED
    try:
        parsed: Any = json.loads(body, parse_constant=_no_number if scripted else None) if body else {}
    except (ValueError, RecursionError) as error:
        return {}, f"The request body is not JSON: {error}" if scripted else None
    if not isinstance(parsed, dict):
        name = type(parsed).__name__
        return {}, f"The request body is a JSON {name}; it must be an object." if scripted else None
    members = cast("dict[str, Any]", parsed)
    if not scripted or operation not in bedrock.operations():
        return members, None
    try:
        return bedrock.read_json(bedrock.operation(operation).input_shape.name, members), None
    except DamagedData as error:
        return {}, str(error)


def _no_number(name: str) -> object:
    """Reject `NaN` and `Infinity`, which Python's JSON parser accepts."""
    raise ValueError(f"{name} is no number of JSON")
