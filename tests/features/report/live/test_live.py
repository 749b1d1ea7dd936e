"""The live page: who may see it, and what a browser is sent while it shows the calls."""

from __future__ import annotations

import gc
import json
import re
import threading
import weakref
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from converse_harness import ConverseServer, reply
from converse_harness.features.report.live import feed as live_feed
from converse_harness.features.report.live.feed import LiveFake, Shown
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.delivery import SentChunks
from tests.secrets.terminals import SHAPES
from tests.server.peers import PATIENCE, Raw, eventually

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
LIVE = "/__converse/live"
SECRET = "AKIAQ7EXAMPLEKEYABCD"


class Sent(NamedTuple):
    """A server-sent event."""

    kind: str
    id: str
    data: dict[str, Any]

    @property
    def html(self) -> str:
        html: str = self.data["html"]
        return html


def feed_of(server: ConverseServer) -> Any:
    """What the server's live page sends to browsers."""
    pages: Any = server._pages
    return pages._feed


def query(server: ConverseServer) -> str:
    return "?" + server.page_url.partition("?")[2]


def address(server: ConverseServer) -> str:
    return server.url + LIVE + query(server)


class Reading:
    """What an EventSource does: it takes events one by one."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def block(self) -> list[str]:
        """The lines up to the next empty one; none at the end of the stream."""
        lines: list[str] = []
        for line in self._lines:
            if not line and lines:
                return lines
            lines += [line] if line else []
        return []

    def __iter__(self) -> Iterator[Sent]:
        while block := self.block():
            found = dict(line.split(": ", 1) for line in block if ": " in line)
            if "event" in found:
                yield Sent(found["event"], found.get("id", ""), json.loads(found["data"]))

    def until(self, kind: str, text: str = "") -> Sent:
        """The next event of that kind that has the text."""
        return next(each for each in self if each.kind == kind and text in json.dumps(each.data, ensure_ascii=False))


@contextmanager
def reading(server: ConverseServer, last_id: str = "", version: str = "http1") -> Iterator[Reading]:
    http1, http2 = version == "http1", version == "http2"
    headers = {"last-event-id": last_id} if last_id else {}
    with (
        httpx.Client(trust_env=False, timeout=PATIENCE, http1=http1, http2=http2) as client,
        client.stream("GET", address(server), headers=headers) as response,
    ):
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
        yield Reading(response)


def ask(fake: ServerFake, text: str = "hello", operation: str = "converse", **headers: str) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": [{"text": text}]}]}
    return httpx.post(f"{fake.url}/model/m/{operation}", json=body, headers=headers, trust_env=False)


# Who may see it


def test_the_page_runs_only_its_own_scripts_and_no_other_page_learns_its_address(server: ConverseServer) -> None:
    page = httpx.get(server.page_url, headers=BROWSER, trust_env=False)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    for name in ("script", "style"):
        parts = re.findall(f"<{name}>(.*?)</{name}>", page.text, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts]
        assert policy[f"{name}-src"].split() == hashes
    assert not re.search(r"<(script|style) |\s(on\w+|style)=", page.text)
    assert (policy["default-src"], policy["connect-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
    assert "unsafe" not in page.headers["content-security-policy"]
    for headers in (page.headers, httpx.get(address(server) + "x", trust_env=False).headers):
        assert "access-control-allow-origin" not in headers
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert query(server)[len("?token=") :] not in page.text


@pytest.mark.parametrize("given", ["", "?token=", "?token=wrong", "?token=w%C3%B6rng", "?other=1"])
def test_without_the_token_there_is_no_data(server: ConverseServer, given: str) -> None:
    fake = server.script(reply.text("the answer"))
    ask(fake, "the question")
    page = httpx.get(f"{server.url}/{given}", headers=BROWSER, trust_env=False)
    events = httpx.get(server.url + LIVE + given, trust_env=False)
    assert (events.status_code, events.headers["x-amzn-errortype"].partition(":")[0]) == (403, "AccessDeniedException")
    assert "Open the address that `converse-harness serve` printed" in events.json()["message"]
    assert page.status_code == (403 if given.startswith("?token=w") else 200)
    assert "<code>/?token=...</code>" in page.text
    token = query(server)[len("?token=") :]
    for shown in (page.text, events.text):
        assert not [each for each in (fake.url, "the answer", "the question", token) if each in shown]


def test_each_server_has_a_token_of_its_own(server: ConverseServer) -> None:
    with ConverseServer() as other:
        assert httpx.get(server.url + LIVE + query(other), trust_env=False).status_code == 403
        assert server.page_url == server.page_url != other.page_url


@pytest.mark.parametrize("headers", [{"host": "rebound.example:80"}, {"origin": "http://rebound.example"}])
def test_no_other_site_may_read_even_with_the_token(server: ConverseServer, headers: dict[str, str]) -> None:
    answer = httpx.get(address(server), headers=headers, trust_env=False)
    assert (answer.status_code, "rebound.example" in answer.json()["message"]) == (403, True)
    page = httpx.get(server.page_url, headers={**BROWSER, **headers}, trust_env=False)
    assert (page.status_code, "EventSource" in page.text) == (403, False)


def test_what_a_request_holds_is_no_markup_of_the_error(server: ConverseServer) -> None:
    headers = {**BROWSER, "host": "<script>alert(1)</script>"}
    assert "<script>" not in httpx.get(server.page_url, headers=headers, trust_env=False).text


@pytest.mark.parametrize("method", ["POST", "DELETE", "HEAD"])
def test_the_events_are_only_read(server: ConverseServer, method: str) -> None:
    assert httpx.request(method, address(server), trust_env=False).status_code == 404


def test_machines_get_the_error_as_before_and_no_browser_is_a_call(server: ConverseServer) -> None:
    fake = server.answer_all(reply.text("hi"))
    httpx.get(server.page_url, headers=BROWSER, trust_env=False)
    with reading(server) as events:
        events.until("fake")
        assert not fake.calls.all
    assert httpx.get(server.url + "/", headers={"accept": "application/json"}, trust_env=False).status_code == 404
    assert len(fake.calls.all) == 1


# What it shows


@pytest.mark.parametrize("version", ["http1", "http2"])
def test_a_call_that_comes_while_the_page_is_open_appears(server: ConverseServer, version: str) -> None:
    fake = server.script(reply.text("a"), reply.text("b"))
    with reading(server, version=version) as one, reading(server) as two:
        for events in (one, two):
            assert events.until("reset").data == {}
            assert events.until("fake").data["fake"] == 1
        for number, question in enumerate(["first question", "second question"], 1):
            ask(fake, question)
            for events in (one, two):
                assert events.until("call", question).data["call"] == number


def test_a_browser_that_comes_later_sees_what_was(server: ConverseServer) -> None:
    fake = server.script(*[reply.text(str(number)) for number in range(5)])
    for number in range(5):
        ask(fake, f"question {number}")
    with reading(server) as events:
        assert [events.until("call").data["call"] for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_call_that_is_forwarded_appears(
    server: ConverseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    service = server.script(reply.text("from the service"))
    with reading(server) as events, server.record(tmp_path / "a.jsonl", upstream=service.url) as recording:
        ask(recording, operation="converse-stream")
        found = [events.until("call", "from the service").data["fake"] for _ in range(2)]
    assert len({*found}) == 2


def test_a_fake_of_the_control_api_shows_its_problems_in_json(server: ConverseServer) -> None:
    opened = httpx.post(f"{server.url}/__converse/fakes", json={"script": [{"text": "hi"}]}, trust_env=False).json()
    with reading(server) as events:
        events.until("fake", opened["id"])
        assert httpx.delete(f"{server.url}/__converse/fakes/{opened['id']}", trust_env=False).json()["ok"] is False
        head = events.until("fake", "was not used").html
    assert "&#34;unused&#34;: &#34;allow&#34;" in head
    assert "unused=" not in head


def test_an_answer_grows_on_the_page(server: ConverseServer) -> None:
    fake = server.script(reply.text("a b c d e f").paced(each=60.0))
    with reading(server) as events, httpx.Client(trust_env=False) as client:
        events.until("fake")
        body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
        with client.stream("POST", f"{fake.url}/model/m/converse-stream", json=body):
            events.until("call", "still running")
        events.until("call", "closed by client")


def test_a_browser_that_comes_back_gets_only_what_is_new(server: ConverseServer) -> None:
    fake = server.script(reply.text("a"), reply.text("b"))
    with reading(server) as events:
        ask(fake, "the old one")
        events.until("call", "complete")
        last = events.until("fake").id
    ask(fake, "the new one")
    with reading(server, last) as events:
        seen = [next(iter(events)) for _ in range(2)]
    assert {(event.kind, event.data["call"]) for event in seen} == {("call", 2), ("fake", 0)}


@pytest.mark.parametrize("last_id", [b"00000000-7", b"nonsense", b"-", b"\x80-1"])
def test_an_id_of_another_server_begins_anew(server: ConverseServer, last_id: bytes) -> None:
    ask(server.script(reply.text("a")))
    headers = {b"last-event-id": last_id}
    with httpx.stream("GET", address(server), headers=headers, trust_env=False, timeout=PATIENCE) as response:
        events = Reading(response)
        assert next(iter(events)).kind == "reset"
        events.until("call", "hello")


def test_no_text_is_markup_and_no_secret_is_sent(server: ConverseServer) -> None:
    markup = "<script>alert(1)</script>"
    coloured = "\n".join(show(SECRET, 9) for show in SHAPES.values())
    fake = server.script(reply.text(f"{markup} {SECRET} {coloured}"), reply.throttled())
    ask(fake, f"{markup} {SECRET} ]]> &amp; \u2028 \ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    ask(
        fake,
        operation='<img src=x onerror="alert(1)">',
        authorization="Bearer very-secret-token",
        **{"x-api-key": "topsecret"},
    )
    with reading(server) as events:
        sent = [events.until("call"), events.until("call")]
    text = "".join(event.html for event in sent)
    assert "&lt;script&gt;alert(1)" in text
    assert not re.search(r"<(script|img|iframe|object|embed|link|style)\b|\son\w+=|javascript:", text)
    secrets = SECRET, SECRET[:9], SECRET[9:], "very-secret-token", "topsecret"
    assert not [each for each in secrets if each in text]


def test_a_value_that_became_a_secret_meanwhile_is_masked(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = server.script(reply.text("a"), reply.text("b"))
    with reading(server) as events:
        ask(fake, "correct-horse-battery-9")
        events.until("call", "correct-horse-battery-9")
        monkeypatch.setenv("MY_API_KEY", "correct-horse-battery-9")
        ask(fake, "again: correct-horse-battery-9")
        second = next(event for event in events if event.kind == "call" and event.data["call"] == 2)
    assert "correct-horse" not in second.html


# Fakes that are closed


def test_a_fake_that_is_closed_stays_for_a_while(server: ConverseServer) -> None:
    assert server.page_url
    with server.script(reply.text("a")) as fake:
        ask(fake, "before the page was open")
    with reading(server) as events:
        number = events.until("call", "before the page was open").data["fake"]
        assert events.until("closed").data["fake"] == number
        with server.script(reply.text("b")) as second:
            ask(second, "while the page was open")
        later = events.until("call", "while the page was open").data["fake"]
        assert later != number
        assert events.until("closed").data["fake"] == later


def test_only_so_many_calls_of_closed_fakes_are_kept(server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "_KEPT_CALLS", 3)
    assert server.page_url
    fakes = [server.script(reply.text("a").times(2)) for _ in range(2)]
    for fake, name in zip(fakes, ("one", "two"), strict=True):
        ask(fake, name)
        ask(fake, name)
        fake.close()
    with reading(server) as events:
        first = events.until("call")
        assert (first.data["call"], "two" in first.html) == (1, True)
    gone = weakref.ref(fakes.pop())
    with server.script(reply.text("a").times(4)) as large:
        for _ in range(4):
            ask(large, "three")
    del fake
    eventually(lambda: (gc.collect(), gone() is None)[1])


def test_nothing_is_kept_while_nobody_has_the_address(server: ConverseServer) -> None:
    with server.script(reply.text("a")) as fake:
        ask(fake)
    gone = weakref.ref(fake)
    del fake
    server.script()  # the server refers to the newest fake
    eventually(lambda: (gc.collect(), gone() is None)[1])


# Slow browsers, and the end


def test_a_browser_that_does_not_read_delays_nobody_and_is_given_no_more(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def large(shown: Shown, fake: LiveFake) -> dict[str, str]:
        return {"html": f"{shown.kind} {shown.call} {'x' * 500_000}"}

    monkeypatch.setattr(feed_of(server), "_render", large)
    fake = server.script(*[reply.text("a")] * 30)
    target = LIVE + query(server)
    with Raw(server.url, buffer=65_536) as slow, reading(server) as events:
        slow.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        slow.until(b"event: fake")
        for number in range(1, 31):
            ask(fake)
            assert events.until("call", f"call {number} ").data["call"] == number
        readers = [*feed_of(server)._readers]  # how much it holds for a browser is seen nowhere else
        behind = min(readers, key=lambda reader: reader.revision)
        assert behind.revision < max(reader.revision for reader in readers)
        assert 0 < sum(map(len, behind._given)) < 2_000_000
        kept = [each for each in gc.get_objects() if issubclass(type(each), SentChunks)]
        assert sum(len(data) for each in kept for data in each.data) < 1_000_000
        tail = slow.held
        while b"call 30 " not in tail:
            data = slow.socket.recv(65_536)  # when it reads again, it goes on where it was
            assert data
            tail = tail[-100:] + data


def test_the_end_of_the_server_ends_the_stream_at_once(server: ConverseServer) -> None:
    ended = threading.Event()

    def read() -> None:
        with reading(server) as events:
            events.until("fake")
            started.set()
            try:
                while events.block():
                    pass
            except httpx.TransportError:
                pass
        ended.set()

    started = threading.Event()
    server.script()
    reader = threading.Thread(target=read)
    reader.start()
    assert started.wait(PATIENCE)
    server.stop()
    assert ended.wait(PATIENCE)
    reader.join()
    assert not [each for each in threading.enumerate() if each.name == "converse-harness page"]


def test_the_thread_ends_with_the_last_browser(server: ConverseServer) -> None:
    with reading(server), reading(server):
        assert [each.name for each in threading.enumerate()].count("converse-harness page") == 1
    eventually(lambda: "converse-harness page" not in [each.name for each in threading.enumerate()])
    with reading(server) as events:
        events.until("reset")


def test_silence_is_broken_by_comments(server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "KEEP_ALIVE", 0.0)
    with reading(server) as events:
        while events.block() != [": still here"]:
            pass


def test_there_is_a_most_of_browsers(server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "MOST_READERS", 1)
    with reading(server):
        answer = httpx.get(address(server), trust_env=False)
        assert (answer.status_code, answer.headers["x-amzn-errortype"].partition(":")[0]) == (
            429,
            "ThrottlingException",
        )
    eventually(lambda: not feed_of(server)._readers)
    with reading(server) as events:
        events.until("reset")


def test_a_call_that_cannot_be_shown_does_not_end_the_page(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ValueError("a bug")

    monkeypatch.setattr(feed_of(server), "_render", broken)
    fake = server.script(reply.text("a"))
    ask(fake)
    with reading(server) as events:
        assert events.until("call").data["call"] == 1
    assert "cannot show a call" in caplog.text
    eventually(lambda: "converse-harness page" not in [each.name for each in threading.enumerate()])
    caplog.clear()  # only now, because the thread logs the error of each change
