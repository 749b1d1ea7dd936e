"""What is learned from threads of users: a consumer with the bug, the same one mended, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boto3
from botocore.config import Config

from converse_harness import RefusedRequest
from converse_harness.bedrock.rules import BY_NAME
from converse_harness.contract import Outcome, Target

HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"


@dataclass(frozen=True, slots=True)
class ContractLesson:
    """A consumer of answers that the contract judges: `consume(target, mended=...)`.

    `flaws` has the cases that the bug mishandles, each with its flaw; the mended one handles them. `settings` are
    those of the contract; `slow` says that it really waits.
    """

    consume: Callable[..., Outcome]
    flaws: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    slow: bool = False

    def consumer(self, *, mended: bool) -> Callable[[Target], Outcome]:
        """The adapter of a contract."""
        return partial(self.consume, mended=mended)

    @property
    def shown_by(self) -> frozenset[str]:
        """The names of what shows the bug."""
        return frozenset(self.flaws)


@dataclass(frozen=True, slots=True)
class ScriptLesson:
    """A consumer, called with `mended=...`, and a test of it as its users would write it: `test(consumer)`.

    `by` names what shows the bug: a rule, a case or a helper. A broken rule fails the test by its name; else it fails
    with `fails`, which says what `says` matches.
    """

    code: Callable[..., Any]
    test: Callable[[Callable[..., Any]], None]
    by: str
    says: str = ""
    fails: type[BaseException] = AssertionError

    def consumer(self, *, mended: bool) -> Callable[..., Any]:
        """The consumer, mended or with its bug."""
        return partial(self.code, mended=mended)

    @property
    def failure(self) -> tuple[type[BaseException], str]:
        """How the test fails for the bug: the error, and what its message matches."""
        return (
            (RefusedRequest, rf"\brule +{self.by}\b")
            if not self.says and self.by in BY_NAME
            else (self.fails, self.says)
        )

    @property
    def shown_by(self) -> frozenset[str]:
        """The names of what shows the bug."""
        return frozenset({self.by})


Lesson = ContractLesson | ScriptLesson
Lessons = Mapping[str, Lesson]
"""Lessons by the cause of the trouble, a few words."""


def bedrock(endpoint_url: str | None = None, **config: Any) -> Any:
    """A client as anybody makes one."""
    sdk: Any = boto3  # it has no types
    return sdk.client("bedrock-runtime", region_name="us-east-1", endpoint_url=endpoint_url, config=Config(**config))


def user(*content: str | Mapping[str, Any]) -> dict[str, Any]:
    """A message of the user: texts, and blocks as they are."""
    return {"role": "user", "content": [_block(each) for each in content]}


def assistant(*content: str | Mapping[str, Any]) -> dict[str, Any]:
    """A message of the model."""
    return {**user(*content), "role": "assistant"}


def tool_spec(name: str, **schema: Any) -> dict[str, Any]:
    """A tool that is offered."""
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema or {"type": "object"}}}}


def tool_use(name: str, use_id: str = "tooluse_1", **given: Any) -> dict[str, Any]:
    """A block in which the model uses a tool."""
    return {"toolUse": {"toolUseId": use_id, "name": name, "input": given}}


def tool_result(text: str, use_id: str = "tooluse_1", status: str = "success") -> dict[str, Any]:
    """A block with what a tool gave."""
    content = [{"text": text}] if text else []
    return {"toolResult": {"toolUseId": use_id, "status": status, "content": content}}


def _block(content: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"text": content} if isinstance(content, str) else content
