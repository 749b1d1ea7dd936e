"""Read answers that somebody saved without their requests: those of Converse, and events of ConverseStream.

The module reads what `aws bedrock-runtime converse > out.json` prints, the dict that boto3 returns as JSON, and events
as a list, as the member `stream` or `events` of an object, or one on each line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from converse_harness import bedrock
from converse_harness.errors import ConverseHarnessError
from converse_harness.json_values import is_array, is_object, member_of, object_of, parsed_json
from converse_harness.recordings.format.readable import compact
from converse_harness.stream.events import PADDING, encode_event, from_wire
from converse_harness.stream.grammar import is_exception

_HOLDERS: Final = ("stream", "events")
"""The members in which an object may have the events of a stream."""


class SavedAnswer(NamedTuple):
    """An answer without its request; `pieces` are the parts of its body: a JSON text, or the frames of a stream."""

    operation: str
    pieces: tuple[bytes, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def action(self) -> str:
        """The last part of the path to which its request was sent."""
        return "converse-stream" if self.operation == "ConverseStream" else "converse"


class BadAnswer(ValueError):
    """Raised for a file of answers that cannot be sent; the message describes the problem."""


def saved_answers(text: str) -> list[SavedAnswer]:
    """Return the answers in a file's text; none if it contains something else. Raises BadAnswer.

    >>> [each.operation for each in saved_answers('{"messageStop": {"stopReason": "end_turn"}}')]
    ['ConverseStream']
    """
    if not text.lstrip().startswith(("{", "[")):
        return []
    values = _values(text)
    if values and all(map(_is_event, values)):
        return [_streamed(values, {})]
    answers = [list(_answers(value)) for value in values]
    return [answer for each in answers for answer in each] if all(answers) else []


def path_of(answer: SavedAnswer, model_id: str) -> str:
    """Return the path to which a client sends the request for this answer; empty if the model is not known."""
    return f"/model/{quote(model_id, safe='')}/{answer.action}" if model_id else ""


def _values(text: str) -> Sequence[Any]:
    """Return the items of a JSON array, a single JSON value, or the values on the lines of the text."""
    whole = parsed_json(text)
    if whole is not None:
        return whole if is_array(whole) else [whole]
    values = [parsed_json(line) for line in text.splitlines() if line.strip()]
    return [] if None in values else values


def _answers(value: Any) -> Iterator[SavedAnswer]:
    """Yield the answer that a JSON value contains, if it does."""
    if not is_object(value) or "interactions" in value:  # the latter is a cassette
        return
    status, headers = _metadata(object_of(value.get("ResponseMetadata")))
    if is_object(member_of(value, "output", "message")) and not value.keys().isdisjoint({"stopReason", "usage"}):
        body = {name: each for name, each in value.items() if name != "ResponseMetadata"}
        try:
            yield SavedAnswer("Converse", (compact(body),), status, headers)
        except (ValueError, RecursionError) as error:  # NaN, half of a surrogate pair, or too deep
            raise BadAnswer(f"its answer cannot be sent ({error}).") from error
        return
    for name in _HOLDERS:
        events = value.get(name)
        if is_array(events) and events and all(map(_is_event, events)):
            yield _streamed(events, {"status": status, "headers": headers})


def _metadata(metadata: Mapping[str, Any]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the status and the headers that boto3 has written into ResponseMetadata."""
    headers = {str(name): str(value) for name, value in object_of(metadata.get("HTTPHeaders")).items()}
    request_id = metadata.get("RequestId")
    if isinstance(request_id, str):
        headers.setdefault("x-amzn-requestid", request_id)
    status = metadata.get("HTTPStatusCode")
    return status if type(status) is int and 200 <= status <= 299 else 200, tuple(headers.items())


def _is_event(value: Any) -> bool:
    if not is_object(value) or len(value) != 1:
        return False
    ((name, members),) = value.items()
    return is_object(members) and (name in bedrock.stream_events() or is_exception(name))


def _streamed(events: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> SavedAnswer:
    return SavedAnswer("ConverseStream", tuple(map(_frame, events, range(1, len(events) + 1))), **known)


def _frame(event: Mapping[str, Any], number: int) -> bytes:
    ((name, given),) = event.items()
    padding = given.get("p")
    is_padded = isinstance(padding, str) and padding == PADDING[: len(padding)]
    members = {key: each for key, each in given.items() if key != "p" or not is_padded}
    try:
        json.dumps(members, allow_nan=False)
        return encode_event({name: from_wire(name, members)}, len(padding) if is_padded else None)
    except (ConverseHarnessError, ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise BadAnswer(f"event {number}, {name}, cannot be sent ({error}).") from error
