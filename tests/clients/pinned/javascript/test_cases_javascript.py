"""The AWS SDK for JavaScript makes of every case of the catalogue what the tables say, over HTTP/2 and HTTP/1.1."""

from __future__ import annotations

from typing import Final

import pytest

from converse_harness import ConverseServer
from converse_harness.server.mounts import ServerFake
from tests.clients.case_fault_outcomes import ANY_UNION, TAKEN
from tests.clients.case_outcomes import OUTCOMES
from tests.clients.case_rows import ANSWER, WORDS
from tests.clients.case_runs import (
    UNTIL_IT_GIVES_UP,
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
    unraised,
)
from tests.clients.pinned.javascript.conftest import Node
from tests.clients.scenarios import CONNECTION

HTTP2: Final = "aws-sdk"
HTTP1: Final = "aws-sdk with NodeHttpHandler"

ATTEMPTS: Final = 3
"""How often the SDK asks at most unless it is told otherwise."""

CHECKS_FRAMES: Final = "its decoder of frames throws an Error that has no name of its own"
CHECKS_THE_END: Final = "it misses the rest of a frame, which botocore does not"

BOTH: Final[Differences] = {
    **ANY_UNION,
    "invalid_signature": Differs(
        "it takes it for a clock that is wrong, sets its own and asks again",
        stream={"again": UNTIL_IT_GIVES_UP},
        whole={"again": UNTIL_IT_GIVES_UP},
    ),
    "throttle_first_frame": Differs(
        "it reads the first frame before it hands out the stream, and asks again where that is a throttling exception; "
        "every other exception is the error of the stream",
        stream={**TAKEN, "text": ANSWER, "flow": WORDS, "again": 1},
    ),
    "unknown_exception": Differs("it names the type of the frame", stream={"error": "futureException"}),
    "bad_crc": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "bad_prelude_crc": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "garbage_after_end": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "json_for_stream": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "unknown_operation": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "truncated_frame": Differs(CHECKS_THE_END, stream={"error": "Error"}),
    "again_half_frame": Differs(CHECKS_THE_END, stream={"error": "Error"}),
    "cut_in_prelude": Differs(CHECKS_THE_END, stream={"error": "Error"}),
    "cut_in_headers": Differs(CHECKS_THE_END, stream={"error": "Error"}),
}
"""What it does with either protocol."""

GIVES_UP: Final = {"error": CONNECTION, "again": UNTIL_IT_GIVES_UP}
MISSES: Final = "Node compares a body with its Content-Length"
PART_OF_JSON: Final = {"error": "SyntaxError", "again": 0}

OWN: Final[dict[str, Differences]] = {
    HTTP2: {
        "reset": Differs(
            "a stream that ends abnormally after its head is an error that it does not repeat", whole={"again": 0}
        ),
        "again_lost_connection": Differs(
            "a stream that ends abnormally after its head is an error that it does not repeat",
            whole={"text": "", "stop": None, "usage": None, "error": CONNECTION, "again": 0},
        ),
        "closed": Differs(
            "Node ends the streams of an HTTP/2 connection that was closed without a word as if they were complete; "
            "the SDK then finds a part of a frame, or of a JSON text",
            stream={"error": "Error"},
            whole=PART_OF_JSON,
            at_times=Differs(
                "unless what it sent meanwhile had the connection reset", stream={}, whole={"error": CONNECTION}
            ),
        ),
        "stall": Differs(
            "its requestTimeout closes the stream and is an error only of a request that has no head yet; what came "
            "before looks whole",
            stream={"error": None},
            whole=PART_OF_JSON,
        ),
    },
    HTTP1: {
        "wrong_content_length": Differs(
            MISSES, stream={"error": CONNECTION}, whole={"text": "", "stop": None, "usage": None, **GIVES_UP}
        ),
        "closed": Differs(MISSES, whole=GIVES_UP),
    },
}
"""What it does with one of them."""


def ask(node: Node, client: str, name: str, fake: ServerFake, operation: str) -> Made:
    """What the SDK hands out for the question."""
    handed = node.hand_out(client, fake.environ, operation, patience(name))
    if handed["answer"] is None:
        return made(handed["events"], handed["error"])
    return made_whole(handed["answer"])


@pytest.mark.parametrize("client", OWN)
@pytest.mark.parametrize(("name", "operation"), asked_at("server"))
def test_case(name: str, operation: str, client: str, node: Node, converse_server: ConverseServer) -> None:
    expected = unraised(expected_of(name, operation, OUTCOMES[name], {**BOTH, **OWN[client]}))
    with converse_server.script(unused="allow", answers="off") as fake:
        answer(fake, name)
        check(fake, name, ask(node, client, name, fake, operation), expected, ATTEMPTS)
