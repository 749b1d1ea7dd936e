"""Shows deltas as they come, leaves the stream at messageStop, and asks again, for what it has shown is withdrawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, EventStreamError
from urllib3.exceptions import HTTPError

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall


class NotWhole(Exception):
    """The answer broke off."""


@dataclass(frozen=True)
class Shown:
    """A piece of text for the screen."""

    text: str


@dataclass(frozen=True)
class Called:
    """A tool that the model asks for."""

    name: str
    written: str


@dataclass(frozen=True)
class Withdrawn:
    """Nothing that was shown before counts."""


@dataclass(frozen=True)
class Ended:
    """The reason why the model stopped."""

    reason: str


Signal = Shown | Called | Withdrawn | Ended


def signals(client: Any, request: dict[str, Any]) -> Iterator[Signal]:
    for left in (2, 1, 0):
        try:
            yield from attempt(client, request)
        except (NotWhole, EventStreamError, BotoCoreError, HTTPError):
            if not left:
                raise
            yield Withdrawn()
        else:
            return


def attempt(client: Any, request: dict[str, Any]) -> Iterator[Signal]:
    place = Place()
    for event in client.converse_stream(**request)["stream"]:
        ((name, member),) = event.items()
        if name == "messageStop":
            if place.current is not None:
                raise NotWhole("the last block has no end")
            yield Ended(member["stopReason"])
            return
        if name in STEPS:
            yield from STEPS[name](place, member.get("contentBlockIndex"), member)
    raise NotWhole("no messageStop")


class Place:
    """Where the stream is: in the block `current`, or behind the block `ended`."""

    def __init__(self) -> None:
        self.current: int | None = None
        self.ended = -1
        self.tool: dict[str, Any] | None = None
        self.written = ""

    def enter(self, index: int | None, tool: dict[str, Any] | None) -> None:
        if index is None or self.current is not None or index <= self.ended:
            raise NotWhole(f"block {index} begins")
        self.current, self.tool, self.written = index, tool, ""

    def start(self, index: int | None, member: dict[str, Any]) -> Iterator[Signal]:
        self.enter(index, member["start"].get("toolUse"))
        return iter(())

    def delta(self, index: int | None, member: dict[str, Any]) -> Iterator[Signal]:
        if self.current is None:
            self.enter(index, None)
        delta = member["delta"]
        if index != self.current or ("toolUse" in delta) != (self.tool is not None):
            raise NotWhole("a delta of another block")
        self.written += delta.get("toolUse", {}).get("input", "")
        if "text" in delta:
            yield Shown(delta["text"])

    def stop(self, index: int | None, _: dict[str, Any]) -> Iterator[Signal]:
        if self.current is None:
            self.enter(index, None)
        if index is None or index != self.current:
            raise NotWhole("two blocks at the same time")
        if self.tool and self.tool.get("type") != "server_tool_use":
            yield Called(self.tool["name"], self.written or "{}")
        self.current, self.ended = None, index


STEPS = {"contentBlockStart": Place.start, "contentBlockDelta": Place.delta, "contentBlockStop": Place.stop}


class LeavesEarly(ConsumerContract):
    """A user interface."""

    def consume(self, target: Target) -> Outcome:
        text: list[str] = []
        calls: list[ToolCall] = []
        reason: str | None = None
        for signal in signals(target.client, dict(target.request)):
            match signal:
                case Shown(piece):
                    text.append(piece)
                case Called(name, written):
                    calls.append(ToolCall(name, written))
                case Withdrawn():
                    text, calls = [], []
                case Ended(last):
                    reason = last
        for call in calls:
            try:
                json.loads(str(call.input))
            except ValueError as error:
                raise NotWhole("an input that is no JSON") from error
        return Outcome("".join(text), calls, reason)
