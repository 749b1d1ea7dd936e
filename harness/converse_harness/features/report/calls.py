"""Make the view of a call: plain JSON with secrets masked, from which `view` makes pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from converse_harness.bedrock.rules import Refusal
from converse_harness.endpoint.call import Call, FitOfCall, ForwardedAnswer
from converse_harness.features.report.view.answer import changed_events
from converse_harness.features.report.view.view import CallView, RefusedBy, mask_value, plain
from converse_harness.json_values import is_array, is_object, json_text, parsed_json
from converse_harness.secrets.process import own_secrets
from converse_harness.stream.assemble import in_aws_form

Clean = Callable[[Any], Any]
"""A function that returns a copy of a JSON value in which secrets are masked."""

_MOST: Final = 20_000
"""The maximum number of characters shown of a body that is not a JSON object."""


def views_of(calls: Sequence[Call], clean: Clean | None = None) -> list[CallView]:
    """Return the views of calls, in their order. `clean` masks the secrets in a value; None stands for `mask_value`.

    A message that several requests contain is masked only once. If `clean` is a MessageMemory, it keeps the masked
    messages for the next call of this function.
    """
    if not isinstance(clean, MessageMemory):
        clean = MessageMemory(clean or partial(mask_value, own=own_secrets()))
    begun = [each.answered.taken.started for each in calls if each.answered.taken.started]
    first = last = min(begun, default=0.0)
    views: list[CallView] = []
    for call in calls:
        last = call.answered.taken.started or last
        views.append(_view_of(call, 1000 * (last - first), clean))
    return views


class MessageMemory:
    """Masks the secrets in values with the function `clean`. It keeps each masked message of a request.

    A later request repeats these messages, so each message is masked only once.
    """

    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self._known: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The number of kept messages."""
        return len(self._known)

    def __call__(self, value: Any) -> Any:
        """Return a value as plain JSON with its secrets masked."""
        return self._clean(plain(value))

    def text(self, text: str) -> str:
        """Return a text with its secrets masked."""
        return str(self._clean(text)) if text else ""

    def request(self, body: Mapping[str, Any]) -> Any:
        """Return the JSON of a request with its secrets masked. Each message is masked separately."""
        messages = body.get("messages")
        if not is_array(messages):
            return self(body)
        cleaned = self({**body, "messages": None})
        if not is_object(cleaned):  # `clean` replaced it, as it cannot mask the secret alone
            return cleaned
        return {**cleaned, "messages": [self._message(each) for each in messages]}

    def headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return headers with secrets masked. A value is also masked if the header's name is that of a secret."""
        made = [(self.text(name), self({name: value})) for name, value in headers]
        return tuple((name, str(next(iter(value.values())) if is_object(value) else value)) for name, value in made)

    def _message(self, message: Any) -> Any:
        key = json_text(message, indent=None)
        if key not in self._known:
            self._known[key] = self(message)
        return self._known[key]


def _view_of(call: Call, started: float, clean: MessageMemory) -> CallView:
    answered = call.answered
    sent = [*call.events]
    events = changed_events([plain(event) for event, _ in sent], clean)
    ats = [round(1000 * at, 1) for _, at in sent]
    refusal, fit = call.refusal, call.of(FitOfCall)
    took = max([*ats, 1000 * (answered.taken.last_at or 0.0)])
    return CallView(
        number=call.number,
        operation=clean.text(call.operation or f"{call.head.method} {call.head.target}"),
        model_id=clean.text(call.model_id),
        started=round(started, 1),
        took=round(took, 1),
        waited=round(1000 * answered.waited, 1),
        request=_request(call, clean),
        headers=clean.headers(call.head.headers),
        status=call.status,
        outline=clean.text(str(call)),
        outcome=call.outcome,
        events=tuple(zip(ats, events, strict=True)),
        answer=clean(_answer(call)),
        faults=tuple(clean.text(each.summary) for each in call.reply.plan.placements) if call.reply is not None else (),
        refusal=None if refusal is None else RefusedBy(*map(clean.text, _why(refusal))),
        notes=tuple(clean.text(note.text) for note in call.notes),
        line=clean.text(str(answered.line or "")),
        uses=() if fit is None else tuple(fit.used(call)),
        error=clean.text(answered.error),
    )


def _why(refusal: Refusal) -> tuple[str, str, str]:
    inferred = f" Inferred from {refusal.inferred_from}." if refusal.inferred_from else ""
    at = f"\nAt {refusal.path}" if refusal.path else ""
    return refusal.rule.name, f"{refusal.message}{at}", f"{refusal.rule.source}{inferred}"


def _request(call: Call, clean: MessageMemory) -> Any:
    if call.malformed is None or call.body:
        return clean.request(call.body) if call.body or call.raw else None
    return clean.text(call.raw[:_MOST].decode(errors="replace"))


def _answer(call: Call) -> Any:
    """Return the JSON of the whole answer; None if there is no complete answer.

    An answer that is a stream, or that a real service sent, has the form of AWS's ConverseResponse. Other answers are
    returned as they were sent. A body that is not JSON is returned as text.
    """
    if not call.events and call.of(ForwardedAnswer) is None:
        data = b"".join(call.answered.taken.data)
        return parsed_json(data, otherwise=data[:_MOST].decode(errors="replace")) if data else None
    return None if call.response is None else in_aws_form(call.response)
