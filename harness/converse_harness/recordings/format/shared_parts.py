"""Write each message, each system prompt and the tools once, on a line of their own, and refer to them by name in
calls.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from converse_harness.errors import ConverseHarnessError, DamagedData
from converse_harness.json_values import canonical, is_array, is_object, mapped, member_of, object_of
from converse_harness.recordings.format.lines import ANSWER, MESSAGE, PART_MEMBERS, Line, event_as_sent, said
from converse_harness.recordings.format.media import has_marks
from converse_harness.stream.assemble import assemble
from converse_harness.stream.grammar import StreamOrder

_MESSAGES: Final = "messages"


def written_once(lines: Sequence[Line]) -> list[Line]:
    """Return the lines to write to a file: each part of a request gets a line before the first call that contains it.

    A part is a message, a system prompt or the tools. If a message in the request is the unchanged message of an
    earlier answer, the call refers to this answer instead.

    >>> asked = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    >>> for line in written_once([{"call": 1, "operation": "Converse", "request": asked}, {"t": 1, "status": 500}]):
    ...     print(line)
    {'part': 'message 1', 'is': {'role': 'user', 'content': [{'text': 'hi'}]}}
    {'call': 1, 'operation': 'Converse', 'parts': ['message 1']}
    {'t': 1, 'status': 500}
    """
    header = [line for line in lines[:1] if "call" not in line]
    names = Names()
    return [*header, *(line for _, exchange in exchanges_in(lines) for line in names.written(exchange))]


def exchanges_in(lines: Sequence[Line]) -> Iterator[tuple[int, Sequence[Line]]]:
    """For each exchange, yield the index of its first line, and its lines. An exchange ends before the next call or
    part.
    """
    starts = [index for index, line in enumerate(lines) if "call" in line or "part" in line]
    for start, end in pairwise([*starts, len(lines)]):
        if "call" in lines[start]:
            yield start, lines[start:end]


class Names:
    """The names of the parts that are already written to a file. A part is a message, a system prompt or the tools.

    The parts of an exchange count as written as soon as `written` has yielded its lines. If these lines are then not
    written, call `forget`.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()
        self._answers: list[Sequence[Line]] = []

    def written(self, exchange: Sequence[Line]) -> Iterator[Line]:
        """Yield a line for each part of an exchange that is not yet in the file, then the lines of the exchange."""
        call, *answer = exchange
        self._answers.append(exchange)
        conversation, within = _conversation(call, object_of(call.get("request")))
        rest, parts = dict(conversation), list[Line]()
        names = [self._name(member, rest.pop(member), parts) for member in PART_MEMBERS if member in rest]
        messages = rest.get(_MESSAGES)
        if is_array(messages) and messages:
            names += [self._name(MESSAGE, message, parts) for message in messages]
            del rest[_MESSAGES]
        if names:
            left = within(rest)
            call = {key: value for key, value in call.items() if key != "request"} | {"parts": names}
            call |= {"request": left} if left else {}
        yield from (*parts, call, *answer)

    def forget(self) -> None:
        """Forget all parts, so that later exchanges refer to no line that is not in the file. Names are not reused."""
        self._known.clear()
        self._answers.clear()

    def forget_last_answer(self) -> None:
        """Let no later exchange refer to the answer of the last one, because other lines than these are written."""
        self._answers.pop()

    def _name(self, kind: str, value: Any, parts: list[Line]) -> str:
        """Return the name of the part with this kind and this value. If the part is new, append its line to `parts`."""
        key = kind, canonical(value)
        if key not in self._known and kind == MESSAGE and is_object(value) and value.get("role") == "assistant":
            self._know_answers()
        if key not in self._known:
            self._counts[kind] += 1
            self._known[key] = name = f"{kind} {self._counts[kind]}"
            parts.append({"part": name, "is": value})
        return self._known[key]

    def _know_answers(self) -> None:
        *before, current = self._answers
        self._answers = [current]
        for exchange in before:
            message = message_of(exchange)
            text = "" if message is None else canonical(message)
            if text and not has_marks(text):
                self._known.setdefault((MESSAGE, text), f"{ANSWER} {exchange[0]['call']}")


def message_of(exchange: Sequence[Line]) -> Any:
    """Return the message in the answer of an exchange as JSON; None if the answer contains no complete message."""
    call, head, *events = exchange
    if call.get("operation") == "Converse":
        return member_of(head.get("body"), "output", "message") if head.get("status") == 200 else None
    if call.get("operation") != "ConverseStream":
        return None
    try:
        came = [event for event in map(event_as_sent, events) if event is not None]
        return _as_json(assemble(came).message) if len(came) == len(events) else None
    except (ConverseHarnessError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return mapped(value, lambda _, each: _as_json(each))


def _conversation(
    call: Line, request: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Return the object in a request that contains the messages, and a function that replaces this object.

    The function takes a new object, and returns a copy of the request with the new object in its place.
    """
    outer = object_of(request.get("input") if call.get("operation") == "CountTokens" else None)
    inner = outer.get("converse")
    if not is_object(inner):
        return request, dict
    return inner, lambda other: {**request, "input": {**outer, "converse": dict(other)}}


class MissingPart(ValueError):
    """Raised if the request of a call cannot be put together from its parts; the message describes the problem.

    `line` is the number of the line to correct, from 1; None if this is the line of the call.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts in a file, such as messages, which calls refer to by name.

    `line_of` maps the name of each part to its line number. `line` returns a line by its number, from 1. `answered`
    takes the number of a call, and returns the lines of the call and its answer; they are empty for an unknown number.
    """

    line_of: Mapping[str, int]
    line: Callable[[int], Line]
    answered: Callable[[int], Sequence[Line]]
    _values: dict[int, Any] = field(default_factory=dict[int, Any])
    _messages: dict[int, Any] = field(default_factory=dict[int, Any])

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Parts:
        """Return the parts in `lines`, which are all lines of a file."""
        exchanges = [exchange for _, exchange in exchanges_in(lines)]
        return cls(
            {line["part"]: number for number, line in enumerate(lines, 1) if "part" in line},
            lambda number: lines[number - 1],
            lambda number: exchanges[number - 1] if number <= len(exchanges) else (),
        )

    def whole(self, call: Line, at: int) -> Line:
        """Return the line of a call with the parts themselves in its request, instead of their names.

        `at` is the number of this line, from 1. Raises MissingPart.
        """
        if "parts" not in call:
            return call
        request = call.get("request", {})
        if not is_object(request):
            raise MissingPart(f'"request" is {said(request)}; beside "parts" it is an object.')
        conversation, within = _conversation(call, request)
        made = dict(conversation)
        messages: list[Any] = []
        for name in call["parts"]:
            kind, _, _ = name.partition(" ")
            member = _MESSAGES if kind in (MESSAGE, ANSWER) else kind
            if member in made and made[member] is not messages:
                raise MissingPart(f'it has "{member}" twice: it is in "parts" once, or in "request".')
            value = self._value(name, call, at)
            if member == _MESSAGES:
                messages.append(value)
                value = messages
            made[member] = value
        known = {key: value for key, value in call.items() if key not in ("parts", "request")}
        return known | {"request": within(made)}

    def _value(self, name: str, call: Line, at: int) -> Any:
        kind, _, digits = name.partition(" ")
        if kind != ANSWER:
            number = self.line_of.get(name, at)
            if number >= at:
                raise MissingPart(f'"parts" names {said(name)}; no line before this one has that part.')
            if number not in self._values:
                self._values[number] = self.line(number)["is"]
            return self._values[number]
        earlier = int(digits)
        if earlier < call["call"]:
            if earlier not in self._messages:
                exchange = self.answered(earlier)
                self._messages[earlier] = message_of(exchange) if len(exchange) > 1 else None
            if self._messages[earlier] is not None:
                return self._messages[earlier]
            for number in range(2, at):
                if self.line(number).get("call") == earlier:
                    _refuse_breach(self.answered(earlier), number)
        raise MissingPart(f'"parts" names {said(name)}; there is no message that call {earlier} was answered with.')


def _refuse_breach(exchange: Sequence[Line], at: int) -> None:
    """Raise MissingPart if the events of a streamed answer form no message; `at` is the number of the line of the call.

    An answer that is no stream, or that ended early, is accepted.
    """
    call, head, *lines = exchange
    if call.get("operation") != "ConverseStream" or head.get("status") != 200 or "end" in exchange[-1]:
        return
    order, number = StreamOrder(), at + 1
    try:
        for line in lines:
            number += 1
            event = event_as_sent(line)
            if event is None:
                raise DamagedData("these bytes are no event of a stream.")
            order.feed(event)
        order.finish()
    except ConverseHarnessError as error:
        answer = f"the answer to call {call['call']} (lines {at + 1}-{at + 1 + len(lines)})"
        raise MissingPart(f"{answer} cannot be put together: line {number}: {error}", number) from error
