"""`record`: record a session with the real service to a file, without pytest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from converse_harness.errors import JournalWarning, MaskedSecretWarning, ReplyError, one_of
from converse_harness.intercept.httpx.transports import library_of, recording_transport
from converse_harness.intercept.in_process import InProcessFake, check_parentheses
from converse_harness.recordings.names import FAILED, MODES, Failed, Mode
from converse_harness.recordings.play.matching import Match, MatchFunction
from converse_harness.recordings.redaction import Redaction
from converse_harness.recordings.session import (
    MissingRecording,
    OpenedRecording,
    begin_journal,
    open_session,
    save_or_set_aside,
)
from converse_harness.settings import Settings, shows_settings


class Recorder(InProcessFake):
    """A fake that forwards calls to the real Bedrock. When it closes, it writes the calls and their answers to a file.

    Use it in `with`, in `async with` or as a decorator. The decorator makes a new recording for every call of the
    function. Calls that the script answers are not recorded. `path` is the path of the file. `saved` is the path of the
    file that was written; it is None before the recorder is closed, and if nothing was written.
    """

    _made_by = "record"

    @shows_settings(Settings)
    def __init__(
        self,
        path: str | Path,
        session: Callable[[Path], OpenedRecording],
        failed: Failed,
        upstream: str,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        self.path = Path(path)
        self.saved: Path | None = None
        self._options = session, failed, upstream
        self._kept = True

    def _fresh(self, test: str = "") -> Recorder:
        """Create a recorder with the same settings.

        `test` is the name of a test method of a decorated class; it becomes part of the file's name.
        """
        path = self.path.with_name(f"{self.path.stem}.{test}{self.path.suffix}") if test else self.path
        return Recorder(path, *self._options, **self._made[1])

    def httpx_transport(self, inner: Any) -> Any:
        """Return a transport for one httpx client. It sends all requests over `inner` and records them.

        `inner` is any transport of httpx or httpx2. If the new transport is closed, `inner` is closed too. For example:
        `httpx.Client(transport=recorder.httpx_transport(httpx.HTTPTransport()))`.
        """
        return recording_transport(library_of(inner), self.core, inner)

    def httpx_async_transport(self, inner: Any) -> Any:
        """Return a transport as `httpx_transport` does, for one `AsyncClient` on asyncio or trio."""
        return recording_transport(library_of(inner), self.core, inner, "handle_async_request")

    @contextmanager
    def _transport(self) -> Generator[None, None, None]:
        session, _, self._upstream = self._options
        try:
            played, self.core.writer = session(self.path)
        except MissingRecording as error:
            raise ReplyError(f'{error} Make it: record({str(self.path)!r}, mode="once").') from error
        self._kept, self.saved = False, None
        if played is not None:
            self.endpoint.script.add([played])
        with ExitStack() as opening:
            if self.core.writer is not None:
                opening.callback(self._forget)
                for text in begin_journal(self.core.writer):
                    warnings.warn(f"record({str(self.path)!r}): {text}", JournalWarning, stacklevel=6)  # the `with`
            with super()._transport():
                opening.pop_all()
                yield

    def _forget(self) -> None:
        """Remove the journal of a recorder that could not open."""
        self._kept = True
        if self.core.writer is not None and self.core.writer.journal is not None:
            self.core.writer.journal.close()

    def close(self) -> None:
        """Stop forwarding calls, and write the file. Closing a closed recorder does nothing.

        Raises ReplyError if the file cannot be written.
        """
        self._finish(None)

    def _finish(self, error: BaseException | None) -> None:
        """Close the recorder and write the file.

        `error` is the exception that the `with` block raised, if any. Messages about the file are added to `error` as
        notes. If it is None, ReplyError is raised for a problem, and MaskedSecretWarning is issued for masked secrets.
        """
        __tracebackhide__ = True
        super().close()
        if self.core.writer is None or self._kept:
            return
        passed = error is None and not self.failures()
        kept = save_or_set_aside(self.core.writer, passed=passed, failed=self._options[1])
        self.saved, self._kept = kept.path, True
        for text in filter(None, (kept.problem, kept.masked)):
            said = f"record({str(self.path)!r}): {text}"
            if error is not None:
                error.add_note(said)
            elif text == kept.problem:
                raise ReplyError(said)
            else:
                warnings.warn(said, MaskedSecretWarning, stacklevel=3)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        __tracebackhide__ = True
        self._finish(error)
        super().__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<Recorder, {self._state}, {len(self.endpoint.calls)} calls to {self.path}>"


@shows_settings(Settings)
def record(
    path: str | Path,
    *,
    mode: Mode = "all",
    match: Match | MatchFunction = "shape",
    pace: float | str = 0.0,
    ignore: Collection[str] = (),
    failed: Failed = "aside",
    upstream: str = "",
    redaction: Redaction | None = None,
    keep_files: bool = False,
    **settings: Unpack[Settings],
) -> Recorder:
    """Record the calls of boto3, aiobotocore, httpx and aiohttp clients.

    Use it in `with`, in `async with` or as a decorator. The calls go to the real Bedrock, with real credentials, and
    clients receive the answers as they arrive. Calls of httpx, httpx2 and aiohttp clients are recorded if they go to a
    Bedrock host, or to `upstream`, a URL that replaces Bedrock. For clients of httpx and httpx2 that call other hosts,
    use the recorder's methods `httpx_transport` and `httpx_async_transport`.

    `mode` is "all" (record everything and replace the file), "new_episodes" (play the calls that match, record all
    others), "once" (record if there is no file) or "none" (only play). `match`, `pace` and `ignore` have the same
    meaning as in `recording`. `failed` decides where a session is saved if the block raises or the fake has problems:
    "aside" (for `trip.jsonl`: in `trip.failed.jsonl`), "write" (in the file) or "drop" (nowhere). Account ids and the
    signatures of URLs are always replaced; `redaction` contains further replacements. Any other secret is replaced by
    `***`, and a MaskedSecretWarning names the place. An exchange with a secret that cannot be masked is left out.
    Of the images, documents, videos and audio in requests, only length and SHA-256 are recorded. If `keep_files` is
    true, they are kept in files beside the recording. Further settings are those of a Fake.

    A call that is still running when the recorder closes may end normally. The file contains the part of its answer
    that had arrived, marked as closed by the client. If the answer had not begun, the file does not contain the call.
    While the recorder is open, each call that has ended is in a journal: for `trip.jsonl` in `trip.unfinished.jsonl`.
    The journal stays if the process is killed. If a journal was left, or cannot be written, a JournalWarning says so.

    `recording(path)` plays the file. Raises ReplyError for an invalid argument, if another process records the same
    file, if an exchange was left out, and if the file cannot be written; the message then contains the path of the
    saved copy.

    >>> import boto3, os, tempfile
    >>> from converse_harness import ConverseServer, fake_converse, record, recording
    >>> from converse_harness import reply
    >>> file = os.path.join(tempfile.mkdtemp(), "hello.jsonl")
    >>> question = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "?"}]}]}
    >>> keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    >>> with ConverseServer() as server, server.script(reply.text("hi")) as service, record(file) as recorder:
    ...     client = boto3.client("bedrock-runtime", endpoint_url=service.url, **keys)
    ...     recorded = client.converse(**question)["output"]
    >>> with fake_converse(recording(file)):
    ...     boto3.client("bedrock-runtime").converse(**question)["output"] == recorded
    True
    """
    check_parentheses(path, "record")
    mode = one_of("mode", mode, MODES)
    session = partial(
        open_session, mode=mode, match=match, pace=pace, ignore=ignore, redaction=redaction, keep_files=keep_files
    )
    return Recorder(path, session, one_of("failed", failed, FAILED), upstream, **settings)
