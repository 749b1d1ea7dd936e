"""The control API for tests in any language, over HTTP; this code does no I/O.

This module has the routes as one table. `reading.py` checks callers and parses bodies, `vocabulary.py` defines the JSON
form of replies and scripts, `arguments.py` converts their arguments, `patterns.py` searches with regular expressions.
`openapi.json` describes everything for people and code generators; tests keep these files consistent.
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
from typing import Any, Final, NamedTuple, Protocol, Unpack, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from converse_harness import bedrock
from converse_harness.endpoint.call import CONVERSATIONS, Call
from converse_harness.endpoint.calls import Calls
from converse_harness.endpoint.script import describe
from converse_harness.endpoint.settings import check_settings
from converse_harness.errors import ConverseHarnessError, ReplyError, UnusedReplies
from converse_harness.intercept.fake import Settings
from converse_harness.json_values import is_deeper
from converse_harness.secrets import mask
from converse_harness.server.control.reading import (
    DEEPEST,
    ControlRefused,
    check_caller,
    check_json,
    known,
    parse,
    to_bytes,
)
from converse_harness.server.control.vocabulary import SCRIPTING, read_scripting, read_settings
from converse_harness.server.control.wording import conditions_in_json, setting_in_json
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.http import HttpResponse, Request, error_response, json_response


class Fakes(Protocol):
    """The methods of a server that the control API needs."""

    def script(self, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake."""
        ...

    @property
    def fakes(self) -> Iterable[ServerFake]:
        """The open fakes. Closing a fake removes it."""
        ...


@dataclass(frozen=True, slots=True)
class ControlApi:
    """The control API for tests in any language; `openapi.json` beside this file describes it.

    Invalid requests get an error in AWS's shape and change nothing.
    """

    server: Fakes
    hosts: frozenset[str] = frozenset()
    """Host names that the control API accepts in the header `Host`, besides those of the loopback."""

    def answer(self, request: Request) -> HttpResponse:
        """Answer one request. The transport adds the header `Date`, as to all answers."""
        request_id = str(
            uuid.UUID(bytes=shake_256(f"{request.method} {request.target}".encode()).digest(16), version=4)
        )
        try:
            check_caller(request, self.hosts)
            handler, named = _routed(request)
            check_json(request)
            status, value = handler(self, request, named)
        except ReplyError as error:
            refused = error if isinstance(error, ControlRefused) else ControlRefused(error.in_json)
            response = error_response(refused.error, refused.status, to_bytes({"message": str(refused)}), request_id)
            return replace(response, headers=(*response.headers, *refused.headers))
        body = value if isinstance(value, bytes) else to_bytes(value)
        return replace(json_response(body, request_id), status=status)

    def open_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Open a fake with the settings and the script in the request body."""
        body = parse(request.body)
        settings, scripting = read_settings(body), read_scripting(body)
        try:
            check_settings(settings)
            fake = self.server.script(**cast("Settings", settings))
            fake.in_json = True
        except ReplyError as error:
            raise ControlRefused(setting_in_json(error.in_json)) from error
        try:
            for part in scripting:
                part.apply(fake)
        except BaseException:
            fake.close()  # no fake has this id
            raise
        return 201, {"id": id_of(fake), "url": fake.url, "environ": fake.environ}

    def list_fakes(self, request: Request, id: str) -> tuple[int, object]:
        """Return the state of every open fake."""
        return 200, {"fakes": [_fake_json(id_of(fake), fake) for fake in self.server.fakes]}

    def read_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Return the state of one fake."""
        return 200, _fake_json(id, self._fake(id))

    def close_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Close a fake, and report the problems that must fail the test; omit unused replies if it `failed` already."""
        fake, failed = self._fake(id), _failed(request)
        fake.close()
        failures = [each for each in fake.failures() if not (failed and isinstance(each, UnusedReplies))]
        problems = [problem_text(each) for each in failures]
        return 200, {"ok": not failures, "unused": _unused(fake), "problems": problems, "notes": _notes(fake)}

    def script_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Add the replies in the request body to a fake's script."""
        fake = self._fake(id)
        body = parse(request.body)
        known(body, SCRIPTING, "")
        for part in read_scripting(body):
            part.apply(fake)
        return 200, _fake_json(id, fake)

    def list_calls(self, request: Request, id: str) -> tuple[int, object]:
        """Return a page of a fake's calls."""
        after, limit = _page(request)
        calls = self._fake(id).calls
        kept = calls.all
        there = [call for call in _asked_for(request, calls) if call.number > after]
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

    def _fake(self, id: str) -> ServerFake:
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
    """The handler of an HTTP method and path."""

    method: str
    path: str
    handler: Handler


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
)


_UNKNOWN: Final = "UnknownOperationException"

_DIGITS: Final = 18

_PAGE: Final[Mapping[str, tuple[int, int, int]]] = {"after": (0, 0, 10**_DIGITS - 1), "limit": (500, 1, 1000)}
"""Query parameter of the list of calls -> its default, lowest and highest value."""

_OPERATION: Final = "operation"
"""The query parameter that selects the calls of one operation."""


def id_of(fake: ServerFake) -> str:
    """A fake's id in paths: the last part of its URL, or ROOT for the fake at the server's own URL."""
    return urlsplit(fake.url).path.strip("/") or ROOT


@lru_cache(maxsize=1)
def openapi() -> bytes:
    """The OpenAPI description, as JSON."""
    return files("converse_harness.server.control").joinpath("openapi.json").read_bytes()


def _routed(request: Request) -> tuple[Handler, str]:
    """Return a request's handler and the decoded id in its path, or "". Raises ControlRefused if no route matches."""
    path = request.target.partition("?")[0]
    patterns = ((route, re.escape(route.path).replace(r"\{id\}", "(?P<id>[^/]*)")) for route in ROUTES)
    there = [(route, found) for route, pattern in patterns if (found := re.fullmatch(pattern, path))]
    for route, found in there:
        if route.method == request.method:
            return route.handler, unquote(found.groupdict().get("id", ""))
    if there:
        methods = ", ".join(route.method for route, _ in there)
        said = f"{request.method} is no method of {there[0][0].path}; it has {methods}."
        raise ControlRefused(said, 405, _UNKNOWN, (("Allow", methods),))
    paths = ", ".join(f"{route.method} {route.path}" for route in ROUTES)
    raise ControlRefused(f"{path} is no path of the control API. It has {paths}.", 404, _UNKNOWN)


def _page(request: Request) -> tuple[int, int]:
    """Return the call number after which a page starts, and the page's maximum size. Raises ControlRefused."""
    given = _query(request)
    for name, (_, lowest, highest) in _PAGE.items():
        digits = given.get(name, str(lowest))
        if not (digits.isdecimal() and len(digits) <= _DIGITS and lowest <= int(digits) <= highest):
            raise ControlRefused(
                f"{name} in the query is {digits!r}; it must be a whole number from {lowest} to {highest}. Ask for "
                "the calls after the number that the answer's `next` says."
            )
    after, limit = (int(given.get(name, default)) for name, (default, _, _) in _PAGE.items())
    return after, limit


def _query(request: Request, names: Sequence[str] = (*_PAGE, _OPERATION)) -> dict[str, str]:
    given = dict(parse_qsl(urlsplit(request.target).query, keep_blank_values=True))
    known(given, names, "the query")
    return given


def _asked_for(request: Request, calls: Calls) -> Calls:
    """Return the calls of the operation in the query, all calls for "all", and otherwise those that ask a model."""
    name = _query(request).get(_OPERATION)
    if name is None or name == "all":
        return calls if name is None else calls.all
    try:
        return calls.of(name)
    except ReplyError as error:
        raise ControlRefused(
            f'{_OPERATION} in the query: {error} For the calls of every operation it is "all".'
        ) from None


def _failed(request: Request) -> bool:
    """Return whether the query states that the test has already failed. Raises ControlRefused."""
    given = _query(request, ["failed"])
    value = given.get("failed", "false")
    if value not in ("true", "false"):
        raise ControlRefused(f"failed in the query is {value!r}; it must be true or false: whether the test failed.")
    return value == "true"


def _call_json(call: Call) -> dict[str, Any]:
    """Return a call as JSON: the request as it was sent, but with secret headers masked, and the answer so far.

    Blobs are base64.
    """
    conversation = _conversation(call)
    return {
        "number": call.number,
        "operation": call.operation,
        "modelId": call.model_id,
        "attempt": call.attempt,
        "turn": call.turn,
        "method": call.request.method,
        "target": call.request.target,
        "messages": conversation.get("messages", []),
        "system": conversation.get("system", []),
        "toolNames": call.tool_names,
        "toolResults": _tool_results(conversation),
        "lastUserText": call.last_user_text,
        "body": {} if is_deeper(call.body, DEEPEST) else call.body,
        "malformed": call.malformed,
        "headers": dict(call.headers),
        "status": call.status,
        "reply": call.reply.summary if call.reply is not None else None,
        "events": [
            {"at": at, "event": json.loads(bedrock.to_json("ConverseStreamOutput", event))} for event, at in call.events
        ],
        "outcome": call.outcome,
    }


def _dropped(calls: Sequence[Call]) -> int:
    """The number of early calls that the fake has dropped, because it keeps only the latest ones."""
    return calls[0].number - 1 if calls else 0


def _conversation(call: Call) -> Mapping[str, Any]:
    """Return the part of the body that contains the messages, unchanged; {} if the operation has none."""
    if call.operation not in CONVERSATIONS or is_deeper(call.body, DEEPEST):
        return {}
    if call.operation == "CountTokens":
        return cast("Mapping[str, Any]", call.body.get("input", {}).get("converse", {}))
    return call.body


def _tool_results(conversation: Mapping[str, Any]) -> list[Any]:
    """Return the tool results of the last message, unchanged."""
    last = [*conversation.get("messages", ())][-1:]
    return [block["toolResult"] for message in last for block in message.get("content", ()) if "toolResult" in block]


def _fake_json(id: str, fake: ServerFake) -> dict[str, Any]:
    """Return the state of an open fake as JSON."""
    script, calls = fake.endpoint.script, fake.calls.all
    return {
        "id": id,
        "url": fake.url,
        "environ": fake.environ,
        "calls": _dropped(calls) + len(calls),
        "dropped": _dropped(calls),
        "script": [{"reply": conditions_in_json(what), "state": state} for what, state in describe(script)],
        "unused": _unused(fake),
        "problems": [problem_text(problem) for problem in fake.failures()],
        "notes": _notes(fake),
    }


def _unused(fake: ServerFake) -> list[str]:
    """Return descriptions of the required replies that were not used."""
    return [mask(slot.summary) for slot in fake.endpoint.script.unused()]


def _notes(fake: ServerFake) -> list[str]:
    """Return the fake's first note of each kind, in JSON's words, with secrets masked."""
    first = {note.kind: note for note in reversed(fake.notes)}
    return [mask(note.json or note.text) for note in fake.notes if first[note.kind] is note]


def problem_text(problem: Exception) -> str:
    """Return an exception's message in JSON's words, with secrets masked; a foreign exception's type comes first."""
    if isinstance(problem, ConverseHarnessError):
        return mask(conditions_in_json(problem.in_json))
    return mask(f"{type(problem).__name__}: {problem}")
