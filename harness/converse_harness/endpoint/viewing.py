"""Calls as a page shows them: plain JSON, with secrets masked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from converse_harness.json_values import is_array, is_object
from converse_harness.secrets import own_secrets
from converse_harness.stream.delivery import SentEvent
from converse_harness.viewer.pieces import changed_events
from converse_harness.viewer.view import CallView, RefusedBy, json_text, mask_value, plain

if TYPE_CHECKING:
    from converse_harness.bedrock.rules import Refusal
    from converse_harness.notes import Note
    from converse_harness.reply.reply import Reply
    from converse_harness.stream.assemble import Response
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import Request
    from converse_harness.user_lines import UserLine

Clean = Callable[[Any], Any]
"""A function that returns a JSON value without the secrets in it."""

_MOST: Final = 20_000
"""Of a body that is no JSON object, at most this number of characters is shown."""


class _ViewedAnswer(Protocol):
    """The parts of `Answered` that are shown."""

    @property
    def taken(self) -> SentChunks: ...
    @property
    def error(self) -> str: ...
    @property
    def waited(self) -> float: ...
    @property
    def notes(self) -> Sequence[Note]: ...
    @property
    def line(self) -> UserLine | None: ...
    @property
    def passed_on(self) -> object: ...


class _ViewedCall(Protocol):
    """The parts of a `Call` that are shown."""

    @property
    def number(self) -> int: ...
    @property
    def operation(self) -> str | None: ...
    @property
    def model_id(self) -> str: ...
    @property
    def request(self) -> Request: ...
    @property
    def body(self) -> Mapping[str, Any]: ...
    @property
    def malformed(self) -> str | None: ...
    @property
    def answered(self) -> _ViewedAnswer: ...
    @property
    def status(self) -> int: ...
    @property
    def reply(self) -> Reply | None: ...
    @property
    def refusal(self) -> Refusal | None: ...
    @property
    def events(self) -> Sequence[SentEvent]: ...
    @property
    def response(self) -> Response | None: ...
    @property
    def outcome(self) -> str: ...
    @property
    def outline(self) -> str: ...


def views_of(calls: Sequence[_ViewedCall], clean: Clean | None = None) -> list[CallView]:
    """Return the views of calls, in their order. `clean` masks the secrets in each part of them; None: `mask_value`.

    A message that several requests contain is masked once; with a MessageMemory as `clean`, also in later calls of this
    function.
    """
    if clean is None:
        clean = partial(mask_value, own=own_secrets())
    cleaned = clean if isinstance(clean, MessageMemory) else MessageMemory(clean)
    begun = [each.answered.taken.started for each in calls if each.answered.taken.started]
    first = last = min(begun, default=0.0)
    views: list[CallView] = []
    for call in calls:
        last = call.answered.taken.started or last
        views.append(_view_of(call, 1000 * (last - first), cleaned))
    return views


class MessageMemory:
    """Cleans values, and keeps the cleaned messages, because each request contains those before it again."""

    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self._known: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The number of messages that are kept."""
        return len(self._known)

    def __call__(self, value: Any) -> Any:
        """Return a value as plain JSON without secrets."""
        return self._clean(plain(value))

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return str(self._clean(text)) if text else ""

    def request(self, body: Mapping[str, Any]) -> Any:
        """Return the JSON of a request without secrets; each of its messages is cleaned by itself."""
        messages = body.get("messages")
        if not is_array(messages):
            return self(body)
        made = {name: None if name == "messages" else value for name, value in body.items()}
        cleaned = self(made)
        if not is_object(cleaned):  # a secret was found that cannot be masked alone
            return cleaned
        return {**cleaned, "messages": [self._message(each) for each in messages]}

    def headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return headers without secrets; a value that only its name gives away is masked too."""
        made = [(self.text(name), self({name: value})) for name, value in headers]
        return tuple((name, str(next(iter(value.values())) if is_object(value) else value)) for name, value in made)

    def _message(self, message: Any) -> Any:
        key = json_text(message, indent=None)
        if key not in self._known:
            self._known[key] = self(message)
        return self._known[key]


def _view_of(call: _ViewedCall, started: float, clean: MessageMemory) -> CallView:
    answered = call.answered
    sent = [*call.events]
    events = changed_events([plain(event) for event, _ in sent], clean)
    ats = [round(1000 * at, 1) for _, at in sent]
    refusal = call.refusal
    took = max([*ats, 1000 * (answered.taken.last_at or 0.0)], default=0.0)
    return CallView(
        number=call.number,
        operation=clean.text(call.operation or f"{call.request.method} {call.request.target}"),
        model_id=clean.text(call.model_id),
        started=round(started, 1),
        took=round(took, 1),
        waited=round(1000 * answered.waited, 1),
        request=_request(call, clean),
        headers=clean.headers(call.request.headers),
        status=call.status,
        outline=clean.text(call.outline),
        outcome=call.outcome,
        events=tuple(zip(ats, events, strict=True)),
        answer=clean(_answer(call)),
        faults=tuple(clean.text(each.summary) for each in call.reply.placements) if call.reply is not None else (),
        refusal=None if refusal is None else RefusedBy(*map(clean.text, _why(refusal))),
        notes=tuple(clean.text(note.text) for note in answered.notes),
        line=clean.text(str(answered.line or "")),
        error=clean.text(answered.error),
    )


def _why(refusal: Refusal) -> tuple[str, str, str]:
    inferred = f" Inferred from {refusal.inferred_from}." if refusal.inferred_from else ""
    at = f"\nAt {refusal.path}" if refusal.path else ""
    return refusal.rule.name, f"{refusal.message}{at}", f"{refusal.rule.source}{inferred}"


def _request(call: _ViewedCall, clean: MessageMemory) -> Any:
    if call.malformed is None or call.body:
        return clean.request(call.body) if call.body or call.request.body else None
    return clean.text(call.request.body[:_MOST].decode(errors="replace"))


def _answer(call: _ViewedCall) -> Any:
    """The whole answer in the form of AWS's API; None if there is none. A JSON body is shown as it was sent."""
    if not call.events and call.answered.passed_on is None:
        data = b"".join(call.answered.taken.data)
        try:
            return json.loads(data) if data else None
        except (ValueError, RecursionError):
            return data[:_MOST].decode(errors="replace")
    return None if call.response is None else in_aws_form(call.response)


def in_aws_form(response: Response) -> dict[str, Any]:
    """Return an assembled answer as the members of AWS's ConverseResponse."""
    given = {_NAMES.get(each.name, each.name): getattr(response, each.name) for each in fields(response)}
    message = given.pop("message")
    return {"output": {"message": message}, **{name: value for name, value in given.items() if value is not None}}


_NAMES: Final[Mapping[str, str]] = {
    "stop_reason": "stopReason",
    "additional": "additionalModelResponseFields",
    "performance_config": "performanceConfig",
    "service_tier": "serviceTier",
}
"""The members of a Response that have another name in AWS's API."""
