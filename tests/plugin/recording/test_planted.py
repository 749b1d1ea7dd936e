"""Two thousand planted secrets on their way through clients and the proxy: none is on disk, and none is shown."""

from __future__ import annotations

import base64
import os
import pickle
import random
from pathlib import Path
from urllib.parse import quote

import pytest

from converse_harness.features import FEATURES
from tests.nested import HYPOTHESIS
from tests.plugin.upstream import ACCOUNT
from tests.secrets.planting import Planted, draw, left_in, service

COUNT = int(os.environ.get("CONVERSE_PLANTED", "2000"))
SEED = int(os.environ.get("CONVERSE_PLANTED_SEED", "0")) or random.randrange(1, 2**32)
"""Drawn anew each night; the slow tier, which stands before every change, plants the same ones always."""

TESTS = 40
"""Tests that ask for all of it, a part each."""

PROJECT = """
import os, pickle
from contextlib import suppress

import boto3, botocore.config, botocore.exceptions, httpx, pytest
from hypothesis import given, settings, strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from converse_harness import ConverseHarnessError, ConverseServer, fake_converse, reply
from tests.secrets.planting import arguments_of, body_of, operation_of, target_of

with open(os.environ["PLANTED"], "rb") as file:
    PLANTED = pickle.load(file)
URL = os.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
TESTS = {tests}
CONFIG = botocore.config.Config(retries={{"total_max_attempts": 1}}, parameter_validation=False)

parts = pytest.mark.parametrize("part", range(TESTS))
recorded = pytest.mark.converse_recording


def through_boto(planted):
    client = boto3.client("bedrock-runtime", config=CONFIG)
    for each in planted:
        # Planted answers may be errors or broken; the subject is where they are written.
        with suppress(botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError, ValueError):
            answer = getattr(client, operation_of(each))(**arguments_of(each))
            stream = answer.get("stream", answer.get("body"))
            if stream is not None:
                list(stream)


def through_httpx(planted, url=URL):
    for each in planted:
        httpx.post(url + target_of(each), json=body_of(each))


def shows(planted):
    texts = [each.text for each in planted]
    for each in planted:
        print(each.text)
    assert texts == [], texts[0]


@parts
@recorded
def test_boto(part):
    planted = PLANTED[part::TESTS * 3]
    through_boto(planted)
    shows(planted)


@parts
@recorded
def test_httpx(part, record_property):
    planted = PLANTED[TESTS + part::TESTS * 3]
    through_httpx(planted)
    record_property("all", " ".join(each.text for each in planted))
    shows(planted)


@parts
def test_proxy(part):
    planted = PLANTED[2 * TESTS + part::TESTS * 3]
    with ConverseServer() as server:
        try:
            with server.record(f"recordings/proxy_{{part}}.jsonl", upstream=URL) as fake:
                through_httpx(planted, fake.url)
        except ConverseHarnessError as said:
            print(said)
    shows(planted)


@settings(max_examples=200, deadline=None, database=DirectoryBasedExampleDatabase(".hypothesis/examples"))
@given(st.sampled_from([each.text for each in PLANTED]))
def test_with_hypothesis(text):
    with fake_converse() as fake:
        fake.always(reply.text(text))
        client = boto3.client("bedrock-runtime", config=CONFIG)
        answer = client.converse(modelId="m", messages=[{{"role": "user", "content": [{{"text": text}}]}}])
        print(answer)
        assert len(text) < 60, text
"""


REPORT = ["--converse-report=report.html"] * ("report" in FEATURES)
"""Where the feature is there, its page is searched as well."""


@pytest.mark.parametrize(
    ("count", "seed"),
    [pytest.param(100, 1, marks=pytest.mark.slow), pytest.param(COUNT, SEED, marks=pytest.mark.nightly)],
    ids=["known", "drawn"],
)
def test_no_planted_secret_is_left(
    count: int,
    seed: int,
    project: pytest.Pytester,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    print(f"CONVERSE_PLANTED_SEED={seed} draws the same again")
    planted = draw(seed, count)
    kept = tmp_path_factory.mktemp("planted") / "planted.pickle"
    kept.write_bytes(pickle.dumps(planted))
    monkeypatch.setenv("PLANTED", str(kept))
    project.makepyfile(test_it=PROJECT.format(tests=TESTS))
    with service(planted) as url:
        for name, value in {**ACCOUNT, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url}.items():
            monkeypatch.setenv(name, value)
        result = project.runpytest(
            *HYPOTHESIS, "-v", "-rA", "--converse-record=once", "--converse-record-failed=write",
            "--junitxml=junit.xml", "-o", "junit_logging=all", "-o", "junit_family=xunit1",
            *REPORT,
        )  # fmt: skip
    assert (project.path / ".hypothesis").is_dir()
    assert [path.name for path in project.path.glob("*.html")] == ["report.html"] * len(REPORT)
    exchanges = sum(
        line.startswith('{"call"')
        for path in (project.path / "recordings").rglob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    print(f"{exchanges} of {count} exchanges were written")
    assert exchanges > count // 3
    left = left_in(project.path, planted, str(result.stdout), str(result.stderr))
    print(*left, sep="\n")
    assert not left


def test_what_is_left_is_found(tmp_path: Path) -> None:
    secret = "not-so-secret-after-all"
    planted = Planted(1, "a kind", secret, "as it is", "streamed text", (secret[:5], secret[5:]))
    (tmp_path / "a.jsonl").write_text('{"call": 1}\n{"delta": "not-so"}\n{"delta": "-secret-after-all"}\n')
    (tmp_path / "b.txt").write_bytes(b"\xff" + base64.b64encode(f"12{secret}".encode()))
    found = left_in(tmp_path, [planted], f"it is {secret}", quote(secret).upper(), f"{secret[:5]}\x1b[1m{secret[5:]}")
    assert {each.partition(" has ")[0] for each in found} == {
        *(
            f"{name}{suffix}"
            for name in ("a.jsonl, put together", "b.txt", "text 1")
            for suffix in ("", ", as it is seen")
        ),
        "text 3, as it is seen",
    }
