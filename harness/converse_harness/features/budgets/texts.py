"""The text of a failed budget: the keys that are over, and a table of the calls with the reasons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from converse_harness.endpoint.call import Call
from converse_harness.features.budgets.counts import BudgetCount, SpentOn
from converse_harness.features.budgets.limits import KEYS, BudgetLimits
from converse_harness.reply.body import summarize_block
from converse_harness.secrets.mask import mask
from converse_harness.words import cut, one_line

_ROWS: Final = 40
"""The table has at most this number of calls."""

_WIDTH: Final = 44

_EXPLAINING: Final = ("same_tool_again", "rewrites", "attempts")
"""The keys whose calls have a reason, in the order in which the first line looks for one."""


class Overrun(NamedTuple):
    """A key of a budget that is over its limit, and the calls with which it went over."""

    key: str
    spent: float
    limit: float
    beyond: Sequence[SpentOn]

    def __str__(self) -> str:
        unit = self.key if KEYS[self.key].is_whole else f"s {self.key}"
        return f"{number(self.spent)} {unit} of {number(self.limit)}"


def number(value: float) -> str:
    """Return an amount as a text.

    >>> number(61200), number(2.5), number(0.30000000000000004)
    ('61,200', '2.5', '0.3')
    """
    rounded = round(value, 6)
    return f"{int(rounded):,}" if rounded == int(rounded) else f"{rounded:,}"


def overruns(count: BudgetCount, limits: BudgetLimits) -> list[Overrun]:
    """Return the keys that are over their limits, in the order of the table `KEYS`."""
    given = cast("Mapping[str, float | None]", limits)
    found: list[Overrun] = []
    for key in KEYS:
        limit = given.get(key)
        if limit is None:
            continue
        spent, beyond = 0.0, list[SpentOn]()
        for each in count.spent(key):
            spent = round(spent + each.amount, 9)  # a sum of pauses such as 0.1 has an error in its last digits
            if spent > limit and each.amount:
                beyond.append(each)
        if beyond:
            found.append(Overrun(key, spent, limit, beyond))
    return found


def failure_text(count: BudgetCount, found: Sequence[Overrun], advice: str) -> str:
    """Return the message for a budget that is over.

    `advice` has the field `{as_dict}` or `{as_arguments}` for limits that the calls would keep.
    """
    reasons = {key: {id(each.call): each.why for each in count.spent(key) if each.why} for key in _EXPLAINING}
    first = _sentence(count, found, reasons)
    head = f"budget: {', '.join(map(str, found))}. {first}"
    kept = {each.key: int(each.spent) if KEYS[each.key].is_whole else round(each.spent, 6) for each in found}
    arguments = ", ".join(f"{key}={limit}" for key, limit in kept.items())
    last = advice.format(as_dict=json.dumps(kept), as_arguments=arguments)
    return mask(f"{head}\n\n{_table(count, found, reasons)}\n\n{last}   More: converse-harness docs budgets")


_Reasons = Mapping[str, Mapping[int, str]]


def _sentence(count: BudgetCount, found: Sequence[Overrun], reasons: _Reasons) -> str:
    """Return the most telling reason: of a key that is over, or else of any call."""
    over = {each.key: each.beyond[0] for each in found}
    for key in _EXPLAINING:
        if key in over and over[key].why:
            return _said(count, over[key].call, over[key].why)
    for key in _EXPLAINING:
        for call in count.calls:
            if why := reasons[key].get(id(call)):
                return _said(count, call, why)
    return f"Call {count.label(found[0].beyond[0].call)} went over."


def _said(count: BudgetCount, call: Call, why: str) -> str:
    first, line_end, others = why.partition("\n")
    return f"Call {count.label(call)} {first}.{line_end}{others}"


def _table(count: BudgetCount, found: Sequence[Overrun], reasons: _Reasons) -> str:
    tools: dict[int, list[str]] = {}
    for used in count.tools_used:
        tools.setdefault(id(used.call), []).append(str(used))
    characters = {id(each.call): each.amount for each in count.spent("characters")}
    over: dict[int, list[str]] = {}
    for each in found:
        for spent in each.beyond:
            keys = over.setdefault(id(spent.call), [])
            keys += [each.key] * (each.key not in keys)
    rows: list[tuple[str, ...]] = [("", "call", "asked", "tools", "characters", "")]
    for call in _shown(count.calls, over):
        why = [f"over: {', '.join(over[id(call)])}"] if id(call) in over else []
        why += [reasons[key][id(call)].partition("\n")[0] for key in _EXPLAINING if id(call) in reasons[key]]
        size = number(characters[id(call)]) if id(call) in characters else "-"
        brought = cut(", ".join(tools.get(id(call), ())), _WIDTH)
        rows.append((">" * (id(call) in over), count.label(call), _asked(call), brought, size, "; ".join(why)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    left = len(count.calls) + 1 - len(rows)
    return "\n".join([*lines, f"   and {left} more"] if left else lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    mark, label, asked, tools, size, why = (
        text.rjust(width) if column in _RIGHT else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"{mark} {label}  {asked}  {tools}  {size}  {why}".rstrip()


_RIGHT: Final = (1, 4)
"""The columns with numbers."""


def _shown(calls: Sequence[Call], over: Mapping[int, object]) -> list[Call]:
    """Return the calls of the table: all, or the first of those that are over and the first of the others."""
    marked = [call for call in calls if id(call) in over][: _ROWS // 2 if len(calls) > _ROWS else None]
    others = [call for call in calls if id(call) not in over][: _ROWS - len(marked)]
    shown = {id(call) for call in (*marked, *others)}
    return [call for call in calls if id(call) in shown]


def _asked(call: Call) -> str:
    """Return the last message of a request in a few words."""
    last: Mapping[str, Any] = call.messages[-1] if call.messages else {}
    return cut(one_line(" + ".join(map(summarize_block, last.get("content", ())))), _WIDTH)
