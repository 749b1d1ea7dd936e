"""What a rule is: the models that it applies to, its finder and message, and how it is known: witnesses, verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Final, Literal, NamedTuple

from converse_harness.bedrock.models import Standing
from converse_harness.bedrock.rules.asked import Finder

MODEL: Final = "The model returned the following errors: "
"""What stands before a message that is the model's own, not the gateway's."""


def no_field(name: str) -> str:
    """The message for a field that a model does not support.

    >>> no_field("status")
    "This model doesn't support the status field. Remove status and try again."
    """
    return f"This model doesn't support the {name} field. Remove {name} and try again."


def no_block(kind: str) -> str:
    """The message for a kind of content block that a model does not accept."""
    said = f"This model doesn't support the {kind} content block that you provided."
    return f"{said} Update the content block and try again."


WitnessKind = Literal["recording", "report", "page", "code"]
"""What saw a message; `WITNESS_KINDS` says it in words."""

WITNESS_KINDS: Final[Mapping[WitnessKind, str]] = {
    "recording": "an answer of the service that a public repository keeps",
    "report": "a public thread",
    "page": "AWS's page or AWS's model of the API; the date is when it was read",
    "code": "public source code that tried it, or says so",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """One observation of a rule: `where` is a thread, test or page, `date` a day or month, `of` the models observed."""

    kind: WitnessKind
    where: str
    date: str
    of: str = ""

    def __str__(self) -> str:
        told = ", ".join(each for each in (self.date, self.of) if each)
        return f"{'' if self.kind == 'report' else f'{self.kind} '}{self.where}{f' ({told})' if told else ''}"


reported: Final = partial(Witness, "report")
"""A report in a public thread."""

recorded: Final = partial(Witness, "recording")
"""A recorded answer in a public repository."""

documented: Final = partial(Witness, "page")
"""AWS's page or model, as read on that date."""

coded: Final = partial(Witness, "code")
"""The source code of a public client."""


MULTIMODAL: Final = "pydantic-ai, test_multimodal_tool_returns"
"""The recorded tests that show many kinds of files to several models. They are not older than the youngest of these."""

PROBED: Final = coded("a probe of some 70 models", "2026-10-10")
"""What a public repository's own probe of all models found."""

CLIENTS_KNOW: Final = coded("several clients", "2026-11")
"""What the source code of several clients says of a model, as read in that month."""


Verdict = Literal["refuse", "note", "strict"]
"""What becomes of a request that breaks a rule; `VERDICTS` says it in words."""

VERDICTS: Final[Mapping[Verdict, str]] = {
    "refuse": "Bedrock is known to refuse it, and nothing newer was accepted of these models",
    "note": "Bedrock was seen to refuse it, but something newer speaks against that, or nobody knows when: it is noted",
    "strict": "it is refused at the strict level only",
}


RuleLevel = Literal["off", "warn", "default", "strict"]
"""How strictly requests are held to the rules; `LEVELS` says it in words."""


LEVELS: Final[Mapping[RuleLevel, str]] = {
    "off": "answer whatever is asked",
    "warn": "answer as scripted, and note what Bedrock would refuse",
    "default": "refuse what Bedrock refuses of the model that is asked for",
    "strict": "refuse also model ids that Bedrock does not take",
}


@dataclass(frozen=True, slots=True)
class Claude:
    """The versions of Claude to which a rule applies: from `since` on, and `before` another version.

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
    """The models to which a rule is known to apply: globs of model ids without region, and versions of Claude.

    `only` restricts the rule to these models. `but` lists exceptions, each with the witness or the other rule that
    excludes it.
    """

    only: tuple[str | Claude, ...] = ()
    but: Mapping[str | Claude, Witness | str] = field(default_factory=dict[str | Claude, Witness | str])

    def __contains__(self, name: object) -> bool:
        if any(_is(str(name), each) for each in self.but):
            return False
        return not self.only or any(_is(str(name), each) for each in self.only)

    @property
    def are_some(self) -> bool:
        """Whether the rule applies to some models only."""
        return bool(self.only or self.but)


def _is(name: str, model: str | Claude) -> bool:
    return fnmatchcase(name, model) if isinstance(model, str) else name in model


ALL_MODELS: Final = Models()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for requests: `what` must hold, and the `message` and `error` that Bedrock answers otherwise.

    `find` yields each breach; its values fill the braces of `message`. `models` are the models to which the rule is
    known to apply. `witnesses` observed the message, the oldest first; without a witness the wording is ours. `against`
    are observations of the same models that contradict the rule; `remark` is any further knowledge. People derived the
    `verdict` from them. With `framed`, a stream reports the refusal in its first frame and not as an HTTP error.
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

    @property
    def source(self) -> str:
        """The rule's evidence in one line."""
        parts = [", ".join(map(str, self.witnesses)), self.remark]
        if self.against:
            parts.append(f"against it: {', '.join(map(str, self.against))}")
        return "; ".join(part for part in parts if part)


class Refusal(NamedTuple):
    """A breach for which Bedrock refuses a request, or may: the broken rule, the path, Bedrock's message, the model.

    If `model` is `inferred`, the rule was observed on an older model of the same line.
    """

    rule: Rule
    path: str
    message: str
    model: Standing

    @property
    def inferred_from(self) -> str:
        """The model from which the rule was inferred; empty if the rule was observed on the request's own model."""
        model = self.model.model
        return model.name if model is not None and self.model.inferred and self.rule.models.are_some else ""
