"""What boto makes of connections that break, in process and over a real socket: the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import botocore.exceptions
import pytest
import urllib3.exceptions
from botocore.config import Config

from converse_harness import ConverseServer, Fake, Reply, fake_converse, faults, reply
from converse_harness.calls import Outcome
from converse_harness.replies import Fault

Client = Callable[..., Any]
Opened = Callable[..., Any]

STREAM: dict[Fault, tuple[type[Exception], str]] = {
    faults.reset: (urllib3.exceptions.ProtocolError, "Connection reset by peer"),
    faults.truncated_frame: (urllib3.exceptions.ProtocolError, "Response ended prematurely"),
    faults.stall: (urllib3.exceptions.ReadTimeoutError, "Read timed out."),
}
WHOLE: dict[Fault, type[Exception]] = {
    faults.reset: botocore.exceptions.ConnectionClosedError,
    faults.stall: botocore.exceptions.ReadTimeoutError,
}
"""What a client gets, by fault; of a stream with what it says."""


@pytest.fixture(params=["in process", "over a socket"])
def opened(request: pytest.FixtureRequest, make_client: Client) -> Opened:
    """Opens a fake and a client on it."""

    @contextmanager
    def over_a_socket(*replies: Reply) -> Iterator[tuple[Fake, Any]]:
        with ConverseServer() as server, server.script(*replies) as fake:
            yield fake, make_client(endpoint_url=fake.url, config=CONFIG)

    @contextmanager
    def in_process(*replies: Reply) -> Iterator[tuple[Fake, Any]]:
        with fake_converse(*replies) as fake:
            yield fake, make_client(config=CONFIG)

    return over_a_socket if request.param == "over a socket" else in_process


CONFIG = Config(read_timeout=0.5, retries={"total_max_attempts": 2, "mode": "standard"})


@pytest.mark.parametrize("fault", STREAM, ids=lambda fault: fault.name)
def test_a_stream_is_read_up_to_the_break(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    error, message = STREAM[fault]
    with opened(reply.text("one two three four").broken(fault, after=3)) as (fake, client):
        stream = client.converse_stream(**question)["stream"]
        events: list[Any] = []
        with pytest.raises(error, match=message):
            events.extend(stream)
        stream.close()
        (call,) = fake.calls
        assert [list(event) for event in events] == [list(event) for event, _ in call.events]
        assert (len(events), call.outcome) == (3, Outcome.CUT)


@pytest.mark.parametrize("fault", WHOLE, ids=lambda fault: fault.name)
def test_a_whole_body_that_breaks_is_asked_for_again(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    with opened(reply.text("one two").broken(fault), reply.text("ok")) as (fake, client):
        assert client.converse(**question)["output"]["message"]["content"] == [{"text": "ok"}]
        assert [call.outcome for call in fake.calls] == [Outcome.CUT, Outcome.COMPLETE]


@pytest.mark.parametrize("fault", WHOLE, ids=lambda fault: fault.name)
def test_what_is_raised_when_the_attempts_are_used_up(opened: Opened, question: dict[str, Any], fault: Fault) -> None:
    with opened(reply.text("one two").broken(fault).times(2)) as (fake, client):
        with pytest.raises(WHOLE[fault]):
            client.converse(**question)
        assert len(fake.calls) == 2


def test_a_whole_body_that_ends_too_early_is_the_same_both_ways(make_client: Client, question: dict[str, Any]) -> None:
    # botocore 1.40 raises and tries again, 1.44 takes no notice: the socket says which, and the other does the same.
    def ask(client: Any, fake: Fake) -> tuple[str, int]:
        try:
            said = str([*client.converse(**question)])
        except botocore.exceptions.BotoCoreError as error:
            said = type(error).__name__
        assert {call.outcome for call in fake.calls} == {Outcome.CUT}
        return said, len(fake.calls)

    cut = reply.text("one two").broken(faults.truncated_frame)
    with ConverseServer() as server, server.script() as fake:
        fake.always(cut)
        over_a_socket = ask(make_client(endpoint_url=fake.url, config=CONFIG), fake)
    with fake_converse() as inside:
        inside.always(cut)
        assert ask(make_client(config=CONFIG), inside) == over_a_socket
