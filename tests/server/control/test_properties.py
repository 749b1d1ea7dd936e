"""Whatever is posted is answered; what is accepted is what openapi.json allows; what is legal is what Python says."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from converse_harness import Reply, ReplyError, faults, reply
from converse_harness.cases import CASES
from converse_harness.faults.model import Fault
from converse_harness.features import names_of
from converse_harness.reply.body import ErrorBody
from converse_harness.server.control import ROUTES
from converse_harness.server.control.arguments import parameters
from converse_harness.server.control.vocabulary import (
    MODIFIERS,
    REPLIES,
    SCRIPTING,
    conditions,
    read_reply,
    read_scripting,
)
from converse_harness.stream.grammar import is_exception
from converse_harness.stream.http import Request
from tests.server.control.conftest import DOCUMENT, Client, check, rendered

NAMES = sorted(
    {*SCRIPTING, *conditions(), "seed", "unused", "unexpected", "regex", "messageStart", "contentBlockDelta", "toolUse"}
    | {name for word in (*REPLIES.values(), *MODIFIERS.values()) for name in parameters(word.function)}
    | {*REPLIES, *MODIFIERS}
)
VALUES = ["fail", "allow", "reset", "throttlingException", "ThrottlingException", "end_turn", "get_weather", "*", "("]

texts = st.sampled_from(VALUES) | st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers(-2, 6) | st.floats(allow_nan=False, allow_infinity=False) | texts
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def nearly(names: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with members of the right names."""
    return st.dictionaries(st.sampled_from(names), values, max_size=3)


near_replies = nearly([*REPLIES, *MODIFIERS, "stop_reason", "usage", "strict", "pieces"], anything)
near_whens = nearly([*conditions(), "script", "always"], st.lists(near_replies, max_size=2) | near_replies | anything)
near_bodies = nearly(
    [*SCRIPTING, "seed", "unused", "unexpected"],
    st.lists(near_replies, max_size=2) | near_replies | st.lists(near_whens, max_size=2) | anything,
)


QUESTION = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'


@given(body=anything | near_bodies)
@example(body={"script": [{"message": [{"image": {"source": {"bytes": "\ud800"}}}]}]})
@example(body={"script": [{"error": {"name": "\ud800", "status": 10**30}}]})
@example(body={"script": [{"events": [{"\ud800": {}}], "strict": False}]})
@example(body={"script": [{"text": "", "paced": {"each": 1e308}}]})
@example(body={"script": [{"text": "a", "fails_after": {"events": 0, "exception": "", "strict": False}}]})
def test_whatever_is_posted_is_answered(body: object) -> None:
    with Client() as client:
        answer = client.post(json.dumps(body).encode())
        assert answer.status in (201, 400)
        if answer.status == 201:
            check(DOCUMENT["components"]["schemas"]["NewFake"], body)
            (fake,) = client.fakes.opened
            client.ask("GET", "/__converse/fakes")
            for operation in ("converse", "converse-stream"):
                for _ in range(3):
                    done = fake.core.exchange(Request("POST", f"/model/m/{operation}", (), QUESTION))
                    done.taken.extend(done.response.chunks)
            client.ask("GET", "/__converse/fakes/fake-1/calls")
            client.ask("DELETE", "/__converse/fakes/fake-1")


@given(body=st.binary(max_size=60), target=st.text(max_size=20), method=st.text(max_size=6))
def test_whatever_is_sent_is_answered(body: bytes, target: str, method: str) -> None:
    with Client() as client:
        for route in ROUTES:
            for path in (target, route.path.replace("{id}", target), route.path):
                for verb in (method, route.method):
                    client.ask(verb, path, body)


# What is legal. Each word's arguments are drawn once, written as JSON and given to Python.

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = words | st.integers() | st.booleans() | st.none() | st.lists(words, max_size=2)
inputs = st.dictionaries(words, values, max_size=3)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
blocks = st.one_of(
    words.map(lambda text: {"text": text}),
    st.tuples(names, inputs).map(lambda drawn: {"toolUse": {"name": drawn[0], "input": drawn[1]}}),
)
options: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "stop_reason": st.sampled_from(["end_turn", "max_tokens", "tool_use"]),
        "usage": st.fixed_dictionaries({}, optional={"inputTokens": st.integers(0, 99)}),
        "metrics": st.just({"latencyMs": 5}),
        "additional": inputs,
    },
)
EVENTS: list[dict[str, object]] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "hi"}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"throttlingException": {"message": "Slow down"}},
]

_CITATION: dict[str, object] = {"title": "forecast", "location": {"documentChar": {"documentIndex": 0}}}
AS_WRITTEN: dict[str, tuple[object, Reply]] = {
    "reasoning": ("hm", reply.reasoning("hm")),
    "tool_uses": ([["a", {"x": 1}], "b"], reply.tool_uses(("a", {"x": 1}), "b")),
    "response": (EVENTS, reply.events(EVENTS)),
    "cited": (["18 °C", _CITATION, " today"], reply.cited("18 °C", _CITATION, " today")),
    "guardrail_blocked": ({"policy": "pii", "side": "input"}, reply.guardrail_blocked(policy="pii", side="input")),
    "guardrail_masked": ("I am {NAME}.", reply.guardrail_masked("I am {NAME}.")),
    "guardrail_passed": ("Fine.", reply.guardrail_passed("Fine.")),
    "validation_error": ("Wrong.", reply.validation_error("Wrong.")),
}
"""Words whose arguments are not drawn."""

Drawn = tuple[dict[str, Any], Reply]

WORDS = [word for word in REPLIES if word not in names_of("reply")]
"""Those of the core: a feature tests what it adds."""


@st.composite
def written_both_ways(draw: st.DrawFn) -> Drawn:
    """A reply as JSON and as Python."""
    written, made = base_both_ways(draw, draw(st.sampled_from(WORDS)))
    return modified_both_ways(draw, written, made)


def base_both_ways(draw: st.DrawFn, word: str) -> Drawn:
    match word:
        case "text":
            more: Any
            text, more = draw(words), {"stop_reason": draw(st.sampled_from(["end_turn", "max_tokens"]))}
            return {"text": text, "pieces": [text], **more}, reply.text(text, pieces=[text], **more)
        case "tool_use":
            name, value = draw(names), draw(inputs)
            return {"tool_use": {"name": name, "input": value} if value else name}, reply.tool_use(name, value)
        case "json":
            data = draw(inputs | words | st.none())
            return {"json": data}, reply.json(data)
        case "message":
            content, given = draw(st.lists(blocks, min_size=1, max_size=3)), draw(options)
            return {"message": content, **given}, reply.message(*content, **given)
        case "events":
            return {"events": EVENTS}, reply.events(EVENTS)
        case "error":
            what = {"name": "Teapot", "message": draw(words)}
            return {"error": {**what, "status": 418}}, reply.error(**what, status=418)
        case "case":
            name = draw(st.sampled_from(["text_basic", "tool_parallel", "overflow_pre", "citation_document"]))
            return {"case": name}, CASES[name].reply
        case _ if word in AS_WRITTEN:
            said, made = AS_WRITTEN[word]
            return {word: said}, made
        case _:
            plain: Reply = getattr(reply, word)()
            return {word: True}, plain


def modified_both_ways(draw: st.DrawFn, written: dict[str, Any], made: Reply) -> Drawn:
    modifiers: dict[str, Any] = {}
    answers = "read_timeout" not in written
    streams = answers and not isinstance(made.plan.body, ErrorBody)
    fails = streams and any(is_exception(next(iter(event))) for event in made.events())
    if draw(st.booleans()):
        modifiers["times"] = draw(st.integers(1, 3))
        made = made.times(modifiers["times"])
    if draw(st.booleans()):
        modifiers["paced"] = {"first": 0.25, "each": draw(st.sampled_from([0, 1.5]))}
        made = made.paced(**modifiers["paced"])
    if streams and not fails and draw(st.booleans()):
        modifiers["fails_after"] = {"events": draw(st.integers(0, 3)), "exception": "modelStreamErrorException"}
        made = made.fails_after(**modifiers["fails_after"])
    if isinstance(made.plan.body, ErrorBody) and draw(st.booleans()):
        modifiers["retry_after"] = draw(st.sampled_from([3, {"ms": 50}, {"seconds": 3, "ms": 50}]))
        made = made.retry_after(**{"seconds": 3} if modifiers["retry_after"] == 3 else modifiers["retry_after"])
    if streams and not fails and made.plan.failure is None and draw(st.booleans()):
        modifiers["error_frame_after"] = draw(st.sampled_from([2, {"events": 2, "code": "Odd", "message": "Sorry."}]))
        more = modifiers["error_frame_after"]
        made = made.error_frame_after(**{"events": 2} if more == 2 else more)
    if answers and draw(st.booleans()):
        fault = draw(st.sampled_from([fault for fault in faults.FAULTS.values() if fits(made, fault)]))
        written_fault: Any = fault.name
        if fault.seconds is not None and draw(st.booleans()):
            fault, written_fault = fault.lasting(0.5), {"name": fault.name, "lasting": 0.5}
        counted = fault.place in ("between", "in event") and draw(st.booleans())
        alone = not counted and written_fault == fault.name and draw(st.booleans())
        modifiers["broken"] = written_fault if alone else {"fault": written_fault, **({"after": 0} if counted else {})}
        made = made.broken(fault, after=0 if counted else None)
    return written | draw(st.permutations(list(modifiers.items())).map(dict)), made


def fits(made: Reply, fault: Fault) -> bool:
    """Whether a server can break the reply so."""
    try:
        made.broken(fault)
    except ReplyError:
        return False
    return "server" in fault.transports


@given(both=written_both_ways())
def test_a_reply_in_json_is_the_reply_in_python(both: Drawn) -> None:
    check_both_ways(*both)


def check_both_ways(written: dict[str, Any], made: object) -> None:
    """Compare what is sent for both, and the JSON with openapi.json."""
    sent = json.loads(json.dumps(written))
    check(DOCUMENT["components"]["schemas"]["Reply"], sent)
    for operation in ("converse", "converse-stream"):
        assert rendered(read_reply(sent, "script[0]"), operation) == rendered(made, operation)


@pytest.mark.parametrize("count", [1, 2])
def test_conditions_in_json_are_those_of_python(count: int) -> None:
    written = [{"model": "*haiku*", "turn": 2, "system": {"regex": "a+"}, "always": {"text": "x"}}] * count
    *whens, everything = read_scripting({"when": written})
    assert [list(when.condition) for when in whens] == [["model", "turn", "system"]] * count
    assert whens[0].condition["system"].pattern == "a+"
    assert everything == ({}, [], [])
