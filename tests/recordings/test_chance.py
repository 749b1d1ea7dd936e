"""Has a session changed? Recording again, `diff` and `show --stable` answer alike, for drawn sessions and changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, faults, reply
from converse_harness.recordings.chance import CHANCE, VIEWS
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.recordings.format.read import session_of
from converse_harness.recordings.format.shared_parts import exchanges_in, message_of
from converse_harness.recordings.play.matching import asked_in, key
from converse_harness.recordings.play.request_differences import in_words
from converse_harness.recordings.record.captured import exchange_lines
from converse_harness.recordings.record.keep_unchanged import with_kept
from converse_harness.recordings.record.write import header
from converse_harness.recordings.review.compare import compare
from converse_harness.recordings.review.stable import stable_rows
from converse_harness.stream.grammar import is_exception
from converse_strategies import faulty_replies, replies
from tests.profiles import examples
from tests.recordings.asking import request, tools, user
from tests.recordings.test_identity import heard_of

APPLICATION = ("input", "json", "inputSchema")
IDS = ("toolUseId", "signature", "redactedContent", "id")
LONG = 12

SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "QmVybmluYSBFeHByZXNz"}}}
USE = {"toolUse": {"name": "a", "input": {"id": "order-1", "created": 7, "signature": "mine", "latency": 3}}}
GUARDED = {"guardrail": {"inputAssessment": {"g": {"invocationMetrics": {"guardrailProcessingLatency": 9}}}}}

KNOWN: Sequence[Reply] = (
    reply.message({"reasoningContent": {"redactedContent": b"secret"}}, {"text": "No."}, trace=GUARDED),
    reply.text("hi", usage={"inputTokens": 9, "outputTokens": 2, "totalTokens": 15, "cacheReadInputTokens": 4}),
    reply.throttled(),
    reply.text("hi").fails_after(3, "throttlingException"),
    reply.text("hi").error_frame_after(3, "InternalFailure", "Sorry."),
    reply.text("hi").broken(faults.closed, after=3),
    reply.text("one two three").broken(faults.bad_crc, after=2),
)
"""Answers with much of what differs by chance, and cut off in several ways; drawn answers seldom are so."""

SHORT = {"toolUse": {"name": "b", "input": {"id": "t1", "text": "t1"}, "toolUseId": "t1"}}
TOOLS = reply.message(SIGNED, {"text": "t1"}, USE, SHORT, performance_config={"latency": "optimized"})
DRAWN = replies() | faulty_replies().map(lambda case: case.reply)

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

Draw = Callable[[st.SearchStrategy[Any]], Any]
Path = tuple[Any, ...]


@st.composite
def sessions(draw: st.DrawFn) -> list[Line]:
    """The lines of a session: a conversation in which each request repeats the answers before, and another call."""
    lines, messages = [header()], [user("Grüezi")]
    drawn = draw(st.tuples(st.sampled_from(KNOWN), st.sampled_from(KNOWN) | DRAWN))
    for made in draw(st.permutations([TOOLS, *drawn])):
        asked = request(
            {"messages": messages, "toolConfig": tools("a", "b")},
            operation=draw(st.sampled_from(["Converse", "ConverseStream"])),
        )
        response = Endpoint(made, rules="off", history="off").exchange(asked).response
        exchange = exchange_lines(heard_of(asked, response), 0)
        lines += exchange
        message = message_of(exchange)
        if message is not None and message["content"]:
            ids = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
            results = [{"toolUseId": each, "type": "mine", "content": [{"text": f"of {each}"}]} for each in ids[1:]]
            results += [{"toolUseId": each, "content": [{"json": {"id": each, "created": 5}}]} for each in ids[:1]]
            messages = [*messages, message, user(*({"toolResult": each} for each in results), "Und jetzt?")]
    for line in lines:
        event = event_of(line)
        if event is not None and {"t", "p"} <= line.keys() and draw(st.booleans()):
            line["payload"] = json.dumps({**event[1], "p": "abc"})
    if draw(st.booleans()):
        lines.append({"t": 9999, "frame": "AAAA"})
    return counted([*lines, *(deepcopy(INVOKED) if draw(st.booleans()) else ())])


def counted(lines: Sequence[Line]) -> list[Line]:
    """The lines with the numbers of their calls."""
    numbers = iter(range(1, len(lines)))
    return [{**line, "call": next(numbers)} if "call" in line else line for line in lines]


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value within a value, with the path to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name), each
        yield from places(each, (*path, name))


def is_own(path: Path) -> bool:
    """Whether a place is in JSON of the application."""
    return not set(APPLICATION).isdisjoint(path[:-1])


# Another day


def on_another_day(lines: Sequence[Line], draw: Draw) -> list[Line]:
    """The same session, as a second recording has it."""
    found = [
        each for line in lines for path, each in places(line) if path[-1] in (*IDS, "requestId") and not is_own(path)
    ]
    names = {each: f"another-{number:09d}" for number, each in enumerate(dict.fromkeys(found)) if isinstance(each, str)}
    made: list[Line] = []
    for line in renamed(cut_anew(lines, draw), names):
        if event_of(line) is not None and "t" in line:
            for name in {"p", "joined", "payload", "frame"} & line.keys():
                del line[name]
            if draw(st.booleans()):
                line["joined"] = True
        if "t" in line:
            line["t"] += draw(st.integers(0, 9))
            vary(line, draw)
        made.append(in_another_order(line) if draw(st.booleans()) else line)
    return [{**made[0], **dict.fromkeys(("recorded", "imported", "by", "botocore"), "another")}, *made[1:]]


def renamed(value: Any, names: dict[str, str], *, own: bool = False) -> Any:
    """With other ids, also where the application repeats one that is long enough to be none of its own."""
    if isinstance(value, str):
        for old, new in sorted(names.items(), reverse=True):  # an id may begin with another one
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


def in_another_order(line: Any, *, top: bool = True) -> Any:
    """With the members of each object in another order, but not the keys of the line."""
    if isinstance(line, list):
        return [in_another_order(each, top=False) for each in line]
    if not isinstance(line, dict):
        return line
    return {name: in_another_order(line[name], top=False) for name in ([*line] if top else [*line][::-1])}


def cut_anew(lines: Sequence[Line], draw: Draw) -> list[Line]:
    """The same lines, with each delta of a text cut in two, or together with the one before."""
    made: list[Line] = []
    for line in map(deepcopy, lines):
        text, before = text_of(line), text_of(made[-1]) if made else None
        if text and before and text[:2] == before[:2] and draw(st.booleans()):
            before[2][text[1]] += text[2][text[1]]
            continue
        made.append(line)
        if text and draw(st.booleans()):
            _, name, holder = text
            at = draw(st.integers(0, len(holder[name])))
            rest = deepcopy(line)
            _, _, other = text_of(rest) or text
            holder[name], other[name] = holder[name][:at], holder[name][at:]
            made.append(rest)
    return made


def text_of(line: Line) -> tuple[Any, str, dict[str, Any]] | None:
    """The block and kind of a delta with a text, the name of the text, and the object that holds it."""
    event = line.get("contentBlockDelta", {})
    if event.keys() != {"contentBlockIndex", "delta"} or len(event["delta"]) != 1:
        return None
    for outer, name in (("", "text"), ("toolUse", "input"), ("reasoningContent", "text")):
        holder = event["delta"].get(outer) if outer else event["delta"]
        if isinstance(holder, dict) and [*holder] == [name] and isinstance(holder[name], str):
            return (event["contentBlockIndex"], outer), name, holder
    return None


def vary(value: Any, draw: Draw) -> None:
    """Change the other values of an answer that differ each time."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in ("latencyMs", "guardrailProcessingLatency", "created") and not isinstance(each, str):
                value[name] = draw(st.integers(1, 999))
            elif name == "x-amzn-bedrock-invocation-latency":
                value[name] = str(draw(st.integers(1, 999)))
        if isinstance(value.get("inputTokens"), int) and "outputTokens" in value:
            read = draw(st.integers(0, value["inputTokens"]))
            value["inputTokens"] -= read
            value["cacheReadInputTokens"] = value.get("cacheReadInputTokens", 0) + read
        if {"toolUseId", "name"} <= value.keys():
            value.setdefault("type", "tool_use")
        if value.get("metrics", {}).keys() == {"latencyMs"}:
            del value["metrics"]
    for name, each in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if name not in APPLICATION:
            vary(each, draw)


# Other changes


def is_chance(path: Path, value: Any) -> bool:
    """Whether a value is one that the table lists."""
    name = str(path[-1])
    if is_own(path):
        return False
    if "cacheDetails" in path or name in ("bytes", "bodyBase64"):
        return True  # bytes are content, but not every other text is valid there
    if name.lower().endswith(("latency", "latencyms")):
        return not isinstance(value, str) or value.isdecimal()
    if name in ("created", "type", "delta", "bodyText"):
        return (name == "type" and bool(value == "tool_use")) or (name == "created" and isinstance(value, int))
    return name in CHANCE


def drawn_place(lines: list[Line], draw: Draw, fits: Callable[[Path, Any], bool]) -> tuple[Any, Any]:
    """An object or array, and the name of a member or index of an item in it that is not chance."""
    found = [
        [path for path, value in places(line) if not is_chance(path, value) and fits(path, value)] for line in lines[1:]
    ]
    assume(any(found))
    number = draw(st.sampled_from([number for number, paths in enumerate(found, 1) if paths]))
    *above, last = draw(st.sampled_from(found[number - 1]))
    holder: Any = lines[number]
    for step in above:
        holder = holder[step]
    return holder, last


def another_value(fits: Callable[[Path], bool] = lambda _: True) -> Callable[[list[Line], Draw], None]:
    """A change of a value at a place that fits."""

    def change(lines: list[Line], draw: Draw) -> None:
        holder, name = drawn_place(lines, draw, lambda path, each: not isinstance(each, dict | list) and fits(path))
        value = holder[name]
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else "x"
        holder[name] = value + "x" if isinstance(value, str) else other

    return change


def a_member_less(fits: Callable[[Path], bool] = lambda _: True) -> Callable[[list[Line], Draw], None]:
    """A change that removes a member or an item at a place that fits."""

    def counts(path: Path, value: Any) -> bool:
        inner = [(path + below, each) for below, each in places(value) if not each or not isinstance(each, dict | list)]
        return not isinstance(value, dict | list) or not value or not all(is_chance(*each) for each in inner)

    def change(lines: list[Line], draw: Draw) -> None:
        holder, name = drawn_place(lines, draw, lambda path, each: len(path) > 1 and counts(path, each) and fits(path))
        del holder[name]

    return change


def an_event_less(lines: list[Line], draw: Draw) -> None:
    events = [number for number, line in enumerate(lines) if "t" in line and not line.keys() & {"status", "failed"}]
    texts = {number: text_of(lines[number]) for number in events}
    # A delta with spaces alone may stand between two tokens of the JSON of a tool's input.
    events = [number for number in events if not (text := texts[number]) or text[2][text[1]].strip()]
    assume(events)
    del lines[draw(st.sampled_from(events))]


def the_last_event_less(lines: list[Line], draw: Draw) -> None:
    """A stream that is shorter by the last event, or by the event before its end, its error or damaged bytes."""
    found: list[int] = []
    cut_off: list[int] = []
    for number, line in enumerate(lines):
        if event_of(line) is not None and "t" in line and not line.keys() & {"status", "failed", "end"}:
            name, _ = event_of(lines[number + 1] if number + 1 < len(lines) else {"call": 0}) or ("", {})
            found += [number] if name == "call" else []
            cut_off += [number] if name in ("end", "") or is_exception(name) else []
    assume(found or cut_off)
    del lines[draw(st.sampled_from(cut_off or found))]


def other_bytes(lines: list[Line], draw: Draw) -> None:
    """Other bytes that are no event, or bytes where there were none."""
    found = [line for line in lines if "bytes" in line or ("frame" in line and event_of(line) is None)]
    if not found:
        lines.append({"t": 9999, "bytes": "QUFB"})
        return
    line = draw(st.sampled_from(found))
    name = "bytes" if "bytes" in line else "frame"
    line[name] = f"QUFB{line[name]}"


def another_end(lines: list[Line], draw: Draw) -> None:
    """An answer that ends otherwise, or that has a bad end."""
    found = [line for line in lines if "end" in line]
    if found:
        line = draw(st.sampled_from(found))
        line["end"] = "stalled" if line["end"] != "stalled" else "connection closed"
    else:
        lines.append({"t": 9999, "end": "stalled"})


def a_key_more(lines: list[Line], draw: Draw) -> None:
    """A header of the request or of the answer, a query, what was masked, another label of the path."""
    line = draw(st.sampled_from([line for line in lines if "status" in line or "call" in line]))
    names = ["headers"] if "status" in line else ["headers", "query", "masked", "label"]
    name = draw(st.sampled_from(names))
    line[name] = {**line.get(name, {}), "x-amzn-bedrock-x": "7"} if name == "headers" else ["a"]


def another_link(lines: list[Line], draw: Draw) -> None:
    """A result, or a signature, of another block than before."""
    calls = [line for line in lines if "call" in line]
    found = [(line, path) for line in calls for path, _ in places(line) if path[-1] in IDS and not is_own(path)]
    assume(found)
    holder, (*above, last) = draw(st.sampled_from(found))
    for step in above:
        holder = holder[step]
    holder[last] = "another-id-than-before"


def another_tool(lines: list[Line], draw: Draw) -> None:
    """Another description of a tool, in every request."""
    description = draw(st.text(min_size=1))
    for line in lines:
        if "toolConfig" in line.get("request", {}):
            line["request"]["toolConfig"]["tools"][0]["toolSpec"]["description"] = description


def a_shorter_history(lines: list[Line], draw: Draw) -> None:
    """A request with its last message alone."""
    calls = [line for line in lines if "call" in line and len(line["request"]["messages"]) > 1]
    assume(calls)
    asked = draw(st.sampled_from(calls))["request"]
    asked["messages"] = asked["messages"][-1:]


def of_exchanges(change: Callable[[list[Any], int], object]) -> Callable[[list[Line], Draw], None]:
    """A change of the order or number of exchanges."""

    def changed(lines: list[Line], draw: Draw) -> None:
        exchanges = [[*exchange] for _, exchange in exchanges_in(lines)]
        change(exchanges, draw(st.integers(0, len(exchanges) - 1)))
        lines[1:] = [line for exchange in exchanges for line in exchange]

    return changed


def swap(exchanges: list[Any], number: int) -> None:
    first, second = exchanges[number], exchanges[number - 1]
    assume(len(json.dumps(first[0])) != len(json.dumps(second[0])))
    exchanges[number], exchanges[number - 1] = second, first


CHANGES = {
    "another value": another_value(),
    "another value of the application": another_value(lambda path: is_own(path) and path[-1] in CHANCE),
    "another value in an answer's input": another_value(lambda path: is_own(path) and "request" not in path),
    "another latency": another_value(lambda path: str(path[-1]).endswith("latency")),
    "another result": another_value(lambda path: "toolResult" in path),
    "another tool": another_tool,
    "another value of the usage": another_value(lambda path: "usage" in path),
    "a member less": a_member_less(),
    "a member of the usage less": a_member_less(lambda path: "usage" in path),
    "the messages less": a_member_less(lambda path: path == ("request", "messages")),
    "a member of a block less": a_member_less(lambda path: "messages" in path and isinstance(path[-1], str)),
    "an event less": an_event_less,
    "the last event less": the_last_event_less,
    "other bytes": other_bytes,
    "another end": another_end,
    "a key more": a_key_more,
    "another link": another_link,
    "a shorter history": a_shorter_history,
    "an exchange less": of_exchanges(lambda exchanges, number: exchanges.pop(number)),
    "an exchange twice": of_exchanges(lambda exchanges, number: exchanges.insert(number, exchanges[number])),
    "another order": of_exchanges(swap),
}


# The three commands

COMMANDS = ("record again", "diff", "show --stable")


def verdicts(old: Sequence[Line], new: Sequence[Line]) -> dict[str, bool]:
    """Whether the session is the same, for each command."""
    before, after = session_of(old), session_of(new)
    return {
        "record again": with_kept(old, new) == old,
        "diff": all(each.equal for each in compare(before, after)),
        "show --stable": [*stable_rows(before.exchanges)] == [*stable_rows(after.exchanges)],
    }


@given(sessions(), st.data())
def test_what_differs_by_chance_is_no_difference(old: list[Line], data: st.DataObject) -> None:
    new = on_another_day(old, data.draw)
    assert verdicts(old, new) == dict.fromkeys(COMMANDS, True)
    for before, after in zip(session_of(old).exchanges, session_of(new).exchanges, strict=True):
        assert key("shape", asked_in(before)) == key("shape", asked_in(after))
        assert in_words(asked_in(before), asked_in(after)) == []


@settings(max_examples=examples(0.5))
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@given(old=sessions(), data=st.data())
def test_any_other_change_is_a_difference(
    change: Callable[[list[Line], Draw], None], old: list[Line], data: st.DataObject
) -> None:
    new = deepcopy(old)
    change(new, data.draw)
    new = counted(new)
    if data.draw(st.booleans(), label="on another day"):
        new = on_another_day(new, data.draw)
    assert verdicts(old, new) == dict.fromkeys(COMMANDS, False)


def test_each_kind_is_left_out_by_a_view() -> None:
    assert {row.kind for row in CHANCE.values()} == frozenset[str]().union(*VIEWS.values())
