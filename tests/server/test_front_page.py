"""What a browser sees at the server's own URL; every client of Bedrock is answered as before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from converse_harness import ConverseServer, reply

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.mark.parametrize("version", ["http1", "http2"])
def test_a_browser_gets_a_page_whose_links_lead_somewhere(server: ConverseServer, version: str) -> None:
    http1, http2 = version == "http1", version == "http2"
    with httpx.Client(base_url=server.url, trust_env=False, headers=BROWSER, http1=http1, http2=http2) as browser:
        page = browser.get("/?from=bookmark")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "a fake Amazon Bedrock" in page.text
        links = re.findall(r'href="([^"]+)"', page.text)
        assert [browser.get(link).status_code for link in links] == [200, 200]


def test_it_is_no_call_of_a_fake(server: ConverseServer) -> None:
    fake = server.answer_all(reply.text("hi"))
    assert httpx.get(server.url, headers=BROWSER, trust_env=False).status_code == 200
    assert httpx.get(f"{server.url}/favicon.ico", trust_env=False).status_code == 404
    assert not fake.calls.all
    assert not fake.endpoint.problems


def test_the_url_of_a_fake_has_the_page_too(server: ConverseServer) -> None:
    fake = server.script(reply.text("hi"))
    for url in (fake.url, f"{fake.url}/"):
        assert "a fake Amazon Bedrock" in httpx.get(url, headers=BROWSER, trust_env=False).text
    assert not fake.calls.all
    assert not fake.endpoint.problems
    assert httpx.get(fake.url, trust_env=False).status_code == 404
    assert len(fake.calls.all) == 1


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {"accept": "*/*"}),
        ("POST", "/", BROWSER),
        ("GET", "/elsewhere", BROWSER),
        ("GET", "/__converse", BROWSER),
    ],
)
def test_everything_else_gets_the_error_of_aws(
    server: ConverseServer, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = httpx.request(method, server.url + path, headers=headers, trust_env=False)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
