"""A failed comparison names the first call that differs, and what changed: the agent, the prompt or the script."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import fake_converse, reply
from converse_harness.features import explanation_of
from converse_harness.features.outline.amber import value_of_amber
from converse_harness.features.outline.outline import Outline
from tests.features.outline.agent import TOOLS, run, spec

TO = {"to": "Tirano", "at": "9"}
BOTH = reply.tool_uses(("timetable", TO), ("book", TO))
PLACE = {"web": {"url": "https://example.com"}}
CITED = reply.cited("At nine.", {"title": "plan", "location": PLACE})
SCRIPT = (BOTH, CITED)


def outline(*replies: Any, question: str = "To Tirano", before: str = "", **changes: Any) -> Outline:
    with fake_converse(*replies or SCRIPT, rules="off", answers="off", history="off") as fake:
        if before:
            run(before, system="Sort.")
        run(question, **changes)
    return fake.outline()


def failed(results: Any) -> Any:
    return [{"toolResult": {**each["toolResult"], "status": "error"}} for each in results]


def without_citations(content: Any) -> Any:
    return [{"text": "At nine."} if "citationsContent" in block else block for block in content]


PLANTED: dict[str, tuple[Outline, str]] = {
    "tool order": (
        outline(reply.tool_uses(("book", TO), ("timetable", TO)), CITED),
        "call 1: the script answered something else: in another order: toolUse book, toolUse timetable",
    ),
    "an extra call": (
        outline(BOTH, CITED, reply.text("Yes."), more=("Sure?",)),
        "call 3 is new: 'Sure?' -> 'Yes.', end_turn",
    ),
    "an extra call of another agent": (
        outline(reply.text("A trip."), *SCRIPT, before="A trip, or not?"),
        "call 1 is new: 'A trip, or not?' -> 'A trip.', end_turn",
    ),
    "a call less": (outline(CITED), "call 1: the script answered something else: toolUse timetable is gone"),
    "a dropped result": (
        outline(results=lambda results: results[:1]),
        "call 2: the agent sent something else: toolResult book is gone",
    ),
    "another result": (
        outline(
            results=lambda results: [{"toolResult": {**each["toolResult"], "status": "error"}} for each in results]
        ),
        "call 2: the agent sent something else: toolResult timetable",
    ),
    "the prompt": (outline(system="You plan journeys."), "call 1: the prompt changed: system"),
    "the question": (outline(question="To Chur"), "call 1: the prompt changed: text"),
    "a tool's description": (
        outline(tools=[TOOLS[0], {"toolSpec": {**TOOLS[1]["toolSpec"], "description": "Books."}}]),
        "call 1: the prompt changed: tool book",
    ),
    "a tool": (outline(tools=[*TOOLS, spec("refund")]), "call 1: the prompt changed: tool refund is new"),
    "the model": (
        outline(model="us.amazon.nova-pro-v1:0"),
        "call 1: the agent asked another model: modelId",
    ),
    "a citation": (
        outline(BOTH, reply.cited("At nine.", {"title": "map", "location": PLACE})),
        "call 2: the script answered something else: citation",
    ),
    "no citation": (
        outline(BOTH, reply.text("At nine.")),
        "call 2: the script answered something else: citationsContent is gone",
    ),
}


@pytest.mark.parametrize(("now", "first"), PLANTED.values(), ids=PLANTED)
def test_a_planted_change_is_named(now: Outline, first: str) -> None:
    before = outline()
    lines = explanation_of("==", now, [*before])
    assert lines[0] == first
    assert explanation_of("==", [*before], now) == lines
    assert explanation_of("==", before, [*before]) != lines


def test_what_the_agent_changed_in_its_own_answers_is_named() -> None:
    script = (reply.cited("I look.", {"title": "plan", "location": PLACE}), reply.text("At nine."))
    first = reply.message(
        {"citationsContent": {"content": [{"text": "I look."}], "citations": [{"title": "plan", "location": PLACE}]}},
        {"toolUse": {"name": "book", "input": TO}},
    )
    lines = explanation_of("==", outline(first, script[1], answers=without_citations), [*outline(first, script[1])])
    assert lines[0].startswith("call 2: the agent sent something else: ")
    assert "left_out" in lines[-1]


def test_others_are_not_explained() -> None:
    made = outline()
    assert explanation_of("!=", made, []) == []
    assert explanation_of("==", [1], [2]) == []
    assert explanation_of("==", made, "a text") == []
    assert explanation_of("==", made, object()) == []
    assert explanation_of("==", made, [])[0].startswith("call 1 is new: 'To Tirano' -> ")
    assert explanation_of("==", Outline(), [*made])[1:] == ["  and 1 other call differs", "  0 calls, before 2"]


def test_pytest_prints_the_explanation_first(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        """
        import boto3
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("hi"))
            client = boto3.client("bedrock-runtime", region_name="us-east-1")
            client.converse(modelId="amazon.nova-lite-v1:0", messages=[{"role": "user", "content": [{"text": "x"}]}])
            before = [*converse.outline()]
            before[0] = {**before[0], "modelId": "amazon.nova-pro-v1:0"}
            assert converse.outline() == before

        def test_other():
            assert [1] == [2]
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E       assert call 1: the agent asked another model: modelId",
            'E           - modelId  "amazon.nova-pro-v1:0"',
            'E           + modelId  "amazon.nova-lite-v1:0"',
            "E         *At index 0 diff:*",
        ]
    )
    result.stdout.fnmatch_lines(["E       assert [[]1[]] == [[]2[]]"])


@given(st.text())
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    try:
        value_of_amber(text)
    except ValueError:
        return
    assert len(text.split("\n")) == 1
