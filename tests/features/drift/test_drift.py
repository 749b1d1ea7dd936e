"""A provider that drifts in one way is found out by the line about it, and what differs by chance is no drift."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply
from converse_harness.features.drift.drift import Drift, drift_between, id_form
from converse_harness.recordings.chance import CHANCE
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.record.captured import exchange_lines
from converse_harness.stream.events import PADDING
from converse_strategies import replies
from tests.features.drift.provider import Again, Edit, delta, json_of, session, stop
from tests.profiles import examples
from tests.recordings.asking import body, request, tools, user
from tests.recordings.test_identity import heard_of

NO_DRIFT: Final = "No drift in 3 answers."


def in_json(change: Callable[[Any], object]) -> Edit:
    """An edit of the answer in JSON."""
    return lambda exchanges: change(json_of(exchanges[0]))


def in_stream(change: Callable[[list[Line]], object]) -> Edit:
    """An edit of the lines of the stream's answer: its head and its events."""

    def edit(exchanges: list[list[Line]]) -> None:
        call, *answer = exchanges[1]
        change(answer)
        exchanges[1] = [call, *answer]

    return edit


def reordered(value: dict[str, Any]) -> None:
    """Put the first key last."""
    first = next(iter(value))
    value[first] = value.pop(first)


def resent(line: Line, name: str) -> None:
    """Send an event with its first key last. Without its payload, the usual order of the keys is sent."""
    reordered(line[name])
    line["payload"] = json.dumps({**line[name], "p": PADDING[: line["p"]]}, separators=(",", ":"))


def removed(events: list[Line], name: str) -> None:
    """Remove the first event of this name."""
    events.remove(next(each for each in events if name in each))


def with_id(new: str) -> Edit:
    def edit(exchanges: list[list[Line]]) -> None:
        json_of(exchanges[0])["output"]["message"]["content"][1]["toolUse"]["toolUseId"] = new

    return edit


def refused(status: int, name: str, words: str) -> Edit:
    def edit(exchanges: list[list[Line]]) -> None:
        exchanges[2][1] |= {"status": status, "type": name, "body": {"message": words}}

    return edit


WORDS = "The model returned the following errors: messages: text content blocks must be non-empty"

DRIFTS: Final[dict[str, tuple[Edit, list[str]]]] = {
    "a new member in usage": (
        in_json(lambda answer: answer["usage"].update(serverToolUsage={})),
        ["  usage  usage.serverToolUsage is new"],
    ),
    "a usage key is gone": (
        in_json(lambda answer: answer["usage"].pop("cacheWriteInputTokens")),
        ["  usage  usage.cacheWriteInputTokens is missing"],
    ),
    "a usage key of a stream": (
        in_stream(lambda lines: lines[-1]["metadata"]["usage"].update(cacheReadInputTokens=0)),
        ["  usage  metadata.usage.cacheReadInputTokens is new"],
    ),
    "no usage": (in_json(lambda answer: answer.pop("usage")), ["  usage  usage is missing"]),
    "toolUse.type": (
        in_json(lambda answer: answer["output"]["message"]["content"][1]["toolUse"].update(type="tool_use")),
        ["  form   output.message.content[*].toolUse.type is new"],
    ),
    "toolUse.type in a stream": (
        in_stream(lambda lines: lines[5]["contentBlockStart"]["start"]["toolUse"].update(type="tool_use")),
        ["  form   contentBlockStart.start.toolUse.type is new"],
    ),
    "the order of keys": (
        in_json(lambda answer: reordered(answer["usage"])),
        ["  form   the keys of usage have another order: "],
    ),
    "the order of keys of an event": (
        in_stream(lambda lines: resent(lines[5], "contentBlockStart")),
        ["  form   the keys of contentBlockStart have another order: contentBlockIndex, start -> "],
    ),
    "the order of the first keys": (
        in_json(reordered),
        ["  form   the keys of the body have another order: metrics, output, stopReason, usage -> output, stop"],
    ),
    "the order of keys of a delta, whatever the cuts": (
        in_stream(lambda lines: resent(lines[2], "contentBlockDelta")),
        ["  form   the keys of contentBlockDelta have another order: contentBlockIndex, delta -> delta, contentB"],
    ),
    "another id": (
        with_id("toolu_bdrk_01Gt8nKbvCzLDnCeTqGHVBiY"),
        ['toolUseId "tooluse_ and 22 characters" -> "toolu_ and 29 characters"'],
    ),
    "another request id": (
        lambda exchanges: exchanges[1][1].update(requestId="1-58406520-a006649127e371903a2de979"),
        ['  form   requestId "a UUID" -> "35 characters"'],
    ),
    "another status": (
        refused(422, "ValidationException", WORDS),
        ["  form   status 400 ValidationException -> 422 ValidationException, "],
    ),
    "another error": (
        refused(400, "ResourceNotFoundException", WORDS),
        ['  form   type "ValidationException" -> "ResourceNotFoundException"'],
    ),
    "other words": (
        refused(400, "ValidationException", "text content blocks must not be empty"),
        ["  form   message "],
    ),
    "an answer is refused": (
        lambda exchanges: exchanges[0].__setitem__(1, exchanges[2][1]),
        ['  form   status 200 -> 400 ValidationException, "The model returned the following errors'],
    ),
    "another stop reason": (
        in_json(lambda answer: answer.update(stopReason="end_turn")),
        ['  form   stopReason "tool_use" -> "end_turn"'],
    ),
    "an event more": (
        in_stream(lambda lines: lines.insert(2, {"t": 411, "ping": {}, "p": 3})),
        ["  form   event ping is new"],
    ),
    "an event of a block again": (
        in_stream(lambda lines: lines.insert(5, {"t": 413, **stop(0), "p": 3})),
        ["  form   event contentBlockStop is new"],
    ),
    "an event again": (
        in_stream(lambda lines: lines.insert(-1, lines[-2])),
        ["  form   event messageStop is new"],
    ),
    "no contentBlockStop": (
        in_stream(lambda lines: removed(lines, "contentBlockStop")),
        ["  form   event contentBlockStop is missing"],
    ),
    "no contentBlockStart": (
        in_stream(lambda lines: removed(lines, "contentBlockStart")),
        ["  form   event contentBlockStart is missing"],
    ),
    "events in another order": (in_stream(lambda lines: lines.append(lines.pop(-2))), ["  form   ", "  form   "]),
    "a header more": (
        lambda exchanges: exchanges[0][1].update(headers={"x-amzn-bedrock-service-tier": "default"}),
        ["  form   headers.x-amzn-bedrock-service-tier is new"],
    ),
    "another type of content": (
        lambda exchanges: exchanges[0][1].update(headers={"Content-Type": "application/json; charset=utf-8"}),
        ['  form   headers.content-type "as usual" -> "application/json; charset=utf-8"'],
    ),
    "a block of another kind": (
        in_json(
            lambda answer: answer["output"]["message"]["content"].insert(
                0, {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
            )
        ),
        ["  form   output.message.content[*] reasoningContent is new"],
    ),
    "a member of the answer": (in_json(lambda answer: answer.update(serviceTier={})), ["  form   serviceTier is new"]),
    "no latency": (
        in_json(lambda answer: answer["metrics"].clear()),
        ["  form   metrics.latencyMs is missing"],
    ),
    "a text becomes null": (
        in_json(lambda answer: answer["output"]["message"]["content"][0].update(text=None)),
        ['  form   output.message.content[*].text "text" -> "null"'],
    ),
}


@pytest.mark.parametrize(("edit", "lines"), DRIFTS.values(), ids=DRIFTS)
def test_a_drift_is_named(edit: Edit, lines: list[str], again: Again) -> None:
    found = again.after(edit, code=1)
    assert [line for line in found if line.startswith("  ")] == found[: len(lines)], found
    assert all(expected in line for expected, line in zip(lines, found, strict=False)), found
    group = "usage" if "usage  " in lines[0] else "form"
    assert found[len(lines)] == f"1 of 3 answers has drifted: 1 in {group}."


def cut(lines: list[Line]) -> None:
    """Cut the texts and the input of the tool into other deltas."""
    lines[2:4] = [{"t": 411, **delta(0, "Chur to Tir"), "p": 1, "joined": True}]
    lines.insert(3, {"t": 411, **delta(0, ""), "p": 1})
    lines.insert(4, {"t": 411, **delta(0, "ano"), "p": 1})


def twice(lines: list[Line]) -> None:
    """Use a second tool, with an id of the same form."""
    (start,) = (each for each in lines if "contentBlockStart" in each)
    at = lines.index(start)
    more = [
        {
            "contentBlockStart": {
                "contentBlockIndex": 2,
                "start": {"toolUse": {"name": "other", "toolUseId": f"tooluse_{'b' * 22}"}},
            }
        },
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{}"}}}},
        stop(2),
    ]
    lines[at + 4 : at + 4] = [{"t": 414, **each, "p": 1} for each in more]


def written(text: str) -> Edit:
    return in_json(lambda answer: answer["output"]["message"]["content"][0].update(text=text))


CHANCES: Final[dict[str, tuple[Edit, bool]]] = {
    "nothing": (lambda _: None, False),
    "another text": (written("It takes 4 h."), True),
    "another tool": (
        in_json(lambda answer: answer["output"]["message"]["content"][1]["toolUse"].update(name="get_news", input={})),
        True,
    ),
    "a tool more": (in_stream(twice), True),
    "a block more": (
        in_json(lambda answer: answer["output"]["message"]["content"].insert(0, {"text": "Well."})),
        True,
    ),
    "latency": (in_json(lambda answer: answer["metrics"].update(latencyMs=7)), False),
    "ids": (with_id("tooluse_aaaa_bbbb-cccc_dddd012"), False),
    "request ids": (
        lambda exchanges: [each[1].update(requestId="0a1b2c3d-1111-4222-8333-444455556666") for each in exchanges],
        False,
    ),
    "cuts": (in_stream(cut), False),
    "padding and times": (
        in_stream(lambda lines: [each.update(p=60, t=900) for each in lines if "p" in each]),
        False,
    ),
    "output tokens": (in_json(lambda answer: answer["usage"].update(outputTokens=99, totalTokens=113)), False),
    "what the prompt cache has": (
        in_json(lambda answer: answer["usage"].update(cacheReadInputTokens=10, inputTokens=4)),
        False,
    ),
    "what was written into the prompt cache": (
        in_json(lambda answer: answer["usage"].update(cacheDetails=[{"inputTokens": 0, "ttl": "5m"}])),
        False,
    ),
}


@pytest.mark.parametrize(("edit", "content"), CHANCES.values(), ids=CHANCES)
def test_chance_is_no_drift(edit: Edit, content: bool, again: Again) -> None:
    lines = ["The content of 1 answer differs, as it may."] if content else []
    assert again.after(edit) == [NO_DRIFT, *lines]


def test_another_count_of_input_tokens_is_told_and_is_no_drift(again: Again) -> None:
    more = in_json(lambda answer: answer["usage"].update(inputTokens=15))
    assert again.after(more) == ["  usage  input tokens of the same request 14 -> 15", NO_DRIFT]


def test_of_an_answer_with_another_status_nothing_else_is_compared(again: Again) -> None:
    edit, lines = DRIFTS["an answer is refused"]
    assert len(again.after(edit, code=1)) == len(lines) + 1


def reasoned(signature: str) -> Edit:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": signature}}}
    return in_json(lambda answer: answer["output"]["message"]["content"].insert(0, thought))


def with_headers(**headers: str | None) -> Edit:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchanges: exchanges[0][1].update(headers=named)


def without_id(exchanges: list[list[Line]]) -> None:
    del exchanges[0][1]["requestId"]


def unchanged(exchanges: list[list[Line]]) -> None:
    del exchanges


FORBIDDEN: Final = refused(403, "AccessDeniedException", "No.")

ALREADY: Final[dict[str, tuple[Edit, Edit, str]]] = {
    "signature": (reasoned("c2ln"), reasoned("c2lnbmF0dXJl"), ""),
    "header with a figure": (with_headers(x_amzn_bedrock_latency="12"), with_headers(x_amzn_bedrock_latency="7"), ""),
    "type of content": (
        with_headers(Content_Type="text/json"),
        with_headers(Content_Type="text/plain"),
        '  form   headers.content-type "text/json" -> "text/plain"',
    ),
    "type not recorded": (with_headers(Content_Type=None), unchanged, ""),
    "type no longer sent": (
        unchanged,
        with_headers(Content_Type=None),
        '  form   headers.content-type "as usual" -> "not sent"',
    ),
    "id not recorded": (without_id, unchanged, ""),
    "id masked": (lambda exchanges: exchanges[0][1].update(requestId="REDACTED"), unchanged, ""),
    "id no longer sent": (unchanged, without_id, "  form   requestId is missing"),
    "refused as before": (FORBIDDEN, FORBIDDEN, ""),
    "refused in other words": (
        FORBIDDEN,
        refused(403, "AccessDeniedException", "Never."),
        '  form   message "No." -> "Never."',
    ),
}
"""What the provider sent when it was recorded, what it sends now, and the line about the drift."""


@pytest.mark.parametrize(("then", "now", "line"), ALREADY.values(), ids=ALREADY)
def test_what_the_recording_has_already(then: Edit, now: Edit, line: str, again: Again) -> None:
    recorded = session()
    then(recorded)
    again.record(recorded)
    lines = again.after(now, code=1 if line else 0)
    assert lines == ([line, "1 of 3 answers has drifted: 1 in form."] if line else [NO_DRIFT])


def test_changes_of_several_answers_are_counted(again: Again) -> None:
    edits = [DRIFTS[name][0] for name in ("a usage key is gone", "no contentBlockStop", "another stop reason")]
    *_, summary, content = again.after(*edits, written("Four."), code=1)
    assert summary == "2 of 3 answers have drifted: 2 in form, 1 in usage."
    assert content == "The content of 1 answer differs, as it may."


def test_a_recording_with_keys_in_the_order_of_a_person_is_compared_as_it_is_sent(again: Again) -> None:
    exchanges = session()
    reordered(exchanges[1][6]["contentBlockStart"])
    again.record(exchanges)
    assert again.after() == [NO_DRIFT]


@settings(max_examples=examples(1))
@given(replies(), st.sampled_from(["Converse", "ConverseStream"]))
def test_one_reply_sent_with_other_ids_and_padding_has_no_drift(drawn: Reply, operation: str) -> None:
    asked = request(body(user("Grüezi"), toolConfig=tools("a")), operation=operation)
    answers = [Endpoint(drawn, rules="off", seed=seed).exchange(asked).response for seed in (1, 2)]
    assert drift_between(*(exchange_lines(heard_of(asked, each), 1) for each in answers)) == Drift()


@given(st.from_regex(r"tooluse_[A-Za-z0-9_-]{22}", fullmatch=True))
def test_all_ids_of_one_kind_have_one_form(drawn: str) -> None:
    assert id_form(drawn) == "tooluse_ and 22 characters"


def test_the_table_of_chance_has_what_is_compared_by_value() -> None:
    """A kind of chance that is added has to be sorted: does its member stay, or only its value?"""
    assert {row.kind for row in CHANCE.values()} == {
        *("time", "id", "link", "cache", "cut"),  # the member stays
        *("recorder", "number", "padding", "form"),
        "default",  # a drift
    }
