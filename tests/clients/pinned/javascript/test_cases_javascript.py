"""The AWS SDK for JavaScript makes of every case of the catalogue what the tables say, over HTTP/2 and HTTP/1.1."""

from __future__ import annotations

from typing import Final

import pytest

from converse_harness import ConverseServer
from converse_harness.damage import Door
from converse_harness.doors.server.fake import ServerFake
from tests.clients.case_outcomes import OUTCOMES
from tests.clients.case_rows import ANSWER, USED, WORDS
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

WHOLE: Final = {"stop": "end_turn", "error": None}

TAKES_ANY_UNION: Final = "it hands out what is in a union, be it nothing or two members"
CHECKS_FRAMES: Final = "its decoder of frames throws an Error that has no name of its own"
CHECKS_THE_END: Final = "it misses the rest of a frame, which botocore does not"

BOTH: Final[Differences] = {
    "invalid_signature": Differs(
        "it takes it for a clock that is wrong, sets its own and asks again",
        stream={"again": UNTIL_IT_GIVES_UP},
        whole={"again": UNTIL_IT_GIVES_UP},
    ),
    "throttle_first_frame": Differs(
        "it reads the first frame before it hands out the stream, and asks again where that is a throttling exception; "
        "every other exception is the error of the stream",
        stream={
            "text": ANSWER,
            "usage": USED,
            "flow": WORDS,
            "again": 1,
            **WHOLE,
        },
    ),
    "unknown_exception": Differs("it names the type of the frame", stream={"error": "futureException"}),
    "start_without_member": Differs(
        TAKES_ANY_UNION,
        stream={
            "tools": (("", '{"city": "Zürich"}'),),
            "usage": (32, 19),
            "marks": ("start nothing",),
            "flow": "MS CS0 D0x2 CE0 ST MD",
            **WHOLE,
            "stop": "tool_use",
        },
    ),
    "delta_without_member": Differs(
        TAKES_ANY_UNION,
        stream={
            "text": "18 °C and in Zürich.",
            "usage": USED,
            "marks": ("nothing",),
            "flow": "MS D0x6 CE0 ST MD",
            **WHOLE,
        },
    ),
    "delta_of_two_members": Differs(
        TAKES_ANY_UNION, stream={"text": ANSWER, "usage": USED, "flow": "MS D0x6 CE0 ST MD", **WHOLE}
    ),
    "reasoning_without_member": Differs(
        TAKES_ANY_UNION,
        stream={
            "text": ANSWER,
            "reasoning": "They ask for the weather. know it already.",
            "usage": (32, 40),
            "marks": ("nothing", "signature"),
            "flow": "MS D0x10 CE0 D1x6 CE1 ST MD",
            **WHOLE,
        },
    ),
    "bad_crc": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "bad_prelude_crc": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "garbage_after_end": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "json_for_stream": Differs(CHECKS_FRAMES, stream={"error": "Error"}),
    "truncated_frame": Differs(CHECKS_THE_END, stream={"error": "Error"}),
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
    handed = node.hand_out(client, fake, operation, patience(name))
    if handed["answer"] is None:
        return made(handed["events"], handed["error"])
    return made_whole(handed["answer"])


@pytest.mark.parametrize("client", OWN)
@pytest.mark.parametrize(("name", "operation"), asked_at(Door.SERVER))
def test_case(name: str, operation: str, client: str, node: Node, converse_server: ConverseServer) -> None:
    expected = unraised(expected_of(name, operation, OUTCOMES[name], {**BOTH, **OWN[client]}))
    with converse_server.script(unused="allow") as fake:
        answer(fake, name)
        check(fake, name, ask(node, client, name, fake, operation), expected, ATTEMPTS)
