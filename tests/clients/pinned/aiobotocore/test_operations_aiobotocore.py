"""aiobotocore gets the answers of every stream operation of Bedrock, in process and from a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import aiobotocore.session
import aiohttp
import botocore.eventstream
import pytest
from aiobotocore.config import AioConfig
from botocore.exceptions import ClientError, EventStreamError

from converse_harness import ConverseServer, Fake, bedrock, fake_converse, faults, reply
from converse_harness.bedrock.api.example import input_example
from converse_harness.faults.model import Fault
from converse_harness.server.mounts import ServerFake
from tests.intercept.operations.asking import STREAMS, comparable
from tests.intercept.operations.whole import whole_output

KEYS: Final = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
ONCE: Final = {"retries": {"total_max_attempts": 1, "mode": "standard"}}

KB: Final[dict[str, Any]] = {"knowledgeBaseId": "KB12345678", "retrievalQuery": {"text": "glaciers"}}
FOUND: Final[dict[str, Any]] = {"retrievalResults": [{"content": {"text": "There are three."}}]}

BREAKS: Final = {faults.bad_crc: botocore.eventstream.ChecksumMismatch, faults.reset: aiohttp.ClientError}


@pytest.fixture(params=["in process", "server"])
def fake(request: pytest.FixtureRequest) -> Iterator[Fake]:
    if request.param == "in process":
        opened: Any = fake_converse()
    else:
        server: ConverseServer = request.getfixturevalue("converse_server")
        opened = server.script()
    with opened as made:
        yield made


def ask(fake: Fake, service: str, name: str, events: list[Any] | None = None, *, params: Any = None) -> dict[str, Any]:
    """Ask once. Return the members of the output; the events of a stream go into `events` as they come."""
    params = input_example(name, service) if params is None else params
    stream = bedrock.event_stream(name, service)
    url = fake.url if isinstance(fake, ServerFake) else None
    make: Any = aiobotocore.session.get_session().create_client

    async def act() -> dict[str, Any]:
        async with make(service, endpoint_url=url, config=AioConfig(**ONCE), **KEYS) as client:
            answer: dict[str, Any] = await getattr(client, bedrock.method_of(name))(**params)
            answer.pop("ResponseMetadata")
            if stream is not None and events is not None:
                with closing(answer.pop(stream.member)) as came:
                    async for event in came:
                        events.append(event)
            return answer

    return asyncio.run(act())


@pytest.mark.parametrize(("service", "name"), STREAMS)
class TestStreams:
    """Each operation that answers with a stream of events."""

    def test_its_events_arrive_in_order_with_all_their_members(self, fake: Fake, service: str, name: str) -> None:
        output, came = whole_output(name, service), list[Any]()
        fake.on_operation(name, output, service=service)
        others = ask(fake, service, name, came)
        stream = bedrock.event_stream(name, service)
        assert stream is not None
        events = output.pop(stream.member)
        assert comparable(came) == comparable(events)
        assert [event for event, _ in fake.calls.of(name, service=service)[0].events] == events
        if "contentType" in others and name == "InvokeAgentRuntimeCommand":
            output["contentType"] = "application/vnd.amazon.eventstream"  # its header is that of the stream
        assert others == output

    def test_an_exception_is_raised_at_its_place(self, fake: Fake, service: str, name: str) -> None:
        stream, output = bedrock.event_stream(name, service), whole_output(name, service)
        assert stream is not None
        output[stream.member] = output[stream.member][:3]
        for exception in stream.exceptions:
            fake.on_operation(name, reply.output(output).fails_after(2, exception, "No more."), service=service)
            came: list[Any] = []
            with pytest.raises(EventStreamError, match=exception) as error:
                ask(fake, service, name, came)
            assert comparable(came) == comparable(output[stream.member][:2])
            assert error.value.response["Error"] == {"Code": exception, "Message": "No more."}

    @pytest.mark.parametrize("fault", BREAKS, ids=lambda fault: fault.name)
    def test_a_broken_stream_is_an_error_of_the_library(
        self, fake: Fake, service: str, name: str, fault: Fault
    ) -> None:
        fake.on_operation(name, reply.output(whole_output(name, service)).broken(fault, after=2), service=service)
        came: list[Any] = []
        with pytest.raises(BREAKS[fault]):
            ask(fake, service, name, came)
        # A reset over a socket may take events with it that the client has not read.
        assert len(came) == 2 or (fault is faults.reset and isinstance(fake, ServerFake))


def test_retrieve_and_its_errors(fake: Fake) -> None:
    fake.on_operation("Retrieve", FOUND, reply.error("DependencyFailedException", "Later."))
    assert ask(fake, "bedrock-agent-runtime", "Retrieve", params=KB) == FOUND
    with pytest.raises(ClientError) as error:
        ask(fake, "bedrock-agent-runtime", "Retrieve", params=KB)
    assert error.value.response["Error"] == {"Code": "DependencyFailedException", "Message": "Later."}
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert [call.params for call in fake.calls.of("Retrieve", service="bedrock-agent-runtime")] == [KB, KB]
    assert [call.service for call in fake.calls.all] == ["bedrock-agent-runtime"] * 2
