"""What boto makes of faults, in process and over a real socket: the same."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import botocore.exceptions
import botocore.session
import pytest
import urllib3.exceptions
from botocore.config import Config

from converse_harness import ConverseServer, Fake, Reply, fake_converse, faults, reply
from converse_harness.faults.model import Fault
from tests.broken import WHOLE as EVERYTHING
from tests.broken import expected, faulty, observed
from tests.server.peers import eventually

pytestmark = pytest.mark.any_answer

Client = Callable[..., Any]
Opened = Callable[..., Any]

STREAM: dict[Fault, tuple[type[Exception], str]] = {
    faults.reset: (urllib3.exceptions.ProtocolError, "Connection reset by peer"),
    faults.closed: (urllib3.exceptions.ProtocolError, "Response ended prematurely"),
    faults.stall: (urllib3.exceptions.ReadTimeoutError, "Read timed out."),
}
WHOLE: dict[Fault, type[Exception]] = {
    faults.reset: botocore.exceptions.ConnectionClosedError,
    faults.stall: botocore.exceptions.ReadTimeoutError,
}
"""What a client gets, by fault; of a stream with what it says."""


@pytest.fixture(scope="module")
def session() -> botocore.session.Session:
    """One for all: it reads the service's model once."""
    return botocore.session.Session()


@pytest.fixture
def make_client(session: botocore.session.Session) -> Client:
    return functools.partial(session.create_client, "bedrock-runtime", region_name="us-east-1")


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture(params=["in process", "over a socket"])
def opened(request: pytest.FixtureRequest, make_client: Client, server: ConverseServer) -> Opened:
    """Opens a fake and a client on it."""

    @contextmanager
    def over_a_socket(*replies: Reply, config: Config = TWICE) -> Iterator[tuple[Fake, Any]]:
        with (
            server.script(*replies) as fake,
            closing(make_client(endpoint_url=fake.url, config=config)) as client,
        ):
            yield fake, client

    @contextmanager
    def in_process(*replies: Reply, config: Config = TWICE) -> Iterator[tuple[Fake, Any]]:
        with fake_converse(*replies) as fake:
            yield fake, make_client(config=config)

    return over_a_socket if request.param == "over a socket" else in_process


TWICE = Config(retries={"total_max_attempts": 2, "mode": "standard"})
ONCE = Config(retries={"total_max_attempts": 1})
IMPATIENT = Config(read_timeout=0.5)
"""Only for what never comes: a busy machine takes its time."""


def config_for(fault: Fault, config: Config) -> Config:
    lasts_for_ever = fault in (faults.stall, faults.read_timeout)
    return config.merge(IMPATIENT) if lasts_for_ever else config


# The column of the table.


IN_PROCESS = [each for each in faults.FAULTS.values() if "boto" in each.transports]


@pytest.mark.parametrize("fault", IN_PROCESS, ids=lambda fault: fault.name)
def test_botocore_does_with_it_what_the_table_says(make_client: Client, question: dict[str, Any], fault: Fault) -> None:
    with fake_converse(faulty(fault)) as fake:
        assert observed(make_client(config=ONCE), question, fault, fake) == expected(fault)


ON_THE_WIRE = [each for each in faults.FAULTS.values() if each.level != "events" and "server" in each.transports]


@pytest.mark.parametrize("fault", ON_THE_WIRE, ids=lambda fault: fault.name)
def test_botocore_does_the_same_over_a_socket(
    make_client: Client, question: dict[str, Any], server: ConverseServer, fault: Fault
) -> None:
    with (
        server.script(faulty(fault)) as fake,
        closing(make_client(endpoint_url=fake.url, config=config_for(fault, ONCE))) as client,
    ):
        assert observed(client, question, fault, fake) == expected(fault)


# What it hands out before it.


@pytest.mark.parametrize("fault", STREAM, ids=lambda fault: fault.name)
def test_a_stream_is_read_up_to_the_break(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    error, message = STREAM[fault]
    cut = reply.text("one two three four").broken(fault, after=3)
    with opened(cut, config=config_for(fault, TWICE)) as (fake, client):
        stream = client.converse_stream(**question)["stream"]
        events: list[Any] = []
        with pytest.raises(error, match=message):
            events.extend(stream)
        stream.close()
        (call,) = fake.calls
        assert [list(event) for event in events] == [list(event) for event, _ in call.events]
        assert (len(events), call.outcome) == (3, "cut")


@pytest.mark.parametrize("fault", WHOLE, ids=lambda fault: fault.name)
def test_a_whole_body_that_breaks_is_asked_for_again(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    cut = reply.text("one two").broken(fault)
    with opened(cut, reply.text("ok"), config=config_for(fault, TWICE)) as (fake, client):
        assert client.converse(**question)["output"]["message"]["content"] == [{"text": "ok"}]
        assert [call.outcome for call in fake.calls] == ["cut", "complete"]


@pytest.mark.parametrize("fault", WHOLE, ids=lambda fault: fault.name)
def test_what_is_raised_when_the_attempts_are_used_up(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    cut = reply.text("one two").broken(fault).times(2)
    with opened(cut, config=config_for(fault, TWICE)) as (fake, client):
        with pytest.raises(WHOLE[fault]):
            client.converse(**question)
        assert len(fake.calls) == 2


@pytest.mark.parametrize("fault", [faults.closed, faults.wrong_content_length], ids=lambda fault: fault.name)
def test_a_whole_body_that_ends_too_early_is_the_same_both_ways(
    make_client: Client, question: dict[str, Any], fault: Fault
) -> None:
    # botocore 1.40 raises and tries again, 1.44 takes no notice: the socket says which, and the other does the same.
    def ask(client: Any, fake: Fake) -> tuple[str, int]:
        try:
            said = str([*client.converse(**question)])
        except botocore.exceptions.BotoCoreError as error:
            said = type(error).__name__
        assert {call.outcome for call in fake.calls} == {"cut"}
        return said, len(fake.calls)

    cut = reply.text("one two").broken(fault)
    with ConverseServer() as server, server.script() as fake:
        fake.always(cut)
        over_a_socket = ask(make_client(endpoint_url=fake.url, config=TWICE), fake)
    with fake_converse() as inside:
        inside.always(cut)
        assert ask(make_client(config=TWICE), inside) == over_a_socket


# Pauses that are longer than the client waits.


PAUSES: dict[str, Reply] = {
    "paced": reply.text("one two").paced(each=30),
    "stall": reply.text("one two").broken(faults.stall.lasting(30), after=1),
}


@pytest.mark.parametrize("pause", PAUSES)
def test_a_stream_that_pauses_for_too_long_is_a_timeout(opened: Opened, question: dict[str, Any], pause: str) -> None:
    with opened(PAUSES[pause], config=TWICE.merge(IMPATIENT)) as (fake, client):
        stream = client.converse_stream(**question)["stream"]
        events: list[Any] = []
        with pytest.raises(urllib3.exceptions.ReadTimeoutError, match="Read timed out"):
            events.extend(stream)
        assert [list(event) for event in events] == [["messageStart"]]
        assert list(stream) == []
        stream.close()
        del stream, client
        eventually(lambda: fake.calls[0].outcome != "still running")
        assert fake.calls[0].outcome == "closed by client"


# Reading on after closing.


@pytest.mark.parametrize("last", ["messageStart", "metadata"])
def test_a_stream_that_is_closed_while_it_is_read_is_an_error(
    opened: Opened, question: dict[str, Any], last: str
) -> None:
    with opened(reply.text("one two", pieces=["one", " two"]).optional(), config=TWICE) as (_, client):
        stream = client.converse_stream(**question)["stream"]
        events = iter(stream)
        while last not in next(events):
            pass
        stream.close()
        with pytest.raises(AttributeError, match="no attribute 'readline'"):
            next(events)


def test_a_whole_body_that_is_read_after_it_was_closed_lacks_its_end(opened: Opened) -> None:
    with opened(config=TWICE) as (fake, client):
        fake.on_operation("InvokeModel", lambda call: {"body": b"{}", "contentType": "application/json"})
        body = client.invoke_model(modelId="m", body=b"{}")["body"]
        assert body.read(1) == b"{"
        body.close()
        with pytest.raises(botocore.exceptions.IncompleteReadError):
            body.read()


LATE: dict[str, Reply] = {
    **PAUSES,
    "slow": reply.text("one").broken(faults.slow_first_byte.lasting(30)),
    "error": reply.throttled().broken(faults.stall.lasting(30)),
}


@pytest.mark.parametrize("late", LATE)
def test_a_whole_body_that_comes_too_late_is_asked_for_again(
    opened: Opened, question: dict[str, Any], late: str
) -> None:
    with opened(LATE[late], reply.text("ok"), config=TWICE.merge(IMPATIENT)) as (fake, client):
        assert client.converse(**question)["output"]["message"]["content"] == [{"text": "ok"}]
        assert [call.outcome for call in fake.calls] == ["closed by client", "complete"]


def test_a_head_that_comes_too_late_is_asked_for_again(opened: Opened, question: dict[str, Any]) -> None:
    with opened(LATE["slow"], reply.text("ok"), config=TWICE.merge(IMPATIENT)) as (fake, client):
        assert [*client.converse_stream(**question)["stream"]][-1].keys() == {"metadata"}
        assert [call.outcome for call in fake.calls] == ["closed by client", "complete"]


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_what_lasts_for_less_than_that_is_waited_for(opened: Opened, question: dict[str, Any], operation: str) -> None:
    late = reply.text("one two").broken(faults.stall.lasting(0.02)).broken(faults.one_chunk)
    late = late if operation == "converse_stream" else reply.text("one").broken(faults.stall.lasting(0.02), after=2)
    with opened(late, reply.text("one").broken(faults.slow_first_byte.lasting(0.03)), config=ONCE) as (fake, client):
        for seconds in (0.02, 0.03):
            started = time.monotonic()
            list(getattr(client, operation)(**question).get("stream", ()))
            assert time.monotonic() - started >= seconds
        assert [call.outcome for call in fake.calls] == ["complete"] * 2


# In what chunks it travels does not matter.


@pytest.mark.parametrize("fault", [faults.one_byte_chunks, faults.one_chunk], ids=lambda fault: fault.name)
def test_every_event_is_kept_with_its_time(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    with opened(EVERYTHING.broken(fault).paced(first=0.01, each=0.001)) as (fake, client):
        handed_out = list(client.converse_stream(**question)["stream"])
        (call,) = fake.calls
        assert [kind for event in handed_out for kind in event] == [kind for event, _ in call.events for kind in event]
        assert "metadata" in handed_out[-1]
        together = 0.01 + 0.001 * (len(handed_out) - 1)
        first = together if fault is faults.one_chunk else 0.01
        assert call.events[0].at >= first
        assert call.events[-1].at >= together


# Error frames.


def test_an_error_frame_is_an_error_by_its_code(opened: Opened, question: dict[str, Any]) -> None:
    with opened(reply.text("one two").error_frame_after(2, "InternalFailure", "Sorry.")) as (fake, client):
        events: list[Any] = []
        with (
            pytest.raises(botocore.exceptions.EventStreamError) as raised,
            closing(client.converse_stream(**question)["stream"]) as stream,
        ):
            events.extend(stream)
        assert len(events) == 2
        assert raised.value.response["Error"] == {"Code": "InternalFailure", "Message": "Sorry."}
        assert fake.calls[0].events[-1].event == {":error": {"code": "InternalFailure", "message": "Sorry."}}


def test_an_error_frame_is_a_500_where_there_is_no_stream(opened: Opened, question: dict[str, Any]) -> None:
    answer = reply.text("one two").error_frame_after(2, "InternalFailure", "Sorry.")
    with opened(answer, config=ONCE) as (fake, client):
        with pytest.raises(botocore.exceptions.ClientError) as raised:
            client.converse(**question)
        assert raised.value.response["Error"] == {"Code": "InternalFailure", "Message": "Sorry."}
        assert fake.calls[0].status == 500
