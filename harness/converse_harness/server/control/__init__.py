"""The control API, which tests in any language use over HTTP. It does no I/O itself: the server passes requests to it.

This module has the table of routes. `reading.py` checks headers and parses bodies. `vocabulary.py` defines the JSON
form of replies and scripts, and `arguments.py` converts their arguments. `patterns.py` searches with regular
expressions. `openapi.json` describes the API for people and code generators; tests keep the description and the code
consistent.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import shake_256
from importlib.resources import files
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, Unpack, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from converse_harness import bedrock
from converse_harness.endpoint.call import CONVERSATIONS, Call, Calls
from converse_harness.endpoint.script import describe
from converse_harness.errors import ConverseHarnessError, ReplyError, UnusedReplies, json_text
from converse_harness.features import routes_of_fake
from converse_harness.json_values import is_deeper, member_of, object_of, objects_of
from converse_harness.secrets.mask import mask
from converse_harness.server.control import reading
from converse_harness.server.control.reading import ControlRefused, known, to_bytes
from converse_harness.server.control.vocabulary import SCRIPTING, read_scripting, read_settings
from converse_harness.server.mounts import ServerFake
from converse_harness.settings import Settings, check_settings
from converse_harness.stream.http import HttpResponse, Request, error_response, json_response


class Fakes(Protocol):
    """The methods of a server that the control API needs."""

    def script(self, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake with these settings."""
        ...

    @property
    def fakes(self) -> Iterable[ServerFake]:
        """The fakes that are open. A fake that is closed is no longer among them."""
        ...


@dataclass(frozen=True, slots=True)
class ControlApi:
    """The control API of a server; `openapi.json` beside this file describes it.

    A request that is refused changes nothing, and its answer is an error in the form of AWS's errors.
    """

    server: Fakes
    hosts: frozenset[str] = frozenset()
    """Host names that the control API accepts in the header `Host`, besides those of the loopback."""

    def answer(self, request: Request) -> HttpResponse:
        """Answer one request to the control API. The server adds the header `Date` to the response."""
        digest = shake_256(f"{request.method} {request.target}".encode()).digest(16)
        request_id = str(uuid.UUID(bytes=digest, version=4))
        try:
            reading.check_caller(request, self.hosts)
            handler, named = _routed(request)
            reading.check_json(request)
            status, value = handler(self, request, named)
        except ReplyError as error:
            refused = error if isinstance(error, ControlRefused) else ControlRefused(json_text(error))
            response = error_response(refused.error, refused.status, to_bytes({"message": str(refused)}), request_id)
            return replace(response, headers=(*response.headers, *refused.headers))
        body = value if isinstance(value, bytes) else to_bytes(value)
        return replace(json_response(body, request_id), status=status)

    def open_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Open a fake with the settings and the script in the request body."""
        body = reading.parse(request.body)
        settings, scripting = read_settings(body), read_scripting(body)
        try:
            check_settings(settings)
            fake = self.server.script(**cast("Settings", settings))
            fake.in_json = True
        except ReplyError as error:
            raise ControlRefused(json_text(error)) from error
        try:
            for part in scripting:
                part.apply(fake)
        except BaseException:
            fake.close()  # the client gets no id, so it could not close this fake
            raise
        return 201, {"id": id_of(fake), "url": fake.url, "environ": fake.environ}

    def list_fakes(self, request: Request, id: str) -> tuple[int, object]:
        """Return the state of every open fake."""
        return 200, {"fakes": [_fake_json(id_of(fake), fake) for fake in self.server.fakes]}

    def read_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Return the state of one fake."""
        return 200, _fake_json(id, self.fake(id))

    def close_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Close a fake, and return the problems that must fail the test.

        With `failed=true` in the query, the test has failed already; unused replies are then not among the problems.
        """
        fake, failed = self.fake(id), _query(request, ["failed"]).get("failed", "false")
        if failed not in ("true", "false"):
            raise ControlRefused(
                f"failed in the query is {failed!r}; it must be true or false: whether the test failed."
            )
        fake.close()
        failures = [each for each in fake.failures() if failed == "false" or not isinstance(each, UnusedReplies)]
        problems = [problem_text(each) for each in failures]
        return 200, {"ok": not failures, "unused": _unused(fake), "problems": problems, "notes": _notes(fake)}

    def script_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Add the replies in the request body to a fake's script."""
        fake = self.fake(id)
        body = reading.parse(request.body)
        known(body, SCRIPTING, "")
        for part in read_scripting(body):
            part.apply(fake)
        return 200, _fake_json(id, fake)

    def list_calls(self, request: Request, id: str) -> tuple[int, object]:
        """Return a part of the list of a fake's calls; parameters in the query select the part."""
        query = _query(request, [*_PAGE, _OPERATION])
        after, limit = _page(query)
        calls = self.fake(id).calls
        kept = calls.all
        there = [call for call in _selected(query.get(_OPERATION), calls) if call.number > after]
        page = there[:limit]
        return 200, {
            "calls": [_call_json(call) for call in page],
            "next": page[-1].number if len(page) < len(there) else None,
            "received": _dropped(kept) + len(kept),
            "dropped": _dropped(kept),
        }

    def describe_api(self, request: Request, id: str) -> tuple[int, object]:
        """Return the OpenAPI description of the control API."""
        return 200, openapi()

    def fake(self, id: str) -> ServerFake:
        """Return an open fake. Raises ControlRefused if none has this id."""
        fakes = {id_of(fake): fake for fake in self.server.fakes}
        if id not in fakes:
            raise ControlRefused(
                f"no fake {id!r} is open; open: {', '.join(fakes) or 'none'}. It was closed, or never opened: "
                f"POST {FAKES} opens one and answers with its id.",
                404,
                "ResourceNotFoundException",
            )
        return fakes[id]


Handler = Callable[[ControlApi, Request, str], tuple[int, object]]


class _ControlRoute(NamedTuple):
    """An entry of the table of routes: `handler` handles the requests with this HTTP method and path."""

    method: str
    path: str
    handler: Handler


def _asking(name: str, told_by: Callable[[Any], object]) -> Handler:
    """Return a handler that answers with what a function of a feature tells of one fake."""

    def ask(api: ControlApi, request: Request, id: str) -> tuple[int, object]:
        _query(request, [])
        return 200, told_by(api.fake(id))

    ask.__name__ = name
    return ask


FAKES: Final = "/__converse/fakes"

ROOT: Final = "root"
"""The id of the fake at the server's own URL."""

ROUTES: Final = (
    _ControlRoute("POST", FAKES, ControlApi.open_fake),
    _ControlRoute("GET", FAKES, ControlApi.list_fakes),
    _ControlRoute("GET", f"{FAKES}/{{id}}", ControlApi.read_fake),
    _ControlRoute("DELETE", f"{FAKES}/{{id}}", ControlApi.close_fake),
    _ControlRoute("POST", f"{FAKES}/{{id}}/script", ControlApi.script_fake),
    _ControlRoute("GET", f"{FAKES}/{{id}}/calls", ControlApi.list_calls),
    _ControlRoute("GET", "/__converse/openapi.json", ControlApi.describe_api),
    *(
        _ControlRoute(method, f"{FAKES}/{{id}}{path}", _asking(name, told_by))
        for method, path, name, told_by in routes_of_fake()
    ),
)


_UNKNOWN: Final = "UnknownOperationException"

_DIGITS: Final = 18

_PAGE: Final[Mapping[str, tuple[int, int, int]]] = {"after": (0, 0, 10**_DIGITS - 1), "limit": (500, 1, 1000)}
"""The query parameters of a request for calls, by name: the default, lowest and highest value of each."""

_OPERATION: Final = "operation"
"""The name of the query parameter that selects the calls of one operation, for example Converse."""


def id_of(fake: ServerFake) -> str:
    """Return the id of a fake, as in URLs of the control API: the last part of the fake's own URL.

    The fake at the server's own URL has the id ROOT.
    """
    return urlsplit(fake.url).path.strip("/") or ROOT


@lru_cache(maxsize=1)
def openapi() -> bytes:
    """Return the OpenAPI description as JSON."""
    return files("converse_harness.server.control").joinpath("openapi.json").read_bytes()


def _routed(request: Request) -> tuple[Handler, str]:
    """Return the function that handles a request, and the decoded id in the path; the id is empty if there is none.

    Raises ControlRefused if no route matches.
    """
    path = request.target.partition("?")[0]
    patterns = ((route, re.escape(route.path).replace(r"\{id\}", "(?P<id>[^/]*)")) for route in ROUTES)
    there = [(route, found) for route, pattern in patterns if (found := re.fullmatch(pattern, path))]
    for route, found in there:
        if route.method == request.method:
            return route.handler, unquote(found.groupdict().get("id", ""))
    if there:
        methods = ", ".join(route.method for route, _ in there)
        problem = f"{request.method} is no method of {there[0][0].path}; it has {methods}."
        raise ControlRefused(problem, 405, _UNKNOWN, (("Allow", methods),))
    paths = ", ".join(f"{route.method} {route.path}" for route in ROUTES)
    raise ControlRefused(f"{path} is no path of the control API. It has {paths}.", 404, _UNKNOWN)


def _query(request: Request, names: Sequence[str]) -> dict[str, str]:
    """Return the parameters in the query of a request. Raises ControlRefused for one that is not among `names`."""
    given = dict(parse_qsl(urlsplit(request.target).query, keep_blank_values=True))
    known(given, names, "the query")
    return given


def _page(query: Mapping[str, str]) -> list[int]:
    """Return the query parameters `after` and `limit`, which select calls.

    The list starts with the first call whose number is greater than `after`; it has at most `limit` calls. Raises
    ControlRefused for a value that is not allowed.
    """
    numbers: list[int] = []
    for name, (default, lowest, highest) in _PAGE.items():
        digits = query.get(name, str(default))
        if not (digits.isdecimal() and len(digits) <= _DIGITS and lowest <= int(digits) <= highest):
            raise ControlRefused(
                f"{name} in the query is {digits!r}; it must be a whole number from {lowest} to {highest}. Ask for "
                "the calls after the number that the answer's `next` says."
            )
        numbers.append(int(digits))
    return numbers


def _selected(operation: str | None, calls: Calls) -> Calls:
    """Return the calls of `operation`; for "all" the calls of every operation, for None those that ask a model.

    Raises ControlRefused for an unknown operation.
    """
    if operation is None or operation == "all":
        return calls if operation is None else calls.all
    try:
        return calls.of(operation)
    except ReplyError as error:
        problem = json_text(error, where=lambda _: f"{_OPERATION} in the query")
        raise ControlRefused(f'{problem} For the calls of every operation it is "all".') from None


_COPIED: Final[Mapping[str, str]] = {
    "number": "number",
    "operation": "operation",
    "service": "service",
    "modelId": "model_id",
    "attempt": "attempt",
    "turn": "turn",
    "method": "request.method",
    "target": "request.target",
    "toolNames": "tool_names",
    "lastUserText": "last_user_text",
    "malformed": "malformed",
    "status": "status",
    "outcome": "outcome",
}
"""The members of a call in JSON, by name: the attribute of Call from which the value is copied."""


def _call_json(call: Call) -> dict[str, Any]:
    """Return a call as JSON: the request as it was sent, but with secret headers masked, and the answer so far.

    Blobs are base64.
    """
    body: Mapping[str, Any] = {} if is_deeper(call.body, reading.DEEPEST) else call.body
    inside = member_of(body, "input", "converse") if call.operation == "CountTokens" else body
    conversation = object_of(inside if call.operation in CONVERSATIONS else None)
    last = objects_of(conversation.get("messages"))[-1:]
    results = [block.get("toolResult") for message in last for block in objects_of(message.get("content"))]
    return {
        **{name: attrgetter(attribute)(call) for name, attribute in _COPIED.items()},
        "messages": conversation.get("messages", []),
        "system": conversation.get("system", []),
        "toolResults": [result for result in results if result is not None],
        "body": body,
        "headers": dict(call.headers),
        "reply": call.reply.summary if call.reply is not None else None,
        "events": [
            {"at": at, "event": json.loads(bedrock.to_json("ConverseStreamOutput", event))} for event, at in call.events
        ],
    }


def _dropped(calls: Sequence[Call]) -> int:
    """Return the number of calls that a fake has dropped. `calls` are those it has kept: only the latest ones."""
    return calls[0].number - 1 if calls else 0


def _fake_json(id: str, fake: ServerFake) -> dict[str, Any]:
    """Return the state of an open fake as JSON."""
    script, calls = fake.endpoint.script, fake.calls.all
    return {
        "id": id,
        "url": fake.url,
        "environ": fake.environ,
        "calls": _dropped(calls) + len(calls),
        "dropped": _dropped(calls),
        "script": [{"reply": what, "state": state} for what, state in describe(script, in_json=True)],
        "unused": _unused(fake),
        "problems": [problem_text(problem) for problem in fake.failures()],
        "notes": _notes(fake),
    }


def _unused(fake: ServerFake) -> list[str]:
    """Return a description of each required reply that was not used, with secrets masked."""
    return [mask(slot.summary) for slot in fake.endpoint.script.unused()]


def _notes(fake: ServerFake) -> list[str]:
    """Return the first note of each kind that the fake has made, worded for users of JSON, with secrets masked."""
    notes = [*fake.endpoint.notes]  # `fake.notes` is for the tests, and takes the notes from pytest's summary
    first = {note.kind: note for note in reversed(notes)}
    return [mask(note.json or note.text) for note in notes if first[note.kind] is note]


def problem_text(problem: Exception) -> str:
    """Return the message of an exception, worded for users of JSON, with secrets masked.

    If the exception is not one of this package, the name of its type comes first.
    """
    if isinstance(problem, ConverseHarnessError):
        return mask(json_text(problem))
    return mask(f"{type(problem).__name__}: {problem}")
