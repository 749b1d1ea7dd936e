"""The tables of docs/rules.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from converse_harness.bedrock.rules import LEVELS, RULES, Rule
from converse_harness.bedrock.rules.profiles import PROFILES
from converse_harness.bedrock.rules.table import GATEWAY
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "rules.md"


def levels() -> Iterator[Row]:
    """The levels, the laxest first."""
    yield "`rules=`", ""
    for level, meaning in LEVELS.items():
        yield code(level), meaning


def gateway() -> Iterator[Row]:
    """The rules of all models, but for some."""
    yield "rule", "what must hold", "what Bedrock says", "not of", "who saw it"
    for rule in GATEWAY:
        yield *_told(rule), "; ".join(f"{model} ({who})" for model, who in _shown(rule.models.but.items())), rule.source


def profiles() -> Iterator[Row]:
    """The rules of single families."""
    yield "rule", "what must hold", "what Bedrock says", "of", "who saw it"
    for rule in PROFILES:
        yield (
            *_told(rule),
            ", ".join(model for model, _ in _shown((each, "") for each in rule.models.only)),
            rule.source,
        )


def _told(rule: Rule) -> tuple[str, str, str]:
    name = f"{code(rule.name)}{' (strict)' if rule.strict else ''}"
    message = rule.message if rule.message != "{errors}" else "N validation errors detected: Value ... at ..."
    return name, rule.what, message


def _shown(models: Iterable[tuple[object, str]]) -> Iterator[tuple[str, str]]:
    for model, who in models:
        yield (code(model) if isinstance(model, str) else str(model)), who


TABLES: Final[Tables] = {"levels": levels, "gateway": gateway, "profiles": profiles}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_rules_page"


def test_every_rule_is_on_the_page() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert names(text) == list(TABLES)
    assert [rule.name for rule in RULES if f"| `{rule.name}`" not in text] == []


if __name__ == "__main__":
    write(PAGE, TABLES)
