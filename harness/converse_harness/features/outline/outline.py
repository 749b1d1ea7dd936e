"""The class Outline, and the methods by which a fake, a call and a recording give their outlines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from converse_harness.endpoint.call import SCRIPTED, Call, Calls, ForwardedAnswer
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.outline.entries import OutlinedCall, cleaned, entries, entry_of, messages_of
from converse_harness.features.outline.text import text_of
from converse_harness.recordings.format.exchanges import RecordedExchange, reply_of
from converse_harness.reply.body import ErrorBody, EventsBody, MessageBody, OutputBody
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.removal import value_without_secrets
from converse_harness.stream.assemble import assemble, in_aws_form, joined

if TYPE_CHECKING:
    from converse_harness.reply.reply import Reply


class Outline(list[dict[str, Any]]):
    """A list of plain dicts, one for each call: what was new in the request, and what the script answered.

    It contains nothing that differs between two runs of the same test: no ids, no times, no tokens. So it can be
    compared with a snapshot. `str()` of it is a text for people.
    """

    def __str__(self) -> str:
        return text_of(self)


class _WithCalls(Protocol):
    """A fake, as far as an outline reads it."""

    @property
    def calls(self) -> Calls: ...


class Outlines:
    """The method that this feature adds to a fake."""

    def outline(self: _WithCalls) -> Outline:
        """Return what the agents asked and what the script answered, as a list of plain dicts, one for each call.

        A dict contains what was new in the request, and the answer of the script. Ids, times, tokens and cache points
        are left out, secrets are masked, repeated attempts are one entry. Conversations are sorted by system prompt,
        model and content. `str()` of the list is a text.

        >>> import boto3
        >>> from converse_harness import fake_converse, reply
        >>> with fake_converse(reply.text("hi")) as fake:
        ...     client = boto3.client("bedrock-runtime")
        ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
        >>> print(fake.outline())
        1. new agent, Converse m
           user: 'hello'
           -> 'hi', end_turn
        """
        return outline_of_calls(self.calls)


def outline_of_calls(calls: Calls) -> Outline:
    """Return the outline of these calls, those of every operation."""
    made = _outlined(calls.all)
    return _clean(entries(made.values()))


def outline_of_exchanges(exchanges: Iterable[RecordedExchange]) -> Outline:
    """Return the outline of a recording."""
    return _clean(entries(map(_of_exchange, exchanges)))


def _outline_of_call(call: Call) -> dict[str, Any]:
    """Return this call's entry in an outline: what was new in its request, and what the script answered.

    Unlike in the outline of a fake, an attempt that failed has an entry of its own.
    """
    made = _of_call(call)
    made.follows = None if call.parent is None else _of_call(call.parent)
    return _clean([entry_of(made)])[0]


outline_of_call = property(_outline_of_call)


def _outline_of_seen(seen: _WithCalls) -> Outline:
    """Return the outline of the consumer's calls."""
    return outline_of_calls(seen.calls)


outline_of_seen = property(_outline_of_seen)


def _clean(made: Iterable[dict[str, Any]]) -> Outline:
    """Mask secrets, because outlines are written to files."""
    return Outline(value_without_secrets([*made], own_secrets()))


_NO_CONVERSATION = "CountTokens"
"""The operation that has no entry: the fake computes its answer, and its request repeats a conversation."""


_INVOCATION = "amz-sdk-invocation-id"
"""The header in which all attempts of one request have the same id."""


def _outlined(calls: Iterable[Call]) -> dict[int, OutlinedCall]:
    made: dict[int, OutlinedCall] = {}
    for call in calls:
        if call.operation != _NO_CONVERSATION:
            made[call.number] = _of_call(call)
            made[call.number].follows = None if call.parent is None else made.get(call.parent.number)
    return made


def _of_call(call: Call) -> OutlinedCall:
    forwarded = call.of(ForwardedAnswer)
    if forwarded is not None:
        response = forwarded.so_far().response
        answer = _error(forwarded.so_far().summary) if response is None else _content(in_aws_form(response))
    elif call.answered.reply is not None:
        answer = _of_reply(call.answered.reply)
    else:
        answer = _unscripted(call)
    operation = call.operation or f"{call.head.method} {call.head.target}"
    scripted = operation in SCRIPTED
    body = call.body if scripted else {name: each for name, each in call.params.items() if name != "modelId"}
    failed = call.outcome == "cut" or "error" in answer or "broken" in answer
    made = OutlinedCall(operation, call.service, call.model_id, body, answer, failed, scripted)
    made.invocation = call.headers.get(_INVOCATION, "")
    return made


def _unanswered(call: Call) -> str:
    """Return why no reply answered a call. The fake's own words are left out: they are not of the script."""
    if call.refusal is not None:
        return call.refusal.rule.name
    return "no reply" if call.malformed is None else "malformed request"


def _unscripted(call: Call) -> dict[str, Any]:
    """Return the answer to a call that no reply answered."""
    return {"answer": "not from the script"} if call.status == HTTPStatus.OK else _error(_unanswered(call))


def _of_exchange(exchange: RecordedExchange) -> OutlinedCall:
    try:
        answer = _of_reply(reply_of(exchange))
    except ConverseHarnessError:
        answer = _error(str(exchange.head.get("type", "damaged")))
    if exchange.end is not None and exchange.end["end"] != "closed by client":
        answer["broken"] = [*answer.get("broken", ()), str(exchange.end["end"])]
    operation, scripted = exchange.operation, exchange.operation in SCRIPTED
    failed = "error" in answer or "broken" in answer
    made = OutlinedCall(operation, exchange.service, exchange.model_id, exchange.request, answer, failed, scripted)
    headers: Mapping[str, Any] = exchange.call.get("headers", {})
    made.invocation = next((str(value) for name, value in headers.items() if name.lower() == _INVOCATION), "")
    return made


def _error(name: str) -> dict[str, Any]:
    return {"error": {"name": name}}


def _of_reply(reply: Reply) -> dict[str, Any]:
    """Return the members of an entry that tell what a reply says, and how it breaks."""
    plan = reply.plan
    broken = [] if plan.failure is None else [f"{plan.failure.name} after {plan.failure.after} events"]
    broken += [placement.summary for placement in plan.placements]
    body = plan.body
    if plan.no_answer:
        made: dict[str, Any] = {}
    elif isinstance(body, MessageBody):
        message = {"role": body.role, "content": [*body.content]}
        made = _content({"output": {"message": message}, "stopReason": body.stop_reason, **body.options})
    elif isinstance(body, EventsBody):
        made = _of_events(body.events)
    elif isinstance(body, ErrorBody):
        made = {"error": {"name": body.name, **cleaned(body.members)}}
    elif isinstance(body, OutputBody):
        made = {"output": cleaned(body.members)}
    else:
        made = {"answer": body.summary}
    return {**made, **({"broken": broken} if broken else {})}


def _of_events(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    listed = [dict(event) for event in events]
    try:
        return _content(in_aws_form(assemble(listed)))
    except ConverseHarnessError:  # an exception at its end, or an order that the API does not send
        return {"events": [cleaned(event) for event in joined(listed) if "metadata" not in event]}


_TOLD = ("additionalModelResponseFields", "trace")
"""The members of an answer that are told, besides its message and its stop reason, if the script has them."""


def _content(answer: Mapping[str, Any]) -> dict[str, Any]:
    message: Mapping[str, Any] = answer["output"]["message"]
    (told,) = messages_of([message]).messages
    more = {name: cleaned(answer[name]) for name in _TOLD if answer.get(name) is not None}
    return {"content": told["content"], "stopReason": answer["stopReason"], **more}
