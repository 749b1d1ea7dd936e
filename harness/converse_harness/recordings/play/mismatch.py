"""Explain why no exchange of a recording answers a call.

The error shows the nearest exchange, its differences, and advice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Missed
from converse_harness.json_values import canonical, leaves, path_text
from converse_harness.recordings.differences import Difference, differ, lines_of
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.play.matching import (
    Match,
    MatchFunction,
    MatchKey,
    asked_in,
    key,
    name_of,
    parts,
    with_accounts_equal,
)
from converse_harness.recordings.play.request_differences import that_count
from converse_harness.reply.body import summarize_block
from converse_harness.secrets.mask import mask
from converse_harness.words import counted, plural

_LINES: Final = 20
"""The maximum number of lines that show differences in an error message."""

_ROWS: Final = 5
"""The maximum number of exchanges that one list in an error message shows."""

_LOOKED_AT: Final = 20
"""The maximum number of exchanges that are compared value by value in the search for the nearest one."""

_RULES: Final[Mapping[Match, str]] = {
    "order": "the next exchange, if operation and model are the same",
    "exact": "operation, model and the whole request are the same",
    "shape": "operation, model, roles, kinds of blocks and names of tools are the same, texts may differ",
}
"""Maps each rule to a short description of when an exchange answers a call. The details are in `matching.PARTS`."""

_REFUSED: Final = "it returned a false value for each exchange that was not played"
"""The text that is used instead of a description in _RULES if the rule is a user's function."""


@dataclass(frozen=True, slots=True)
class State:
    """A recording while it is played. For each exchange, `used` contains the numbers of the calls that it answered.

    `asked(index)` returns the match key of an exchange, and `key(rule, index)` returns the text that this rule
    compares. `again` is the command that records the session again.
    """

    path: Path
    rule: Match | MatchFunction
    exchanges: Sequence[RecordedExchange]
    used: Sequence[Sequence[int]]
    asked: Callable[[int], MatchKey]
    key: Callable[[Match, int], str]
    again: str

    def place(self, number: int) -> str:
        """Return the file and line of the exchange with the index `number`, in a form that editors can open."""
        return f"{self.path}:{self.exchanges[number].at}"

    @property
    def following(self) -> int | None:
        """The index of the first exchange that has not been played; None if all have been played."""
        return next((number for number, calls in enumerate(self.used) if not calls), None)


def missed(state: State, call: Call, asked: MatchKey, fits: Sequence[int]) -> Missed:
    """Return the error about a call that no exchange answers.

    `asked` is the match key of the call. `fits` are the indexes of the exchanges that match it, both played and
    unplayed ones.
    """
    if not state.exchanges:
        first, rest = f"call {call.number} has no reply: {state.path} holds no exchange.", ""
    elif state.following is None and (state.rule == "order" or not fits):
        count = len(state.exchanges)
        them = f"the only exchange of {state.path} was" if count == 1 else f"all {count} exchanges of {state.path} were"
        first = f"call {call.number} has no reply left: {them} played already."
        rest = _played(state, range(count)) if state.rule == "order" else _compared(state, asked)
    elif state.rule == "order":
        first = f"call {call.number} is not what {state.path} has next."
        rest = _compared(state, asked)
    elif fits:
        it = f"{state.place(fits[0])}, which matches," if len(fits) == 1 else f"each of {len(fits)} that match"
        by = _calls([call for number in fits for call in state.used[number]])
        first = f"call {call.number} has no reply left: {it} was played already by {by}."
        rest = _played(state, fits)
    else:
        first = f"call {call.number} matches no exchange of {state.path}."
        rest = _compared(state, asked)
    return Missed(mask(first), mask(f"{rest}\n{_again(state, call, repeated=bool(fits))}".lstrip("\n")))


def _calls(numbers: Sequence[int]) -> str:
    return f"{plural(len(numbers), 'call')} {', '.join(map(str, numbers))}"


def _played(state: State, fits: Sequence[int]) -> str:
    """Return a text with two lists: the played exchanges (those at the indexes `fits`) and all unplayed exchanges."""
    lines: list[str] = []
    for title, numbers in ("played", fits), ("left", [each for each, calls in enumerate(state.used) if not calls]):
        more = [f"and {len(numbers) - _ROWS} more"] if len(numbers) > _ROWS else []
        lines += _titled(title, [_row(state, number) for number in numbers[:_ROWS]] + more or ["nothing"])
    return "\n".join(lines)


def _titled(title: str, rows: Sequence[str]) -> list[str]:
    return [f"{title if not number else '':<10}{row}".rstrip() for number, row in enumerate(rows)]


def _row(state: State, number: int) -> str:
    calls = state.used[number]
    played = f"played by {_calls(calls)}" if calls else "not played"
    return f"{state.place(number)}, {played}: {summary(state.asked(number))}"


def summary(asked: MatchKey) -> str:
    """Describe a request on one line: operation, labels in the URL (the model id), number of messages, last message."""
    head = f"{asked.operation} {' '.join(map(str, asked.labels.values()))}".rstrip()
    messages = cast("list[dict[str, Any]]", asked.conversation.get("messages") or [])
    if not messages:
        return head
    try:
        last = " + ".join(map(summarize_block, messages[-1].get("content", ())))
    except (AttributeError, TypeError):  # in an edited recording, values may have other types
        last = "?"
    return f"{head}, {counted(len(messages), 'message')}, last: {last}"


# The code below finds the exchange that is nearest to a call.


def _nearest(state: State, asked: MatchKey) -> int:
    """Return the index of the exchange that is most similar to a call; for the rule "order", of the first unplayed one.

    The criteria, from the most to the least important: the same operation, not played, the same labels in the URL's
    path (such as the model id), a similar number of messages, and many equal values.
    """
    if state.rule == "order" and state.following is not None:
        return state.following
    recorded = [asked_in(exchange) for exchange in state.exchanges]

    def at_first_sight(number: int) -> tuple[bool, bool, bool, int, int]:
        other = recorded[number]
        distance = abs(_count(other) - _count(asked))
        same = other.operation == asked.operation
        return same, not state.used[number], other.labels == asked.labels, -distance, -number

    leaves = _leaves(asked)

    def likeness(number: int) -> float:
        others = _leaves(state.asked(number))
        return 2 * (leaves & others).total() / max(1, leaves.total() + others.total())

    best = nlargest(_LOOKED_AT, range(len(recorded)), key=at_first_sight)
    return max(best, key=lambda number: (at_first_sight(number)[:4], likeness(number), -number))


def _count(asked: MatchKey) -> int:
    return len(asked.conversation.get("messages") or ())


def _leaves(asked: MatchKey) -> Counter[str]:
    """Count a request's values that are neither objects nor lists.

    Each is counted as a text: its path and its value.
    """
    return Counter(f"{path_text(path)} {canonical(value)}" for path, value in leaves(asked.request))


# The code below describes how a call differs from the nearest exchange.


def _compared(state: State, asked: MatchKey) -> str:
    """Return a text about the nearest exchange: how it differs from the call, and which other rules would play it."""
    number, rule = _nearest(state, asked), state.rule
    found = that_count("exact" if callable(rule) else rule, state.asked(number), asked)
    sections = (
        ("nearest", [_row(state, number)]),
        ("differs", ["- recorded, + arrived", *_lines_of_all(found)]),
        (
            "match",
            [f"{name_of(rule)}: {_REFUSED if callable(rule) else _RULES[rule]}", *_other_rules(state, number, asked)],
        ),
    )
    return "\n\n".join("\n".join(_titled(*each)) for each in sections)


def _lines_of_all(found: Sequence[Difference]) -> Iterator[str]:
    """Yield the lines that show the differences, at most _LINES. The last line may count the differences not shown."""
    lines = 0
    for number, difference in enumerate(found):
        rows = list(lines_of(difference))
        if lines + len(rows) > _LINES - (number < len(found) - 1):
            yield f"and {counted(len(found) - number, 'more difference')}"
            return
        yield from rows
        lines += len(rows)


def _other_rules(state: State, number: int, asked: MatchKey) -> Iterator[str]:
    """Yield a sentence for each other rule that would play the exchange with the index `number`.

    If even "shape" would not play it, say why, unless the rule is "order".
    """
    is_next = state.rule != "order" and number == state.following
    if is_next and state.key("order", number) == key("order", asked):
        yield 'match="order" would play it: it is the next one.'
    if state.rule == "shape" or state.used[number]:
        return
    if state.key("shape", number) == key("shape", asked):
        yield 'match="shape" would play it: only what that leaves out differs.'
    elif state.rule == "exact" or callable(state.rule):
        old, new = (with_accounts_equal(parts("shape", each)) for each in (state.asked(number), asked))
        names = ", ".join(name for name in old if differ(old[name], new[name]))
        yield f'match="shape" would not play it either: {names} differ.'


def _again(state: State, call: Call, *, repeated: bool) -> str:
    if repeated and call.attempt > 1:
        why = f"The client tried once more (attempt {call.attempt}) than when it was recorded. "
    elif repeated:
        why = "The client asks once more than when it was recorded. "
    else:
        why = "The request differs from the recorded one: the client has changed, or the file was edited.\n"
    how = state.again or f"with record({str(state.path)!r}): ..."
    return f"\n{why}If that is meant, record it again:\n{how}"
