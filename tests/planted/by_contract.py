"""Which planted bug the contract finds, and with what: `python -m tests.planted.by_contract [NAME ...]`."""

from __future__ import annotations

import argparse
import atexit
import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final
from urllib.parse import quote

import httpx
from botocore.eventstream import EventStreamBuffer

from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall, VerdictLevel
from converse_harness.contract.failure_texts import Tried
from converse_harness.contract.properties import PROPERTIES, PropertyDraw
from converse_harness.contract.trying import attempt, opened
from converse_harness.reply.reply import Reply
from converse_harness.server.listener import ConverseServer
from tests.planted.answers import Answer, Event
from tests.planted.bugs import BUGS, Bug, Read
from tests.planted.mended import mended

NOT_SHOWN: Final[Mapping[str, str]] = {
    "stop_reason_unknown": "an answer that was cut short may be refused, and this reason is of such an answer",
    "additional_empty": "additional fields that are empty are the same in an Outcome as none",
    "empty_text": "an empty text is to be left out of what is sent back, and is nothing in what is shown",
}
"""Bugs that an Outcome cannot show, each with the reason."""


class Failed(Exception):
    """The HTTP status is an error."""


_CLIENT: Final = httpx.Client(verify=False)


def events_of(target: Target) -> Iterator[Event]:
    """Send the question over httpx, and read the frames as AWS writes them, with members that botocore drops."""
    request = dict(target.request)
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{quote(request.pop('modelId'))}/converse-stream"
    buffer: Any = EventStreamBuffer()
    with _CLIENT.stream("POST", url, json=request, timeout=target.patience) as answer:
        if not answer.is_success:
            raise Failed(answer.headers.get("x-amzn-errortype", answer.status_code))
        for chunk in answer.iter_bytes():
            buffer.add_data(chunk)
            for frame in buffer:
                if frame.headers[":message-type"] == "error":
                    raise Failed(frame.headers[":error-code"])
                name = frame.headers.get(":event-type") or frame.headers[":exception-type"]
                members = json.loads(frame.payload)
                members.pop("p", None)
                yield {name: _decoded(members)}


def _decoded(members: dict[str, Any]) -> dict[str, Any]:
    """Make bytes of what AWS sends as base64."""
    delta = members.get("delta", {})
    for holder, name in ((delta.get("reasoningContent"), "redactedContent"), (_source(delta), "bytes")):
        if holder and name in holder:
            holder[name] = base64.b64decode(holder[name])
    return members


def _source(delta: Mapping[str, Any]) -> Any:
    return delta.get("image", {}).get("source")


def outcome_of(answer: Answer) -> Outcome:
    """The places of an Outcome that these consumers fill: all of them, by the blocks of the message."""
    text = ""
    calls: list[ToolCall] = []
    for block in answer.message["content"]:
        text += block.get("text", "")
        text += "".join(part["text"] for part in block.get("citationsContent", {}).get("content", ()))
        use = block.get("toolUse")
        if use and use.get("type") != "server_tool_use":
            calls.append(ToolCall(use["name"], use["input"] if isinstance(use["input"], dict) else str(use["input"])))
    return Outcome(
        text,
        calls,
        answer.stop_reason,
        usage=answer.usage or {},
        trace=answer.trace or {},
        additional={} if answer.additional is None else answer.additional,
        content=[block for block in answer.message["content"] if block.get("text", "-").strip()],
    )


def contract_class(read: Read) -> type[ConsumerContract]:
    """The contract of a consumer of events, at its default settings."""

    class Planted(ConsumerContract):
        transport = "httpx"

        def consume(self, target: Target) -> Outcome:
            return outcome_of(read(events_of(target)))

    return Planted


def contract_of(read: Read, *, seed: int = 0, examples: int = ConsumerContract.examples) -> ConsumerContract:
    """The contract of a consumer of events, with other draws."""
    planted = contract_class(read)
    planted.seed, planted.examples = seed, examples
    return planted()


@cache
def _server() -> ConverseServer:
    """The server of the process, for consumers that have a URL."""
    server = ConverseServer().start()
    atexit.register(server.stop)
    return server


class _Found(Exception):
    """An answer is not handled."""


def accusations(contract: ConsumerContract, *names: str, first: bool = False) -> Iterator[tuple[str, Tried]]:
    """The cases and properties whose tests fail, or the first of them alone; all are tried if none is named."""
    chosen = names or [*contract.cases(), *PROPERTIES]
    for name in chosen:
        tried = _of_property(contract, name) if name in PROPERTIES else _try(contract, name, CASES[name].replies)
        if tried is not None and tried.seen.verdict.level is not VerdictLevel.HANDLED:
            yield name, tried
            if first:
                return


def _try(contract: ConsumerContract, name: str, replies: Sequence[Reply]) -> Tried:
    return attempt(contract, name, replies, opened(contract.transport, replies, _server))


def _of_property(contract: ConsumerContract, name: str) -> Tried | None:
    worst: Tried | None = None

    def put(replies: Sequence[Reply]) -> None:
        nonlocal worst
        tried = _try(contract, name, replies)
        if tried.seen.verdict.level is not VerdictLevel.HANDLED:
            worst = tried
            raise _Found

    try:
        PROPERTIES[name].check(put, PropertyDraw.of(contract, "planted"), shrink=False)
    except _Found:
        return worst
    return None


PROPERTIES_FIRST: Final = ("any_answer", "any_extreme", "any_fault", "any_failure", "any_second_try")


def found_by(bug: Bug, *, seed: int = 0) -> str:
    """The first property or case that finds a bug: the properties are asked first, since they are fewer."""
    contract = contract_of(mended(bug.consumer, bug), seed=seed)
    cases = [name for name in contract.cases() if name not in ("stall", "read_timeout", "connect_timeout")]
    return next((name for name, _ in accusations(contract, *PROPERTIES_FIRST, *cases, first=True)), "")


def main() -> None:
    """Print a row for each bug: with how many of the seeds it was found, and by what."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted.by_contract", description=__doc__)
    parser.add_argument("names", nargs="*", help="the bugs (all)")
    parser.add_argument("--seeds", type=int, default=1, help="how often each search is made (1)")
    arguments = parser.parse_args()
    print("| consumer | bug | contract | of |\n|---|---|---|---|")
    most = 0
    for bug in BUGS:
        if not arguments.names or bug.name in arguments.names:
            found = [found_by(bug, seed=seed) for seed in range(arguments.seeds)]
            by = ", ".join(dict.fromkeys(f"`{name}`" for name in found if name)) or NOT_SHOWN.get(bug.name, "-")
            count = sum(map(bool, found))
            most += count * 2 > arguments.seeds
            print(f"| {bug.consumer} | `{bug.name}` | {by} | {count} of {arguments.seeds} |", flush=True)
    print(f"| all | | | {most} of {len(BUGS)} |")


if __name__ == "__main__":
    main()
