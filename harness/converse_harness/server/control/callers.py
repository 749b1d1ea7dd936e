"""Access checks of the control API: callers must run on this machine, or use the server's own name.

A foreign page in a browser can send requests to the loopback. `Origin` shows where the page is from, and `Host` the
name it used for the server; without a preflight the browser sends no JSON.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from converse_harness.intercept.clients import is_loopback
from converse_harness.server.control.arguments import ControlRefused
from converse_harness.stream.http import Request

_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})
_JSON: Final = "application/json"
_NOT_ALLOWED: Final = (403, "AccessDeniedException")


def check_caller(request: Request, hosts: Collection[str]) -> None:
    """Raise ControlRefused unless Host is the loopback or one of `hosts`, and Origin, if sent, is the server's own.

    If one of `hosts` is a wildcard address, any numeric address is accepted: only names can be redirected by an
    attacker.
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
    """Raise ControlRefused for a body without the content type of JSON."""
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
