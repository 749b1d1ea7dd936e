"""An agent as users write them: tools of an MCP server, a system prompt, and a history that grows with each call."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from benchmarks.floor import MODEL, exchanged, request_of
from converse_harness import Endpoint, Reply, reply
from converse_harness.intercept.fake import FakeCore

SYSTEM: Final = "You are an engineer who maintains a project. Look at the files before you change them. " * 6
FOUND: Final = "src/app/pages/travel.py:41: def book(self, city: str, nights: int = 1) -> Booking:\n" * 4
"""What a tool returns."""

_NUMBERS = count()
_SUBJECTS: Final = ("file", "issue", "branch", "commit", "review", "release", "label", "search")


def tools(number: int) -> dict[str, Any]:
    """A toolConfig with that many tools."""
    return {"tools": [{"toolSpec": _tool(each)} for each in range(number)]}


def tool_name(number: int) -> str:
    """The name of a tool."""
    return f"{_SUBJECTS[number % len(_SUBJECTS)]}_tool_{number:03d}"


def _tool(number: int) -> dict[str, Any]:
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    properties = {
        "owner": {"type": "string", "description": f"The owner of the repository with the {subject}."},
        "path": {"type": "string", "description": f"The path of the {subject}, from the root of the repository."},
        "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many results at most."},
        "labels": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": properties, "required": ["owner", "path"]}
    description = f"Find a {subject} of a repository, and return its text with its number, state and labels."
    return {"name": tool_name(number), "description": description, "inputSchema": {"json": schema}}


def step(turn: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The blocks of the answer to the call `turn` of an agent: a text and a use of a tool."""
    arguments = {"owner": "example", "path": f"src/{turn}.py", "limit": 5}
    text = f"Step {turn}: I look at the file first, and then I change what is wrong in it."
    return {"text": text}, {"toolUse": {"name": tool_name(turn % 20), "input": arguments}}


def uses_tool(turn: int) -> Reply:
    """The answer to the call `turn` of an agent, as a reply."""
    return reply.message(*step(turn))


class Conversation:
    """The messages of an agent, which sends them with the same tools in every call."""

    def __init__(self, number_of_tools: int) -> None:
        self._tools = tools(number_of_tools)
        self.messages: list[Any] = [_user({"text": f"Mend the test number {next(_NUMBERS)}, please."})]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the next call."""
        system = [{"text": SYSTEM}]
        return {"modelId": MODEL, "messages": list(self.messages), "system": system, "toolConfig": self._tools}

    def answered(self, message: dict[str, Any]) -> None:
        """Append an answer that uses a tool, and the result of the tool."""
        use = message["content"][-1]["toolUse"]
        result = {"toolUseId": use["toolUseId"], "content": [{"text": FOUND}], "status": "success"}
        self.messages += [message, _user({"toolResult": result})]

    def run(self, ask: Callable[[dict[str, Any]], dict[str, Any]], calls: int) -> None:
        """Make that many calls; `ask` returns the answer's message."""
        for _ in range(calls):
            self.answered(ask(self.arguments()))


def _user(block: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [block]}


def asked_in_process(endpoint: Endpoint | FakeCore) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Ask an endpoint without a client."""

    def ask(arguments: dict[str, Any]) -> dict[str, Any]:
        chunks = exchanged(endpoint, request_of(arguments, "converse"))
        message: dict[str, Any] = json.loads(b"".join(chunks))["output"]["message"]
        return message

    return ask
