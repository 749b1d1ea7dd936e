"""The matrix: what every client makes of every case, held to what was seen of it before.

A client's module has an adapter and two contracts, a MatrixContract each for streams and for whole answers. What was
seen is in `seen/CLIENT.json`: text, tool calls, error, requests and verdict of each case. A run compares; with
CONVERSE_MATRIX=write in the environment it writes the file anew.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from converse_harness.contract import ConsumerContract, Seen, VerdictLevel
from converse_harness.contract.settings import OPERATIONS

HERE: Final = Path(__file__).parent
LOCK: Final = HERE.parent / "pinned" / "javascript" / "package-lock.json"
WRITES: Final = os.environ.get("CONVERSE_MATRIX") == "write"
"""Whether what is seen is written, and not compared."""

Rows = dict[str, Any]
"""What was seen of each case, by its name: what is there; no text, tool call or error and one request are left out."""


@dataclass(frozen=True, slots=True)
class Client:
    """One column of the matrix."""

    name: str
    title: str
    transport: str
    requires: tuple[str, ...]
    packages: tuple[str, ...] = ()
    node: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where it is kept what was seen of it."""
        return HERE / "seen" / f"{self.name}.json"

    @property
    def versions(self) -> dict[str, str]:
        """The versions that are installed, of JavaScript packages those of the lock file."""
        locked = json.loads(LOCK.read_text(encoding="utf-8"))["packages"] if self.node else {}
        return {
            **{package: version(package) for package in self.packages},
            **{package: locked[f"node_modules/{package}"]["version"] for package in self.node},
        }

    def read(self) -> dict[str, Rows]:
        """What was seen of it: its versions, and by operation the rows."""
        read: dict[str, Rows] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        return read

    def write(self, seen: Mapping[str, Any]) -> None:
        """Keep what was seen; the same gives the same file."""
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(_a_line_each(seen), encoding="utf-8")


def _a_line_each(seen: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each case, so that a change is seen in a review."""
    parts = (
        f"{json.dumps(part)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items())
        + "\n}"
        for part, rows in seen.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


@cache
def clients() -> Mapping[str, Client]:
    """All clients by name, in the order of the columns."""
    table = tomllib.loads((HERE / "clients.toml").read_text(encoding="utf-8"))
    return {
        name: Client(
            name,
            row["title"],
            row["transport"],
            *(tuple[str, ...](row.get(key, ())) for key in ("requires", "packages", "node")),
        )
        for name, row in table.items()
    }


def because(reason: str, *cases: str) -> dict[str, str]:
    """The same reason for several cases of `known`."""
    return dict.fromkeys(cases, reason)


USUAL: Final[tuple[tuple[str, Any], ...]] = (
    ("requests", 1),
    ("text", ""),
    ("tool_calls", []),
    ("stop_reason", None),
    ("error", ""),
    ("why", ""),
)
"""What is left out of a row."""


class MatrixContract(ConsumerContract):
    """The contract of a client of the matrix.

    `client` is its name in clients.toml. `varies` has the cases that the client does not always end in the same way,
    each with the reason: all ways that were seen are kept.
    """

    client: ClassVar[str]
    varies: ClassVar[Mapping[str, str]] = {}
    fresh: ClassVar[Rows]
    """What this run has seen."""

    time_limit = 60.0
    """Some import for seconds when they are asked first; one that is known to hang has less."""

    test_property = None  # type: ignore[assignment]  # the matrix is one of cases

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _kept(cls) -> Iterator[None]:
        """Write what was seen, if that is asked for; of cases that did not run what was seen before."""
        cls.fresh = {}
        yield
        if WRITES:
            client = clients()[cls.client]
            kept = client.read()
            rows = {**kept.get(cls.operation, {}), **cls.fresh}
            kept |= {
                "versions": client.versions,
                cls.operation: {name: rows[name] for name in cls.cases() if name in rows},
            }
            client.write({name: kept[name] for name in ("versions", *OPERATIONS) if name in kept})

    def seen(self, seen: Seen) -> None:
        """Compare with what was seen before, or keep it to be written."""
        told = {name: value for name, value in seen.told.items() if (name, value) not in USUAL}
        before = clients()[self.client].read().get(self.operation, {}).get(seen.case, {})
        ways = [{name: way[name] for name in way if name != "known"} for way in before.get("ways", [before])]
        if WRITES:
            type(self).fresh[seen.case] = self._row(seen.case, told, ways)
        elif (
            seen.case not in self.known or seen.verdict.level is not VerdictLevel.HANDLED
        ):  # a fix is an unexpected pass
            assert told in ways, f"{self.client} does something else than it did; `nox -s matrix` writes what it does"

    def _row(self, case: str, told: Mapping[str, Any], ways: list[dict[str, Any]]) -> dict[str, Any]:
        """What is kept of a case."""
        known = {"known": self.known[case]} if case in self.known else {}
        if case not in self.varies:
            return {**told, **known}
        every = sorted((way for way in [*ways, dict(told)] if way), key=json.dumps)
        unlike = [way for number, way in enumerate(every) if way not in every[:number]]
        return {"varies": self.varies[case], "ways": [{**way, **known} for way in unlike]}

    def test_what_is_kept(self) -> None:
        """It was seen of the versions that are installed, and is of all cases there are."""
        client = clients()[self.client]
        kept = client.read()
        assert WRITES or (kept["versions"], list(kept[self.operation])) == (client.versions, self.cases())


__all__ = ["Client", "MatrixContract", "because", "clients"]
