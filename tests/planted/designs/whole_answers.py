"""An agent that keeps AWS's own messages: Converse, tools, a memory, and a reason for each answer that is none."""

from __future__ import annotations

from typing import Any, ClassVar

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall

STOPPED = (
    "max_tokens",
    "model_context_window_exceeded",
    "malformed_model_output",
    "malformed_tool_use",
    "content_filtered",
)


class Nothing(Exception):
    """There is no answer in it."""


class Stopped(Exception):
    """The model was stopped."""


class Blocked(Exception):
    """A guardrail blocked."""


class Overflowed(Exception):
    """The conversation is too long."""


class Endless(Exception):
    """Tools and tools."""


class Conversation:
    """A conversation of one model."""

    def __init__(self, client: Any, tool: Any) -> None:
        self.client, self.tool = client, tool
        self.history: list[dict[str, Any]] = []
        self.ran: list[ToolCall] = []

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        turn = [*request.pop("messages")]
        said: list[str] = []
        self.ran = []
        for _ in range(5):
            answer = self.once(turn, request)
            message = answer["output"]["message"]
            content = [block for block in message["content"] if block.get("text", "-").strip()]
            parts = [part for block in content for part in block.get("citationsContent", {}).get("content", [block])]
            said += [part["text"] for part in parts if part.get("text", "").strip()]
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            results = [self.result(use) for use in uses if use.get("type") != "server_tool_use"]
            if content:
                turn.append({**message, "content": content})
            if not results:
                self.history += turn if content else turn[:-1] if len(turn) > 1 else []
                return {**answer, "text": "\n".join(said), "kept": content}
            turn.append({"role": "user", "content": results})
        raise Endless

    def once(self, turn: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self.client.converse(messages=[*self.history, *turn], **request)
        except ClientError as error:
            if "too long" in error.response["Error"].get("Message", "").lower():
                raise Overflowed(str(error)) from error
            raise
        except (UnicodeDecodeError, BotoCoreError, HTTPError) as error:
            raise Nothing(repr(error)) from error
        if not answer.get("output", {}).get("message"):
            raise Nothing(str(answer)[:80])
        if answer["stopReason"] == "guardrail_intervened" and "ANONYMIZED" not in str(answer.get("trace")):
            raise Blocked
        if answer["stopReason"] in STOPPED:
            raise Stopped(answer["stopReason"])
        return dict(answer)

    def result(self, use: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"toolUseId": use["toolUseId"]}
        if use["name"] == "get_weather":
            self.ran.append(ToolCall(use["name"], use["input"]))
            try:
                return {"toolResult": {**result, "content": [{"json": {"said": self.tool(**use["input"])}}]}}
            except Exception as error:  # noqa: BLE001 - a tool may raise anything
                return {"toolResult": {**result, "status": "error", "content": [{"text": repr(error)}]}}
        return {"toolResult": {**result, "status": "error", "content": [{"text": "not here"}]}}


class WholeAnswers(ConsumerContract):
    """An agent with a memory."""

    operation = "Converse"
    errors: ClassVar = {
        Blocked: ["GuardrailIntervened"],
        Overflowed: ["ContextOverflow"],
        "Endless": [],
    }

    def consume(self, target: Target) -> Outcome:
        self.talk = Conversation(target.client, target.tool)
        return self.consume_next(target)

    def consume_next(self, target: Target) -> Outcome:
        try:
            answer = self.talk.ask({**target.request})
        except Exception as error:  # noqa: BLE001 - the tools that ran before it belong to the outcome
            return Outcome("", self.talk.ran, error=error)
        return Outcome(
            answer["text"],
            self.talk.ran,
            answer["stopReason"],
            content=answer["kept"],
            usage=answer["usage"],
            trace=answer.get("trace", {}),
            additional=answer.get("additionalModelResponseFields", {}),
        )
