"""`converse-harness record`: a proxy that forwards calls to Bedrock and records them, for programs in any language."""

from __future__ import annotations

import argparse
import errno
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

from converse_harness.cli.server_output import ADDRESS, Ended, announce, call_next, print_call, running
from converse_harness.cli.terminal import (
    BOLD,
    KEEP_FILES,
    REDACT,
    REDACT_ADVICE,
    Arguments,
    CommandFailed,
    UsageFailed,
    complain,
    redaction_of,
    say,
)
from converse_harness.endpoint.call import Call
from converse_harness.errors import ConverseHarnessError, SecretFound, TransportError
from converse_harness.features import functions_given, options_of
from converse_harness.recordings.record.write import SessionWriter, said_of_kept_files, said_of_masked
from converse_harness.server.listener import ConverseServer
from converse_harness.server.proxy import RecordingFake
from converse_harness.words import counted

_MODES: Final = {
    "all": "record everything anew",
    "new_episodes": "play what the file has, add what it has not",
}

DESCRIPTION: Final = (
    "Pass what clients ask on to Amazon Bedrock until Ctrl-C, live, and record it. What they sign is signed anew "
    "with the credentials of this environment (as boto3 finds them), or sent with AWS_BEARER_TOKEN_BEDROCK. FILE "
    "is written anew whenever a call has ended; its line is printed when it is on disk."
)
ARGUMENTS: Final[Arguments] = {
    "file": {
        "metavar": "FILE",
        "nargs": "?",
        "type": Path,
        "help": "the recording, recordings/weather.jsonl for instance",
    },
    "--upstream": {"metavar": "URL", "help": "pass calls on to this URL (default: Bedrock in the region)"},
    "--region": {"metavar": "REGION", "help": "the AWS region (default: that of the environment)"},
    **ADDRESS,
    "--mode": {
        "choices": _MODES,
        "default": "all",
        "help": f"{'; '.join(f'{name}: {meaning}' for name, meaning in _MODES.items())} (default: %(default)s)",
    },
    **REDACT,
    **KEEP_FILES,
    **options_of("record"),
}


def run(given: argparse.Namespace) -> int:
    """Record calls until the process is interrupted, or do what the option of a feature does.

    Raises CommandFailed if the proxy cannot start, or if the recording cannot be written.
    """
    for _, do_otherwise in functions_given("record", given):
        return int(do_otherwise(given))
    if given.file is None:
        raise UsageFailed("record: the following arguments are required: FILE")
    try:
        _record(given)
    except BrokenPipeError:
        raise  # `main` handles this error: the program that reads our stdout has closed the pipe
    except (ConverseHarnessError, OSError) as error:
        raise CommandFailed(_what(given.file, error)) from error


def _record(given: argparse.Namespace) -> NoReturn:
    path: Path = given.file
    redaction = redaction_of("record", given.redact)
    _check_writable(path)
    server = ConverseServer(host=given.host, port=given.port)
    fake: RecordingFake | None = None
    ended = Ended()

    def print_saved(call: Call, failure: Exception | None) -> None:
        if failure is not None:
            complain("record", f"{_what(path, failure)} It is tried again with the next call.")
        print_call(call)

    try:
        with running(server, "record", ended):
            _check_upstream(server.url, given.upstream or "")
            fake = server.record_all(
                path,
                upstream=given.upstream,
                region=given.region,
                mode=given.mode,
                redaction=redaction,
                keep_files=given.keep_files,
                on_saved=lambda call, failure: ended.put(partial(print_saved, call, failure)),
            )
            server.start()
            announce("Recording", server, fake.environ, f"Calls go on to {fake.upstream} and are written to {path}")
            while True:
                call_next(ended)
    except BaseException as error:
        # After Ctrl-C or SIGTERM, unless the recording could not be saved; then `error` is the failure.
        if fake is not None and fake.core.writer is not None and not isinstance(error, Exception):
            say(_written(path, fake.core.writer), BOLD)
            masked = said_of_masked(fake.core.writer.written.masked, path)
            for line in (*masked.splitlines(), *said_of_kept_files(fake.core.writer, path).splitlines()):
                say(line)
        raise


def _check_upstream(own: str, upstream: str) -> None:
    with suppress(ValueError):  # record_all() raises an error for an invalid URL
        here, there = urlsplit(own), urlsplit(upstream)
        names = (here.hostname, "localhost") if here.hostname in ("127.0.0.1", "::1") else (here.hostname,)
        if there.port == here.port and there.hostname in names:
            raise TransportError(
                f"{upstream} is where the proxy itself listens; give the URL that it is to pass calls on to"
            )


def _check_writable(path: Path) -> None:
    """Create the recording's folder, and raise OSError if the recording cannot be written.

    This happens before the proxy starts, so that the error appears at once and not after the first call.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number = errno.EISDIR if path.is_dir() else 0 if os.access(path.parent, os.W_OK | os.X_OK) else errno.EACCES
    if number:
        raise OSError(number, os.strerror(number))


def _what(path: Path, error: Exception) -> str:
    if isinstance(error, SecretFound):
        return f"{error} {REDACT_ADVICE}"
    if isinstance(error, OSError):
        return f"{path} cannot be written: {error.strerror or error}."
    return str(error)


def _written(path: Path, writer: SessionWriter) -> str:
    made = len(writer.answered) - len(writer.left_out)
    if not made:
        return f"Nothing came that could be recorded; {path} {'is as it was' if path.exists() else 'was not written'}."
    total = f", which has {made + len(writer.before)} now" if writer.before else ""
    unanswered = len(writer.captured) - len(writer.answered)
    left_out = f" Not in it: {counted(unanswered, 'call')} without an answer yet." if unanswered else ""
    return f"{counted(made, 'exchange')} {'added' if writer.before else 'written'} to {path}{total}.{left_out}"
