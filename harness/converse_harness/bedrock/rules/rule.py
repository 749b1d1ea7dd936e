"""The class Rule: which requests Bedrock refuses, for which models, with which message, and the evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Final, Literal, NamedTuple

from converse_harness.bedrock.models import MODELS, Ability, Standing, Topic, standing
from converse_harness.bedrock.rules.request import Finder

MODEL: Final = "The model returned the following errors: "
"""The prefix of error messages that come from the model and not from the gateway."""


def no_field(name: str) -> str:
    """Return the error message for a request field that a model does not support.

    >>> no_field("status")
    "This model doesn't support the status field. Remove status and try again."
    """
    return f"This model doesn't support the {name} field. Remove {name} and try again."


def no_block(kind: str) -> str:
    """Return the error message for a kind of content block that a model does not accept."""
    said = f"This model doesn't support the {kind} content block that you provided."
    return f"{said} Update the content block and try again."


WitnessKind = Literal["recording", "report", "page", "code"]
"""The kind of evidence for a rule; `WITNESS_KINDS` describes each kind."""

WITNESS_KINDS: Final[Mapping[WitnessKind, str]] = {
    "recording": "an answer of the service in a public repository",
    "report": "a public thread",
    "page": "AWS's page or AWS's API model; the date is when it was read",
    "code": "public source code that tried it, or states it",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """One observation of a rule in a public source.

    `where` names the thread, test or page. `date` is a day or month. `of` names the models that were observed.
    """

    kind: WitnessKind
    where: str
    date: str
    of: str = ""

    def __str__(self) -> str:
        told = ", ".join(each for each in (self.date, self.of) if each)
        return f"{'' if self.kind == 'report' else f'{self.kind} '}{self.where}{f' ({told})' if told else ''}"


reported: Final = partial(Witness, "report")
"""Makes a Witness (evidence for a rule) from a report in a public thread."""

recorded: Final = partial(Witness, "recording")
"""Makes a Witness (evidence for a rule) from a recorded answer in a public repository."""

documented: Final = partial(Witness, "page")
"""Makes a Witness (evidence for a rule) from a page of AWS or from AWS's API model, as read on `date`."""

coded: Final = partial(Witness, "code")
"""Makes a Witness (evidence for a rule) from public source code."""


MULTIMODAL: Final = "pydantic-ai, test_multimodal_tool_returns"
"""The name of recorded tests that send many kinds of files to several models. The date of the recordings is unknown,
but it is not before the release of the newest of these models."""

PROBED: Final = coded("a probe of some 70 models", "2026-10-10")
"""A Witness (evidence for a rule): a public repository with the answers of about 70 models to test requests."""

CLIENTS_KNOW: Final = coded("several clients", "2026-11")
"""A Witness (evidence for a rule): facts about a model in the source code of several clients, read in November 2026."""


Verdict = Literal["refuse", "note", "ignored", "strict"]
"""How a request that breaks a rule is treated; `VERDICTS` describes each verdict."""

VERDICTS: Final[Mapping[Verdict, str]] = {
    "refuse": "Bedrock is known to refuse such requests, and these models accepted none of them later",
    "note": "Bedrock was seen to refuse such requests, but a newer witness contradicts this, or the date is unknown: "
    "they get a note",
    "ignored": "Bedrock ignores the part of the request that breaks the rule, so this part has no effect: they get "
    "a note",
    "strict": "such requests are refused at the strict level only",
}

NOTING: Final[tuple[Verdict, ...]] = ("note", "ignored")
"""The verdicts of the rules that never refuse a request."""


@dataclass(frozen=True, slots=True)
class Claude:
    """The versions of Claude to which a rule applies: from `since` (inclusive) to `before` (exclusive).

    >>> "anthropic.claude-sonnet-4-5-20250929-v1:0" in Claude(since=(4, 5))
    True
    >>> "anthropic.claude-3-7-sonnet-20250219-v1:0" in Claude(since=(4,)), "meta.llama4" in Claude()
    (False, False)
    """

    since: tuple[int, ...] = ()
    before: tuple[int, ...] = (1000,)

    def __str__(self) -> str:
        since = f" from {'.'.join(map(str, self.since))} on" if self.since else ""
        before = f" before {'.'.join(map(str, self.before))}" if self.before < (1000,) else ""
        return f"Claude{since}{' and' if since and before else ''}{before}"

    def __contains__(self, name: object) -> bool:
        found = _CLAUDE.match(str(name))
        return found is not None and self.since <= tuple(int(each) for each in found.groups() if each) < self.before


_CLAUDE: Final = re.compile(r"anthropic\.claude(?:-[a-z]+)*-v?([0-9]{1,2})(?:-([0-9]{1,2})(?![0-9]))?(?![0-9])")


@dataclass(frozen=True, slots=True)
class Models:
    """The models to which a rule is known to apply.

    A model is given as a glob of model ids without the region prefix, or as versions of Claude. `only` restricts the
    rule to the listed models. `but` lists exceptions, each with a witness, or with the reason as a text. `lacking`
    restricts the rule to the models that, by their row in the table of models, do not accept something; `disputed`, to
    those for which this is disputed.

    >>> "amazon.titan-text-lite-v1" in Models(lacking="tools"), "amazon.nova-lite-v1:0" in Models(lacking="tools")
    (True, False)
    """

    only: tuple[str | Claude, ...] = ()
    but: Mapping[str | Claude, Witness | str] = field(default_factory=dict[str | Claude, Witness | str])
    lacking: Topic | None = None
    disputed: Topic | None = None

    def __contains__(self, name: object) -> bool:
        if any(_is(str(name), each) for each in self.but):
            return False
        if self.only and not any(_is(str(name), each) for each in self.only):
            return False
        wanted = self.wanted
        return wanted is None or _ability(str(name), wanted[0]) == wanted[1]

    @property
    def wanted(self) -> tuple[Topic, Ability] | None:
        """The fact that a row must contain for the rule to apply to its models; None if the row does not matter."""
        if self.lacking is not None:
            return self.lacking, "no"
        return None if self.disputed is None else (self.disputed, "disputed")

    @property
    def are_some(self) -> bool:
        """Whether the rule applies to some models only."""
        return bool(self.only or self.but or self.wanted)

    @property
    def shown(self) -> tuple[str | Claude, ...]:
        """The models as globs or versions: `only`, or the rows of the table with the wanted fact."""
        if self.wanted is None:
            return self.only
        return tuple(model.ids for model in MODELS if model.example in self)


def _ability(name: str, topic: Topic) -> Ability:
    row = standing(name).model
    return "not known" if row is None else row.fact(topic).ability


def _is(name: str, model: str | Claude) -> bool:
    return fnmatchcase(name, model) if isinstance(model, str) else name in model


ALL_MODELS: Final = Models()


CONVERSING: Final = ("Converse", "ConverseStream")
"""The operations that ask a model for an answer."""

COUNTING: Final = ("CountTokens", "InvokeModel")
"""The operations of a rule about all calls of CountTokens; InvokeModel stands for those that count an InvokeModel body.
"""

ALL_OPERATIONS: Final = (*CONVERSING, *COUNTING)
"""The operations of a rule about all requests that the rules judge."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for requests.

    `what` is the condition that a request must meet; otherwise, Bedrock answers with `error` and `message`. (If the
    verdict is "ignored", Bedrock answers as if the broken part were absent, and `message` names this part.) `find`
    yields each RuleViolation, whose values replace the placeholders in `message`. `models` are the models to which the
    rule is known to apply. `witnesses` are the observations of the message, the oldest first; without a witness the
    wording is ours. `against` are observations of the same models that contradict the rule. `remark` contains other
    facts. The `verdict` is a person's conclusion from this evidence. `framed`: in a stream, the error is the first
    frame; otherwise it is an HTTP error. The rule applies to requests of `operations` (`RuleRequest.judged_as`).
    """

    name: str
    what: str
    message: str
    find: Finder
    witnesses: tuple[Witness, ...]
    models: Models = ALL_MODELS
    against: tuple[Witness, ...] = ()
    remark: str = ""
    verdict: Verdict = "refuse"
    error: str = "ValidationException"
    framed: bool = False
    operations: tuple[str, ...] = (*CONVERSING, "CountTokens")

    @property
    def source(self) -> str:
        """The rule's evidence in one line."""
        parts = [", ".join(map(str, self.witnesses)), self.remark]
        if self.against:
            parts.append(f"against it: {', '.join(map(str, self.against))}")
        return "; ".join(part for part in parts if part)


class Refusal(NamedTuple):
    """A rule that a request breaks, so that Bedrock refuses or may refuse the request.

    `path` is the first place in the request that breaks the rule. `message` is Bedrock's message. If `model.inferred`
    is true, `model` is the row of an older model of the same line.
    """

    rule: Rule
    path: str
    message: str
    model: Standing

    @property
    def inferred_from(self) -> str:
        """The name of the older model on which the rule was observed.

        The name is empty if the rule was observed on the requested model, and for rules that apply to all models.
        """
        model = self.model.model
        return model.name if model is not None and self.model.inferred and self.rule.models.are_some else ""
