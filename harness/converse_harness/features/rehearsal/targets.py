"""Rehearsal: find the rules by which another model would refuse a request that a test or a recording contains.

A target is a model together with the model ids that it replaces; users write it as `[PATTERN=]MODEL`. Each request is
checked with the same rules as a call, but with the target's model id. The module `report` builds the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock.models import MODELS, Model, Standing, standing, stands_for
from converse_harness.bedrock.rules import BY_NAME, PROFILES, Refusal, RuleRequest, refusals_of
from converse_harness.bedrock.rules.finders.fields import judged_fields
from converse_harness.bedrock.rules.request import FIELDS
from converse_harness.errors import ReplyError
from converse_harness.json_values import object_of
from converse_harness.settings import RuleLevel

ALL: Final = "all"
"""The word for many targets: the newest model of each line of models in the table, for example of Claude Opus."""


class RehearsalTarget(NamedTuple):
    """A model whose rules are applied to requests in a rehearsal.

    `pattern` is a glob of the model ids that the model replaces; if it is empty, the model replaces the id that most
    requests contain. `model` may be an ARN; `stands_for` is the id of the model behind it. `of_all` is true if the user
    wrote `all`.
    """

    pattern: str
    model: str
    stands_for: str
    of_all: bool = False

    @property
    def standing(self) -> Standing:
        """The row of the target's model in the table of models; the row is None for an unknown model."""
        return standing(self.stands_for)

    @property
    def known(self) -> bool:
        """Whether the model has a row in the table of models.

        Without a row, the rehearsal has no result for the target.
        """
        return self.standing.model is not None

    @property
    def about(self) -> str:
        """A remark about the model's row, in brackets; empty if no remark is needed.

        >>> target_of("us.anthropic.claude-opus-9").about
        ' (rules inferred from Claude Opus 5.5)'
        """
        name, row, inferred = self.standing
        if row is None:
            return ""
        parts = [f"rules inferred from {row.name}"] if inferred else []
        if not inferred and row.retired:
            parts.append(f"its end of life was on {row.retired}")
        if not any(name in rule.models for rule in PROFILES):
            parts.append("no rules of its own are known, only those of all models")
        return f" ({'; '.join(parts)})" if parts else ""

    def replaces(self, model_id: str) -> bool:
        """Whether `pattern` matches a model id. Without a pattern, the result is always True."""
        return not self.pattern or fnmatchcase(model_id, self.pattern)

    def refusals(
        self,
        asked: RuleRequest,
        level: RuleLevel = "default",
        single: Mapping[str, RuleLevel] | None = None,
        *,
        but: Iterable[str] = (),
    ) -> list[Refusal]:
        """Return a Refusal for each rule that the request would break with this model; Bedrock sends only the first.

        `single` are the levels of single rules, and `but` the names of rules to ignore. For a model without a row in
        the table, the list is empty.

        >>> body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "inferenceConfig": {"temperature": 0}}
        >>> asked = RuleRequest("Converse", "us.anthropic.claude-sonnet-4-5", body)
        >>> [each.rule.name for each in target_of("us.anthropic.claude-opus-5").refusals(asked)]
        ['claude_has_no_temperature']
        """
        if not self.known:
            return []
        if self.of_all:
            level = "default"  # the "strict" level would refuse an incomplete model id
        found = refusals_of(asked.of_model(self.model, self.stands_for), level, single or {})
        return [each for each in found if each.rule.name not in but]

    def unjudged_fields(self, asked: RuleRequest) -> list[str]:
        """Return the names of the request's additional model request fields of which the model's row says nothing.

        >>> asked = RuleRequest("Converse", "m", {"additionalModelRequestFields": {"thinking": {}, "effort": 5}})
        >>> target_of("us.anthropic.claude-opus-5").unjudged_fields(asked)
        ['effort']
        >>> target_of("us.amazon.nova-pro-v1:0").unjudged_fields(asked)
        ['effort']
        """
        row = self.standing.model
        judged = judged_fields(row) if row is not None else ()
        return sorted(each for each in object_of(asked.body.get(FIELDS)) if each not in judged)


def target_of(text: str, models: Mapping[str, str] | None = None) -> RehearsalTarget:
    """Read `[PATTERN=]MODEL`; `models` maps globs of model ids to the models behind them.

    Raises ReplyError for a missing or malformed model id.

    >>> target_of("*sonnet*=us.amazon.nova-pro-v1:0")[:2]
    ('*sonnet*', 'us.amazon.nova-pro-v1:0')
    """
    before, equals, after = (part.strip() for part in text.rpartition("="))
    found = bedrock.validate("ConverseRequest", {"modelId": after, "messages": []})
    wrong_id = f"{after!r} is no model id" if any("modelId" in each.steps for each in found) else ""
    problem = wrong_id if after else "no model id came"
    if problem or (equals and not before):
        raise ReplyError(
            f"{text!r}: {problem or 'no pattern came before the ='}. It is MODEL or PATTERN=MODEL; MODEL is a model "
            "id, an inference profile or an ARN, and PATTERN is a glob of the model ids that it replaces. For example: "
            "us.anthropic.claude-opus-5, or '*sonnet*=us.anthropic.claude-opus-5'."
        )
    return RehearsalTarget(before, after, stands_for(models or {}, after))


def targets_of(texts: Iterable[str], models: Mapping[str, str] | None = None) -> list[RehearsalTarget]:
    """Read targets and remove duplicates. `all` and `PATTERN=all` become one target for each line of models."""
    found: list[RehearsalTarget] = []
    for text in texts:
        before, _, after = (part.strip() for part in text.rpartition("="))
        if after == ALL:
            found += [RehearsalTarget(before, each.example, each.example, of_all=True) for each in newest_models()]
        else:
            found.append(target_of(text, models))
    return [*dict.fromkeys(found)]


def newest_models() -> Iterator[Model]:
    """Yield, for each line of models, the newest row that supports Converse and has no day of retirement."""
    newest: dict[tuple[str, str], Model] = {}
    for row in MODELS:
        known = newest.get((row.maker, row.line))
        if row.converses and not row.retired and (known is None or row.version > known.version):
            newest[row.maker, row.line] = row
    yield from newest.values()


def unknown_target(target: RehearsalTarget) -> str:
    """Return the message for a target without a result, because the table of models has no row for its model."""
    makers = ", ".join(dict.fromkeys(row.maker for row in MODELS))
    return (
        f"{target.model}: nothing is claimed, because no row of the table of models has this model. Rows are known for "
        f"models of {makers}. Correct the id; the model behind an ARN or a name of your own is named in "
        f"pytest's ini file: converse_models = {target.model} = MODEL."
    )


def own_rules(asked: RuleRequest) -> frozenset[str]:
    """Return the names of the rules that refuse a request if its own model id is kept.

    If Bedrock accepted the request when it was recorded, such a rule is wrong about the request, and must be ignored.
    """
    return frozenset(each.rule.name for each in refusals_of(asked))


def witness_of(rule: str) -> str:
    """Return the newest observation of a rule as text; the rule's remark if nobody has observed the rule."""
    found = BY_NAME[rule]
    return str(found.witnesses[-1]) if found.witnesses else found.remark
