"""Keep the old lines of a session that is recorded again, where only padding, times or ids differ in the new lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from converse_harness.json_values import canonical, is_array, is_object, leaves, mapped, object_of, parsed_json
from converse_harness.recordings.differences import aligned
from converse_harness.recordings.format.lines import ONE_OF, Line
from converse_harness.recordings.format.shared_parts import exchanges_in
from converse_harness.recordings.play.matching import LINKS, WORD

_CHANCE: Final = frozenset({"t", "p", "joined", "requestId"})
"""The keys of an answer's lines whose values differ in each recording, such as times and request ids."""

_LATENCY: Final = re.compile(r"latency(?:Ms)?$", re.IGNORECASE)
"""Matches the end of the names of members and headers that have a duration as their value."""


def with_kept(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """Return the lines of the new session, but with the old session's line in place of each unchanged line.

    `old` and `new` are the lines of two recordings of one session; each call's line must contain its whole request. A
    line of an answer counts as unchanged if only its padding, time or ids differ. Where an old line is kept, its ids
    also replace the new ids in later requests. If all other lines are unchanged and the headers differ only in
    `recorded`, the old header is kept, too.

    >>> call = {"call": 1, "operation": "Converse", "modelId": "m"}
    >>> old = [{"recorded": "2025"}, call, {"t": 7, "status": 200, "requestId": "a", "body": {}}]
    >>> with_kept(old, [{"recorded": "2026"}, call, {"t": 9, "status": 200, "requestId": "b", "body": {}}]) == old
    True
    """
    if not old:
        return [*new]
    before, after = ([exchange for _, exchange in exchanges_in(lines)] for lines in (old, new))
    pairs = _paired([*map(_fingerprint, before)], [*map(_fingerprint, after)], alike=True)
    names = _Renamed(after)
    made = [*new[:1]]
    for number, (asked, *answer) in enumerate(after):
        call = names.in_call(asked)
        if number not in pairs:
            made += [call, *answer]
            continue
        old_call, *old_answer = before[pairs[number]]
        same = canonical(call | {"call": 0}) == canonical(old_call | {"call": 0})
        made.append(old_call | {"call": call["call"]} if same else call)
        made += _answer(old_answer, answer, names)
    same = made[1:] == list(old[1:]) and made[0] | {"recorded": ""} == old[0] | {"recorded": ""}
    return [*old[:1], *made[1:]] if same else made


def _paired(old: Sequence[str], new: Sequence[str], *, alike: bool) -> dict[int, int]:
    """Map the index of each new text to the index of an equal old text.

    If `alike` is true, unequal texts that stand between the same pairs of equal texts are then mapped in order.
    """
    pairs = aligned(old, new, str, leftovers=alike)
    return {pair.new: pair.old for pair in pairs if pair.new is not None and pair.old is not None}


def _fingerprint(exchange: Sequence[Line]) -> str:
    """Return an exchange as text, without the request's body and without values that differ by chance, such as ids."""
    call, *answer = exchange
    asked = {key: value for key, value in call.items() if key not in ("call", "faults", "masked", *ONE_OF["call"])}
    return "\n".join([canonical(asked), *map(_outline, answer)])


def _answer(old: Sequence[Line], new: Sequence[Line], names: _Renamed) -> list[Line]:
    """Return the lines of the answer `new`, with the line of the answer `old` in place of each unchanged line.

    A line is unchanged if it differs from the old line only in padding, times or ids. `names` stores which old id
    replaces which new id.
    """
    pairs = _paired([*map(_outline, old)], [*map(_outline, new)], alike=False)
    kept = {mine: old[other] for mine, other in pairs.items() if names.take(new[mine], old[other])}
    if 0 not in kept and "body" in old[0] and _outlines_with_ids(old[0]) == _outlines_with_ids(new[0]):
        # An answer with a body has only one line. Even if the body's content changed, this line keeps the old ids, `t`
        # and `requestId`.
        same = {key: old[0][key] for key in ("t", "requestId") if key in old[0] and key in new[0]}
        kept[0] = (names.in_answer(new[0]) if names.take(new[0], old[0]) else new[0]) | same
    made = [kept.get(number, line) for number, line in enumerate(new)]
    # Times must not decrease from line to line. So new lines get times between the times of the kept lines around them.
    numbers = range(len(made)) if kept else ()
    for order, fitting in (reversed(numbers), min), (numbers, max):
        limit: int | None = None
        for number in order:
            if number not in kept and limit is not None:
                made[number] = made[number] | {"t": fitting(limit, made[number]["t"])}
            limit = made[number]["t"]
    return made


class _Renamed:
    """Maps each id that the service generated in the new session to the id from the old session that replaces it."""

    def __init__(self, exchanges: Sequence[Sequence[Line]]) -> None:
        self._old: dict[str, str] = {}
        self._new: dict[str, str] = {}
        self._invented = {each for _, *answer in exchanges for line in answer for each in _ids(line)}

    def take(self, new: Line, old: Line) -> bool:
        """Whether the ids in `old` can replace the ids in `new`, in order; both lines must have equally many ids.

        If so, the ids are stored, so that `in_answer` and `in_call` can replace the new ids in other lines.
        """
        olds, news = dict[str, str](), dict[str, str]()
        for mine, other in zip(_ids(new), _ids(old), strict=True):
            if mine == other:
                continue
            # Old and new ids must correspond one to one, as they do if only the service's random ids differ.
            was, now = olds.get(mine, self._old.get(mine, other)), news.get(other, self._new.get(other, mine))
            if (was, now) != (other, mine) or other in self._invented:
                return False
            olds[mine], news[other] = other, mine
        self._old.update(olds)
        self._new.update(news)
        return True

    def in_answer(self, value: Any) -> Any:
        """Return a line of an answer, or a value in such a line, with old ids in place of the new ids."""
        return mapped(value, lambda key, each: self._old.get(each, each) if _is_id(key, each) else self.in_answer(each))

    def in_call(self, call: Line) -> Line:
        """Return the line of a call, with old ids in place of the new ids anywhere in the request."""
        if not self._old:
            return call
        return call | {key: self._in(call[key]) for key in ("request", "requestText") if key in call}

    def _in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._old.get(value) or WORD.sub(lambda found: self._old.get(found[0], found[0]), value)
        return mapped(value, lambda _, each: self._in(each))


def _is_id(key: str, value: object) -> TypeGuard[str]:
    return key in LINKS and isinstance(value, str)


def _ids(line: Line) -> list[str]:
    """Return the ids in a line of an answer, in the order of their paths in this line."""
    return [each for _, each in sorted((path, each) for path, each in leaves(line) if _is_id(str(path[-1]), each))]


def _outlines_with_ids(value: Any) -> list[str]:
    """Return each object that has ids, in a line of an answer, as a text without these ids.

    The objects are ordered by their keys and indexes in the line.
    """
    own: list[str] = []
    if is_object(value):
        own += [canonical(_without_chance(value))] if LINKS & value.keys() else []
        value = [value[key] for key in sorted(value)]
    return [*own, *(outline for each in value for outline in _outlines_with_ids(each))] if is_array(value) else own


def _outline(line: Line) -> str:
    """Return a line of an answer as text, without the values that differ in each recording, such as times and ids."""
    made = {key: _without_chance(value) for key, value in line.items() if key not in _CHANCE}
    if "payload" in line:
        made["payload"] = _payload(line["payload"])
    return canonical(made)


def _without_chance(value: Any) -> Any:
    return mapped(value, lambda key, each: "" if _is_id(key, each) or _LATENCY.search(key) else _without_chance(each))


def _payload(text: str) -> Any:
    """Return the keys and values of a frame's payload, without padding and ids; `text` if it is not a JSON object."""
    members = object_of(parsed_json(text))
    return [[key, _without_chance(value)] for key, value in members.items() if key != "p"] or text
