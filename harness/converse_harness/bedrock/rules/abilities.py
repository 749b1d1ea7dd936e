"""Rules about the abilities of models (system prompts, parameters, signatures and so on) and about model ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from converse_harness import bedrock
from converse_harness.bedrock.models import bare
from converse_harness.bedrock.rules.asked import RuleRequest, RuleViolation, at, needs

_PROVIDERS: Final = (
    "ai21",
    "amazon",
    "anthropic",
    "cohere",
    "deepseek",
    "google",
    "luma",
    "meta",
    "minimax",
    "mistral",
    "moonshot",
    "moonshotai",
    "nvidia",
    "openai",
    "qwen",
    "stability",
    "twelvelabs",
    "writer",
    "xai",
    "zai",
)
_MODEL_ID: Final = re.compile(rf"(?:{'|'.join(_PROVIDERS)})\.[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?::[0-9]+k|:mm)?")
_OTHER_ARN: Final = re.compile(r"arn:aws[a-z-]*:(?:bedrock|sagemaker):[a-z0-9-]+:[0-9]{12}:\S+")


def ids_of_no_model(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model id is not an ARN, and no provider on Bedrock has models of this name."""
    if not _OTHER_ARN.fullmatch(asked.model_id) and not _MODEL_ID.fullmatch(bare(asked.model_id)):
        yield RuleViolation("modelId")


def ids_that_do_not_converse(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model does not support Converse, only other operations."""
    model = asked.model.model
    if model is not None and not model.converses:
        yield RuleViolation("modelId")


def ids_of_the_retired(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model has reached its end of life."""
    model = asked.model.model
    if model is not None and model.retired and not asked.model.inferred:
        yield RuleViolation("modelId")


def ids_of_no_profile(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model id has no inference profile prefix, such as `us.`."""
    if bare(asked.model_id) == asked.model_id:
        yield RuleViolation("modelId", {"model_id": asked.model_id})


@needs("inferenceConfig")
def too_many_tokens(asked: RuleRequest) -> Iterator[RuleViolation]:
    """`maxTokens` is larger than the model's limit."""
    model = asked.model.model
    if model is not None and model.most_tokens and asked.inference.get("maxTokens", 0) > model.most_tokens:
        yield RuleViolation("inferenceConfig.maxTokens", {"most": model.most_tokens})


def inference(name: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """An inference parameter is given, even if empty."""

    @needs("inferenceConfig")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if name in asked.inference:
            yield RuleViolation(f"inferenceConfig.{name}")

    return find


@needs("system")
def system_texts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """There is a system prompt."""
    if asked.body.get("system"):
        yield RuleViolation("system")


@needs("toolResult")
def statuses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The result of a tool has a status."""
    for n, m, result in asked.blocks("toolResult"):
        if "status" in result:
            yield RuleViolation(at(n, m, "toolResult.status"))


@needs("reasoningContent")
def signatures(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A reasoning block in the conversation has a signature."""
    for n, m, thought in asked.blocks("reasoningContent"):
        if "signature" in thought.get("reasoningText", {}):
            yield RuleViolation(at(n, m, "reasoningContent.reasoningText.signature"))


@needs("serviceTier")
def tiers_that_are_none(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The service tier is not one of AWS's model."""
    tier = (
        asked.body.get("serviceTier", {}).get("type") if bedrock.has_member("ConverseRequest", "serviceTier") else None
    )
    if isinstance(tier, str) and tier not in bedrock.shape("ServiceTierType").enum:
        yield RuleViolation("serviceTier.type")


@needs("inferenceConfig")
def blank_stop_sequences(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A stop sequence is whitespace."""
    for k, text in enumerate(asked.inference.get("stopSequences", ())):
        if not text.strip():
            yield RuleViolation(f"inferenceConfig.stopSequences[{k}]")
