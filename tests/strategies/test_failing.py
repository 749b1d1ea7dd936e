"""Errors and faults: all of them come, each is what it says, and a client has no trouble but the one asked for."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any, get_args

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from botocore.parsers import create_parser
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.vendor.pretty import pretty

import converse_harness
from converse_harness import ConverseServer, Endpoint, Reply, StreamOrderError, bedrock, fake_converse, reply
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES, usual
from converse_harness.faults import FAULTS, NOT_SENDABLE
from converse_harness.faults.model import FAULT_LEVELS, Fault, Place
from converse_harness.faults.order import ORDER_FAULTS, OrderFault
from converse_harness.reply.body import ErrorBody
from converse_harness.stream.grammar import check_order
from converse_harness.stream.http import GATEWAY_ERRORS, HttpResponse, Request
from converse_strategies import FaultyReply, errors, faulty_replies, protocol_faults, stream_errors
from tests.broken import expected
from tests.profiles import examples
from tests.strategies.conftest import as_botocore_reads, drawn, found, never, smallest

pytestmark = pytest.mark.any_answer

ASKED: dict[str, Any] = {
    "modelId": "m",  # of no family, so that a sound answer is cut as one with a fault is
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=5)
BODY = json.dumps({"messages": ASKED["messages"]}).encode()
EXCEPTIONS = [*bedrock.stream_exceptions(), "futureException", "modelOverloadedException"]
CODES = ["InternalFailure", "InternalError", "ServiceUnavailable"]
ERRORS = {*bedrock.errors("Converse"), *bedrock.errors("ConverseStream"), *GATEWAY_ERRORS}


@pytest.fixture(scope="module")
def client() -> Any:
    with fake_converse():
        return make_client()


def make_client(url: str | None = None) -> Any:
    return boto3.client("bedrock-runtime", endpoint_url=url, config=ONCE, **KEYS)


@dataclass(frozen=True)
class Seen:
    """What a client of botocore got: the events up to the error, if there was one."""

    events: list[dict[str, Any]]
    error: Exception | None

    @property
    def name(self) -> str:
        return "" if self.error is None else type(self.error).__name__


def see(client: Any, answer: Reply) -> Seen:
    """Ask for a stream; a problem of the fake is not the client's, and raised."""
    events: list[dict[str, Any]] = []
    with fake_converse() as fake:
        fake.always(answer)
        try:
            events.extend(client.converse_stream(**ASKED)["stream"])  # keeps what came before the error
        except Exception as error:  # noqa: BLE001 - whatever the fault makes of it
            fake.core.check_problems(error)
            return Seen(events, error)
    return Seen(events, None)


def sent(answer: Reply, operation: str = "converse-stream") -> HttpResponse:
    request = Request("POST", f"/model/{ASKED['modelId']}/{operation}", (), BODY)
    return Endpoint(answer).exchange(request).response


# Errors before the stream


def test_every_error_comes_and_every_wording_and_both_headers() -> None:
    worded = {each.message for table in (OVERFLOWS, THROTTLES) for each in table.values()} | set(map(usual, ERRORS))

    def names(answer: Reply) -> list[str]:
        assert isinstance(answer.plan.body, ErrorBody)
        members = [name for name in answer.plan.body.members if name != "message"]
        return [
            answer.plan.body.name,
            answer.plan.body.members["message"],
            *members,
            *(name for name, _ in answer.plan.body.headers),
        ]

    wanted = ERRORS | worded | {"", "retry-after", "retry-after-ms", "originalStatusCode", "resourceName"}
    assert never(errors(), wanted, names) == set()


@given(answer=errors())
def test_botocore_reads_the_error_that_was_drawn(answer: Reply) -> None:
    response = sent(answer)
    (chunk,) = response.chunks
    headers = {name.lower(): value for name, value in response.headers}
    read = create_parser("rest-json").parse(
        {
            "status_code": response.status,
            "headers": headers,
            "body": chunk.data,
        },
        bedrock.operation("Converse").output_shape,
    )
    assert isinstance(answer.plan.body, ErrorBody)
    assert answer.plan.body.name in ERRORS
    assert read["Error"] == {"Code": answer.plan.body.name, "Message": answer.plan.body.members["message"]}
    assert (
        read["ResponseMetadata"]["HTTPStatusCode"]
        == answer.plan.body.status
        == bedrock.all_errors()[answer.plan.body.name].status
    )


@given(answer=errors(messages=st.just("Sorry.")))
def test_errors_come_through_a_client(client: Any, answer: Reply) -> None:
    seen = see(client, answer)
    assert isinstance(seen.error, ClientError)
    assert isinstance(answer.plan.body, ErrorBody)
    assert seen.error.response["Error"]["Code"] == answer.plan.body.name
    assert "Sorry." in str(seen.error)


# Errors in the stream


def code(answer: Reply) -> str:
    assert answer.plan.failure is not None
    return answer.plan.failure.name


def test_every_error_comes_in_a_stream_at_every_kind_of_place() -> None:
    def names(answer: Reply) -> list[str]:
        assert answer.plan.failure is not None
        events = [next(iter(event)) for event in answer.events()]
        form = "error frame" if ":error" in answer.plan.failure.event else "exception frame"
        return [code(answer), form, *events[answer.plan.failure.after :][:1]]

    wanted = {
        *EXCEPTIONS,
        "InternalFailure",
        "InternalError",
        "ServiceUnavailable",
        "error frame",
        "exception frame",
        *bedrock.stream_events(),
    }
    assert never(stream_errors(), wanted, names) == set()


@given(answer=stream_errors())
def test_a_stream_ends_in_the_error_that_was_drawn(client: Any, answer: Reply) -> None:
    failure = answer.plan.failure
    assert failure is not None
    events = list(answer.events())[: failure.after]
    check_order([*events, failure.event])
    seen = see(client, answer)
    assert isinstance(seen.error, EventStreamError)
    known = code(answer) in bedrock.stream_exceptions() or ":error" in failure.event
    assert seen.error.response["Error"]["Code"] == (code(answer) if known else "")
    assert seen.events == events
    assert sent(answer, "converse").status >= 400


# Faults


def test_every_fault_comes() -> None:
    assert never(protocol_faults(), FAULTS, lambda fault: [fault.name]) == {"stale_connection"}
    assert find(protocol_faults(names=["stale_connection"]), lambda fault: True).name == "stale_connection"


BY_NAME = ("read_timeout", "stale_connection")

SELECTIONS: list[tuple[dict[str, Any], Any]] = [
    *(
        ({"levels": [level]}, lambda fault, level=level: fault.level == level and fault.name != "stale_connection")
        for level in FAULT_LEVELS
    ),
    *(
        (
            {"transports": [transport]},
            lambda fault, transport=transport: transport in fault.transports and fault.name not in BY_NAME,
        )
        for transport in ("server", "asgi")
    ),
    *(
        ({"transports": [transport]}, lambda fault, transport=transport: transport in fault.transports)
        for transport in ("boto", "httpx")
    ),
    (
        {"transports": ["boto", "asgi"]},
        lambda fault: "asgi" in fault.transports and fault.name != "read_timeout",
    ),
    ({"operations": ["Converse"]}, lambda fault: fault.on_body is not None and fault.name != "stale_connection"),
    ({"operations": ["ConverseStream"]}, lambda fault: fault.name != "stale_connection"),
    ({"names": ["reset", "bad_crc"]}, lambda fault: fault.name in ("reset", "bad_crc")),
    ({"names": ["read_timeout"], "transports": ["server"]}, lambda fault: fault.name == "read_timeout"),
    (
        {"levels": ["connection"], "operations": ["Converse"], "transports": ["boto"]},
        lambda fault: fault.level == "connection" and fault.name != "stale_connection",
    ),
]


@pytest.mark.parametrize(("arguments", "among"), SELECTIONS, ids=[str(arguments) for arguments, _ in SELECTIONS])
def test_faults_can_be_chosen(arguments: dict[str, Any], among: Any) -> None:
    wanted = {name for name, fault in FAULTS.items() if among(fault)}
    assert {
        fault.name for fault in drawn(protocol_faults(**arguments), 10)
    } == wanted  # hypothesis stops when it has seen all


@given(case=faulty_replies(levels=["frames", "connection"], transports=["asgi"], operations=["Converse"]))
def test_faults_of_replies_are_chosen_in_the_same_way(case: FaultyReply) -> None:
    assert case.placement.fault.name in ("closed", "stall", "slow_first_byte")


DURATIONS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"stall": "faults.stall", "slow_first_byte": "faults.slow_first_byte.lasting(0.01)"}),
    ({"transports": ["httpx"]}, {"stall": "faults.stall", "slow_first_byte": "faults.slow_first_byte.lasting(0.01)"}),
    (
        {"transports": ["boto", "server"]},
        {"stall": "faults.stall.lasting(0.01)", "slow_first_byte": "faults.slow_first_byte.lasting(0.01)"},
    ),
    ({"names": ["stall"], "transports": ["server"]}, {"stall": "faults.stall"}),
    (
        {"seconds": st.just(0.5)},
        {"stall": "faults.stall.lasting(0.5)", "slow_first_byte": "faults.slow_first_byte.lasting(0.5)"},
    ),
]


@pytest.mark.parametrize(("arguments", "printed"), DURATIONS)
def test_nobody_waits_for_what_was_not_asked_for(arguments: dict[str, Any], printed: dict[str, str]) -> None:
    for name, text in printed.items():

        def named(fault: Fault, name: str = name) -> bool:
            return fault.name == name

        assert pretty(found(protocol_faults(**arguments), named)) == text
        cases = faulty_replies(replies=st.just(reply.text("0")), **arguments)
        assert repr(found(cases.map(fault_of), named)) == text


def fault_of(case: FaultyReply) -> Fault:
    return case.placement.fault


# Faulty replies


@pytest.mark.parametrize("faults_too", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_fault_strikes_the_first_of_its_places_or_another(faults_too: bool) -> None:
    places = {f"{place} {which}" for place in get_args(Place) for which in ("first", "later")} - {"whole answer later"}

    def names(case: FaultyReply) -> list[str]:
        fault, after = case.placement.fault, case.placement.after
        positions = [0] if not isinstance(fault, OrderFault) else fault.applicable_at(list(case.unmodified.events()))
        return [fault.name, f"{fault.place} {'first' if after == positions[0] else 'later'}"]

    by_name_only = {"stale_connection"}
    expected = FAULTS.keys() - by_name_only if faults_too else set[str]()
    assert never(faulty_replies(), places | expected, names) == set()


@given(case=faulty_replies())
def test_a_sound_reply_is_broken_in_the_one_place_that_is_told(client: Any, case: FaultyReply) -> None:
    fault, after = case.placement.fault, case.placement.after
    sound, seen = see(client, case.unmodified), see(client, case.reply)
    assert sound.error is None
    check_order(sound.events)
    assert seen.name == error_of(fault)
    if not isinstance(fault, OrderFault):
        assert seen.events == before_the_fault(case, sound.events)
        return
    broken = as_botocore_reads(list(case.reply.events()))
    with pytest.raises(StreamOrderError) as caught:
        check_order(broken)
    assert fault.refuses(str(caught.value))
    readable = [event for event in broken if "ping" not in event]
    assert seen.events == readable[: len(seen.events)]
    assert len(seen.events) in ((after, after + 1) if seen.error else (len(readable),))


def error_of(fault: Fault) -> str:
    """What botocore raises, as the table of faults says it; nothing if it does not."""
    raises, _, error = expected(fault).partition("raises ")
    return "" if raises else error.removeprefix("urllib3's ")


def before_the_fault(case: FaultyReply, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of the sound reply that come all the same."""
    if case.placement.fault.place != "whole answer":
        return events[: case.placement.after]
    none = case.reply.plan.no_answer or case.placement.fault.name in ("empty_200", "json_for_stream")
    return [] if none else events


@given(case=faulty_replies(operations=["Converse"]))
def test_faults_of_whole_bodies_make_no_trouble_of_another_kind(client: Any, case: FaultyReply) -> None:
    with fake_converse() as fake:
        fake.always(case.reply)
        try:
            client.converse(**ASKED)
        except Exception as error:  # noqa: BLE001 - whatever the fault makes of it
            fake.core.check_problems(error)
        assert len(fake.calls) == 1


@pytest.mark.needs_os
@given(case=faulty_replies(transports=["server"]))
@settings(max_examples=examples(1))
def test_nothing_hangs_over_a_socket(converse_server: ConverseServer, client: Any, case: FaultyReply) -> None:
    del client  # boto reads its model before, which takes longer than a test may
    with converse_server.script() as fake, closing(make_client(fake.url)) as asking:
        fake.always(case.reply)
        error: Exception | None = None
        try:
            with closing(asking.converse_stream(**ASKED)["stream"]) as stream:
                list(stream)
        except Exception as caught:  # noqa: BLE001 - whatever the fault makes of it
            error = caught
        fake.core.check_problems(error)
        assert "Timeout" not in type(error).__name__


@given(case=faulty_replies(replies=errors()))
def test_errors_can_be_broken_where_they_have_a_body(case: FaultyReply) -> None:
    assert isinstance(case.reply.plan.body, ErrorBody)
    assert case.placement.fault.on_body is not None


@given(case=faulty_replies(replies=stream_errors()))
def test_streams_that_fail_can_be_broken_in_their_bytes(client: Any, case: FaultyReply) -> None:
    assert case.reply.plan.failure is not None
    assert case.placement.fault.level != "events"
    see(client, case.reply)


SENDABLE = sorted(set(ORDER_FAULTS) - set(NOT_SENDABLE))


@pytest.mark.parametrize("name", SENDABLE)
def test_a_reply_without_a_place_for_a_breach_gets_one(name: str) -> None:
    for bare in (reply.message(), reply.events(list(reply.text("0").events())[:1] + TAIL)):
        case = found(faulty_replies(replies=st.just(bare), names=[name]))
        check_order([*list(case.unmodified.events())[:-1], TAIL[-1]])
        assert case.placement.after in ORDER_FAULTS[name].applicable_at(list(case.unmodified.events()))
        stop = next(event["messageStop"] for event in case.unmodified.events() if "messageStop" in event)
        asks = any("toolUse" in str(event) for event in case.unmodified.events())
        assert stop["stopReason"] == ("tool_use" if asks else "end_turn")


TAIL: list[dict[str, Any]] = [
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, "metrics": {"latencyMs": 0}}},
]


@given(case=faulty_replies(kinds=["text"]))
def test_kinds_say_which_blocks_there_are(case: FaultyReply) -> None:
    for event in case.unmodified.events():
        assert "contentBlockStart" not in event
        assert event.get("contentBlockDelta", {"delta": {"text": ""}})["delta"].keys() == {"text"}


@given(case=faulty_replies())
def test_a_faulty_reply_is_printed_as_code(case: FaultyReply) -> None:
    names = {"FaultyReply": FaultyReply, "reply": reply, "faults": converse_harness.faults}
    made = eval(pretty(case), names)
    assert made.placement.fault == case.placement.fault
    assert made.reply.summary == case.reply.summary
    if not case.reply.plan.no_answer:  # what the answer would have been is not printed
        assert made.placement == case.placement
        assert list(made.reply.events()) == list(case.reply.events())


@pytest.mark.nightly
def test_what_fails_shrinks_to_a_small_reply_and_the_first_place() -> None:
    case = smallest(faulty_replies(), lambda case: case.placement.fault.name == "bad_crc")
    assert case.reply.summary == "3 events, bad_crc after 0 events"


# Wrong arguments

SOME_OF = "Give a list of some of:"
KNOWN = f"(botocore {bedrock.botocore_version()})."
HI = reply.text("hi")
RESET = reply.text("a").broken(converse_harness.faults.reset)
LEVELS = ", ".join(level for level in FAULT_LEVELS)
EXCEPTION_FRAMES = ", ".join(bedrock.stream_exceptions())
WRONG: dict[str, st.SearchStrategy[Any]] = {
    f"errors(names=['Throttled']): 'Throttled' is no choice of names. {SOME_OF} AccessDeniedException, ": (
        errors(names=["Throttled"])
    ),
    "stream_errors(names=['Throttled']): 'Throttled' is no choice of names. "
    f"{SOME_OF} {EXCEPTION_FRAMES}, unknown_exception, error_frame {KNOWN}": stream_errors(names=["Throttled"]),
    'stream_errors: ThrottlingException (429) "Slow": it comes before any stream and has no events. Give '
    "replies=replies(), or others that are streams.": stream_errors(replies=st.just(reply.throttled("Slow"))),
    "protocol_faults(names=['rest']): 'rest' is no choice of names; did you mean 'reset'?": protocol_faults(
        names=["rest"]
    ),
    f"protocol_faults(levels=['bytes']): 'bytes' is no choice of levels. {SOME_OF} {LEVELS} {KNOWN}": protocol_faults(
        levels=["bytes"]
    ),
    f"protocol_faults(transports=['socket']): 'socket' is no choice of transports. {SOME_OF} "
    f"boto, httpx, server, asgi {KNOWN}": (protocol_faults(transports=["socket"])),
    "protocol_faults(operations=['CountTokens']): 'CountTokens' is no choice of operations. "
    f"{SOME_OF} Converse, ConverseStream {KNOWN}": protocol_faults(operations=["CountTokens"]),
    "faulty_replies(levels=['frames'], operations=['Converse']): there is no fault that is all of this. Leave one "
    "out, or see the `level` and `transports` of converse_harness.faults.FAULTS.": (
        faulty_replies(levels=["frames"], operations=["Converse"])
    ),
    "protocol_faults(seconds=just(0)): stall.lasting(seconds=0): a number of seconds, more than 0.": (
        protocol_faults(names=["stall"], seconds=st.just(0))
    ),
    'faulty_replies: text "a", reset after 2 events has a fault already. Give replies= that are sound.': (
        faulty_replies(replies=st.just(RESET))
    ),
    'faulty_replies: text "hi" cannot be broken by no_block_start. Give other names= or levels=, or replies= and '
    "kinds= that can be so broken.": (faulty_replies(kinds=["text"], names=["no_block_start"], replies=st.just(HI))),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_refused_when_drawn(message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(WRONG[message])
    assert str(caught.value).startswith(message)
