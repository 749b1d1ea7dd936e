"""What a contract may be set to, and what an outcome may be: all else is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from converse_harness import Reply, fake_converse
from converse_harness.cases import CASES, UnknownCase
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall, consumer_contract
from converse_harness.contract.expectations import STOP_REASONS
from converse_harness.contract.properties import PROPERTIES, PropertyDraw, names_in, stop_reason_of
from converse_harness.contract.settings import SETTINGS
from converse_harness.contract.trying import offers_tool
from converse_harness.errors import ReplyError


def ask(target: Target) -> Outcome:
    raise NotImplementedError


def takes_nothing() -> Outcome:
    raise NotImplementedError


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "transport": ({"transport": "boto3"}, ".transport = 'boto3'; one of 'boto', 'httpx', 'server'."),
    "operation": ({"operation": "InvokeModel"}, ".operation = 'InvokeModel'; one of 'ConverseStream', 'Converse'."),
    "time_limit": ({"time_limit": 0}, ".time_limit = 0; a number of seconds, more than 0."),
    "time_limit as text": ({"time_limit": "5"}, ".time_limit = '5'; a number of seconds, more than 0."),
    "most_calls": ({"most_calls": 0}, ".most_calls = 0; a whole number, 1 or more."),
    "examples": ({"examples": 2.5}, ".examples = 2.5; a whole number, 1 or more."),
    "kinds": (
        {"kinds": ["text", "tool_use"]},
        (
            ".kinds = ['text', 'tool_use']; a list of some of 'text', 'toolUse', 'reasoningContent', "
            "'citationsContent', 'toolResult', 'image', or None for all."
        ),
    ),
    "no kinds": (
        {"kinds": []},
        (
            ".kinds = []; a list of some of 'text', 'toolUse', 'reasoningContent', 'citationsContent', 'toolResult', "
            "'image', or None for all."
        ),
    ),
    "seed": ({"seed": -1}, ".seed = -1; a whole number, 0 or more, or None."),
    "stop reasons": (
        {"stop_reasons": ["end_turn", "content_filter"]},
        (
            ".stop_reasons: 'content_filter' is not known; did you mean 'content_filtered'? One of: end_turn, "
            "stop_sequence, tool_use, content_filtered, malformed_model_output, malformed_tool_use, max_tokens, "
            "model_context_window_exceeded, guardrail_intervened."
        ),
    ),
    "stop reasons of a text": ({"stop_reasons": "end_turn"}, ".stop_reasons = 'end_turn'; a list of names."),
    "without": (
        {"without": ["no_indexx"]},
        (
            ".without: 'no_indexx' is not known; did you mean 'no_index'? A stop reason, an error of AWS, an exception "
            "of streams, or a fault of `converse-harness cases`."
        ),
    ),
    "nothing left": (
        {"stop_reasons": ["end_turn"], "without": ["end_turn"]},
        ": `stop_reasons` and `without` leave no stop reason, so that nothing can be drawn.",
    ),
    "errors of what is none": (
        {"errors": {5: ["ThrottlingException"]}},
        ".errors: 5 is no error; the class of one, or in another language its name.",
    ),
    "reason": ({"known": {"bad_crc": " "}}, ".known['bad_crc'] = ' '; say why, in a text."),
    "reason that is none": ({"known": {"bad_crc": None}}, ".known['bad_crc'] = None; say why, in a text."),
    "case of a stream": (
        {"operation": "Converse", "known": {"bad_crc": "later"}},
        (
            ".known: 'bad_crc' is no test of this contract: only a stream can be so, and the operation is Converse. "
            "Leave it out."
        ),
    ),
    "case of another transport": (
        {"transport": "server", "known": {"connection_refused": "later"}},
        (
            ".known: 'connection_refused' is no test of this contract: "
            'the transport "server" cannot express it. Leave it out.'
        ),
    ),
}


@pytest.mark.parametrize(("settings", "message"), REFUSED.values(), ids=list(REFUSED))
def test_a_setting_that_is_none(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyError) as of_function:
        consumer_contract(ask, **settings)
    assert str(of_function.value) == f"consumer_contract{message}"
    with pytest.raises(ReplyError) as of_class:
        type("TestMine", (ConsumerContract,), settings)
    assert str(of_class.value) == f"TestMine{message}"


def test_an_error_that_aws_does_not_send() -> None:
    with pytest.raises(ReplyError) as raised:
        consumer_contract(ask, errors={"TooMuch": ["Throttled"]})
    first, _, names = str(raised.value).partition(" One of: ")
    assert first == (
        "consumer_contract.errors[TooMuch]: 'Throttled' is neither an error of AWS nor one for a stop reason."
    )
    allowed = {"ThrottlingException", "ContextOverflow", "GuardrailIntervened", "MaxTokens"}
    assert allowed <= set(names.removesuffix(".").split(", "))


def test_an_unknown_case_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(UnknownCase) as raised:

        class TestMine(ConsumerContract):
            known = MappingProxyType({"tool_interleave": "it does not look at contentBlockIndex"})

    first, _, near = str(raised.value).partition(". Near it: ")
    assert first == "TestMine.known: no case is called 'tool_interleave'"
    assert near.startswith("tool_interleaved, ")
    assert near.endswith("Properties: any_answer, any_extreme, any_failure, any_fault, any_second_try.")


def test_an_unknown_setting() -> None:
    with pytest.raises(ReplyError) as raised:
        consumer_contract(ask, timeout=5)
    assert str(raised.value) == (
        "consumer_contract(timeout=...): no setting. Settings: transport, operation, known, time_limit, errors, "
        "most_calls, kinds, stop_reasons, without, examples, seed."
    )


NO_CONTRACT: dict[str, tuple[Callable[[], Any], str]] = {
    "knonw": (
        lambda: type("TestMine", (ConsumerContract,), {"knonw": {}}),
        "TestMine.knonw is no setting; did you mean 'known'? Give an attribute of your own another name.",
    ),
    "timelimit": (
        lambda: type("TestMine", (ConsumerContract,), {"timelimit": 5}),
        "TestMine.timelimit is no setting; did you mean 'time_limit'? Give an attribute of your own another name.",
    ),
    "known": (
        lambda: consumer_contract(ask, known=["cut_off"]),
        (
            "consumer_contract.known = ['cut_off']; a dict from cases and properties to reasons, such as "
            '{"cut_off": "why"}.'
        ),
    ),
    "errors": (
        lambda: consumer_contract(ask, errors=["Throttled"]),
        "consumer_contract.errors = ['Throttled']; a dict from your own errors to lists of names of AWS errors.",
    ),
    "consume": (
        lambda: type("TestMine", (ConsumerContract,), {"consume": takes_nothing}),
        "TestMine.consume: the method takes a target. Write consume(self, target).",
    ),
    "function": (
        lambda: consumer_contract(takes_nothing),  # type: ignore[arg-type]
        f"consumer_contract({takes_nothing!r}): a function that takes a Target and returns an Outcome.",
    ),
}


@pytest.mark.parametrize("name", NO_CONTRACT)
def test_what_is_wrong_is_refused_when_the_class_is_made(name: str) -> None:
    make, message = NO_CONTRACT[name]
    with pytest.raises(ReplyError) as raised:
        make()
    assert str(raised.value) == message


def test_attributes_of_ones_own_stay() -> None:
    own = {"model": "nova", "reason": 5, "helper": ask, "time": 3, "Known": type("Known", (), {})}
    assert type("TestMine", (ConsumerContract,), own).__name__ == "TestMine"


def test_no_function() -> None:
    with pytest.raises(ReplyError) as raised:
        consumer_contract("ask")  # type: ignore[arg-type]
    assert str(raised.value) == "consumer_contract('ask'): a function that takes a Target and returns an Outcome."


def test_every_setting_is_an_attribute() -> None:
    assert [name for name in SETTINGS if not hasattr(ConsumerContract, name)] == []
    assert list(SETTINGS) == [name for name in ConsumerContract.__annotations__ if not name.startswith("_")]


def test_every_case_and_property_may_be_known() -> None:
    assert consumer_contract(ask, known=dict.fromkeys([*CASES, *PROPERTIES], "later")).cases() == list(CASES)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"text": None}, 'Outcome(text=None): a text; "" where the consumer shows none.'),
    "tool_calls": ({"tool_calls": "a"}, "Outcome(tool_calls='a'): a list of ToolCall(name, input)."),
    "a tuple": (
        {"tool_calls": [ToolCall("a", {}), ("b", {})]},
        "Outcome(tool_calls=...): number 1 is ('b', {}); a ToolCall(name, input).",
    ),
    "stop_reason": ({"stop_reason": 1}, "Outcome(stop_reason=1): a text; None where the consumer tells none."),
    "error": (
        {"error": ValueError},
        "Outcome(error=<class 'ValueError'>): an exception, or its name; None where none came.",
    ),
    "no error": ({"error": ""}, 'Outcome(error=""): the name of the error; None where none came.'),
    "usage": (
        {"usage": []},
        "Outcome(usage=[]): an AWS TokenUsage, {} where none came; None where the consumer keeps none.",
    ),
    "a signature": ({"signatures": [b"a"]}, "Outcome(signatures=...): number 0 is b'a'; a text."),
    "a citation": (
        {"citations": ["page 3"]},
        "Outcome(citations=...): number 0 is 'page 3'; a mapping in the form of AWS.",
    ),
    "reasoning": ({"reasoning": []}, "Outcome(reasoning=[]): a text; None where the consumer hands none out."),
}


@pytest.mark.parametrize(("members", "message"), WRONG.values(), ids=list(WRONG))
def test_an_outcome_that_is_none(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyError) as raised:
        Outcome(**members)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (None, {}, "ToolCall(name=None): the name of the tool, a text."),
        (
            "get_weather",
            [1],
            (
                "ToolCall('get_weather', input=[1]): a mapping, or the text that came where the consumer leaves it "
                "unparsed."
            ),
        ),
    ],
)
def test_a_tool_call_that_is_none(name: Any, given: Any, message: str) -> None:
    with pytest.raises(ReplyError) as raised:
        ToolCall(name, given)
    assert str(raised.value) == message


def test_who_offers_no_tool_is_asked_for_none() -> None:
    class TestTalks(ConsumerContract):
        kinds = ("text",)

    class TestAll(ConsumerContract):
        pass

    left_out = {*TestAll.cases()} - {*TestTalks.cases()}
    assert {"tool_parallel", "stop_tool_use", "blocks_interleaved", "again_after_tool"} <= left_out
    assert {"text_basic", "cut_off", "reasoning_then_text"} <= {*TestTalks.cases()}
    with fake_converse() as fake:
        assert "toolConfig" not in Target(fake, "Converse", offers_tool=offers_tool(TestTalks.kinds)).request
        assert "toolConfig" in Target(fake, "Converse", offers_tool=offers_tool(TestAll.kinds)).request


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"stop_reasons": ["max_tokens", "tool_use"]}, "any_answer"),
        ({"stop_reasons": ["end_turn"]}, "any_second_try"),
        ({"without": ["end_turn", "guardrail_intervened"]}, "any_answer"),
        ({"without": ["ThrottlingException", "throttlingException", "error_frame"]}, "any_failure"),
        ({"without": ["no_index", "stall", "cut_off"]}, "any_fault"),
        ({"without": ["reset", "cut_off", "throttlingException"]}, "any_second_try"),
    ],
)
def test_draws_have_what_is_chosen(settings: dict[str, Any], name: str) -> None:
    contract = consumer_contract(ask, examples=30, **settings)()
    drawn: list[Reply] = []
    PROPERTIES[name].check(drawn.extend, PropertyDraw.of(contract, "test"), shrink=False)
    assert len(drawn) >= 30
    whole = [each for each in drawn if not [*names_in(each)]]
    reasons = {stop_reason_of(each) for each in whole}
    assert reasons <= {*(settings.get("stop_reasons") or STOP_REASONS)} - {*settings.get("without", ())}
    assert {each for answer in drawn for each in names_in(answer)}.isdisjoint(settings.get("without", ()))
