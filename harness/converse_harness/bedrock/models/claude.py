"""The rows of Anthropic's Claude models.

Sources, beside those that a fact names:

* `caching`: AWS's prompt caching page, for Claude 3.5 Haiku, Opus 4 and 4.1 an earlier version of it. Some versions
  list a minimum of 4,096 tokens for Sonnet 4.5; this is wrong, because cache writes of 1,322 tokens are recorded.
* `tools_tokens`: Anthropic's page, for Claude 4 with toolChoice auto. For recorded requests with tools, the service
  counted 280 to 520 tokens more than their texts have.
* `tokens_ratio`: the same text, recorded in July 2026: 7,316 tokens for Opus 4.8; 5,937 for Haiku 4.5 and Sonnet 4.6.
* `most_tokens`: for 3.5 two threads (sigoden/aichat#813, RooCodeInc/Roo-Code#248); for Opus 4 a thread
  (RooCodeInc/Roo-Code#3916, 2025-05-24); for Haiku 4.5 a trial in public source code (2026); for others the limit of
  Anthropic's own API (Effect-TS/effect#7129, 2026-08-07).
* CountTokens: the user guide says since May 2026 that models which launch with cross-region inference only are refused,
  and does not name them; so newer models without a fact are not known.
"""

from __future__ import annotations

from typing import Any, Final

from converse_harness.bedrock.models.answers import COUNTERS, READ, CacheCounters, OtherForm, ToolUseType
from converse_harness.bedrock.models.row import (
    AdditionalFields,
    Caching,
    Facts,
    ImageLimits,
    Model,
    by_profile,
    disputed,
    joined,
    no,
    yes,
)

_BOTH: Final = ("Converse", "ConverseStream")

IMAGE_LIMITS: Final = ImageLimits(5 * 1024 * 1024, many=20, small=2000)
"""The limits of images for Claude; the rules `claude_images_are_small` and `claude_images_are_smaller_among_many` have
the sources."""

_FIELDS: Final = AdditionalFields(
    known=("anthropic_beta", "output_config", "reasoning_config", "thinking", "tool_choice", "top_k", "top_p"),
    refused=("guardrails",),
    strict=True,
    as_of="2026-09",
    seen="thinking 47, reasoning_config 5, output_config 2, top_k 1; guardrails refused by Sonnet 4",
)

# What all versions have in common, and what changed with a version; later facts replace earlier ones.

_EVERY: Final[Facts] = {
    "Converse": yes("2026-09"),
    "system prompts": yes("2026-09"),
    "stopSequences": yes("2026-08", "Claude 3, 3.5, 3.7 and Sonnet 4.6"),
    "videos": no("2025-12", "Sonnet 4.5"),
    "hourly cache": no("2026-02", "Opus 4, Opus 4.1, Sonnet 4, 3.7 Sonnet, 3.5"),
    "temperature": yes("2026-07"),
    "prefill": yes("2026-05", "up to 4.5"),
}
_SINCE_3: Final[Facts] = {
    "images": yes("2026-02"),
    "tools": yes("2026-09"),
    "streamed tools": yes("2026-09"),
    "adaptive thinking": no("2026-07", "Haiku 4.5"),
    "reasoning sent back": no("2026-07", "Claude 3 Haiku"),
    "reasoning": no("2025-02", "before 3.7 Claude does not think"),
}
_SINCE_3_7: Final[Facts] = {
    "on demand": no("2026-11"),
    "citations": yes("2026-09"),
    "reasoning": yes("2026-09"),
    "reasoning sent back": yes("2026-08"),
    "thinking budget": yes("2026-05"),
    "cachePoint": yes("2026-08"),
}
_SINCE_4_5: Final[Facts] = {
    "hourly cache": yes("2026-08"),
    "images in results": yes("2026-02", "Sonnet 4.5, 8 times"),
    "toolChoice any": yes("2026-08"),
    "toolChoice tool": yes("2026-08"),
}
_SINCE_4_6: Final[Facts] = {"prefill": no("2026-09"), "adaptive thinking": yes("2026-08")}
_SINCE_4_7: Final[Facts] = {
    "thinking budget": no("2026-07", "Sonnet 5, Opus 5"),
    "temperature": no("2026-08", "Opus 4.7, 4.8, Fable 5"),
}

_COUNTS_2025: Final[Facts] = {"CountTokens": yes("2025-08", "the user guide's older list")}
_COUNTS: Final[Facts] = {"CountTokens": yes("2026-08", "xiehust/strands-darwin and others")}
_COUNTS_NOT: Final[Facts] = {"CountTokens": no("2026-09", "xiehust/strands-darwin, stdapi-ai/stdapi.ai")}

_NO_STRICT: Final[Facts] = {"strict tools": no("2026-09", "reported")}
_STRICT_DISPUTED: Final[Facts] = {"strict tools": disputed("2026-10", "refused until 2026-09, then said to be taken")}
_NO_FORMAT: Final[Facts] = {"textFormat": no("2026-11", "reported")}
_FORMAT_DISPUTED: Final[Facts] = {"textFormat": disputed("2026-10", "refused until 2026-08, then said to be taken")}

# Forms of answers.

_UNTYPED: Final = (ToolUseType(_BOTH, "never", "2026-04", "none of 28, of Claude 3, 3.5 and 3.5 Haiku"),)
_TYPED: Final = "all of 150 since November 2025: 3.7, Sonnet 4 to 5, Haiku 4.5, Opus 4.1, 4.7, 4.8"
_IN_STREAMS: Final = "none of 3: Haiku 4.5, Sonnet 4.5, Opus 4.1; later streams, and those of other models, not known"


def _typed(*others: OtherForm, streamed: tuple[OtherForm, ...] = ()) -> tuple[ToolUseType, ...]:
    return (
        ToolUseType(("Converse",), "always", "2026-08", _TYPED, others),
        ToolUseType(("ConverseStream",), "never", "2025-11", _IN_STREAMS, streamed),
    )


_TYPED_STREAMS: Final = (
    ToolUseType(("Converse",), "always", "2026-08", _TYPED),
    ToolUseType(("ConverseStream",), "always", "", "2 of 2 of Sonnet 5, after its release at the end of June 2026"),
)

_UNCOUNTED: Final = CacheCounters(as_of="2026-07", seen="none")
_PAIRS: Final = CacheCounters(COUNTERS, details=True, as_of="2026-08", seen="both pairs in all of 484")
_READ_PAIR: Final = CacheCounters(
    READ,
    details=True,
    as_of="2026-07",
    seen="the read pair in 6 of 6; with a cachePoint, everything in 22 of 22 of Opus 4.8",
)
_READ_OF_5: Final = CacheCounters(
    READ, details=True, as_of="2026-08", seen="the read pair in 13 of 13 of Sonnet 5; other models are not recorded"
)
_PAIRS_OF_OPUS_5: Final = CacheCounters(
    COUNTERS, details=True, as_of="2026-09", seen="both pairs in 2 of 2, of Opus 5 and 5.5"
)


def _claude(
    ids: str,
    name: str,
    version: tuple[int, ...],
    since: str = "",
    *facts: Facts,
    minimum: int = 0,
    **more: Any,
) -> Model:
    """Make a row; `facts` are those of this model alone, which replace what its version says."""
    ages: tuple[tuple[tuple[int, ...], Facts], ...] = (
        ((3,), _SINCE_3),
        ((3, 7), _SINCE_3_7),
        ((4, 5), _SINCE_4_5),
        ((4, 6), _SINCE_4_6),
        ((4, 7), _SINCE_4_7),
    )
    of_version = (each for start, each in ages if version >= start)
    forms: dict[str, Any] = {"tool_types": _typed(), "counters": _PAIRS, **more}
    drops_thoughts = version < (4, 5) or ids.startswith(("sonnet-4-5", "haiku-4-5"))
    return Model(
        ids=f"anthropic.claude-{ids}",
        name=f"Claude {name}",
        line="claude-" + name.split()[0].lower() if version >= (4,) else "claude",
        version=version,
        since=since,
        facts=joined(_EVERY, *of_version, *facts),
        fields=_FIELDS,
        tools_tokens=346,
        image_limits=IMAGE_LIMITS if version >= (3,) else None,
        caching=Caching(minimum, drops_thoughts=drops_thoughts) if minimum else None,
        cut="claude-3" if version < (3, 5) else "claude",
        **forms,
    )


def _before_3_7(ids: str, name: str, version: tuple[int, ...], since: str = "", *facts: Facts, **more: Any) -> Model:
    forms: dict[str, Any] = {"tool_types": _UNTYPED, "counters": _UNCOUNTED, **more}
    return _claude(ids, name, version, since, *facts, **forms)


CLAUDE: Final = (
    _before_3_7("instant*", "Instant", (1,)),
    _before_3_7("v2*", "2", (2,)),
    _before_3_7("3-haiku*", "3 Haiku", (3,), "2024-03-07"),
    _before_3_7(
        "3-sonnet*", "3 Sonnet", (3,), "2024-02-29", {"textFormat": yes("", "3 times"), "toolChoice tool": yes("", "1")}
    ),
    _before_3_7("3-opus*", "3 Opus", (3,), "2024-02-29"),
    _before_3_7(
        "3-5-sonnet-20240620*",
        "3.5 Sonnet",
        (3, 5),
        "2024-06-20",
        _COUNTS_2025,
        # The day on which its end of life was first recorded, by 0xPlaygrounds/rig; its date is not known.
        retired="2026-07-10",
        most_tokens=8192,
    ),
    _before_3_7(
        "3-5-sonnet*",
        "3.5 Sonnet v2",
        (3, 5),
        "2024-10-22",
        _COUNTS_2025,
        {"cachePoint": yes("2026-07"), "on demand": disputed("2025-10", "taken before; refused in us-east-1")},
        minimum=1024,
        most_tokens=8192,
        retired="2026-07-30",
        counters=CacheCounters(
            as_of="2025-09",
            seen="none in 9 of 12; both pairs in 3",
            others=(OtherForm("2025-09", "Claude 3.5 Sonnet v2"),),
        ),
    ),
    _before_3_7(
        "3-5-haiku*",
        "3.5 Haiku",
        (3, 5),
        "2024-10-22",
        _COUNTS_2025,
        {
            "cachePoint": yes("2026-06"),
            "on demand": disputed("2025-10", "taken before; refused in us-east-1"),
            "optimized latency": yes("2025-09", "the user guide; not with a cachePoint, boto/boto3#4626"),
        },
        minimum=2048,
        most_tokens=8192,
        retired="2026-06-19",
        counters=CacheCounters(COUNTERS, as_of="2025-09", seen="both pairs in 48 of 48"),
    ),
    _claude(
        "3-7-sonnet*",
        "3.7 Sonnet",
        (3, 7),
        "2025-02-19",
        _COUNTS_2025,
        minimum=1024,
        tool_types=_typed(OtherForm("", "Claude 3.7 Sonnet")),
        counters=CacheCounters(COUNTERS, as_of="2026-02", seen="both pairs in all of 3.7"),
    ),
    _claude(
        "opus-4-20250514*",
        "Opus 4",
        (4,),
        "2025-05-14",
        _COUNTS_2025,
        minimum=1024,
        most_tokens=32_768,
        retired="2026-05-31",
    ),
    _claude("opus-4-1*", "Opus 4.1", (4, 1), "2025-08-05", _NO_STRICT, _NO_FORMAT, minimum=1024),
    _claude(
        "opus-4-5*",
        "Opus 4.5",
        (4, 5),
        "2025-11-01",
        _COUNTS,
        minimum=4096,
        most_tokens=64_000,
        listed=(by_profile("anthropic.claude-opus-4-5-20251101-v1:0", "Claude Opus 4.5"),),
    ),
    _claude(
        "opus-4-6*",
        "Opus 4.6",
        (4, 6),
        "2026-02-05",
        _COUNTS,
        {"strict tools": yes("2026-09", "reported")},
        minimum=4096,
        most_tokens=128_000,
        listed=(by_profile("anthropic.claude-opus-4-6-v1", "Claude Opus 4.6"),),
    ),
    _claude(
        "opus-4-7*",
        "Opus 4.7",
        (4, 7),
        "2026-04-16",
        _COUNTS_NOT,
        _STRICT_DISPUTED,
        _FORMAT_DISPUTED,
        minimum=4096,
        most_tokens=128_000,
        counters=_READ_PAIR,
        listed=(by_profile("anthropic.claude-opus-4-7", "Claude Opus 4.7"),),
    ),
    _claude(
        "opus-4-8*",
        "Opus 4.8",
        (4, 8),
        "2026-05-28",
        _COUNTS_NOT,
        _STRICT_DISPUTED,
        _FORMAT_DISPUTED,
        minimum=1024,
        most_tokens=128_000,
        tokens_ratio=1.23,
        counters=_READ_PAIR,
        listed=(by_profile("anthropic.claude-opus-4-8", "Claude Opus 4.8"),),
    ),
    _claude(
        "opus-5-5*",
        "Opus 5.5",
        (5, 5),
        "2026-09-22",
        _COUNTS_NOT,
        _STRICT_DISPUTED,
        {
            "toolChoice any": no("2026-09", "recorded, vercel/ai"),
            "toolChoice tool": no("2026-09", "recorded, vercel/ai"),
            "disabled thinking": no("2026-09", "ax-llm/ax#667"),
        },
        counters=_PAIRS_OF_OPUS_5,
        listed=(by_profile("anthropic.claude-opus-5-5", "Claude Opus 5.5"),),
    ),
    _claude(
        "opus-5*",
        "Opus 5",
        (5,),
        "2026-07-24",
        _COUNTS_NOT,
        _FORMAT_DISPUTED,
        {"strict tools": yes("2026-09", "reported"), "disabled thinking": yes("2026-09", "ax-llm/ax#667")},
        minimum=512,
        counters=_PAIRS_OF_OPUS_5,
        listed=(by_profile("anthropic.claude-opus-5", "Claude Opus 5"),),
    ),
    _claude(
        "sonnet-4-20250514*",
        "Sonnet 4",
        (4,),
        "2025-05-23",
        _COUNTS_2025,
        _NO_STRICT,
        _NO_FORMAT,
        minimum=1024,
        tool_types=_typed(OtherForm("2025-09", "Claude Sonnet 4"), streamed=(OtherForm("2025-09", "Claude Sonnet 4"),)),
    ),
    _claude(
        "sonnet-4-5*",
        "Sonnet 4.5",
        (4, 5),
        "2025-09-30",
        _COUNTS,
        {"textFormat": yes("2026-08", "36 times"), "strict tools": yes("2026-08", "40 times")},
        minimum=1024,
        most_tokens=64_000,
        listed=(by_profile("anthropic.claude-sonnet-4-5-20250929-v1:0", "Claude Sonnet 4.5"),),
    ),
    _claude(
        "sonnet-4-6*",
        "Sonnet 4.6",
        (4, 6),
        "",
        _COUNTS,
        {"textFormat": yes("2026-08", "7 times"), "strict tools": yes("2026-09", "reported")},
        minimum=1024,
        most_tokens=128_000,
        listed=(by_profile("anthropic.claude-sonnet-4-6", "Claude Sonnet 4.6"),),
    ),
    _claude("sonnet-5-5*", "Sonnet 5.5", (5, 5), minimum=512, counters=_READ_OF_5),
    _claude(
        "sonnet-5*",
        "Sonnet 5",
        (5,),
        "2026-06-30",
        _COUNTS_NOT,
        {"strict tools": no("2026-07", "recorded, vercel/ai")},
        _FORMAT_DISPUTED,
        minimum=1024,
        tool_types=_TYPED_STREAMS,
        counters=_READ_OF_5,
        listed=(by_profile("anthropic.claude-sonnet-5", "Claude Sonnet 5"),),
    ),
    _claude(
        "haiku-4-5*",
        "Haiku 4.5",
        (4, 5),
        "2025-10-16",
        _COUNTS,
        {"textFormat": yes("2026-08", "17 times"), "strict tools": yes("2026-09", "reported")},
        minimum=4096,
        most_tokens=64_000,
        counters=CacheCounters(
            READ,
            details=True,
            as_of="2026-09",
            seen="the read pair in 6 of 6; before, both pairs in all",
            others=(OtherForm("2026-08", "Claude Haiku 4.5"),),
        ),
        listed=(by_profile("anthropic.claude-haiku-4-5-20251001-v1:0", "Claude Haiku 4.5"),),
    ),
    _claude("haiku-5-5*", "Haiku 5.5", (5, 5), most_tokens=128_000, counters=_READ_OF_5),
    _claude(
        "fable-5-1*",
        "Fable 5.1",
        (5, 1),
        "2026-09-01",
        _NO_STRICT,
        _NO_FORMAT,
        minimum=512,
        counters=_READ_OF_5,
        listed=(by_profile("anthropic.claude-fable-5-1", "Claude Fable 5.1"),),
    ),
    _claude(
        "fable-5*",
        "Fable 5",
        (5,),
        "2026-06-09",
        _COUNTS_NOT,
        _NO_FORMAT,
        {"strict tools": yes("2026-09", "reported")},
        minimum=512,
        counters=_READ_OF_5,
        listed=(by_profile("anthropic.claude-fable-5", "Claude Fable 5"),),
    ),
    _claude("mythos-5*", "Mythos 5", (5,), minimum=512, counters=_READ_OF_5),
    _claude("mythos-preview*", "Mythos Preview", (4, 9), minimum=4096),
)
