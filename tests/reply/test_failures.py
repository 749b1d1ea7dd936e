"""Errors before the stream: what travels, and what is refused where it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis.vendor.pretty import pretty

from converse_harness import Endpoint, Reply, ReplyError, bedrock, reply
from converse_harness.bedrock.families import CLIENTS, ERRORS, OVERFLOWS, OWN_WORDING, RECORDED, REPORTED, THROTTLES
from converse_harness.literals import OverflowWording, ThrottleWording
from converse_harness.stream.http import Request

QUESTION = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'

SERVICE = "http://internal.amazon.com/coral/com.amazon.bedrock/"
GATEWAY = "http://internal.amazon.com/coral/com.amazon.coral.service/"

HELPERS: dict[str, tuple[Reply, int, str]] = {
    "access_denied": (reply.access_denied(), 403, f"AccessDeniedException:{SERVICE}"),
    "context_overflow": (reply.context_overflow(), 400, f"ValidationException:{SERVICE}"),
    "error": (reply.error("FutureException", status=418), 418, f"FutureException:{SERVICE}"),
    "expired_token": (reply.expired_token(), 403, f"ExpiredTokenException:{GATEWAY}"),
    "internal_server_error": (reply.internal_server_error(), 500, f"InternalServerException:{SERVICE}"),
    "invalid_model_id": (reply.invalid_model_id(), 400, f"ValidationException:{SERVICE}"),
    "invalid_signature": (reply.invalid_signature(), 403, f"InvalidSignatureException:{GATEWAY}"),
    "model_error": (reply.model_error(), 424, f"ModelErrorException:{SERVICE}"),
    "model_not_ready": (reply.model_not_ready(), 429, f"ModelNotReadyException:{SERVICE}"),
    "model_timeout": (reply.model_timeout(), 408, f"ModelTimeoutException:{SERVICE}"),
    "resource_not_found": (reply.resource_not_found(), 404, f"ResourceNotFoundException:{SERVICE}"),
    "service_unavailable": (reply.service_unavailable(), 503, f"ServiceUnavailableException:{SERVICE}"),
    "throttled": (reply.throttled(), 429, f"ThrottlingException:{SERVICE}"),
    "unrecognized_client": (reply.unrecognized_client(), 403, f"UnrecognizedClientException:{GATEWAY}"),
    "validation_error": (reply.validation_error("Wrong."), 400, f"ValidationException:{SERVICE}"),
}


def travels(made: Reply, operation: str = "converse") -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Status, headers and body of what is sent."""
    response = Endpoint(made).exchange(Request("POST", f"/model/m/{operation}", (), QUESTION)).response
    return response.status, response.headers, b"".join(chunk.data for chunk in response.chunks)


def test_every_helper_is_held_to_the_wire() -> None:
    module = "converse_harness.reply.failures"
    made = {name for name in reply.__all__ if getattr(reply, name).__module__ == module}
    others = {"connect_timeout", "connection_refused", "read_timeout", "unknown_operation"}
    assert made - others == HELPERS.keys()
    modelled = {*bedrock.errors("Converse"), *bedrock.errors("ConverseStream")}
    assert {
        body.name for body in (made.plan.body for made, _, _ in HELPERS.values()) if hasattr(body, "name")
    } > modelled


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
@pytest.mark.parametrize("name", HELPERS)
def test_a_helper_on_the_wire(name: str, operation: str) -> None:
    made, status, error_type = HELPERS[name]
    sent, headers, body = travels(made, operation)
    message = json.loads(body)["message"]
    assert body == json.dumps({"message": message}, separators=(",", ":"), ensure_ascii=False).encode()
    request_id = dict(headers)["x-amzn-RequestId"]
    assert (sent, headers) == (
        status,
        (
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Connection", "keep-alive"),
            ("x-amzn-RequestId", request_id),
            ("x-amzn-ErrorType", error_type),
        ),
    )


UNKNOWN_OPERATION = b'{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}'


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_an_unknown_operation_is_a_200_that_is_no_answer(operation: str) -> None:
    status, headers, body = travels(reply.unknown_operation(), operation)
    names = ["Content-Type", "Content-Length", "Connection", "x-amzn-RequestId"]
    assert (status, [name for name, _ in headers], body) == (200, names, UNKNOWN_OPERATION)
    assert dict(headers)["Content-Type"] == "application/json"
    assert pretty(reply.unknown_operation()) == "reply.unknown_operation()"


def test_an_unknown_operation_is_no_http_error() -> None:
    with pytest.raises(ReplyError, match=r"status 200\. Write reply\.unknown_operation\(\)\.$"):
        reply.error("UnknownOperationException")  # type: ignore[call-overload]  # what its name suggests
    assert travels(reply.error("UnknownOperationException", "Gone.", status=404))[0] == 404


TAKE_A_MESSAGE: dict[str, Callable[[str], Reply]] = {
    "access_denied": reply.access_denied,
    "expired_token": reply.expired_token,
    "internal_server_error": reply.internal_server_error,
    "invalid_signature": reply.invalid_signature,
    "model_error": reply.model_error,
    "model_not_ready": reply.model_not_ready,
    "model_timeout": reply.model_timeout,
    "resource_not_found": reply.resource_not_found,
    "service_unavailable": reply.service_unavailable,
    "throttled": reply.throttled,
    "unrecognized_client": reply.unrecognized_client,
    "validation_error": reply.validation_error,
}


def test_the_usual_wording_and_one_of_the_tests_own() -> None:
    assert HELPERS.keys() - TAKE_A_MESSAGE.keys() == {"context_overflow", "error", "invalid_model_id"}
    for name, helper in TAKE_A_MESSAGE.items():
        _, headers, body = travels(helper("Zürich is closed"))
        assert json.loads(body) == {"message": "Zürich is closed"}
        shape = dict(headers)["x-amzn-ErrorType"].partition(":")[0]
        if name != "validation_error":
            assert json.loads(travels(HELPERS[name][0])[2]) == {"message": ERRORS[shape].message}


def test_the_members_of_a_model_error_are_those_of_aws() -> None:
    made = reply.model_error("It died.", original_status_code=500, resource_name="teapot")
    assert travels(made)[2] == b'{"message":"It died.","originalStatusCode":500,"resourceName":"teapot"}'


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ({"seconds": 2}, (("retry-after", "2"),)),
        ({"ms": 50}, (("retry-after-ms", "50"),)),
        ({"seconds": 0, "ms": 0}, (("retry-after", "0"), ("retry-after-ms", "0"))),
    ],
)
def test_when_to_retry_stands_last(given: dict[str, int], headers: tuple[tuple[str, str], ...]) -> None:
    plain = travels(reply.throttled())
    status, sent, body = travels(reply.throttled().retry_after(**given))
    assert (status, sent, body) == (plain[0], (*plain[1], *headers), plain[2])


def test_when_to_retry_is_printed_as_it_was_written() -> None:
    made = reply.throttled().retry_after(2, ms=50).times(2)
    again = eval(pretty(made), {"reply": reply})
    assert travels(again) == travels(made)


# Wordings


@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_wording_of_a_context_overflow(name: OverflowWording) -> None:
    status, _, body = travels(reply.context_overflow(name))
    assert (status, json.loads(body)) == (400, {"message": OVERFLOWS[name].message})


@pytest.mark.parametrize("name", THROTTLES)
def test_a_wording_of_throttling(name: ThrottleWording) -> None:
    status, _, body = travels(reply.throttled(wording=name))
    assert (status, json.loads(body)) == (429, {"message": THROTTLES[name].message})


def test_the_tables_say_where_each_wording_is_known_from() -> None:
    rows = [*ERRORS.values(), *THROTTLES.values(), *OVERFLOWS.values()]
    assert {row.source for row in rows} == {RECORDED, REPORTED, OWN_WORDING}
    assert all(row.where for row in rows if row.source == RECORDED)
    assert not any(row.where for row in rows if row.source == OWN_WORDING)
    assert len({row.message for row in OVERFLOWS.values()}) == len(OVERFLOWS)
    assert all(row.recognised_by and row.recognised_by <= set(CLIENTS) for row in OVERFLOWS.values())
    assert ERRORS.keys() >= bedrock.all_errors().keys() - {"ConflictException"}


# Bad input

wrong: Any = reply  # what a type checker would not let through
NAMES = "x-amzn-ErrorType and is made of ASCII letters, digits, '.', '_' and '-', for instance 'ThrottlingException'."


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (
            lambda: wrong.error("ThrottlingExeption"),
            "error(name='ThrottlingExeption'): it is not an error of Bedrock; did you mean 'ThrottlingExcep",
        ),
        (
            lambda: wrong.error("", status=400),
            f"error(name=''): this is no name of an error: it travels in the header {NAMES}",
        ),
        (
            lambda: wrong.error(" ", status=400),
            f"error(name=' '): this is no name of an error: it travels in the header {NAMES}",
        ),
        (
            lambda: wrong.error("A\r\nSet-Cookie", status=400),
            "error(name='A\\r\\nSet-Cookie'): this is no name of an error: ",
        ),
        (lambda: wrong.error("Aé", status=400), "error(name='Aé'): this is no name of an error: "),
        (lambda: wrong.error("A:b", status=400), "error(name='A:b'): this is no name of an error: "),
        (lambda: wrong.error(7, status=400), "error(name=7): this is no name of an error: "),
        (
            lambda: wrong.error("X", status=200),
            "error(status=200): the HTTP status of an error is a whole number from",
        ),
        (lambda: wrong.error("X", status=600), "error(status=600): "),
        (lambda: wrong.error("ThrottlingException", status=399), "error(status=399): "),
        (lambda: wrong.error("X", status=True), "error(status=True): "),
        (lambda: wrong.error("X", status="400"), "error(status='400'): "),
        (lambda: wrong.error("X", 5, status=400), "X.message is 5; it must be a str."),
        (lambda: wrong.error("X", "\ud800", status=400), "X.message is '\\ud800', which is no JSON: 'utf-8' codec "),
        (lambda: wrong.error("X", status=400, a={1}), "X.a is {1}, which is no JSON: "),
        (lambda: wrong.error("X", status=400, a=float("nan")), "X.a is nan, which is no JSON: "),
        (lambda: wrong.throttled(5), "throttled(message=5): it must be a str; "),
        (lambda: wrong.model_error(original_status_code=99), "original_status_code is 99; "),
        (
            lambda: wrong.model_error(original_status_code="500"),
            "original_status_code is '500'",
        ),
        (
            lambda: wrong.throttled(wording="token"),
            "throttled(wording='token'): one of requests, tokens, tokens_per_day. For another text use reply.thr",
        ),
        (
            lambda: wrong.throttled("Slow down", wording="tokens"),
            "throttled('Slow down', wording='tokens'): give the message or the name of a wording.",
        ),
        (
            lambda: wrong.context_overflow("Input is too long"),
            f"context_overflow(wording='Input is too long'): one of {', '.join(OVERFLOWS)}. For another text use ",
        ),
        (lambda: wrong.context_overflow(["a"]), "context_overflow(wording=['a']): one of input_too_long, "),
        (lambda: wrong.text("hi").retry_after(1), 'text "hi": only an error before the stream has a header that says'),
        (lambda: wrong.throttled().retry_after(), "retry_after(): a whole number of seconds, or of "),
        (lambda: wrong.throttled().retry_after(0.5), "retry_after(seconds=0.5): a whole number of seconds, or of "),
        (lambda: wrong.throttled().retry_after(ms=-1), "retry_after(ms=-1): a whole number of seconds, or of "),
    ],
)
def test_nonsense_is_refused_where_it_is_written(write: Callable[[], object], said: str) -> None:
    with pytest.raises(ReplyError) as caught:
        write()
    assert str(caught.value).startswith(said)
