"""Plain httpx with the harness's own decoder makes of every case what the tables say: in process, HTTP/1.1, HTTP/2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest

from converse_harness import ConverseServer, HttpxFake, bedrock
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from tests.clients.case_fault_outcomes import ANY_UNION
from tests.clients.case_outcomes import OUTCOMES
from tests.clients.case_runs import (
    Differences,
    Differs,
    Made,
    answer,
    asked_at,
    check,
    expected_of,
    made,
    made_whole,
    patience,
    sampled,
    unraised,
)
from tests.clients.scenarios import CONNECTION, CONVERSE, MODEL, REQUEST, STREAM, shape_name

PATHS: Final = {STREAM: "converse-stream", CONVERSE: "converse"}
BODY: Final = {name: value for name, value in REQUEST.items() if name != "modelId"}
BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"

ONCE: Final = "it does not ask again"
NAMES: Final = "it names the type of the frame"
AS_IT_CAME: Final = "it hands out what is not in AWS's API model as it came"
CHECKS: Final = "the decoder has an error of its own for each damage"
CHECKS_THE_END: Final = "the decoder misses the rest of a frame, which botocore does not"
COMPARES_LENGTH: Final = "httpx compares a body with its Content-Length"
NOTHING: Final = {"text": "", "stop": None, "usage": None}

DIFFERENCES: Final[Differences] = {
    **ANY_UNION,
    "throttle_pre": Differs(
        ONCE,
        stream={**NOTHING, "error": "ThrottlingException", "flow": ""},
        whole={**NOTHING, "error": "ThrottlingException"},
    ),
    "internal_server_exception_first_frame": Differs(ONCE, whole={**NOTHING, "error": "InternalServerException"}),
    "throttle_first_frame": Differs(ONCE, whole={**NOTHING, "error": "ThrottlingException"}),
    "service_unavailable_exception_first_frame": Differs(
        ONCE, whole={**NOTHING, "error": "ServiceUnavailableException"}
    ),
    "unknown_exception": Differs(NAMES, stream={"error": "FutureException"}),
    "unknown_delta": Differs(AS_IT_CAME, stream={"marks": ("hologram",)}),
    "unknown_start": Differs(AS_IT_CAME, stream={"marks": ("start hologram",)}),
    "unknown_reasoning": Differs(AS_IT_CAME, stream={"marks": ("sketch",)}),
    "unknown_event": Differs(AS_IT_CAME, stream={"flow": "MS D0x5 ping D0 CE0 ST MD"}),
    "bad_crc": Differs(CHECKS, stream={"error": "message_checksum_mismatch"}),
    "bad_prelude_crc": Differs(CHECKS, stream={"error": "prelude_checksum_mismatch"}),
    "garbage_after_end": Differs(CHECKS, stream={"error": "prelude_checksum_mismatch"}),
    "json_for_stream": Differs(CHECKS, stream={"error": "prelude_checksum_mismatch"}),
    "unknown_operation": Differs(CHECKS, stream={"error": "prelude_checksum_mismatch"}),
    "truncated_frame": Differs(CHECKS_THE_END, stream={"error": "truncated_frame"}),
    "again_half_frame": Differs(CHECKS_THE_END, stream={"error": "truncated_frame"}),
    "again_lost_connection": Differs(ONCE, whole={**NOTHING, "error": CONNECTION}),
    "again_busy": Differs(ONCE, whole={**NOTHING, "error": "ThrottlingException"}),
    "cut_in_prelude": Differs(CHECKS_THE_END, stream={"error": "truncated_frame"}),
    "cut_in_headers": Differs(CHECKS_THE_END, stream={"error": "truncated_frame"}),
    "empty_200": Differs("no JSON is an error", whole={"error": "JSONDecodeError"}),
    "wrong_content_length": Differs(
        COMPARES_LENGTH, stream={"error": CONNECTION}, whole={**NOTHING, "error": CONNECTION}
    ),
    "closed": Differs(COMPARES_LENGTH, whole={"error": CONNECTION}),
}


def expected(name: str, operation: str) -> list[Made]:
    """What can be made of a case by who asks once."""
    made = unraised(expected_of(name, operation, OUTCOMES[name], DIFFERENCES))
    return [replace(each, again=0) for each in made]


def connect(name: str, **options: Any) -> httpx.Client:
    """A client; to check certificates that nobody shows takes most of the time of a test."""
    return httpx.Client(timeout=patience(name), verify=False, **options)


def ask(client: httpx.Client, endpoint: str, operation: str) -> Made:
    """What can be read of the answer."""
    events: list[Any] = []
    url = f"{endpoint}/model/{quote(MODEL, safe='')}/{PATHS[operation]}"
    try:
        with client.stream("POST", url, json=BODY) as response:
            if not response.is_success:
                return made([], response.headers["x-amzn-ErrorType"].partition(":")[0])
            if operation == CONVERSE:
                response.read()
                return made_whole(bedrock.from_json("ConverseResponse", response.json()))
            return made(events, read(response, events))
    except httpx.TransportError:
        return made(events, CONNECTION)
    except ValueError as error:  # what is no JSON, and no frame
        return made(events, getattr(error, "kind", type(error).__name__))


def read(response: httpx.Response, events: list[Any]) -> str | None:
    """Read events until the stream ends: regularly, or with an error of that name."""
    decoder = Decoder()
    for data in response.iter_raw():
        for frame in decoder.feed(data):
            event, _ = decode_event(frame)
            if ERROR_FRAME in event:
                return str(event[ERROR_FRAME]["code"])
            if is_exception(kind(event)):
                return shape_name(kind(event))
            events.append(event)
    decoder.close()
    return None


@pytest.mark.parametrize(("name", "operation"), asked_at("httpx"))
def test_in_process(name: str, operation: str) -> None:
    with HttpxFake(unused="allow", answers="off") as fake, connect(name, transport=fake.httpx_transport) as client:
        answer(fake, name)
        check(fake, name, ask(client, BEDROCK, operation), expected(name, operation), attempts=1)


@pytest.mark.needs_os
@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize(("name", "operation"), sampled("server"))
def test_over_the_socket(name: str, operation: str, http2: bool, converse_server: ConverseServer) -> None:
    with (
        converse_server.script(unused="allow", answers="off") as fake,
        connect(name, http1=not http2, http2=http2) as client,
    ):
        answer(fake, name)
        check(fake, name, ask(client, fake.url, operation), expected(name, operation), attempts=1)
