"""Checks of the headers and bodies of requests to the control API; error messages name the wrong member of a body.

The headers are checked because any web page in a browser can send requests to the loopback. `Origin` is the site of the
page; it must be this server. `Host` is the name by which the page reached the server; it must be a name of the loopback
or of this server. The content type must be JSON, because a browser sends JSON to another site only after this site has
allowed it (a CORS preflight).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from converse_harness.errors import ReplyError
from converse_harness.intercept.clients import is_loopback
from converse_harness.json_values import is_array, is_deeper, is_object
from converse_harness.reply.body import shorten
from converse_harness.secrets.mask import Headers
from converse_harness.stream.http import Request
from converse_harness.words import cut, nearest

_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})
_JSON: Final = "application/json"
_NOT_ALLOWED: Final = (403, "AccessDeniedException")


class ControlRefused(ReplyError):
    """Raised for a request that the control API refuses with this HTTP status and AWS error. Nothing was changed."""

    def __init__(
        self, message: str, status: int = 400, error: str = "ValidationException", headers: Headers = ()
    ) -> None:
        super().__init__(message)
        self.status, self.error, self.headers = status, error, headers


def check_caller(request: Request, hosts: Collection[str]) -> None:
    """Raise ControlRefused if Host is neither the loopback nor one of `hosts`, or if Origin is another site.

    If one of `hosts` is a wildcard address, any numeric address is accepted as Host. An attacker can redirect only
    names to this server (DNS rebinding).
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
    content_type = _header(request, "content-type")
    if request.body and content_type.partition(";")[0].strip().lower() != _JSON:
        problem = (
            f"the body's content-type is {content_type or None!r}; it must be {_JSON!r}. Send the header "
            f"`content-type: {_JSON}` with it."
        )
        raise ControlRefused(problem, 415, "UnsupportedMediaTypeException")


def host_name(authority: str) -> str:
    """Return the host in `authority` (`host:port`), in lower case and without brackets; empty if there is no host."""
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
"""Maximum nesting of objects and lists in a body; well below what Python's recursion limit allows."""

BODY: Final = "the body"
"""The name of a whole body in error messages. A member of the body is named by its path."""


def parse(body: bytes) -> dict[str, Any]:
    """Parse a request body as a JSON object; an empty body is an empty object.

    Raises ControlRefused for a body that is not a JSON object or is nested too deeply.
    """
    try:
        parsed: object = json.loads(body or b"{}", parse_constant=_finite, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ControlRefused(f"{BODY} is not JSON: {reason}. Send a JSON object, for instance {_EXAMPLE}.") from None
    if is_deeper(parsed, DEEPEST):
        raise ControlRefused(f"{BODY} is nested more than {DEEPEST} levels deep. Send a flatter one.")
    return an_object(parsed, "", like=_EXAMPLE)


_EXAMPLE: Final = '{"script": [{"text": "hi"}]}'


def an_object(value: object, path: str, *, like: str) -> dict[str, Any]:
    """Return the value if it is an object, otherwise raise ControlRefused; `like` is an example for the message."""
    if not is_object(value):
        raise ControlRefused(f"{path or BODY} is {described(value)}; it must be an object, for instance {like}.")
    return value


def a_list(value: object, path: str, *, like: str) -> Sequence[Any]:
    """Return the value if it is a list, otherwise raise ControlRefused; `like` is an example for the message."""
    if not is_array(value):
        raise ControlRefused(f"{path} is {described(value)}; it must be a list, for instance {like}.")
    return value


def known(given: dict[str, Any], allowed: Sequence[str], path: str) -> None:
    """Raise ControlRefused if the object `given`, whose path is `path`, has a member that is not in `allowed`."""
    for name in given:
        if name not in allowed:
            close = nearest(name, allowed)
            hint = f'did you mean "{close}"?' if close else f"it takes {', '.join(allowed) or 'no members'}."
            raise ControlRefused(f"{path or BODY} has the unknown member {shorten(name)}; {hint}")


def under(path: str, name: str) -> str:
    """Return the path of the member `name` of the object at `path`."""
    return f"{path}.{name}" if path else name


def described(value: object) -> str:
    """Describe a JSON value in a few words, for error messages."""
    if is_object(value):
        return "an object" if value else "an object without members"
    if is_array(value):
        return "a list" if value else "a list without items"
    text = shorten(value) if isinstance(value, str) else json.dumps(value)
    return cut(text, 60)


def to_bytes(value: object) -> bytes:
    """Return a value as JSON in UTF-8. NaN and infinity become null, and lone surrogates become escapes."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        without_nan = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(without_nan, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _whole(digits: str) -> int:
    """Convert a whole number in a JSON text. Raises ValueError for one with more digits than Python's limit."""
    try:
        return int(digits)
    except ValueError:  # its text advises to call a function of Python
        raise ValueError(f"{digits[:40]} is too large a number") from None


def _finite(digits: str) -> float:
    """Convert a number in a JSON text to a float. Raises ValueError for NaN, infinity and too large numbers."""
    number = float(digits)
    if not math.isfinite(number):
        problem = "too large a number" if digits[-1].isdecimal() else "no JSON number"
        raise ValueError(f"{digits[:40]} is {problem}")
    return number
