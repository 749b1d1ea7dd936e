"""The marker `converse_recording` and code that asks Bedrock with httpx: no fixture is needed."""

from __future__ import annotations

import pytest

from tests.plugin.upstream import Upstream

AGENT = """
import asyncio, os
import {library} as library

def url():
    base = os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://bedrock-runtime.us-east-1.amazonaws.com")
    return f"{{base}}/model/m/converse"

def body(question):
    return {{"messages": [{{"role": "user", "content": [{{"text": question}}]}}]}}

def said(answer):
    return answer.json()["output"]["message"]["content"][0]["text"]

def talk(question):
    return said(library.post(url(), json=body(question)))

async def talk_async(question):
    async with library.AsyncClient() as client:
        return said(await client.post(url(), json=body(question)))
"""


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
@pytest.mark.parametrize("fixtures", ["", "converse", "converse_httpx", "converse_httpx, converse"])
def test_clients_that_code_builds_itself(upstream: Upstream, library: str, fixtures: str) -> None:
    upstream.project.makepyfile(
        talking=AGENT.format(library=library),
        test_a=f"""
        import asyncio
        import pytest
        from agent import ask
        from talking import talk, talk_async

        @pytest.mark.converse_recording(match="exact")
        def test_trip({fixtures}):
            assert talk("one") == "one!"
            assert ask("two") == "two!"
            assert asyncio.run(talk_async("three")) == "three!"
        """,
    )
    upstream.record().assert_outcomes(passed=1)
    assert upstream.questions("test_a/test_trip.jsonl") == ["one", "two", "three"]
    result = upstream.replay()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*unplayed*")
