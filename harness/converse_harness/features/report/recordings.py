"""Convert recorded exchanges to the views that HTML pages show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

from converse_harness.errors import ConverseHarnessError
from converse_harness.features.report.calls import MessageMemory
from converse_harness.features.report.view.answer import changed_events
from converse_harness.features.report.view.view import CallView, mask_value, plain
from converse_harness.json_values import parsed_json
from converse_harness.recordings.format.exchanges import RecordedExchange, reply_of
from converse_harness.recordings.format.lines import Line, body_bytes, event_of
from converse_harness.reply.body import summarize_block
from converse_harness.secrets.process import own_secrets
from converse_harness.stream.assemble import Response, assemble, in_aws_form

_MOST: Final = 20_000
"""The maximum number of bytes of a body that are shown if the body is not JSON."""


def views_of_exchanges(exchanges: Iterable[RecordedExchange]) -> Iterator[CallView]:
    """Yield the view of each exchange. Secrets are masked, because a file may have been written by hand.

    A recording does not contain the times of its requests. In the views, each call begins when the answer to the call
    before it has ended.
    """
    clean = MessageMemory(partial(mask_value, own=own_secrets()))
    started = 0.0
    for exchange in exchanges:
        view = _view_of(exchange, started, clean)
        started += view.took
        yield view


def _view_of(exchange: RecordedExchange, started: float, clean: MessageMemory) -> CallView:
    head, call, end = exchange.head, exchange.call, exchange.end
    status = int(head.get("status", 0))
    events = changed_events([plain(_event_of(line)) for line in exchange.events], clean)
    ended = "" if end is None else str(end["end"])
    summary, response = _meaning_of(exchange)
    outcome = {"": "complete", "closed by client": ended}.get(ended, "cut")
    broken = f"  ({ended})" if ended else ""
    return CallView(
        number=int(call["call"]),
        operation=clean.text(exchange.operation),
        model_id=clean.text(exchange.model_id),
        started=started,
        took=max(float(line["t"]) for line in exchange.lines() if "t" in line),
        request=_request(call, clean),
        headers=clean.headers((name, str(value)) for name, value in call.get("headers", {}).items()),
        status=status,
        outline=clean.text(f"{status or 'no HTTP answer'}  {summary}".rstrip() + broken),
        outcome=outcome,
        events=tuple((float(line["t"]), event) for line, event in zip(exchange.events, events, strict=True)),
        answer=clean(_answer(head) if response is None else in_aws_form(response)),
        faults=tuple(map(clean.text, exchange.faults)),
        line=f"line {exchange.at} of the recording",
        error=clean.text(str(head.get("failed", ""))),
    )


def _meaning_of(exchange: RecordedExchange) -> tuple[str, Response | None]:
    """Return a summary of an answer in one line, and the Response that the events of a stream form.

    The Response is None for an answer that is no stream, or whose events form none. If the answer cannot be
    interpreted, the summary is the name of the error, or empty.
    """
    summary = str(exchange.head.get("type", ""))
    with suppress(ConverseHarnessError):
        reply = reply_of(exchange)
        summary = reply.summary
        if exchange.events:
            response = assemble(reply.events())
            return " + ".join(map(summarize_block, response.message["content"])), response
    return summary, None


def _event_of(line: Line) -> Any:
    found = event_of(line)
    return {name: line[name] for name in ("bytes", "frame") if name in line} if found is None else dict([found])


def _request(call: Line, clean: MessageMemory) -> Any:
    request = call.get("request")
    if isinstance(request, dict):
        return clean.request(request)  # pyright: ignore[reportUnknownArgumentType]
    body = body_bytes("request", call)
    return None if body is None else clean.text(body[:_MOST].decode(errors="replace"))


def _answer(head: Line) -> Any:
    body = body_bytes("body", head)
    return None if body is None else parsed_json(body, body[:_MOST].decode(errors="replace"))
