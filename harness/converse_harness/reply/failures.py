"""Functions that make replies with errors: HTTP errors, which are sent instead of a stream, and connection failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, overload

from converse_harness import bedrock, faults
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES, Wording, usual
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.literals import ErrorName, OtherErrorName, OverflowWording, ThrottleWording
from converse_harness.reply.body import ErrorBody, MessageBody
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import built_by, check_json, check_optional_text, check_text, did_you_mean, wrong
from converse_harness.stream.http import ERROR_NAME

_NOTHING: Final = Reply(Plan(MessageBody((), "end_turn")))


def connection_refused() -> Reply:
    """Refuse the connection instead of answering.

    >>> connection_refused().times(2)
    <Reply connection_refused, 2 times>
    """
    return _NOTHING.broken(faults.connection_refused)


def connect_timeout() -> Reply:
    """Fail with the client's own connect timeout error immediately, without waiting for the timeout.

    >>> connect_timeout()
    <Reply connect_timeout>
    """
    return _NOTHING.broken(faults.connect_timeout)


def read_timeout() -> Reply:
    """Fail with the client's own read timeout error immediately, without waiting for the timeout.

    >>> read_timeout()
    <Reply read_timeout>
    """
    return _NOTHING.broken(faults.read_timeout)


@overload
def error(
    name: ErrorName | OtherErrorName, message: str | None = None, *, status: int | None = None, **members: object
) -> Reply: ...


@overload
def error(name: str, message: str | None = None, *, status: int | None, **members: object) -> Reply: ...


def error(name: str, message: str | None = None, *, status: int | None = None, **members: object) -> Reply:
    """Fail with an HTTP error, in the form in which Bedrock sends it, instead of a stream.

    `name` is usually an error of Bedrock Runtime, or of the gateway before Bedrock. It may be an error of another
    Bedrock service, for an answer of `on_operation`, and then has the status of the operation's service. The default
    `message` is the usual wording of this error. `members` are other members of the error's shape. If `name` is
    unknown, `status` is required, from 400 to 599. Raises ReplyError for invalid arguments.

    >>> error("ModelTimeoutException")
    <Reply ModelTimeoutException (408) "Model has timed out in processing the request. Try your...">
    >>> error("FutureException", "Not yet.", status=418)
    <Reply FutureException (418) "Not yet.">
    """
    _check_name(name)
    services = bedrock.services_with_error(name)
    body = {"message": usual(name) if message is None else message, **members}
    if status is None and name == "UnknownOperationException":
        raise wrong(
            "error",
            "name",
            name,
            "it is no HTTP error: Bedrock sends it in a body with the status 200. Write ",
            Advice("reply.unknown_operation().", '{"unknown_operation": true}.'),
        )
    shapes = bedrock.all_errors(services[0] if services else bedrock.SERVICE)
    if status is None and not services:
        raise wrong(
            "error",
            "name",
            name,
            f"it is not an error of Bedrock{did_you_mean(name, shapes)} "
            f"One of: {', '.join(sorted(shapes))}. For one that is not in the model ",
            Advice("give its status=.", 'give its "status": {"error": {"name": "...", "status": 418}}.'),
        )
    given = shapes[name].status if status is None else status
    if type(given) is not int or not 400 <= given <= 599:
        raise wrong("error", "status", given, "the HTTP status of an error is a whole number from 400 to 599.")
    if services:
        with built_by("error", {(name, "message"): "message"}):
            bedrock.check(name, body, root=name, of=_service_of(name, body, services))
    else:
        check_json(name, body)
    return Reply(Plan(ErrorBody(name, given, body)))


def _service_of(name: str, body: Mapping[str, Any], services: Sequence[str]) -> str:
    """Return a service whose error of this name can have these members; otherwise the first one with the error."""
    if len(body) > 1 and services == (bedrock.SERVICE,):
        services = [each for each in bedrock.services() if name in bedrock.all_errors(each)]
    fitting = (each for each in services if {*body} <= {*bedrock.all_errors(each)[name].members})
    return next(fitting, services[0])


def throttled(message: str | None = None, *, wording: ThrottleWording | None = None) -> Reply:
    """Fail with 429 ThrottlingException, which botocore and most clients retry.

    `wording` is the name of a usual message, one of `wordings.THROTTLES`: "requests" (the default), "tokens",
    "tokens_per_day". These messages come from reports of users. `message` is any other text. Raises ReplyError for any
    other `wording`.

    >>> throttled().times(2)
    <Reply ThrottlingException (429) "Too many requests, please wait before trying again.", 2 times>
    >>> throttled(wording="tokens")
    <Reply ThrottlingException (429) "Too many tokens, please wait before trying again.">
    """
    if message is not None and wording is not None:
        both = Argument("throttled", beside=f"{message!r}, wording={wording!r}")
        raise ReplyError(both, ": give the message or the name of a wording.")
    check_optional_text("throttled", message=message)
    if message in THROTTLES:
        raise wrong(
            "throttled",
            "message",
            message,
            _IS_A_WORDING,
            Advice(f'reply.throttled(wording="{message}").', f'{{"throttled": {{"wording": "{message}"}}}}.'),
        )
    if wording is not None:
        message = _worded("throttled", wording, THROTTLES).message
    return error("ThrottlingException", message)


def context_overflow(wording: OverflowWording = "input_too_long") -> Reply:
    """Fail with 400 ValidationException, as Bedrock does if the conversation is too long. botocore does not retry.

    `wording` is the name of a usual message, one of `wordings.OVERFLOWS`. Models send different messages, and some
    clients do not recognise all of them. All known clients recognise the default. "input_tokens_exceeded" and
    "too_many_text_bytes" were recorded from AWS; users reported the other messages. Raises ReplyError for any other
    `wording`.

    >>> context_overflow()
    <Reply ValidationException (400) "Input is too long for requested model.">
    >>> context_overflow("input_tokens_exceeded")
    <Reply ValidationException (400) "The model returned the following errors: Input Tokens E...">
    """
    return error("ValidationException", _worded("context_overflow", wording, OVERFLOWS).message)


def access_denied(message: str | None = None) -> Reply:
    """Fail with 403 AccessDeniedException: the account has no access to the model. botocore does not retry.

    The default `message` was recorded from AWS.

    >>> access_denied()
    <Reply AccessDeniedException (403) "You don't have access to the model with the specified m...">
    """
    return _error("access_denied", "AccessDeniedException", message)


def validation_error(message: str) -> Reply:
    """Fail with 400 ValidationException: the request is invalid. `message` says why. botocore does not retry.

    >>> validation_error("This model doesn't support tool use in streaming mode.")
    <Reply ValidationException (400) "This model doesn't support tool use in streaming mode.">
    """
    check_text("validation_error", message=message)
    if message in OVERFLOWS:
        raise wrong(
            "validation_error",
            "message",
            message,
            _IS_A_WORDING,
            Advice(f'reply.context_overflow("{message}").', f'{{"context_overflow": "{message}"}}.'),
        )
    return error("ValidationException", message)


def invalid_model_id() -> Reply:
    """Fail with 400 ValidationException for an unknown model id.

    The message was recorded from AWS. botocore does not retry.

    >>> invalid_model_id()
    <Reply ValidationException (400) "The provided model identifier is invalid.">
    """
    return error("ValidationException")


def resource_not_found(message: str | None = None) -> Reply:
    """Fail with 404 ResourceNotFoundException: the model was retired. botocore does not retry.

    The default `message` was recorded from AWS.

    >>> resource_not_found()
    <Reply ResourceNotFoundException (404) "This model version has reached the end of its life. Ple...">
    """
    return _error("resource_not_found", "ResourceNotFoundException", message)


def model_timeout(message: str | None = None) -> Reply:
    """Fail with 408 ModelTimeoutException. botocore does not retry.

    The default `message` comes from reports of users.

    >>> model_timeout()
    <Reply ModelTimeoutException (408) "Model has timed out in processing the request. Try your...">
    """
    return _error("model_timeout", "ModelTimeoutException", message)


def model_error(
    message: str | None = None, *, original_status_code: int | None = None, resource_name: str | None = None
) -> Reply:
    """Fail with 424 ModelErrorException: the model failed. botocore does not retry.

    The default `message` comes from reports of users.

    `original_status_code` (100 to 599) and `resource_name` are the error's members originalStatusCode and resourceName.

    >>> model_error("It died.", original_status_code=500).plan.body.members["originalStatusCode"]
    500
    """
    check_optional_text("model_error", message=message)
    given: dict[str, Any] = {"originalStatusCode": original_status_code, "resourceName": resource_name}
    sources = {"originalStatusCode": "original_status_code", "resourceName": "resource_name"}
    with built_by("model_error", {("ModelErrorException", member): name for member, name in sources.items()}):
        members = {name: value for name, value in given.items() if value is not None}
        return error("ModelErrorException", message, **members)


def model_not_ready(message: str | None = None) -> Reply:
    """Fail with 429 ModelNotReadyException: an imported model is loading. botocore retries.

    AWS's API model contains this error. The default `message` was written for this package, because none was recorded.

    >>> model_not_ready()
    <Reply ModelNotReadyException (429) "Model is not ready for inference. Wait and try your req...">
    """
    return _error("model_not_ready", "ModelNotReadyException", message)


def internal_server_error(message: str | None = None) -> Reply:
    """Fail with 500 InternalServerException. botocore retries.

    The default `message` comes from reports of users.

    >>> internal_server_error()
    <Reply InternalServerException (500) "The system encountered an unexpected error during proce...">
    """
    return _error("internal_server_error", "InternalServerException", message)


def service_unavailable(message: str | None = None) -> Reply:
    """Fail with 503 ServiceUnavailableException. botocore retries. The default `message` was recorded from AWS.

    Nova Pro also sent "Service capacity limit has been reached. Please try again later." (recorded 2026-02-09).

    >>> service_unavailable()
    <Reply ServiceUnavailableException (503) "Model is getting throttled. Try your request again.">
    """
    return _error("service_unavailable", "ServiceUnavailableException", message)


def unrecognized_client(message: str | None = None) -> Reply:
    """Fail with 403 UnrecognizedClientException: AWS does not know the access key. botocore does not retry.

    The gateway before Bedrock sends this error. The default `message` was recorded from AWS.

    >>> unrecognized_client()
    <Reply UnrecognizedClientException (403) "The security token included in the request is invalid.">
    """
    return _error("unrecognized_client", "UnrecognizedClientException", message)


def invalid_signature(message: str | None = None) -> Reply:
    """Fail with 403 InvalidSignatureException: the client's clock is slow. botocore does not retry.

    The gateway before Bedrock sends this error. The default `message` was recorded from AWS.

    >>> invalid_signature()
    <Reply InvalidSignatureException (403) "Signature expired: 20251117T063822Z is now earlier than...">
    """
    return _error("invalid_signature", "InvalidSignatureException", message)


def expired_token(message: str | None = None) -> Reply:
    """Fail with 403 ExpiredTokenException: the session token has expired. botocore does not retry.

    The gateway before Bedrock sends this error. The default `message` was recorded from InvokeModel.

    >>> expired_token()
    <Reply ExpiredTokenException (403) "The security token included in the request is expired">
    """
    return _error("expired_token", "ExpiredTokenException", message)


def unknown_operation() -> Reply:
    """Answer as Bedrock does if the path of the request is wrong: status 200, but no answer. botocore does not retry.

    The JSON body contains only the name UnknownOperationException, in a place that clients do not read. So a client of
    Converse reads an answer without members, and a client of ConverseStream reads bytes that are no frames. The body
    was recorded from AWS. A common reason is an ARN as the model id with a literal `/` in place of `%2F`.

    >>> unknown_operation()
    <Reply UnknownOperationException (200)>
    """
    return Reply(Plan(ErrorBody("UnknownOperationException", 200, {})))


def _error(function: str, name: ErrorName, message: str | None) -> Reply:
    check_optional_text(function, message=message)
    return error(name, message)


def _worded(function: str, wording: str, wordings: Mapping[Any, Wording]) -> Wording:
    # A value of a wrong type may be unhashable, so its type is checked first.
    if type(wording) is not str or wording not in wordings:
        problem = f"one of {', '.join(wordings)}. For another text use "
        raise wrong(function, "wording", wording, problem, _OWN_WORDS[function])
    return wordings[wording]


_IS_A_WORDING: Final = "this is the name of a wording; the message is a text. Write "

_OWN_WORDS: Final[Mapping[str, Advice]] = {
    "throttled": Advice("reply.throttled(message).", '{"throttled": {"message": "..."}}.'),
    "context_overflow": Advice("reply.validation_error(message).", '{"validation_error": "..."}.'),
}


def _check_name(name: str) -> None:
    if type(name) is not str or not ERROR_NAME.fullmatch(name):
        raise wrong(
            "error",
            "name",
            name,
            "this is no name of an error: it travels in the header x-amzn-ErrorType and is made of ASCII letters, "
            "digits, '.', '_' and '-', for instance 'ThrottlingException'.",
        )
