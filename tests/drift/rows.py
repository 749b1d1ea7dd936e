"""Which rows of the table of models, and which rules, newer answers contradict; and what to write in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock.models import COUNTERS, READ, Fact, Model, standing
from converse_harness.bedrock.rules import RULES, Rule, RuleRequest, notes_of, refusals_of
from tests.drift.witnesses import SeenAnswer
from tests.oracle.answers import tool_uses, usage


class Contradiction(NamedTuple):
    """A row or a rule that an answer contradicts. `paste` is what the row would say with this answer."""

    row: str
    says: str
    seen: str
    month: str
    paste: str


_IDS: Final = ("model_exists", "model_id_is_well_formed", "model_is_not_retired")
"""Rules at the strict level that no accepted request contradicts: aliases of a gateway, and models that have ended."""


def contradictions(answers: Iterable[SeenAnswer]) -> list[Contradiction]:
    """Return what the answers contradict, each contradiction once, with its newest answer."""
    found: dict[tuple[str, str, str], Contradiction] = {}
    for answer in answers:
        for each in _contradictions(answer):
            key = (each.row, each.says, re.sub(r'"20\d\d-\d\d"|"[^"]*"', "", each.paste))
            if key not in found or found[key].month < each.month:
                found[key] = each
    return sorted(found.values())


def _contradictions(answer: SeenAnswer) -> Iterator[Contradiction]:
    known = standing(answer.model_id)
    if known.model is None or known.inferred:
        if answer.status == 200 and not answer.model_id.startswith("arn:"):
            yield Contradiction(answer.model_id, "no row has this id", answer.file, answer.month, "")
        return
    shape = bedrock.operation(answer.operation).input_shape.name
    asked = RuleRequest(answer.operation, answer.model_id, bedrock.read_json(shape, answer.request, recorded=True))
    if answer.status == 200:
        yield from _accepted(answer, asked, known.model)
        yield from _forms(answer, known.model)
    elif answer.status == 400:
        yield from _refused(answer, asked, known.model)


def _accepted(answer: SeenAnswer, asked: RuleRequest, model: Model) -> Iterator[Contradiction]:
    for refusal in (*refusals_of(asked, "strict"), *notes_of(asked)):
        rule = refusal.rule
        if rule.name in _IDS or rule.verdict == "ignored":
            continue
        wanted = rule.models.wanted
        if wanted is not None:
            if not _is_newer(answer.month, model.fact(wanted[0])):
                continue
            says = f"{wanted[0]}: {model.fact(wanted[0])}"
            paste = f'"{wanted[0]}": yes("{answer.month}", "recorded"),'
            yield Contradiction(model.name, says, answer.file, answer.month, paste)
        elif rule.name == "some_answers_are_limited":
            most = asked.inference["maxTokens"]
            says = f"maxTokens up to {model.most_tokens}"
            yield Contradiction(model.name, says, answer.file, answer.month, f"most_tokens={most},")
        elif answer.month > max((each.date[:7] for each in rule.against), default=""):
            paste = f'against=(recorded("{answer.file}", "{answer.month}", "{model.name}"),),'
            yield Contradiction(f"rule {rule.name}", rule.what, answer.file, answer.month, paste)


def _is_newer(month: str, fact: Fact) -> bool:
    """Whether an answer of this month says more than a fact; of a disputed one, only a later month does."""
    return month > fact.as_of or (month == fact.as_of and fact.ability != "disputed")


def _refused(answer: SeenAnswer, asked: RuleRequest, model: Model) -> Iterator[Contradiction]:
    said = [refusal.message for refusal in refusals_of(asked, "strict")]
    if answer.message in said or not answer.message:
        return
    rule = next((rule for rule in RULES if rule.models.lacking and _says(rule, answer.message)), None)
    topic = rule.models.lacking if rule is not None else None
    fact = model.fact(topic) if topic is not None else None
    if fact is not None and fact.ability != "no" and _is_newer(answer.month, fact):
        paste = f'"{topic}": no("{answer.month}", "recorded"),'
        yield Contradiction(model.name, f"{topic}: {fact}", answer.file, answer.month, paste)
    elif not any(_says(rule, answer.message) for rule in RULES):
        yield Contradiction(model.name, "no rule has these words", answer.file, answer.month, answer.message)


def _says(rule: Rule, message: str) -> bool:
    """Whether a message is that of a rule, whatever its placeholders are. Some rules have no words of their own."""
    if rule.message.startswith("{"):
        return False
    pattern = re.sub(r"\\{\w+\\}", ".*", re.escape(rule.message.replace("{{", "{").replace("}}", "}")))
    return re.fullmatch(pattern, message, re.DOTALL) is not None


def _forms(answer: SeenAnswer, model: Model) -> Iterator[Contradiction]:
    if answer.operation == "Converse" and '"cachePoint"' not in repr(answer.request).replace("'", '"'):
        counted = tuple(name for name in COUNTERS if name in usage(answer.content))
        row = model.counters
        if usage(answer.content) and counted != row.always and answer.month > row.as_of:
            name = {(): "()", READ: "READ", COUNTERS: "COUNTERS"}.get(counted, repr(counted))
            says = f"cache counters: {', '.join(row.always) or 'none'} (as of {row.as_of or 'no month'})"
            paste = f'counters=CacheCounters({name}, details={row.details}, as_of="{answer.month}", seen="recorded"),'
            yield Contradiction(model.name, says, answer.file, answer.month, paste)
    if "systemTool" in repr(answer.request):
        return
    row_of = next((form for form in model.tool_types if answer.operation in form.operations), None)
    sent = "always" if row_of is not None and row_of.sent == "always" else "never"
    as_of = "" if row_of is None else row_of.as_of
    for use in tool_uses(answer.content):
        seen = "always" if use.get("type") == "tool_use" else "never"
        if seen != sent and answer.month > as_of:
            says = f"type of tool uses, {answer.operation}: {sent} (as of {as_of or 'no month'})"
            paste = f'ToolUseType(("{answer.operation}",), "{seen}", "{answer.month}", "recorded"),'
            yield Contradiction(model.name, says, answer.file, answer.month, paste)
            break
