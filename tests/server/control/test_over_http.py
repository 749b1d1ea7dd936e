"""The control API on a real server: what a test in another language does, over HTTP/1.1 and HTTP/2."""

import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import and_, or_
from typing import Any

import boto3
import botocore.exceptions
import httpx
import pytest

from converse_harness import ConverseServer
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.server.control import patterns
from tests.server.control.conftest import DOCUMENT, Answer, check_described
from tests.server.peers import Raw

FAKES = "/__converse/fakes"
JSON = {"content-type": "application/json"}
HEADERS = ("x-amzn-ErrorType", "Allow")
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "hello"}]}]


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture(params=["HTTP/1.1", "HTTP/2"])
def version(request: pytest.FixtureRequest) -> str:
    protocol: str = request.param
    return protocol


def speaking(version: str) -> dict[str, Any]:
    return {"http1": version == "HTTP/1.1", "http2": version == "HTTP/2", "trust_env": False, "verify": False}


@pytest.fixture
def http(server: ConverseServer, version: str) -> Iterator[httpx.Client]:
    """A client of the server, that speaks only one of its protocols and holds each answer against openapi.json."""

    def check(response: httpx.Response) -> None:
        response.read()
        assert response.http_version == version
        if response.url.path.startswith("/__converse"):
            headers = {name: response.headers[name] for name in HEADERS if name in response.headers}
            answer = Answer(response.status_code, response.json(), headers)
            check_described(response.request.method, response.request.url.path, answer)

    with httpx.Client(base_url=server.url, event_hooks={"response": [check]}, **speaking(version)) as client:
        yield client
    for fake in server.fakes:
        fake.close()


def ask(url: str, model: str = "us.amazon.nova-lite-v1:0") -> str:
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="fake",
        aws_secret_access_key="fake",
    )
    text: str = client.converse(modelId=model, messages=MESSAGES)["output"]["message"]["content"][0]["text"]
    return text


def test_a_whole_test(http: httpx.Client) -> None:
    opened = http.post(FAKES, json={"script": [{"throttled": True, "times": 2}, {"text": "18 °C"}]})
    assert opened.status_code == 201
    fake = opened.json()
    assert fake["url"] == f"{http.base_url}/{fake['id']}" == fake["environ"]["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
    assert ask(fake["url"]) == "18 °C"
    calls = http.get(f"{FAKES}/{fake['id']}/calls").json()["calls"]
    assert [(call["attempt"], call["status"]) for call in calls] == [(1, 429), (2, 429), (3, 200)]
    assert calls[2]["headers"]["authorization"] == "***"
    more = http.post(f"{FAKES}/{fake['id']}/script", json={"script": [{"text": "unused"}]})
    assert more.json()["unused"] == ['text "unused"']
    closed = http.delete(f"{FAKES}/{fake['id']}").json()
    assert (closed["ok"], closed["unused"]) == (False, ['text "unused"'])
    assert closed["problems"][0].startswith("1 scripted reply was not used.")
    assert http.delete(f"{FAKES}/{fake['id']}").status_code == 404
    with pytest.raises(botocore.exceptions.ClientError, match="no fake is open at"):
        ask(fake["url"])


def test_a_fake_closed_over_http_blocks_no_later_call(http: httpx.Client) -> None:
    fake = http.post(FAKES, json={"script": [{"text": "hi"}]}).json()
    assert ask(fake["url"]) == "hi"
    assert http.delete(f"{FAKES}/{fake['id']}").json()["ok"] is True
    assert OPEN_FAKES.fake_that_blocks() is None


def test_what_is_wrong_is_answered_and_the_server_lives_on(http: httpx.Client) -> None:
    answers = [
        http.post(FAKES, content=b"[" * 100_000, headers=JSON),
        http.post(FAKES, json={"script": [{"text": 5}]}),
        http.put(FAKES),
        http.get("/__converse"),
        http.get(f"{FAKES}/nobody"),
    ]
    assert [answer.status_code for answer in answers] == [400, 400, 405, 404, 404]
    assert answers[1].json() == {"message": "script[0].text is 5; it must be a string."}
    assert answers[1].headers["x-amzn-ErrorType"].startswith("ValidationException:")
    assert http.get("/__converse/openapi.json").json() == DOCUMENT
    assert http.get(FAKES).json() == {"fakes": []}


def test_a_page_of_another_host_neither_scripts_nor_reads(http: httpx.Client) -> None:
    fake = http.post(FAKES, json={"always": {"text": "hi"}}).json()
    rebound = {"host": "evil.example", "origin": "http://evil.example"}
    foreign = {"origin": "http://evil.example", "content-type": "text/plain"}
    refused = [
        http.get(FAKES, headers={"host": "evil.example"}),
        http.get(f"{FAKES}/{fake['id']}/calls", headers=rebound),
        http.post(FAKES, content=b"{}", headers=foreign),
        http.options(FAKES, headers=foreign),
        http.delete(f"{FAKES}/{fake['id']}", headers=rebound),
        http.post(
            f"{FAKES}/{fake['id']}/script", content=b'{"script": [{"text": "evil"}]}', headers={"content-type": ""}
        ),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403, 403, 403, 415]
    assert [name for answer in refused for name in answer.headers if name.startswith("access-control")] == []
    model = f"{fake['url']}/model/m/converse"
    assert http.post(model, json={"messages": MESSAGES}, headers=rebound).status_code == 200
    assert [each["unused"] for each in http.get(FAKES).json()["fakes"]] == [[]]


def test_the_target_of_a_request_names_its_host_before_the_header_does(server: ConverseServer) -> None:
    """RFC 9112 3.2.2: a whole URL as target decides, and the header Host is ignored."""
    own = (
        f"Host: {server.url.removeprefix('http://')}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    with Raw(server.url) as peer:
        answer = peer.send(f"POST http://evil.example{FAKES} HTTP/1.1\r\n{own}".encode()).answer()
        assert answer.error[:2] == (403, "AccessDeniedException")
        assert answer.error[2].startswith("Host is 'evil.example', and the control API answers to ")
        opened = peer.send(f"POST {server.url}{FAKES} HTTP/1.1\r\n{own}".encode()).answer()
        assert opened.status == 201
        peer.send(f"DELETE {FAKES}/{opened.json['id']} HTTP/1.1\r\n{own}".encode())
        assert peer.answer().status == 200


def test_the_next_id_is_not_known_from_those_before(http: httpx.Client) -> None:
    ids = {http.post(FAKES, json={}).json()["id"] for _ in range(50)}
    numbers = {int.from_bytes(urlsafe_b64decode(each.removeprefix("fake-"))) for each in ids}
    assert len(numbers) == 50
    # All bits take part: of 50 random numbers each bit is equal in all with a probability of 2 ** -49.
    assert reduce(or_, numbers) & ~reduce(and_, numbers) == 2**96 - 1


@pytest.mark.parametrize("seconds", [0.25, pytest.param(1, marks=pytest.mark.slow)])
def test_an_expression_that_never_ends_stops_no_other_fake(
    http: httpx.Client, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert patterns._SECONDS == 1
    monkeypatch.setattr(patterns, "_SECONDS", seconds)
    pattern = {"last_user_text": {"regex": "(?:a|a)*$"}, "always": {"text": "never"}}
    slow = http.post(FAKES, json={"when": [pattern], "always": {"text": "else"}}).json()
    other = http.post(FAKES, json={"always": {"text": "quick"}}).json()
    question = {"messages": [{"role": "user", "content": [{"text": "a" * 26 + "!"}]}]}
    with ThreadPoolExecutor(1) as pool, httpx.Client(trust_env=False, timeout=60) as hostile:
        asked = pool.submit(hostile.post, f"{slow['url']}/model/m/converse", json=question)
        answered = 0
        while not asked.done():
            answer = http.post(f"{other['url']}/model/m/converse", json={"messages": MESSAGES})
            assert answer.status_code == 200
            answered += 1
    assert answered > 5
    assert asked.result().status_code == 400
    said = f"CallError: the regular expression '(?:a|a)*$' of a condition was given up after {seconds} s on a text of"
    assert asked.result().json()["message"].startswith(said)
    closed = http.delete(f"{FAKES}/{slow['id']}").json()
    assert (closed["ok"], len(closed["problems"])) == (False, 1)
    assert said.removeprefix("CallError: ") in closed["problems"][0]


def test_an_expression_without_its_package_is_refused_with_what_to_install(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    refused = http.post(FAKES, json={"when": [{"model": {"regex": "haiku"}, "always": {"text": "a"}}]})
    assert (refused.status_code, http.get(FAKES).json()) == (400, {"fakes": []})
    for said in (
        'when[0].model.regex is "haiku"',
        'a glob in its place, for instance "*',
        'pip install "converse-harness[',
    ):
        assert said in refused.json()["message"]
    assert http.post(FAKES, json={"when": [{"model": "*haiku*", "always": {"text": "a"}}]}).status_code == 201


def test_closing_ends_what_is_still_said(http: httpx.Client, server: ConverseServer) -> None:
    fake = http.post(FAKES, json={"script": [{"text": "a b c", "paced": {"each": 3600}}]}).json()
    with (
        httpx.Client(trust_env=False) as other,
        other.stream("POST", f"{fake['url']}/model/m/converse-stream", json={"messages": MESSAGES}) as stream,
    ):
        parts = stream.iter_raw()
        next(parts)
        (state,) = http.get(FAKES).json()["fakes"]
        (call,) = http.get(f"{FAKES}/{fake['id']}/calls").json()["calls"]
        assert (state["calls"], call["outcome"], len(call["events"])) == (1, "still running", 1)
        assert http.delete(f"{FAKES}/{fake['id']}").json()["ok"] is True
        with pytest.raises(httpx.TransportError):
            list(parts)


def test_tests_that_run_at_once_do_not_see_each_other(server: ConverseServer, version: str) -> None:
    def one_test(number: int) -> object:
        texts = [f"{number} {turn}" for turn in range(5)]
        # A client for each: threads that share a connection of httpcore take the same HTTP/2 stream at times.
        with httpx.Client(base_url=server.url, **speaking(version)) as http:
            fake = http.post(FAKES, json={"script": [{"text": text} for text in texts]}).json()
            answers = [http.post(f"/{fake['id']}/model/m/converse", json={"messages": MESSAGES}).json() for _ in texts]
            assert [answer["output"]["message"]["content"][0]["text"] for answer in answers] == texts
            return http.delete(f"{FAKES}/{fake['id']}").json()["ok"]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one_test, range(16))) == [True] * 16
