"""The rows of the models of other makers than Anthropic and Amazon.

Sources, beside those that a fact names: a public repository with the answers of some 70 models to test requests
(2026-10-10), and facts in the source code of several clients (2026-11). `most_tokens` of gpt-oss 20B: a trial in public
source code (2026). `tool_ids`: recorded of GPT 5.6 (2026-08) and Kimi K2 Thinking (2026-07), in repositories of
vercel/ai.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from converse_harness.bedrock.models.answers import COUNTERS, CacheCounters, OtherForm
from converse_harness.bedrock.models.row import (
    AdditionalFields,
    Facts,
    Model,
    by_profile,
    disputed,
    joined,
    no,
    on_demand,
    yes,
)

_PROBED: Final = "a probe of some 70 models"

_CONVERSES: Final[Facts] = {"Converse": yes("2026-10", _PROBED)}
_NO_CONVERSE: Final[Facts] = {"Converse": no("2026-10", "AWS's model cards")}
_TEXT_ONLY: Final[Facts] = {"images": no("2026-10", _PROBED)}
_NOT_ON_DEMAND: Final[Facts] = {"on demand": no("2025-10", "recorded, neilberkman/req_llm")}
_UNSIGNED: Final[Facts] = {"signatures": no("2026-11", "several clients")}
_CACHES_NOTHING: Final[Facts] = {"cachePoint": no("2026-09", "reported")}
_CITES_NOTHING: Final[Facts] = {"citations": no("2026-10", "pydantic-ai's profile")}
_THINKS: Final[Facts] = {"reasoning": yes("2026-08", "without being asked")}
_NO_IMAGES_IN_RESULTS: Final[Facts] = {"images in results": no("2026-09", "anomalyco/opencode#49443")}
_FORMATS: Final[Facts] = {"textFormat": yes("2026-08", "recorded")}

_LLAMA: Final[Facts] = joined(
    _CONVERSES,
    _CACHES_NOTHING,
    _CITES_NOTHING,
    {
        "streamed tools": no("2026-08", "Llama 3.3"),
        "toolChoice any": no("2025-11"),
        "toolChoice tool": no("2026-11", "several clients"),
        "temperature": yes("2026-08"),
    },
)
_LLAMA_3: Final[Facts] = joined(_LLAMA, {"prefill": no("2025-04", "Llama 3 8B")})
_FIRST_LLAMA_3: Final[Facts] = joined(_LLAMA_3, {"tools": no("2026-11", "several clients")})

_llama: Final = partial(Model, line="llama", merges=True, cut="llama")

_OLD_MISTRAL: Final[Facts] = joined(_CONVERSES, {"streamed tools": no("2026-10", _PROBED)})

_mistral: Final = partial(Model, cut="mistral")

_DEEPSEEK: Final[Facts] = joined(_CONVERSES, _CACHES_NOTHING, _CITES_NOTHING)
_TOLD: Final = disputed("2026-11", "said to be refused, in words that nobody quotes")
_COHERE: Final[Facts] = joined(_CONVERSES, {"toolChoice any": _TOLD, "toolChoice tool": _TOLD})
_GPT_OSS: Final[Facts] = joined(
    _CONVERSES, _TEXT_ONLY, _UNSIGNED, _THINKS, {"stopSequences": no("2025-12", "reported"), "tools": yes("2026-08")}
)
_OSS_FIELDS: Final = AdditionalFields(("reasoning_effort",), as_of="2026-08", seen="reasoning_effort 2 times")
_GPT: Final[Facts] = joined(
    _NO_IMAGES_IN_RESULTS,
    _THINKS,
    {
        "Converse": yes("2026-09", "recorded"),
        "temperature": no("2026-11", "pydantic-ai's profile"),
        "stopSequences": no("2026-09", "recorded, vercel/ai"),
        "tools": yes("2026-09"),
        "streamed tools": yes("2026-09"),
        "toolChoice any": yes("2026-09", "5"),
    },
)
_GPT_FIELDS: Final = AdditionalFields(
    ("reasoning",),
    ("reasoningConfig", "reasoning_effort", "thinking"),
    strict=True,
    as_of="2026-09",
    seen="reasoning.effort once, and anomalyco/opencode#48195; the others are recorded refusals",
)
_QWEN: Final[Facts] = joined(_CONVERSES, _CACHES_NOTHING)
_PALMYRA: Final[Facts] = joined(_CONVERSES, {"status of results": no("2026-11", "pydantic-ai's profile")})
_NEMOTRON: Final[Facts] = joined(_CONVERSES, _CACHES_NOTHING, {"textFormat": yes("2026-08", "Nemotron Nano 12B, 2")})
_KIMI: Final[Facts] = joined(_CONVERSES, _UNSIGNED)
_KIMI_K2: Final[Facts] = joined(_KIMI, _CACHES_NOTHING)
_GLM: Final[Facts] = joined(_CONVERSES, _TEXT_ONLY, _UNSIGNED)

_gpt_oss: Final = partial(Model, line="gpt-oss", cut="gpt-oss", fields=_OSS_FIELDS, facts=_GPT_OSS)
_gpt: Final = partial(Model, line="gpt", cut="gpt-oss")

OTHER_MAKERS: Final = (
    _llama(
        ids="meta.llama3-8b*",
        name="Llama 3 8B",
        version=(3,),
        facts=_FIRST_LLAMA_3,
        listed=(on_demand("meta.llama3-8b-instruct-v1:0", "Llama 3 8B Instruct"),),
    ),
    _llama(
        ids="meta.llama3-70b*",
        name="Llama 3 70B",
        version=(3,),
        facts=_FIRST_LLAMA_3,
        listed=(on_demand("meta.llama3-70b-instruct-v1:0", "Llama 3 70B Instruct"),),
    ),
    _llama(ids="meta.llama3-1-405b*", name="Llama 3.1 405B", version=(3, 1), retired="2026-07-07", facts=_LLAMA_3),
    _llama(
        ids="meta.llama3-1*",
        name="Llama 3.1",
        version=(3, 1),
        facts=joined(_LLAMA_3, {"optimized latency": yes("2026-11", "the user guide, of 70B")}),
        listed=(
            by_profile("meta.llama3-1-70b-instruct-v1:0", "Llama 3.1 70B Instruct"),
            by_profile("meta.llama3-1-8b-instruct-v1:0", "Llama 3.1 8B Instruct"),
        ),
    ),
    _llama(
        ids="meta.llama3-2-1b*",
        name="Llama 3.2 1B",
        version=(3, 2),
        facts=joined(_LLAMA_3, {"on demand": disputed("2025-10", "taken once, later refused in us-east-1")}),
    ),
    _llama(
        ids="meta.llama3-2-3b*",
        name="Llama 3.2 3B",
        version=(3, 2),
        retired="2026-07-07",
        facts=joined(_LLAMA_3, _NOT_ON_DEMAND, {"tools": no("2025-10", "recorded, neilberkman/req_llm")}),
    ),
    _llama(
        ids="meta.llama3-2*",
        name="Llama 3.2",
        version=(3, 2),
        retired="2026-07-07",
        facts=joined(_LLAMA_3, _NOT_ON_DEMAND),
    ),
    _llama(
        ids="meta.llama3-3*",
        name="Llama 3.3",
        version=(3, 3),
        facts=joined(_LLAMA_3, {"images": no("2026-10", _PROBED)}),
        listed=(by_profile("meta.llama3-3-70b-instruct-v1:0", "Llama 3.3 70B Instruct"),),
    ),
    _llama(
        ids="meta.llama4-scout*",
        name="Llama 4 Scout",
        version=(4,),
        facts=_LLAMA,
        listed=(by_profile("meta.llama4-scout-17b-instruct-v1:0", "Llama 4 Scout 17B Instruct"),),
    ),
    _llama(
        ids="meta.llama4-maverick*",
        name="Llama 4 Maverick",
        version=(4,),
        facts=joined(_LLAMA, {"images in results": yes("2025-12", "once")}),
        listed=(by_profile("meta.llama4-maverick-17b-instruct-v1:0", "Llama 4 Maverick 17B Instruct"),),
    ),
    _mistral(
        ids="mistral.mistral-7b*",
        name="Mistral 7B",
        line="mistral-7b",
        merges=True,
        facts=joined(_OLD_MISTRAL, {"system prompts": no("2026-10", "several clients")}),
        listed=(on_demand("mistral.mistral-7b-instruct-v0:2", "Mistral 7B Instruct"),),
    ),
    _mistral(
        ids="mistral.mixtral*",
        name="Mixtral 8x7B",
        line="mixtral",
        merges=True,
        facts=joined(_OLD_MISTRAL, {"system prompts": no("2026-10", "several clients")}),
        listed=(on_demand("mistral.mixtral-8x7b-instruct-v0:1", "Mixtral 8x7B Instruct"),),
    ),
    _mistral(
        ids="mistral.mistral-large-24*",
        name="Mistral Large",
        line="mistral-large",
        version=(2,),
        merges=True,
        facts=joined(_OLD_MISTRAL, {"toolChoice tool": no("2026-11", "several clients: Mistral Large 2402")}),
        listed=(on_demand("mistral.mistral-large-2402-v1:0", "Mistral Large (24.02)"),),
    ),
    _mistral(
        ids="mistral.mistral-small*",
        name="Mistral Small",
        line="mistral-small",
        merges=True,
        facts=_CONVERSES,
        listed=(on_demand("mistral.mistral-small-2402-v1:0", "Mistral Small (24.02)"),),
    ),
    _mistral(
        ids="mistral.pixtral-large*",
        name="Pixtral Large",
        line="pixtral",
        merges=True,
        facts=joined(_OLD_MISTRAL, _CITES_NOTHING, _NO_IMAGES_IN_RESULTS),
        listed=(by_profile("mistral.pixtral-large-2502-v1:0", "Pixtral Large (25.02)"),),
    ),
    _mistral(
        ids="mistral.mistral-large-3*",
        name="Mistral Large 3",
        line="mistral-large",
        version=(3,),
        since="2025-12-02",
        facts=joined(_CONVERSES, _NO_IMAGES_IN_RESULTS, _FORMATS),
        listed=(on_demand("mistral.mistral-large-3-675b-instruct", "Mistral Large 3"),),
    ),
    _mistral(
        ids="mistral.ministral*",
        name="Ministral 3",
        line="ministral",
        facts=_CONVERSES,
        listed=(
            on_demand("mistral.ministral-3-14b-instruct", "Ministral 14B 3.0"),
            on_demand("mistral.ministral-3-8b-instruct", "Ministral 3 8B"),
            on_demand("mistral.ministral-3-3b-instruct", "Ministral 3B"),
        ),
    ),
    _mistral(
        ids="mistral.magistral*",
        name="Magistral",
        line="magistral",
        facts=_CONVERSES,
        listed=(on_demand("mistral.magistral-small-2509", "Magistral Small 2509"),),
    ),
    _mistral(
        ids="mistral.devstral*",
        name="Devstral 2",
        line="devstral",
        version=(2,),
        facts=joined(_CONVERSES, _TEXT_ONLY),
        listed=(on_demand("mistral.devstral-2-123b", "Devstral 2 123B"),),
    ),
    _mistral(ids="mistral.voxtral*", name="Voxtral", line="voxtral", facts=joined(_CONVERSES, _TEXT_ONLY)),
    Model(
        ids="cohere.command-r-plus*",
        name="Command R+",
        line="command-r",
        retired="2026-08-19",
        facts=_COHERE,
        cut="cohere",
    ),
    Model(ids="cohere.command-r*", name="Command R", line="command-r", facts=_COHERE, cut="cohere"),
    Model(
        ids="ai21.jamba-1-5*",
        name="Jamba 1.5",
        line="jamba",
        version=(1, 5),
        since="2024-08-22",
        facts=_CONVERSES,
        cut="ai21",
    ),
    Model(
        ids="deepseek.r1*",
        name="DeepSeek R1",
        line="r",
        facts=joined(
            _DEEPSEEK,
            _THINKS,
            {
                "on demand": no("2026-07", "recorded, 0xPlaygrounds/rig"),
                "tools": no("2026-11", "several clients"),
                "streamed tools": no("2025-03", "danny-avila/LibreChat#6351"),
                "reasoning sent back": no("2025-03", "langchain-ai/langchain-aws#401"),
                "images": no("2026-10", _PROBED),
            },
        ),
        listed=(by_profile("deepseek.r1-v1:0", "DeepSeek-R1"),),
    ),
    Model(
        ids="deepseek.v3.2*",
        name="DeepSeek V3.2",
        line="v",
        version=(3, 2),
        since="2025-12-01",
        facts=joined(_DEEPSEEK, _TEXT_ONLY),
        listed=(on_demand("deepseek.v3.2", "DeepSeek V3.2"),),
    ),
    Model(ids="deepseek.v3*", name="DeepSeek V3.1", line="v", version=(3, 1), facts=joined(_DEEPSEEK, _TEXT_ONLY)),
    _gpt_oss(ids="openai.gpt-oss-safeguard*", name="gpt-oss-safeguard"),
    _gpt_oss(
        ids="openai.gpt-oss-20b*",
        name="gpt-oss 20B",
        most_tokens=128_000,
        listed=(on_demand("openai.gpt-oss-20b-1:0", "gpt-oss-20b"),),
    ),
    _gpt_oss(
        ids="openai.gpt-oss*", name="gpt-oss 120B", listed=(on_demand("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),)
    ),
    _gpt(
        ids="openai.gpt-5.4*",
        name="GPT 5.4",
        version=(5, 4),
        since="2026-06-01",
        facts=joined(_NO_CONVERSE, _NO_IMAGES_IN_RESULTS),
    ),
    _gpt(
        ids="openai.gpt-5.5*",
        name="GPT 5.5",
        version=(5, 5),
        since="2026-06-01",
        facts=joined(_NO_CONVERSE, _NO_IMAGES_IN_RESULTS),
    ),
    _gpt(
        ids="openai.gpt-5.6*",
        name="GPT 5.6",
        version=(5, 6),
        since="2026-07-13",
        facts=_GPT,
        fields=_GPT_FIELDS,
        tool_ids="call_",
        counters=CacheCounters(
            COUNTERS,
            as_of="2026-09",
            seen="both pairs in 1 of 1; before, the read pair in 4 of 4",
            others=(OtherForm("2026-08", "GPT 5.6"),),
        ),
        listed=(
            by_profile("openai.gpt-5.6-luna", "GPT-5.6 Luna"),
            by_profile("openai.gpt-5.6-sol", "GPT-5.6 Sol"),
            by_profile("openai.gpt-5.6-terra", "GPT-5.6 Terra"),
        ),
    ),
    _gpt(
        ids="openai.gpt-6*",
        name="GPT 6",
        version=(6,),
        since="2026-09-08",
        facts=_GPT,
        fields=_GPT_FIELDS,
        listed=(
            by_profile("openai.gpt-6-astra", "GPT-6 Astra"),
            by_profile("openai.gpt-6-luna", "GPT-6 Luna"),
            by_profile("openai.gpt-6-sol", "GPT-6 Sol"),
        ),
    ),
    Model(
        ids="qwen.qwen3-235b*",
        name="Qwen3 235B",
        line="qwen3-235b",
        version=(3,),
        facts=joined(_QWEN, _TEXT_ONLY, {"stopSequences": no("2025-09", "langgenius/dify-official-plugins#1767")}),
    ),
    Model(
        ids="qwen.qwen3-32b*",
        name="Qwen3 32B",
        line="qwen3-32b",
        version=(3,),
        facts=joined(_QWEN, _TEXT_ONLY, _FORMATS),
        fields=AdditionalFields(("reasoning_config",), as_of="2026-08", seen="reasoning_config 5 times"),
        listed=(on_demand("qwen.qwen3-32b-v1:0", "Qwen3 32B (dense)"),),
    ),
    Model(
        ids="qwen.qwen3-coder*",
        name="Qwen3 Coder",
        line="qwen3-coder",
        version=(3,),
        facts=joined(_QWEN, _TEXT_ONLY),
        listed=(
            on_demand("qwen.qwen3-coder-next", "Qwen3 Coder Next"),
            on_demand("qwen.qwen3-coder-30b-a3b-v1:0", "Qwen3-Coder-30B-A3B-Instruct"),
        ),
    ),
    Model(
        ids="qwen.qwen3-vl*",
        name="Qwen3 VL",
        line="qwen3-vl",
        version=(3,),
        facts=joined(_QWEN, _NO_IMAGES_IN_RESULTS),
        listed=(on_demand("qwen.qwen3-vl-235b-a22b", "Qwen3 VL 235B A22B"),),
    ),
    Model(
        ids="qwen.qwen3-next*",
        name="Qwen3 Next",
        line="qwen3-next",
        version=(3,),
        facts=joined(_QWEN, _TEXT_ONLY),
        listed=(on_demand("qwen.qwen3-next-80b-a3b", "Qwen3 Next 80B A3B"),),
    ),
    Model(ids="qwen.qwen3*", name="Qwen3", line="qwen", version=(3,), facts=_QWEN),
    Model(
        ids="writer.palmyra-x4*",
        name="Palmyra X4",
        line="palmyra-x",
        version=(4,),
        facts=_PALMYRA,
        listed=(by_profile("writer.palmyra-x4-v1:0", "Palmyra X4"),),
    ),
    Model(
        ids="writer.palmyra-x5*",
        name="Palmyra X5",
        line="palmyra-x",
        version=(5,),
        facts=_PALMYRA,
        listed=(by_profile("writer.palmyra-x5-v1:0", "Palmyra X5"),),
    ),
    Model(
        ids="writer.palmyra-vision*",
        name="Palmyra Vision",
        line="palmyra-vision",
        since="2026-03-26",
        facts=_PALMYRA,
        listed=(on_demand("writer.palmyra-vision-7b", "Writer Palmyra Vision 7B"),),
    ),
    Model(
        ids="google.gemma-3*",
        name="Gemma 3",
        line="gemma",
        version=(3,),
        facts=joined(_CONVERSES, _FORMATS),
        listed=(
            on_demand("google.gemma-3-12b-it", "Gemma 3 12B IT"),
            on_demand("google.gemma-3-27b-it", "Gemma 3 27B PT"),
            on_demand("google.gemma-3-4b-it", "Gemma 3 4B IT"),
        ),
    ),
    Model(ids="google.gemma-4*", name="Gemma 4", line="gemma", version=(4,), since="2026-03-31", facts=_NO_CONVERSE),
    Model(
        ids="nvidia.nemotron-super-3*",
        name="Nemotron 3 Super",
        line="nemotron-super",
        version=(3,),
        since="2026-03-11",
        facts=joined(_NEMOTRON, _TEXT_ONLY),
        listed=(on_demand("nvidia.nemotron-super-3-120b", "NVIDIA Nemotron 3 Super 120B A12B"),),
    ),
    Model(
        ids="nvidia.nemotron-nano-3-30b*",
        name="Nemotron Nano 3 30B",
        line="nemotron-nano-3",
        version=(3,),
        facts=joined(_NEMOTRON, _TEXT_ONLY),
        listed=(on_demand("nvidia.nemotron-nano-3-30b", "Nemotron Nano 3 30B"),),
    ),
    Model(
        ids="nvidia.nemotron-nano-9b*",
        name="Nemotron Nano 9B",
        line="nemotron-nano-9b",
        version=(2,),
        facts=joined(_NEMOTRON, _TEXT_ONLY),
        listed=(on_demand("nvidia.nemotron-nano-9b-v2", "NVIDIA Nemotron Nano 9B v2"),),
    ),
    Model(
        ids="nvidia.nemotron*",
        name="Nemotron",
        line="nemotron",
        facts=_NEMOTRON,
        listed=(on_demand("nvidia.nemotron-nano-12b-v2", "NVIDIA Nemotron Nano 12B v2 VL BF16"),),
    ),
    Model(
        ids="moonshot.kimi-k2-thinking*",
        name="Kimi K2 Thinking",
        line="kimi-k",
        version=(2,),
        facts=joined(_KIMI_K2, _TEXT_ONLY, _THINKS),
        tool_ids="functions.",
        listed=(on_demand("moonshot.kimi-k2-thinking", "Kimi K2 Thinking"),),
    ),
    Model(
        ids="moonshotai.kimi-k2.5*",
        name="Kimi K2.5",
        line="kimi-k",
        version=(2, 5),
        facts=_KIMI_K2,
        listed=(on_demand("moonshotai.kimi-k2.5", "Kimi K2.5"),),
    ),
    Model(
        ids="moonshotai.kimi-k3*",
        name="Kimi K3",
        line="kimi-k",
        version=(3,),
        since="2026-09-18",
        facts=_KIMI,
        listed=(by_profile("moonshotai.kimi-k3", "Kimi K3"),),
    ),
    Model(
        ids="minimax.minimax-m2*",
        name="MiniMax M2",
        line="minimax-m",
        version=(2,),
        facts=joined(_CONVERSES, _TEXT_ONLY, _UNSIGNED, _THINKS, _FORMATS),
        listed=(
            on_demand("minimax.minimax-m2", "MiniMax M2"),
            on_demand("minimax.minimax-m2.1", "MiniMax M2.1"),
            on_demand("minimax.minimax-m2.5", "MiniMax M2.5"),
        ),
    ),
    Model(
        ids="zai.glm-4.7*",
        name="GLM 4.7",
        line="glm",
        version=(4, 7),
        facts=joined(
            _GLM, {"textFormat": yes("2026-08", "GLM 4.7 Flash, once"), "toolChoice any": yes("2026-08", "2")}
        ),
        listed=(
            on_demand("zai.glm-4.7", "GLM 4.7"),
            on_demand("zai.glm-4.7-flash", "GLM 4.7 Flash"),
        ),
    ),
    Model(
        ids="zai.glm-5*",
        name="GLM 5",
        line="glm",
        version=(5,),
        since="2026-02-11",
        facts=_GLM,
        listed=(on_demand("zai.glm-5", "GLM 5"),),
    ),
    Model(
        ids="xai.grok-4*",
        name="Grok 4",
        line="grok",
        version=(4,),
        since="2026-08-18",
        facts=joined(
            {
                "Converse": yes("2026-09", "reported"),
                "temperature": no("2026-09", "NousResearch/hermes-agent#111043"),
                "cachePoint": no("2026-08", "anomalyco/models.dev#5082, BerriAI/litellm#38699"),
            },
        ),
        listed=(by_profile("xai.grok-4.6", "Grok 4.6"),),
    ),
)
