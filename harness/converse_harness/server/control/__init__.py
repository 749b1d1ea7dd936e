"""The control API: what a test in any language says to the server over HTTP, without I/O.

This module has the routes as one table. `callers.py` says who may ask, `vocabulary.py` has the words of a reply and
reads what a body scripts, `arguments.py` reads bodies, `patterns.py` searches, `openapi.json` describes it all for
people and generators; tests hold them together.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import shake_256
from importlib.resources import files
from typing import Any, Final, NamedTuple, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleLevel
from converse_harness.endpoint.call import CONVERSATIONS, Call
from converse_harness.endpoint.conversation import HistoryLevel
from converse_harness.endpoint.script import Slot, describe
from converse_harness.errors import ConverseHarnessError, ReplyError
from converse_harness.intercept.fake import Strictness
from converse_harness.secrets import mask
from converse_harness.server.control.arguments import ControlRefusal, ControlRefused, known, parse, to_bytes, too_deep
from converse_harness.server.control.callers import check_caller, check_json
from converse_harness.server.control.vocabulary import read_scripting, read_settings
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.http import HttpResponse, Request, error_response, json_response

__all__ = ["ROUTES", "ControlApi", "Fakes"]


class Fakes(Protocol):
    """The fakes of a server."""

    def script(
        self,
        *,
        seed: int = 0,
        unused: Strictness = "fail",
        unexpected: Strictness = "fail",
        rules: RuleLevel = "default",
        history: HistoryLevel = "note",
        keep_calls: int | None = None,
    ) -> ServerFake:
        """Open one."""
        ...

    @property
    def fakes(self) -> Iterable[ServerFake]:
        """Those that are open; closing one takes it away."""
        ...


@dataclass(frozen=True, slots=True)
class ControlApi:
    """What a test in any language says over HTTP; `openapi.json` beside this file describes it.

    Every mistake of the client's is answered with an error in AWS's shape, and changes nothing.
    """

    server: Fakes
    hosts: frozenset[str] = frozenset()
    """The hosts by whose names it may be asked, beside the loopback's."""

    def answer(self, request: Request) -> HttpResponse:
        """Carry a request out. `Date` is for the transport to add, as everywhere."""
        request_id = str(
            uuid.UUID(bytes=shake_256(f"{request.method} {request.target}".encode()).digest(16), version=4)
        )
        try:
            check_caller(request, self.hosts)
            handler, named = _routed(request)
            check_json(request)
            status, value = handler(self, request, named)
        except ControlRefused as refused:
            body, refusal = to_bytes({"message": str(refused)}), refused.refusal
            response = error_response(refusal.error, refusal.status, body, request_id)
            return replace(response, headers=(*response.headers, *refused.headers))
        body = value if isinstance(value, bytes) else to_bytes(value)
        return replace(json_response(body, request_id), status=status)

    def open_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Open a fake with a script."""
        body = parse(request.body)
        settings = read_settings(body, Fakes.script)
        scripting = read_scripting(body)
        try:
            fake = self.server.script(**settings)
        except ReplyError as error:
            raise ControlRefused(str(error)) from error
        scripting.apply(fake)
        return 201, {"id": id_of(fake), "url": fake.url, "environ": fake.environ}

    def list_fakes(self, request: Request, id: str) -> tuple[int, object]:
        """The state of every open fake."""
        return 200, {"fakes": [_fake_json(id_of(fake), fake) for fake in self.server.fakes]}

    def read_fake(self, request: Request, id: str) -> tuple[int, object]:
        """The state of one."""
        return 200, _fake_json(id, self._fake(id))

    def close_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Close it, and say what must fail the test."""
        fake = self._fake(id)
        fake.close()
        failures = fake.failures()
        left = unused(fake.endpoint.script.unused())
        return 200, {"ok": not failures, "unused": left, "problems": [_problem_text(each) for each in failures]}

    def script_fake(self, request: Request, id: str) -> tuple[int, object]:
        """Script more."""
        fake = self._fake(id)
        body = parse(request.body)
        read_settings(body, _nothing_else)
        read_scripting(body).apply(fake)
        return 200, _fake_json(id, fake)

    def list_calls(self, request: Request, id: str) -> tuple[int, object]:
        """What it was asked, a page of it."""
        after, limit = _page(request)
        kept = self._fake(id).calls
        there = [call for call in kept if call.number > after]
        page = there[:limit]
        return 200, {
            "calls": [_call_json(call) for call in page],
            "next": page[-1].number if len(page) < len(there) else None,
            "received": _dropped(kept) + len(kept),
            "dropped": _dropped(kept),
        }

    def describe_api(self, request: Request, id: str) -> tuple[int, object]:
        """The OpenAPI description."""
        return 200, openapi()

    def _fake(self, id: str) -> ServerFake:
        fakes = {id_of(fake): fake for fake in self.server.fakes}
        if id not in fakes:
            raise ControlRefused(
                f"no fake {id!r} is open; open: {', '.join(fakes) or 'none'}. It was closed, or never opened: "
                f"POST {FAKES} opens one and answers with its id.",
                ControlRefusal.NO_FAKE,
            )
        return fakes[id]


Handler = Callable[[ControlApi, Request, str], tuple[int, object]]


class _ControlRoute(NamedTuple):
    """A method and a path, and what answers them."""

    method: str
    path: str
    handler: Handler


FAKES: Final = "/__converse/fakes"

ROOT: Final = "root"
"""The id of the fake whose URL is the server's own."""

ROUTES: Final = (
    _ControlRoute("POST", FAKES, ControlApi.open_fake),
    _ControlRoute("GET", FAKES, ControlApi.list_fakes),
    _ControlRoute("GET", f"{FAKES}/{{id}}", ControlApi.read_fake),
    _ControlRoute("DELETE", f"{FAKES}/{{id}}", ControlApi.close_fake),
    _ControlRoute("POST", f"{FAKES}/{{id}}/script", ControlApi.script_fake),
    _ControlRoute("GET", f"{FAKES}/{{id}}/calls", ControlApi.list_calls),
    _ControlRoute("GET", "/__converse/openapi.json", ControlApi.describe_api),
)


_DIGITS: Final = 18

_PAGE: Final[Mapping[str, tuple[int, int, int]]] = {"after": (0, 0, 10**_DIGITS - 1), "limit": (500, 1, 1000)}
"""What a query for calls may say: its default, the lowest and the highest."""


def id_of(fake: ServerFake) -> str:
    """How a fake is called in paths: by the last part of its URL, by ROOT where that is the server's own."""
    return urlsplit(fake.url).path.strip("/") or ROOT


@lru_cache(maxsize=1)
def openapi() -> bytes:
    """The OpenAPI description, as JSON."""
    return files("converse_harness.server.control").joinpath("openapi.json").read_bytes()


def _nothing_else() -> None:
    """The settings of a fake that is open: none can be changed."""


def _routed(request: Request) -> tuple[Handler, str]:
    """The handler of a request and the id in its path, decoded. Raises Refused."""
    parts = request.target.partition("?")[0].split("/")
    there = [(route, named) for route in ROUTES if (named := _named(route.path.split("/"), parts)) is not None]
    for route, named in there:
        if route.method == request.method:
            return route.handler, named
    if there:
        methods = ", ".join(route.method for route, _ in there)
        said = f"{request.method} is no method of {there[0][0].path}; it has {methods}."
        raise ControlRefused(said, ControlRefusal.NO_METHOD, (("Allow", methods),))
    paths = ", ".join(dict.fromkeys(f"{route.method} {route.path}" for route in ROUTES))
    raise ControlRefused(f"{'/'.join(parts)} is no path of the control API. It has {paths}.", ControlRefusal.NO_PATH)


def _named(pattern: list[str], parts: list[str]) -> str | None:
    """The id in a path that follows the pattern, empty where the pattern has none; None if it does not follow it."""
    if len(pattern) != len(parts):
        return None
    named = ""
    for wanted, came in zip(pattern, parts, strict=True):
        if wanted == "{id}":
            named = unquote(came)
        elif wanted != came:
            return None
    return named


def _page(request: Request) -> tuple[int, int]:
    """After which call a page begins, and how many it may have. Raises Refused."""
    given = dict(parse_qsl(urlsplit(request.target).query, keep_blank_values=True))
    known(given, [*_PAGE], "the query")
    for name, (_, lowest, highest) in _PAGE.items():
        digits = given.get(name, str(lowest))
        if not (digits.isdecimal() and len(digits) <= _DIGITS and lowest <= int(digits) <= highest):
            raise ControlRefused(
                f"{name} in the query is {digits!r}; it must be a whole number from {lowest} to {highest}. Ask for "
                "the calls after the number that the answer's `next` says."
            )
    after, limit = (int(given.get(name, default)) for name, (default, _, _) in _PAGE.items())
    return after, limit


def _call_json(call: Call) -> dict[str, Any]:
    """A call: the request as JSON carried it (blobs in base64), secret headers masked, and the answer so far."""
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
        "lastUserText": call.last_user_text,
        "body": {} if too_deep(call.body) else call.body,
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
    """How many calls came before those that are kept."""
    return calls[0].number - 1 if calls else 0


def _conversation(call: Call) -> Mapping[str, Any]:
    """The part of the body that has the messages, as it came."""
    if call.operation not in CONVERSATIONS or too_deep(call.body):
        return {}
    if call.operation == "CountTokens":
        return cast("Mapping[str, Any]", call.body.get("input", {}).get("converse", {}))
    return call.body


def _fake_json(id: str, fake: ServerFake) -> dict[str, Any]:
    """The state of an open fake."""
    script, calls = fake.endpoint.script, fake.calls
    return {
        "id": id,
        "url": fake.url,
        "environ": fake.environ,
        "calls": _dropped(calls) + len(calls),
        "dropped": _dropped(calls),
        "script": [{"reply": what, "state": state} for what, state in describe(script)],
        "unused": unused(script.unused()),
        "problems": [_problem_text(problem) for problem in fake.failures()],
    }


def unused(slots: list[Slot]) -> list[str]:
    """The replies that were due and not used, one text each."""
    return [mask(slot.summary) for slot in slots]


def _problem_text(problem: Exception) -> str:
    """A failure as Python would say it."""
    name = "" if isinstance(problem, ConverseHarnessError) else f"{type(problem).__name__}: "
    return mask(f"{name}{problem}")
