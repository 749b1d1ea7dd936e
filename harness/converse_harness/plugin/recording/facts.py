"""The facts about recordings that the processes of a run collect: this process, or the workers of xdist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from operator import add
from typing import Any, Final

_MERGE: Final = "merge"
"""The key of a field's metadata whose value is a function: it makes one value of those of two processes."""

_TO_JSON: Final[Mapping[object, Callable[[Any], object]]] = {set: sorted, Counter: dict}
"""Maps the types of facts that JSON does not have to functions that return a JSON value."""


def _first_of_each(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, list[str]]:
    return {key: min(each[key] for each in (one, other) if key in each) for key in one | other}


def _joined(one: dict[str, list[list[int]]], other: dict[str, list[list[int]]]) -> dict[str, list[list[int]]]:
    return {key: one.get(key, []) + other.get(key, []) for key in one | other}


@dataclass(slots=True)
class RunFacts:
    """The facts about recordings in a run of pytest.

    The order in which facts are merged does not matter, except for the order of the items of lists.
    """

    written: list[str] = field(default_factory=list[str], metadata={_MERGE: add})
    """The first lines of the summary: about written recordings."""
    remarks: list[str] = field(default_factory=list[str], metadata={_MERGE: add})
    """The summary lines after those in `written`: about unplayed exchanges, masked secrets and problems."""
    used: set[str] = field(default_factory=set[str], metadata={_MERGE: set[str].union})
    """The recordings that collected tests or other code used, as `names.identity` returns them."""
    moves: dict[str, list[str]] = field(default_factory=dict[str, list[str]], metadata={_MERGE: _first_of_each})
    """Maps an unused recording to a test that has none but makes an equal or similar request, and to the command that
    renames the recording for this test."""
    left: dict[str, list[list[int]]] = field(default_factory=dict[str, list[list[int]]], metadata={_MERGE: _joined})
    """Maps each file to one list for each passed test that played it: the line numbers of the exchanges not played."""
    opened: Counter[str] = field(default_factory=Counter[str], metadata={_MERGE: add})
    """Maps each file to the number of times that it was opened to play it."""
    collected: int = field(default=0, metadata={_MERGE: max})
    """The number of collected tests. Each worker of xdist collects all tests."""
    whole: bool = field(default=True, metadata={_MERGE: min})
    """Whether every module could be collected, and no collected test was deselected."""

    def merge(self, other: RunFacts) -> RunFacts:
        """Return the facts of two processes together."""
        merged = {
            each.name: each.metadata[_MERGE](*(getattr(of, each.name) for of in (self, other))) for each in fields(self)
        }
        return RunFacts(**merged)

    def as_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object, which xdist can send from a worker to the controller."""
        values: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in values.items():
            to_json = _TO_JSON.get(value.__class__)
            if to_json is not None:
                values[name] = to_json(value)
        return values

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> RunFacts:
        """Return the facts from which `as_json` made `values`."""
        empty = RunFacts()
        return RunFacts(**{name: type(getattr(empty, name))(value) for name, value in values.items()})
