"""The table of Bedrock's models. The request rules, the chunking, the usage and the prompt cache read this table.

`standing` finds the row of a model id. If an id is not in the table but belongs to a known line of models, such as
Claude Opus, `standing` returns the row of the closest earlier model of this line. Messages about the id then mention
this. To all other unknown ids, only the rules for all models apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal, NamedTuple


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


_NOVA_CACHE: Final = Caching(1000, look_back=1, forgets="everything", implicit=True)


_TOOLS_TOKENS: Final = 346


@dataclass(frozen=True, slots=True)
class Model:
    """One row of the table MODELS.

    `ids` is a glob that matches the model's ids without the region prefix. `line` is the common prefix of the ids of
    related models, after the maker's name; `version` orders the models of one line. `since` is the day of the model's
    release on Bedrock, from AWS's page or from the model id; empty if unknown. `most_tokens` is the largest accepted
    `maxTokens`, 0 if unknown. `merges`: the model treats consecutive messages of one role as one message. `converses`:
    the model supports Converse. `counts`: CountTokens counts for the model's id without a region; None if unknown.
    `retired` is the day of the model's end of life. `cut` is the name of the family that describes how the model's
    answers are cut into deltas; if it is empty, the usual family of the maker applies.
    """

    ids: str
    name: str
    line: str
    version: tuple[int, ...] = (1,)
    since: str = ""
    caching: Caching | None = None
    most_tokens: int = 0
    merges: bool = False
    converses: bool = True
    counts: bool | None = None
    retired: str = ""
    cut: str = ""

    @property
    def maker(self) -> str:
        """The model's maker: the first part of its ids, such as "anthropic"."""
        return self.ids.partition(".")[0]

    @property
    def tools_tokens(self) -> int:
        """The number of tokens of the instructions that the service adds to a request with tools; 0 if unknown."""
        return _TOOLS_TOKENS if self.maker == "anthropic" or self.line == "nova" else 0

    @property
    def example(self) -> str:
        """The common prefix of the model's ids, which messages show as an example."""
        return self.ids.partition("*")[0]


def _claude(
    ids: str,
    name: str,
    version: tuple[int, ...],
    since: str,
    minimum: int = 0,
    most_tokens: int = 0,
    retired: str = "",
    counts: bool | None = None,
) -> Model:
    line = "claude-" + name.split()[0].lower() if version >= (4,) else "claude"
    drops_thoughts = version < (4, 5) or ids.startswith(("sonnet-4-5", "haiku-4-5"))
    return Model(
        f"anthropic.claude-{ids}",
        f"Claude {name}",
        line,
        version,
        since,
        Caching(minimum, drops_thoughts=drops_thoughts) if minimum else None,
        most_tokens,
        counts=counts,
        retired=retired,
        cut="claude-3" if version < (3, 5) else "claude",
    )


MODELS: Final = (
    _claude("instant*", "Instant", (1,), ""),
    _claude("v2*", "2", (2,), ""),
    _claude("3-haiku*", "3 Haiku", (3,), "2024-03-07"),
    _claude("3-sonnet*", "3 Sonnet", (3,), "2024-02-29"),
    _claude("3-opus*", "3 Opus", (3,), "2024-02-29"),
    _claude("3-5-sonnet-20240620*", "3.5 Sonnet", (3, 5), "2024-06-20", counts=True),
    _claude("3-5-sonnet*", "3.5 Sonnet v2", (3, 5), "2024-10-22", 1024, retired="2026-07-30", counts=True),
    _claude("3-5-haiku*", "3.5 Haiku", (3, 5), "2024-10-22", 2048, retired="2026-06-19", counts=True),
    _claude("3-7-sonnet*", "3.7 Sonnet", (3, 7), "2025-02-19", 1024, counts=True),
    _claude("opus-4-20250514*", "Opus 4", (4,), "2025-05-14", 1024, 32_768, retired="2026-05-31", counts=True),
    _claude("opus-4-1*", "Opus 4.1", (4, 1), "2025-08-05", 1024),
    _claude("opus-4-5*", "Opus 4.5", (4, 5), "2025-11-01", 4096, 64_000, counts=True),
    _claude("opus-4-6*", "Opus 4.6", (4, 6), "2026-02-05", 4096, 128_000, counts=True),
    _claude("opus-4-7*", "Opus 4.7", (4, 7), "2026-04-16", 4096, 128_000, counts=False),
    _claude("opus-4-8*", "Opus 4.8", (4, 8), "2026-05-28", 1024, 128_000, counts=False),
    _claude("opus-5-5*", "Opus 5.5", (5, 5), "", counts=False),
    _claude("opus-5*", "Opus 5", (5,), "2026-07-24", 512, counts=False),
    _claude("sonnet-4-20250514*", "Sonnet 4", (4,), "2025-05-23", 1024, counts=True),
    _claude("sonnet-4-5*", "Sonnet 4.5", (4, 5), "2025-09-30", 1024, 64_000, counts=True),
    _claude("sonnet-4-6*", "Sonnet 4.6", (4, 6), "", 1024, 128_000, counts=True),
    _claude("sonnet-5-5*", "Sonnet 5.5", (5, 5), "", 512),
    _claude("sonnet-5*", "Sonnet 5", (5,), "2026-06-30", 1024, counts=False),
    _claude("haiku-4-5*", "Haiku 4.5", (4, 5), "2025-10-16", 4096, 64_000, counts=True),
    _claude("haiku-5-5*", "Haiku 5.5", (5, 5), "", 0, 128_000),
    _claude("fable-5-1*", "Fable 5.1", (5, 1), "2026-09-01", 512),
    _claude("fable-5*", "Fable 5", (5,), "2026-06-09", 512, counts=False),
    _claude("mythos-5*", "Mythos 5", (5,), "", 512),
    _claude("mythos-preview*", "Mythos Preview", (4, 9), "", 4096),
    Model("amazon.nova-micro-v1*", "Nova Micro", "nova", (1,), "2024-12-04", _NOVA_CACHE, counts=False),
    Model("amazon.nova-lite-v1*", "Nova Lite", "nova", (1,), "2024-12-04", _NOVA_CACHE, counts=False),
    Model("amazon.nova-pro-v1*", "Nova Pro", "nova", (1,), "2024-12-04", _NOVA_CACHE, 10_000, counts=False),
    Model("amazon.nova-premier-v1*", "Nova Premier", "nova", (1,), "", _NOVA_CACHE, retired="2026-09-14", counts=False),
    Model("amazon.nova-sonic-v1*", "Nova Sonic", "nova-sonic", converses=False),
    Model("amazon.nova-canvas*", "Nova Canvas", "nova-canvas", converses=False),
    Model("amazon.nova-reel*", "Nova Reel", "nova-reel", converses=False),
    Model("amazon.nova-2-lite-v1*", "Nova 2 Lite", "nova", (2,), "2025-12-02", _NOVA_CACHE, counts=False),
    Model("amazon.nova-2-sonic*", "Nova 2 Sonic", "nova-2-sonic", (2,), converses=False),
    Model("amazon.nova-2-5-sonic*", "Nova 2.5 Sonic", "nova-2-5-sonic", (2, 5), converses=False),
    Model("amazon.titan-text*", "Titan Text", "titan-text", cut="titan"),
    Model("meta.llama3-8b*", "Llama 3 8B", "llama", (3,), merges=True),
    Model("meta.llama3-70b*", "Llama 3 70B", "llama", (3,), merges=True),
    Model("meta.llama3-1-405b*", "Llama 3.1 405B", "llama", (3, 1), merges=True, retired="2026-07-07"),
    Model("meta.llama3-1*", "Llama 3.1", "llama", (3, 1), merges=True),
    Model("meta.llama3-2-1b*", "Llama 3.2 1B", "llama", (3, 2), merges=True),
    Model("meta.llama3-2*", "Llama 3.2", "llama", (3, 2), merges=True, retired="2026-07-07"),
    Model("meta.llama3-3*", "Llama 3.3", "llama", (3, 3), merges=True),
    Model("meta.llama4-scout*", "Llama 4 Scout", "llama", (4,), merges=True),
    Model("meta.llama4-maverick*", "Llama 4 Maverick", "llama", (4,), merges=True),
    Model("mistral.mistral-7b*", "Mistral 7B", "mistral-7b", merges=True),
    Model("mistral.mixtral*", "Mixtral 8x7B", "mixtral", merges=True),
    Model("mistral.mistral-large-24*", "Mistral Large", "mistral-large", (2,), merges=True),
    Model("mistral.mistral-small*", "Mistral Small", "mistral-small", merges=True),
    Model("mistral.pixtral-large*", "Pixtral Large", "pixtral", merges=True),
    Model("mistral.mistral-large-3*", "Mistral Large 3", "mistral-large", (3,), "2025-12-02"),
    Model("mistral.ministral*", "Ministral 3", "ministral"),
    Model("mistral.magistral*", "Magistral", "magistral"),
    Model("mistral.devstral*", "Devstral 2", "devstral", (2,)),
    Model("mistral.voxtral*", "Voxtral", "voxtral"),
    Model("cohere.command-r-plus*", "Command R+", "command-r", retired="2026-08-19"),
    Model("cohere.command-r*", "Command R", "command-r"),
    Model("ai21.jamba-1-5*", "Jamba 1.5", "jamba", (1, 5), "2024-08-22"),
    Model("deepseek.r1*", "DeepSeek R1", "r"),
    Model("deepseek.v3.2*", "DeepSeek V3.2", "v", (3, 2), "2025-12-01"),
    Model("deepseek.v3*", "DeepSeek V3.1", "v", (3, 1)),
    Model("openai.gpt-oss-safeguard*", "gpt-oss-safeguard", "gpt-oss"),
    Model("openai.gpt-oss-20b*", "gpt-oss 20B", "gpt-oss", most_tokens=128_000),
    Model("openai.gpt-oss*", "gpt-oss 120B", "gpt-oss"),
    Model("openai.gpt-5.4*", "GPT 5.4", "gpt", (5, 4), "2026-06-01", converses=False),
    Model("openai.gpt-5.5*", "GPT 5.5", "gpt", (5, 5), "2026-06-01", converses=False),
    Model("openai.gpt-5.6*", "GPT 5.6", "gpt", (5, 6), "2026-07-13"),
    Model("openai.gpt-6*", "GPT 6", "gpt", (6,), "2026-09-08"),
    Model("qwen.qwen3-235b*", "Qwen3 235B", "qwen3-235b", (3,)),
    Model("qwen.qwen3-32b*", "Qwen3 32B", "qwen3-32b", (3,)),
    Model("qwen.qwen3-coder*", "Qwen3 Coder", "qwen3-coder", (3,)),
    Model("qwen.qwen3-vl*", "Qwen3 VL", "qwen3-vl", (3,)),
    Model("qwen.qwen3*", "Qwen3", "qwen", (3,)),
    Model("writer.palmyra-x4*", "Palmyra X4", "palmyra-x", (4,)),
    Model("writer.palmyra-x5*", "Palmyra X5", "palmyra-x", (5,)),
    Model("writer.palmyra-vision*", "Palmyra Vision", "palmyra-vision", since="2026-03-26"),
    Model("google.gemma-3*", "Gemma 3", "gemma", (3,)),
    Model("google.gemma-4*", "Gemma 4", "gemma", (4,), "2026-03-31", converses=False),
    Model("nvidia.nemotron-super-3*", "Nemotron 3 Super", "nemotron-super", (3,), "2026-03-11"),
    Model("nvidia.nemotron*", "Nemotron", "nemotron"),
    Model("moonshot.kimi-k2-thinking*", "Kimi K2 Thinking", "kimi-k", (2,)),
    Model("moonshotai.kimi-k2.5*", "Kimi K2.5", "kimi-k", (2, 5)),
    Model("moonshotai.kimi-k3*", "Kimi K3", "kimi-k", (3,), "2026-09-18"),
    Model("minimax.minimax-m2*", "MiniMax M2", "minimax-m", (2,)),
    Model("zai.glm-4.7*", "GLM 4.7", "glm", (4, 7)),
    Model("zai.glm-5*", "GLM 5", "glm", (5,), "2026-02-11"),
    Model("xai.grok-4*", "Grok 4", "grok", (4,), "2026-08-18"),
)
"""The known models; the first row whose glob matches an id applies.

Sources:

* In general: AWS's model cards, model lifecycle page and prompt caching page, as of autumn 2026.
* `caching`: an earlier version of the prompt caching page (Claude 3.5 Haiku, Opus 4, Opus 4.1 and Nova), and the model
  card (Nova 2 Lite). Some versions of the page list a minimum of 4,096 tokens for Sonnet 4.5; this is wrong, because
  cache writes of 1,322 tokens are recorded. docs/cache.md describes the other facts about caches.
* `tools_tokens`: Anthropic's page, for Claude 4 with toolChoice auto. For recorded requests with tools, the service
  counted more tokens than their texts have: 280 to 520 more for Claude, 350 to 560 for Nova, 860 for Nova 2 Lite.
* `most_tokens`: for Opus 4 a user's report (RooCodeInc/Roo-Code#3916, 2025-05-24); for Nova Pro, Haiku 4.5 and gpt-oss
  20B a trial in public source code (2026); for other Claude models the limit of Anthropic's own API
  (Effect-TS/effect#7129, 2026-08-07).
* `counts`: for Claude 3.5, 3.7, Opus 4 and Sonnet 4 the user guide's page about CountTokens, before May 2026, and
  recordings (Sonnet 4); for Sonnet 4.5 and Haiku 4.5 a probe (Boise-State-Development/agentcore-public-stack#430,
  2026-06-03); for Opus 4.5 and 4.6, Sonnet 4.6 and the Claude models that are refused the measurements in
  xiehust/strands-darwin (2026-08), PostHog/posthog (2026) and stdapi-ai/stdapi.ai (Opus 5.5, 2026-09); for Nova
  strands-agents/harness-sdk#2250 (2026-05). The same page, since May 2026, says that Claude models which launch with
  cross-region inference only are refused. It does not name them, so the other newer models have no value. Neither have
  Claude 3, Opus 4.1 and the models of other makers, which the older page does not list.
* `retired`: Claude 3, 3.5 Sonnet and 3.7, Sonnet 4, Llama 3.2 1B and Command R have no date here. They have reached
  their end of life, but only after public recordings with them were made.
"""


_CUT_AS: Final[Mapping[str, str]] = {
    "ai21": "ai21",
    "amazon": "nova",
    "anthropic": "claude",
    "cohere": "cohere",
    "meta": "llama",
    "mistral": "mistral",
    "openai": "gpt-oss",
}
"""Maps each maker to the name of the model family that describes how its models cut answers into deltas. For the models
of other makers, this family is "neutral"."""

_REGIONS: Final = frozenset({"apac", "au", "ca", "eu", "global", "in", "jp", "sa", "us", "us-gov"})
"""The id prefixes of cross-region inference profiles."""


def bare(model_id: str) -> str:
    """Remove, from a model id, the rest of its ARN and the region prefix of an inference profile.

    >>> bare("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0")
    'amazon.nova-lite-v1:0'
    """
    name = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
    region, _, rest = name.partition(".")
    return rest if region in _REGIONS else name


class Standing(NamedTuple):
    """What the table MODELS contains about a model id.

    `model` is the row that applies, or None. `id` is the model id that selects the request rules. If `inferred` is
    true, the row and this id belong to an older model of the same line.
    """

    id: str
    model: Model | None
    inferred: bool = False


@lru_cache(512)
def standing(model_id: str) -> Standing:
    """Find the row of the table MODELS for a model id, an inference profile id or an ARN.

    >>> standing("us.anthropic.claude-opus-4-8").model.name
    'Claude Opus 4.8'
    >>> later = standing("us.anthropic.claude-opus-9")
    >>> later.model.name, later.inferred
    ('Claude Opus 5.5', True)
    >>> standing("my-model").model is None
    True
    """
    name = bare(model_id)
    for model in MODELS:
        if fnmatchcase(name, model.ids):
            return Standing(name, model)
    known = _last_before(name)
    return Standing(name, None) if known is None else Standing(known.example, known, inferred=True)


_VERSION: Final = re.compile(r"(?:-?[a-z]+)*-?v?([0-9]{1,2})(?:[-.]([0-9]{1,2})(?![0-9a-z]))?(?![0-9a-z])")
"""Matches the version number in a model id, with the text between the prefix `Model.line` and this number. Sizes, such
as 70b, and dates do not count as versions."""


_OPEN: Final = frozenset({"claude"})
"""Lines that contain models with several names; for example, the line `claude` contains `claude-fable` and
`claude-opus`. For an id with an unknown name, `_last_before` searches the rows of all names.
"""


def _last_before(name: str) -> Model | None:
    """Return the row of the newest model that has the line of the model id `name` and at most its version.

    Return None if there is no such row, or if the id has no known line or no version.
    """
    maker, _, rest = name.partition(".")
    of_maker = [model for model in MODELS if model.maker == maker]
    line = max((model.line for model in of_maker if rest.startswith(model.line)), key=len, default="")
    found = _VERSION.match(rest.removeprefix(line)) if line else None
    if found is None:
        return None
    version = tuple(int(each) for each in found.groups() if each)
    lines = {model.line for model in of_maker if line in _OPEN and model.line.startswith(line)} | {line}
    before = [model for model in of_maker if model.line in lines and model.version <= version]
    return max(before, key=lambda model: model.version, default=None)


def stands_for(model_ids: Mapping[str, str], model_id: str) -> str:
    """Return the value of the first key of `model_ids` that, as a glob, matches `model_id`.

    If no key matches, return `model_id`.

    >>> stands_for({"arn:*": "anthropic.claude-sonnet-5"}, "arn:aws:bedrock:us-east-1:1:imported-model/x")
    'anthropic.claude-sonnet-5'
    """
    return next((model for glob, model in model_ids.items() if fnmatchcase(model_id, glob)), model_id)


@lru_cache(512)
def cut_as(model_id: str) -> str:
    """Return the name of the family that describes how a model's answers are cut into deltas.

    >>> cut_as("amazon.titan-text-lite-v1"), cut_as("my-model")
    ('titan', 'neutral')
    """
    known = standing(model_id)
    if known.model is not None and known.model.cut:
        return known.model.cut
    return _CUT_AS.get(bare(model_id).partition(".")[0], "neutral")


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
