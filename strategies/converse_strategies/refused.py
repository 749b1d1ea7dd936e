"""Requests that Bedrock refuses: how each rule is broken, in a request that breaks no other."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.rules import RULES, RuleRequest, refusals_of
from converse_harness.bedrock.rules.rule import bare
from converse_strategies import leaves
from converse_strategies.blocks import Texts
from converse_strategies.leaves import chosen
from converse_strategies.requests import converse_requests

Json = dict[str, Any]
Break = Callable[[st.DrawFn, Json], None]
"""Breaks a rule in the keyword arguments of boto3's `converse`; what is in them stays as it is."""


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


_MISSPELT: Final = "arn:aws:bedrock:us-east-1:123456789012:imported-model/my-model"
"""The ids of imported models have twelve characters. The account is AWS's example."""

_TEXT: Final[Json] = {"text": "0"}
_S3: Final = {"s3Location": {"uri": "s3://abc/file"}}
_IMAGE: Final = {"image": {"format": "png", "source": {"bytes": b"0"}}}
_THOUGHT: Final = {"reasoningContent": {"reasoningText": {"text": "0", "signature": "0"}}}
_CACHE_POINT: Final[Json] = {"cachePoint": {"type": "default"}}


def _offer(request: Json, schema: Any = None, choice: Json | None = None) -> None:
    """Offer one tool."""
    spec = {"name": "look", "inputSchema": {"json": {"type": "object"} if schema is None else schema}}
    request["toolConfig"] = {"tools": [{"toolSpec": spec}], **({"toolChoice": choice} if choice else {})}


def _add(*messages: Json, tools: bool = False) -> Break:
    """Say more in the end, perhaps with a tool."""

    def add(draw: st.DrawFn, request: Json) -> None:
        request["messages"] = [*request["messages"], *messages]
        if tools:
            _offer(request)

    return add


def _tell(*content: Json) -> Break:
    """Say more in the last message."""

    def tell(draw: st.DrawFn, request: Json) -> None:
        *others, last = request["messages"]
        request["messages"] = [*others, {**last, "content": [*last["content"], *content]}]

    return tell


def _used(uses: Collection[Json], results: Collection[Json]) -> Break:
    """Say more in the end: tools were used, and this came of it."""
    return _add(_assistant(*uses), _user(*results), tools=True)


def _say(values: st.SearchStrategy[Json]) -> Break:
    """Members of the request."""

    def say(draw: st.DrawFn, request: Json) -> None:
        request.update(draw(values))

    return say


def _members(**members: Any) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({name: st.just(value) for name, value in members.items()})


def _inference(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"inferenceConfig": st.fixed_dictionaries(values)})


def _offered(schemas: st.SearchStrategy[Any] | None = None, choice: Json | None = None) -> Break:
    """Offer a tool, with another schema or a choice."""

    def offer(draw: st.DrawFn, request: Json) -> None:
        _offer(request, None if schemas is None else draw(schemas), choice)

    return offer


def _thinks(how: st.SearchStrategy[Json], *more: Break) -> Break:
    """Claude is to think so."""

    def think(draw: st.DrawFn, request: Json) -> None:
        request.pop("inferenceConfig", None)
        request.pop("toolConfig", None)
        thinking = {"type": "enabled", "budget_tokens": 1024} | draw(how)
        request["additionalModelRequestFields"] = {"thinking": thinking}
        for each in more:
            each(draw, request)

    return think


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
"""boto knows minima, and no maxima, patterns or enums."""
_NO_OBJECTS: Final = st.sampled_from((1, "0", True, [0]))
_AS_IT_IS: Final = _members()

BREAKS: Final[Mapping[str, Break]] = {
    "model_id_is_well_formed": _say(_members(modelId=_MISSPELT)),
    "model_exists": _say(st.fixed_dictionaries({"modelId": leaves.tool_names()})),
    "model_converses": _say(_members(modelId="amazon.nova-2-sonic-v1:0")),
    "constraints_hold": _say(_UNMODELLED),
    "conversation_is_not_empty": _say(_members(messages=[])),
    "first_message_is_the_users": _begin_with_the_assistant,
    "roles_alternate": _add(_user(_TEXT)),
    "content_is_not_empty": _add(_assistant(), _user(_TEXT)),
    "text_is_not_blank": lambda draw, request: _tell({"text": draw(_BLANKS)})(draw, request),
    "guard_content_is_not_blank": lambda draw, request: _tell({"guardContent": {"text": {"text": draw(_BLANKS)}}})(
        draw, request
    ),
    "tool_config_is_there": _without_tools,
    "tool_schema_is_json": _offered(_NO_OBJECTS),
    "tool_schema_is_of_an_object": _offered(st.sampled_from(({}, {"type": "string"}, {"type": ["object"]}))),
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
    "claude_is_invoked_by_a_profile": _without_region,
    "claude_is_given_texts": _tell({"text": ""}),
    "claude_is_not_given_whitespace": lambda draw, request: _add(_assistant(_TEXT), _user({"text": draw(_BLANKS)}))(
        draw, request
    ),
    "claude_is_not_prefilled": _add(_assistant(_TEXT)),
    "claude_says_more_than_it_thinks": _add(_assistant(_THOUGHT), _user(_TEXT)),
    "claude_thoughts_are_signed": _add(
        _assistant({"reasoningContent": {"reasoningText": {"text": "0"}}}, _TEXT), _user(_TEXT)
    ),
    "claude_thought_before_it_used_tools": _thinks(_AS_IT_IS, _used([_use("a")], [_result("a", _TEXT)])),
    "claude_thinks_as_it_can": _thinks(_AS_IT_IS),
    "claude_cannot_adapt_yet": _thinks(_members(type="adaptive")),
    "claude_thinks_or_must_use_a_tool": _thinks(_AS_IT_IS, _offered(choice={"any": {}})),
    "claude_thinks_at_temperature_one": _thinks(_AS_IT_IS, _say(_inference(temperature=st.sampled_from((0, 0.5))))),
    "claude_3_thinks_without_top_p": _thinks(_AS_IT_IS, _say(_inference(topP=st.sampled_from((0, 0.5, 1))))),
    "claude_4_6_thinks_with_a_high_top_p": _thinks(_AS_IT_IS, _say(_inference(topP=st.sampled_from((0, 0.5, 0.75))))),
    "claude_may_think_enough": _thinks(st.fixed_dictionaries({"budget_tokens": st.integers(0, 1023)})),
    "claude_may_answer_more_than_think": _thinks(_AS_IT_IS, _say(_inference(maxTokens=st.integers(1, 1024)))),
    "claude_has_no_temperature": _say(_inference(temperature=st.sampled_from((0, 0.5, 1)))),
    "claude_has_one_way_to_choose": _say(_inference(temperature=st.just(1), topP=st.sampled_from((0.5, 1)))),
    "claude_has_few_cache_points": _tell(*[_TEXT, _CACHE_POINT] * 5),
    "claude_caches_no_file": _tell(_TEXT, _document("a"), _CACHE_POINT),
    "claude_results_stand_without_files": _used([_use("a")], [_result("a", _TEXT), _TEXT, _document("a")]),
    "claude_sees_no_videos": _tell({"video": {"format": "mp4", "source": _S3}}),
    "claude_is_given_its_images": _tell({"image": {"format": "png", "source": _S3}}),
    "claude_is_given_its_documents": _tell(_document("a", **_S3)),
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
    "gpt_results_have_no_images": _used([_use("a")], [_result("a", _IMAGE)]),
    "some_have_no_stop_sequences": _say(_inference(stopSequences=st.just(["0"]))),
    "some_have_no_system_prompt": _say(_members(system=[_TEXT])),
    "writer_results_have_no_status": _used([_use("a")], [_result("a", _TEXT, status="success")]),
    "deepseek_is_not_given_thoughts": _add(_assistant(_THOUGHT), _user(_TEXT)),
    "some_thoughts_are_not_signed": _add(_assistant(_THOUGHT), _user(_TEXT)),
}
"""How each rule is broken; a request of boto's can break no others, for it does not send them."""


class Refused(NamedTuple):
    """A request that Bedrock refuses: the keyword arguments of boto3's `converse`, or of `converse_stream`.

    `operation` says of which of the two, Converse or ConverseStream; `rule` is the name of the rule that it breaks,
    `message` what Bedrock says. `unmodified` is the request before it was broken, which Bedrock takes.
    """

    request: Json
    operation: str
    rule: str
    message: str
    unmodified: Json


MODELS: Final = (
    *leaves.MODEL_IDS,
    "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "us.anthropic.claude-opus-4-6-v1",
    "us.anthropic.claude-opus-4-7",
    "us.anthropic.claude-sonnet-5",
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
)
"""A model for each rule, at least."""

_STREAMED: Final = ("some_stream_no_tools",)
"""The rules that are of ConverseStream alone."""


@st.composite
def refused_requests(draw: st.DrawFn, *, rules: Collection[str] | None = None, texts: Texts | None = None) -> Refused:
    """Requests that break exactly one rule of what Bedrock refuses, each with Bedrock's message, and the `unmodified`
    one.

    Their model is one that the rule is known of. `rules` are names of rules, all of them if not given; those that are
    held against requests only at the level "strict" are among them. `texts` is what is said. boto's own validation
    lets them pass; what it does not let pass is not drawn. Source: `converse_harness.bedrock.rules`, which names who
    saw each message. Raises InvalidArgument, when drawn, for an unknown rule.

    >>> from hypothesis import find
    >>> refused = find(refused_requests(rules=["first_message_is_the_users"]), lambda refused: True)
    >>> [message["role"] for message in refused.request["messages"]]
    ['assistant', 'user']
    """
    names = chosen("refused_requests", "rules", rules, [rule.name for rule in RULES if rule.name in BREAKS])
    rule = draw(st.sampled_from([each for each in RULES if each.name in names]))
    of_rule = [model_id for model_id in MODELS if model_id in rule.models]
    stream = rule.name in _STREAMED
    operation = "ConverseStream" if stream else "Converse"
    model_ids = st.sampled_from(of_rule)
    sound = draw(converse_requests(model_ids=model_ids, kinds=["text"], max_turns=1, texts=texts, stream=stream))
    request = copy.deepcopy(sound)
    BREAKS[rule.name](draw, request)
    refusals = list(refusals_of(_asked(operation, request), "strict"))
    assume([each.rule for each in refusals] == [rule])
    return Refused(request, operation, rule.name, refusals[0].message, sound)


def _asked(operation: str, request: Json) -> RuleRequest:
    body = {name: value for name, value in request.items() if name != "modelId"}
    return RuleRequest(operation, request["modelId"], json.loads(bedrock.to_json("ConverseRequest", body)))
