"""The mapping from paths to the fakes of a server, and the class of fakes that have their own URL."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, Self, Unpack, cast

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call, CallOutcome
from converse_harness.endpoint.script import Replies, Responder
from converse_harness.endpoint.stage import Stage
from converse_harness.intercept.clients import environ
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.intercept.fake import Fake
from converse_harness.notes import Note
from converse_harness.server.front_page import for_people
from converse_harness.settings import ONLY_SERVER, Settings, shows_settings
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import HttpResponse, Request
from converse_harness.stream.http_protocol import no_call

Mount = Callable[["ServerFake"], AbstractContextManager[object]]
"""A function that returns a context manager for a fake. In its `with` block, a server answers with this fake."""


class EndedAnswers(Stage):
    """Passes each call of a fake to a function when its answer has ended. The function must not block."""

    def __init__(self, on_ended: Callable[[Call], None], endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._on_ended = on_ended

    def ended(self, call: Call) -> None:
        """Pass on a call."""
        self._on_ended(call)


_LET_GO: Final = (
    "call 1 was let go: a fake of a server keeps its last {kept:,} calls, unless you choose another number. From now "
    "on, checks of all calls count only these, for instance {checks}. {choice}"
)


class LostCalls(Stage):
    """Makes a note when the fake lets go of its first call, because then checks of all calls see only a part.

    The stage is for fakes with the default of `keep_calls`, of which a test need not know.
    """

    def forgotten(self, call: Call) -> None:
        """Make the note about the first call. The others would repeat it."""
        if call.number == 1:
            kept, checks = self.endpoint.keep_calls, "len(fake.calls), fake.calls.tools_used and fake.cache"
            python = f"Open the fake with keep_calls=None to keep all of them, or with keep_calls={kept}."
            json = f'Open the fake with "keep_calls": null to keep all of them, or with "keep_calls": {kept}.'
            texts = (
                _LET_GO.format(kept=kept, checks=checks, choice=python),
                _LET_GO.format(kept=kept, checks="the list of calls", choice=json),
            )
            self.endpoint.notes.append(Note("calls_let_go", texts[0], call.number, texts[1]))


class ServerFake(Fake):
    """A fake Bedrock with its own URL on a ConverseServer. The fake answers every client that uses this URL.

    A ServerFake is open from the start. `close`, or the end of the `with` block, closes the fake and cuts the answers
    that are still running. It keeps fewer calls than other fakes, unless the setting `keep_calls` is given.
    """

    transport = "server"
    _made_by = "script"
    in_json = False
    """Whether the fake is scripted over the control API. Its problems are then worded for users of JSON."""

    @shows_settings(Settings, ONLY_SERVER)
    def __init__(self, url: str, mount: Mount, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        super().__init__(*replies, **cast("Settings", {**ONLY_SERVER, **settings}))
        if "keep_calls" not in settings:
            self.endpoint.add(LostCalls)
        self._url = url
        self.core.where = f" at {url}"
        self._stack.enter_context(mount(self))  # last: from here on other threads use the fake
        self._opened()

    @property
    def url(self) -> str:
        """The endpoint URL, for example for `boto3.client("bedrock-runtime", endpoint_url=fake.url)`."""
        return self._url

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables that direct clients to this fake, in this process or another.

        They are the endpoint variables of AWS's SDKs, the AI SDK and litellm, dummy keys, a region, and NO_PROXY:
        `subprocess.run(command, env={**os.environ, **fake.environ})`. With the setting `attempts`, AWS_MAX_ATTEMPTS is
        one of them.
        """
        attempts = {} if self.core.attempts is None else {"AWS_MAX_ATTEMPTS": str(self.core.attempts)}
        return {**environ(self._url, os.environ), **attempts}

    def answer(self, request: Request) -> TransportExchange:
        """Answer a request that the server received. The server calls this in a thread if the answer may be slow."""
        return self.core.exchange(request)

    def open(self) -> Self:
        """Do nothing: the fake is open from the start."""
        return self


_LOG: Final = logging.getLogger(__name__)

_CONTROL: Final = "/__converse"
"""The path prefix of the control API."""

_NO_FAKE_THERE: Final = (
    "no fake is open at {prefix} of this converse-harness server: it was closed, or the URL is not that of a fake "
    "(fake.url). Over HTTP, POST /__converse/fakes opens one."
)


@dataclass(frozen=True, slots=True)
class PlainExchange:
    """The exchange of a request that no fake answers. `on_end`, if any, is called when the answer has ended."""

    response: HttpResponse
    on_end: Callable[[], None] | None = None
    taken: SentChunks = field(default_factory=SentChunks)
    captured: None = field(default=None, init=False)
    """Always None, because the request is not forwarded."""

    def ended(self, outcome: CallOutcome) -> None:
        """Call `on_end`. The outcome is not kept."""
        if self.on_end is not None:
            self.on_end()


class MountedAnswer(NamedTuple):
    """The owner of an answer (a fake, or the Mounts if no fake answers), and the function `give` that makes the answer.

    If `slow` is true, the function must not run in the event loop. If `forwards` is true, the answer comes from an
    upstream service; the server's stop() does not wait for such an answer.
    """

    owner: object
    give: Callable[[], TransportExchange]
    """Makes and returns the exchange; never raises an exception."""
    slow: bool
    forwards: bool = False


@dataclass(frozen=True, eq=False)
class Mounts:
    """The open fakes of a server, by path prefix; they answer the requests to the server.

    The fake with the prefix "" answers all paths that no other fake answers. `control` answers requests to the control
    API, and `page` answers browsers that ask for a page.
    """

    control: Callable[[Request], TransportExchange]
    page: Callable[[Request], HttpResponse]
    fakes: dict[str, ServerFake] = field(default_factory=dict[str, ServerFake], init=False)

    def answer(self, request: Request) -> MountedAnswer:
        """Return who answers a request, and how. The fake gets the request without the prefix in the path."""
        prefix = "/" + request.target[1:].partition("/")[0].partition("?")[0]
        if prefix == _CONTROL:  # slow: the control API checks replies against AWS's service model
            return MountedAnswer(self, partial(_guarded, partial(self.control, request), []), slow=True)
        if (page := for_people(request, self.fakes, self.page)) is not None:
            give = partial(_guarded, lambda: PlainExchange(page()), [])
            # A request with a query may be for the page of calls, which takes long to import.
            return MountedAnswer(self, give, slow="?" in request.target)
        fake = self.fakes.get(prefix)
        if fake is not None:
            request = replace(request, target=request.target[len(prefix) :] or "/")
        elif (fake := self.fakes.get("")) is None:
            nobody = PlainExchange(no_call("UnknownOperationException", 404, _NO_FAKE_THERE.format(prefix=prefix)))
            return MountedAnswer(self, lambda: nobody, slow=False)
        give = partial(_guarded, partial(fake.answer, request), fake.endpoint.problems)
        return MountedAnswer(fake, give, slow=fake.core.runs_functions or fake.core.records, forwards=fake.core.records)


def _guarded(give: Callable[[], TransportExchange], problems: list[Exception]) -> TransportExchange:
    """Return the result of `give`. If it raises an Exception, add this to `problems` and return an error 500.

    Any other exception, such as SystemExit, comes from a function of the script: the Endpoint has added a problem for
    it. Return an error 400.
    """
    try:
        return give()
    except Exception as error:  # noqa: BLE001 - a bug of ours, or an error in a script
        _LOG.exception("converse-harness could not answer a request")
        problems.append(error)
        message = f"converse-harness could not answer: {type(error).__name__}: {error}"
        return PlainExchange(no_call("InternalServerException", 500, message))
    except BaseException as error:  # noqa: BLE001 - pytest.fail, sys.exit: in this thread they cannot end the test
        text = f"a function of the script ended with {type(error).__name__}: {error}"
        return PlainExchange(no_call("ValidationException", 400, text))
