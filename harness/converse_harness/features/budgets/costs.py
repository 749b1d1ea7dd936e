"""The file of `pytest --converse-costs`: what the tests of a run cost, and the comparison of two such files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from converse_harness.errors import DamagedData
from converse_harness.features.budgets.counts import BudgetCount
from converse_harness.features.budgets.limits import KEYS
from converse_harness.features.budgets.texts import number
from converse_harness.json_values import is_number, is_object, parsed_json

FORMAT: Final = "converse-costs"
"""The value of the member `format`, with which the file begins."""

VERSION: Final = 1

ESTIMATED: Final = "estimated_tokens"
"""The member with the tokens of a test, as the fake reported them in the usage of its answers."""

_COUNTERS: Final[Mapping[str, str]] = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheWriteInputTokens",
}

Numbers = Mapping[str, float]
"""Amounts by name: by the keys of a budget, or by the kinds of tokens."""


class CostsOfTest:
    """What one test costs: the `exact` amounts by the keys of a budget, and the `estimated` tokens."""

    def __init__(self, exact: Numbers, estimated: Numbers) -> None:
        self.exact = exact
        self.estimated = estimated

    @classmethod
    def of(cls, count: BudgetCount) -> CostsOfTest:
        """Compute the costs of the calls of a test."""
        exact = {key: _sum(each.amount for each in count.spent(key)) for key in KEYS}
        usages = [call.response.usage or {} for call in count.calls if call.response is not None]
        return cls(exact, {name: _sum(usage.get(key, 0) for usage in usages) for name, key in _COUNTERS.items()})

    @property
    def as_json(self) -> dict[str, object]:
        """The costs as they stand in the file."""
        return {**self.exact, ESTIMATED: dict(self.estimated)}


def _sum(amounts: Iterable[float]) -> float:
    total = round(sum(amounts), 6)
    return int(total) if total == int(total) else total


def write_costs(path: Path, tests: Mapping[str, object]) -> None:
    """Write the costs of tests, as JSON by node id, to a file. Raises OSError."""
    made = {"format": FORMAT, "version": VERSION, "tests": {name: tests[name] for name in sorted(tests)}}
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def read_costs(path: Path) -> dict[str, CostsOfTest]:
    """Read the costs of tests by node id. Raises OSError, and DamagedData for a file that is no file of costs."""
    try:
        values: object = parsed_json(path.read_bytes())
    except ValueError:
        values = None
    if not is_object(values) or values.get("format") != FORMAT:
        raise DamagedData(f"{path} is not what `pytest --converse-costs={path}` writes. Write it again.")
    if values.get("version") != VERSION:
        raise DamagedData(
            f"{path} has version {values.get('version')!r}, and this release reads version {VERSION}. Write it again "
            f"with the same release: pytest --converse-costs={path}"
        )
    tests = values.get("tests")
    if not is_object(tests) or not all(map(_is_costs, tests.values())):
        raise DamagedData(f"{path} was changed after `pytest --converse-costs` wrote it. Write it again.")
    return {name: CostsOfTest({key: each[key] for key in KEYS}, each[ESTIMATED]) for name, each in tests.items()}


def _is_costs(value: object) -> bool:
    if not is_object(value) or not is_object(value.get(ESTIMATED)):
        return False
    return all(is_number(value.get(key)) for key in KEYS) and all(map(is_number, value[ESTIMATED].values()))


class CostsCompared:
    """The comparison of two runs, as lines, and whether something exact costs more."""

    def __init__(self, old: Mapping[str, CostsOfTest], new: Mapping[str, CostsOfTest]) -> None:
        self._old, self._new = old, new
        self._both = [name for name in new if name in old]
        self.more = [name for name in self._both if _costs_more(old[name].exact, new[name].exact)]
        """The tests of both runs that cost more by an exact key."""

    def lines(self) -> list[str]:
        """Return a line for each test that changed, that is new or that is gone, the totals, and the verdict."""
        old, new, both = self._old, self._new, self._both
        changed = {name: text for name in both if (text := _changes(old[name].exact, new[name].exact))}
        rows = [("more" if name in self.more else "less", name, text) for name, text in changed.items()]
        rows += [("new", name, _amounts(new[name].exact)) for name in new if name not in old]
        rows += [("gone", name, _amounts(old[name].exact)) for name in old if name not in new]
        width = max((len(name) for _, name, _ in rows), default=0)
        lines = [f"{word:<5}{name:<{width}}  {text}".rstrip() for word, name, text in rows]
        exact = [_total(each[name].exact for name in both) for each in (old, new)]
        tokens = [_total(each[name].estimated for name in both) for each in (old, new)]
        lines.append(f"total of the tests in both: {_changes(*exact) or 'no change'}")
        if estimated := _changes(*tokens):
            lines.append(f"tokens, estimated, which decide nothing: {estimated}")
        return lines


def _costs_more(old: Numbers, new: Numbers) -> bool:
    return any(new.get(key, 0) > old.get(key, 0) for key in KEYS)


def _changes(old: Numbers, new: Numbers) -> str:
    names = dict.fromkeys((*old, *new))
    pairs = [(name, old.get(name, 0), new.get(name, 0)) for name in names]
    return ", ".join(f"{name} {number(was)} -> {number(now)}" for name, was, now in pairs if was != now)


def _amounts(numbers: Numbers) -> str:
    return ", ".join(f"{name} {number(amount)}" for name, amount in numbers.items() if amount)


def _total(tests: Iterable[Numbers]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in tests:
        for name, amount in each.items():
            found[name] = _sum((found.get(name, 0), amount))
    return found
