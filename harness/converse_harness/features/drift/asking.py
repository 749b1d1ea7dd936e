"""Ask a recorded request again, or find the reason why it cannot be asked."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from converse_harness import bedrock
from converse_harness.endpoint.call import CallOutcome
from converse_harness.features.drift.drift import Drift, drift_between
from converse_harness.intercept.capture import Capture
from converse_harness.intercept.registry import forwarding
from converse_harness.json_values import leaves
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.lines import Line, body_bytes, event_of
from converse_harness.recordings.format.media import DamagedMedia, digests_in, put_back
from converse_harness.recordings.format.read import session_without_media, text_of_file
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, safe_lines
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.accounts import IS_STAND_IN
from converse_harness.server.http.upstream import Upstream
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.grammar import is_exception
from converse_harness.stream.http import HttpResponse, Request
from converse_harness.words import first_few

_ASKED: Final = (
    "Converse",
    "ConverseStream",
    "CountTokens",
    "InvokeModel",
    "InvokeModelWithResponseStream",
    "ApplyGuardrail",
)
"""The operations that are asked again. They change nothing in the account; others may start a job, for instance."""

_OF_THE_MOMENT: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.FAILED_DEPENDENCY,  # ModelErrorException
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
"""Statuses of errors that the same request may get today and not tomorrow, beside all from 500 on."""

_OF_THE_KEYS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
"""Statuses of errors about the keys that sign, and not about the request."""

_MASKED_IN_URL: Final = re.compile(r"(?:=|%3[Dd])\*{3}")
"""Matches the signature of a URL that a recorder has masked. It is masked without a remark in the line of the call."""


class AskedAnswer(NamedTuple):
    """The result for one recorded request.

    `drift` is None if there is nothing to compare: the request was not asked (`skipped` has the reason), or no whole
    answer came (`failed` has the reason). If `lost` is true, the service cannot be reached.
    """

    exchange: RecordedExchange
    drift: Drift | None = None
    skipped: str = ""
    failed: str = ""
    lost: bool = False


def recorded_exchanges(path: Path) -> Sequence[RecordedExchange]:
    """Return the exchanges of a recording, with references in place of their media.

    Raises DamagedRecording, and OSError for a file that cannot be read.
    """
    return session_without_media(text_of_file(path), path).exchanges


def ask_again(upstream: Upstream, exchange: RecordedExchange, folder: Path, redaction: Redaction) -> AskedAnswer:
    """Ask a recorded request again, and compare the answers.

    `folder` is the folder of the recording, where its media are. Raises TransportError if the credentials cannot be
    renewed.
    """
    skipped = _why_not(exchange)
    try:
        call, *answer = [put_back(line, folder) for line in exchange.lines()]
    except DamagedMedia as error:
        return AskedAnswer(exchange, skipped=skipped or f"{error}".rstrip("."))
    skipped = skipped or _why_shortened(call)
    if skipped:
        return AskedAnswer(exchange, skipped=skipped)
    captured = _captured(upstream, _request(call))
    lines = exchange_lines(captured, call["call"])
    failed = _why_no_answer(captured, lines, exchange)
    if failed:
        return AskedAnswer(exchange, failed=failed, lost=captured.failure is not None)
    safe = safe_lines([header(), *lines], redaction)
    if safe.left_out:
        return AskedAnswer(
            exchange, failed=f"the answer has a secret that cannot be masked ({safe.left_out[0].leaks[0]})"
        )
    return AskedAnswer(exchange, drift_between([call, *answer], safe.lines[1:]))


def _why_not(exchange: RecordedExchange) -> str:
    """Return the reason why a request cannot be asked again, or its answer not be compared; otherwise ""."""
    call, head = exchange.call, exchange.head
    if exchange.any_request:
        return "its request is not known"
    if exchange.operation not in _ASKED:
        return f"{exchange.operation} asks no model"
    if "failed" in head:
        return f"the recording has no answer ({head['failed']})"
    if exchange.end is not None:
        return f"its recorded answer is not whole ({exchange.end['end']})"
    moment = _moment(head["status"], exchange.events)
    if moment:
        return f"its recorded answer is an error of that moment ({moment})"
    hidden = [each for each in exchange.masked if re.split(r"[.\[]", each, maxsplit=1)[0] in call]
    if hidden:
        return f"a secret in it is masked ({hidden[0]})"
    text = json.dumps({key: value for key, value in call.items() if key != "masked"}, ensure_ascii=False)
    if IS_STAND_IN.search(text):
        return "an account id in it is masked"
    if digests := digests_in(call.get("request")):
        return f"its files are kept by digest alone ({first_few(digests, 1)})"
    return "the signature of a URL in it is masked" if _MASKED_IN_URL.search(text) else ""


def _moment(status: int, events: Sequence[Line]) -> str:
    """Return the error of the moment in an answer, as its status or its exception; otherwise ""."""
    if status in _OF_THE_MOMENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return str(status)
    found = (each[0] for each in map(event_of, events) if each is not None)
    return next(filter(is_exception, found), "")


def _why_shortened(call: Line) -> str:
    """Return the reason why a request with media cannot be asked: a cassette may contain shortened media."""
    for path, value in leaves(call.get("request")):
        if path[-1:] == ("bytes",) and isinstance(value, str):
            try:
                base64.b64decode(value, validate=True)
            except ValueError:
                return "its media are shortened in the recording"
    return ""


def _request(call: Line) -> Request:
    """Return the HTTP request of a recorded call, without a signature."""
    http: Any = bedrock.operation(call["operation"]).http
    target, _, fixed = http["requestUri"].partition("?")
    for name, safe in re.findall(r"{(\w+)(\+?)}", target):
        target = target.replace(f"{{{name}{safe}}}", quote(call[name], safe="/" * bool(safe)))
    query = call.get("query", fixed)
    headers = {"Content-Type": "application/json", **call.get("headers", {})}
    body = body_bytes("request", call) or b""
    return Request(http["method"], f"{target}?{query}" if query else target, tuple(headers.items()), body)


@dataclass(slots=True, eq=False)
class _AskedAgain:
    """A call of our own to the service: what a Capture reports to, with no client behind it."""

    captured: CapturedExchange
    response: HttpResponse = field(default_factory=lambda: HttpResponse(0, (), ()))
    taken: SentChunks = field(default_factory=SentChunks)

    def ended(self, outcome: CallOutcome) -> None:
        del outcome
        self.captured.running = False


def _captured(upstream: Upstream, request: Request) -> CapturedExchange:
    """Send a request, and return the exchange as a recorder notes it. A failure to connect is noted, too."""
    from botocore.exceptions import BotoCoreError

    captured = CapturedExchange(request, running=True)
    capture = Capture(_AskedAgain(captured), captured)
    try:
        with forwarding():
            answer = upstream.ask(request)
    except BotoCoreError as error:
        capture.broke(error)
        return captured
    try:
        capture.began(answer.status, answer.headers)
        for data in answer.pieces():
            capture.took(data)
        capture.complete()
    except Exception as error:  # noqa: BLE001 - an error of urllib3, ssl or another library
        capture.broke(error)
    finally:
        answer.close()
    return captured


def _why_no_answer(captured: CapturedExchange, lines: Sequence[Line], exchange: RecordedExchange) -> str:
    """Return the reason why a new answer cannot be compared with the recorded one; otherwise ""."""
    _, head, *events = lines
    if captured.failure is not None:
        return captured.failure
    if events and "end" in events[-1]:
        return f"the answer is not whole ({events[-1]['end']})"
    moment = _moment(head["status"], events)
    refused = head["status"] in _OF_THE_KEYS and head["status"] != exchange.head["status"]
    return " ".join(_error(moment or str(head["status"]), head)) if moment or refused else ""


def _error(status: str, head: Line) -> Iterator[str]:
    yield status
    if "type" in head:
        yield head["type"]
    message = head["body"].get("message") if isinstance(head.get("body"), dict) else None
    if isinstance(message, str):
        yield f"({message})"
