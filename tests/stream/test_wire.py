"""Events as frames, routes and outputs: what is refused, and how it is said."""

from datetime import UTC, datetime
from typing import Any

import pytest

from converse_harness import DamagedData, Endpoint, ReplyError, UnexpectedCall, bedrock, reply
from converse_harness.endpoint.operations import NamedOperation, route
from converse_harness.stream.events import PADDING, decode_event, encode_event
from converse_harness.stream.frames import Frame, Header, HeaderType, decode
from converse_harness.stream.http import Request


def frame(payload: bytes, message_type: str = "event", name: str = ":event-type") -> Frame:
    pairs = ((name, "messageStop"), (":message-type", message_type))
    return Frame(tuple(Header(key, HeaderType.STRING, value) for key, value in pairs if value), payload)


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (frame(b"{"), "The payload of a messageStop frame is not JSON (Expecting property name"),
        (frame(b"[1]"), "The payload of a messageStop frame is [1]; an event is a JSON object."),
        (frame(b"{}", ""), "A frame without :message-type as a text: "),
        (frame(b"{}", "events"), "A frame of the message type 'events'; it is event, exception or error."),
        (
            frame(b"{}", name=":exception-type"),
            "A frame of the message type event without :event-type as a text: ",
        ),
        (frame(b"{}", "exception"), "A frame of the message type exception without :exception-type as a text: "),
    ],
)
def test_a_frame_that_is_no_event_is_damaged(damaged: Frame, message: str) -> None:
    with pytest.raises(DamagedData) as caught:
        decode_event(damaged)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("padding", [None, 0, 2, 61, 62])
def test_a_padding_is_kept_as_its_length(padding: int | None) -> None:
    event = {"messageStop": {"stopReason": "end_turn"}}
    assert decode_event(decode(encode_event(event, padding))) == (event, padding)


def test_a_p_that_is_no_padding_stays_in_the_event() -> None:
    event = {"messageStop": {"p": "x" + PADDING, "stopReason": "end_turn"}}
    assert decode_event(decode(encode_event(event))) == (event, None)


def test_an_unknown_event_and_an_unknown_exception_travel() -> None:
    for event in ({"futureEvent": {"b": 1, "a": "ü"}}, {"futureException": {"message": "new"}}):
        assert decode_event(decode(encode_event(event))) == (event, None)


@pytest.mark.parametrize(
    ("method", "target", "operation", "path_params"),
    [
        ("POST", "/model/m/converse?x=1", "Converse", {"modelId": "m"}),
        ("POST", "/model/a%2Fb%3A0/converse-stream", "ConverseStream", {"modelId": "a/b:0"}),
        (
            "POST",
            "/guardrail/g/version/1/apply",
            "ApplyGuardrail",
            {"guardrailIdentifier": "g", "guardrailVersion": "1"},
        ),
        ("GET", "/async-invoke", "ListAsyncInvokes", {}),
    ],
)
def test_a_route(method: str, target: str, operation: str, path_params: dict[str, str]) -> None:
    assert route(Request(method, target, (), b"")) == (operation, path_params, bedrock.SERVICE)


@pytest.mark.parametrize(
    ("method", "target"), [("GET", "/model/m/converse"), ("POST", "/model/a/b/converse"), ("GET", "/")]
)
def test_no_route(method: str, target: str) -> None:
    assert route(Request(method, target, (), b"")) is None


def answered(operation: str, target: str, output: Any, method: str = "POST") -> tuple[Endpoint, Any]:
    endpoint = Endpoint()
    (service,) = bedrock.services_of(operation)
    endpoint.script.on_operation(NamedOperation(service, operation), [lambda call: output])
    return endpoint, endpoint.exchange(Request(method, target, (), b"{}")).response


@pytest.mark.parametrize(
    ("operation", "target", "output", "message"),
    [
        ("InvokeModel", "/model/m/invoke", "text", "The handler of InvokeModel returned 'text'; it must return the "),
        ("InvokeModel", "/model/m/invoke", {"body": b"x"}, "InvokeModel lacks 'contentType'; "),
    ],
)
def test_an_output_that_is_none_fails_the_test(operation: str, target: str, output: Any, message: str) -> None:
    endpoint, response = answered(operation, target, output)
    assert response.status == 400
    (problem,) = endpoint.problems
    assert isinstance(problem, ReplyError)
    assert str(problem).startswith(message)


def test_an_output_of_the_control_plane_is_plain_json() -> None:
    output = {"createdAt": datetime(2026, 1, 2, tzinfo=UTC), "updatedAt": "2026-01-02T01:00:00+02:00"}
    given = reply.output(output, strict=False)
    _, response = answered("GetInferenceProfile", "/inference-profiles/p", given, "GET")
    (chunk,) = response.chunks
    assert chunk.data == b'{"createdAt":"2026-01-02T00:00:00Z","updatedAt":"2026-01-02T01:00:00+02:00"}'


def test_a_handler_may_answer_with_an_error() -> None:
    endpoint, response = answered("InvokeModel", "/model/m/invoke", reply.throttled())
    assert (response.status, endpoint.problems) == (429, [])


@pytest.mark.parametrize(
    ("method", "status", "then"), [("GET", 404, "\n"), ("POST", 200, " Bedrock answers such a path ")]
)
def test_a_path_that_is_no_operation_is_named_by_method_and_path(method: str, status: int, then: str) -> None:
    endpoint = Endpoint()
    exchange = endpoint.exchange(Request(method, "/nothing", (), b"not json"))
    assert exchange.response.status == status
    (problem,) = endpoint.problems
    assert isinstance(problem, UnexpectedCall)
    assert str(problem).startswith(f"{method} /nothing is no operation of Bedrock.{then}")
