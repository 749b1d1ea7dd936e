"""`converse-harness record`: a proxy that forwards calls to Bedrock and records them, for programs in any language."""

from __future__ import annotations

import argparse
import errno
import os
import queue
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn, TextIO, Unpack
from urllib.parse import urlsplit

from converse_harness.cli.serve import TERMINATED, Terminated, start, terminated_by_signal
from converse_harness.cli.terminal import BOLD, RED, Printer, add_address, add_redact, address_of, redaction_of, serving
from converse_harness.endpoint.call import Call
from converse_harness.errors import ConverseHarnessError, SecretFound, TransportError
from converse_harness.recordings.safe import said_of_masked
from converse_harness.recordings.write import SessionWriter
from converse_harness.server.listener import ConverseServer
from converse_harness.server.proxy import Options, RecordingFake

_MODES: Final = {
    "all": "record everything anew",
    "new_episodes": "play what the file has, add what it has not",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `record`."""
    parser.description = (
        "Pass what clients ask on to Amazon Bedrock until Ctrl-C, live, and record it. What they sign is signed anew "
        "with the credentials of this environment (as boto3 finds them), or sent with AWS_BEARER_TOKEN_BEDROCK. FILE "
        "is written anew whenever a call has ended; its line is printed when it is on disk."
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the recording, recordings/weather.jsonl for instance")
    parser.add_argument("--upstream", metavar="URL", help="pass calls on to this URL (default: Bedrock in the region)")
    parser.add_argument("--region", metavar="REGION", help="the AWS region (default: that of the environment)")
    add_address(parser)
    modes = "; ".join(f"{name}: {meaning}" for name, meaning in _MODES.items())
    parser.add_argument("--mode", choices=_MODES, default="all", help=f"{modes} (default: %(default)s)")
    add_redact(parser)


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Record until interrupted; return the exit code."""
    options: Options = {
        "upstream": given.upstream,
        "region": given.region,
        "mode": given.mode,
        "redaction": redaction_of(parser, given),
    }
    return _record(given.file, out=sys.stdout, err=sys.stderr, **address_of(given), **options)


_ITSELF: Final = "{url} is where the proxy itself listens; give the URL that it is to pass calls on to"
_UNWRITABLE: Final = "{path} cannot be written: {problem}."
_AGAIN: Final = "It is tried again with the next call."
_REDACT: Final = "Here that is --redact 'PATTERN => REPLACEMENT'."


@dataclass(slots=True)
class _Session:
    """One run of the command."""

    path: Path
    printer: Printer
    complaints: Printer
    ended: queue.SimpleQueue[tuple[Call, Exception | None]] = field(
        default_factory=queue.SimpleQueue[tuple[Call, Exception | None]]
    )

    def on_saved(self, call: Call, failure: Exception | None) -> None:
        """Called when a call has ended, from any thread."""
        self.ended.put((call, failure))

    def follow(self) -> NoReturn:
        """Print events as they happen; never returns."""
        while True:
            self._tell(*self.ended.get())

    def end(self, server: ConverseServer, fake: RecordingFake | None) -> None:
        """Stop, and print what was written to disk. Raises the error that prevents writing."""
        try:
            server.stop()
        finally:
            while not self.ended.empty():
                self._tell(*self.ended.get())
        if fake is not None and fake.writer is not None:
            self.printer.say(_written(self.path, fake.writer), BOLD)
            for line in said_of_masked(fake.writer.written.masked, self.path).splitlines():
                self.printer.say(line)

    def _tell(self, call: Call, failure: Exception | None) -> None:
        if failure is not None:
            self.complaints.say(f"converse-harness record: {_what(self.path, failure)} {_AGAIN}", RED)
        self.printer.call("", call)


def _record(path: Path, *, host: str, port: int, out: TextIO, err: TextIO, **options: Unpack[Options]) -> int:
    """Record into a file until interrupted, and return the exit code.

    It is 1 if the proxy cannot start or the recording cannot be written, 143 if terminated.

    Raises KeyboardInterrupt.
    """
    session = _Session(path, Printer(out), Printer(err))
    server = ConverseServer(host=host, port=port)
    fake: RecordingFake | None = None
    try:
        with terminated_by_signal():
            try:
                _check_writable(path)
                start(server, err, "record")
                _check_upstream(server.url, options.get("upstream") or "")
                options["on_saved"] = session.on_saved
                fake = server.record_all(path, **options)
                what = f"{fake.upstream} into {path}"
                for number, line in enumerate(serving(what, server.url, fake.environ, "Recording")):
                    session.printer.say(line, "" if number else BOLD)
                session.follow()
            finally:
                session.end(server, fake)
    except BrokenPipeError:
        raise  # of our output, which has a reader no longer
    except (ConverseHarnessError, OSError) as error:
        session.complaints.say(f"converse-harness record: {_what(path, error)}", RED)
        return 1
    except Terminated:
        return TERMINATED


def _check_upstream(own: str, upstream: str) -> None:
    try:
        here, there = urlsplit(own), urlsplit(upstream)
        names = (here.hostname, "localhost") if here.hostname in ("127.0.0.1", "::1") else (here.hostname,)
        itself = there.port == here.port and there.hostname in names
    except ValueError:
        return  # it is refused where it is looked at
    if itself:
        raise TransportError(_ITSELF.format(url=upstream))


def _check_writable(path: Path) -> None:
    """Create the folder. Raises OSError if a recording could not be written there: better now than after the calls."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = errno.EISDIR if path.is_dir() else 0 if os.access(path.parent, os.W_OK | os.X_OK) else errno.EACCES
    if number:
        raise OSError(number, os.strerror(number))


def _what(path: Path, error: Exception) -> str:
    if isinstance(error, SecretFound):
        return f"{error} {_REDACT}"
    if isinstance(error, OSError):
        return _UNWRITABLE.format(path=path, problem=error.strerror or error)
    return str(error)


def _written(path: Path, writer: SessionWriter) -> str:
    made = len(writer.answered) - len(writer.left_out)
    if not made:
        return f"Nothing came that could be recorded; {path} {'is as it was' if path.exists() else 'was not written'}."
    total = f", which has {made + len(writer.before)} now" if writer.before else ""
    unanswered = len(writer.captured) - len(writer.answered)
    left_out = f" Not in it: {_counted(unanswered, 'call')} without an answer yet." if unanswered else ""
    return f"{_counted(made, 'exchange')} {'added' if writer.before else 'written'} to {path}{total}.{left_out}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
