"""The list of models as AWS's own operation ListFoundationModels gives it, and the names of their providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from converse_harness.bedrock.models.table import standing

InferenceType = Literal["ON_DEMAND", "INFERENCE_PROFILE"]
"""Which id a request must contain: the model's own id, or the id of an inference profile (for example with prefix
`us.`).
"""


class ListedModel(NamedTuple):
    """A model in AWS's list: its complete id, its name, and the kinds of id that requests may use (`inference`)."""

    id: str
    name: str
    inference: tuple[InferenceType, ...]

    @property
    def provider(self) -> str:
        """The name of the model's provider, such as "Mistral AI"."""
        return provider_of(self.id)


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
    for each in _LISTED:
        row = standing(each.id).model
        if row is not None and row.converses and not row.retired:
            yield each


def listed_model(model_id: str) -> ListedModel | None:
    """Return the listed model with this complete id, without a region prefix; None if it is not listed or is retired.

    >>> listed_model("amazon.nova-2-lite-v1:0").inference
    ('INFERENCE_PROFILE',)
    """
    return next((each for each in listed_models() if each.id == model_id), None)


_BOTH: Final = ("ON_DEMAND", "INFERENCE_PROFILE")


def _by_id(model_id: str, name: str) -> ListedModel:
    return ListedModel(model_id, name, ("ON_DEMAND",))


def _by_profile(model_id: str, name: str) -> ListedModel:
    return ListedModel(model_id, name, ("INFERENCE_PROFILE",))


_LISTED: Final = (
    _by_profile("amazon.nova-2-lite-v1:0", "Nova 2 Lite"),
    ListedModel("amazon.nova-lite-v1:0", "Nova Lite", _BOTH),
    ListedModel("amazon.nova-micro-v1:0", "Nova Micro", _BOTH),
    ListedModel("amazon.nova-pro-v1:0", "Nova Pro", _BOTH),
    _by_profile("anthropic.claude-fable-5", "Claude Fable 5"),
    _by_profile("anthropic.claude-fable-5-1", "Claude Fable 5.1"),
    _by_profile("anthropic.claude-haiku-4-5-20251001-v1:0", "Claude Haiku 4.5"),
    _by_profile("anthropic.claude-opus-4-5-20251101-v1:0", "Claude Opus 4.5"),
    _by_profile("anthropic.claude-opus-4-6-v1", "Claude Opus 4.6"),
    _by_profile("anthropic.claude-opus-4-7", "Claude Opus 4.7"),
    _by_profile("anthropic.claude-opus-4-8", "Claude Opus 4.8"),
    _by_profile("anthropic.claude-opus-5", "Claude Opus 5"),
    _by_profile("anthropic.claude-opus-5-5", "Claude Opus 5.5"),
    _by_profile("anthropic.claude-sonnet-4-5-20250929-v1:0", "Claude Sonnet 4.5"),
    _by_profile("anthropic.claude-sonnet-4-6", "Claude Sonnet 4.6"),
    _by_profile("anthropic.claude-sonnet-5", "Claude Sonnet 5"),
    _by_id("deepseek.v3.2", "DeepSeek V3.2"),
    _by_profile("deepseek.r1-v1:0", "DeepSeek-R1"),
    _by_id("google.gemma-3-12b-it", "Gemma 3 12B IT"),
    _by_id("google.gemma-3-27b-it", "Gemma 3 27B PT"),
    _by_id("google.gemma-3-4b-it", "Gemma 3 4B IT"),
    _by_id("meta.llama3-70b-instruct-v1:0", "Llama 3 70B Instruct"),
    _by_id("meta.llama3-8b-instruct-v1:0", "Llama 3 8B Instruct"),
    _by_profile("meta.llama3-1-70b-instruct-v1:0", "Llama 3.1 70B Instruct"),
    _by_profile("meta.llama3-1-8b-instruct-v1:0", "Llama 3.1 8B Instruct"),
    _by_profile("meta.llama3-3-70b-instruct-v1:0", "Llama 3.3 70B Instruct"),
    _by_profile("meta.llama4-maverick-17b-instruct-v1:0", "Llama 4 Maverick 17B Instruct"),
    _by_profile("meta.llama4-scout-17b-instruct-v1:0", "Llama 4 Scout 17B Instruct"),
    _by_id("minimax.minimax-m2", "MiniMax M2"),
    _by_id("minimax.minimax-m2.1", "MiniMax M2.1"),
    _by_id("minimax.minimax-m2.5", "MiniMax M2.5"),
    _by_id("mistral.devstral-2-123b", "Devstral 2 123B"),
    _by_id("mistral.magistral-small-2509", "Magistral Small 2509"),
    _by_id("mistral.ministral-3-14b-instruct", "Ministral 14B 3.0"),
    _by_id("mistral.ministral-3-8b-instruct", "Ministral 3 8B"),
    _by_id("mistral.ministral-3-3b-instruct", "Ministral 3B"),
    _by_id("mistral.mistral-7b-instruct-v0:2", "Mistral 7B Instruct"),
    _by_id("mistral.mistral-large-2402-v1:0", "Mistral Large (24.02)"),
    _by_id("mistral.mistral-large-3-675b-instruct", "Mistral Large 3"),
    _by_id("mistral.mistral-small-2402-v1:0", "Mistral Small (24.02)"),
    _by_id("mistral.mixtral-8x7b-instruct-v0:1", "Mixtral 8x7B Instruct"),
    _by_profile("mistral.pixtral-large-2502-v1:0", "Pixtral Large (25.02)"),
    _by_id("moonshot.kimi-k2-thinking", "Kimi K2 Thinking"),
    _by_id("moonshotai.kimi-k2.5", "Kimi K2.5"),
    _by_profile("moonshotai.kimi-k3", "Kimi K3"),
    _by_id("nvidia.nemotron-super-3-120b", "NVIDIA Nemotron 3 Super 120B A12B"),
    _by_id("nvidia.nemotron-nano-12b-v2", "NVIDIA Nemotron Nano 12B v2 VL BF16"),
    _by_id("nvidia.nemotron-nano-9b-v2", "NVIDIA Nemotron Nano 9B v2"),
    _by_id("nvidia.nemotron-nano-3-30b", "Nemotron Nano 3 30B"),
    _by_profile("openai.gpt-5.6-luna", "GPT-5.6 Luna"),
    _by_profile("openai.gpt-5.6-sol", "GPT-5.6 Sol"),
    _by_profile("openai.gpt-5.6-terra", "GPT-5.6 Terra"),
    _by_profile("openai.gpt-6-astra", "GPT-6 Astra"),
    _by_profile("openai.gpt-6-luna", "GPT-6 Luna"),
    _by_profile("openai.gpt-6-sol", "GPT-6 Sol"),
    _by_id("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
    _by_id("openai.gpt-oss-20b-1:0", "gpt-oss-20b"),
    _by_id("qwen.qwen3-32b-v1:0", "Qwen3 32B (dense)"),
    _by_id("qwen.qwen3-coder-next", "Qwen3 Coder Next"),
    _by_id("qwen.qwen3-next-80b-a3b", "Qwen3 Next 80B A3B"),
    _by_id("qwen.qwen3-vl-235b-a22b", "Qwen3 VL 235B A22B"),
    _by_id("qwen.qwen3-coder-30b-a3b-v1:0", "Qwen3-Coder-30B-A3B-Instruct"),
    _by_profile("writer.palmyra-x4-v1:0", "Palmyra X4"),
    _by_profile("writer.palmyra-x5-v1:0", "Palmyra X5"),
    _by_id("writer.palmyra-vision-7b", "Writer Palmyra Vision 7B"),
    _by_profile("xai.grok-4.6", "Grok 4.6"),
    _by_id("zai.glm-4.7", "GLM 4.7"),
    _by_id("zai.glm-4.7-flash", "GLM 4.7 Flash"),
    _by_id("zai.glm-5", "GLM 5"),
)
