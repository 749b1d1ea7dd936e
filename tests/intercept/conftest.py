"""Fixtures for the tests of the transports: clients, and a list of the connections that a test makes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest

from converse_harness.intercept.registry import OPEN_FAKES

QUESTION: dict[str, Any] = {
    "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hello"}]}],
}

_watching: list[list[tuple[str, Any]]] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        _watching[-1].append((event, args))


sys.addaudithook(_watch)


@pytest.fixture
def network() -> Iterator[list[tuple[str, Any]]]:
    """A list of the host names that this process looks up, and of the addresses to which it connects or sends."""
    seen: list[tuple[str, Any]] = []
    _watching.append(seen)
    yield seen
    _watching.remove(seen)


@pytest.fixture
def unkept() -> Iterator[None]:
    """Let botocore be unpatched while no fake is open. Otherwise the session of pytest keeps it patched."""
    kept = OPEN_FAKES._keepers[:]
    OPEN_FAKES._keepers.clear()
    yield
    OPEN_FAKES._keepers[:] = kept


@pytest.fixture
def question() -> dict[str, Any]:
    """Arguments of a Converse call."""
    return dict(QUESTION)


@pytest.fixture
def make_client() -> Callable[..., Any]:
    """A function that makes a client in a new session, as a program does; by default for bedrock-runtime."""

    def make(service: str = "bedrock-runtime", **kwargs: Any) -> Any:
        return botocore.session.Session().create_client(service, **kwargs)

    return make


@pytest.fixture
def real_keys(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set an access key in the environment, as developers do, and return it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREALREALREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real-secret")
    return "AKIDREALREALREAL"


def signature_of(client: Any) -> list[str]:
    """Return a list that collects the Authorization headers of all further requests of a client."""
    seen: list[str] = []

    def look(request: Any, **_: Any) -> None:
        value = request.headers["Authorization"]
        seen.append(value.decode() if isinstance(value, bytes) else value)

    client.meta.events.register_first("before-send", look)
    return seen


@pytest.fixture
def signatures() -> Callable[[Any], list[str]]:
    """The function `signature_of`."""
    return signature_of
