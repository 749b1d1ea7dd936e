"""The rows of Amazon's models: Nova and Titan.

Sources, beside those that a fact names: an earlier version of AWS's prompt caching page, the model card (Nova 2 Lite),
and for `most_tokens` a trial in public source code (2026). For recorded requests with tools, the service counted 350 to
560 tokens more than their texts have, for Nova 2 Lite 860.
"""

from __future__ import annotations

from typing import Any, Final

from converse_harness.bedrock.models.answers import ToolUseType
from converse_harness.bedrock.models.row import (
    AdditionalFields,
    Caching,
    Facts,
    Model,
    both_ways,
    by_profile,
    joined,
    no,
    yes,
)

_CACHE: Final = Caching(1000, look_back=1, forgets="everything", implicit=True)

_NOVA: Final[Facts] = {
    "Converse": yes("2026-10"),
    "CountTokens": no("2026-05", "strands-agents/harness-sdk#2250"),
    "system prompts": yes("2026-08"),
    "images": yes("2026-02"),
    "images in results": yes("2026-02", "Nova Pro 29 times, Nova 2 Lite 7"),
    "citations": no("2026-10", "pydantic-ai's profile"),
    "tools": yes("2026-09"),
    "streamed tools": yes("2026-09"),
    "toolChoice any": yes("2026-08"),
    "toolChoice tool": yes("2026-08", "Nova 2 Lite 21 times, Nova Lite 7, Nova Micro 7"),
    "temperature": yes("2026-08"),
    "cachePoint": yes("2026-08", "Nova Lite 18 times, Nova Pro 1"),
    "hourly cache": no("2026-09", "Nova 2 Lite"),
}
_NOVA_1: Final[Facts] = joined(_NOVA, {"reasoning": no("2026-07", "recorded of Nova Micro, vercel/ai")})
_TIERED: Final[Facts] = {
    "optimized latency": yes("2026-03", "Nova Pro 5 times, Nova Micro once"),
    "service tiers": yes("2026-03", "Nova Micro default, Nova Pro flex"),
}
_SPEAKS_ONLY: Final[Facts] = {"Converse": no("2026-10", "AWS's model cards")}

_FIELDS: Final = AdditionalFields(
    ("inferenceConfig",), ("performanceConfig",), strict=True, as_of="2026-02", seen="inferenceConfig.topK 8 times"
)
_FIELDS_2: Final = AdditionalFields(
    ("inferenceConfig", "reasoningConfig"),
    ("performanceConfig",),
    strict=True,
    as_of="2026-07",
    seen="reasoningConfig once",
)


def _nova(name: str, since: str = "2024-12-04", facts: Facts = _NOVA_1, **more: Any) -> Model:
    given: dict[str, Any] = {"version": (1,), "caching": _CACHE, "tools_tokens": 346, "fields": _FIELDS, **more}
    ids = f"amazon.{name.lower().replace(' ', '-')}-v1*"
    return Model(ids=ids, name=name, line="nova", since=since, facts=facts, cut="nova", **given)


def _nova_without_converse(ids: str, name: str, version: tuple[int, ...] = (1,)) -> Model:
    # They cite nothing as little as the others: the rule about citations is of all Nova models.
    facts = joined(_SPEAKS_ONLY, {"citations": _NOVA["citations"], "hourly cache": _NOVA["hourly cache"]})
    line = name.lower().replace(" ", "-").replace(".", "-")
    return Model(ids=f"amazon.{ids}*", name=name, line=line, version=version, facts=facts, cut="nova")


AMAZON: Final = (
    _nova(
        "Nova Micro",
        facts=joined(
            _NOVA_1,
            _TIERED,
            {"images": no("2026-10", "a probe of some 70 models"), "stopSequences": yes("2026-03", "3")},
        ),
        listed=(both_ways("amazon.nova-micro-v1:0", "Nova Micro"),),
    ),
    _nova("Nova Lite", listed=(both_ways("amazon.nova-lite-v1:0", "Nova Lite"),)),
    _nova(
        "Nova Pro",
        facts=joined(_NOVA_1, _TIERED),
        most_tokens=10_000,
        listed=(both_ways("amazon.nova-pro-v1:0", "Nova Pro"),),
    ),
    _nova("Nova Premier", "", retired="2026-09-14"),
    _nova_without_converse("nova-sonic-v1", "Nova Sonic"),
    _nova_without_converse("nova-canvas", "Nova Canvas"),
    _nova_without_converse("nova-reel", "Nova Reel"),
    _nova(
        "Nova 2 Lite",
        "2025-12-02",
        joined(
            _NOVA,
            {
                "reasoning": yes("2026-07"),
                "reasoning sent back": yes("2026-07"),
                "videos": yes("2025-12", "7 times"),
            },
        ),
        version=(2,),
        fields=_FIELDS_2,
        tool_types=(
            ToolUseType(
                ("Converse", "ConverseStream"),
                "beside a system tool",
                "2026-02",
                "all of 21 of Nova 2 Lite beside its code interpreter; none of 122 without a system tool",
            ),
        ),
        listed=(by_profile("amazon.nova-2-lite-v1:0", "Nova 2 Lite"),),
    ),
    _nova_without_converse("nova-2-sonic", "Nova 2 Sonic", (2,)),
    _nova_without_converse("nova-2-5-sonic", "Nova 2.5 Sonic", (2, 5)),
    Model(
        ids="amazon.titan-text*",
        name="Titan Text",
        line="titan-text",
        facts={
            "Converse": yes("2026-10"),
            "system prompts": no("2026-10", "AWS's table of what models support"),
            "tools": no("2026-11", "several clients"),
            "temperature": yes("", "11 times"),
            "stopSequences": yes("", "14 times"),
        },
        cut="titan",
    ),
)
