"""The table of threads, and what was seen of them; the standard library is enough."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
TABLE: Final = HERE / "threads.toml"
SEEN: Final = HERE / "seen.json"
SHARED: Final = ("thread", "client", "package", "red", "green", "check", "shown_by")
"""What stands in the table and in what was seen; `old` and `date` stand in the latter alone."""

Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One public thread whose mistake a released version of a client makes, and the next one does not."""

    thread: str
    client: str
    package: str
    red: str
    green: str
    check: str
    shown_by: str
    error: str
    says: str
    requires: Sequence[str] = ()
    node: bool = False

    @property
    def shared(self) -> Row:
        """What must be the same in the table and in what was seen."""
        return {name: getattr(self, name) for name in SHARED}


def threads() -> list[Thread]:
    """Every row of the table."""
    rows: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["threads"]
    return [Thread(**row) for row in rows]


def read_seen() -> list[Row]:
    """What was seen, a row for each thread."""
    rows: list[Row] = json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else []
    return rows


def write_seen(fresh: Mapping[str, Row], order: Iterable[Thread]) -> None:
    """Keep what was seen, a line for each row in the order of the table; a row that did not run stays as it was."""
    kept = {row["check"]: row for row in read_seen()} | dict(fresh)
    lines = (json.dumps(kept[thread.check], ensure_ascii=False) for thread in order if thread.check in kept)
    SEEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def problems(thread: Thread, before: str, after: str) -> Iterator[str]:
    """What is not as the table says, of the first lines of the failures of both versions; none where one passed."""
    kind, _, text = before.partition(": ")
    if not before:
        yield f"{thread.red} should fail, and passes"
    elif kind.rpartition(".")[2] != thread.error or thread.says not in text:
        yield f"{thread.red} should fail with {thread.error}: {thread.says}; it says {before}"
    if after:
        yield f"{thread.green} should pass; it says {after}"
