"""The class Fit: what an answer with some part needs in its request, for which models, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from converse_harness.bedrock.request_items import RequestItems
from converse_harness.bedrock.rules.request import RuleRequest
from converse_harness.bedrock.rules.rule import ALL_MODELS, Models, Witness
from converse_harness.json_values import object_of, objects_of

FREE_STOPS: Final = (
    "max_tokens",
    "guardrail_intervened",
    "content_filtered",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
)
"""The stop reasons of answers that may have ended before they were whole, or from which a part was removed."""

SERVER_TOOL: Final = "server_tool_use"
"""The type of a tool use that the service has run."""


class Answer:
    """An answer of a model: its content blocks, its stop reason, and the other members of a ConverseResponse.

    `members` has only the members that are known. For a scripted answer, these are the members that the script gives.
    `parts` are the kinds of the blocks, the names of the members, and the stop reason with "stop " before it; they
    decide what is looked for. `tokens` is an estimate of the number of tokens, 0 if there is none.

    >>> Answer.of({"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"}).text
    'hi'
    """

    def __init__(
        self,
        content: Sequence[Mapping[str, Any]],
        stop_reason: str,
        members: Mapping[str, Any] | None = None,
        tokens: int = 0,
    ) -> None:
        self.content = content
        self.tokens = tokens
        self.stop_reason = stop_reason
        self.members: Mapping[str, Any] = members or {}
        parts = {f"stop {stop_reason}"}
        for block in content:
            parts.update(block)
        parts.update(self.members)
        self.parts = frozenset(parts)

    @classmethod
    def of(cls, response: Mapping[str, Any]) -> Answer:
        """Make the answer of a response in the form of Converse."""
        members = {name: value for name, value in response.items() if value is not None}
        message = object_of(object_of(members.pop("output", None)).get("message"))
        return cls(objects_of(message.get("content")), str(members.pop("stopReason", "")), members)

    @cached_property
    def tool_uses(self) -> Sequence[Mapping[str, Any]]:
        """The uses of tools that the client runs."""
        uses = [object_of(block["toolUse"]) for block in self.content if "toolUse" in block]
        return [use for use in uses if use.get("type") != SERVER_TOOL]

    @cached_property
    def text(self) -> str:
        """The text of all text blocks and of all texts with citations, joined."""
        texts: list[str] = []
        for block in self.content:
            inner = objects_of(object_of(block.get("citationsContent")).get("content"))
            texts += [each["text"] for each in (block, *inner) if isinstance(each.get("text"), str)]
        return "".join(texts)

    @cached_property
    def usage(self) -> Mapping[str, Any]:
        """The usage; empty if it is not known."""
        return object_of(self.members.get("usage"))

    @cached_property
    def guardrail_trace(self) -> Mapping[str, Any] | None:
        """The trace of a guardrail; None if there is none."""
        trace = object_of(self.members.get("trace")).get("guardrail")
        return None if trace is None else object_of(trace)

    @cached_property
    def assessments(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The assessments in the guardrail's trace, of the input and of the output, each with the guardrail's id."""
        trace = self.guardrail_trace or {}
        found = [*object_of(trace.get("inputAssessment")).items()]
        for name, several in object_of(trace.get("outputAssessments")).items():
            found += [(name, each) for each in objects_of(several)]
        return [(name, object_of(each)) for name, each in found]


Found = Iterator[tuple[str, Mapping[str, object]]]
"""The misfits of an answer and its request: the name of the row, and the values of its text."""

FitFinder = Callable[[RuleRequest, Answer], Found]
"""A function that yields each misfit for several rows. Rows that do not apply to the model are left out later."""

Likelihood = Literal["never", "seldom"]
"""How often Bedrock gives an answer that does not fit; `LIKELIHOODS` describes each value."""

LIKELIHOODS: Final[Mapping[Likelihood, str]] = {
    "never": "Bedrock gives no such answer: a note, and a failure at the level strict",
    "seldom": "it may happen in life, or is not known: a note at every level",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """A row of the table FITS: an answer that `has` something `needs` something in its request.

    `text` is a message for an answer that does not fit; the values that a FitFinder yields replace its placeholders.
    Only an answer or a request with one of `parts` can have a misfit: a part of `Answer.parts` or of
    `parts_of_request`. `member` is the path of the needed member in the request, or "" if there is no single one.
    `witnesses` are the sources, and `exceptions` are recorded answers that do not fit. A row applies to `models`.
    """

    name: str
    has: str
    needs: str
    text: str
    parts: tuple[str, ...]
    witnesses: tuple[Witness, ...]
    likelihood: Likelihood
    member: str = ""
    models: Models = ALL_MODELS
    exceptions: tuple[Witness, ...] = ()

    @property
    def source(self) -> str:
        """The evidence of the row in one line."""
        against = f"; but {', '.join(map(str, self.exceptions))}" if self.exceptions else ""
        return f"{', '.join(map(str, self.witnesses))}{against}"


class Misfit(NamedTuple):
    """An answer that does not fit its request: the row, and the text about it, which continues "was answered with"."""

    fit: Fit
    text: str


def parts_of_request(items: RequestItems, tokens: int) -> tuple[str, ...]:
    """Return the parts that every answer must fit, as far as a request has them: "forced tool", "text format" and
    "stop sequences". "prefill" is a text with which the answer begins. "fewer tokens" is a limit that is smaller than
    `tokens`, those of the answer.
    """
    found: tuple[str, ...] = ()
    for name, item in items.members.items():
        known = _PARTS.get(name)
        if known is not None and item.once(known[1]):
            found += (known[0],)
    last = items.messages[-1] if items.messages else None
    # The role is looked at here, because nearly all last messages are the user's and new.
    if last is not None and last.value.get("role") == "assistant" and last.once(prefill_of):
        found += ("prefill",)
    config = items.members.get("inferenceConfig")
    if tokens > (USUAL_LIMIT if config is None else config.once(_limit)):
        found += ("fewer tokens",)
    return found


def prefill_of(message: object) -> str:
    """Return the text of a request's last message if it is the assistant's, so that the answer continues it; or ""."""
    known = object_of(message)
    if known.get("role") != "assistant":
        return ""
    return "".join(str(block["text"]) for block in objects_of(known.get("content")) if "text" in block).strip()


def ids_in(message: object) -> frozenset[str]:
    """Return the toolUseIds in a message."""
    uses = (object_of(block.get(kind)) for block in objects_of(object_of(message).get("content")) for kind in _TOOLS)
    return frozenset(str(use["toolUseId"]) for use in uses if "toolUseId" in use)


_TOOLS: Final = ("toolUse", "toolResult")

USUAL_LIMIT: Final = 4096
"""The number of tokens to which Bedrock limits an answer of Claude if the request has no `maxTokens`, as reported
(langchain-ai/openwiki#722, 2026-08)."""


def _limit(config: object) -> int:
    most = object_of(config).get("maxTokens")
    return most if isinstance(most, int) else USUAL_LIMIT


_SOURCES: Final = frozenset({"document", "searchResult", "guardContent", "cachePoint", "toolResult"})
"""The kinds of blocks in messages that an answer may need."""


def needed_of(asked: RuleRequest) -> RuleRequest:
    """Return a request without the messages that no answer needs, to be kept while many others are."""
    items = asked.items_of_body
    messages = [each for each in items.messages if each.once(_has_sources)]
    messages += [each for each in items.messages[-1:] if each.once(prefill_of) and each not in messages]
    body = {name: each.value for name, each in items.members.items()}
    less = RequestItems(messages, items.members, {**body, "messages": [each.value for each in messages]})
    return RuleRequest(asked.operation, asked.model_id, less.body, asked.stands_for, less)


def _has_sources(message: object) -> bool:
    content = objects_of(object_of(message).get("content"))
    return any(not _SOURCES.isdisjoint(block) for block in content)


def _is_forced(config: object) -> bool:
    return not {"any", "tool"}.isdisjoint(object_of(object_of(config).get("toolChoice")))


def _has_format(config: object) -> bool:
    return "textFormat" in object_of(config)


def _has_own_format(fields: object) -> bool:
    return "format" in object_of(object_of(fields).get("output_config"))


def _has_stops(config: object) -> bool:
    return bool(object_of(config).get("stopSequences"))


_PARTS: Final[Mapping[str, tuple[str, Callable[[object], bool]]]] = {
    "toolConfig": ("forced tool", _is_forced),
    "outputConfig": ("text format", _has_format),
    "additionalModelRequestFields": ("text format", _has_own_format),
    "inferenceConfig": ("stop sequences", _has_stops),
}
