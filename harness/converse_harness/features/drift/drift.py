"""Compare a new answer with the recorded one: what changed in form, in content and in usage.

What differs by chance is in the table `CHANCE`. For the view "record --again", the members of times, ids and token
counts stay, because a service that no longer sends one has drifted: only their values are left out. Of an id, its form
is compared.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import COUNTERS
from converse_harness.json_values import canonical, is_array, is_number, is_object, member_of, parsed_json, path_text
from converse_harness.recordings.chance import (
    APPLICATION,
    CHANCE,
    LINKS,
    VIEWS,
    Kind,
    normalised,
    without_chance,
)
from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences, shown
from converse_harness.recordings.format.exchanges import PLACEHOLDER
from converse_harness.recordings.format.lines import Line, event_of, wire_event_of
from converse_harness.words import cut

_Path = tuple[str | int, ...]


class Drift(NamedTuple):
    """The changes of one answer, each in words.

    A change in `form`, or in `usage_keys`, is a drift of the service. `usage` are other counts of input tokens, and
    `content` is whether the model wrote something else, as it may.
    """

    form: tuple[str, ...] = ()
    usage_keys: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    content: bool = False

    def __bool__(self) -> bool:
        return bool(self.form or self.usage_keys)


_VALUES: Final[frozenset[Kind]] = frozenset({"time", "id", "link", "cache", "cut"})
"""The kinds of chance of which only the values are left out, and not the members."""

_REMOVED: Final = VIEWS["record --again"] - _VALUES

_IDS: Final = LINKS | {name for name, row in CHANCE.items() if row.kind == "id"}
_COME_AND_GO: Final = {name for name, row in CHANCE.items() if row.kind == "cache"} - {*COUNTERS}
"""Members that are sent or not, as earlier sessions left the prompt cache. The counters are sent even if they are 0."""

_WORDS: Final = frozenset(
    {
        *("role", "stopReason", "status", "type", "latency", "format"),
        *("message", "__type", "code"),  # of an error; the `message` of an answer is an object
        *("stop_reason", "finish_reason", "object"),  # of InvokeModel
    }
)
"""Members whose text is a word of the protocol, and not of the model."""

_OF_THE_MODEL: Final = APPLICATION | {"additionalModelResponseFields", "outputAssessments", "stop_sequence"}
"""Members whose form depends on what the model wrote, or on the tool that it used."""

_ENCRYPTED: Final = frozenset({"signature", "redactedContent"})
"""Members whose text has another length each time."""

_USAGE: Final = "usage"
_TYPE: Final = "content-type"

_MANY: Final = 120
"""The maximum number of characters of a list of keys that is shown."""


def drift_between(old: Sequence[Line], new: Sequence[Line]) -> Drift:
    """Return how the answer in the lines `new` differs from that in `old`. Each begins with the line of the call.

    >>> call = {"call": 1, "operation": "Converse", "modelId": "m"}
    >>> recorded = {"t": 1, "status": 200, "body": {"stopReason": "end_turn", "usage": {"inputTokens": 5}}}
    >>> now = {"t": 2, "status": 200, "body": {"stopReason": "end_turn", "usage": {}}}
    >>> drift_between([call, recorded], [call, now]).usage_keys
    ('usage.inputTokens is missing',)
    """
    before, after = _Form(old), _Form(new)
    _leave_out_unrecorded(old[1], before.answer, after.answer)
    form, usage_keys = list[str](), list[str]()
    for path, text in _changes(before.answer, after.answer):
        (usage_keys if _USAGE in path else form).append(text)
    form += [
        f"the keys of {_at(path) or 'the body'} have another order: {cut(one, _MANY)} -> {cut(other, _MANY)}"
        for path, one, other in _reordered(before.answer, after.answer)
    ]
    counts = before.input_tokens, after.input_tokens
    usage = [f"input tokens of the same request {counts[0]} -> {counts[1]}"] if None not in counts else []
    return Drift(
        tuple(dict.fromkeys(form)),
        tuple(dict.fromkeys(usage_keys)),
        tuple(usage) if counts[0] != counts[1] else (),
        before.answer["status"] == after.answer["status"] and before.content != after.content,
    )


def _leave_out_unrecorded(head: Line, old: Line, new: Line) -> None:
    """Leave out what the recorded `head` lacks although every service sends it: somebody wrote it, or masked it."""
    if PLACEHOLDER.search(head.get("requestId", "*")):
        for answer in (old, new):
            answer.pop("requestId", None)
    for name in [name for name, value in old["headers"].items() if value == "not sent"]:
        for answer in (old, new):
            answer["headers"].pop(name, None)


def _changes(old: Any, new: Any) -> Iterator[tuple[_Path, str]]:
    """Yield the path of each change of form, and the change in words."""
    if old["status"] != new["status"]:  # the rest of an error has another form anyhow
        message = [member_of(each, "body", "message") for each in (old, new)]
        said = [f"{each['status']} {each.get('type', '')}".strip() for each in (old, new)]
        words = next((f", {shown(None, text)[1]}" for text in reversed(message) if isinstance(text, str)), "")
        yield ("status",), f"status {' -> '.join(said)}{words}"
        return
    for difference in differences(old, new):
        yield difference.path, _in_words(difference)


def _in_words(difference: Difference) -> str:
    path, old, new, _ = difference
    is_item, place = isinstance(path[-1], int), _at(path) or "event"
    if old is not ABSENT and new is not ABSENT:
        values = (_kinds(old), _kinds(new)) if is_item else shown(old, new)
        return f"{place} {' -> '.join(values)}"
    value, verb = (new, "new") if old is ABSENT else (old, "missing")
    return f"{place} {_kinds(value)} is {verb}" if is_item else f"{place} is {verb}"


def _at(path: Sequence[str | int]) -> str:
    """Return a path within the body or the event. An item has no number, because equal forms are compared once."""
    text = re.sub(r"\[\d+\]", "[*]", path_text(path))
    return re.sub(r"^(?:events(?:\[\*\])*|body)(?:\.|$)", "", text)


def _kinds(value: Any) -> str:
    """Return the kinds of an event, of a block or of the events of a block: their keys."""
    if is_array(value):
        return ", ".join(map(_kinds, value))
    return " and ".join(value) if is_object(value) else str(value)


def _reordered(old: Any, new: Any, path: _Path = ()) -> Iterator[tuple[_Path, str, str]]:
    """Yield the path of each object whose keys have another order, and both orders. Keys of one side do not count."""
    if is_object(old) and is_object(new):
        one, other = ([name for name in each if name in old and name in new] for each in (old, new))
        if one != other and path:  # the line of the head is ours
            yield path, ", ".join(one), ", ".join(other)
        for name in one:
            yield from _reordered(old[name], new[name], (*path, name))
    elif is_array(old) and is_array(new):
        for pair in aligned(old, new):
            yield from _reordered(*pair.items(old, new), (*path, pair.indexes[1]))


class _Form:
    """The form of an answer.

    `answer` is its head, with the form of the body or of the events in place of their values. `content` are the texts
    of the model, in their order, each with its name. `input_tokens` is the number of input tokens, with those of the
    prompt cache; None if the answer has none.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        _, head, *events = normalised([*lines[:2], *map(_in_order_sent, lines[2:])], _REMOVED)
        self.content: list[tuple[str, str]] = []
        self.input_tokens: int | float | None = None
        self.answer = {key: value for key, value in head.items() if key not in ("t", "headers", "body")}
        self._ids(self.answer)
        headers = {name.lower(): value for name, value in head.get("headers", {}).items()}
        self.answer["headers"] = {_TYPE: "as usual"} | {
            name: "not sent" if value is None else value if name == _TYPE else "text" for name, value in headers.items()
        }
        if "body" in head:
            self.answer["body"] = self._of(head["body"])
            self._count(head["body"])
        else:
            self.answer["events"] = self._of_events(events)

    def _ids(self, head: Line) -> None:
        for name in _IDS & head.keys():
            head[name] = id_form(head[name])

    def _count(self, body: Any) -> None:
        usage = member_of(body, _USAGE)
        if is_object(usage):
            counted = without_chance(usage, frozenset({"cache"})).get("inputTokens")
            self.input_tokens = counted if is_number(counted) else None

    def _of_events(self, lines: Sequence[Line]) -> list[Any]:
        """Return the forms of events. The events of one block are a list; a block with the form of another is left out.

        So it does not matter into how many deltas a text is cut, and how many blocks of a kind there are. The same
        holds for the events `chunk` of InvokeModelWithResponseStream, whose index is in their bytes.
        """
        made: list[Any] = []
        for index, of_block in groupby(lines, lambda line: member_of(_members(line), "contentBlockIndex")):
            forms = [*map(self._of_event, of_block)]
            if index is not None:
                forms = [[*forms[:1], *(each for before, each in pairwise(forms) if _is_more(before, each))]]
            for form in forms:
                if form not in made or (index is None and "chunk" not in form):
                    made.append(form)
        return made

    def _of_event(self, line: Line) -> Any:
        found = wire_event_of(line)
        if found is None:
            return {"bytes that are no event": {}}
        name, members = found
        if name == "metadata":
            self._count(members)
        if name == "chunk":
            inner = parsed_json(base64.b64decode(str(members.get("bytes", ""))))
            return {name: {**members, "bytes": self._of(inner)}}
        return {name: self._of(members)}

    def _of(self, value: Any, name: str = "") -> Any:
        """Return the form of a JSON value: the kinds of its values in their place, and ids by their form."""
        if name in _OF_THE_MODEL:
            self._write(name, value if isinstance(value, str) else canonical(value))
            return "JSON"
        if is_object(value):
            return {key: self._of(each, key) for key, each in value.items() if key not in _COME_AND_GO}
        if is_array(value):
            forms = {canonical(form): form for form in [self._of(each, name) for each in value]}
            return [*forms.values()]
        if not isinstance(value, str):
            return "null" if value is None else "true or false" if isinstance(value, bool) else "number"
        if name in _IDS:
            return "text" if name in _ENCRYPTED else id_form(value)
        if name in _WORDS:
            return value
        self._write(name, value)
        return "text"

    def _write(self, name: str, text: str) -> None:
        """Add a text of the model to `content`. The pieces of a text are joined."""
        if self.content and self.content[-1][0] == name:
            text = self.content.pop()[1] + text
        self.content.append((name, text))


def _is_more(before: Any, event: Any) -> bool:
    """Whether the form of an event is more than another piece of the text in the event before it."""
    return before != event or "contentBlockDelta" not in event


def _in_order_sent(line: Line) -> Line:
    """Return the line of an event with its keys in the order in which they were sent: sorted, without exact bytes.

    A person who edits a recording may write the keys of an event in any order.
    """
    found = wire_event_of(line)
    if found is None or "payload" in line or "frame" in line:
        return line
    return {**line, found[0]: json.loads(json.dumps(found[1], sort_keys=True))}


def _members(line: Line) -> Any:
    found = event_of(line)
    return found and found[1]


_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PREFIX: Final = re.compile(r"(?:[a-z]{3,}[_-])?")


def id_form(text: str) -> str:
    """Return the form of an id: what stands before its random part, and the length of this part.

    >>> id_form("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"), id_form("2f0c6f0e-0000-4000-8000-000000000000")
    ('tooluse_ and 22 characters', 'a UUID')
    """
    if _UUID.fullmatch(text):
        return "a UUID"
    found = _PREFIX.match(text)
    prefix = found[0] if found else ""
    rest = text[len(prefix) :]
    return f"{prefix and f'{prefix} and '}{len(rest)} characters"
