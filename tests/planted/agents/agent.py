"""A right agent over boto3, as people write it: tools, thinking, a prompt cache, a guardrail, retries, memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, EventStreamError
from urllib3.exceptions import HTTPError

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SYSTEM = "You answer questions about the weather. " * 100
WHOLE = ("end_turn", "stop_sequence", "tool_use")
UNFINISHED = (
    "max_tokens",
    "content_filtered",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
)


class AgentError(Exception):
    """The agent has no answer."""


class BrokenAnswer(AgentError):
    """An answer broke off, or its stream broke its order."""


class Unfinished(AgentError):
    """The model could not finish its answer."""


class Blocked(AgentError):
    """A guardrail blocked the question or the answer."""


class Busy(AgentError):
    """The service is busy, also after several tries."""


class TooLong(AgentError):
    """The conversation is too long for the model."""


class TooManyTurns(AgentError):
    """The model asks for tools again and again."""


@dataclass
class Answer:
    """One answer of the model, as it was read from a stream."""

    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    trace: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks as they go back into the next request."""
        return [finished(block) for block in self.blocks.values() if not is_blank(block)]

    @property
    def text(self) -> str:
        """All text, also that of citations."""
        return "".join(block.get("text", "") for block in self.blocks.values())

    @property
    def citations(self) -> list[dict[str, Any]]:
        """All citations."""
        return [each for block in self.blocks.values() for each in block.get("citations", [])]

    @property
    def uses(self) -> list[dict[str, Any]]:
        """The tool uses that the agent has to run."""
        uses = [block["toolUse"] for block in self.content if "toolUse" in block]
        return [use for use in uses if use.get("type") != "server_tool_use"]

    @property
    def is_masked(self) -> bool:
        """Whether a guardrail only masked parts of the text."""
        shown = json.dumps(self.trace, default=str)
        return '"ANONYMIZED"' in shown and '"BLOCKED"' not in shown


def is_blank(block: Mapping[str, Any]) -> bool:
    """Whether a block is a text with nothing in it, which Claude refuses in the next request, or of a kind to come."""
    return not block or (set(block) == {"text"} and not block["text"].strip())


def finished(block: dict[str, Any]) -> dict[str, Any]:
    """The block of a message."""
    if "toolUse" in block:
        try:
            given = json.loads(block["input"] or "{}")
        except ValueError as error:
            raise BrokenAnswer("the input of a tool is no JSON") from error
        return {"toolUse": {**block["toolUse"], "input": given}}
    if "citations" in block:
        said = {"content": [{"text": block["text"]}]} if "text" in block else {}
        return {"citationsContent": {"citations": block["citations"], **said}}
    if "redacted" in block:
        return {"reasoningContent": {"redactedContent": block["redacted"]}}
    if "thought" in block:
        signed = {"signature": block["signature"]} if "signature" in block else {}
        return {"reasoningContent": {"reasoningText": {"text": block["thought"], **signed}}}
    return {name: block[name] for name in ("text", "toolResult", "image") if name in block}


def read(stream: Iterator[Any], answer: Answer) -> None:
    """Read one stream into an answer; raise BrokenAnswer if it breaks off."""
    ended: set[int] = set()
    for event in stream:
        ((kind, member),) = event.items()
        if kind == "messageStop":
            answer.stop_reason = member["stopReason"]
        elif kind == "metadata":
            answer.usage, answer.trace = member["usage"], member.get("trace", {})
        elif kind.startswith("contentBlock"):
            index = member.get("contentBlockIndex")
            if index is None or index in ended or answer.stop_reason is not None:
                raise BrokenAnswer(f"a {kind} that belongs to no block")
            if kind == "contentBlockStop":
                ended.add(index)
            else:
                take(answer.blocks.setdefault(index, {}), member.get("start", {}), member.get("delta", {}))
    if answer.stop_reason is None or set(answer.blocks) - ended:
        raise BrokenAnswer("the answer has no end")


def take(block: dict[str, Any], start: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a start or a delta to its block."""
    if start and block:
        raise BrokenAnswer("a block begins twice")
    if "toolUse" in start:
        block.update(toolUse=start["toolUse"], input="")
    if "toolResult" in start:
        block.update(toolResult={**start["toolResult"], "content": []})
    if "image" in start:
        block.update(image={"format": start["image"]["format"], "source": {}})
    if ("toolUse" in delta) != ("input" in block and bool(delta)) or ("toolResult" in delta and not block):
        raise BrokenAnswer("a delta of another block")
    for name, value in delta.items():
        if name in KINDS:
            KINDS[name](block, value)


def take_thought(block: dict[str, Any], reasoning: Mapping[str, Any]) -> None:
    """Add a delta of reasoning to its block."""
    if "text" in reasoning or "signature" in reasoning:
        block["thought"] = block.get("thought", "") + reasoning.get("text", "")
    if "signature" in reasoning:
        block["signature"] = reasoning["signature"]
    if "redactedContent" in reasoning:
        block["redacted"] = reasoning["redactedContent"]


KINDS: dict[str, Callable[[dict[str, Any], Any], object]] = {
    "text": lambda block, text: block.update(text=block.get("text", "") + text),
    "toolUse": lambda block, use: block.update(input=block["input"] + use["input"]),
    "citation": lambda block, citation: block.setdefault("citations", []).append(citation),
    "toolResult": lambda block, content: block["toolResult"]["content"].extend(content),
    "image": lambda block, image: block["image"].update(source=image.get("source", {})),
    "reasoningContent": take_thought,
}
"""What to do with each member of a delta."""


class Agent:
    """Answers questions; `tools` maps the name of each tool to its specification and its function."""

    def __init__(
        self,
        client: Any,
        tools: Mapping[str, tuple[dict[str, Any], Callable[..., str]]],
        guardrail: Mapping[str, str] | None = None,
        thinking: bool = False,
        max_turns: int = 8,
        max_tries: int = 3,
    ) -> None:
        self.client, self.tools = client, tools
        self.guardrail, self.thinking = guardrail, thinking
        self.max_turns, self.max_tries = max_turns, max_tries
        self.messages: list[dict[str, Any]] = []
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def ask(self, question: str) -> Answer:
        """Ask a question in the conversation. After an error, the conversation is as it was before."""
        before, self.ran = [*self.messages], []
        self.messages.append({"role": "user", "content": [{"text": question}]})
        try:
            return self.turns()
        except Exception:
            self.messages = before
            raise

    def turns(self) -> Answer:
        """Ask the model, and run its tools, until it asks for no tool."""
        turn = 0
        while turn < self.max_turns:
            turn += 1
            answer = self.answered()
            self.messages.append({"role": "assistant", "content": answer.content})
            if not answer.uses:
                if not answer.content:
                    self.messages.pop()
                return answer
            results = [self.run(use) for use in answer.uses]
            self.messages.append({"role": "user", "content": results})
        raise TooManyTurns(f"{turn} turns")

    def answered(self) -> Answer:
        """Ask the model once, and again if it is busy or the answer breaks off."""
        for attempt in range(1, self.max_tries + 1):
            answer = Answer()
            try:
                read(self.client.converse_stream(**self.request())["stream"], answer)
            except (ClientError, EventStreamError) as error:
                details = error.response["Error"]
                if "too long" in details.get("Message", "").lower():
                    raise TooLong(details["Message"]) from error
                if details["Code"].lower() == "throttlingexception" and attempt == self.max_tries:
                    raise Busy(details["Message"]) from error
                if details["Code"].lower() != "throttlingexception":
                    raise
            except (BrokenAnswer, BotoCoreError, HTTPError) as error:
                if attempt == self.max_tries:
                    raise BrokenAnswer(str(error)) from error
            else:
                return self.checked(answer)
        raise BrokenAnswer("no try is left")

    def checked(self, answer: Answer) -> Answer:
        """Raise an error for an answer that is none of the model's, or that is not finished."""
        if answer.stop_reason == "guardrail_intervened" and not answer.is_masked:
            raise Blocked(answer.text)
        if answer.stop_reason in UNFINISHED:
            raise Unfinished(str(answer.stop_reason))
        return answer

    def request(self) -> dict[str, Any]:
        """The arguments of converse_stream."""
        request: dict[str, Any] = {
            "modelId": MODEL,
            "system": [{"text": SYSTEM}, {"cachePoint": {"type": "default"}}],
            "messages": self.messages,
            "inferenceConfig": {"maxTokens": 8000},
        }
        if self.tools:
            request["toolConfig"] = {"tools": [{"toolSpec": spec} for spec, _ in self.tools.values()]}
        if self.guardrail:
            request["guardrailConfig"] = {**self.guardrail, "trace": "enabled"}
        if self.thinking:
            request["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
        return request

    def run(self, use: dict[str, Any]) -> dict[str, Any]:
        """Run a tool, and return its result for the model."""
        result: dict[str, Any] = {"toolUseId": use["toolUseId"]}
        try:
            _, function = self.tools[use["name"]]
        except KeyError:
            return {"toolResult": {**result, "status": "error", "content": [{"text": f"no tool {use['name']}"}]}}
        self.ran.append((use["name"], use["input"]))
        try:
            text = function(**use["input"])
        except Exception as error:  # noqa: BLE001 - a tool may raise anything
            return {"toolResult": {**result, "status": "error", "content": [{"text": repr(error)}]}}
        return {"toolResult": {**result, "content": [{"text": text}]}}
