"""What the usage, the stop reason and other members of an answer beside its message need in the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from converse_harness.bedrock.fit.row import FREE_STOPS, USUAL_LIMIT, Answer, Fit, Found
from converse_harness.bedrock.models import cache_counters
from converse_harness.bedrock.models.answers import COUNTERS
from converse_harness.bedrock.request_items import has_cache_point
from converse_harness.bedrock.rules.request import RuleRequest
from converse_harness.bedrock.rules.rule import Claude, Models, documented, recorded, reported
from converse_harness.json_values import is_array, member_of, object_of, objects_of

_USUAL_TTL: Final = "5m"

_AT_LEAST: Final = 1.5
"""By how much an estimated number of tokens must be above a limit: the estimate is a guess."""


def misfits_of_usage(asked: RuleRequest, answer: Answer) -> Found:
    """Find token counts that the request does not explain: of the prompt cache, or above `maxTokens`."""
    usage = answer.usage
    counted = [name for name in COUNTERS if usage.get(name)]
    if counted and not has_cache_point(asked.items_of_body):
        yield "cache_has_a_cache_point", {"name": counted[0], "count": usage[counted[0]]}
    if usage.get("cacheDetails"):
        yield from _misfits_of_details(asked, counted, objects_of(usage["cacheDetails"]))
    given, most = usage.get("outputTokens"), asked.inference.get("maxTokens")
    if isinstance(given, int) and isinstance(most, int) and given > most:
        yield "tokens_are_within_max_tokens", {"given": given, "most": most}
    elif given is None and answer.stop_reason not in FREE_STOPS and answer.tokens > _AT_LEAST * (most or USUAL_LIMIT):
        name = "answer_is_within_max_tokens" if most else "long_answer_has_max_tokens"
        yield name, {"tokens": answer.tokens, "most": most or USUAL_LIMIT}


def _misfits_of_details(asked: RuleRequest, counted: list[str], details: object) -> Found:
    model = asked.model.model
    if asked.operation != "Converse":
        reason = "Bedrock sends them in JSON answers only, and this is a stream"
        yield "cache_details_are_in_json", {"reason": reason}
    elif model is not None and not cache_counters(asked.model.id, "Converse").details:
        yield "cache_details_are_in_json", {"reason": f"{model.name} is not known to send them"}
    if not any("Write" in name for name in counted):
        yield "cache_details_have_an_asked_ttl", {"reason": "the usage has no written tokens"}
    asked_for = {str(point.get("ttl", _USUAL_TTL)) for point in _cache_points(asked)}
    for each in objects_of(details):
        if asked_for and each.get("ttl") not in asked_for:
            reason = f"no cachePoint asks for the ttl {each.get('ttl')}"
            yield "cache_details_have_an_asked_ttl", {"reason": reason}


def _cache_points(asked: RuleRequest) -> list[Mapping[str, Any]]:
    others = [block["cachePoint"] for block in (*asked.system, *asked.tools) if "cachePoint" in block]
    return [object_of(point) for point in (*others, *(value for _, _, value in asked.blocks("cachePoint")))]


_LEAST_LIMIT: Final = 200
"""The tokens below which no model is known to stop by a limit of its own."""


def misfits_of_limits(asked: RuleRequest, answer: Answer) -> Found:
    """Find answers that ended at a limit that they have not reached."""
    given, most = answer.usage.get("outputTokens"), asked.inference.get("maxTokens")
    if isinstance(given, int) and isinstance(most, int) and given < most:
        yield "max_tokens_are_reached", {"given": given, "request": f"has maxTokens {most}"}
    elif isinstance(given, int) and most is None and given < _LEAST_LIMIT:
        yield "max_tokens_are_reached", {"given": given, "request": "has no maxTokens (inferenceConfig)"}


def _sequences(asked: RuleRequest) -> list[str]:
    given = [asked.inference.get("stopSequences"), asked.fields.get("stop_sequences")]
    return [str(each) for several in given if is_array(several) for each in several]


def misfits_of_stops(asked: RuleRequest, answer: Answer) -> Found:
    """Find the stop reason stop_sequence without a sequence, and texts with one."""
    sequences = _sequences(asked)
    if answer.stop_reason == "stop_sequence" and not sequences:
        yield "stop_sequence_is_asked", {}
    for each in sequences:
        if each and each in answer.text:
            yield "text_ends_before_the_stop_sequence", {"sequence": each}


def misfits_of_members(asked: RuleRequest, answer: Answer) -> Found:
    """Find members of an answer that repeat nothing of the request: additional fields, tiers, and a prompt router."""
    paths = asked.body.get("additionalModelResponseFieldPaths")
    first = {str(path).strip("/").partition("/")[0] for path in (paths if is_array(paths) else ())}
    for name in object_of(answer.members.get("additionalModelResponseFields")):
        if name not in first:
            yield "additional_fields_are_asked", {"name": name}
    for name, member in (("serviceTier", "type"), ("performanceConfig", "latency")):
        given, wanted = member_of(answer.members, name, member), member_of(asked.body, name, member)
        fits = given == wanted or (name == "performanceConfig" and (wanted, given) == ("optimized", "standard"))
        if given is not None and not fits:
            asks = f"asks for {wanted!r}" if wanted else f"has no {name}"
            yield "tier_is_the_asked_one", {"has": f"{name} {given!r}", "request": asks}
    trace = object_of(answer.members.get("trace"))
    if "promptRouter" in trace and "prompt-router/" not in asked.model_id:
        yield "prompt_router_is_asked", {"model": asked.model_id}


_API: Final = "AWS's API model"

METADATA: Final = (
    Fit(
        "cache_has_a_cache_point",
        "tokens that were read from the prompt cache or written to it",
        "a cachePoint: what a model caches without one, it does not report",
        "usage.{name} {count}; the request has no cachePoint. Was it dropped on the way?",
        ("usage",),
        (recorded("114 of 114", "2026-09"),),
        "never",
    ),
    Fit(
        "cache_details_are_in_json",
        "usage.cacheDetails",
        "the operation Converse, and Claude from 4 on",
        "usage.cacheDetails; {reason}.",
        ("usage",),
        (recorded("73 of 73", "2026-09"),),
        "never",
    ),
    Fit(
        "cache_details_have_an_asked_ttl",
        "usage.cacheDetails",
        "a cachePoint with this `ttl`, and written tokens beside them",
        "usage.cacheDetails; {reason}.",
        ("usage",),
        (recorded("73 of 73", "2026-09"),),
        "seldom",
    ),
    Fit(
        "tokens_are_within_max_tokens",
        "usage.outputTokens above `maxTokens`",
        "no smaller `inferenceConfig.maxTokens`",
        "usage.outputTokens {given}; the request has maxTokens {most} (inferenceConfig).",
        ("usage",),
        (recorded("345 of 345", "2026-09"),),
        "never",
        "inferenceConfig.maxTokens",
    ),
    Fit(
        "answer_is_within_max_tokens",
        "many more tokens than `maxTokens`, as estimated",
        "no smaller `inferenceConfig.maxTokens`",
        "about {tokens} tokens; the request has maxTokens {most} (inferenceConfig), where Bedrock stops with the stop "
        "reason max_tokens.",
        ("fewer tokens",),
        (recorded("345 of 345", "2026-09"),),
        "seldom",
        "inferenceConfig.maxTokens",
    ),
    Fit(
        "long_answer_has_max_tokens",
        "many more tokens than 4,096, as estimated, of Claude",
        "`inferenceConfig.maxTokens`",
        "about {tokens} tokens; the request has no maxTokens (inferenceConfig), and Bedrock then stops at {most} with "
        "the stop reason max_tokens.",
        ("fewer tokens",),
        (
            reported("langchain-ai/openwiki#96", "2026-07"),
            reported("langchain-ai/openwiki#722", "2026-08"),
            reported("BerriAI/litellm#41529", "2026-09"),
        ),
        "seldom",
        "inferenceConfig.maxTokens",
        Models(only=(Claude(),)),
    ),
    Fit(
        "max_tokens_are_reached",
        "stopReason max_tokens with fewer tokens",
        "`inferenceConfig.maxTokens` that is equal to usage.outputTokens",
        "stopReason max_tokens and usage.outputTokens {given}; the request {request}.",
        ("stop max_tokens",),
        (recorded("62 of 63", "2026-09"),),
        "seldom",
        "inferenceConfig.maxTokens",
        exceptions=(recorded("98 tokens of 100", "", "Command R"),),
    ),
    Fit(
        "stop_sequence_is_asked",
        "stopReason stop_sequence",
        "`inferenceConfig.stopSequences`",
        "stopReason stop_sequence; the request has no stopSequences (inferenceConfig). Were they dropped on the way?",
        ("stop stop_sequence",),
        (documented(f"{_API}, InferenceConfiguration", "2026-11"),),
        "never",
        "inferenceConfig.stopSequences",
    ),
    Fit(
        "text_ends_before_the_stop_sequence",
        "a text of Claude with a stop sequence in it",
        "no such sequence in `inferenceConfig.stopSequences`",
        "a text with {sequence!r}, which the request has as a stop sequence (inferenceConfig.stopSequences): Claude "
        "stops before it.",
        ("stop sequences",),
        (documented(f"{_API}, InferenceConfiguration", "2026-11"),),
        "seldom",
        "inferenceConfig.stopSequences",
        Models(only=(Claude(),)),
    ),
    Fit(
        "additional_fields_are_asked",
        "additionalModelResponseFields",
        "a path to them in `additionalModelResponseFieldPaths`",
        "additionalModelResponseFields with {name!r}; the request asks for no such path "
        "(additionalModelResponseFieldPaths).",
        ("additionalModelResponseFields",),
        (documented(f"{_API}, ConverseRequest", "2026-11"),),
        "seldom",
        "additionalModelResponseFieldPaths",
    ),
    Fit(
        "tier_is_the_asked_one",
        "serviceTier or performanceConfig",
        "the same member; an `optimized` latency may be answered with `standard`",
        "{has}; the request {request}.",
        ("serviceTier", "performanceConfig"),
        (recorded("8 of 8", "2026-09"),),
        "never",
    ),
    Fit(
        "prompt_router_is_asked",
        "trace.promptRouter",
        "a model id that is the ARN of a prompt router",
        "trace.promptRouter; the model id {model!r} is not the ARN of a prompt router.",
        ("trace",),
        (documented(f"{_API}, PromptRouterTrace", "2026-11"),),
        "seldom",
    ),
)
"""The rows about usage, stop reasons and metadata."""
