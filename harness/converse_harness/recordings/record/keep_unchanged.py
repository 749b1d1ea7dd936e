"""Keep the old lines of a session that is recorded again, where the new lines differ from them only by chance."""

from __future__ import annotations

from collections.abc import Sequence

from converse_harness.json_values import canonical
from converse_harness.recordings.chance import EVERY, RECORDER, corresponding, normalised, outline, renamed
from converse_harness.recordings.differences import aligned
from converse_harness.recordings.format.lines import ONE_OF, Line, without_contradiction
from converse_harness.recordings.format.media import by_digest
from converse_harness.recordings.format.shared_parts import exchanges_in
from converse_harness.stream.assemble import runs


def with_kept(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """Return the lines of the new session, but with the old session's lines in place of unchanged lines.

    `old` and `new` are the lines of two recordings of one session; each call's line must contain its whole request. A
    line is unchanged if it differs only by chance (CHANCE lists how); the successive deltas of one text count as one
    line. The line of a call is also unchanged if the old one has the bytes of a file and the new one its digest. The
    ids of the old session replace those of the new session everywhere. If all lines are unchanged, the old header is
    kept, too.

    >>> call = {"call": 1, "operation": "Converse", "modelId": "m"}
    >>> old = [{"recorded": "2025"}, call, {"t": 7, "status": 200, "requestId": "a", "body": {}}]
    >>> with_kept(old, [{"recorded": "2026"}, call, {"t": 9, "status": 200, "requestId": "b", "body": {}}]) == old
    True
    """
    if not old:
        return [*new]
    before, after = ([exchange for _, exchange in exchanges_in(lines)] for lines in (old, new))
    pairs = aligned(before, after, _outline, _without_request)
    names = corresponding(before, after, pairs)
    made = [*new[:1]]
    for pair in pairs:
        if pair.new is None:
            continue
        exchange = after[pair.new]
        call, *answer = [without_contradiction(line) for line in renamed(exchange, names)] if names else exchange
        if pair.old is None:
            made += [call, *answer]
            continue
        old_call, *old_answer = before[pair.old]
        same = _of_call(call) in (_of_call(old_call), _of_call(by_digest(old_call)))
        made += [old_call | {"call": call["call"]} if same else call, *_answer(old_answer, answer)]
    headers = [{key: value for key, value in lines[0].items() if key not in RECORDER} for lines in (old, made)]
    return [*old[:1], *made[1:]] if made[1:] == list(old[1:]) and headers[0] == headers[1] else made


def _outline(exchange: Sequence[Line]) -> str:
    return outline([by_digest(line) for line in exchange])


def _without_request(exchange: Sequence[Line]) -> str:
    call, *answer = exchange
    left_out = ("faults", "masked", *ONE_OF["call"])
    return outline([{key: value for key, value in call.items() if key not in left_out}, *answer])


def _of_call(call: Line) -> str:
    return canonical(normalised([call]))


def _answer(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """Return the lines of the answer `new`, with lines of the answer `old` in place of the unchanged ones."""
    before, after = [*runs(old)], [*runs(new)]
    kept: list[bool] = []
    made: list[Line] = []
    for pair in aligned(before, after, _of_run, leftovers=False):
        if pair.new is not None:
            lines = after[pair.new] if pair.old is None else before[pair.old]
            made += lines
            kept += [pair.old is not None] * len(lines)
    # Times must not decrease from line to line. So new lines get times between the times of the kept lines around them.
    numbers = range(len(made)) if any(kept) else ()
    for order, fitting in (reversed(numbers), min), (numbers, max):
        limit: int | None = None
        for number in order:
            if not kept[number] and limit is not None:
                made[number] = made[number] | {"t": fitting(limit, made[number]["t"])}
            limit = made[number]["t"]
    return made


def _of_run(lines: Sequence[Line]) -> str:
    return canonical(normalised([{}, *lines], EVERY))
