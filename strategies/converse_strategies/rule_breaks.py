"""Changes that make a request break exactly one rule. The table BREAKS contains one change for each rule."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.models import bare, standing
from converse_harness.bedrock.rules import RULES, Rule, refusals_of
from converse_strategies import basics
from converse_strategies.arguments import KNOWN_TO_DRAW_TEXTS
from converse_strategies.basics import Json, Texts, cached, chosen, composite
from converse_strategies.requests import asked, converse_requests

Break = Callable[[st.DrawFn, Json], None]
"""Function that changes a request, the keyword arguments of boto3's `converse`, so that the request breaks a rule.

The function replaces nested values and does not mutate them.
"""


def _user(*content: Json) -> Json:
    return {"role": "user", "content": [*content]}


def _assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": [*content]}


def _use(name: str, **more: Any) -> Json:
    return {"toolUse": {"toolUseId": name, "name": "look", "input": {}, **more}}


def _result(name: str, *content: Json, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": name, "content": [*content], **more}}


def _document(name: str, **source: Any) -> Json:
    return {"document": {"name": name, "format": "txt", "source": source or {"bytes": b"0"}}}


def _cited(form: str) -> Json:
    return {"document": {"name": "a", "format": form, "source": {"bytes": b"0"}, "citations": {"enabled": True}}}


def _strict(schema: Json, *, strict: bool = True) -> Json:
    return {"toolSpec": {"name": "see", "inputSchema": {"json": schema}, "strict": strict}}


_CLOSED: Final[Json] = {"type": "object", "additionalProperties": False}
_TREE: Final[Json] = {
    **_CLOSED,
    "properties": {"next": {"$ref": "#/$defs/Tree"}},
    "$defs": {"Tree": {**_CLOSED, "properties": {"next": {"$ref": "#/$defs/Tree"}}}},
}
_LIMITED: Final[Json] = {"type": "integer", "minimum": 1}

_MISSPELT: Final = "arn:aws:bedrock:us-east-1:123456789012:imported-model/my-model"
"""A model id that is not well-formed: the last part of the ARN of an imported model must have twelve characters. The
account number is from AWS's examples.
"""

_TEXT: Final[Json] = {"text": "0"}
_S3: Final = {"s3Location": {"uri": "s3://abc/file"}}


def _png(width: int = 1) -> bytes:
    """Return the beginning of a PNG file of `width` pixels, up to the last byte that the rules about images read."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + b"\0\0\0\1\x08\0\0\0\0"


def _image(form: str = "png", data: bytes | None = None) -> Json:
    return {"image": {"format": form, "source": {"bytes": _png() if data is None else data}}}


_IMAGE: Final = _image()
_THOUGHT: Final = {"reasoningContent": {"reasoningText": {"text": "0", "signature": "0"}}}
_CACHE_POINT: Final[Json] = {"cachePoint": {"type": "default"}}
_HOUR: Final[Json] = {"cachePoint": {"type": "default", "ttl": "1h"}}


def _add(*messages: Json, tools: bool = False) -> Break:
    """Return a change that appends `messages` to the conversation and, if `tools` is true, offers a tool."""

    def add(draw: st.DrawFn, request: Json) -> None:
        request["messages"] = [*request["messages"], *messages]
        if tools:
            _offered()(draw, request)

    return add


def _tell(*content: Json) -> Break:
    """Return a change that appends the blocks in `content` to the last message."""

    def tell(draw: st.DrawFn, request: Json) -> None:
        *others, last = request["messages"]
        request["messages"] = [*others, {**last, "content": [*last["content"], *content]}]

    return tell


def _used(uses: Collection[Json], results: Collection[Json]) -> Break:
    """Return a change that appends a message with tool uses and a message with tool results, and offers a tool."""
    return _add(_assistant(*uses), _user(*results), tools=True)


def _say(values: st.SearchStrategy[Json]) -> Break:
    """Return a change that sets members of the request to values drawn from `values`."""

    def say(draw: st.DrawFn, request: Json) -> None:
        request.update(draw(values))

    return say


def _members(**members: Any) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({name: st.just(value) for name, value in members.items()})


def _fields(**fields: Any) -> st.SearchStrategy[Json]:
    return _members(additionalModelRequestFields=fields)


def _inference(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"inferenceConfig": st.fixed_dictionaries(values)})


def _offered(
    schemas: st.SearchStrategy[Any] | None = None,
    choice: Json | None = None,
    *,
    names: Iterable[str] = ("look",),
    more: Iterable[Json] = (),
) -> Break:
    """Return a change that sets `toolConfig`. It has one tool for each of `names`, the tools in `more`, and the tool
    choice `choice`, if given.

    All named tools have the same schema: one drawn from `schemas`, or `{"type": "object"}` if `schemas` is None.
    """

    def offer(draw: st.DrawFn, request: Json) -> None:
        schema = {"json": {"type": "object"} if schemas is None else draw(schemas)}
        tools = [*({"toolSpec": {"name": name, "inputSchema": schema}} for name in names), *more]
        request["toolConfig"] = {"tools": tools, **({"toolChoice": choice} if choice else {})}

    return offer


def _thinks(how: st.SearchStrategy[Json], *more: Break) -> Break:
    """Return a change that enables thinking with settings drawn from `how`, and then makes the changes in `more`.

    It also removes `inferenceConfig` and `toolConfig` from the request.
    """

    def think(draw: st.DrawFn, request: Json) -> None:
        request.pop("inferenceConfig", None)
        request.pop("toolConfig", None)
        thinking = {"type": "enabled", "budget_tokens": 1024} | draw(how)
        request["additionalModelRequestFields"] = {"thinking": thinking}
        for each in more:
            each(draw, request)

    return think


def _answered_by(schema: str) -> Break:
    """Return a change that asks for an answer in JSON that satisfies the JSON Schema `schema`."""
    json_schema = {"name": "answer", "schema": schema}
    return _say(
        _members(outputConfig={"textFormat": {"type": "json_schema", "structure": {"jsonSchema": json_schema}}})
    )


def _begin_with_the_assistant(draw: st.DrawFn, request: Json) -> None:
    request["messages"] = [_assistant(_TEXT), *request["messages"]]


def _without_region(draw: st.DrawFn, request: Json) -> None:
    request["modelId"] = bare(request["modelId"])


def _without_tools(draw: st.DrawFn, request: Json) -> None:
    _used([_use("a")], [_result("a", _TEXT)])(draw, request)
    del request["toolConfig"]


def _many_documents(draw: st.DrawFn, request: Json) -> None:
    count = draw(st.integers(6, 8))
    _tell(*(_document(f"Report {number}") for number in range(count)))(draw, request)


_BLANKS: Final = st.sampled_from((" ", "\n", "\t \n"))
_UNMODELLED: Final[st.SearchStrategy[Json]] = st.sampled_from(
    (
        {"inferenceConfig": {"temperature": 1.5}},
        {"inferenceConfig": {"topP": 2}},
        {"performanceConfig": {"latency": "fast"}},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "a b", "inputSchema": {"json": {"type": "object"}}}}]}},
    )
)
"""Strategy for members of a request that AWS's API model forbids. boto sends them, because it does not check maxima,
patterns and enums.
"""
_NO_OBJECTS: Final = st.sampled_from((1, "0", True, [0]))
_AS_IT_IS: Final = _members()

_ANY_OF: Final[list[Json]] = [{}]
_OTHER_DRAFTS: Final[list[Json]] = [
    {"type": "object", "properties": {"a": inner}}
    for inner in ({"exclusiveMinimum": True}, {"required": True}, {"items": _ANY_OF}, {"type": "text"})
]

BREAKS: Final[Mapping[str, Break]] = {
    "model_id_is_well_formed": _say(_members(modelId=_MISSPELT)),
    "model_exists": _say(st.fixed_dictionaries({"modelId": basics.tool_names()})),
    "model_converses": _say(_members(modelId="amazon.nova-2-sonic-v1:0")),
    "model_is_not_retired": _say(_members(modelId="us.amazon.nova-premier-v1:0")),
    "constraints_hold": _say(_UNMODELLED),
    "service_tier_is_one": _say(_members(serviceTier={"type": "cheapest"})),
    "prompts_have_settings_of_their_own": _say(_members(modelId=basics.PROMPT, inferenceConfig={})),
    "conversation_is_not_empty": _say(_members(messages=[])),
    "first_message_is_the_users": _begin_with_the_assistant,
    "users_do_not_use_tools": _add(_assistant(_TEXT), _user(_use("a")), tools=True),
    "content_is_not_empty": _add(_assistant(), _user(_TEXT)),
    "text_is_not_blank": lambda draw, request: _tell({"text": draw(_BLANKS)})(draw, request),
    "guard_content_is_not_blank": lambda draw, request: _tell({"guardContent": {"text": {"text": draw(_BLANKS)}}})(
        draw, request
    ),
    "tool_config_is_there": _without_tools,
    "tool_schema_is_json": _offered(_NO_OBJECTS),
    "tool_schema_is_of_an_object": _offered(st.sampled_from(({}, {"type": "string"}, {"type": ["object"]}))),
    "tool_properties_are_an_object": _offered(
        st.sampled_from((None, [], "0", 1)).map(lambda found: {"type": "object", "properties": found})
    ),
    "tool_results_are_different": _used(
        [_use("a"), _use("b")], [_result("a", _TEXT), _result("a", _TEXT), _result("b", _TEXT)]
    ),
    "tool_uses_are_different": _used([_use("a"), _use("a")], [_result("a", _TEXT)]),
    "tool_results_have_uses": _used([_use("a")], [_result("a", _TEXT), _result("b", _TEXT)]),
    "tool_uses_have_results": _used([_use("a"), _use("b")], [_result("a", _TEXT)]),
    "failed_results_say_why": _used([_use("a")], [_result("a", status="error")]),
    "tool_result_json_is_an_object": lambda draw, request: _used(
        [_use("a")], [_result("a", {"json": draw(_NO_OBJECTS)})]
    )(draw, request),
    "tool_input_is_an_object": lambda draw, request: _used([_use("a", input=draw(_NO_OBJECTS))], [_result("a", _TEXT)])(
        draw, request
    ),
    "document_names_are_plain": lambda draw, request: _tell(
        _document(draw(st.sampled_from(("a.txt", "a  b", "é", "a\tb"))))
    )(draw, request),
    "document_names_are_different": _tell(_document("a"), _document("a")),
    "documents_are_few": _many_documents,
    "documents_have_text": _add(_assistant(_TEXT), _user(_document("a"))),
    "document_sources_are_files": _tell(_document("a", text="0")),
    "media_are_the_users": _add(_assistant(_IMAGE), _user(_TEXT)),
    "output_schema_is_json": lambda draw, request: _answered_by(draw(st.sampled_from(("{nope", "1", "[]"))))(
        draw, request
    ),
    "claude_fields_are_set_once": _say(
        _fields(top_p=0.5, top_k=5).flatmap(
            lambda fields: _inference(topP=st.just(0.5)).map(lambda inference: {**fields, **inference})
        )
    ),
    "claude_has_no_other_fields": _say(_fields(reasoningConfig={"type": "enabled"})),
    "some_claudes_always_think": _say(_fields(thinking={"type": "disabled"})),
    "nova_1_does_not_reason": _say(_fields(reasoningConfig={"type": "enabled", "maxReasoningEffort": "low"})),
    "nova_has_no_other_fields": _say(_fields(thinking={"type": "disabled"})),
    "nova_reasons_without_a_limit": _say(
        _members(
            inferenceConfig={"maxTokens": 500},
            additionalModelRequestFields={"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
        )
    ),
    "gpt_has_no_other_fields": _say(_fields(thinking={"type": "disabled"})),
    "claude_is_given_texts": _tell({"text": ""}),
    "claude_is_not_given_whitespace": lambda draw, request: _add(_assistant(_TEXT), _user({"text": draw(_BLANKS)}))(
        draw, request
    ),
    "claude_is_not_prefilled": _add(_assistant(_TEXT)),
    "claude_prefills_end_in_text": _add(_assistant({"text": "0 "})),
    "claude_says_more_than_it_thinks": _add(_assistant(_THOUGHT), _user(_TEXT)),
    "claude_thoughts_are_signed": _add(
        _assistant({"reasoningContent": {"reasoningText": {"text": "0"}}}, _TEXT), _user(_TEXT)
    ),
    "claude_thought_before_it_used_tools": _thinks(_AS_IT_IS, _used([_use("a")], [_result("a", _TEXT)])),
    "claude_thinks_as_it_can": _thinks(_AS_IT_IS),
    "claude_cannot_adapt_yet": _thinks(_members(type="adaptive")),
    "claude_thinks_or_must_use_a_tool": _thinks(_AS_IT_IS, _offered(choice={"any": {}})),
    "claude_adapts_or_must_use_a_tool": _thinks(_members(type="adaptive"), _offered(choice={"any": {}})),
    "claude_thinks_at_temperature_one": _thinks(_AS_IT_IS, _say(_inference(temperature=st.sampled_from((0, 0.5))))),
    "claude_3_thinks_without_top_p": _thinks(_AS_IT_IS, _say(_inference(topP=st.sampled_from((0, 0.5, 1))))),
    "claude_4_6_thinks_with_a_high_top_p": _thinks(_AS_IT_IS, _say(_inference(topP=st.sampled_from((0, 0.5, 0.75))))),
    "claude_may_think_enough": _thinks(st.fixed_dictionaries({"budget_tokens": st.integers(0, 1023)})),
    "claude_may_answer_more_than_think": _thinks(_AS_IT_IS, _say(_inference(maxTokens=st.integers(1, 1024)))),
    "claude_has_no_temperature": _say(_inference(temperature=st.sampled_from((0, 0.5, 1)))),
    "claude_has_no_top_p": _say(_inference(topP=st.sampled_from((0, 0.5, 1)))),
    "claude_has_one_way_to_choose": _say(_inference(temperature=st.just(1), topP=st.sampled_from((0.5, 1)))),
    "cache_points_follow_no_thought": _add(_assistant(_TEXT, _THOUGHT, _CACHE_POINT, _TEXT), _user(_TEXT)),
    "cache_points_follow_something": _add(_assistant(_TEXT), _user(_CACHE_POINT, _TEXT)),
    "claude_caches_ever_shorter": _tell(_TEXT, _CACHE_POINT, _TEXT, _HOUR),
    "claude_before_4_5_caches_for_five_minutes": _tell(_TEXT, _HOUR),
    "claude_has_few_cache_points": _tell(*[_TEXT, _CACHE_POINT] * 5),
    "claude_caches_no_file": _tell(_TEXT, _document("a"), _CACHE_POINT),
    "claude_results_stand_without_files": _used([_use("a")], [_result("a", _TEXT), _TEXT, _document("a")]),
    "claude_sees_no_videos": _tell({"video": {"format": "mp4", "source": _S3}}),
    "claude_is_given_its_images": _tell({"image": {"format": "png", "source": _S3}}),
    "claude_is_given_its_documents": _tell(_document("a", **_S3)),
    "claude_cites_no_results": _used([_use("a")], [_result("a", _cited("pdf"))]),
    "claude_cites_pdfs_and_texts": _tell(_cited("docx")),
    "claude_tools_are_no_choice": _offered(
        st.sampled_from([{"type": "object", name: _ANY_OF} for name in ("oneOf", "allOf", "anyOf")])
    ),
    "claude_tools_have_plain_keys": _offered(
        st.sampled_from(("a b", "é", "", "a" * 65)).map(lambda name: {"type": "object", "properties": {name: {}}})
    ),
    "claude_tools_are_of_draft_2020_12": _offered(st.sampled_from(_OTHER_DRAFTS)),
    "claude_tools_have_names_of_their_own": _offered(names=("look", "look")),
    "claude_stops_at_more_than_whitespace": lambda draw, request: _say(
        _inference(stopSequences=st.just([draw(_BLANKS)]))
    )(draw, request),
    "some_claudes_have_no_strict_tools": _offered(more=[_strict({"type": "object"}, strict=False)]),
    "some_claudes_are_not_forced_to_use_a_tool": _offered(choice={"any": {}}),
    "claude_uses_strict_tools_with_closed_objects": _offered(more=[_strict({"type": "object"})]),
    "claude_uses_strict_tools_without_limits": _offered(more=[_strict(_CLOSED | {"properties": {"a": _LIMITED}})]),
    "claude_answers_without_limits": _answered_by(json.dumps(_CLOSED | {"properties": {"a": _LIMITED}})),
    "claude_answers_without_recursion": _answered_by(json.dumps(_TREE)),
    "claude_answers_closed_objects": _answered_by('{"type": "object"}'),
    "some_claudes_answer_without_a_schema": _answered_by(json.dumps(_CLOSED)),
    "claude_images_are_of_their_format": _tell(_image("jpeg")),
    "claude_images_are_small": _tell(_image(data=_png() + bytes(5 * 2**20 * 3 // 4))),
    "claude_images_are_smaller_among_many": _tell(*[_image(data=_png(2001))] * 21),
    "some_are_invoked_by_a_profile": _without_region,
    "some_answers_are_limited": _say(_inference(maxTokens=st.integers(128_001, 2**31 - 1))),
    "llama_is_not_prefilled": _add(_assistant(_TEXT)),
    "nova_results_have_no_files_in_s3": _used([_use("a")], [_result("a", _document("a", **_S3))]),
    "llama_and_mistral_speak_or_use_a_tool": _used([_TEXT, _use("a")], [_result("a", _TEXT)]),
    "llama_and_mistral_speak_or_have_results": _used([_use("a")], [_result("a", _TEXT), _TEXT]),
    "some_stream_no_tools": _offered(),
    "some_use_no_tools": _offered(),
    "llama_is_not_forced_to_use_tools": _offered(choice={"any": {}}),
    "some_are_not_forced_to_use_a_tool": _offered(choice={"tool": {"name": "look"}}),
    "some_see_no_images": _tell(_IMAGE),
    "some_results_have_no_images": _used([_use("a")], [_result("a", _IMAGE)]),
    "some_have_no_stop_sequences": _say(_inference(stopSequences=st.just(["0"]))),
    "some_have_no_system_prompt": _say(_members(system=[_TEXT])),
    "writer_results_have_no_status": _used([_use("a")], [_result("a", _TEXT, status="success")]),
    "some_are_given_no_thoughts": _add(_assistant(_THOUGHT), _user(_TEXT)),
    "some_thoughts_are_not_signed": _add(_assistant(_THOUGHT), _user(_TEXT)),
    "nova_tools_have_no_cache_point": _offered(more=[_CACHE_POINT]),
    "nova_caches_no_results": _used([_use("a")], [_result("a", _TEXT), _CACHE_POINT]),
    "nova_caches_for_five_minutes": _tell(_TEXT, _HOUR),
    "some_cache_nothing": _tell(_TEXT, _CACHE_POINT),
    "some_have_no_temperature": _say(_inference(temperature=st.sampled_from((0, 1)))),
    "some_cite_nothing": _tell(_cited("txt")),
    "nova_images_are_images": _tell(_image(data=b"no image")),
    "llama_images_are_of_their_format": _tell(_image("jpeg")),
    "some_results_are_not_empty": _used([_use("a")], [_result("a")]),
}
"""Name of a rule -> the change that breaks the rule. The rules that are missing here forbid only requests that boto
never sends.
"""


_NEEDS: Final[Mapping[str, tuple[str, str]]] = {
    "claude_answers_closed_objects": ("ConverseRequest", "outputConfig"),
    "claude_answers_without_limits": ("ConverseRequest", "outputConfig"),
    "claude_answers_without_recursion": ("ConverseRequest", "outputConfig"),
    "claude_before_4_5_caches_for_five_minutes": ("CachePointBlock", "ttl"),
    "claude_caches_ever_shorter": ("CachePointBlock", "ttl"),
    "claude_cites_no_results": ("DocumentBlock", "citations"),
    "claude_cites_pdfs_and_texts": ("DocumentBlock", "citations"),
    "claude_uses_strict_tools_with_closed_objects": ("ToolSpecification", "strict"),
    "claude_uses_strict_tools_without_limits": ("ToolSpecification", "strict"),
    "nova_caches_for_five_minutes": ("CachePointBlock", "ttl"),
    "output_schema_is_json": ("ConverseRequest", "outputConfig"),
    "service_tier_is_one": ("ConverseRequest", "serviceTier"),
    "some_cite_nothing": ("DocumentBlock", "citations"),
    "some_claudes_answer_without_a_schema": ("ConverseRequest", "outputConfig"),
    "some_claudes_have_no_strict_tools": ("ToolSpecification", "strict"),
}
"""Name of a rule about a member that older versions of botocore lack -> the shape with this member, and the name of the
member.
"""


def breakable() -> list[str]:
    """Return the names of the rules that a request from the installed boto can break."""
    return [name for name in BREAKS if name not in _NEEDS or bedrock.has_member(*_NEEDS[name])]


class Refused(NamedTuple):
    """A request that Bedrock refuses.

    `request` has the keyword arguments of boto3's `converse` or `converse_stream`; `operation` is Converse or
    ConverseStream; `rule` is the name of the broken rule, `message` Bedrock's message. `unmodified` is the request
    before the rule was broken, which Bedrock accepts.

    >>> sound = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    >>> broken = {"modelId": "m", "messages": [{"role": "assistant", "content": [{"text": "hi"}]}]}
    >>> Refused(broken, "Converse", "first_message_is_the_users", "A conversation must start with ...", sound).rule
    'first_message_is_the_users'
    """

    request: Json
    operation: str
    rule: str
    message: str
    unmodified: Json


MODELS: Final = (
    *basics.MODEL_IDS,
    "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "us.anthropic.claude-opus-4-6-v1",
    "us.anthropic.claude-opus-4-7",
    "us.anthropic.claude-sonnet-5",
    "us.anthropic.claude-opus-5-5",
    "us.amazon.nova-2-lite-v1:0",
    "us.meta.llama3-3-70b-instruct-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "meta.llama3-8b-instruct-v1:0",
    "mistral.mistral-7b-instruct-v0:2",
    "us.mistral.pixtral-large-2502-v1:0",
    "us.deepseek.r1-v1:0",
    "amazon.titan-text-express-v1",
    "us.writer.palmyra-x4-v1:0",
    "amazon.nova-micro-v1:0",
    "amazon.nova-pro-v1:0",
    "moonshot.kimi-k2-thinking",
    "qwen.qwen3-235b-a22b-2507-v1:0",
    "us.openai.gpt-6-astra",
    "nvidia.nemotron-nano-12b-v2",
)
"""The models of the drawn requests. Each rule applies to at least one of these models."""

_STREAMED: Final = ("some_stream_no_tools",)
"""The names of the rules that apply only to ConverseStream."""


@composite
def refused_requests(draw: st.DrawFn, *, rules: Collection[str] | None = None, texts: Texts | None = None) -> Refused:
    """Requests that break exactly one of Bedrock's rules, each with Bedrock's message and the `unmodified` request.

    The rule applies to the model of the request. `rules` are names of rules, by default of all rules that refuse
    requests; some rules refuse requests only at the level "strict". `texts` is a strategy for texts. boto's own
    validation accepts every drawn request. Source: `converse_harness.bedrock.rules`, which names the evidence for each
    message. Raises InvalidArgument, when drawn, for an unknown rule.

    >>> from hypothesis import find
    >>> refused = find(refused_requests(rules=["first_message_is_the_users"]), lambda refused: True)
    >>> [message["role"] for message in refused.request["messages"]]
    ['assistant', 'user']
    """
    names = chosen("refused_requests", "rules", rules, tuple(breakable()))
    rule = draw(_rules_named(names))
    stream = rule.name in _STREAMED
    operation = "ConverseStream" if stream else "Converse"
    sound = draw(
        converse_requests(model_ids=_models_with(rule.name), kinds=("text",), max_turns=1, texts=texts, stream=stream)
    )
    request = copy.deepcopy(sound)
    BREAKS[rule.name](draw, request)
    refusals = list(refusals_of(asked(operation, request), "strict"))
    assume([each.rule for each in refusals] == [rule])
    return Refused(request, operation, rule.name, refusals[0].message, sound)


@cached
def _rules_named(names: tuple[str, ...]) -> st.SearchStrategy[Rule]:
    return st.sampled_from([each for each in RULES if each.name in names])


@cache
def _models_with(name: str) -> st.SearchStrategy[str]:
    """Strategy for the ids in `MODELS` to which the rule with this name applies."""
    (rule,) = (each for each in RULES if each.name == name)
    found = st.sampled_from([model_id for model_id in MODELS if standing(model_id).id in rule.models])
    KNOWN_TO_DRAW_TEXTS.add(found)
    return found
