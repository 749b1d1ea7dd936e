"""Cases of errors (before the stream and inside it) and of faults. Each row of the tables becomes one case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, cast

from converse_harness import bedrock, reply
from converse_harness.bedrock.families import ERRORS, OVERFLOW_IN_STREAM, OVERFLOWS, THROTTLES, Wording
from converse_harness.cases.case import MEASURED, MODEL, NETWORK, RECORDED, SPECIFICATION, Case, Made, snake
from converse_harness.cases.messages import ANSWER, SIGNED, reasoned
from converse_harness.cases.tools import TOOL
from converse_harness.faults import FAULTS
from converse_harness.faults.model import IN_PROCESS, Fault, Reaction
from converse_harness.faults.order import OrderFault
from converse_harness.literals import OverflowWording, StreamException, ThrottleWording
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import GATEWAY_ERRORS

_WAIT: Final = "Wait and ask again, a few times; then fail, and report that the service is busy."
_WAIT_FOR_500: Final = "Wait and ask again, a few times; then fail, and report that Bedrock itself failed."
_SHORTEN: Final = "Make the conversation shorter and ask again; never repeat the same request."
_LOWER: Final = "Lower max_tokens, or make the conversation shorter, and ask again; never repeat the same request."

_MUST_BY_STATUS: Final[Mapping[int, str]] = {
    400: "Fail at once, and report what is wrong with the request; never repeat it.",
    403: "Fail at once, and report a problem with permissions or credentials; never repeat the request.",
    404: "Fail at once, and name the requested model; never repeat the request.",
    408: "Fail, or ask again once; the model took too long.",
    424: "Fail, and report that the model failed.",
    429: _WAIT,
    500: _WAIT_FOR_500,
    503: _WAIT,
}
"""The required reaction of a consumer to an HTTP error, by status."""

_HELPERS: Final[Mapping[str, str]] = {
    "InternalServerException": "internal_server_error",
    "ThrottlingException": "throttled",
    "ValidationException": "invalid_model_id",
}
"""Maps each error whose case is named after a function of `reply` to the name of this function."""

_NOT_HTTP: Final = ("ModelStreamErrorException",)
"""Errors that occur only inside streams: AWS's API model lists them for neither Converse nor ConverseStream."""


def _known_from(wording: Wording) -> str:
    return f"{wording.source} ({wording.where})" if wording.where else wording.source


def error_cases() -> Iterator[Case]:
    """Yield one case per HTTP error of ERRORS. The case is named after the error, unless `_HELPERS` names it."""
    for name, wording in ERRORS.items():
        if name not in _NOT_HTTP:
            status = bedrock.all_errors()[name].status
            sender = "the gateway before Bedrock" if name in GATEWAY_ERRORS else "Bedrock"
            yield Case(
                _HELPERS.get(name, snake(name.removesuffix("Exception"))),
                f"In place of an answer {sender} sends {status} {name}.",
                _MUST_BY_STATUS[status],
                _known_from(wording),
                partial(reply.error, name, status=None),
            )


ERROR_CASES: Final = (
    Case(
        "validation_error",
        "Bedrock refuses the request because of its content: 400 ValidationException.",
        _MUST_BY_STATUS[400],
        "reported by users (strands-agents/sdk-python#998)",
        lambda: reply.validation_error(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        ),
    ),
    Case(
        "unknown_operation",
        "Bedrock does not know the path of the request: status 200, and JSON that is no answer, also for a stream.",
        "Fail at once, and report that no answer came; never return an empty answer, never hang.",
        f"{RECORDED} (vercel/ai#17523)",
        reply.unknown_operation,
    ),
    Case(
        "throttled_retry_after",
        "429 ThrottlingException; its headers give the time to wait.",
        "Wait for this time, and ask again.",
        "headers of HTTP; AWS is not known to send them",
        lambda: reply.throttled().retry_after(ms=20),
    ),
    Case(
        "unknown_error",
        "In place of an answer comes a 4xx error that is not in AWS's API model.",
        "Decide by the status: fail at once, and show the error's name and message.",
        "what AWS's API allows itself: errors are added",
        lambda: reply.error("FutureException", "Not yet.", status=418),
    ),
    Case(
        "throttle_pre",
        "429 ThrottlingException twice, then the answer.",
        "Wait, ask again, and return the answer.",
        _known_from(ERRORS["ThrottlingException"]),
        lambda: (reply.throttled().times(2), reply.text(ANSWER)),
    ),
    *(
        Case(
            f"throttled_{name}",
            f"429 ThrottlingException with the text: {wording.message}",
            _WAIT,
            _known_from(wording),
            partial(reply.throttled, wording=cast("ThrottleWording", name)),
        )
        for name, wording in THROTTLES.items()
        if wording is not ERRORS["ThrottlingException"]
    ),
)


def _first_words(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87].rstrip()}..."


_USUAL, *_OTHERS = OVERFLOWS

OVERFLOW_CASES: Final = (
    Case(
        "overflow_pre",
        "The conversation is too long for the model: 400 ValidationException, which all clients recognise.",
        _SHORTEN,
        _known_from(OVERFLOWS[_USUAL]),
        reply.context_overflow,
    ),
    Case(
        "overflow_mid",
        "The same error as an exception frame, after part of the answer.",
        _SHORTEN,
        MODEL,
        lambda: reply.text(ANSWER).fails_after(3, "validationException", OVERFLOWS[_USUAL].message),
    ),
    Case(
        "overflow_first_frame",
        "The stream opens, and its first frame is the error, in a wording of the service's internals.",
        _SHORTEN,
        _known_from(OVERFLOW_IN_STREAM),
        lambda: reply.text(ANSWER).fails_after(0, "validationException", OVERFLOW_IN_STREAM.message),
    ),
    *(
        Case(
            f"overflow_{name}",
            f"The conversation is too long, in another wording: {_first_words(OVERFLOWS[name].message)}",
            _LOWER if "max_tokens" in name else _SHORTEN,
            _known_from(OVERFLOWS[name]),
            partial(reply.context_overflow, cast("OverflowWording", name)),
        )
        for name in _OTHERS
    ),
)
"""Cases of a conversation that is too long. The case with the default wording of `reply.context_overflow` is first."""


def _use_of_tool() -> Reply:
    return reply.tool_use(TOOL, {"city": "Zürich"}, pieces=['{"city": ', '"Zürich"}'])


_PLACES: Final[Mapping[str, tuple[Callable[[StreamException], Made], str, str]]] = {
    "first_frame": (
        lambda exception: (reply.text(ANSWER).fails_after(0, exception), reply.text(ANSWER)),
        "The first frame is {}; the next call is answered.",
        "{}",
    ),
    "mid": (
        lambda exception: reply.text(ANSWER).fails_after(3, exception),
        "After part of the text comes {}.",
        "Never treat the part as whole. {}",
    ),
    "in_tool_input": (
        lambda exception: _use_of_tool().fails_after(3, exception),
        "In the middle of a tool's input comes {}.",
        "Never run the tool. {}",
    ),
    "at_end": (
        lambda exception: reply.text(ANSWER).fails_after(len([*reply.text(ANSWER).events()]) - 1, exception),
        "After messageStop, in place of metadata, comes {}.",
        "Treat the answer as failed, or as whole with unknown usage; never hang.",
    ),
}
"""Maps each position of an exception frame in a stream to three things: the function that makes the replies for an
exception, and the templates of the case's `sentence` and `required`."""

_SHORT: Final[Mapping[tuple[str, str], str]] = {
    ("throttlingException", "first_frame"): "throttle_first_frame",
    ("throttlingException", "mid"): "throttle_mid",
    ("modelStreamErrorException", "mid"): "model_stream_error",
}
"""Maps an exception and its position in the stream to the short name of this common case."""

_RECORDED_FRAMES: Final = {("validationException", "first_frame"), ("modelStreamErrorException", "mid")}
"""The exceptions and their positions in recorded streams."""


def frame_cases() -> Iterator[Case]:
    """Yield one case for each stream exception of the installed botocore and each position in `_PLACES`."""
    for exception, shape in bedrock.stream_exceptions().items():
        for place, (make, sentence, must) in _PLACES.items():
            yield Case(
                _SHORT.get((exception, place), f"{snake(exception)}_{place}"),
                sentence.format(exception),
                must.format(_MUST_BY_STATUS[shape.status]),
                RECORDED if (exception, place) in _RECORDED_FRAMES else MODEL,
                partial(make, cast("StreamException", exception)),
            )


FRAME_CASES: Final = (
    Case(
        "unknown_exception",
        "After part of the text comes an exception of a type that is not in AWS's API model.",
        "Treat the stream as failed; never treat the part as whole.",
        "what AWS's API allows itself: exceptions are added",
        lambda: reply.text(ANSWER).fails_after(3, "futureException", "Not yet.", strict=False),
    ),
    Case(
        "error_frame",
        "After part of the text comes an error frame that is not in AWS's API model (:message-type error).",
        "Treat the stream as failed; never treat the part as whole.",
        SPECIFICATION,
        lambda: reply.text(ANSWER).error_frame_after(3, "InternalFailure", "The connection to the model was lost."),
    ),
)


_INCOMPLETE: Final = "Treat the answer as broken off: never as whole, and run none of its tools."
_REPORT: Final = "Treat the stream as broken, or read its clear parts; never run an unclear tool, never hang."
_SAME: Final = "Give the same answer as if nothing were wrong."
_UNREACHABLE: Final = "Ask again, a few times; then fail, and report that Bedrock cannot be reached."

_MUST_BY_REACTION: Final[Mapping[Reaction, str]] = {
    "ignore": _SAME,
    "fail": _INCOMPLETE,
    "either": _REPORT,
    "either_without_tools": _REPORT,
}

_MUST: Final[Mapping[str, str]] = {
    "unknown_event": "Skip the event, and read the rest.",
    "no_metadata": "Accept the answer, and report its usage as unknown, not as 0.",
    "garbage_after_end": "Keep the complete answer before these bytes, or fail; never hang.",
    "wrong_content_length": "Keep the answer, which is complete, or fail; never hang.",
    "stall": "Give up after its own timeout: never wait for ever, and never treat the part as whole.",
    "blocks_interleaved": "Distinguish the blocks by their contentBlockIndex, or treat the stream as broken.",
}
"""The required reaction of a consumer to a fault, where more can be required than in `_MUST_BY_REACTION`."""

_SENTENCES: Final[Mapping[str, str]] = {
    "stall": "In the middle of the stream nothing more is sent, and the connection stays open.",
    "slow_first_byte": "Nothing is sent for a tenth of a second, not even the head.",
}
"""Maps a fault to the sentence of its case. Other cases have the fault's own sentence.

The faults' own sentences would also explain the method `lasting`, which has no meaning in a case.
"""

_SHORT_WAIT: Final = 0.1
"""The duration, in seconds, of a fault that ends by itself; the client waits for its end."""


_ANSWERS: Final[tuple[Callable[[], Reply], ...]] = (
    lambda: reply.text(ANSWER),
    _use_of_tool,
    lambda: reply.message({"text": "Let me look."}, {"toolUse": {"name": TOOL, "input": {"city": "Zürich"}}}),
    lambda: reasoned(reasoningText=SIGNED),
    lambda: reasoned(redactedContent=b"EroBCkYIBBgCKkA="),
)
"""Functions that make whole answers. The case of a fault uses the first of these answers that can have the fault."""


def _broken(fault: Fault) -> Made:
    if fault.seconds is not None and fault.seconds < float("inf"):
        fault = fault.lasting(_SHORT_WAIT)
    fits = (
        answer
        for answer in (make() for make in _ANSWERS)
        if not isinstance(fault, OrderFault) or fault.applicable_at([*answer.events()])
    )
    return next(fits).broken(fault)


def fault_cases() -> Iterator[Case]:
    """Yield one case per fault that a fake can send to a boto or httpx client in its own process.

    The case has the name of the fault.
    """
    for name, fault in FAULTS.items():
        if fault.transports & IN_PROCESS:
            yield Case(
                name,
                _SENTENCES.get(name, fault.sentence),
                _UNREACHABLE if fault.no_answer else _MUST.get(name, _MUST_BY_REACTION[fault.reaction]),
                NETWORK if fault.level == "connection" else MEASURED,
                partial(_broken, fault),
            )
