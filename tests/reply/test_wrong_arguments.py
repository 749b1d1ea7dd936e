"""Whatever is given to a function that makes replies, it answers with a reply or with a sentence about the argument."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from converse_harness import ConverseHarnessError, Reply, ReplyError, assemble, chunk, citing, faults, reply
from converse_harness.errors import json_text


class Odd:
    """A value of no type that anything takes."""


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)

MESSAGE = {"role": "assistant", "content": [{"text": "a"}]}


def values() -> Iterator[object]:
    """Values that are wrong nearly everywhere, alone and nested; those that can be read once are new each time."""
    yield from (None, 1, 1.5, -1, 10**400, "x", "", "\ud800", b"x", [], {}, object(), True, False, float("nan"))
    yield from (Odd, Odd(), {1}, ENDLESS, [None], [5], ["x"], [[]], [{}], ("a", "b"), ("a", {}, 3))
    yield from ({"x": 1}, {1: 2}, {0: 5}, {0: [5]}, {0: "x"}, {"text": 5}, {"text": None}, {"text": Odd()})
    yield from ({"toolUse": 5}, {"toolUse": {"name": 5, "input": {}}}, {"reasoningContent": {}}, {"document": {}})
    yield from ({"role": 5, "content": 5}, {"role": "assistant", "content": [5]}, {"inputTokens": "x"})
    for block in ("toolUse", "toolResult", "reasoningContent", "citationsContent", "image", "text"):
        for inner in (5, {}, {"content": 5}, {"reasoningText": 5}, {"name": "n", "input": Odd(), "toolUseId": "t"}):
            yield {"role": "assistant", "content": [{block: inner}]}
    yield from ({"output": 5}, {"output": {"message": 5}}, {"stream": 5}, {"stream": [5]}, {"Error": 5})
    yield from ({"Error": {"Code": 5}}, {"Error": {"Code": "x"}}, {"topicPolicy": 5}, {"topicPolicy": {"topics": [5]}})
    yield from (
        {"name": "n", "source": 5},
        {"name": "n", "source": {"content": 5}},
        {"name": "n", "source": {"text": 5}},
    )
    yield from ([{"messageStart": 5}], [{"contentBlockDelta": {}}], [{1: {}}], [{":error": {}}], [{"aException": {}}])
    yield [{"messageStart": {"role": "assistant"}}, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": 5}}]
    yield from (reply.throttled(), reply.text("a").times(2), iter([]), (each for each in [1]))


class Subject(NamedTuple):
    """A function, and arguments with which it works."""

    function: Callable[..., object]
    good: tuple[object, ...] = ()


_TEXT = reply.text("a b c")

GOOD: dict[str, tuple[object, ...]] = {
    "cited": ("a",),
    "error": ("ThrottlingException",),
    "events": ([{"throttlingException": {"message": "a"}}],),
    "guardrail_masked": ("{EMAIL}",),
    "guardrail_passed": ("a",),
    "json": (1,),
    "message": ({"text": "a"},),
    "output": ({"inputTokens": 42},),
    "reasoning": ("t", "x"),
    "response": ({"output": {"message": MESSAGE}},),
    "text": ("text",),
    "tool_use": ("n", {}),
    "tool_uses": ("n",),
    "validation_error": ("m",),
}

SUBJECTS: dict[str, Subject] = {
    **{name: Subject(getattr(reply, name), GOOD.get(name, ())) for name in reply.__all__},
    "times": Subject(_TEXT.times, (1,)),
    "fails_after": Subject(_TEXT.fails_after, (1, "throttlingException")),
    "error_frame_after": Subject(_TEXT.error_frame_after, (1,)),
    "broken": Subject(_TEXT.broken, (faults.reset,)),
    "paced": Subject(_TEXT.paced),
    "retry_after": Subject(reply.throttled().retry_after, (1,)),
    "lasting": Subject(faults.stall.lasting, (1,)),
    "chunk": Subject(chunk, (MESSAGE,)),
    "assemble": Subject(assemble, (chunk(MESSAGE),)),
    "citing": Subject(citing, ({"name": "p", "source": {"text": "abc"}}, "b")),
}

PATHS = (
    *("content[", "content ", "events[", "output", "pieces[", "policy", "Exception", "is not an error", "mask"),
    *(
        "message",
        "stop_reason",
        "usage",
        "metrics",
        "trace",
        "additional",
        "block",
        "contentBlock",
        "one event",
        "has no member",
    ),
)
"""What a sentence names, where it does not name the function: a path in the value."""


def calls(
    subject: Subject, parameter: inspect.Parameter, place: int
) -> Iterator[tuple[list[object], dict[str, object]]]:
    """The arguments of calls with one wrong argument each."""
    for value in values():
        arguments = list(subject.good)
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield [*arguments, value], {}
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield arguments, {"other": value}
        elif parameter.kind is parameter.KEYWORD_ONLY or place >= len(arguments):
            yield arguments, {parameter.name: value}
        else:
            arguments[place] = value
            yield arguments, {}


PARAMETERS = [
    pytest.param(name, place, id=f"{name}-{parameter}")
    for name, subject in SUBJECTS.items()
    for place, parameter in enumerate(inspect.signature(subject.function).parameters)
]


def check_pickled(error: ConverseHarnessError) -> None:
    """Pickle an error as pools of processes do: no wrong value prevents it, and both texts stay."""
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), json_text(again)) == (str(error), json_text(error))


@pytest.mark.parametrize(("name", "place"), PARAMETERS)
def test_a_wrong_argument_gets_a_sentence_that_names_it(name: str, place: int) -> None:
    subject = SUBJECTS[name]
    parameter = list(inspect.signature(subject.function).parameters.values())[place]
    assert subject.function(*subject.good)
    for arguments, options in calls(subject, parameter, place):
        try:
            made = subject.function(*arguments, **options)
        except ConverseHarnessError as error:
            told = str(error)
            check_pickled(error)
            named = (f"{name}(", f"{name}:", f"{name}.", parameter.name, *PATHS)
            assert any(each in told for each in named), told
            assert len(told) < 2500
        else:
            assert not isinstance(made, Reply) or made.summary


FLAGS = [
    pytest.param(name, parameter.name, id=f"{name}-{parameter.name}")
    for name, subject in SUBJECTS.items()
    for parameter in inspect.signature(subject.function).parameters.values()
    if parameter.annotation in ("bool", bool)
]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_a_flag_is_true_or_false(name: str, flag: str) -> None:
    """Anything else would count as true, `"no"` as well."""
    function, good = SUBJECTS[name]
    for value in ("no", 1, 0, None, Odd()):
        with pytest.raises(ReplyError, match=rf"{flag}=.*True or False"):
            function(*good, **{flag: value})


NAMES: dict[str, tuple[str, tuple[object, ...]]] = {
    "name=": ("tool_use", (5, {})),
    "input=": ("tool_use", ("n", 5)),
    "uses[1][0]": ("tool_uses", ("a", (5, {}))),
    "uses[0][1]": ("tool_uses", (("n", 5),)),
    "uses[1]": ("tool_uses", ("a", 5)),
}


@pytest.mark.parametrize("place", NAMES)
def test_a_refusal_names_the_argument_of_a_tool(place: str) -> None:
    name, given = NAMES[place]
    with pytest.raises(ReplyError) as refused:
        getattr(reply, name)(*given)
    assert f"({place}" in str(refused.value)


def last(made: Reply) -> dict[str, int]:
    """The usage in the last event."""
    usage: dict[str, int] = [*made.events()][-1]["metadata"]["usage"]
    return usage


CACHED = {"inputTokens": 9, "outputTokens": 4, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 20}


@pytest.mark.parametrize(
    ("usage", "problem"),
    [
        ({"inputTokens": 9, "outputTokens": 4, "totalTokens": 12}, "is 12: inputTokens 9 + outputTokens 4 is 13, and"),
        (
            {**CACHED, "totalTokens": 13},
            "is 13: inputTokens 9 + outputTokens 4 + cacheReadInputTokens 100 + cacheWriteI",
        ),
        ({"totalTokens": 9}, "is 9: inputTokens and outputTokens would be estimated, and no longer add up to it"),
        ({"inputTokens": 9, "totalTokens": 9}, "is 9: outputTokens would be estimated, and no longer add up to it"),
    ],
)
def test_a_total_that_is_not_the_sum_of_its_parts_is_refused(usage: dict[str, int], problem: str) -> None:
    makers: list[Callable[[], Reply]] = [
        lambda: reply.text("a", usage=usage),
        lambda: reply.tool_use("n", usage=usage),
        lambda: reply.reasoning("a", "b", usage=usage),
        lambda: reply.guardrail_passed("a", usage=usage),
    ]
    for make in makers:
        with pytest.raises(ReplyError) as raised:
            make()
        assert str(raised.value).startswith(f"usage.totalTokens {problem}")
        assert str(raised.value).endswith("reply.message(..., strict=False).")
    assert last(reply.message({"text": "a"}, usage=usage, strict=False)) == usage


@pytest.mark.parametrize(
    "usage",
    [
        {**CACHED, "totalTokens": 133},
        {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokenCount": 3, "totalTokens": 6},
        {
            "inputTokens": 1,
            "outputTokens": 2,
            "cacheReadInputTokens": 3,
            "cacheReadInputTokenCount": 3,
            "totalTokens": 6,
        },
        CACHED,
        {"inputTokens": 9},
    ],
)
def test_a_total_that_adds_up_or_is_left_out_is_taken(usage: dict[str, int]) -> None:
    assert last(reply.text("a", usage=usage)) == usage
