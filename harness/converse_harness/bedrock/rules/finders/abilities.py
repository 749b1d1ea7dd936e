"""Rules about the abilities of models (system prompts, parameters, signatures and so on) and about model ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from converse_harness import bedrock
from converse_harness.bedrock.models import MODELS, Ability, bare
from converse_harness.bedrock.rules.request import RuleRequest, RuleViolation, needs
from converse_harness.json_values import member_of
from converse_harness.words import is_blank

_WITHOUT_ROWS: Final = ("luma", "stability", "twelvelabs")
"""Makers whose models have no row in the table, because they do not converse."""

_MAKERS: Final = "|".join(sorted({*_WITHOUT_ROWS, *(model.maker for model in MODELS)}))
_MODEL_ID: Final = re.compile(rf"(?:{_MAKERS})\.[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?::[0-9]+k|:mm)?")
_OTHER_ARN: Final = re.compile(r"arn:aws[a-z-]*:(?:bedrock|sagemaker):[a-z0-9-]+:[0-9]{12}:\S+")


def ids_of_no_model(asked: RuleRequest) -> bool:
    """Whether the requested model id is neither an ARN nor a well-formed id of a known provider."""
    return not _OTHER_ARN.fullmatch(asked.model_id) and not _MODEL_ID.fullmatch(bare(asked.model_id))


def ids_that_do_not_converse(asked: RuleRequest) -> bool:
    """Whether the model does not support Converse, only other operations, such as InvokeModel."""
    return asked.model.model is not None and not asked.model.model.converses


_PROFILE_ARN: Final = re.compile(r"arn:aws[a-z-]*:bedrock:\S*:(?:application-)?inference-profile/\S+")


def ids_that_do_not_count(asked: RuleRequest) -> bool:
    """Whether the model id is that of an inference profile, or of a model that is known not to count tokens."""
    return _counts(asked) == "no"


def ids_that_may_not_count(asked: RuleRequest) -> bool:
    """Whether it is not known if CountTokens counts for the model id."""
    return _counts(asked) == "not known"


def _counts(asked: RuleRequest) -> Ability:
    """Whether CountTokens counts for the model id; not known for a model that is newer than the table."""
    model_id = asked.model_id
    if _PROFILE_ARN.fullmatch(model_id) if model_id.startswith("arn:") else bare(model_id) != model_id:
        return "no"
    if asked.model.model is None or asked.model.inferred:
        return "not known"
    return asked.model.model.fact("CountTokens").ability


def ids_of_the_retired(asked: RuleRequest) -> bool:
    """Whether the model has reached its end of life."""
    return asked.model.model is not None and bool(asked.model.model.retired) and not asked.model.inferred


def ids_of_no_profile(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a model id without an inference profile prefix, such as `us.`."""
    if bare(asked.model_id) == asked.model_id:
        yield RuleViolation("modelId", {"model_id": asked.model_id})


@needs("inferenceConfig")
def too_many_tokens(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a `maxTokens` above the model's limit."""
    model = asked.model.model
    if model is not None and model.most_tokens and asked.inference.get("maxTokens", 0) > model.most_tokens:
        yield RuleViolation("inferenceConfig.maxTokens", {"most": model.most_tokens})


def tiers_that_are_none(asked: RuleRequest) -> bool:
    """Whether the request's service tier is not in the enum of AWS's API model."""
    if not bedrock.has_member("ConverseRequest", "serviceTier"):
        return False
    tier = member_of(asked.body, "serviceTier", "type")
    return isinstance(tier, str) and tier not in bedrock.shape("ServiceTierType").enum


@needs("inferenceConfig")
def samplings(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a temperature and a topP."""
    for name in ("temperature", "topP"):
        if name in asked.inference:
            yield RuleViolation(f"inferenceConfig.{name}", {"name": name})


@needs("inferenceConfig")
def blank_stop_sequences(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find stop sequences that are empty or only whitespace."""
    for k, text in enumerate(asked.inference.get("stopSequences", ())):
        if is_blank(text):
            yield RuleViolation(f"inferenceConfig.stopSequences[{k}]")
