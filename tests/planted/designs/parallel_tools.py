"""An agent of coroutines over httpx: it runs its tools at the same time, and asks again by a decorator."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, ParamSpec, TypeVar
from urllib.parse import quote

import httpx
from botocore.eventstream import EventStreamBuffer

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall

P = ParamSpec("P")
R = TypeVar("R")
NOT_FINISHED = {
    "max_tokens",
    "model_context_window_exceeded",
    "malformed_model_output",
    "malformed_tool_use",
    "content_filtered",
    "guardrail_intervened",
}
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"


class AnswerBroke(Exception):
    """The answer did not come whole."""


class Throttled(Exception):
    """The service is busy."""


class OutOfTurns(Exception):
    """The model asks for tools without end."""


def again(times: int, *errors: type[Exception]) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Call a coroutine again after these errors."""

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for left in reversed(range(times)):
                try:
                    return await function(*args, **kwargs)
                except errors:
                    if not left:
                        raise
            raise AssertionError

        return wrapper

    return decorate


class Talk:
    """A conversation."""

    def __init__(self, request: dict[str, Any], tool: Callable[..., str], patience: float) -> None:
        self.path = f"/model/{quote(request.pop('modelId'))}/converse-stream"
        self.request = request
        self.messages: list[Any] = request.pop("messages")
        self.tool, self.patience = tool, patience
        self.ran: list[ToolCall] = []
        self.client = httpx.AsyncClient(base_url=HOST, timeout=patience, verify=False)

    async def answer(self) -> tuple[str, str]:
        said: list[str] = []
        for _ in range(6):
            content, reason = await self.one()
            parts = [part for block in content for part in block.get("citationsContent", {}).get("content", [block])]
            said += [part["text"] for part in parts if "text" in part]
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            uses = [use for use in uses if use.get("type") != "server_tool_use"]
            if not uses or reason in NOT_FINISHED:
                return "".join(said), reason
            results = await asyncio.gather(*map(self.run, uses))
            self.messages += [
                {"role": "assistant", "content": [each for each in content if each.get("text", "-").strip()]},
                {"role": "user", "content": [{"toolResult": each} for each in results]},
            ]
        raise OutOfTurns

    async def run(self, use: dict[str, Any]) -> dict[str, Any]:
        if use["name"] != "get_weather":
            return {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": "There is no such tool."}]}
        self.ran.append(ToolCall(use["name"], use["input"]))
        try:
            text = await asyncio.to_thread(self.tool, **use["input"])
        except Exception as error:  # noqa: BLE001 - a tool may raise anything
            return {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": str(error) or "error"}]}
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": text}]}

    @again(2, AnswerBroke, Throttled, httpx.TransportError)
    async def one(self) -> tuple[list[dict[str, Any]], str]:
        blocks: dict[int, dict[str, Any]] = {}
        closed: set[int] = set()
        reason: str | None = None
        async with self.client.stream("POST", self.path, json={**self.request, "messages": self.messages}) as response:
            if response.status_code != 200:
                await response.aread()
                kind = response.headers.get("x-amzn-errortype", "").split(":")[0]
                raise (Throttled if kind == "ThrottlingException" else AnswerBroke)(kind or response.text)
            buffer: Any = EventStreamBuffer()
            async for data in response.aiter_bytes():
                buffer.add_data(data)
                for frame in checked(buffer):
                    if frame.headers[":message-type"] != "event":
                        kind = frame.headers.get(":exception-type") or frame.headers.get(":error-code")
                        raise (Throttled if kind == "throttlingException" else AnswerBroke)(kind)
                    name, event = frame.headers[":event-type"], json.loads(frame.payload)
                    if name == "messageStop":
                        reason = event["stopReason"]
                    elif name.startswith("contentBlock"):
                        if reason or event.get("contentBlockIndex", -1) in (-1, *closed):
                            raise AnswerBroke(name)
                        if name == "contentBlockStop":
                            closed.add(event["contentBlockIndex"])
                        else:
                            grow(blocks.setdefault(event["contentBlockIndex"], {}), event)
        if reason is None or closed != {*blocks, *closed}:
            raise AnswerBroke("no end")
        return [block for block in map(finish, blocks.values()) if block], reason


def checked(buffer: Any) -> Any:
    """The frames; a damaged one is a broken answer."""
    try:
        yield from buffer
    except Exception as error:
        if isinstance(error, AnswerBroke | Throttled):
            raise
        raise AnswerBroke(repr(error)) from error


KINDS = {
    "text": "text",
    "citation": "text",
    "citations": "text",
    "toolUse": "tool",
    "toolResult": "result",
    "reasoningContent": "thought",
    "thought": "thought",
}
"""The kind of block to which a member belongs, of a delta or of a block that grows."""
STARTED = {"tool", "result"}


def grow(block: dict[str, Any], event: dict[str, Any]) -> None:
    if use := event.get("start", {}).get("toolUse"):
        if block:
            raise AnswerBroke("a block begins twice")
        block["toolUse"] = {**use, "input": ""}
    if result := event.get("start", {}).get("toolResult"):
        block["toolResult"] = {**result, "content": []}
    delta = event.get("delta", {})
    kinds = {KINDS[name] for name in (*delta, *block) if name in KINDS}
    if len(kinds) > 1 or (kinds & STARTED and not block):
        raise AnswerBroke("a delta of another block")
    for name, value in delta.items():
        if name == "text":
            block["text"] = block.get("text", "") + value
        elif name == "toolUse":
            block["toolUse"]["input"] += value["input"]
        elif name == "citation":
            block.setdefault("citations", []).append(value)
        elif name == "toolResult":
            block["toolResult"]["content"] += value
        elif name == "reasoningContent":
            thought = block.setdefault("thought", {})
            for part, piece in value.items():
                thought[part] = thought.get(part, "") + piece if part == "text" else piece


def finish(block: dict[str, Any]) -> dict[str, Any]:
    """The block as it is sent back."""
    if "toolUse" in block:
        try:
            given = json.loads(block["toolUse"]["input"] or "{}")
        except ValueError as error:
            raise AnswerBroke("an input that is no JSON") from error
        return {"toolUse": {**block["toolUse"], "input": given}}
    if "toolResult" in block:
        return {"toolResult": block["toolResult"]}
    if "citations" in block:
        said = [{"text": block["text"]}] if "text" in block else []
        return {"citationsContent": {"citations": block["citations"], "content": said}}
    if thought := block.get("thought"):
        if "redactedContent" in thought:
            return {"reasoningContent": {"redactedContent": thought["redactedContent"]}}
        return {"reasoningContent": {"reasoningText": {"text": "", **thought}}}
    return {"text": block["text"]} if "text" in block else {}


class ParallelTools(ConsumerContract):
    """An agent of coroutines."""

    transport = "httpx"
    errors: ClassVar = {Throttled: "ThrottlingException"}

    async def consume(self, target: Target) -> Outcome:
        talk = Talk({**target.request}, target.tool, target.patience)
        try:
            text, reason = await talk.answer()
        except Exception as error:  # noqa: BLE001 - the tools that ran before it belong to the outcome
            return Outcome("", talk.ran, error=error)
        finally:
            await talk.client.aclose()
        return Outcome(text, talk.ran, reason)
