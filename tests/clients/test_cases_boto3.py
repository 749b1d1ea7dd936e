"""boto3 makes of every case of the catalogue what the table says, in process and, of each kind, over the socket."""

from __future__ import annotations

from contextlib import closing
from inspect import getsource
from typing import Any

import boto3
import botocore.exceptions
import pytest
import urllib3.exceptions
from botocore.config import Config
from botocore.httpsession import URLLib3Session

from converse_harness import ConverseServer, ReplyError, fake_converse
from converse_harness.cases import CASES
from converse_harness.faults import FAULTS
from converse_harness.intercept.in_process import InProcessFake
from tests.clients.case_outcomes import NEWER, OUTCOMES
from tests.clients.case_runs import (
    ASKED,
    UNTIL_IT_GIVES_UP,
    Differences,
    Differs,
    Made,
    answer,
    can_pass,
    check,
    expected_of,
    made,
    made_whole,
    patience,
    sampled,
)
from tests.clients.scenarios import CONNECTION, CONVERSE, REQUEST, shape_name

BROKEN = (
    botocore.exceptions.ConnectionError,
    botocore.exceptions.HTTPClientError,
    urllib3.exceptions.HTTPError,
)
"""What a connection that breaks is called by botocore, and inside a stream by what it is built on."""


def ask(client: Any, operation: str) -> Made:
    """What boto3 hands out for the question."""
    events: list[Any] = []
    try:
        if operation == CONVERSE:
            return made_whole(client.converse(**REQUEST))
        with closing(client.converse_stream(**REQUEST)["stream"]) as stream:
            events.extend(stream)  # not a comprehension: what came before an error counts
    except botocore.exceptions.ClientError as error:
        return made(events, shape_name(error.response["Error"]["Code"]), type(error).__name__)
    except BROKEN as error:
        return made(events, CONNECTION, type(error).__name__)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table names it
        return made(events, type(error).__name__, type(error).__name__)
    return made(events)


ONCE_COMPARED = "this botocore compares a body with its Content-Length, as newer ones do not"
COMPARES_LENGTH = "enforce_content_length" not in getsource(URLLib3Session.send)
GONE = {"error": CONNECTION, "raised": "ConnectionClosedError", "again": UNTIL_IT_GIVES_UP}
OLDER: Differences = {
    "wrong_content_length": Differs(
        ONCE_COMPARED,
        stream={"error": CONNECTION, "raised": "ProtocolError"},
        whole={"text": "", "stop": None, "usage": None, **GONE},
    ),
    "closed": Differs(ONCE_COMPARED, whole=GONE),
}


def expected(name: str, operation: str) -> list[Made]:
    """What the installed botocore makes of a case."""
    return expected_of(name, operation, OUTCOMES[name], OLDER if COMPARES_LENGTH else {})


ATTEMPTS = 3
"""How often a client asks at most."""


def connect(name: str) -> Any:
    """A client that is made as anybody makes one, but for its patience."""
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return boto3.client("bedrock-runtime", config=Config(read_timeout=patience(name), retries=retries))


def test_every_case_has_a_row_and_every_row_a_case() -> None:
    assert set(CASES) - set(OUTCOMES) == set()
    assert set(OUTCOMES) - set(CASES) <= NEWER
    assert {name for name, row in OUTCOMES.items() if row.whole is None and name in CASES} == {
        name for name, case in CASES.items() if case.stream_only
    }


@pytest.mark.parametrize(("name", "operation"), ASKED)
def test_in_process(name: str, operation: str) -> None:
    with fake_converse(unused="allow", answers="off") as fake:
        answer(fake, name)
        check(fake, name, ask(connect(name), operation), expected(name, operation), ATTEMPTS)


@pytest.mark.needs_os
@pytest.mark.parametrize(("name", "operation"), sampled("server"))
def test_over_the_socket(
    name: str, operation: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with converse_server.script(unused="allow", answers="off") as fake:
        answer(fake, name)
        for variable, value in fake.environ.items():
            monkeypatch.setenv(variable, value)
        check(fake, name, ask(connect(name), operation), expected(name, operation), ATTEMPTS)


@pytest.mark.needs_os
@pytest.mark.parametrize("name", [name for name in CASES if not can_pass(name, "server")])
def test_what_the_socket_cannot_express_is_refused(name: str, converse_server: ConverseServer) -> None:
    with (
        converse_server.script(unused="allow", answers="off") as fake,
        pytest.raises(ReplyError, match="the server transport cannot"),
    ):
        answer(fake, name)


def ask_for_whole(name: str, fake: InProcessFake) -> None:
    with fake:
        answer(fake, name)
        ask(connect(name), CONVERSE)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.stream_only])
def test_what_only_a_stream_can_be_is_refused_for_a_whole_answer(name: str) -> None:
    with pytest.raises(ReplyError, match="only a stream"):
        ask_for_whole(name, fake_converse(unused="allow", answers="off"))


@pytest.mark.parametrize("name", [name for name in FAULTS if name in CASES])
def test_a_fault_says_what_botocore_does_with_it(name: str) -> None:
    said, _, _ = FAULTS[name].botocore.partition(";")
    raised = OUTCOMES[name].stream.raised
    assert said.startswith("raises ") == (raised is not None)
    assert said.endswith(raised or "")
