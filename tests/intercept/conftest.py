"""What the tests of the transports share: clients, and a network that nobody may touch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest

from converse_harness.intercept import registry

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
    """Everything that this process looks up or connects to."""
    seen: list[tuple[str, Any]] = []
    _watching.append(seen)
    yield seen
    _watching.remove(seen)


@pytest.fixture
def unkept() -> Iterator[None]:
    """Nobody keeps botocore patched while no fake is open, as the session of pytest does otherwise."""
    kept = registry._keepers[:]
    registry._keepers.clear()
    yield
    registry._keepers[:] = kept


@pytest.fixture
def question() -> dict[str, Any]:
    """Arguments of a Converse call."""
    return dict(QUESTION)


@pytest.fixture
def make_client() -> Callable[..., Any]:
    """Makes a client in a session of its own, as a program would, for bedrock-runtime unless told."""

    def make(service: str = "bedrock-runtime", **kwargs: Any) -> Any:
        return botocore.session.Session().create_client(service, **kwargs)

    return make


@pytest.fixture
def real_keys(monkeypatch: pytest.MonkeyPatch) -> str:
    """An access key in the environment, as a developer has one."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREALREALREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real-secret")
    return "AKIDREALREALREAL"


def signature_of(client: Any) -> list[str]:
    """The Authorization headers of what a client sends from now on."""
    seen: list[str] = []

    def look(request: Any, **_: Any) -> None:
        value = request.headers["Authorization"]
        seen.append(value.decode() if isinstance(value, bytes) else value)

    client.meta.events.register_first("before-send", look)
    return seen


@pytest.fixture
def signatures() -> Callable[[Any], list[str]]:
    """Collects the Authorization headers of what a client sends from now on."""
    return signature_of
