"""The commands that serve print the URL of the live page, with its token, and this token nowhere else."""

import re
from pathlib import Path

import httpx

from converse_harness import ConverseServer
from tests.cli.test_record_command import Recording, _developer, folder, service
from tests.cli.test_serve import script, serving

__all__ = ["_developer", "folder", "script", "service"]


def test_the_page_of_the_calls_and_no_line_with_its_token(script: Path) -> None:
    with serving(script.name) as served:
        page = served.page
        assert re.fullmatch(rf"{served.url}/\?token=[\w-]{{22}}", page)
        browser = {"accept": "text/html"}
        assert "EventSource" in httpx.get(page, headers=browser, trust_env=False).text
        assert "EventSource" not in httpx.get(served.url, headers=browser, trust_env=False).text
        token = page.partition("=")[2]
        httpx.get(f"{served.url}/elsewhere?token={token}", trust_env=False)
        line = served.line()
        assert "GET /elsewhere?token=***" in line
        assert token not in line


def test_a_proxy_that_records_has_a_page(service: ConverseServer, folder: Path) -> None:
    with service.script() as real, Recording("session.jsonl", "--upstream", real.url) as command:
        assert re.fullmatch(rf"{command.url}/\?token=[\w-]{{22}}", command.page)
