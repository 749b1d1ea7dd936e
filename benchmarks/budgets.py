"""What may cost how much: one table by subjects, which the measurements fill and the report prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        return f"{value:,.{decimals}f} {self.unit}".rstrip()

    @property
    def bound(self) -> str:
        """The limit in words."""
        return "" if self.limit is None else f"{'>=' if self.least else '<='} {self.limit:g} {self.unit}".rstrip()


BUDGETS: Final[Mapping[str, Mapping[str, Budget]]] = {
    "streams": {
        "share cached": Budget("our share of a stream of 1,000 events, reply sent before", "%", 2),
        "share fresh": Budget("our share of a stream of 1,000 events, new reply", "%", 8),
        "share cached tools": Budget("... of text and a tool use, reply sent before", "%", 2),
        "share fresh tools": Budget("... of text and a tool use, new reply", "%", 8),
        "share cached 50": Budget("... of 50 events, reply sent before", "%"),
        "share fresh 50": Budget("... of 50 events, new reply", "%"),
        "first": Budget("first event of a new reply of 50 events, beyond the client's own", "ms", 0.5),
        "first 1000": Budget("... of 1,000 events", "ms", 0.5),
        "first tools": Budget("... of text and a tool use, 50 events", "ms", 0.5),
        "write": Budget("writing a reply of 1,000 events: reply.text()", "ms"),
    },
    "encoding": {
        "encode": Budget("encoding an event of a new text / botocore's decoding and parsing of it", "%", 6),
        "encode tools": Budget("... of a tool's input", "%", 6),
        "encode other": Budget("... of the events that a stream begins and ends with", "%"),
    },
    "calls": {
        "call": Budget("a Converse call, the only one of its fake, beyond the client's own", "ms", 0.2),
        "call later": Budget("... the third call of its fake", "ms"),
        "call tools": Budget("a ConverseStream call with a tool use, beyond the client's own", "ms", 0.2),
        "call tools later": Budget("... the third call of its fake", "ms"),
        "open": Budget("opening and closing a fake, between calls", "us"),
        "client": Budget("a client from the harness / from botocore", "x"),
        "condition": Budget("a `when` that does not match, of 1,000", "us", 2),
    },
    "suite": {
        "test": Budget("a test with `converse`, one Converse call, beyond the client's own", "ms", 1),
        "test stream": Budget("... one ConverseStream call", "ms", 1),
        "test fixture": Budget("... no call: the fixture alone", "ms"),
        "test over empty": Budget("a test with one Converse call / an empty one: `converse`", "ms more"),
        "test Stubber": Budget("... botocore's Stubber", "ms more"),
        "test vcrpy": Budget("... vcrpy", "ms more"),
        "test moto": Budget("... moto", "ms more"),
        "test aimock": Budget("... aimock", "ms more"),
    },
    "startup": {
        "start-up": Budget("start of pytest that our plugin adds when it is not used", "ms", 10),
        "import": Budget("... of it the import of converse_harness.plugin", "ms"),
        "start all": Budget("start of pytest with the plugins of all installed packages", "ms"),
        "start none": Budget("... with none of them", "ms"),
    },
    "recordings": {
        "open recording": Budget("opening a recording of 5,000 exchanges, to its first answer", "s", 0.1),
        "open recording last": Budget("... to its last answer", "s"),
        "replay / vcrpy": Budget("a stream of 50 events from a file / from vcrpy", "x", 0.5),
        "recording size": Budget("size of a recording / of its request and answer", "x", 1.5),
        "store": Budget("searching a recording of 5,000 events for secrets and writing it", "ms", 1000),
        "recording": Budget("what recording adds to a stream of 1,000 events over the loopback", "%", 5),
    },
    "memory": {
        "memory event": Budget("memory kept for an event of a call", "B", 350),
        "memory call": Budget("memory kept for a call of five events", "kB", 3),
        "long request": Budget("a request of 25 MB, beyond the client's own", "ms"),
        "long request kept": Budget("... memory kept", "MB"),
    },
    "growth": {
        "growth events": Budget("growth of a stream with its events", "", 1.1),
        "growth calls": Budget("growth of a fake with its calls", "", 1.1),
        "growth conditions": Budget("growth of a call with the `when`s before it", "", 1.1),
        "growth exchanges": Budget("growth of a recording's opening with its exchanges", "", 1.1),
        "growth messages": Budget("growth of a call with the messages of its conversation", "", 1.1),
    },
    "server": {
        "loopback 50": Budget("a stream of 50 events over the loopback / in process", "x", 1.6),
        "loopback 1000": Budget("a stream of 1,000 events over the loopback / in process", "x", 1.25),
        "first loopback": Budget("first event of a new reply over the loopback, beyond the client's own", "ms", 1),
        "stall": Budget("a paced stream beyond the sum of its pauses: no stall of 40 ms", "ms", 20),
        "start": Budget("start of the server, after the first", "ms", 5),
        "stop": Budget("stop of the server", "ms", 5),
        "load / aimock": Budget("CPU of the server for a stream of 50 events, 8 connections / aimock", "x", 0.33),
        "load / http.server": Budget("... / http.server", "x"),
        "crowd": Budget("500 streams at once of 20 events 50 ms apart, the slowest / ideal", "x", 1.15),
        "crowd stream": Budget("... the median / ideal", "x"),
        "crowd threads": Budget("... threads of the server", "", 1),
    },
    "properties": {
        "examples": Budget("hypothesis: streams through a boto client in process", "/s", 500, least=True),
        "examples generated": Budget("... streams alone", "/s"),
        "examples plain": Budget("... st.lists(st.text()) alone", "/s"),
        "shrink": Budget("finding a planted bug and its smallest example", "s", 5),
        "shrink longest": Budget("... the longest search", "s"),
        "shrink events": Budget("... events of the smallest example", "", 10),
        "import strategies": Budget("import of converse_strategies beyond that of hypothesis", "ms", 50),
    },
    "conversations": {
        "history": Budget("a call of a tool loop of three turns, earlier answers compared / not", "x", 1.15),
        "history long": Budget("... of forty turns", "x", 1.25),
        "cache": Budget("a call of twenty turns with cache points, beyond one without", "us"),
        "cache rewrites": Budget("... asking 200 calls what was written to the cache again", "ms"),
    },
    "guard": {
        "guard": Budget("a request to another host while a fake is open, beyond one without", "us", 5),
    },
}
"""By subjects, and by the names under which their measurements report."""

ALL: Final[Mapping[str, Budget]] = {name: budget for each in BUDGETS.values() for name, budget in each.items()}


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value, with what else is worth knowing about it.

    None: it could not be measured, and the note says why.
    """

    name: str
    value: float | None
    note: str = ""

    @property
    def budget(self) -> Budget:
        """What it is held against."""
        return ALL[self.name]

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What, measured, budget, verdict and note."""
        budget = self.budget
        return budget.what, budget.shown(self.value), budget.bound, budget.verdict(self.value), self.note

    def as_json(self) -> dict[str, Any]:
        """The row and its budget, for a file."""
        verdict = self.budget.verdict(self.value) or None
        return {**asdict(self.budget), **asdict(self), "verdict": verdict}


HEAD: Final = ("what", "measured", "budget", "verdict", "")


def check_rows(subject: str, rows: Iterable[Row]) -> list[Row]:
    """The rows in the order of the table; raises RuntimeError if a measurement is missing, or has no budget."""
    found = {row.name: row for row in rows}
    if found.keys() != BUDGETS[subject].keys():
        raise RuntimeError(f"{subject} measures {sorted(found)}; the table has {sorted(BUDGETS[subject])}")
    return [found[name] for name in BUDGETS[subject]]


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    cells = [HEAD, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place == 1 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )
