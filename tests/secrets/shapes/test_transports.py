"""Rows of the corpus go through every transport of a recorder, to disk; and through pytest, to all that it prints."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import httpx
import pytest

from converse_harness import Call, ConverseServer, JournalWarning, MaskedSecretWarning, Reply, ReplyError, record, reply
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.read import read
from converse_harness.recordings.names import journal_path
from tests.secrets.shapes.rows import PLACES, PYTEST, CorpusRow, leaks, rows, text_in
from tests.secrets.shapes.seen import SEED, is_claimed, is_written

COUNT: Final = 2000
SOME: Final = 240
MODEL: Final = "us.amazon.nova-lite-v1:0-{}"
SETTINGS: Final[dict[str, Any]] = {"rules": "off", "answers": "off", "history": "off", "unused": "allow"}

METADATA: Final = {
    "metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
}

Rows = Mapping[str, CorpusRow]
"""Rows by the ids of the models that are asked with them."""


def lines_of(row: CorpusRow) -> Sequence[dict[str, Any]]:
    return PLACES[row.place](row.pieces)[1:]


def body_of(row: CorpusRow) -> dict[str, Any]:
    body: dict[str, Any] = lines_of(row)[0]["request"]
    return body if body["messages"] else {**body, "messages": [{"role": "user", "content": [{"text": "hello"}]}]}


def operation_of(row: CorpusRow) -> str:
    return str(lines_of(row)[0]["operation"])


def target_of(model: str, row: CorpusRow) -> str:
    return f"/model/{quote(model, safe='')}/converse{'-stream' * (operation_of(row) == 'ConverseStream')}"


def answer_of(row: CorpusRow) -> Reply:
    _, head, *events = lines_of(row)
    if events:
        begun, *deltas = [{key: value for key, value in event.items() if key != "t"} for event in events]
        use = {"toolUse": {"toolUseId": "tooluse_1", "name": "t"}}
        start = {"contentBlockStart": {"contentBlockIndex": 0, "start": use}}
        return reply.events([begun, *[start] * ("toolUse" in str(deltas[0])[:80]), *deltas, METADATA])
    content = head["body"]["output"]["message"]["content"]
    return reply.message(*content) if content else reply.text("ok")


def over_boto(url: str, every: Rows) -> None:
    client = create_client(endpoint_url=url)
    for model, row in every.items():
        ask = client.converse_stream if operation_of(row) == "ConverseStream" else client.converse
        for _ in ask(modelId=model, **body_of(row)).get("stream", ()):
            pass


def over_httpx(url: str, every: Rows) -> None:
    with httpx.Client() as client:
        for model, row in every.items():
            client.post(url + target_of(model, row), json=body_of(row))


def over_aiohttp(url: str, every: Rows) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as client:
            for model, row in every.items():
                async with client.post(url + target_of(model, row), json=body_of(row)) as response:
                    await response.read()

    asyncio.run(ask())


CLIENTS: Final[Mapping[str, Callable[[str, Rows], None]]] = {
    "boto3": over_boto,
    "httpx": over_httpx,
    "aiohttp": over_aiohttp,
}


def taken(path: Path, every: Rows) -> dict[str, str]:
    """What became of each row in a file."""
    saved = {exchange.call["modelId"]: exchange for exchange in read(path).exchanges}
    return {model: _verdict(saved.get(model), row) for model, row in every.items()}


def _verdict(exchange: RecordedExchange | None, row: CorpusRow) -> str:
    if exchange is None:
        return "left out"
    return "written" if leaks(row, text_in(exchange.lines())) else "found"


some_or_all = pytest.mark.parametrize(
    "count", [pytest.param(SOME, marks=pytest.mark.slow), pytest.param(COUNT, marks=pytest.mark.nightly)]
)


@some_or_all
@pytest.mark.parametrize("transport", [*CLIENTS, "server"])
def test_what_is_recorded_is_what_the_page_says(
    transport: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transport gets a quarter of the rows. The journal is compared with the file: it leaves out no less."""
    drawn = [row for row in rows(SEED + 1, count) if row.place != PYTEST]
    turn = [*CLIENTS, "server"].index(transport)
    every = {MODEL.format(number): row for number, row in enumerate(drawn) if number % 4 == turn}

    def answer(call: Call) -> Reply:
        return answer_of(every[call.model_id])

    path, journal = tmp_path / "session.jsonl", tmp_path / "journal.jsonl"
    with ConverseServer() as server, server.script(**SETTINGS) as service, warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskedSecretWarning)
        warnings.simplefilter("ignore", JournalWarning)
        service.always(answer)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "fake")
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", service.url)
        with suppress(ReplyError):
            if transport == "server":
                with server.record(path, upstream=service.url, region="us-east-1", **SETTINGS) as proxy:
                    over_httpx(proxy.url, dict([*every.items()][::5]))  # it writes the whole file after each call
            else:
                upstream = "" if transport == "boto3" else service.url
                with record(path, upstream=upstream, **SETTINGS):
                    CLIENTS[transport](service.url, every)
                    journal.write_bytes(journal_path(path).read_bytes())
    asked = dict([*every.items()][::5]) if transport == "server" else every
    for file in filter(Path.exists, (path, journal)):
        verdicts = taken(file, asked)
        written = [repr(asked[model]) for model, verdict in verdicts.items() if verdict == "written"]
        assert [each for each in written if each not in _not_claimed(asked)] == []
        assert len(written) < 0.1 * len(asked) + 4
        print(
            transport, file.name, {each: [*verdicts.values()].count(each) for each in ("found", "left out", "written")}
        )


def _not_claimed(every: Rows) -> set[str]:
    """The rows that the page does not say to be found, or that are written by the fast way too."""
    return {repr(row) for row in every.values() if not is_claimed(row) or is_written(row)}


PRINTS: Final = """
import logging
import json
import sys
import warnings

import pytest

ROWS = json.loads(open("rows.json", encoding="utf-8").read())


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_it(number, converse, record_property):
    text = ROWS[number]
    print(text)
    print(text, file=sys.stderr)
    logging.warning("%s", text)
    warnings.warn(text)
    record_property("text", text)
    raise RuntimeError(text)
"""


@some_or_all
def test_what_pytest_prints_is_what_the_page_says(count: int, pytester: pytest.Pytester) -> None:
    """stdout, stderr, log, warnings, properties and errors of failed tests; in the terminal, junit.xml and the page."""
    drawn = [row for row in rows(SEED + 2, count) if row.place == PYTEST]
    pytester.makepyfile(test_rows=PRINTS)
    texts = ["".join(row.pieces) for row in drawn]
    pytester.path.joinpath("rows.json").write_text(json.dumps(texts), encoding="utf-8")
    ran = pytester.runpytest_subprocess("-q", "-rA", "--junitxml=junit.xml", "--converse-report=report.html")
    ran.assert_outcomes(failed=len(drawn))
    shown = {
        "terminal": ran.stdout.str(),
        "junit.xml": pytester.path.joinpath("junit.xml").read_text(encoding="utf-8"),
        "report.html": pytester.path.joinpath("report.html").read_text(encoding="utf-8"),
    }
    found = [f"{row!r} in {where}" for where, text in shown.items() for row in drawn if leaks(row, text)]
    allowed = {f"{row!r} in {where}" for where in shown for row in drawn if not is_claimed(row) or is_written(row)}
    assert [each for each in found if each not in allowed] == []
    print({where: sum(each.endswith(where) for each in found) for where in shown}, "of", len(drawn))
