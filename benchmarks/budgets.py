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

    def holds(self, value: float | None) -> bool:
        """Whether a measured value is within the limit; what could not be measured is not."""
        if value is None:
            return False
        return self.limit is None or (value >= self.limit if self.least else value <= self.limit)

    def verdict(self, value: float | None) -> str:
        """`ok`, `MISSES`, or nothing where there is no limit."""
        if value is None:
            return "not measured"
        return "" if self.limit is None else "ok" if self.holds(value) else "MISSES"

    def shown(self, value: float | None) -> str:
        """A value with the unit, three digits of it."""
        if value is None:
            return "-"
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
    "examples": Budget("stream_events() through the boto transport, examples", "/s", 400, least=True),
    "examples / plain": Budget("... time of one / of one of st.lists(st.text())", "x"),
    "examples generated": Budget("stream_events() alone, examples", "/s", 900, least=True),
    "examples generated / plain": Budget("... time of one / of one of st.lists(st.text())", "x"),
    "examples plain": Budget("... st.lists(st.text()) alone, examples", "/s"),
    "shrink": Budget("a planted bug of a consumer found and shrunk through the boto transport", "s", 5),
    "shrink longest": Budget("... the longest of the seeds", "s"),
    "shrink events": Budget("... events that are left", "", 10),
    "import strategies": Budget("import of converse_strategies, over that of hypothesis", "ms", 50),
    "import stream_events": Budget("... and of stream_events from it", "ms"),
    "load": Budget("loading a recording of 5,000 events", "ms", 30),
    "recording size": Budget("... its size / that of the request and the answer", "x", 1.5),
    "store": Budget("... searching it for secrets and writing it", "ms", 1000),
    "store media": Budget("the same of 20 MB of media", "s"),
    "replay / vcrpy": Budget("a 50-event boto3 stream replayed from its file / by vcrpy", "x", 0.5),
    "recording": Budget("share of a 1,000-event boto3 stream over the loopback that recording it adds", "%", 5),
    "open": Budget("a fake_converse opened and closed", "us"),
    "call": Budget("a whole converse call, over the client's own", "us"),
    "call share": Budget("... the same as a share of it", "%"),
    "cache": Budget("a call of 20 turns with cache points, over one without", "us"),
    "cache rewrites": Budget("... what was written again, asked of 200 calls with a clock in the prompt", "ms"),
    "history": Budget("a call of a tool loop of three turns, what is sent back compared / not", "x", 1.15),
    "history long": Budget("... of a loop of 40 turns", "x", 1.25),
    "guard": Budget("a request to another host while a fake is open, over one without", "us", 5),
    "loopback 50": Budget("a 50-event boto3 stream over the loopback / in process", "x", 1.6),
    "loopback 50 http.server": Budget("... / http.server", "x"),
    "loopback 50 pytest-httpserver": Budget("... / pytest-httpserver", "x"),
    "loopback 1000": Budget("a 1,000-event boto3 stream over the loopback / in process", "x", 1.25),
    "loopback 1000 http.server": Budget("... / http.server", "x"),
    "loopback 1000 pytest-httpserver": Budget("... / pytest-httpserver", "x"),
    "first loopback": Budget("first event of a new reply over the loopback, over the client's own", "ms", 1),
    "first loopback http.server": Budget("... all of it / http.server", "x"),
    "stall": Budget("a paced stream over the loopback, over what its pauses add up to", "ms", 20),
    "start": Budget("the server's start, after the first", "ms", 5),
    "start http.server": Budget("... / http.server", "x"),
    "start pytest-httpserver": Budget("... / pytest-httpserver", "x"),
    "stop": Budget("the server's stop", "ms", 5),
    "stop http.server": Budget("... / http.server", "x"),
    "stop pytest-httpserver": Budget("... / pytest-httpserver", "x"),
    "process http.server": Budget("a 50-event stream of another process, read by urllib3 / http.server", "x"),
    "process pytest-httpserver": Budget("... / pytest-httpserver", "x"),
    "process aimock": Budget("... / aimock", "x"),
    "crowd": Budget("500 streams at once of 20 events 50 ms apart, the slowest of them / ideal", "x", 1.15),
    "crowd stream": Budget("... the median of them / ideal", "x", 1.15),
    "crowd whole": Budget("... from the first connection to the last byte / ideal", "x"),
    "crowd threads": Budget("... threads that the server takes", "", 1),
    "crowd http.server": Budget("... the slowest of them / http.server", "x"),
    "crowd pytest-httpserver": Budget("... the slowest of them / pytest-httpserver", "x"),
    "crowd aimock": Budget("... the slowest of them / aimock", "x"),
}
"""By the names under which the measurements report."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value, with what else is worth knowing about it.

    None: it could not be measured, and the note says why. A ratio has `ours` and `theirs`, with their units.
    """

    name: str
    value: float | None
    note: str = ""
    ours: str = ""
    theirs: str = ""

    @property
    def budget(self) -> Budget:
        """What it is held against."""
        return BUDGETS[self.name]

    def as_json(self) -> dict[str, Any]:
        """The row and its budget, for a file."""
        verdict = self.budget.verdict(self.value) or None
        return {**asdict(self.budget), **asdict(self), "verdict": verdict}


def table(rows: list[Row]) -> str:
    """The rows as text, in the order of the table above; a column in which nothing stands is left out."""
    order = list(BUDGETS)
    cells = [("what", "ours", "theirs", "measured", "budget", "verdict", "")]
    for row in sorted(rows, key=lambda row: order.index(row.name)):
        budget = row.budget
        shown, verdict = budget.shown(row.value), budget.verdict(row.value)
        cells.append((budget.what, row.ours, row.theirs, shown, budget.bound, verdict, row.note))
    columns = [column for column in zip(*cells, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    right = [column[0] in ("ours", "theirs", "measured") for column in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in zip(*columns, strict=True)
    )
