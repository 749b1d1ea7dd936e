"""Write docs/matrix.md: `python -m tests.clients.matrix.page`.

The site has more: a page of all cases, a grid, and a page for each client.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from converse_harness.cases.catalogue import FAMILIES
from converse_harness.contract.judging import VerdictLevel
from converse_harness.contract.settings import OPERATIONS
from tests.clients.matrix.base import Client, clients
from tests.clients.matrix.grid import grid
from tests.clients.matrix.verdicts import TITLES, WORDS, head, verdicts, ways

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGE: Final = DOCS / "matrix.md"
CASES: Final = DOCS / "matrix-cases.md"
GRID: Final = DOCS / "matrix-grid.html"
FOLDER: Final = DOCS / "matrix"

HANDLED: Final = "✓"
MISSING: Final = "·"

INTRODUCTION: Final = """\
# What real clients do with every case

Each client runs unchanged, in an environment of its own, against every case of the [catalogue](cases.md). The tables
count the cases by the verdict of the [contract's standard](contract.md#the-standard). *Refused* means that the client
raised an error of its own for an answer that it could have read.

The site of this documentation has more: a table of all cases, a page for each client with the observed results, and a
grid with filters. The results themselves are in `tests/clients/matrix/seen/`. `nox -s matrix` runs all clients again
and writes this page.
"""

OF_ALL_CASES: Final = f"""\
# Every case, by client

A cell has the verdict, and links to the observed result. The first tables are about streams (`ConverseStream`), the
later ones about whole answers (`Converse`). `{HANDLED}` means handled, a word in bold is the flaw of a mishandled
answer. `{MISSING}` means that the case was not tested: it cannot occur with the client's transport, or the botocore of
the client does not know it.

[The grid](matrix-grid.html) shows the same, in one file with filters. [The page before](matrix.md) counts the verdicts.
"""


def page() -> str:
    """docs/matrix.md: the numbers."""
    parts = [INTRODUCTION]
    for operation in OPERATIONS:
        parts += [f"## {TITLES[operation]}\n", "\n".join(_counts(_columns(operation))) + "\n"]
    return "\n".join(parts)


def page_of_cases() -> str:
    """docs/matrix-cases.md: the verdict of each client for each case."""
    parts = [OF_ALL_CASES]
    for operation in OPERATIONS:
        parts += [f"## {TITLES[operation]}\n", *_tables(_columns(operation), operation)]
    return "\n".join(parts)


def _columns(operation: str) -> Mapping[Client, Mapping[str, Any]]:
    return {client: client.read().get(operation, {}) for client in clients().values()}


def _tables(columns: Mapping[Client, Mapping[str, Any]], operation: str) -> Iterator[str]:
    """A table for each family of cases."""
    for family, make in FAMILIES.items():
        rows = [
            [
                f"`{case.name}`",
                *(_cell(client, operation, case.name, seen.get(case.name)) for client, seen in columns.items()),
            ]
            for case in make()
            if any(case.name in seen for seen in columns.values())
        ]
        if rows:
            yield f"### {family[0].upper()}{family[1:]} ({TITLES[operation].lower()})\n"
            yield "\n".join(_table([family, *(head(client) for client in columns)], rows)) + "\n"


def _counts(columns: Mapping[Client, Mapping[str, Any]]) -> Iterator[str]:
    rows = [
        [word, *(str(sum(word in verdicts(row) for row in seen.values())) for seen in columns.values())]
        for word in WORDS
    ]
    yield from _table(["of all cases", *(head(client) for client in columns)], rows)


def _table(names: list[str], rows: list[list[str]]) -> Iterator[str]:
    for row in [names, ["---"] * len(names), *rows]:
        yield f"| {' | '.join(row)} |"


def _cell(client: Client, operation: str, case: str, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return MISSING
    words = " or ".join(dict.fromkeys(_word(verdict) for verdict in verdicts(row)))
    return f"[{words}](matrix/{client.name}.md#{anchor(operation, case)})"


def _word(verdict: str) -> str:
    level, _, flaw = verdict.partition(": ")
    if level == VerdictLevel.HANDLED.word:
        return HANDLED
    return f"**{flaw}**" if flaw else level


def anchor(operation: str, case: str) -> str:
    """Where on a client's page a case is."""
    return f"{operation.lower()}-{case}"


def client_page(client: Client) -> str:
    """docs/matrix/CLIENT.md: what was seen of it, each case with a place of its own."""
    seen = client.read()
    versions = ", ".join(f"{package} {number}" for package, number in seen.get("versions", {}).items())
    parts = [
        f"# {client.title}\n",
        f'{versions}, asked through the transport "{client.transport}". Back to [all cases](../matrix-cases.md).\n',
    ]
    for operation in OPERATIONS:
        if rows := seen.get(operation):
            parts += [f"## {TITLES[operation]}\n", "\n".join(_lines(operation, rows)) + "\n"]
    return "\n".join(parts)


def _lines(operation: str, rows: Mapping[str, Any]) -> Iterator[str]:
    names = ["case", "verdict", "requests", "text", "tool calls", "stop reason", "error", "why"]
    yield from _table(names, [])
    for case, row in rows.items():
        for number, way in enumerate(ways(row)):
            name = f'<a id="{anchor(operation, case)}"></a>`{case}`' if not number else "or"
            tools = ", ".join(f"{tool} {given}" for tool, given in way.get("tool_calls", ()))
            known = "; known: " + way["known"] if "known" in way else ""
            varies = "; varies: " + row["varies"] if "varies" in row and not number else ""
            cells = [
                name,
                way["verdict"],
                str(way.get("requests", 1)),
                _code(way.get("text", "")),
                _code(tools),
                way.get("stop_reason", ""),
                way.get("error", ""),
                _plain(f"{way.get('why', '')}{known}{varies}".removeprefix("; ")),
            ]
            yield f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{_plain(text)}`" if text.strip() else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")


def site_pages() -> dict[Path, str]:
    """The pages that only the site has, by their paths."""
    return {
        CASES: page_of_cases(),
        GRID: grid(),
        **{FOLDER / f"{client.name}.md": client_page(client) for client in clients().values()},
    }


def write_site_pages() -> None:
    """Write the pages that only the site has; git ignores them."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in site_pages().items():
        path.write_text(text, encoding="utf-8")


def remove_site_pages() -> None:
    """Remove what `write_site_pages` wrote: the tests of the pages read all pages that stand in docs/."""
    CASES.unlink()
    GRID.unlink()
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(DOCS.parent)}")
