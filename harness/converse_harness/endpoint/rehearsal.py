"""Rehearsal: what the rules would refuse of a request if its model id were another one.

A target is a model with the model ids that it replaces, as users write it: `[PATTERN=]MODEL`. A request is held to the
same rules as a call, with the other model id. `endpoint/rehearsal_report.py` has the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock.models import MODELS, Model, Standing, standing, stands_for
from converse_harness.bedrock.rules import BY_NAME, PROFILES, Refusal, RuleLevel, RuleRequest, refusals_of
from converse_harness.bedrock.rules.asked import FIELDS, JUDGED_FIELDS, parts_of
from converse_harness.errors import ReplyError
from converse_harness.json_values import object_of

ALL: Final = "all"
"""The name that stands for the newest model of each line of models that the table of models has."""


_OF_FIELDS: Final = tuple(rule for rule in BY_NAME.values() if FIELDS in parts_of(rule.find))
"""The rules that look at additional model request fields."""


class RehearsalTarget(NamedTuple):
    """A model as which requests are rehearsed.

    `pattern` is a glob of the model ids that the model replaces; if it is empty, the model replaces the id that is
    asked most often. `stands_for` is the model behind `model` if a setting names one, otherwise `model`. `of_all`: the
    target comes from `all`.
    """

    pattern: str
    model: str
    stands_for: str
    of_all: bool = False

    @property
    def standing(self) -> Standing:
        """The row of the table of models; rows are missing for models of which nothing is known."""
        return standing(self.stands_for)

    @property
    def known(self) -> bool:
        """Whether the table of models has a row for the model; if not, nothing is claimed of it."""
        return self.standing.model is not None

    @property
    def about(self) -> str:
        """What a reader must know of the model's row, in brackets; empty if there is nothing.

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
        """Whether the model replaces this model id. A target without a pattern may replace every id."""
        return not self.pattern or fnmatchcase(model_id, self.pattern)

    def refusals(self, asked: RuleRequest, level: RuleLevel = "default", *, but: Iterable[str] = ()) -> list[Refusal]:
        """The refusal by each rule that a request breaks if it goes to this model; Bedrock sends only the first.

        `but` are names of rules that are not asked. Of a model without a row nothing is claimed: the list is empty.

        >>> body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "inferenceConfig": {"temperature": 0}}
        >>> asked = RuleRequest("Converse", "us.anthropic.claude-sonnet-4-5", body)
        >>> [each.rule.name for each in target_of("us.anthropic.claude-opus-5").refusals(asked)]
        ['claude_has_no_temperature']
        """
        if not self.known:
            return []
        if self.of_all:
            level = "default"  # the model id is not whole, which is refused at the strict level
        return [
            each
            for each in refusals_of(asked.of_model(self.model, self.stands_for), level)
            if each.rule.name not in but
        ]

    def unjudged_fields(self, asked: RuleRequest) -> list[str]:
        """The names of the additional model request fields that no rule for this model looks at.

        >>> asked = RuleRequest("Converse", "m", {"additionalModelRequestFields": {"thinking": {}, "top_k": 5}})
        >>> target_of("us.anthropic.claude-opus-5").unjudged_fields(asked)
        ['top_k']
        >>> target_of("us.amazon.nova-pro-v1:0").unjudged_fields(asked)
        ['thinking', 'top_k']
        """
        sent = object_of(asked.body.get(FIELDS))
        name = self.standing.id
        judged = JUDGED_FIELDS if any(name in rule.models for rule in _OF_FIELDS) else ()
        return sorted(each for each in sent if each not in judged)


def target_of(text: str, models: Mapping[str, str] | None = None) -> RehearsalTarget:
    """Read `[PATTERN=]MODEL`; `models` maps globs of model ids to the models behind them.

    Raises ReplyError for a missing or malformed model id.

    >>> target_of("*sonnet*=us.amazon.nova-pro-v1:0")[:2]
    ('*sonnet*', 'us.amazon.nova-pro-v1:0')
    """
    before, equals, after = (part.strip() for part in text.rpartition("="))
    problem = _problem_of_id(after) if after else "no model id came"
    if problem or (equals and not before):
        raise ReplyError(
            f"{text!r}: {problem or 'no pattern came before the ='}. It is MODEL or PATTERN=MODEL; MODEL is a model "
            "id, an inference profile or an ARN, and PATTERN is a glob of the model ids that it replaces. For example: "
            "us.anthropic.claude-opus-5, or '*sonnet*=us.anthropic.claude-opus-5'."
        )
    return RehearsalTarget(before, after, stands_for(models or {}, after))


def targets_of(texts: Iterable[str], models: Mapping[str, str] | None = None) -> list[RehearsalTarget]:
    """Read targets, each once; `all` and `PATTERN=all` become one target for each line of models. Raises ReplyError."""
    found: dict[RehearsalTarget, None] = {}
    for text in texts:
        before, _, after = (part.strip() for part in text.rpartition("="))
        if after == ALL:
            found |= dict.fromkeys(
                RehearsalTarget(before, each.example, each.example, of_all=True) for each in newest_models()
            )
        else:
            found[target_of(text, models)] = None
    return [*found]


def newest_models() -> Iterator[Model]:
    """Yield the newest row of each line of models that Converse reaches and whose end of life is not known."""
    newest: dict[tuple[str, str], Model] = {}
    for row in MODELS:
        known = newest.get((row.maker, row.line))
        if row.converses and not row.retired and (known is None or row.version > known.version):
            newest[row.maker, row.line] = row
    yield from newest.values()


def unknown_target(target: RehearsalTarget) -> str:
    """The message for a model of which nothing is claimed, because the table of models has no row for it."""
    makers = ", ".join(dict.fromkeys(row.maker for row in MODELS))
    return (
        f"{target.model}: nothing is claimed, because no row of the table of models has this model. Rows are known for "
        f"models of {makers}. Correct the id; the model behind an ARN or a name of your own is named in "
        f"pytest's ini file: converse_models = {target.model} = MODEL."
    )


def own_rules(asked: RuleRequest) -> frozenset[str]:
    """The names of the rules that refuse a request as it is.

    Bedrock accepted some requests that a rule refuses: the recording of an answer is worth more than the rule.
    """
    return frozenset(each.rule.name for each in refusals_of(asked))


def witness_of(rule: str) -> str:
    """The newest observation of a rule; if there is none, the reason why the rule is there."""
    found = BY_NAME[rule]
    return str(found.witnesses[-1]) if found.witnesses else found.remark


def _problem_of_id(model_id: str) -> str:
    """Why AWS's model does not allow a model id; empty if it does."""
    for violation in bedrock.validate("ConverseRequest", {"modelId": model_id, "messages": []}):
        if "modelId" in violation.steps:
            return f"{model_id!r} is no model id"
    return ""
