"""Functions that make replies from exact answers of AWS: from a stream's events, or from a whole response of boto3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.errors import Advice, Argument, ReplyError, StreamOrderError
from converse_harness.reply.body import KEYWORDS, EventsBody
from converse_harness.reply.failures import error
from converse_harness.reply.messages import answer, check_encodable
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import (
    AN_EVENT,
    Path,
    built_by,
    check_flag,
    copied,
    each_event,
    has_content,
    is_listed,
    is_whole_response,
    members,
    wrong,
)
from converse_harness.stream.assemble import OPTIONS, Response
from converse_harness.stream.grammar import check_beginning, kind
from converse_harness.types.streaming import StreamEvent
from converse_harness.words import shown


def events(events: Iterable[StreamEvent | Mapping[str, object]], *, strict: bool = True) -> Reply:
    """Answer with exactly these stream events, which are dicts as in the AWS API.

    With `strict=True`, every event must be valid in AWS's API model, and the events must be in an order in which
    ConverseStream can send them. They must be a complete stream, or end with an exception such as
    `{"throttlingException": {"message": "..."}}`. For an incomplete stream, add the exception with `fails_after`:
    `events(beginning).fails_after(len(beginning), "throttlingException")`. With `strict=False`, an event may be any
    JSON object with one key; a key that ends in `Exception` is sent as an exception frame. Raises ReplyError for an
    invalid event, and StreamOrderError for an impossible order.

    >>> events([{"throttlingException": {"message": "Slow down"}}]).summary
    '1 event, the last one throttlingException'
    """
    check_flag("events", strict=strict)
    listed = _listed(events)
    found = tuple(_checked(index, event, strict=strict) for index, event in enumerate(listed))
    return Reply(Plan(EventsBody(found, strict, _unfinished(found) if strict else "")))


def response(
    response: Response | Mapping[str, object] | Iterable[Mapping[str, object]], *, strict: bool = True
) -> Reply:
    """Answer with a response that was copied from boto3: of Converse or ConverseStream, or an error.

    A response of Converse is a dict with the key `output`. A response of ConverseStream is a dict with the key
    `stream`, or only the list of its events. For an error, pass the `response` of a ClientError, a dict with the key
    `Error`. A Response from `assemble` or from a Call is allowed, too. `ResponseMetadata` is ignored. A
    tool use without a `type` stays without one. `strict=False` has the same meaning as in `message` and `events`; in
    addition, unknown members of the response are ignored. Raises ReplyError for any other value, and for content that
    AWS's API model does not allow.

    >>> response({
    ...     "ResponseMetadata": {"HTTPStatusCode": 200},
    ...     "output": {"message": {"role": "assistant", "content": [{"text": "18 °C"}]}},
    ...     "stopReason": "end_turn",
    ...     "usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12},
    ... })
    <Reply text "18 °C">
    >>> response({"Error": {"Code": "ThrottlingException", "Message": "Slow down."}})
    <Reply ThrottlingException (429) "Slow down.">
    """
    check_flag("response", strict=strict)
    with built_by("response", _MADE_FROM if is_object(response) and "stream" in response else _MADE_FROM_EVENTS):
        return _as_pasted(response, strict=strict)


def _as_pasted(response: object, *, strict: bool) -> Reply:
    if isinstance(response, Response):
        return _of_converse(_members_of(response), strict=strict)
    given: Any = response
    if isinstance(given, str | bytes):
        raise wrong(
            "response",
            "response",
            given,
            f"this is a text, and it must be {_A_RESPONSE}. Convert it first, ",
            Advice("with json.loads(...) for JSON, with ast.literal_eval(...) for a printed dict.", "to JSON."),
        )
    if not is_object(given):
        if not is_listed(given):
            raise wrong("response", "response", given, f"it must be {_A_RESPONSE}.")
        return events(cast("Iterable[Mapping[str, object]]", given), strict=strict)
    if "output" in given:
        return _of_converse(given, strict=strict)
    if "stream" in given:
        _check_known(given, ("stream",), strict=strict)
        return events(given["stream"], strict=strict)
    if "Error" in given:
        return _of_error(given)
    if has_content(given):
        raise ReplyError(
            Argument("response"),
            " got a Message, not a response. Use ",
            Advice('reply.message(*message["content"]).', 'a "message" reply with its blocks.'),
        )
    listed = ", ".join(map(repr, given)) or "no member"
    raise ReplyError(Argument("response"), f" got a dict with {listed}; it must be {_A_RESPONSE}.")


def _part(*path: str) -> Argument:
    return Argument("response", "response", path)


_MADE_FROM: Final[Mapping[Path, Argument]] = {
    ("events",): _part("stream"),
    ("content",): _part("output", "message", "content"),
    ("stop_reason",): _part("stopReason"),
    ("name",): _part("Error", "Code"),
    ("message",): _part("Error", "Message"),
    **{(KEYWORDS.get(name, name),): _part(name) for name in OPTIONS},
}
"""The parts of a response from which the arguments of `events`, `message` and `error` are made."""

_MADE_FROM_EVENTS: Final[Mapping[Path, Argument]] = {**_MADE_FROM, ("events",): _part()}

_A_RESPONSE: Final = (
    "a response of boto3: a dict with 'output' (Converse), a dict with 'stream' or a list of events (ConverseStream), "
    "or a dict with 'Error' (the response of a ClientError)"
)


_USE_RESPONSE: Final = Advice("reply.response(...).", 'a "response" reply.')


def _listed(events: object) -> list[Mapping[str, Any]]:
    if is_whole_response(events):
        raise ReplyError(
            Argument("events"),
            " got a whole response of boto3, not a list of events. For a response as pasted use ",
            _USE_RESPONSE,
        )
    if isinstance(events, Mapping):
        raise ReplyError(
            Argument("events"),
            " got a dict; it must be a list of events, even of one: ",
            Advice(f"reply.events([{AN_EVENT}]).", f"[{AN_EVENT}]."),
        )
    return list(each_event("events", events))


def _unfinished(events: Iterable[Mapping[str, Any]]) -> str:
    """Return an error text if the events do not end the stream, otherwise "".

    Raises StreamOrderError for a wrong order.
    """
    order = check_beginning(events)
    try:
        order.finish()
    except StreamOrderError as error:
        return str(error)
    return ""


def _checked(index: int, event: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    at = Argument(name="events", path=(index,))
    if is_whole_response(event):
        raise ReplyError(at, " is a whole response of boto3. For a response as pasted use ", _USE_RESPONSE)
    try:
        name = kind(event)
    except StreamOrderError as error:
        raise StreamOrderError(at, ": ", *error.parts) from None
    if not is_object(event[name]):
        came = Advice(f" is {shown(event[name])}", f" is {shown(event[name], in_json=True)}")
        raise ReplyError(at._replace(path=(index, name)), came, "; an event is a mapping of its members.")
    if strict:
        bedrock.check("ConverseStreamOutput", event, root=at)
    copy = dict(copied(at, event))
    if not strict:
        check_encodable(copy, index)
    return copy


def _members_of(response: Response) -> dict[str, Any]:
    options = zip(OPTIONS, (getattr(response, KEYWORDS.get(name, name)) for name in OPTIONS), strict=True)
    return {
        "output": {"message": response.message},
        "stopReason": response.stop_reason,
        **{name: value for name, value in options if value is not None},
    }


def _of_converse(response: Mapping[str, Any], *, strict: bool) -> Reply:
    _check_known(response, ("output", "stopReason", *OPTIONS), strict=strict)
    output = response["output"]
    said = output.get("message") if is_object(output) else None
    if not is_object(said) or not is_array(said.get("content")):
        raise ReplyError(
            _part("output"),
            f" is {shown(output)}; it must be {{'message': {{'role': 'assistant', 'content': [...]}}, as in a "
            "ConverseResponse.",
        )
    if said.get("role") != "assistant":
        problem = f" is {shown(said.get('role'))}; an answer has the role 'assistant'."
        raise ReplyError(_part("output", "message", "role"), problem)
    options = members(response, *OPTIONS)
    return answer(said["content"], response.get("stopReason"), options, strict=strict, as_given=True)


def _of_error(response: Mapping[str, Any]) -> Reply:
    told = response["Error"]
    if not is_object(told) or not isinstance(told.get("Code"), str):
        raise ReplyError(
            _part("Error"),
            f" is {shown(told)}; it must be {{'Code': '...', 'Message': '...'}}, as in the response of a ClientError.",
        )
    name: str = told["Code"]
    if name in bedrock.stream_exceptions():
        raise ReplyError(
            _part("Error", "Code"),
            f" is {name}, which came inside a stream. Write the events before it, and then the exception: ",
            Advice(
                f'reply.events([..., {{"{name}": {{"message": "..."}}}}]).',
                f'{{"events": [..., {{"{name}": {{"message": "..."}}}}]}}.',
            ),
        )
    known = bedrock.all_errors().get(name)
    more = members(response, *(each for each in known.members if each != "message")) if known else {}
    metadata = response.get("ResponseMetadata")
    status = metadata.get("HTTPStatusCode") if known is None and is_object(metadata) else None
    return error(name, told.get("Message"), status=status, **more)


def _check_known(response: Mapping[str, Any], known: Iterable[str], *, strict: bool) -> None:
    allowed = [*known]
    unknown = [name for name in response if name not in (*allowed, "ResponseMetadata")]
    if strict and unknown:
        raise ReplyError(
            Argument("response"),
            f" has the unknown member {shown(unknown[0])}; a response of this kind has {', '.join(allowed)}. Take it "
            "out, or leave it to ",
            Advice("strict=False", '"strict": false'),
            ", which ignores it.",
        )
