"""The table of docs/bedrock-changes.md is made from the rows of models and the rules; as a script, it writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from converse_harness.bedrock.models import COUNTERS, MODELS, READ, TOPICS, Model
from converse_harness.bedrock.rules import RULES
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "bedrock-changes.md"
_COUNTERS: Final[dict[tuple[str, ...], str]] = {
    (): "no cache counters",
    READ: "the read pair of cache counters",
    COUNTERS: "both pairs",
}


class Change(NamedTuple):
    """Something that changed on Bedrock by a month."""

    month: str
    models: str
    what: str
    known: str


def found() -> Iterator[Change]:
    """Yield what the rows and the rules know of changes."""
    for model in MODELS:
        if model.since:
            yield Change(model.since[:7], model.name, "released on Bedrock", "AWS's page, or the id")
        if model.retired:
            yield Change(model.retired[:7], model.name, "at the end of its life", "AWS's page, or a recording")
        yield from _forms(model)
        for topic in TOPICS:
            fact = model.fact(topic)
            if fact.ability == "disputed":
                yield Change(fact.as_of, model.name, f"{topic}: {fact.seen}", "disputed")
    for rule in RULES:
        if rule.against and rule.models.disputed is None:  # what is disputed, the rows say
            newest = max(rule.against, key=lambda each: each.date)
            shown = ", ".join(each if isinstance(each, str) else str(each) for each in rule.models.shown)
            yield Change(newest.date[:7], shown or "all", f"it may no longer hold that {rule.what}", str(newest))


def _forms(model: Model) -> Iterator[Change]:
    for form in model.tool_types:
        for other in form.others:
            if other.of == model.name:
                before = "had not" if form.sent == "always" else "had"
                of = " and ".join(form.operations)
                what = f'tool uses in {of} {form.sent} have `"type": "tool_use"`; before, they {before}'
                yield Change(form.as_of, model.name, what, _until(other.month))
    for other in model.counters.others:
        if other.of == model.name:
            what = f"answers without a cachePoint have {_COUNTERS[model.counters.always]}; before, others"
            yield Change(model.counters.as_of, model.name, what, _until(other.month))


def _until(month: str) -> str:
    return f"recorded otherwise until {month}" if month else "recorded otherwise, without a date"


def changes() -> Iterator[Row]:
    """Every change, the newest first; equal ones of several models in one row."""
    yield "as of", "models", "what", "how it is known"
    rows: dict[tuple[str, str, str], list[str]] = {}
    for each in sorted(found(), key=lambda each: each.month, reverse=True):
        rows.setdefault((each.month, each.what, each.known), []).append(each.models)
    for (month, what, known), models in rows.items():
        yield month or "not known", ", ".join(code(each) if "*" in each else each for each in models), what, known


TABLES: Final[Tables] = {"changes": changes}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert names(text) == list(TABLES)
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_changes_page"


if __name__ == "__main__":
    write(PAGE, TABLES)
