"""A control API over fakes in memory. Every answer is checked against openapi.json."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, Unpack

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from converse_harness import Endpoint
from converse_harness.intercept.fake import Fake
from converse_harness.server.control import ROUTES, ControlApi, openapi
from converse_harness.server.mounts import ServerFake
from converse_harness.settings import Settings
from converse_harness.stream.http import Request

OUR_HEADERS = (("host", "127.0.0.1:4"), ("content-type", "application/json"))

DOCUMENT: dict[str, Any] = json.loads(openapi())


def check(schema: Mapping[str, Any], value: object) -> None:
    """Fail with a short message unless a value satisfies a schema of the document."""
    problem = best_match(Draft202012Validator({"components": DOCUMENT["components"], **schema}).iter_errors(value))
    assert problem is None, f"{problem.json_path}: {problem.message[:300]}"


def follow(node: dict[str, Any]) -> dict[str, Any]:
    """Follow the references of a node of the document; return the node at their end."""
    while "$ref" in node:
        found: Any = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


class Fakes:
    """Fakes without a server."""

    def __init__(self) -> None:
        self.opened: list[ServerFake] = []
        self.numbers = 0

    def script(self, **settings: Unpack[Settings]) -> ServerFake:
        self.numbers += 1
        url = f"http://127.0.0.1:4/fake-{self.numbers}"
        return ServerFake(url, self._mounted, **settings)

    @property
    def fakes(self) -> list[ServerFake]:
        return list(self.opened)

    @contextmanager
    def _mounted(self, fake: ServerFake) -> Generator[None, None, None]:
        self.opened.append(fake)
        try:
            yield
        finally:
            self.opened.remove(fake)


@dataclass(frozen=True)
class Answer:
    status: int
    value: Any
    headers: dict[str, str]

    @property
    def message(self) -> str:
        assert self.status >= 400, self.value
        text = self.value["message"]
        assert isinstance(text, str)
        return text


@dataclass
class Client:
    """Sends requests to the control API, and checks every answer against the document."""

    fakes: Fakes = field(default_factory=Fakes)

    def __post_init__(self) -> None:
        self.api = ControlApi(self.fakes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for fake in self.fakes.fakes:
            fake.close()

    def ask(
        self, method: str, path: str, body: object = None, headers: tuple[tuple[str, str], ...] = OUR_HEADERS
    ) -> Answer:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        response = self.api.answer(Request(method, path, headers, raw))
        content = b"".join(chunk.data for chunk in response.chunks)
        answer = Answer(response.status, json.loads(content, parse_constant=pytest.fail), dict(response.headers))
        assert int(answer.headers["Content-Length"]) == len(content)
        assert response.failure is None
        assert response.broken is None
        check_described(method, path, answer)
        return answer

    def post(self, body: object) -> Answer:
        return self.ask("POST", "/__converse/fakes", body)

    def opened(self, body: object = None) -> ServerFake:
        """Open a fake by a request with this body, and return it."""
        answer = self.post({} if body is None else body)
        assert answer.status == 201, answer.value
        return next(fake for fake in self.fakes.opened if fake.url == answer.value["url"])


def check_described(method: str, path: str, answer: Answer) -> None:
    """Fail unless the document describes this answer for the method and the path."""
    parts = path.partition("?")[0].split("/")
    for route in ROUTES:
        pattern = route.path.split("/")
        fits = len(pattern) == len(parts) and all(w in (p, "{id}") for w, p in zip(pattern, parts, strict=True))
        if fits and route.method == method:
            responses = DOCUMENT["paths"][route.path][method.lower()]["responses"]
            described = follow(responses.get(str(answer.status), responses["default"]))
            break
    else:
        described = DOCUMENT["components"]["responses"]["Refused"]
    check(described["content"]["application/json"]["schema"], answer.value)
    for name, header in described.get("headers", {}).items():
        if name in answer.headers:
            check(header["schema"], answer.headers[name])
    assert ("x-amzn-ErrorType" in answer.headers) is (answer.status >= 400)
    assert answer.status in (200, 201, 400, 403, 404, 405, 415)


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Most of these tests have no server, and the others one for a file: what they leave is not looked for."""


@pytest.fixture
def client() -> Generator[Client, None, None]:
    with Client() as client:
        yield client


def exchange(
    fake: Fake,
    text: str = "hello",
    operation: str = "converse",
    model_id: str = "us.amazon.nova-lite-v1%3A0",
    **body: Any,
) -> tuple[int, bytes]:
    """Send a request to a fake as a client does, and read the whole answer, one event per millisecond."""
    conversation = {"messages": [{"role": "user", "content": [{"text": text}]}], **body}
    headers = (("Authorization", "AWS4 secret"), ("Content-Type", "application/json"))
    done = fake.core.exchange(
        Request("POST", f"/model/{model_id}/{operation}", headers, json.dumps(conversation).encode())
    )
    data = b""
    for number, chunk in enumerate(done.response.chunks):
        data += chunk.data
        done.taken.add(chunk, number / 1000)
    done.ended("complete")
    return done.response.status, data


def rendered(given: Any, operation: str) -> object:
    """Return everything that is sent for a reply: status, headers, chunks and faults."""
    request = Request(
        "POST",
        f"/model/us.anthropic.claude-haiku-4-5/{operation}",
        (),
        b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
    )
    response = Endpoint(given).exchange(request).response
    return response.status, response.headers, list(response.chunks), response.failure, response.broken, given.uses
