"""The list of models as AWS's own operation ListFoundationModels gives it, and the names of their providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.bedrock.models.row import ListedModel
from converse_harness.bedrock.models.table import MODELS

PROVIDERS: Final = {
    "amazon": "Amazon",
    "anthropic": "Anthropic",
    "deepseek": "DeepSeek",
    "google": "Google",
    "meta": "Meta",
    "minimax": "MiniMax",
    "mistral": "Mistral AI",
    "moonshot": "Moonshot AI",
    "moonshotai": "Moonshot AI",
    "nvidia": "NVIDIA",
    "openai": "OpenAI",
    "qwen": "Qwen",
    "writer": "Writer",
    "xai": "xAI",
    "zai": "Z.AI",
}
"""Maps the first part of a model id to the provider's name. Source: the same answers of AWS as for the model ids."""


def provider_of(model_id: str) -> str:
    """Return the provider's name for a model id without a region prefix.

    For an unknown provider, return the id's first part.

    >>> provider_of("mistral.devstral-2-123b"), provider_of("cohere.command-r-v1:0")
    ('Mistral AI', 'cohere')
    """
    maker = model_id.partition(".")[0]
    return PROVIDERS.get(maker, maker)


def listed_models() -> Iterator[ListedModel]:
    """Yield the listed models whose row in the table MODELS supports Converse and has no day of retirement."""
    for model in MODELS:
        if model.converses and not model.retired:
            yield from model.listed


def listed_model(model_id: str) -> ListedModel | None:
    """Return the listed model with this complete id, without a region prefix; None if it is not listed or is retired.

    >>> listed_model("amazon.nova-2-lite-v1:0").inference
    ('INFERENCE_PROFILE',)
    """
    return next((each for each in listed_models() if each.id == model_id), None)
