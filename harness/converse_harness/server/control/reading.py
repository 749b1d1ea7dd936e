"""Checks of the callers and bodies of requests to the control API; error messages name the wrong member.

The headers are checked because any web page in a browser can send requests to the loopback. `Origin` is the site of the
page; it must be this server. `Host` is the name by which the page reached the server; it must be a name of the loopback
or of this server. The content type must be JSON, because a browser sends JSON to another site only after a CORS
preflight.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Any, Final, cast
from urllib.parse import urlsplit

from converse_harness.bedrock.findings import is_array
from converse_harness.bedrock.service import nearest
from converse_harness.errors import ReplyError
from converse_harness.intercept.clients import is_loopback
from converse_harness.json_values import is_deeper
from converse_harness.reply.body import shorten
from converse_harness.stream.http import Request

_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})
_JSON: Final = "application/json"
_NOT_ALLOWED: Final = (403, "AccessDeniedException")


class ControlRefused(ReplyError):
    """Raised for a request that the control API refuses with this HTTP status and AWS error; nothing has changed."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        error: str = "ValidationException",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.headers = headers


def check_caller(request: Request, hosts: Collection[str]) -> None:
    """Raise ControlRefused unless Host is the loopback or one of `hosts`, and Origin, if sent, is the server's own.

    If one of `hosts` is a wildcard address, any numeric address is accepted, because an attacker can redirect only
    names (DNS rebinding).
    """
    host = _header(request, "host")
    name = host_name(host)
    if not (name in hosts or is_loopback(f"http://{host}") or (_ALL_ADDRESSES & {*hosts} and _is_address(name))):
        names = ", ".join(sorted({"localhost", "127.0.0.1", "[::1]", *hosts} - {""}))
        raise ControlRefused(
            f"Host is {host!r}, and the control API answers to {names} only, so that no web page reaches it by a name "
            "of its own. Ask it by one of these, or start it with `converse-harness serve --allow-host "
            f"{name or 'NAME'}` or ConverseServer(allow_hosts=[...]).",
            *_NOT_ALLOWED,
        )
    origin = _header(request, "origin")
    if origin and origin.lower() != f"http://{host.lower()}":
        raise ControlRefused(
            f"Origin is {origin!r}, and of the pages in a browser only those of http://{host} itself may use the "
            "control API. Use it from the test, which needs no Origin, or through a proxy that leaves the header out.",
            *_NOT_ALLOWED,
        )


def check_json(request: Request) -> None:
    """Raise ControlRefused for a body whose content type is not JSON."""
    given = _header(request, "content-type")
    if request.body and given.partition(";")[0].strip().lower() != _JSON:
        raise ControlRefused(
            f"the body's content-type is {given or None!r}; it must be {_JSON!r}. Send the header "
            f"`content-type: {_JSON}` with it.",
            415,
            "UnsupportedMediaTypeException",
        )


def host_name(authority: str) -> str:
    """The host of `host:port`, in lower case and without brackets; empty if there is none."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _header(request: Request, name: str) -> str:
    return next((value for each, value in request.headers if each.lower() == name), "")


def _is_address(name: str) -> bool:
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


DEEPEST: Final = 100
"""Maximum nesting of objects and lists in a body; Python's recursion limit allows some hundreds."""

BODY: Final = "the body"


def parse(body: bytes) -> dict[str, Any]:
    """Parse a request body as a JSON object; an empty body is an empty object. Raises ControlRefused."""
    try:
        parsed: object = json.loads(body or b"{}", parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ControlRefused(f"{BODY} is not JSON: {reason}. Send a JSON object, for instance {_EXAMPLE}.") from None
    if is_deeper(parsed, DEEPEST):
        raise ControlRefused(f"{BODY} is nested more than {DEEPEST} levels deep. Send a flatter one.")
    return an_object(parsed, "", like=_EXAMPLE)


_EXAMPLE: Final = '{"script": [{"text": "hi"}]}'


def an_object(value: object, path: str, *, like: str) -> dict[str, Any]:
    """Check that a value is an object, and return it; `like` is an example for the message. Raises ControlRefused."""
    if not isinstance(value, dict):
        raise ControlRefused(f"{path or BODY} is {came(value)}; it must be an object, for instance {like}.")
    return cast("dict[str, Any]", value)


def a_list(value: object, path: str, *, like: str) -> Sequence[Any]:
    """Check that a value is a list, and return it; `like` is an example for the message. Raises ControlRefused."""
    if not is_array(value):
        raise ControlRefused(f"{path} is {came(value)}; it must be a list, for instance {like}.")
    return value


def known(given: dict[str, Any], allowed: Sequence[str], path: str) -> None:
    """Raise ControlRefused for a member that is not allowed."""
    for name in given:
        if name not in allowed:
            close = nearest(name, allowed)
            hint = f'did you mean "{close}"?' if close else f"it takes {', '.join(allowed) or 'no members'}."
            raise ControlRefused(f"{path or BODY} has the unknown member {shorten(name)}; {hint}")


def under(path: str, name: str) -> str:
    """Return the path of a member of the object at `path`."""
    return f"{path}.{name}" if path else name


def came(value: object) -> str:
    """Describe a JSON value in a few words, for messages."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, dict | list):
        items = cast("dict[str, object] | list[object]", value)
        kind = "an object" if isinstance(items, dict) else "a list"
        return kind if items else f"{kind} without {'members' if isinstance(items, dict) else 'items'}"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def to_bytes(value: object) -> bytes:
    """Encode a value as JSON in UTF-8; NaN and infinity become null, lone surrogates are escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        without_nan = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(without_nan, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        problem = "too large a number" if digits[-1].isdecimal() else "no JSON number"
        raise ValueError(f"{digits[:40]} is {problem}")
    return number
