"""The class Outcome, which an adapter returns, and the class ToolCall for the tool calls in an Outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

from converse_harness.errors import ReplyError


def _is(value: object, *types: type) -> bool:
    return isinstance(value, types)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the consumer runs or returns.

    `input` is a mapping if the consumer parsed the input, otherwise the text that the consumer received.

    For a tool without parameters, the received text may be empty. Then the consumer must use `{}` as the input: an
    empty text is not JSON, so the tool would fail.

    >>> ToolCall("get_weather", {"city": "Bern"})
    ToolCall(name='get_weather', input={'city': 'Bern'})
    """

    name: str
    input: Mapping[str, Any] | str

    def __post_init__(self) -> None:
        """Raise ReplyError if the name or the input has a wrong type."""
        if type(self.name) is not str:
            raise ReplyError(f"ToolCall(name={self.name!r}): the name of the tool, a text.")
        if not _is(self.input, Mapping, str):
            raise ReplyError(
                f"ToolCall({self.name!r}, input={self.input!r}): a mapping, or the text that came where the consumer "
                "leaves it unparsed."
            )


OPTIONAL: Final[Mapping[str, str]] = {
    "reasoning": 'the whole text of reasoning, "" if none came',
    "signatures": "the signature of each block of reasoning that has one, as texts",
    "redacted": "each block of redacted reasoning, as bytes",
    "citations": "each citation, as an AWS Citation",
    "images": "each image, as an AWS ImageBlock",
    "tool_results": "each result of a tool that the service ran, as an AWS ToolResultBlock",
    "usage": "AWS's TokenUsage, `{}` if none came",
    "trace": "AWS's ConverseTrace, `{}` if none came",
    "additional": "`additionalModelResponseFields`, `{}` if none came",
    "content": "all content blocks of the message as your code sends it back, as AWS writes them",
}
"""The members of an Outcome that are judged only if they are not None, with their meanings."""

_LIST: Final = (list, tuple, NoneType)
_MAPPING: Final = (Mapping, NoneType)

_MEMBERS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "text": ((str,), 'a text; "" where the consumer shows none'),
    "tool_calls": ((list, tuple), "a list of ToolCall(name, input)"),
    "stop_reason": ((str, NoneType), "a text; None where the consumer tells none"),
    "error": ((BaseException, str, NoneType), "an exception, or its name; None where none came"),
    "reasoning": ((str, NoneType), "a text; None where the consumer hands none out"),
    "signatures": (_LIST, "a list of texts; None where the consumer keeps none"),
    "redacted": (_LIST, "a list of bytes; None where the consumer keeps none"),
    "citations": (_LIST, "a list of AWS Citations; None where the consumer keeps none"),
    "images": (_LIST, "a list of AWS ImageBlocks; None where the consumer keeps none"),
    "tool_results": (_LIST, "a list of AWS ToolResultBlocks; None where the consumer keeps none"),
    "usage": (_MAPPING, "an AWS TokenUsage, {} where none came; None where the consumer keeps none"),
    "trace": (_MAPPING, "an AWS ConverseTrace, {} where none came; None where the consumer keeps none"),
    "additional": ((object,), "additionalModelResponseFields, {} where none came; None where the consumer keeps none"),
    "content": (_LIST, "the list of AWS ContentBlocks; None where the consumer keeps none"),
}
"""For each member of an Outcome: the allowed types, and a description of the allowed values."""

_ITEMS: Final[Mapping[str, tuple[type, str]]] = {
    "signatures": (str, "a text"),
    "redacted": (bytes, "bytes"),
    **dict.fromkeys(("citations", "images", "tool_results", "content"), (Mapping, "a mapping in the form of AWS")),
}
"""For each member of an Outcome that is a list, except `tool_calls`: the type of an item, and a description of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The consumer's result for an answer.

    `text` is all text that the consumer shows, even if an error follows. `tool_calls` are the calls that it runs, in
    order. `stop_reason` is the name that AWS or the consumer uses. `error` is the consumer's exception, or the name of
    the error if the consumer is written in another language.

    Each other member is compared unless it is None. None means that the consumer does not report this member; `[]`,
    `{}` or "" means that the consumer received no such value. `reasoning` is all text of reasoning. `signatures` and
    `redacted` are the signatures and the encrypted parts of the reasoning. `citations`, `images`, `tool_results` (of
    tools that the service ran), `usage`, `trace` and `additional` (additionalModelResponseFields) have the form of AWS.
    `content` is the list of all content blocks, as AWS writes them, of the message that the consumer sends back in the
    next request: a consumer that keeps the message reports all kinds of blocks with it. Blank texts may be left out,
    and must be where Bedrock refuses them. Raises ReplyError if a member has a wrong type.

    >>> Outcome("18 °C", stop_reason="end_turn", usage={"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}).error
    """

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    stop_reason: str | None = None
    error: BaseException | str | None = None
    reasoning: str | None = None
    signatures: Sequence[str] | None = None
    redacted: Sequence[bytes] | None = None
    citations: Sequence[Mapping[str, Any]] | None = None
    images: Sequence[Mapping[str, Any]] | None = None
    tool_results: Sequence[Mapping[str, Any]] | None = None
    usage: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    additional: Any = None
    content: Sequence[Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Raise ReplyError if a member has a wrong type, or if `error` is an empty text."""
        for name, (allowed, expected) in _MEMBERS.items():
            if not isinstance(value := getattr(self, name), allowed):
                raise ReplyError(f"Outcome({name}={value!r}): {expected}.")
        for number, call in enumerate(self.tool_calls):
            if not _is(call, ToolCall):
                raise ReplyError(f"Outcome(tool_calls=...): number {number} is {call!r}; a ToolCall(name, input).")
        for name, (kind, expected) in _ITEMS.items():
            for number, item in enumerate(getattr(self, name) or ()):
                if not isinstance(item, kind):
                    raise ReplyError(f"Outcome({name}=...): number {number} is {item!r}; {expected}.")
        if self.error == "":
            raise ReplyError('Outcome(error=""): the name of the error; None where none came.')
