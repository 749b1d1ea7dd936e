"""Every wrong argument of every public strategy raises InvalidArgument that names the function and the argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import converse_strategies
from converse_harness import bedrock, faults, reply
from converse_strategies import basics

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "f", "inputSchema": {"json": SCHEMA}}
MESSAGE = {"role": "assistant", "content": [{"text": "Hi"}]}
NEEDED: dict[str, Any] = {"schema": SCHEMA, "spec": TOOL, "message": MESSAGE, "operation": "Retrieve"}
"""Arguments without which a function cannot be called."""

NO_STRATEGY = (5, "x", ["x"], range(2))
NO_NAMES: tuple[Any, ...] = (5, "text", [], ["no such thing"], [1], 1.5)
NO_COUNT = (-1, 1.5, "x", None, True)
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("texts", "messages", "model_ids"), (*NO_STRATEGY, st.integers(), st.just(None))),
    "stop_reasons": (*NO_STRATEGY, ["end_turn"], st.integers(), st.just("bogus")),
    **dict.fromkeys(("traces", "schemas", "tool_configs"), (*NO_STRATEGY, st.integers())),
    "replies": (*NO_STRATEGY, st.integers()),
    "seconds": (*NO_STRATEGY, st.just(0), st.just("x")),
    **dict.fromkeys(("kinds", "formats", "sources", "names", "levels", "transports", "operations"), NO_NAMES),
    **dict.fromkeys(("policies", "actions", "faults", "rules"), NO_NAMES),
    **dict.fromkeys(("min_blocks", "min_turns", "max_turns", "max_citations", "max_tools", "max_properties"), NO_COUNT),
    **dict.fromkeys(("min_words", "max_words"), NO_COUNT),
    **dict.fromkeys(("max_blocks", "index"), (-1, 1.5, "x", True)),
    **dict.fromkeys(("unfinished", "stream"), (None, 5, "x")),
    "for_request": (5, "x", {}, {"modelId": "m"}, {"messages": []}),
    "cached": (5, "x"),
    "target": (5, "event", ["events"]),
    "locale": (None, 5, "xx_YY"),
    "family": (5, "amazon"),
    "document": (5, "x", {}),
    "schema": (5, "x", {"type": 5}),
    "spec": (5, "x", {"name": "f"}),
    "message": (5, "x", {}),
    "tool_use": (5, "x", {}),
    "tool_config": (5, "x", []),
    "tools": (5, "x", [5]),
    "operation": (5, "x", "retrieve", "Converse", "ListSessions"),
    "service": (5, "bedrock-agnt", "bedrock"),
}
"""Name of an argument -> values that it must not have."""

OTHERWISE = {("documents", "names"): (*NO_STRATEGY, st.integers())}
ALSO = (
    ("stream_events", {"min_blocks": 4, "max_blocks": 2}),
    ("assistant_messages", {"min_blocks": 4, "max_blocks": 2}),
    ("conversations", {"min_turns": 4}),
    ("faker_texts", {"min_words": 13}),
)
EVERY_CHECK = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
SECONDS = {"names": ["stall"]}
"""A fault without which no seconds are drawn."""


def public_strategies() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in sorted(dir(converse_strategies)):
        value = getattr(converse_strategies, name)
        lacks = name == "audios" and not bedrock.has_shape("AudioBlock")
        if inspect.isfunction(value) and name != "conversation_machine" and not lacks:
            yield name, value


def wrong_calls() -> Iterator[tuple[str, str, Any]]:
    for name, function in public_strategies():
        for argument in inspect.signature(function).parameters:
            for value in OTHERWISE.get((name, argument)) or WRONG[argument]:
                yield name, argument, value


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [pytest.param(*call, id=f"{call[0]}-{call[1]}-{call[2]!r:.30}") for call in wrong_calls()],
)
def test_a_wrong_argument_is_refused_by_its_name(name: str, argument: str, value: Any) -> None:
    function = getattr(converse_strategies, name)
    needed = {each: NEEDED[each] for each in inspect.signature(function).parameters if each in NEEDED}
    more = SECONDS if argument == "seconds" else {}
    with pytest.raises(InvalidArgument) as caught:
        draw_some(function(**{**needed, **more, argument: value}))
    assert name in str(caught.value)
    assert argument in str(caught.value).lower()


@pytest.mark.parametrize(("name", "arguments"), ALSO)
def test_a_range_that_is_empty_is_refused(name: str, arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match=f"^{name}.min_"):
        getattr(converse_strategies, name)(**arguments).validate()


def test_a_type_that_is_wrong_is_seen_without_drawing() -> None:
    for name, function in public_strategies():
        if "texts" in inspect.signature(function).parameters:
            needed = {each: NEEDED[each] for each in inspect.signature(function).parameters if each in NEEDED}
            with pytest.raises(InvalidArgument, match=rf"^{name}\(texts='x'\): texts is a strategy for strings"):
                function(**needed, texts="x").validate()


SAID: dict[str, str] = {
    "stream_events(kinds='text')": "stream_events(kinds='text'): kinds is a list of names. Write kinds=['text'].",
    "faulty_replies(levels='frames')": "levels is a list of names. Write levels=['frames'].",
    "faulty_replies(names='bad_crc')": "names is a list of names. Write names=['bad_crc'].",
    "faulty_replies(names=[faults.bad_crc, 'reset'])": "names is a list of names. Write names=['bad_crc', 'reset'].",
    "faulty_replies(names=faults.bad_crc)": "names is a list of names. Write names=['bad_crc'].",
    "hostile_stream_events(faults=[faults.cut_off])": "faults is a list of names. Write faults=['cut_off'].",
    "stream_events(kinds=['tool_use'])": "'tool_use' is no choice of kinds; did you mean 'toolUse'? Give a list",
    "faulty_replies(levels=['http'])": "'http' is no choice of levels; did you mean 'HTTP'? Give a list of some",
    "stream_errors(names=['ThrottlingException'])": "did you mean 'throttlingException'? Give a list of some of: ",
    "chunkings({'role': 'user', 'content': [{'text': 'a'}]})": "its role is 'user', and a model sends 'assistant'",
    "faulty_replies(seconds=3)": "faulty_replies(seconds=3): seconds is a strategy for numbers of seconds",
    "faulty_replies(replies=reply.text('a'))": "replies is a strategy for Replies, such as replies(), or None.",
    "replies(max_blocks=0)": "replies(max_blocks=0): max_blocks is a whole number of 1 or more",
    "converse_responses(max_blocks=0)": "converse_responses(max_blocks=0): max_blocks is a whole number of 1 or more",
    "user_messages(max_blocks=0)": "user_messages(max_blocks=0): max_blocks is a whole number of 1 or more",
    "messages(max_blocks=0)": "messages(max_blocks=0): max_blocks is a whole number of 1 or more",
    "tool_configs(max_tools=0)": "tool_configs(max_tools=0): max_tools is a whole number of 1 or more",
    "errors(messages='x')": "errors(messages='x'): messages is a strategy for strings",
    "stream_events(traces={})": "stream_events(traces={}): traces is a strategy for dicts",
}
SAID_WHOLE: dict[str, str] = {
    "faulty_replies(names=['stalled'])": "'stalled' is no choice of names; did you mean 'stall'?",
    "errors(names=['throttlingException'])": "'throttlingException' is no choice of names; did you mean "
    "'ThrottlingException'?",
}
"""Of many names, only the nearest one is shown."""


@pytest.mark.parametrize("call", [*SAID, *SAID_WHOLE])
def test_what_to_write_is_said(call: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        draw_some(called(call))
    assert SAID.get(call, "") in str(caught.value)
    assert str(caught.value).endswith(SAID_WHOLE.get(call, ""))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "stream_events(kind=['text'])",
            "stream_events() got an unexpected keyword argument 'kind'; did you mean 'kinds'?",
        ),
        ("errors(xyz=1)", "errors() got an unexpected keyword argument 'xyz'. Its arguments: names=..., messages=...."),
        ("errors(['a'])", "errors() too many positional arguments. Its arguments: names=..., messages=...."),
        ("chunkings()", "chunkings() missing a required argument: 'message'. Its arguments: message."),
        ("tool_uses(TOOL, text=None)", "tool_uses() got an unexpected keyword argument 'text'; did you mean 'texts'?"),
    ],
)
def test_an_argument_that_is_none_is_told_at_the_call(call: str, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        called(call)
    assert str(caught.value) == message


def called(call: str) -> Any:
    return eval(call, {**vars(converse_strategies), **globals(), "faults": faults, "reply": reply}, {})


def test_more_blocks_than_usual_need_no_other_number() -> None:
    events = basics.made(converse_strategies.stream_events(min_blocks=5), len)
    draw_some(events)


def draw_some(strategy: st.SearchStrategy[Any]) -> None:
    @settings(
        max_examples=150,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=EVERY_CHECK,
    )
    @given(strategy)
    def draw(value: Any) -> None:
        del value

    draw()
