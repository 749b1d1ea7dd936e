"""What models can be shown and told, and which model ids there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from converse_harness.bedrock.rules.conversation import at, shown
from converse_harness.bedrock.rules.rule import RuleRequest, RuleViolation, bare

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
    """The model id is no ARN, and no provider of Bedrock has models of such a name."""
    if not _OTHER_ARN.fullmatch(asked.model_id) and not _MODEL_ID.fullmatch(bare(asked.model_id)):
        yield RuleViolation("modelId")


_SPOKEN_TO: Final = ("amazon.nova-2-sonic*", "amazon.nova-2-5-sonic*")
"""Models that are spoken to over another operation."""

MOST_TOKENS: Final[Mapping[str, int]] = {
    "amazon.nova-pro-v1*": 10_000,
    "anthropic.claude-haiku-4-5*": 64_000,
    "openai.gpt-oss-20b*": 128_000,
}
"""The longest answer that a model may be asked for, of those of which it was tried."""


def ids_that_do_not_converse(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model is one for speech."""
    if _is_spoken_to(asked.model_id):
        yield RuleViolation("modelId")


@lru_cache(256)
def _is_spoken_to(model_id: str) -> bool:
    return any(fnmatchcase(bare(model_id), each) for each in _SPOKEN_TO)


def ids_of_no_profile(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The model id says nothing of where the model is to run."""
    if bare(asked.model_id) == asked.model_id:
        yield RuleViolation("modelId", {"model_id": asked.model_id})


def too_many_tokens(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The answer may be longer than the model makes it."""
    asked_for = asked.body.get("inferenceConfig", {}).get("maxTokens", 0)
    for model, most in MOST_TOKENS.items():
        if asked_for > most and fnmatchcase(bare(asked.model_id), model):
            yield RuleViolation("inferenceConfig.maxTokens", {"most": most})


def any_of(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """There is a block of a kind, in a message or in the result of a tool."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for path, _ in shown(asked, kind):
            yield RuleViolation(path)

    return find


def in_results(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """The result of a tool has a block of a kind."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, m, result in asked.blocks("toolResult"):
            for k, inner in enumerate(result.get("content", ())):
                if kind in inner:
                    yield RuleViolation(at(n, m, f"toolResult.content[{k}].{kind}"))

    return find


def inference(name: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """A parameter of the inference is given, and is not empty."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if asked.body.get("inferenceConfig", {}).get(name, []) != []:
            yield RuleViolation(f"inferenceConfig.{name}")

    return find


def system_texts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """There is a system prompt."""
    if asked.body.get("system"):
        yield RuleViolation("system")


def statuses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The result of a tool has a status."""
    for n, m, result in asked.blocks("toolResult"):
        if "status" in result:
            yield RuleViolation(at(n, m, "toolResult.status"))


def signatures(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A thought in the conversation has a signature."""
    for n, m, thought in asked.blocks("reasoningContent"):
        if "signature" in thought.get("reasoningText", {}):
            yield RuleViolation(at(n, m, "reasoningContent.reasoningText.signature"))


def images_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """An image is said to be in S3."""
    for path, image in shown(asked, "image"):
        if "s3Location" in image.get("source", {}):
            yield RuleViolation(f"{path}.source.s3Location")


def results_with_files_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The result of a tool has a document or a video that is in S3."""
    for n, m, result in asked.blocks("toolResult"):
        for k, inner in enumerate(result.get("content", ())):
            for kind in ("document", "video"):
                if "s3Location" in inner.get(kind, {}).get("source", {}):
                    yield RuleViolation(at(n, m, f"toolResult.content[{k}].{kind}.source.s3Location"), {"n": n, "m": m})


def documents_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message shows a document that is in S3."""
    for n, m, document in asked.blocks("document"):
        if "s3Location" in document.get("source", {}):
            yield RuleViolation(at(n, m, "document.source.s3Location"), {"n": n, "m": m})
