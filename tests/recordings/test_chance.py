"""Has a session changed? Recording again, `diff` and `show --stable` answer alike, for drawn sessions and changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint
from converse_harness.recordings.chance import CHANCE, VIEWS
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import session_of
from converse_harness.recordings.format.shared_parts import exchanges_in, message_of
from converse_harness.recordings.play.matching import asked_in, key
from converse_harness.recordings.play.request_differences import in_words
from converse_harness.recordings.record.captured import exchange_lines
from converse_harness.recordings.record.keep_unchanged import with_kept
from converse_harness.recordings.record.write import header
from converse_harness.recordings.review.compare import compare
from converse_harness.recordings.review.stable import stable_rows
from converse_strategies import faulty_replies, replies
from tests.profiles import examples
from tests.recordings.asking import request, tools, user
from tests.recordings.test_identity import heard_of

APPLICATION = ("input", "json", "inputSchema")
IDS = ("toolUseId", "signature", "redactedContent", "id")
LONG = 12

ANSWERS = replies() | faulty_replies().map(lambda case: case.reply)
TURNS = st.lists(st.tuples(ANSWERS, st.sampled_from(["Converse", "ConverseStream"])), min_size=1, max_size=3)

INVOKED: Sequence[Line] = (
    {
        "call": 0,
        "operation": "InvokeModel",
        "modelId": "m",
        "request": {"messages": [{"role": "user", "content": "a"}]},
    },
    {
        "t": 5,
        "status": 200,
        "headers": {"x-amzn-bedrock-invocation-latency": "250", "x-amzn-bedrock-output-token-count": "3"},
        "body": {"id": "chatcmpl-1", "created": 1700000000, "content": "hi", "tool": {"id": "call-1", "created": "x"}},
    },
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Line]:
    """The lines of a session: a conversation in which each request repeats the answers before, and another call."""
    lines, messages = [header()], [user("Grüezi")]
    for reply, operation in draw(TURNS):
        asked = request({"messages": messages, "toolConfig": tools("a", "b")}, operation=operation)
        response = Endpoint(reply, rules="off", history="off").exchange(asked).response
        exchange = exchange_lines(heard_of(asked, response), 0)
        lines += exchange
        if (message := message_of(exchange)) is not None and message["content"]:
            ids = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
            results = [
                {"toolUseId": each, "content": [{"text": f"for {each}"}, {"json": {"id": each}}]} for each in ids
            ]
            messages = [*messages, message, user(*({"toolResult": each} for each in results), "Und jetzt?")]
    return counted([*lines, *(deepcopy(INVOKED) if draw(st.booleans()) else ())])


def counted(lines: Sequence[Line]) -> list[Line]:
    """The lines with the numbers of their calls."""
    numbers = iter(range(1, len(lines)))
    return [{**line, "call": next(numbers)} if "call" in line else line for line in lines]


# Another day


def on_another_day(lines: Sequence[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
    """The same session, as a second recording has it."""
    made: list[Line] = []
    times = sorted(draw(st.lists(st.integers(0, 999), min_size=4, max_size=4)))
    ids = dict.fromkeys(each for line in lines for each in ids_in(line))
    new = {each: f"another-{number:09d}{'=' * draw(st.integers(0, 1))}" for number, each in enumerate(ids)}
    for line in renamed(cut_anew(lines, draw), new):
        for name in ("p", "joined", "payload", "frame"):
            if name in line and len(line) > 2:
                del line[name]
        if "t" in line:
            line["t"] = times[min(len(made), 3)]
            at_random(line, draw)
        if made and "t" in made[-1] and "t" in line and "status" not in line and draw(st.booleans()):
            line["joined"] = True
        made.append(line)
    for name in ("recorded", "by", "botocore"):
        made[0][name] = "another"
    return made


def ids_in(value: Any) -> Iterator[str]:
    """The ids that the service makes, in the order of their places."""
    if isinstance(value, dict):
        if isinstance(value.get("requestId"), str):
            yield value["requestId"]
        yield from (value[name] for name in IDS if isinstance(value.get(name), str))
        value = [each for name, each in value.items() if name not in APPLICATION]
    if isinstance(value, list):
        for each in value:
            yield from ids_in(each)


def renamed(value: Any, names: dict[str, str], *, own: bool = False) -> Any:
    """With other ids, also where the application repeats one that is long enough to be none of its own."""
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new) if len(old) >= LONG else value
        return value
    if isinstance(value, list):
        return [renamed(each, names, own=own) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: names.get(each, each)
        if name in (*IDS, "requestId") and isinstance(each, str) and not own
        else renamed(each, names, own=own or name in APPLICATION)
        for name, each in value.items()
    }


def cut_anew(lines: Sequence[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> Iterator[Line]:
    """The same lines, with each delta of a text cut in two, or together with the one before."""
    made: list[Line] = []
    for line in map(deepcopy, lines):
        place, before = text_of(line), text_of(made[-1]) if made else None
        if place and before and place[:2] == before[:2] and draw(st.booleans()):
            before[2][before[1]] += place[2][place[1]]
            continue
        made.append(line)
        if place and draw(st.booleans()):
            _, name, holder = place
            at = draw(st.integers(0, len(holder[name])))
            rest = deepcopy(line)
            _, _, other = text_of(rest) or place
            holder[name], other[name] = holder[name][:at], holder[name][at:]
            made.append(rest)
    yield from made


def text_of(line: Line) -> tuple[Any, str, dict[str, Any]] | None:
    """The block, the name and the holder of the text of a delta."""
    event = line.get("contentBlockDelta", {})
    if event.keys() != {"contentBlockIndex", "delta"} or len(event["delta"]) != 1:
        return None
    holder = event["delta"]
    for outer, name in ((None, "text"), ("toolUse", "input"), ("reasoningContent", "text")):
        inner = holder if outer is None else holder.get(outer)
        if isinstance(inner, dict) and [*inner] == [name] and isinstance(inner[name], str):
            return (event["contentBlockIndex"], outer), name, inner
    return None


def at_random(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Change the other values of an answer that differ each time."""
    if isinstance(value, dict):
        for name in value:
            if name in ("latencyMs", "guardrailProcessingLatency", "created") and not isinstance(value[name], str):
                value[name] = draw(st.integers(1, 999))
            elif name == "x-amzn-bedrock-invocation-latency":
                value[name] = str(draw(st.integers(1, 999)))
        if isinstance(value.get("inputTokens"), int) and "outputTokens" in value:
            read = draw(st.integers(0, value["inputTokens"]))
            value["inputTokens"] -= read
            value["cacheReadInputTokens"] = value.get("cacheReadInputTokens", 0) + read
        if "toolUseId" in value and value.get("type", "tool_use") == "tool_use" and "name" in value:
            value["type"] = "tool_use"
        value = [each for name, each in value.items() if name not in APPLICATION]
    if isinstance(value, list):
        for each in value:
            at_random(each, draw)


# Other changes


def is_chance(path: tuple[Any, ...], value: Any) -> bool:
    """Whether a value is one that the table lists."""
    *above, name = path
    if not set(APPLICATION).isdisjoint(above):
        return False
    if "cacheDetails" in above:
        return True
    if str(name).lower().endswith(("latency", "latencyms")):
        return not isinstance(value, str) or value.isdecimal()
    if name == "type":
        return bool(value == "tool_use")
    if name in ("bodyBase64", "requestBase64", "bytes", "frame"):
        return True  # it is content, but not every other text is valid there
    if name in ("created", "delta"):
        return not isinstance(value, str | dict)
    return name in CHANCE and name != "bodyText"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each value within a line, with the path to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name), each
        yield from places(each, (*path, name))


def holder_of(line: Any, path: Sequence[Any]) -> Any:
    for step in path[:-1]:
        line = line[step]
    return line


def another_leaf(lines: list[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
    found = [
        (number, path, value)
        for number, line in enumerate(lines[1:], 1)
        for path, value in places(line)
        if not isinstance(value, dict | list) and not is_chance(path, value)
    ]
    number, path, value = draw(st.sampled_from(found))
    other = value + "x" if isinstance(value, str) else value + 1 if isinstance(value, int) else "x"
    holder_of(lines[number], path)[path[-1]] = not value if isinstance(value, bool) else other
    return lines


def a_member_less(lines: list[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
    found = [
        (number, path)
        for number, line in enumerate(lines[1:], 1)
        for path, value in places(line)
        if len(path) > 1 and not is_chance(path, value) and any(counts(path, value))
    ]
    number, path = draw(st.sampled_from(found))
    del holder_of(lines[number], path)[path[-1]]
    return lines


def counts(path: tuple[Any, ...], value: Any) -> Iterator[bool]:
    """For each leaf of a value, whether it counts; an empty value counts as well."""
    if isinstance(value, dict | list) and value:
        yield from (
            not is_chance(inner, each)
            for inner, each in places(value, path)
            if each in ({}, []) or not isinstance(each, dict | list)
        )
    else:
        yield True


def an_event_less(lines: list[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
    found = [
        number for number, line in enumerate(lines) if "t" in line and "status" not in line and "failed" not in line
    ]
    texts = {number: text_of(lines[number]) for number in found}
    found = [number for number in found if not (place := texts[number]) or place[2][place[1]].strip()]
    assume(found)
    del lines[draw(st.sampled_from(found))]
    return lines


def a_header_more(lines: list[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
    heads = [line for line in lines if "status" in line]
    assume(heads)
    line = draw(st.sampled_from(heads))
    line["headers"] = {**line.get("headers", {}), "retry-after": "7"}
    return lines


def of_exchanges(change: Callable[[list[Any], int], object]) -> Callable[..., list[Line]]:
    """A change of the order or number of exchanges."""

    def changed(lines: list[Line], draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Line]:
        exchanges = [[*exchange] for _, exchange in exchanges_in(lines)]
        change(exchanges, draw(st.integers(0, len(exchanges) - 1)))
        return counted([lines[0], *(line for exchange in exchanges for line in exchange)])

    return changed


def swap(exchanges: list[Any], number: int) -> None:
    first, second = exchanges[number], exchanges[number - 1]
    assume(len(json.dumps(first[0])) != len(json.dumps(second[0])))
    exchanges[number], exchanges[number - 1] = second, first


CHANGES = {
    "another value": another_leaf,
    "a member less": a_member_less,
    "an event less": an_event_less,
    "a header more": a_header_more,
    "an exchange less": of_exchanges(lambda exchanges, number: exchanges.pop(number)),
    "an exchange twice": of_exchanges(lambda exchanges, number: exchanges.insert(number, exchanges[number])),
    "another order": of_exchanges(swap),
}


# The three commands


def verdicts(old: Sequence[Line], new: Sequence[Line]) -> dict[str, bool]:
    """Whether the session is the same, for each command."""
    before, after = session_of(old), session_of(new)
    return {
        "record again": with_kept(old, new) == old,
        "diff": all(each.equal for each in compare(before, after)),
        "show --stable": [*stable_rows(before.exchanges)] == [*stable_rows(after.exchanges)],
    }


@settings(max_examples=examples(1))
@given(sessions(), st.data())
def test_what_differs_by_chance_is_no_difference(old: list[Line], data: st.DataObject) -> None:
    new = on_another_day(old, data.draw)
    assert verdicts(old, new) == dict.fromkeys(("record again", "diff", "show --stable"), True)
    for before, after in zip(session_of(old).exchanges, session_of(new).exchanges, strict=True):
        assert key("shape", asked_in(before)) == key("shape", asked_in(after))
        assert in_words(asked_in(before), asked_in(after)) == []


@settings(max_examples=examples(1))
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@given(old=sessions(), data=st.data())
def test_any_other_change_is_a_difference(
    change: Callable[..., list[Line]], old: list[Line], data: st.DataObject
) -> None:
    new = change(deepcopy(old), data.draw)
    if data.draw(st.booleans(), label="on another day"):
        new = on_another_day(new, data.draw)
    assert verdicts(old, new) == dict.fromkeys(("record again", "diff", "show --stable"), False)


def test_each_kind_is_left_out_by_a_view() -> None:
    assert {row.kind for row in CHANCE.values()} == frozenset[str]().union(*VIEWS.values())
