"""Each row of the table of what answers need: an answer that does not fit is noted, and one that fits is not."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args
from urllib.parse import quote

import pytest

from converse_harness import Call, Endpoint, ImpossibleAnswer, Reply, bedrock, cases, reply
from converse_harness.bedrock.citations import citing
from converse_harness.bedrock.fit import BY_NAME
from converse_harness.bedrock.guardrails import POLICIES, complete, found, guardrail_details, measured, units
from converse_harness.cases.case import Made
from converse_harness.endpoint.failure_texts import transcript
from converse_harness.settings import RuleLevel
from converse_harness.stream.http import Request

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA: Final = "us.amazon.nova-lite-v1:0"
NOVA_2: Final = "us.amazon.nova-2-lite-v1:0"
ROUTER: Final = "arn:aws:bedrock:us-east-1:123456789012:default-prompt-router/anthropic.claude:1"
PROFILE: Final = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0"

GUARDRAIL: Final = {"guardrailIdentifier": "abcdefghijkl", "guardrailVersion": "1"}
TRACED: Final = {"guardrailConfig": {**GUARDRAIL, "trace": "enabled"}}
USAGE: Final = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
CACHED: Final = {**USAGE, "totalTokens": 25, "cacheReadInputTokens": 6, "cacheWriteInputTokens": 4}
TEXT: Final = {"name": "policy", "source": {"text": "Twenty days."}}
PDF: Final = {"name": "policy", "format": "pdf", "source": {"bytes": b"%PDF-1.7"}}
CITED: Final = {**TEXT, "format": "txt", "citations": {"enabled": True}}
OBJECT: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def user(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [*blocks, {"text": "?"}]}]}


def offering(*names: str, choice: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    specs = [{"toolSpec": {"name": name, "inputSchema": {"json": OBJECT}, **more}} for name in names]
    return {"toolConfig": {"tools": specs, **({"toolChoice": choice} if choice else {})}}


def formatted(schema: Any) -> dict[str, Any]:
    named = {"name": "answer", "schema": json.dumps(schema)}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": named}}}}


def limited(most: int) -> dict[str, Any]:
    return {"inferenceConfig": {"maxTokens": most}}


def fields(**given: Any) -> dict[str, Any]:
    return {"additionalModelRequestFields": given}


def tool(name: str = "look", **given: Any) -> Reply:
    return reply.tool_use(name, given or {"city": "Chur"})


def traced(policy: str = "topic", **named: Any) -> dict[str, Any]:
    """A trace with one assessment of the input."""
    details = guardrail_details("abcdefghijkl", "1")
    assessment = complete(found(POLICIES[policy]), "BLOCKED")
    assessment = measured(assessment, "input", 40, units("input", 40), details)
    if bedrock.has_member("GuardrailAssessment", "appliedGuardrailDetails"):
        assessment["appliedGuardrailDetails"] |= named
    else:  # an older botocore
        assessment.pop("appliedGuardrailDetails", None)
    return {"guardrail": {"inputAssessment": {"abcdefghijkl": assessment}}}


@dataclass(frozen=True)
class Pair:
    """An answer, a request that it does not fit by one row, and one that it fits. `more` also do not fit."""

    answer: Callable[[], Made]
    misfit: Mapping[str, Any]
    fits: Mapping[str, Any]
    model: str = SONNET
    fits_model: str = ""
    operations: tuple[str, ...] = ("Converse", "ConverseStream")
    more: tuple[str, ...] = field(default=())
    needs: str = ""
    """A member of AWS's API model, such as `TokenUsage.cacheDetails`, which an older botocore lacks."""


def after_use(use_id: str) -> dict[str, Any]:
    """A request after a use of a tool with this id."""
    use = {"toolUse": {"toolUseId": use_id, "name": "look", "input": {"city": "Chur"}}}
    result = {"toolResult": {"toolUseId": use_id, "content": [{"text": "18 °C"}]}}
    messages = [*user()["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return {**offering("look"), "messages": messages}


def prefilled(text: str) -> dict[str, Any]:
    return {"messages": [*user()["messages"], {"role": "assistant", "content": [{"text": text}]}]}


SYSTEM_TOOL: Final = {"toolConfig": {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}}
POINT: Final = {"messages": [{"role": "user", "content": [{"text": "?"}, {"cachePoint": {"type": "default"}}]}]}
HOUR: Final = {
    "messages": [{"role": "user", "content": [{"text": "?"}, {"cachePoint": {"type": "default", "ttl": "1h"}}]}]
}
GUARDED: Final = [
    {"guardContent": {"text": {"text": each, "qualifiers": [each]}}} for each in ("grounding_source", "query")
]

PAIRS: Final[Mapping[str, Pair]] = {
    "tools_are_offered": Pair(tool, {}, offering("look")),
    "tool_name_is_offered": Pair(lambda: tool("get_wether"), offering("get_weather"), offering("get_wether")),
    "tool_is_offered": Pair(tool, offering("pay"), offering("pay", "look")),
    "tool_input_fits_its_schema": Pair(
        lambda: tool(city=7),
        offering("look"),
        {"toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}},
    ),
    "strict_tool_gets_its_schema": Pair(
        lambda: tool(town="Chur"),
        offering("look", strict=True),
        {"toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {}}, "strict": True}}]}},
    ),
    "strict_tools_are_the_only_ones": Pair(
        tool, offering("pay", strict=True), offering("pay", "look", strict=True), more=("tool_is_offered",)
    ),
    "tool_use_id_is_new": Pair(
        lambda: reply.message({"toolUse": {"toolUseId": "use_1", "name": "look", "input": {"city": "Chur"}}}),
        after_use("use_1"),
        after_use("use_0"),
    ),
    "tool_use_is_the_stop_reason": Pair(
        lambda: reply.message({"text": "Hm."}, stop_reason="tool_use"), {}, {}, operations=("Converse",)
    ),
    "claude_uses_the_forced_tool": Pair(
        tool, offering("pay", "look", choice={"tool": {"name": "pay"}}), offering("pay", "look", choice={"any": {}})
    ),
    "forced_tool_is_used": Pair(
        lambda: reply.text("No."), offering("look", choice={"any": {}}), offering("look"), model=NOVA
    ),
    "claude_says_nothing_beside_a_forced_tool": Pair(
        lambda: reply.message({"text": "Hm."}, {"toolUse": {"name": "look", "input": {"city": "Chur"}}}),
        offering("look", choice={"any": {}}),
        offering("look", choice={"auto": {}}),
    ),
    "parallel_tools_are_allowed": Pair(
        lambda: reply.message(*({"toolUse": {"name": "look", "input": {"city": each}}} for each in "ab")),
        {**offering("look"), **fields(tool_choice={"type": "auto", "disable_parallel_tool_use": True})},
        {**offering("look"), **fields(top_k=5)},
    ),
    "server_tool_is_offered": Pair(
        lambda: cases.server_tool_nova.make(),  # noqa: PLW0108 - an older botocore has no such case
        {},
        SYSTEM_TOOL,
        model=NOVA_2,
        needs="ToolUseBlock.type",
    ),
    "trace_is_asked": Pair(reply.guardrail_blocked, {"guardrailConfig": {**GUARDRAIL, "trace": "disabled"}}, TRACED),
    "guardrail_is_asked": Pair(lambda: reply.guardrail_blocked(trace=False), {}, {"guardrailConfig": GUARDRAIL}),
    "grounding_has_a_source_and_a_query": Pair(
        lambda: reply.guardrail_blocked(policy="grounding", side="output"), TRACED, {**TRACED, **user(*GUARDED)}
    ),
    "guardrail_is_the_asked_one": Pair(
        lambda: reply.message({"text": "No."}, stop_reason="guardrail_intervened", trace=traced()),
        {"guardrailConfig": {**TRACED["guardrailConfig"], "guardrailVersion": "2"}},
        TRACED,
        needs="GuardrailAssessment.appliedGuardrailDetails",
    ),
    "model_thinks": Pair(lambda: reply.reasoning("Hm.", "Yes."), {}, {}, model=NOVA, fits_model="deepseek.r1-v1:0"),
    "thinking_is_asked": Pair(
        lambda: reply.reasoning("Hm.", "Yes."), {}, fields(thinking={"type": "enabled", "budget_tokens": 1024})
    ),
    "reasoning_is_asked": Pair(
        lambda: reply.reasoning("Hm.", "Yes."), {}, fields(reasoningConfig={"type": "enabled"}), model=NOVA_2
    ),
    "model_signs_its_thoughts": Pair(
        lambda: reply.reasoning("Hm.", "Yes.", signature="abcd"),
        {},
        fields(thinking={"type": "enabled", "budget_tokens": 1024}),
        model="deepseek.r1-v1:0",
        fits_model=SONNET,
    ),
    "citations_are_enabled": Pair(
        lambda: reply.cited("20 days", citing(TEXT, "Twenty")),
        user({"document": {**TEXT, "format": "txt"}}),
        user({"document": CITED}),
    ),
    "citation_is_of_a_source": Pair(
        lambda: reply.cited("20 days", citing(PDF, pages=1)),
        user({"document": CITED}),
        user({"document": {**PDF, "citations": {"enabled": True}}}),
    ),
    "citation_quotes_its_source": Pair(
        lambda: reply.cited("20 days", citing(TEXT, "Twenty")),
        user({"document": {**CITED, "source": {"text": "Thirty days."}}}),
        user({"document": CITED}),
    ),
    "answer_continues_the_prefill": Pair(lambda: reply.text('{"a": 1}'), prefilled("{"), prefilled("[")),
    "text_follows_the_format": Pair(
        lambda: reply.json({"city": 7}), formatted(OBJECT), formatted({"type": "object"}), model=SONNET
    ),
    "model_makes_media": Pair(
        lambda: cases.image_block.make(),  # noqa: PLW0108 - an older botocore has no such case
        {},
        {},
        fits_model="my-images",
        needs="ContentBlockDelta.image",
    ),
    "cache_has_a_cache_point": Pair(lambda: reply.text("hi", usage=CACHED), {}, POINT),
    "cache_details_are_in_json": Pair(
        lambda: reply.text("hi", usage={**CACHED, "cacheDetails": [{"ttl": "5m", "inputTokens": 4}]}),
        POINT,
        POINT,
        model="us.anthropic.claude-3-7-sonnet-20250219-v1:0",
        fits_model=SONNET,
        operations=("Converse",),
        needs="TokenUsage.cacheDetails",
    ),
    "cache_details_have_an_asked_ttl": Pair(
        lambda: reply.text("hi", usage={**CACHED, "cacheDetails": [{"ttl": "1h", "inputTokens": 4}]}),
        POINT,
        HOUR,
        operations=("Converse",),
        needs="TokenUsage.cacheDetails",
    ),
    "tokens_are_within_max_tokens": Pair(
        lambda: reply.text("hi", usage=USAGE),
        {"inferenceConfig": {"maxTokens": 4}},
        {"inferenceConfig": {"maxTokens": 5}},
    ),
    "answer_is_within_max_tokens": Pair(
        lambda: reply.text("word " * 50),
        {"inferenceConfig": {"maxTokens": 20}},
        {"inferenceConfig": {"maxTokens": 200}},
    ),
    "long_answer_has_max_tokens": Pair(lambda: reply.text("word " * 9000), {}, limited(20000)),
    "max_tokens_are_reached": Pair(lambda: reply.text("hi", stop_reason="max_tokens", usage=USAGE), {}, limited(5)),
    "stop_sequence_is_asked": Pair(
        lambda: reply.text("hi", stop_reason="stop_sequence"), {}, {"inferenceConfig": {"stopSequences": ["END"]}}
    ),
    "text_ends_before_the_stop_sequence": Pair(
        lambda: reply.text("The END"), {"inferenceConfig": {"stopSequences": ["END"]}}, {}
    ),
    "additional_fields_are_asked": Pair(
        lambda: reply.message({"text": "hi"}, additional={"stop_sequence": None}),
        {"additionalModelResponseFieldPaths": ["/other"]},
        {"additionalModelResponseFieldPaths": ["/stop_sequence"]},
    ),
    "tier_is_the_asked_one": Pair(
        lambda: reply.message({"text": "hi"}, service_tier={"type": "flex"}),
        {"serviceTier": {"type": "default"}},
        {"serviceTier": {"type": "flex"}},
        needs="ConverseRequest.serviceTier",
    ),
    "prompt_router_is_asked": Pair(
        lambda: reply.message({"text": "hi"}, trace={"promptRouter": {"invokedModelId": PROFILE}}),
        {},
        {},
        fits_model=ROUTER,
    ),
}
"""For each row, a pair of requests; the answer fits one of them."""


def asked(
    answer: Reply, request: Mapping[str, Any], model: str = SONNET, operation: str = "Converse", **settings: Any
) -> tuple[Endpoint, Call]:
    """Ask once. Rules are off, because some requests are not Bedrock's."""
    endpoint = Endpoint(answer, **{"rules": "off", "answers": "default", **settings})
    body = json.dumps({**user(), **request}, default=lambda value: b64encode(value).decode()).encode()
    path = f"/model/{quote(model, safe='')}/{'converse' if operation == 'Converse' else 'converse-stream'}"
    exchange = endpoint.exchange(Request("POST", path, (), body))
    for chunk in exchange.response.chunks:
        exchange.taken.add(chunk, 0.0)
    exchange.ended("complete")
    assert exchange.response.status == 200
    return endpoint, exchange.call


def made(pair: Pair) -> Reply:
    answer = pair.answer()
    assert isinstance(answer, Reply)
    return answer


HERE: Final = {
    name: pair for name, pair in PAIRS.items() if not pair.needs or bedrock.has_member(*pair.needs.split("."))
}
BOTH: Final = [(name, operation) for name, pair in HERE.items() for operation in pair.operations]


@pytest.mark.parametrize(("name", "operation"), BOTH)
def test_an_answer_that_does_not_fit_is_noted(name: str, operation: str) -> None:
    pair = PAIRS[name]
    endpoint, call = asked(made(pair), pair.misfit, pair.model, operation)
    assert {note.kind for note in endpoint.notes} == {name, *pair.more}
    (note,) = (note for note in call.notes if note.kind == name)
    assert note.text.startswith("call 1 was answered with ")
    assert BY_NAME[name].source in note.text


ALONE: Final = "tool_use_is_the_stop_reason"
"""The row that is about the answer alone, so that no request fits."""


@pytest.mark.parametrize(("name", "operation"), [each for each in BOTH if each[0] != ALONE])
def test_an_answer_that_fits_is_not(name: str, operation: str) -> None:
    pair = PAIRS[name]
    endpoint, _ = asked(made(pair), pair.fits, pair.fits_model or pair.model, operation)
    assert endpoint.notes == []
    assert endpoint.problems == []


def test_two_uses_of_an_answer_have_ids_of_their_own() -> None:
    one, other = ({"toolUse": {"toolUseId": each, "name": "look", "input": {"city": "Chur"}}} for each in "ab")
    for blocks, noted in (((one, other), []), ((one, one), ["tool_use_id_is_new"])):
        endpoint, _ = asked(reply.message(*blocks), offering("look"))
        assert [note.kind for note in endpoint.notes] == noted
    unnamed = {"toolUse": {"name": "look", "input": {"city": "Chur"}}}
    assert asked(reply.message(unnamed, unnamed), offering("look"))[0].notes == []


def test_an_array_of_arrays_continues_an_array() -> None:
    assert asked(reply.text("[1], [2]]"), prefilled("["))[0].notes == []


CHARACTERS: Final = {"documentChar": {"documentIndex": 0, "start": 0, "end": 13}}


def test_a_citation_is_within_its_source() -> None:
    cited = {"content": [{"text": "20 days"}], "citations": [{"title": "policy", "location": CHARACTERS}]}
    endpoint, _ = asked(reply.message({"citationsContent": cited}), user({"document": CITED}))
    (note,) = endpoint.notes
    assert "has a document there of 12 characters: the end 13 is too large" in note.text


def test_each_row_has_a_pair() -> None:
    assert [*PAIRS] == [*BY_NAME]


@pytest.mark.parametrize("name", HERE)
def test_only_what_bedrock_never_answers_fails_at_the_strict_level(name: str) -> None:
    pair = PAIRS[name]
    endpoint, _ = asked(made(pair), pair.misfit, pair.model, pair.operations[0], answers={"*": "off", name: "strict"})
    if BY_NAME[name].likelihood == "never":
        (problem,) = endpoint.problems
        assert isinstance(problem, ImpossibleAnswer)
        assert f"row       {name}: " in str(problem)
        assert endpoint.notes == []
    else:
        assert [note.kind for note in endpoint.notes] == [name]
        assert endpoint.problems == []


@pytest.mark.parametrize("name", HERE)
def test_a_row_that_is_off_says_nothing(name: str) -> None:
    pair = PAIRS[name]
    levels = {"*": "strict", **dict.fromkeys((name, *pair.more), "off")}
    endpoint, _ = asked(made(pair), pair.misfit, pair.model, pair.operations[0], answers=levels)
    assert endpoint.notes == []
    assert endpoint.problems == []


@pytest.mark.parametrize("level", get_args(RuleLevel))
def test_answers_have_the_level_of_the_rules(level: RuleLevel) -> None:
    endpoint, _ = asked(tool(), {}, rules=level, answers="rules")
    by_level = {
        "off": ([], 0),
        "warn": (["tools_are_offered"], 0),
        "default": (["tools_are_offered"], 0),
        "strict": ([], 1),
    }
    assert ([note.kind for note in endpoint.notes], len(endpoint.problems)) == by_level[level]


def test_what_the_test_means_is_not_noted() -> None:
    means_it = reply.message({"toolUse": {"name": "look", "input": {}}}, strict=False)
    for answer in (means_it, cases.tool_unknown.reply, cases.tool_but_end_turn.reply):
        request = offering("get_weather") if answer is not means_it else {}
        assert asked(answer, request)[0].notes == []


TRACES: Final = {None: False, "disabled": False, "enabled": True, "enabled_full": True}


@pytest.mark.parametrize("operation", ["Converse", "ConverseStream"])
@pytest.mark.parametrize("trace", TRACES)
def test_a_trace_is_sent_if_it_is_asked_for(trace: str | None, operation: str) -> None:
    config = {**GUARDRAIL, **({"trace": trace} if trace else {})}
    router = {"promptRouter": {"invokedModelId": PROFILE}}
    answer = reply.message({"text": "No."}, stop_reason="guardrail_intervened", trace={**traced(), **router})
    for level, sends in (("default", TRACES[trace]), ("strict", TRACES[trace]), ("off", True)):
        _, call = asked(answer, {"guardrailConfig": config}, ROUTER, operation, answers=level)
        assert call.response is not None
        assert call.response.trace is not None
        assert ("guardrail" in call.response.trace) is sends
        assert call.response.trace["promptRouter"] == router["promptRouter"]


def test_nothing_else_of_the_answer_is_changed() -> None:
    for name, pair in HERE.items():
        if name == "trace_is_asked" or "trace" in getattr(made(pair).plan.body, "options", {}):
            continue
        noted, silent = (
            asked(made(pair), pair.misfit, pair.model, pair.operations[0], answers=level)[1]
            for level in ("default", "off")
        )
        assert noted.response == silent.response, name


PLAIN: Final = ("-p", "no:randomly", "-p", "no:asyncio")


def test_the_failure_begins_with_the_line_that_scripted_the_answer(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from converse_harness import reply

        def test_books(converse, converse_client):
            converse.script(reply.tool_use("book", {}))
            converse_client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
        """
    )
    result = pytester.runpytest("--converse-answers=strict", *PLAIN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*ImpossibleAnswer: test_it.py:4: Bedrock never answers like this: call 1 was answered with toolUse *",
            "*row       tools_are_offered: *",
            '*@pytest.mark.converse(answers={"tools_are_offered": "off"})*',
        ]
    )


def test_a_note_stands_once_in_the_summary_and_in_the_transcript(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from converse_harness import reply

        def test_books(converse, converse_client):
            converse.always(reply.tool_use("book", {}))
            for _ in range(3):
                converse_client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
            assert not converse.calls
        """
    )
    result = pytester.runpytest(*PLAIN)
    result.stdout.fnmatch_lines(["tools_are_offered, in 1 test", "  test_it.py::test_books"])
    summary = result.stdout.str().partition("converse notes")[2]
    assert summary.count("was answered with toolUse") == 1
    assert result.stdout.str().count("note     tools_are_offered: call") == 3


def test_a_transcript_shows_which_members_of_the_request_were_used() -> None:
    _, call = asked(tool(), offering("look", choice={"any": {}}))
    assert "    uses     toolConfig.tools, toolConfig.toolChoice" in transcript([call])


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(
        ValueError, match=r"answers: tool_is_ofered: no row has this name\. Did you mean 'tool_is_offered'"
    ):
        Endpoint(answers={"tool_is_ofered": "off"})
