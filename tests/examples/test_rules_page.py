"""The tables of docs/rules.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from converse_harness.bedrock.models import MODELS, TOPICS, Model
from converse_harness.bedrock.rules import GATEWAY, NOTING, PROFILES, RULES, VERDICTS, Rule, Witness
from converse_harness.bedrock.rules.rule import WITNESS_KINDS, Claude
from converse_harness.settings import LEVELS
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "rules.md"


def levels() -> Iterator[Row]:
    """The levels, the laxest first."""
    yield "`rules=`", ""
    for level, meaning in LEVELS.items():
        yield code(level), meaning


def verdicts() -> Iterator[Row]:
    """What becomes of a request that breaks a rule."""
    yield "verdict", ""
    for verdict, meaning in VERDICTS.items():
        yield code(verdict), meaning


def witnesses() -> Iterator[Row]:
    """The kinds of witnesses."""
    yield "kind", ""
    for kind, meaning in WITNESS_KINDS.items():
        yield code(kind), meaning


def gateway() -> Iterator[Row]:
    """The rules of all models, but for some."""
    yield "rule", "what must hold", "Bedrock's message", "not of", "who saw it, and when"
    for rule in GATEWAY:
        if rule.verdict not in NOTING:
            yield *_told(rule), "; ".join(_but(rule)), _seen(rule)


def profiles() -> Iterator[Row]:
    """The rules of single families."""
    yield "rule", "what must hold", "Bedrock's message", "of", "who saw it, and when"
    for rule in PROFILES:
        if rule.verdict not in NOTING:
            yield *_told(rule), ", ".join(map(_name, rule.models.shown)), _seen(rule)


def noted() -> Iterator[Row]:
    """What is only noted, for it is not known."""
    yield "note", "what may have to hold", "of", "for it", "against it", "also"
    for rule in RULES:
        if rule.verdict == "note":
            yield (
                code(rule.name),
                rule.what,
                ", ".join(map(_name, rule.models.shown)) or "all",
                _all(rule.witnesses),
                _all(rule.against),
                rule.remark,
            )


def ignored() -> Iterator[Row]:
    """What has no effect."""
    yield "note", "what must hold, or the part that breaks it is ignored", "who saw it, and when"
    for rule in RULES:
        if rule.verdict == "ignored":
            yield code(rule.name), rule.what, _seen(rule)


def models() -> Iterator[Row]:
    """The models that are known."""
    yield "ids, without region", "model", "line", "since", "caches from", "answers up to", "also"
    for model in MODELS:
        cached = f"{model.caching.minimum:,} tokens" if model.caching is not None else ""
        most = f"{model.most_tokens:,} tokens" if model.most_tokens else ""
        yield code(model.ids), model.name, model.line, model.since, cached, most, "; ".join(_traits(model))


def abilities() -> Iterator[Row]:
    """Which models accept what."""
    yield "what", "accepted by", "refused by", "disputed"
    for topic, about in TOPICS.items():
        found = [
            ", ".join(model.name for model in MODELS if model.fact(topic).ability == each)
            for each in ("yes", "no", "disputed")
        ]
        yield f"{topic}: {about}", *found


def _traits(model: Model) -> Iterator[str]:
    if not model.converses:
        yield "no Converse"
    counts = model.fact("CountTokens").ability
    if counts != "not known":
        yield "counts tokens" if counts == "yes" else "does not count tokens"
    if model.merges:
        yield "merges turns"
    if model.retired:
        yield f"retired on {model.retired}"


def _told(rule: Rule) -> tuple[str, str, str]:
    error = "" if rule.error == "ValidationException" else f"{rule.error}: "
    name = f"{code(rule.name)}{'' if rule.verdict == 'refuse' else f' ({rule.verdict})'}"
    message = rule.message if rule.message != "{errors}" else "N validation errors detected: Value ... at ..."
    return name, rule.what, f"{error}{message}"


def _seen(rule: Rule) -> str:
    against = f"against it: {_all(rule.against)}" if rule.against else ""
    return "; ".join(part for part in (_all(rule.witnesses), rule.remark, against) if part)


def _all(found: Iterable[Witness]) -> str:
    return ", ".join(map(str, found))


def _but(rule: Rule) -> Iterator[str]:
    for model, who in rule.models.but.items():
        yield f"{_name(model)} ({who})"


def _name(model: str | Claude) -> str:
    return code(model) if isinstance(model, str) else str(model)


TABLES: Final[Tables] = {
    "levels": levels,
    "verdicts": verdicts,
    "witnesses": witnesses,
    "gateway": gateway,
    "profiles": profiles,
    "noted": noted,
    "ignored": ignored,
    "models": models,
    "abilities": abilities,
}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_rules_page"


def test_every_rule_is_on_the_page() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert names(text) == list(TABLES)
    assert [rule.name for rule in RULES if f"| `{rule.name}`" not in text] == []


if __name__ == "__main__":
    write(PAGE, TABLES)
