"""Write a fake's session to a file. The old file is replaced completely or not at all."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from converse_harness.endpoint import AnsweredExchange, Endpoint
from converse_harness.endpoint.call import Call, CallOutcome, ForwardedAnswer, ForwardedCall
from converse_harness.endpoint.stage import Exchange, Stage
from converse_harness.errors import SecretFound, StreamOrderError
from converse_harness.literals import StopReason
from converse_harness.recordings.format.exchanges import OPTIONS, RecordedExchange, reply_of
from converse_harness.recordings.format.lines import FORMAT, VERSION, Line, dump
from converse_harness.recordings.format.media import by_digest, digests_in, set_aside
from converse_harness.recordings.format.read import DamagedRecording, parse, read
from converse_harness.recordings.format.shared_parts import exchanges_in, written_once
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.captured import CapturedExchange, before_request, exchange_lines, with_faults
from converse_harness.recordings.record.keep_unchanged import with_kept
from converse_harness.recordings.record.locks import locked_folder
from converse_harness.recordings.redaction import EarlierLines, Redaction
from converse_harness.reply.body import EventsBody, MessageBody, summarize_body
from converse_harness.reply.reply import Reply
from converse_harness.secrets.leaks import Leak
from converse_harness.secrets.process import own_secrets
from converse_harness.stream.assemble import Response as Assembled
from converse_harness.stream.assemble import assemble
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import HttpResponse
from converse_harness.words import and_more, counted

if TYPE_CHECKING:
    from converse_harness.recordings.record.journal import Journal

_SHOWN: Final = 10
"""The maximum number of secrets that a report lists."""

_ADVICE: Final = (
    "Have it replaced (a line `pattern => replacement` under converse_redact in pytest's configuration, or "
    "Redaction(replacements=...)), or record with a test value in its place.   More: converse-harness docs recording "
    "what-is-never-written"
)


_UNSEARCHED: Final = (
    "what pictures show, sound, video and the packed text of documents were not searched for secrets. Look at them "
    "before you commit."
)

_ENCODED: Final = (
    "\nA pattern is searched in texts, in base64 and gzip of texts, and where it touches the secret in the bytes of an "
    "image. Where the rule that is set does not reach the secret, one must match the encoded text as it stands in the "
    "request: `iVBORw0KGgo[A-Za-z0-9+/=]+ => aW1hZ2U=` replaces each PNG."
)
"""The advice that a report on left-out exchanges adds if one of the secrets is in an encoded text."""


class LeftOut(NamedTuple):
    """An exchange that is not written to the file, because it contains `leaks`: secrets that cannot be masked.

    `number` is the number of the exchange, from 0. `asked` is its operation or, without an operation, its HTTP method.
    """

    number: int
    asked: str
    leaks: tuple[Leak, ...]


class SafeLines(NamedTuple):
    """Lines without secrets, the places of the secrets that are masked in them, and the exchanges that are left out."""

    lines: list[Line]
    masked: tuple[Leak, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def safe_lines(
    lines: Sequence[Line], redaction: Redaction, kept: int = 0, earlier: EarlierLines | None = None
) -> SafeLines:
    """Return the lines of a file without secrets. The first `kept` lines are in the file already and never left out.

    `redaction` makes the replacements. The lines of parts before a call are written or left out with the call. If a
    file is given piece by piece, `earlier` is what is known of the earlier pieces.
    """
    own = own_secrets()
    redacted = redaction.redacted(lines, kept, own, earlier)
    made, masked = redacted.lines, redacted.unexpected
    if not redacted.found and made == lines:
        return SafeLines(made)
    found = [leak for leak in scan(made, own) if leak.line > kept]
    written, places, left_out, begin = made[:1], list[Leak](), list[LeftOut](), 1
    for number, (index, exchange) in enumerate(exchanges_in(made)):
        parts, begin = made[begin:index], index + len(exchange)
        numbers = range(index + 1 - len(parts), begin + 1)
        leaks = tuple(leak for leak in found if leak.line in numbers)
        if leaks:
            asked = exchange[0].get("operation") or exchange[0].get("method")
            left_out.append(LeftOut(number, str(asked), leaks))
            continue
        here = [
            replace(leak, line=leak.line + len(parts) + len(written) - index) for leak in masked if leak.line in numbers
        ]
        call, *answer = with_faults(exchange)
        masks = list(dict.fromkeys([*call.get("masked", ()), *map(str, here)]))
        call = before_request(call, {"masked": masks}) if masks else call
        written += [*parts, call | {"call": number + 1 - len(left_out)}, *answer]
        places += here
    return SafeLines(written, tuple(places), tuple(left_out))


def said_of_masked(masked: Sequence[Leak], where: object) -> str:
    """Return the report about masked secrets in the file `where`; empty if there are none."""
    listed = _listed([f"  {where}:{leak.line}: {leak}" for leak in masked])
    return f"{where} has *** in the place of {_secrets(len(masked))}:\n{listed}" if masked else ""


def said_of_kept_files(writer: SessionWriter, where: object) -> str:
    """Return what to say of the files in requests that are kept beside the file `where`; empty if there are none."""
    requests = [(line, by_digest(line)) for line in writer.written.lines if writer.keep_files and "request" in line]
    kept = sum(len(digests_in(named["request"])) - len(digests_in(line["request"])) for line, named in requests)
    many = counted(kept, "file in its requests is kept", "files in its requests are kept")
    return f"{where}: {many}; {_UNSEARCHED}" if kept else ""


def said_of_left_out(safe: SafeLines, where: object) -> str:
    """Return the report about exchanges left out of the file `where`; empty if there are none."""
    if not safe.left_out:
        return ""
    places = [f"  call {each.number + 1}, {each.asked}: {leak}" for each in safe.left_out for leak in each.leaks]
    wrote = any("call" in line for line in safe.lines)
    missing = counted(len(safe.left_out), "exchange")
    first = f"{where} was written without {missing}" if wrote else f"{where} was not written"
    last = "" if wrote else "What was there before is as it was. "
    held = f"{_secrets(len(places))} that cannot be masked there"
    encoded = _ENCODED if any(leak.form for each in safe.left_out for leak in each.leaks) else ""
    return f"{first}, for it would hold {held}:\n{_listed(places)}\n{last}{_ADVICE}{encoded}"


def _secrets(count: int) -> str:
    return "a secret" if count == 1 else f"{count} secrets"


def _listed(places: list[str]) -> str:
    return "\n".join(and_more(places, _SHOWN, "  and {} more"))


def header() -> Line:
    """Make the header line of a recording. Its member `recorded` is the current time."""
    return _header({"recorded": as_text(datetime.now(UTC))})


def imported_header(answered: datetime | None) -> Line:
    """Make the header line of an imported recording. `answered` is the time of its first answer, if that is known."""
    recorded = {} if answered is None else {"recorded": as_text(answered)}
    return _header({**recorded, "imported": as_text(datetime.now(UTC))})


def as_text(time: datetime) -> str:
    """Return a time as the header of a recording has it: in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _header(times: Line) -> Line:
    return {
        "format": FORMAT,
        "version": VERSION,
        **times,
        "by": f"converse-harness {_version('converse-harness')}",
        "botocore": _version("botocore"),
    }


@cache
def _version(package: str) -> str:
    return version(package)  # it reads the package's metadata, which takes a millisecond


def text_of(lines: Iterable[Line]) -> str:
    """Return the text of a file that contains these lines."""
    return "".join(f"{dump(line)}\n" for line in lines)


def write(path: Path, content: str | bytes) -> None:
    """Replace a file by this content, atomically. Raises OSError; then no partial file is left behind.

    The file gets the usual permissions of a new file, not those of a temporary file, which other users cannot read.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.name}.{token_hex(4)}.part")
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            _remove_abandoned(path.parent, os.fstat(file.fileno()).st_mtime - _ABANDONED)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):  # if this fails, too, the original error is more informative
            os.unlink(name)
        raise


_PART: Final = re.compile(r"\..+\.[0-9a-f]{8}\.part")
_ABANDONED: Final = 60.0
"""The age in seconds from which a partial file counts as abandoned, because its writer was killed."""


def _remove_abandoned(folder: Path, before: float) -> None:
    """Remove partial files that were last modified before `before`, in seconds of the file system's clock."""
    # An error does no harm: another writer may have removed the file already, or its removal may be forbidden.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if _PART.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry)


def store(path: Path, lines: Sequence[Line]) -> str:
    """Write lines to a file, and the media in these lines to files beside it. Return the text of the file.

    The lines must not contain secrets. Raises OSError; then the old file is unchanged, and no new file is left behind.
    """
    lines, files = set_aside(lines, path)
    text = text_of(written_once(lines))
    new: list[Path] = []
    try:
        for name, data in files.items():
            place = path.parent / name
            if not place.exists():
                new.append(place)
            elif place.read_bytes() == data:
                continue
            write(place, data)
        write(path, text)
    except BaseException:
        for place in new:
            with suppress(OSError):  # if this fails, too, the original error is more informative
                place.unlink(missing_ok=True)
                place.parent.rmdir()
        raise
    return text


_UNANSWERED: Final = HttpResponse(0, (), ())


@dataclass(frozen=True, slots=True)
class ForwardedExchange(Exchange):
    """A call forwarded to the real service. The transport fills in `captured` and reports the end of the call."""

    call: Call
    captured: CapturedExchange
    response: HttpResponse = _UNANSWERED
    """Always empty, because the real service sends the answer."""
    taken: SentChunks = field(default_factory=SentChunks)
    """Always empty, because `captured` contains the sent chunks."""
    journal: Journal | None = None

    def ended(self, outcome: CallOutcome) -> None:
        """Store how the answer ended, and add it to the journal; only the first call of this method counts."""
        if self.call.answered.outcome == "still running":
            self.captured.running = False  # first, because the live page reads nothing of a call that is over
            self.call.answered.end(outcome)
            self.call.release()
            if self.journal is not None:
                self.journal.add(self.captured)


def lines_to_write(captured: CapturedExchange, number: int, *, keep_files: bool) -> list[Line]:
    """Return the lines of an exchange, before secrets are masked. Without `keep_files`, files in its request are
    digests.
    """
    made = exchange_lines(captured, number)
    return made if keep_files else list(map(by_digest, made))


class _CapturedAnswer(ForwardedAnswer):
    """Reads a captured answer, again only after more data has arrived. It must not refer to the call."""

    __slots__ = ("_captured", "_number", "_read")

    def __init__(self, captured: CapturedExchange, number: int) -> None:
        self._captured = captured
        self._number = number
        self._read: tuple[tuple[object, ...], ForwardedCall] | None = None

    def so_far(self) -> ForwardedCall:
        """Return the part of the answer that the client has received."""
        captured = self._captured
        arrived = captured.status, len(captured.pieces), captured.running
        read = self._read
        if read is None or read[0] != arrived:
            read = self._read = arrived, _forwarded(captured, self._number)
        return read[1]


class Forwarding(Stage):
    """Forwards the calls that nothing else answers to the real service, and records them with a SessionWriter."""

    position = "after the script"
    answers_refused = True

    def __init__(self, writer: SessionWriter, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._writer = writer

    def source(self, call: Call) -> ForwardedExchange:
        """Forward the call."""
        return self._writer.forward(call)

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """If Bedrock will refuse a forwarded call, and the test expects this, the refusal is only seen."""
        if call.refusal is not None and call.of(ForwardedAnswer) is not None:
            self.endpoint.wants(call, call.refusal)


AnyExchange = AnsweredExchange | ForwardedExchange
"""A call that the fake answers, or a call that is forwarded to the real service."""


@dataclass(slots=True, eq=False)
class SessionWriter:
    """The forwarded calls of a session and their answers. Several threads may use one writer at the same time.

    `save` replaces the content of `path` by the exchanges in `before` and the captured exchanges. It may be called any
    number of times. `header` makes the first line. If `keeps` is true, `before` contains the exchanges of the old file;
    `save` first reads them again, because another process may have added some. `redaction` makes the replacements. If
    neither `keeps` nor `exact` is true, `save` keeps an old line where the new line differs from it only in padding,
    times or ids. If `keep_files` is true, files in requests are kept beside the recording, otherwise their digests. The
    `journal` gets each exchange when it ends.
    """

    path: Path
    before: tuple[RecordedExchange, ...] = ()
    keeps: bool = False
    redaction: Redaction = field(default_factory=Redaction)
    captured: list[CapturedExchange] = field(default_factory=list[CapturedExchange])
    exact: bool = False
    header: Callable[[], Line] = header
    keep_files: bool = False
    written: SafeLines = field(default_factory=lambda: SafeLines([]))
    """The result of the last save: lines, places of masks, and exchanges left out."""
    journal: Journal | None = None
    _own: Counter[str] = field(default_factory=Counter[str])
    """The exchanges, as text, that this writer added to a file when `keeps` is true."""
    _replaced: dict[Path, list[Line]] = field(default_factory=dict[Path, list[Line]])
    """Maps the path of each replaced file to the lines that the file contained before the first save."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self._folder = self.path.parent.absolute()  # the recorded code may change the current folder

    def forward(self, call: Call) -> ForwardedExchange:
        """Register a call that will be forwarded."""
        captured = CapturedExchange(call.request, call.operation, running=True, service=call.service)
        with self._lock:
            self.captured.append(captured)
        call.keep(CapturedExchange, captured)
        call.keep(ForwardedAnswer, _CapturedAnswer(captured, call.number))
        return ForwardedExchange(call, captured, journal=self.journal)

    def lines(self) -> SafeLines:
        """Return the redacted lines of the file: the header, the exchanges in `before`, and the captured exchanges.

        An unfinished answer is included as far as it has arrived; a call without any answer is left out.
        """
        lines = [self.header(), *(line for exchange in self.before for line in exchange.lines())]
        kept = len(lines)
        for number, captured in enumerate(self.answered, len(self.before) + 1):
            lines += lines_to_write(captured, number, keep_files=self.keep_files)
        return safe_lines(lines, self.redaction, kept)

    @property
    def left_out(self) -> list[CapturedExchange]:
        """The exchanges that the last save left out because of a secret."""
        answered = self.answered
        return [answered[each.number - len(self.before)] for each in self.written.left_out]

    @property
    def answered(self) -> list[CapturedExchange]:
        """The captured exchanges with an answer."""
        return [captured for captured in self.captured if captured.answered]

    def save(self, path: Path | None = None) -> None:
        """Write the session to `path`, by default to the session's own file. Without an exchange, write nothing.

        A relative path is the name of a file in the folder of the session's own file.

        Raises OSError, or DamagedRecording if `keeps` is true and the old file is invalid; then the old file is
        unchanged. If exchanges are left out because of a secret, raises SecretFound after the other exchanges are
        written.
        """
        given = path or self.path
        path = given if given.is_absolute() else self._folder / given.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked_folder(path.parent):
            keeps = self.keeps and given == self.path
            if keeps and path.exists():
                self.before = _without(read(path).exchanges, self._own)
            self.written = safe = self.lines()
            if any("call" in line for line in safe.lines):
                text = store(path, safe.lines if keeps else self._with_kept(path, safe.lines))
                self.written = _as_it_stands(safe, text)
                if keeps:
                    self._own = Counter(map(_unnumbered, parse(text, path).exchanges[len(self.before) :]))
        if safe.left_out:
            raise SecretFound(said_of_left_out(safe, given))

    def _with_kept(self, path: Path, lines: list[Line]) -> list[Line]:
        """Return the lines to write to the file at `path`: an old line where the new line is equivalent, otherwise the
        new line.

        The old lines are those from before the first save.
        """
        if self.exact:
            return lines
        if path not in self._replaced:
            self._replaced[path] = _lines_in(path)
        return with_kept(self._replaced[path], lines)


def _lines_in(path: Path) -> list[Line]:
    """Return the lines of a recording; an empty list for any other file."""
    try:
        session = read(path, legal=False)
    except (OSError, DamagedRecording):
        return []
    return [session.header, *(line for exchange in session.exchanges for line in exchange.lines())]


def _as_it_stands(safe: SafeLines, text: str) -> SafeLines:
    """Return a copy of `safe` in which the places of masked secrets have the line numbers of the written file.

    `text` is the content of this file. It has additional lines for parts, so the line numbers are higher than in
    `safe`.
    """
    if not safe.masked:
        return safe
    numbers = [number for number, row in enumerate(text.split("\n"), 1) if not row.startswith('{"part"')]
    return safe._replace(masked=tuple(replace(leak, line=numbers[leak.line - 1]) for leak in safe.masked))


def _without(exchanges: tuple[RecordedExchange, ...], own: Counter[str]) -> tuple[RecordedExchange, ...]:
    """Return the exchanges that other writers wrote. `own` counts this writer's exchanges by their texts from
    `_unnumbered`.

    If several exchanges are equal, the last of them count as exchanges of this writer.
    """
    left, others = own.copy(), list[RecordedExchange]()
    for exchange in reversed(exchanges):
        text = _unnumbered(exchange)
        if left[text]:
            left[text] -= 1
        else:
            others.append(exchange)
    return tuple(reversed(others))


def _unnumbered(exchange: RecordedExchange) -> str:
    """Return the text of an exchange, without its number in the file."""
    call, *rest = exchange.lines()
    return text_of([call | {"call": 0}, *rest])


def _forwarded(captured: CapturedExchange, number: int) -> ForwardedCall:
    """Return the part of a forwarded answer that the client has received so far."""
    call, head, *rest = exchange_lines(captured, number)
    events = tuple(line for line in rest if "end" not in line)
    reply = reply_of(RecordedExchange(1, call, head, events))
    chunks = () if reply.plan.recorded is None else tuple(reply.plan.recorded.response.chunks)
    times = [line["t"] / 1000 for line in events if not line.get("joined")]
    taken = tuple(zip(chunks, times, strict=False)) if events else ()
    whole = _whole(reply.plan.body) if head.get("status") == 200 else None
    at = captured.pieces[-1][1] if captured.pieces else max(captured.head_at, captured.ended_at)
    return ForwardedCall(captured.status, taken, whole, _summary(reply) if captured.answered else "", at)


def _summary(reply: Reply) -> str:
    """Return a summary of a reply. For a complete stream, it describes the message, not the number of events."""
    if isinstance(reply.plan.body, EventsBody):
        with suppress(StreamOrderError):  # an incomplete stream has no message
            whole = assemble(reply.plan.body.events)
            return summarize_body(MessageBody(tuple(whole.message["content"]), whole.stop_reason))
    return reply.summary


def _whole(body: object) -> Assembled | None:
    if not isinstance(body, MessageBody):
        return None
    message = {"role": body.role, "content": list(body.content)}
    return Assembled(message, cast("StopReason", body.stop_reason), *map(body.options.get, OPTIONS))
