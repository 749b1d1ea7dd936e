"""Helpers that the commands share: arguments for address and redaction, and the printing of lines."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO, TypedDict

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Script
from converse_harness.reply.body import shorten
from converse_harness.secrets import mask
from converse_harness.server.control import FAKES

if TYPE_CHECKING:
    from converse_harness.recordings.redaction import Redaction


_EXPORTED: Final = (
    ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
    ("AWS_BEDROCK_RUNTIME_ENDPOINT",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"),
)
"""The variables that a shell needs, a line each: for the SDKs, for litellm, for both."""

_TEXT: Final = 24
_SUMMARY: Final = 40
_REFUSAL: Final = 160
"""The most that is shown of what was asked, of what was answered, and of why there was no answer."""

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints lines one by one, in colour on a terminal (unless NO_COLOR is set)."""

    out: TextIO

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line and flush it."""
        encoding = self.out.encoding or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        print(self.styled(text, style), file=self.out, flush=True)

    def styled(self, text: str, style: str) -> str:
        """The text with this style, if the output supports styles."""
        if style and self.out.isatty() and not os.environ.get("NO_COLOR"):
            return f"\033[{style}m{text}\033[0m"
        return text

    def now(self, text: str, style: str = "") -> None:
        """Print a line with the time of day."""
        self.say(f"{time.strftime('%H:%M:%S')}  {text}", style)

    def call(self, id: str, call: Call) -> None:
        """Print the request and the outcome of a call; `id` is the fake's, empty for the server's own fake."""
        self.now(_call_line(id, call), RED if _is_unexpected(call) else DIM if call.operation == "CountTokens" else "")


def serving(what: str | None, url: str, environ: Mapping[str, str], doing: str = "Serving") -> list[str]:
    """Print the first lines of a server; `what` describes the script, None if it serves only the control API."""
    protocols = "HTTP/1.1 and HTTP/2"
    if what is None:
        head = f"Serving the control API on {url}        {protocols}"
        return [head, "", f"  POST {url}{FAKES} opens a fake; {url}/__converse/openapi.json describes it", ""]
    exports = [f"  export {' '.join(f'{name}={shlex.quote(environ[name])}' for name in names)}" for names in _EXPORTED]
    return [f"{doing} {what} on {url}        {protocols}", "", *exports, ""]


def counted(script: Script) -> str:
    """A description of how many replies are served."""
    exchanges = sum(len(queue.slots) for queue in script.recordings)
    replies = sum(1 for _ in script.slots()) - exchanges
    parts: list[str] = []
    if replies or not script.recordings:
        parts.append(f"1 script ({replies} repl{'y' if replies == 1 else 'ies'})")
    if script.recordings:
        count = len(script.recordings)
        parts.append(f"{count} recording{'s' * (count != 1)} ({exchanges} exchange{'s' * (exchanges != 1)})")
    return " and ".join(parts)


def _call_line(id: str, call: Call) -> str:
    """A call in one line: client, operation, outcome, number of events, duration."""
    fake = f"{id:<8} " if id else ""
    operation = call.operation or f"{call.request.method} {call.request.target}"
    asked = shorten(call.last_user_text, _TEXT)
    if _is_unexpected(call):
        answered = _cut(_refused(call), _REFUSAL)
    else:
        answered = f"{_cut(call.summary or str(call.status or ''), _SUMMARY):<{_SUMMARY}}"
    counts = f"{len(call.events)} events" if call.operation == "ConverseStream" and call.status == 200 else ""
    taken = f"{1000 * at:.0f} ms" if (at := _taken_at(call)) is not None else ""
    line = f"{fake}{operation:<14}  {call.model_id:<26} {asked:<{_TEXT}}  -> {answered} {counts:>10} {taken:>8}"
    if call.attempt > 1:
        line += f"  attempt {call.attempt}"
    if call.refusal is not None and call.reply is not None and call.reply.recorded is None:
        line += f"  breaks {call.refusal.rule.name}"
    for note in call.answered.notes:
        if call.refusal is None or note.kind != call.refusal.rule.name:
            line += f"  note {note.kind}"
    if call.outcome != "complete":
        line += f"  {call.outcome}"
    return "".join(each if each.isprintable() else "\ufffd" for each in mask(line.rstrip()))


def _is_unexpected(call: Call) -> bool:
    """Whether the call failed because the fake had no reply for it."""
    return call.reply is None and call.answered.passed_on is None and call.status >= 400


def _taken_at(call: Call) -> float | None:
    """Seconds from the request to the last part of the answer that the client read."""
    if call.answered.passed_on is not None:
        return call.answered.passed_on().at
    return call.answered.taken.last_at


def _refused(call: Call) -> str:
    """The error that the client received instead of a reply."""
    said = ""
    if call.answered.taken:
        with suppress(ValueError, KeyError, TypeError):
            said = f": {json.loads(call.answered.taken.data[0])['message']}"
    if call.refusal is not None:
        return f"REFUSED {call.status} {call.refusal.rule.name}{said}"
    return f"UNEXPECTED {call.status}{said}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


class ListenAddress(TypedDict):
    """The address on which a server listens."""

    host: str
    port: int


def add_address(parser: argparse.ArgumentParser) -> None:
    """Declare `--port` and `--host`."""
    parser.add_argument("--port", type=_port, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")


def address_of(given: argparse.Namespace) -> ListenAddress:
    """The address that these arguments give."""
    return {"host": given.host, "port": given.port}


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 0 (a free one) to 65535")
    return int(text)


def add_redact(parser: argparse.ArgumentParser) -> None:
    """Declare `--redact`."""
    parser.add_argument(
        "--redact",
        metavar="RULE",
        action="append",
        default=[],
        help="'PATTERN => REPLACEMENT', a regular expression and what takes the place of what it matches (can be given "
        "again); account ids and the signatures of URLs are replaced always, and other secrets refused",
    )


def redaction_of(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Redaction:
    """The redaction rules of this argument; ends the program if one is invalid."""
    from converse_harness.errors import ReplyError
    from converse_harness.recordings.redaction import Redaction

    try:
        return Redaction.of_lines(given.redact)
    except ReplyError as error:
        parser.error(f"{given.command} --redact: {error}")
