"""The members of an Outcome besides text, tool calls and stop reason: how they are compared with the sent answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from converse_harness import bedrock
from converse_harness.bedrock.guardrails import in_json
from converse_harness.bedrock.rules import Refusal, RuleRequest, refusal_of
from converse_harness.contract.outcome import Outcome
from converse_harness.endpoint.call import Call
from converse_harness.errors import StreamOrderError
from converse_harness.json_values import equal, is_array, is_object, member_of
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.same import without_blanks
from converse_harness.words import cut


def _blocks(response: Response) -> list[Mapping[str, Any]]:
    blocks: list[Mapping[str, Any]] = response.message["content"]
    return blocks


def _held(response: Response, *path: str) -> list[Any]:
    """Return the value at a path of keys in each content block that has this path."""
    found = (member_of(block, *path) for block in _blocks(response))
    return [value for value in found if value is not None]


@dataclass(frozen=True, slots=True)
class _OutcomePlace:
    """A member of the Outcome: `sent` reads its value from an answer of the fake.

    `shape` is the name of the AWS shape of the value or, for a list, of its items. It is None if AWS's API model does
    not restrict the value. `whole` is true if the value does not come from content blocks: a consumer that called again
    may return the sum of several answers. `in_json` converts a value from a stream to its form in a Converse answer.
    `compared` returns the part of a value that is compared.
    """

    sent: Callable[[Response], Any]
    shape: str | None
    whole: bool = False
    in_json: Callable[[Any], Any] = lambda sent: sent
    compared: Callable[[Any], Any] = lambda value: value


PLACES: Final[Mapping[str, _OutcomePlace]] = {
    "signatures": _OutcomePlace(lambda answer: _held(answer, "reasoningContent", "reasoningText", "signature"), None),
    "redacted": _OutcomePlace(lambda answer: _held(answer, "reasoningContent", "redactedContent"), None),
    "citations": _OutcomePlace(
        lambda answer: [each for some in _held(answer, "citationsContent", "citations") for each in some], "Citation"
    ),
    "images": _OutcomePlace(lambda answer: _held(answer, "image"), "ImageBlock"),
    "tool_results": _OutcomePlace(lambda answer: _held(answer, "toolResult"), "ToolResultBlock"),
    "usage": _OutcomePlace(lambda answer: answer.usage or {}, "TokenUsage", whole=True),
    "trace": _OutcomePlace(lambda answer: answer.trace or {}, "ConverseTrace", whole=True, in_json=in_json),
    "additional": _OutcomePlace(
        lambda answer: {} if answer.additional is None else answer.additional, None, whole=True
    ),
    "content": _OutcomePlace(_blocks, "ContentBlock", whole=True, compared=without_blanks),
}
"""The members of an Outcome that are compared with the answer that the fake sent."""

SHOWN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "toolUse": ("tool_calls",),
    "reasoningContent": ("reasoning", "signatures", "redacted", "content"),
    "citationsContent": ("citations", "content"),
    "toolResult": ("tool_results", "content"),
    "image": ("images", "content"),
}
"""Maps each kind of block to the members of an Outcome that show it. A kind is compared if one of them is not None."""


def _responses(calls: Iterable[Call]) -> list[Response]:
    """Return the complete answers of the fake.

    They include the answers whose stream the consumer closed after the messageStop, because the rest would have come.
    """
    return [response for call in calls if (response := call.response or _left(call)) is not None]


def _left(call: Call) -> Response | None:
    """Return the whole answer of which the consumer read the messageStop and not the end; None for another call."""
    came = any("messageStop" in event for event, _ in call.events)
    if call.outcome != "closed by client" or not came or not isinstance(call.reply, Reply):
        return None
    try:
        return assemble(call.reply.events())
    except StreamOrderError:
        return None


class PlaceDifference(NamedTuple):
    """How a member of an Outcome, `place`, differs from the sent answer: a part of it `is_lost`, or it is wrong."""

    place: str
    why: str
    is_lost: bool


def difference(outcome: Outcome, calls: Iterable[Call], *, went_on: bool) -> PlaceDifference | None:
    """Return how the outcome differs from the sent answer in the first member that differs.

    The result is None if no member differs, or if no call got a whole answer. If the fake sent several answers, the
    outcome may agree with any of them.

    If `went_on` is true, the outcome may combine several answers. Then only the members whose values come from content
    blocks are compared. They may agree with any one answer, or with an answer that has the blocks of all answers.
    """
    responses = _responses(calls)
    if responses and went_on:
        blocks = [block for response in responses for block in _blocks(response)]
        responses.append(Response({"role": "assistant", "content": blocks}, "end_turn"))
    found = [_first(outcome, response, whole=not went_on) for response in responses]
    return None if None in found or not found else found[0]


def _first(outcome: Outcome, response: Response, *, whole: bool) -> PlaceDifference | None:
    for name, place in PLACES.items():
        given = getattr(outcome, name)
        if given is None or (place.whole and not whole):
            continue
        sent, got = (place.compared(_plain(value)) for value in (place.sent(response), given))
        forms = [each for form in (sent, place.in_json(sent)) for each in (form, _modelled(place.shape, form))]
        if not any(equal(form, got, whole=True) for form in forms):
            why = f"{name} {_shown(got)}; it was {_shown(sent)}"
            return PlaceDifference(name, why, is_lost=_is_part(got, sent))
    return None


def refusal_of_kept(content: Iterable[Mapping[str, Any]], call: Call) -> Refusal | None:
    """Return how Bedrock would refuse the texts in `content` as a message of the next request; None if it would not.

    `call` is the call whose model the next request asks.
    """
    texts = [{"text": str(block["text"])} for block in content if "text" in block]
    asked = {"role": "user", "content": [{"text": "?"}]}
    body = {"messages": [asked, {"role": "assistant", "content": texts}, asked] if texts else [asked]}
    return refusal_of(RuleRequest(call.operation or "", call.model_id, body, call.stands_for))


def unshown(outcome: Outcome, calls: Iterable[Call], kinds: Iterable[str]) -> str | None:
    """Return the first kind in `kinds` of which the fake sent a block, but which no member of the outcome shows.

    Return None if there is no such kind.
    """
    sent = {name for response in _responses(calls) for block in _blocks(response) for name in block}
    for name in kinds:
        if name in sent and all(getattr(outcome, place) is None for place in SHOWN_BY.get(name, ())):
            return name
    return None


def _plain(value: Any) -> Any:
    """Copy a value with a dict for each mapping, a list for each tuple and bytes for each bytearray."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {name: _plain(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return bytes(value) if isinstance(value, bytearray) else value


def _modelled(shape_name: str | None, value: Any) -> Any:
    """Return the value as botocore would parse it: without members that AWS's API model does not have.

    `shape_name` is the name of the AWS shape of the value, or of the items of a list.
    """
    if shape_name is None or not bedrock.has_shape(shape_name):
        return value
    shape = bedrock.shape(shape_name)
    return [_known(shape, item) for item in value] if is_array(value) else _known(shape, value)


def _known(shape: Any, value: Any) -> Any:
    if is_object(value) and shape.type_name == "structure" and not bedrock.is_document(shape):
        return {name: _known(shape.members[name], member) for name, member in value.items() if name in shape.members}
    if is_object(value) and shape.type_name == "map":
        return {name: _known(shape.value, member) for name, member in value.items()}
    if is_array(value) and shape.type_name == "list":
        return [_known(shape.member, item) for item in value]
    return value


def _is_part(got: Any, sent: Any) -> bool:
    """Whether `got` is `sent`, or a part of it: fewer members, fewer items in the same order, or a piece of a text."""
    if is_object(got) and is_object(sent):
        return all(
            name in sent and (equal(sent[name], each, whole=True) or _is_part(each, sent[name]))
            for name, each in got.items()
        )
    if is_array(got) and is_array(sent):
        left = iter(sent)
        return all(any(equal(item, each, whole=True) or _is_part(each, item) for item in left) for each in got)
    return isinstance(got, str) and isinstance(sent, str) and got in sent


_MOST: Final = 80


def _shown(value: object) -> str:
    return cut(repr(value), _MOST)
