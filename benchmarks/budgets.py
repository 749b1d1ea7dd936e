"""What may cost how much: one table, which the measurements fill and the report prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Budget:
    """One thing that is measured, in `unit`, and its limit: at most, or at least where `least` is true.

    Without a limit it is there to explain the others.
    """

    what: str
    unit: str
    limit: float | None = None
    least: bool = False

    def holds(self, value: float) -> bool:
        """Whether a measured value is within the limit."""
        return self.limit is None or (value >= self.limit if self.least else value <= self.limit)

    def verdict(self, value: float) -> str:
        """`ok`, `MISSES`, or nothing where there is no limit."""
        return "" if self.limit is None else "ok" if self.holds(value) else "MISSES"

    def shown(self, value: float) -> str:
        """A value with the unit, three digits of it."""
        decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
        return f"{value:,.{decimals}f} {self.unit}"

    @property
    def bound(self) -> str:
        """The limit in words."""
        return "" if self.limit is None else f"{'>=' if self.least else '<='} {self.limit:g} {self.unit}"


BUDGETS: Final[Mapping[str, Budget]] = {
    "start-up": Budget("pytest start-up that the plugin adds when it is not used", "ms", 10),
    "import": Budget("... of it the import of converse_harness.plugin", "ms"),
    "encode": Budget("encoding of a fresh text delta / botocore's decoding and parsing of it", "%", 6),
    "encode other": Budget("... of the other events that a stream begins and ends with", "%"),
    "share cached": Budget("share of a 1,000-event boto3 stream, reply sent before", "%", 2),
    "share fresh": Budget("share of a 1,000-event boto3 stream, new reply", "%", 8),
    "share cached 50": Budget("... of a 50-event stream, reply sent before", "%"),
    "share fresh 50": Budget("... of a 50-event stream, new reply", "%"),
    "write": Budget("... writing a reply of 1,000 events: reply.text(), before it is sent", "ms"),
    "first": Budget("first event of a new reply of 50 events, over the client's own", "ms", 0.5),
    "first 1000": Budget("first event of a new reply of 1,000 events, over the client's own", "ms", 0.5),
    "client": Budget("a boto client from the fixture, after the first", "ms", 3),
    "client own": Budget("... of it botocore's own, from one session", "ms"),
    "examples": Budget("hypothesis examples through the boto door", "/s", 400, least=True),
    "examples generated": Budget("... the same without fake and client: drawn only", "/s"),
    "open": Budget("a fake_converse opened and closed", "us"),
    "call": Budget("a whole converse call, over the client's own", "us"),
    "call share": Budget("... the same as a share of it", "%"),
}
"""By the names under which the measurements report."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value, with what else is worth knowing about it."""

    name: str
    value: float
    note: str = ""

    @property
    def budget(self) -> Budget:
        """What it is held against."""
        return BUDGETS[self.name]

    def as_json(self) -> dict[str, Any]:
        """The row and its budget, for a file."""
        verdict = self.budget.verdict(self.value) or None
        return {"name": self.name, **asdict(self.budget), "value": self.value, "verdict": verdict, "note": self.note}


def table(rows: list[Row]) -> str:
    """The rows as text, in the order of the table above."""
    order = list(BUDGETS)
    cells = [("what", "measured", "budget", "verdict", "")]
    for row in sorted(rows, key=lambda row: order.index(row.name)):
        budget = row.budget
        cells.append((budget.what, budget.shown(row.value), budget.bound, budget.verdict(row.value), row.note))
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    formats = f"{{:<{widths[0]}}}  {{:>{widths[1]}}}  {{:<{widths[2]}}}  {{:<{widths[3]}}}  {{}}"
    return "\n".join(formats.format(*line).rstrip() for line in cells)
