"""docs/matrix-grid.html of the site: the matrix as one file that filters, with what was seen behind each cell.

It can be read without JavaScript: a cell leads to its outcome below the grid. Tags and quotes that HTML lets one leave
out are left out, as there are some 2,900 cells.
"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from converse_harness.cases import Case
from converse_harness.cases.catalogue import FAMILIES
from converse_harness.contract.judging import VerdictLevel
from converse_harness.contract.settings import OPERATIONS
from tests.clients.matrix.base import Client, clients
from tests.clients.matrix.verdicts import TITLES, WORDS, head, verdicts, ways

HERE: Final = Path(__file__).parent
TITLE: Final = "What real clients do with every case"

CLASSES: Final = {VerdictLevel.HANDLED.word: "h", VerdictLevel.REFUSED.word: "r", VerdictLevel.MISHANDLED.word: "m"}
"""By the level of a verdict its class: grid.css has the class's colour and symbol."""

NOT_TESTED: Final = "<td class=n>not tested"

PLACES: Final = (
    ("requests", "requests"),
    ("text", "text"),
    ("tool_calls", "tool calls"),
    ("stop_reason", "stop reason"),
    ("error", "error"),
    ("why", "why"),
    ("known", "known"),
)
"""The members of an outcome, with their names on the page."""

MEANINGS: Final = """\
<li class=h><b>handled</b>: the client returns what was sent, or raises the error that was sent
<li class=r><b>refused</b>: the client raises an error of its own, although the answer can be read
<li class=m><b>mishandled</b>, with the name of the flaw: text or a tool call is lost or corrupted, a broken answer
looks whole, the error is the wrong one, or the client does not come to an end
<li class=n><b>not tested</b>: the transport of the client cannot have it, or its botocore does not know it
"""

Seen = Mapping[Client, Mapping[str, Any]]


@dataclass(slots=True)
class _Outcome:
    """One row of what was seen, and by operation the clients that it was seen of."""

    row: Mapping[str, Any]
    clients: dict[str, list[Client]] = field(default_factory=dict[str, list[Client]])


def grid() -> str:
    """docs/matrix-grid.html."""
    seen: Seen = {client: client.read() for client in clients().values()}
    cases = [(family, case) for family, make in FAMILIES.items() for case in make()]
    outcomes = {case.name: _outcomes(case, seen) for _, case in cases}
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("grid.css", "grid.js"))
    content = (
        "<main>",
        f"<h1>{TITLE}</h1>",
        f"<p>{len(seen)} clients run unchanged against the cases of converse-harness, each in an environment of its",
        "own. A cell leads to what was seen.",
        f"<ul id=legend>\n{MEANINGS}</ul>",
        *_filters(seen),
        "<div id=grid role=region aria-label='The matrix' tabindex=0>",
        "<table><thead>",
        f"<tr><th scope=col>case{''.join(f'<th scope=col>{escape(head(client))}' for client in seen)}",
        *_bodies(cases, outcomes, seen),
        "</table></div>",
        *_counts(seen),
        "<h2>What was seen</h2>",
        *(line for _, case in cases for line in _article(case, outcomes[case.name], len(seen))),
        "</main>",
        "<dialog id=seen aria-labelledby=seen-title></dialog>",
    )
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head_of_page = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{TITLE}</title>",
        f"<style>{style}</style>",
    )
    body = "\n".join(content)
    return (
        f'<!doctype html>\n<html lang="en"><head>{"".join(head_of_page)}</head>'
        f"<body>{body}<script>{script}</script></body></html>\n"
    )


def escape(text: str) -> str:
    """The HTML of a text; what nobody would see of it, such as a control character, as Python writes it."""
    shown = "".join(char if char.isprintable() or char in "\t\n" else ascii(char)[1:-1] for char in text)
    return html.escape(shown)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _outcomes(case: Case, seen: Seen) -> list[_Outcome]:
    """What was seen of a case, each once."""
    found: dict[str, _Outcome] = {}
    for operation in OPERATIONS:
        for client, rows in seen.items():
            if row := rows.get(operation, {}).get(case.name):
                outcome = found.setdefault(json.dumps(row), _Outcome(row))
                outcome.clients.setdefault(operation, []).append(client)
    return list(found.values())


def _filters(seen: Seen) -> Iterator[str]:
    """The form, which grid.js shows: without a script it would do nothing."""
    yield "<form id=filters hidden>"
    yield "<label for=find>Case or text</label> <input id=find type=search autocomplete=off spellcheck=false>"
    yield "<label for=operation>Answers</label> <select id=operation><option value=''>streams and whole answers"
    yield from (f"<option value={operation}>{TITLES[operation].lower()}" for operation in OPERATIONS)
    yield "</select>"
    yield "<label for=verdict>Verdict</label> <select id=verdict><option value=''>any"
    yield "<option value=differ>clients differ<option value=mishandled>mishandled, any flaw"
    yield from (f"<option>{word}" for word in WORDS)
    yield "</select>"
    yield "<details><summary>Clients</summary><fieldset><legend>Clients that are shown</legend>"
    for number, client in enumerate(seen, 1):
        yield f"<label><input type=checkbox checked value={number}> {escape(client.title)}</label>"
    yield "</fieldset></details>"
    yield "<output id=count></output> <button type=reset>Show all</button>"
    yield "</form>"


def _bodies(cases: list[tuple[str, Case]], outcomes: Mapping[str, list[_Outcome]], seen: Seen) -> Iterator[str]:
    """The rows of the grid, a table body for each family of each operation."""
    for operation in OPERATIONS:
        for family in FAMILIES:
            rows = [
                "".join((f"<tr><th scope=row><a href=#{case.name}>{case.name.replace('_', '_<wbr>')}</a>", *cells))
                for of, case in cases
                if of == family and (cells := _cells(case, operation, outcomes[case.name], seen))
            ]
            if rows:
                title = f"{family[0].upper()}{family[1:]}, {TITLES[operation].lower()}"
                yield f"<tbody data-operation={operation}>"
                yield f"<tr><th colspan={len(seen) + 1} scope=rowgroup><span>{escape(title)}</span>"
                yield from rows


def _cells(case: Case, operation: str, outcomes: list[_Outcome], seen: Seen) -> list[str]:
    """A cell for each client, or none where no client was asked."""
    of = {
        client: (number, outcome)
        for number, outcome in enumerate(outcomes, 1)
        for client in outcome.clients.get(operation, ())
    }
    return [_cell(case, *of[client]) if client in of else NOT_TESTED for client in seen] if of else []


def _cell(case: Case, number: int, outcome: _Outcome) -> str:
    words = " or ".join(dict.fromkeys(verdict.rpartition(": ")[2] for verdict in verdicts(outcome.row)))
    css = _class(outcome.row)  # most are handled: the cell without a class
    return f"<td{'' if css == 'h' else f' class={css}'}><a href=#{case.name}-{number}>{words}</a>"


def _class(row: Mapping[str, Any]) -> str:
    """The class of the worst verdict."""
    levels = {verdict.partition(": ")[0] for verdict in verdicts(row)}
    return next(CLASSES[level] for level in reversed(CLASSES) if level in levels)


def _article(case: Case, outcomes: list[_Outcome], of_all: int) -> Iterator[str]:
    """A case, and everything that was seen of it."""
    if not outcomes:
        return
    yield f"<article id={case.name}><h3>{case.name}</h3>"
    yield f"<p>{escape(case.sentence)}<p>Right: {escape(case.required)}<ul>"
    for number, outcome in enumerate(outcomes, 1):
        yield f"<li id={case.name}-{number} class={_class(outcome.row)}><b>{' or '.join(verdicts(outcome.row))}</b>"
        yield f"<p>{escape(_who(outcome, of_all))}"
        if "varies" in outcome.row:
            yield f"<p>It varies: {escape(outcome.row['varies'])}."
        yield from (f"<dl>{''.join(_places(way))}</dl>" for way in ways(outcome.row))
    yield "</ul></article>"


def _who(outcome: _Outcome, of_all: int) -> str:
    """The clients, together where they are the same for both operations."""
    named = {
        operation: "all clients" if len(who) == of_all else "; ".join(client.title for client in who)
        for operation, who in outcome.clients.items()
    }
    if len(named) == len(OPERATIONS) and len(set(named.values())) == 1:
        return f"Streams and whole answers: {named[OPERATIONS[0]]}"
    return ". ".join(f"{TITLES[operation]}: {who}" for operation, who in named.items())


def _places(way: Mapping[str, Any]) -> Iterator[str]:
    for place, name in PLACES:
        if value := way.get(place):
            code = place in ("text", "tool_calls")
            tools = place == "tool_calls"
            written = escape(", ".join(f"{tool} {given}" for tool, given in value) if tools else str(value))
            yield f"<dt>{name}<dd>{f'<code>{written}</code>' if code else written}"


def _counts(seen: Seen) -> Iterator[str]:
    """How often each client has each verdict, a table for each operation."""
    yield "<h2>Counts</h2>"
    for operation in OPERATIONS:
        yield f"<div class=scrolls role=region aria-label='{TITLES[operation]}, counted' tabindex=0><table>"
        yield f"<caption>{TITLES[operation]}</caption>"
        yield f"<tr><th scope=col>verdict{''.join(f'<th scope=col>{escape(head(client))}' for client in seen)}"
        for word in WORDS:
            numbers = (sum(word in verdicts(row) for row in rows.get(operation, {}).values()) for rows in seen.values())
            yield f"<tr><th scope=row>{word}{''.join(f'<td>{number}' for number in numbers)}"
        yield "</table></div>"
