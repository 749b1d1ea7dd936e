"""`pytest --converse-drift`: after the tests, the requests of the recordings that they played are asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from converse_harness import Call, Reply, reply
from tests.nested import XDIST
from tests.plugin.upstream import ACCOUNT, Upstream, echo, service

TESTS = """
import pytest
from agent import ask

@pytest.mark.converse_recording
@pytest.mark.parametrize("city", ["Chur", "Bern"])
def test_city(city):
    assert ask(city)
"""
RULED = "converse-harness: drift of the service"


@pytest.fixture
def drifted(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A project with two recordings. The function runs its tests with the option, and returns the lines about drift."""
    upstream.project.makepyfile(test_a=TESTS)
    upstream.record().assert_outcomes(passed=2)

    def run(answer: Any, *arguments: str, passed: int = 2) -> list[str]:
        with service(answer) as running:
            for name, value in {**ACCOUNT, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": running.url}.items():
                monkeypatch.setenv(name, value)
            workers = XDIST if "-n" in arguments else ()
            result = upstream.project.runpytest("--converse-drift", *workers, *arguments)
        result.assert_outcomes(passed=passed)
        assert result.ret == 0
        _, _, after = "\n".join(result.outlines).partition(RULED)
        return [line for line in after.split("\n")[1:] if line and not line.startswith("=")]

    return run


def with_other_usage(call: Call) -> Reply:
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2, "cacheReadInputTokens": 0}
    return reply.text(f"{call.last_user_text}?", usage=usage)


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "xdist"])
def test_the_summary_lists_drift(workers: tuple[str, ...], drifted: Callable[..., list[str]]) -> None:
    assert drifted(echo, *workers) == ["No drift in 2 answers."]
    first, _, key, *others = drifted(with_other_usage, *workers)
    assert first == "recordings/test_a/test_city[Bern].jsonl call 1  Converse us.amazon.nova-lite-v1:0"
    assert key == "  usage  usage.cacheReadInputTokens is new"
    assert others[-2:] == ["2 of 2 answers have drifted: 2 in usage.", "The content of 2 answers differs, as it may."]


def test_without_a_service_it_is_not_known(drifted: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_, last = drifted(reply.throttled("Not\x1b[31m now."))
    assert first.endswith("no answer: 429 ThrottlingException (Not\ufffd[31m now.)")
    assert last == "No answer to 2 requests: whether these have drifted is not known."
    monkeypatch.setitem(ACCOUNT, "AWS_ACCESS_KEY_ID", "")
    monkeypatch.setitem(ACCOUNT, "AWS_SECRET_ACCESS_KEY", "")
    (line,) = drifted(echo)
    assert line.startswith("Whether the service has drifted is not known: there are no credentials")


def test_a_recording_that_is_gone_is_left_out(upstream: Upstream, drifted: Callable[..., list[str]]) -> None:
    upstream.project.makepyfile(
        test_b="""
        import shutil
        from pathlib import Path
        from agent import ask
        from converse_harness import fake_converse, recording

        def test_copy(tmp_path):
            path = shutil.copy(Path("recordings/test_a/test_city[Bern].jsonl"), tmp_path)
            with fake_converse(recording(path)):
                ask("Bern")
            Path(path).unlink()
        """
    )
    assert drifted(echo, passed=3) == ["No drift in 2 answers."]


def test_without_the_option_nothing_is_asked(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=TESTS)
    upstream.record().assert_outcomes(passed=2)
    asked = len(upstream.service.calls)
    assert RULED not in upstream.replay().stdout.str()
    assert len(upstream.service.calls) == asked


def test_a_run_without_recordings_says_so(upstream: Upstream) -> None:
    upstream.project.makepyfile("def test_a(converse): pass")
    upstream.project.runpytest("--converse-drift").stdout.fnmatch_lines([f"*{RULED}*", "No test played a recording."])
