"""What a rule is: whom it is held against, what it looks for, its words, and who saw them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock import Violation
from converse_harness.bedrock.findings import is_object

MODEL: Final = "The model returned the following errors: "
"""What stands before a message that is the model's own, not the gateway's."""

MULTIMODAL: Final = "recorded: pydantic-ai, test_multimodal_tool_returns"

PROBED: Final = "a probe of some 70 models on 2026-10-10, in public source code"


def no_field(name: str) -> str:
    """A model does not know a field.

    >>> no_field("status")
    "This model doesn't support the status field. Remove status and try again."
    """
    return f"This model doesn't support the {name} field. Remove {name} and try again."


def no_block(kind: str) -> str:
    """A model does not take a kind of content block."""
    said = f"This model doesn't support the {kind} content block that you provided."
    return f"{said} Update the content block and try again."


Block = tuple[int, int, Any]
"""A content block: the indexes of its message and in that, and what it holds."""


RuleLevel = Literal["off", "warn", "default", "strict"]
"""How strictly requests are held to the rules; `LEVELS` says it in words."""


LEVELS: Final[Mapping[RuleLevel, str]] = {
    "off": "answer whatever is asked",
    "warn": "answer as scripted, and warn of what Bedrock would refuse",
    "default": "refuse what Bedrock refuses of the model that is asked for",
    "strict": "refuse also model ids that Bedrock does not take, and what only old reports tell of",
}


@dataclass(frozen=True)
class RuleRequest:
    """What a request asks: its operation, the model id (decoded), and its body as AWS reads it, without nulls."""

    operation: str
    model_id: str
    body: Mapping[str, Any]

    @property
    def shape(self) -> str:
        """The name of the operation's input in AWS's model."""
        return str(bedrock.operation(self.operation).input_shape.name)

    @cached_property
    def violations(self) -> Sequence[Violation]:
        """What AWS's model says against the body. Looked for once: several rules are about it."""
        return bedrock.validate(self.shape, self.body, checks=bedrock.JSON_CHECKS)

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The conversation, blobs as base64."""
        found: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return found

    @property
    def tool_config(self) -> Mapping[str, Any]:
        """The toolConfig, empty where there is none."""
        found: Mapping[str, Any] = self.body.get("toolConfig", {})
        return found

    @property
    def thinking(self) -> Mapping[str, Any]:
        """How Claude is to think, empty where that is not said."""
        fields = self.body.get("additionalModelRequestFields")
        found = fields.get("thinking") if is_object(fields) else None
        return found if is_object(found) else {}

    def blocks(self, kind: str) -> Sequence[Block]:
        """The content blocks of a kind, in their order."""
        return self._blocks.get(kind, ())

    @cached_property
    def _blocks(self) -> Mapping[str, Sequence[Block]]:
        """Looked through once: most rules are about kinds that few requests have."""
        found: dict[str, list[Block]] = {}
        for n, message in enumerate(self.messages):
            for m, block in enumerate(message.get("content", ())):
                for kind, value in block.items():
                    found.setdefault(kind, []).append((n, m, value))
        return found


class RuleViolation(NamedTuple):
    """A place where a rule is broken: its path for people, and what the message of the rule says of it."""

    path: str
    values: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Claude:
    """The versions of Claude that a rule is known of: from `since` on, and `before` another one.

    >>> "us.anthropic.claude-sonnet-4-5-20250929-v1:0" in Claude(since=(4, 5))
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

    def __contains__(self, model_id: object) -> bool:
        found = _CLAUDE.match(bare(str(model_id)))
        return found is not None and self.since <= tuple(int(each) for each in found.groups() if each) < self.before


_CLAUDE: Final = re.compile(r"anthropic\.claude(?:-[a-z]+)*-v?([0-9]{1,2})(?:-([0-9]{1,2})(?![0-9]))?(?![0-9])")


@dataclass(frozen=True, slots=True)
class Models:
    """Of which models a rule is known to hold: globs of model ids without region, and versions of Claude.

    With `only`, of no others; of those in `but` it does not hold, as the sources in it say.
    """

    only: tuple[str | Claude, ...] = ()
    but: Mapping[str | Claude, str] = field(default_factory=dict[str | Claude, str])

    def __contains__(self, model_id: object) -> bool:
        name = bare(str(model_id))
        if any(_is(name, each) for each in self.but):
            return False
        return not self.only or any(_is(name, each) for each in self.only)


def _is(name: str, model: str | Claude) -> bool:
    return fnmatchcase(name, model) if isinstance(model, str) else name in model


_ALL: Final = Models()


def bare(model_id: str) -> str:
    """A model id without what says where it runs: the ARN around it, the region of an inference profile.

    >>> bare("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0")
    'amazon.nova-lite-v1:0'
    """
    name = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
    region, _, rest = name.partition(".")
    return rest if region in _REGIONS else name


_REGIONS: Final = frozenset({"apac", "au", "ca", "eu", "global", "jp", "sa", "us", "us-gov"})
"""The prefixes of inference profiles that lead to several regions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for requests: what must hold, and the message of Bedrock's ValidationException where it does not.

    `find` gives each breach; its values go into the braces of `message`. `source` says who saw the message, or that
    nobody did. `models` are those that it is known of; one that is `strict` is held against a request only at that
    level.
    """

    name: str
    what: str
    message: str
    find: Callable[[RuleRequest], Iterator[RuleViolation]]
    source: str
    models: Models = _ALL
    strict: bool = False


class Refusal(NamedTuple):
    """What Bedrock would refuse in a request: the rule that is broken, where, and Bedrock's words for it."""

    rule: Rule
    path: str
    message: str
