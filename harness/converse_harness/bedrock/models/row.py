"""The class Model: one row of the table of models, with everything that is known of these models, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from converse_harness.bedrock.models.answers import CacheCounters, ToolIdForm, ToolUseType

Ability = Literal["yes", "no", "disputed", "not known"]
"""Whether a model accepts something. "disputed": sources of about the same age contradict each other."""

Topic = Literal[
    "Converse",
    "CountTokens",
    "on demand",
    "system prompts",
    "prefill",
    "images",
    "images in results",
    "videos",
    "citations",
    "tools",
    "streamed tools",
    "toolChoice any",
    "toolChoice tool",
    "strict tools",
    "status of results",
    "textFormat",
    "temperature",
    "stopSequences",
    "reasoning",
    "reasoning sent back",
    "signatures",
    "thinking budget",
    "adaptive thinking",
    "disabled thinking",
    "cachePoint",
    "hourly cache",
    "optimized latency",
    "service tiers",
]
"""What a request may contain or use, and a model may accept or not."""

TOPICS: Final[Mapping[Topic, str]] = {
    "Converse": "the model can be called through Converse and ConverseStream",
    "CountTokens": "CountTokens counts for the model's id without a region",
    "on demand": "the model's id without a region can be called; otherwise only an inference profile",
    "system prompts": "`system`",
    "prefill": "a conversation that ends with a message of the assistant",
    "images": "images in messages and tool results",
    "images in results": "images in the results of tools",
    "videos": "videos",
    "citations": "documents with `citations`",
    "tools": "`toolConfig`",
    "streamed tools": "`toolConfig` in ConverseStream",
    "toolChoice any": "`toolChoice` with `any`",
    "toolChoice tool": "`toolChoice` with `tool`",
    "strict tools": "tools with `strict`",
    "status of results": "`status` in the result of a tool",
    "textFormat": "`outputConfig.textFormat`: an answer that follows a schema",
    "temperature": "`temperature` and `topP`",
    "stopSequences": "`stopSequences`",
    "reasoning": "a request for reasoning, in additional fields",
    "reasoning sent back": "reasoningContent in an earlier message",
    "signatures": "signatures in reasoningContent that is sent back",
    "thinking budget": "thinking with `type` enabled and `budget_tokens`",
    "adaptive thinking": "thinking with `type` adaptive",
    "disabled thinking": "thinking with `type` disabled",
    "cachePoint": "`cachePoint`",
    "hourly cache": "`cachePoint` with `ttl` 1h",
    "optimized latency": "`performanceConfig` with `latency` optimized",
    "service tiers": "`serviceTier`, which the answer repeats",
}
"""What each topic is about. Topics that a row does not contain are not known."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Whether models accept something, since when this is known, and who saw it.

    `as_of` is the month of the newest witness, "" if unknown. `seen` counts recorded acceptances, or names the source.
    """

    ability: Ability
    as_of: str = ""
    seen: str = ""

    def __str__(self) -> str:
        told = ", ".join(part for part in (self.seen, f"as of {self.as_of}" if self.as_of else "") if part)
        return f"{self.ability} ({told})" if told else self.ability


NOT_KNOWN: Final = Fact("not known")

yes: Final = partial(Fact, "yes")
"""Makes a Fact: the models accept something."""

no: Final = partial(Fact, "no")
"""Makes a Fact: the models refuse something."""

disputed: Final = partial(Fact, "disputed")
"""Makes a Fact: sources contradict each other."""

_ON_DEMAND: Final = yes("2026-09", "AWS's list of models")
_BY_PROFILE: Final = no("2026-09", "AWS's list of models")

Facts = Mapping[Topic, Fact]


@dataclass(frozen=True, slots=True)
class Caching:
    """How a model caches prompts.

    `minimum` is the smallest number of tokens that a cached prefix can have. For each cachePoint, the service also
    looks for shorter prefixes in the cache, which end at one of the last `look_back` blocks before the cachePoint.

    `forgets` is the part of the cache that becomes invalid if the toolChoice or the thinking settings change, or if the
    first image is added. `drops_thoughts`: the service does not send the reasoning of earlier turns to the model.
    `implicit`: the model also caches without a cachePoint, and the usage in its answers does not report this.
    """

    minimum: int
    look_back: int = 20
    forgets: Literal["messages", "everything"] = "messages"
    drops_thoughts: bool = False
    implicit: bool = False


InferenceType = Literal["ON_DEMAND", "INFERENCE_PROFILE"]
"""Which id a request must contain: the model's own id, or the id of an inference profile (for example with prefix
`us.`).
"""


class ListedModel(NamedTuple):
    """A model in AWS's list: its complete id, its name, and the kinds of id that requests may use (`inference`)."""

    id: str
    name: str
    inference: tuple[InferenceType, ...]


def on_demand(model_id: str, name: str) -> ListedModel:
    """Return the entry of a model that is called by its own id."""
    return ListedModel(model_id, name, ("ON_DEMAND",))


def by_profile(model_id: str, name: str) -> ListedModel:
    """Return the entry of a model that is called by the id of an inference profile."""
    return ListedModel(model_id, name, ("INFERENCE_PROFILE",))


def both_ways(model_id: str, name: str) -> ListedModel:
    """Return the entry of a model that is called by its own id or by that of an inference profile."""
    return ListedModel(model_id, name, ("ON_DEMAND", "INFERENCE_PROFILE"))


class ImageLimits(NamedTuple):
    """The largest images that models accept.

    `most_bytes` is the length of an image's base64 text. If a request has more than `many` images, no side of an image
    may have more than `small` pixels.
    """

    most_bytes: int
    many: int
    small: int


@dataclass(frozen=True, slots=True)
class AdditionalFields:
    """The members of `additionalModelRequestFields` that models know, and those that they were seen to refuse.

    `strict`: the models were seen to refuse unknown fields, so they also refuse those that only models of other makers
    know. Any other field is not judged.
    """

    known: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    strict: bool = False
    as_of: str = ""
    seen: str = ""


NO_FIELDS: Final = AdditionalFields()
NO_COUNTERS: Final = CacheCounters()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One row of the table MODELS.

    `ids` is a glob that matches the model's ids without the region prefix. `line` is the common prefix of the ids of
    related models, after the maker's name; `version` orders the models of one line. `since` is the day of the model's
    release on Bedrock, from AWS's page or from the model id; empty if unknown. `retired` is the day of the model's end
    of life. `facts` says what the model accepts, and `fields` which additional fields. `most_tokens` is the largest
    accepted `maxTokens`, 0 if unknown. `merges`: the model treats consecutive messages of one role as one message.
    `tools_tokens` is the number of tokens that the service adds to a request with tools, 0 if unknown. `tokens_ratio`
    compares the tokens of a text with those of the same text for Claude Haiku 4.5 and Sonnet 4.6; it is 1 if unknown.
    `caching` is None if the model caches nothing, or if this is not known, `image_limits` if they are not known.
    `tool_types`, `tool_ids` and `counters` are forms of its answers; `cut` is the name of the family that describes how
    its answers are cut into deltas. `listed` are the complete ids of these models in AWS's list.
    """

    ids: str
    name: str
    line: str
    version: tuple[int, ...] = (1,)
    since: str = ""
    retired: str = ""
    facts: Facts = field(default_factory=dict[Topic, Fact])
    fields: AdditionalFields = NO_FIELDS
    most_tokens: int = 0
    merges: bool = False
    tools_tokens: int = 0
    tokens_ratio: float = 1.0
    caching: Caching | None = None
    image_limits: ImageLimits | None = None
    tool_types: tuple[ToolUseType, ...] = ()
    tool_ids: ToolIdForm = "tooluse_"
    counters: CacheCounters = NO_COUNTERS
    cut: str = "neutral"
    listed: tuple[ListedModel, ...] = ()

    @property
    def maker(self) -> str:
        """The model's maker: the first part of its ids, such as "anthropic"."""
        return self.ids.partition(".")[0]

    @property
    def example(self) -> str:
        """The common prefix of the model's ids, which messages show as an example."""
        return self.ids.partition("*")[0]

    @property
    def converses(self) -> bool:
        """Whether the model can be called through Converse; True if this is not known."""
        return self.fact("Converse").ability != "no"

    def fact(self, topic: Topic) -> Fact:
        """Return what is known of the model about a topic.

        If `facts` does not say whether the model is called on demand, AWS's list says it.
        """
        if topic == "on demand" and topic not in self.facts and self.listed:
            return _ON_DEMAND if any("ON_DEMAND" in each.inference for each in self.listed) else _BY_PROFILE
        return self.facts.get(topic, NOT_KNOWN)


def joined(*facts: Facts) -> dict[Topic, Fact]:
    """Return the facts of several mappings in one; if two contain the same topic, the later one applies."""
    found: dict[Topic, Any] = {}
    for each in facts:
        found.update(each)
    return found
