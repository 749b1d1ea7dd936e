"""The class Budget: one thing that is measured, and its limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """One thing that is measured, in `unit`, and its limit: at most, or at least where `least` is true.

    Without a limit it is there to explain the others. A miss of a `gate` ends `python -m benchmarks` with status 1. If
    the limit is not reached yet, `reached` is the value that was: then only a value beyond it ends with this status.
    """

    what: str
    unit: str
    limit: float | None = None
    least: bool = False
    gate: bool = False
    reached: float | None = None

    def holds(self, value: float | None) -> bool:
        """Whether a measured value is within the limit; what could not be measured is not."""
        if value is None:
            return False
        return self.limit is None or (value >= self.limit if self.least else value <= self.limit)

    def passes(self, value: float) -> bool:
        """Whether a measured value does not end the run with status 1."""
        return not self.gate or self.holds(value) or (self.reached is not None and value <= self.reached)

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
