"""The order of events: the table, the checker that reads it, and what it says when an order is wrong."""

import re
from pathlib import Path

import pytest

from converse_harness import StreamOrderError, bedrock
from converse_harness.stream.grammar import (
    FAILED,
    FINISHED,
    GOES_ON,
    ORDER,
    START,
    TEXTS,
    StreamOrder,
    check_order,
    symbol,
)

START_EVENT = {"messageStart": {"role": "assistant"}}
STOP_EVENT = {"messageStop": {"stopReason": "end_turn"}}
METADATA = {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}}


def start(index: int, name: str = "toolUse") -> dict[str, object]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {name: {"toolUseId": "t", "name": "n"}}}}


def delta(index: int, **carried: object) -> dict[str, object]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": carried}}


def stop(index: int) -> dict[str, object]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def test_the_table_and_the_model_name_the_same_events() -> None:
    types = {name.partition(".")[0] for moves in ORDER.values() for name in moves}
    assert types == set(bedrock.stream_events())


def test_every_streamable_start_and_delta_of_the_model_has_its_place() -> None:
    def carried(kind: str) -> set[str]:
        prefix = f"{kind}."
        names = {name.removeprefix(prefix) for moves in ORDER.values() for name in moves if name.startswith(prefix)}
        return {name.partition(".")[0] for name in names}

    # an older botocore lacks members that the table has; it never has one that the table lacks
    assert carried("contentBlockStart") >= set(bedrock.shape("ContentBlockStart").members)
    assert carried("contentBlockDelta") >= set(bedrock.shape("ContentBlockDelta").members)


def test_every_state_is_reached_and_leads_on() -> None:
    reached = {START, FAILED} | {state for moves in ORDER.values() for state in moves.values()}
    assert reached == set(ORDER)
    assert [state for state, moves in ORDER.items() if not moves] == [FINISHED, FAILED]


DELTAS: list[dict[str, object]] = [
    {"text": "a"},
    {"toolUse": {"input": "a"}},
    {"toolUse": {"input": 5}},
    {"toolUse": {}},
    {"reasoningContent": {"text": "a"}},
    {"reasoningContent": {"signature": "a"}},
    {"reasoningContent": {"text": "a", "signature": "b"}},
    {"citation": {"title": "a"}},
    {"toolResult": [{"text": "a"}]},
    {"image": {"source": {"bytes": b"a"}}},
    {"text": "a", "citation": {}},
    {"text": None},
    {},
]


@pytest.mark.parametrize("state", ORDER)
def test_the_fast_path_takes_what_the_table_takes_and_stays_where_it_is(state: str) -> None:
    taken = 0
    for delta in DELTAS:
        for index in (0, 1, False, "0", None):
            fast, slow = StreamOrder(), StreamOrder()
            fast.state = slow.state = state
            body = {"contentBlockIndex": index, "delta": delta}
            if fast.more_text(body) is None:
                continue
            taken += 1
            slow.feed({"contentBlockDelta": body})
            assert (slow.state, slow.block) == (state, fast.block)
            assert symbol({"contentBlockDelta": body}) in TEXTS
    assert (taken > 0) == (state in GOES_ON)
    assert StreamOrder().more_text({"contentBlockIndex": 0, "delta": {"text": "a"}, "more": 1}) is None


def diagram() -> str:
    """ORDER as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {START}"]
    for state, moves in ORDER.items():
        for target in dict.fromkeys(moves.values()):
            label = ", ".join(name for name, to in moves.items() if to == target)
            lines.append(f"    {state} --> {target}: {label}")
    lines += [f"    any --> {FAILED}: an exception frame", f"    {FINISHED} --> [*]", f"    {FAILED} --> [*]"]
    return "\n".join(lines)


def test_the_diagram_shows_every_move() -> None:
    shown = diagram()
    for state, moves in ORDER.items():
        for name, target in moves.items():
            assert re.search(rf"^    {state} --> {target}: .*{re.escape(name)}", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "events",
    [
        [START_EVENT, STOP_EVENT, METADATA],
        [START_EVENT, delta(0, text=""), stop(0), STOP_EVENT, METADATA],
        [START_EVENT, start(0), stop(0), start(1), delta(1, toolUse={"input": "{}"}), stop(1), STOP_EVENT, METADATA],
        [START_EVENT, delta(0, citation={}), delta(0, text="a"), stop(0), STOP_EVENT, METADATA],
        [START_EVENT, delta(0, reasoningContent={"signature": "s"}), stop(0), STOP_EVENT, METADATA],
        [{"validationException": {"message": "no"}}],
        [START_EVENT, delta(0, text="a"), {"throttlingException": {"message": "no"}}],
    ],
    ids=["no blocks", "empty text", "tools", "citation", "signature alone", "exception first", "exception in a block"],
)
def test_legal_orders(events: list[dict[str, object]]) -> None:
    check_order(events)


LEGAL_IN_MESSAGE = ", ".join(ORDER["message"]) + ", an exception frame"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            [STOP_EVENT],
            "events[0] is messageStop before any messageStart. Legal there: messageStart, an exception frame.",
        ),
        (
            [START_EVENT, stop(0)],
            f"events[1] is contentBlockStop where no block is open. Legal there: {LEGAL_IN_MESSAGE}.",
        ),
        (
            [START_EVENT, start(0), delta(0, text="a")],
            (
                "events[2] is contentBlockDelta.text in block 0 (toolUse). "
                "Legal there: contentBlockDelta.toolUse, contentBlockStop, an exception frame."
            ),
        ),
        (
            [START_EVENT, delta(1, text="a")],
            (
                "events[1] contentBlockDelta has contentBlockIndex 1; the next block is 0: "
                "blocks are numbered from 0 and never interleave."
            ),
        ),
        (
            [START_EVENT, delta(0, text="a"), delta(-1, text="a")],
            (
                "events[2] contentBlockDelta has contentBlockIndex -1; the open block is 0: "
                "blocks are numbered from 0 and never interleave."
            ),
        ),
        (
            [START_EVENT, STOP_EVENT, METADATA, METADATA],
            "events[3] is metadata after metadata, the last event of a stream. Legal there: nothing.",
        ),
        (
            [{"throttlingException": {}}, START_EVENT],
            "events[1] is messageStart after an exception frame, which ends a stream. Legal there: nothing.",
        ),
        (
            [START_EVENT, STOP_EVENT],
            "The stream ends after messageStop after 2 events. Legal there: metadata, an exception frame.",
        ),
        (
            [{"messageStart": {}, "messageStop": {}}],
            (
                "'messageStart' and 'messageStop' in one event; an event has exactly one key, its type "
                "(AWS model ConverseStreamOutput)."
            ),
        ),
        ([START_EVENT, delta(0)], "contentBlockDelta.delta is {}; it has exactly one member (AWS model)."),
    ],
)
def test_an_illegal_order_is_refused_with_the_event_its_position_and_what_is_legal(
    events: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(StreamOrderError) as caught:
        check_order(events)
    assert str(caught.value) == message


def test_a_symbol_names_the_member_that_the_order_depends_on() -> None:
    assert (
        symbol(delta(0, reasoningContent={"redactedContent": b""}))
        == "contentBlockDelta.reasoningContent.redactedContent"
    )
    assert symbol(start(0)) == "contentBlockStart.toolUse"
    assert symbol(METADATA) == "metadata"


def test_the_architecture_page_shows_the_diagram_of_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "architecture.md"
    assert f"```mermaid\n{diagram()}\n```" in page.read_text(encoding="utf-8")
