"""A consumer of async generators: a feeder fills a queue, one generator splits blocks, another one finishes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from tests.planted.answers import Answer, Event, Unreadable

Block = tuple[dict[str, Any], list[dict[str, Any]]]


async def _feed(events: Iterable[Event], queue: asyncio.Queue[Event | None]) -> None:
    for event in events:
        await queue.put(event)
    await queue.put(None)


async def _queued(queue: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
    while (event := await queue.get()) is not None:
        yield event


async def _blocks(events: AsyncIterator[Event], rest: dict[str, Any]) -> AsyncIterator[Block]:
    """The start and the deltas of each block; other events go to `rest`."""
    start: dict[str, Any] = {}
    deltas: list[dict[str, Any]] = []
    number = 0
    async for event in events:
        match event:
            case {"contentBlockStart": {"start": begun, "contentBlockIndex": index}}:
                if index != number or start or deltas:
                    raise Unreadable(f"block {index} in block {number}")
                start = begun
            case {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}:
                if index != number:
                    raise Unreadable(f"block {index} in block {number}")
                deltas.append(delta)
            case {"contentBlockStop": {"contentBlockIndex": index}}:
                if index != number or not (start or deltas):
                    raise Unreadable(f"the end of block {index}")
                yield start, deltas
                start, deltas = {}, []
                number += 1
            case _:
                for name, members in event.items():
                    if name.endswith("Exception"):
                        raise Unreadable(name)
                    rest[name] = members
    if start or deltas:
        raise Unreadable("the last block is not whole")


def _finish(start: dict[str, Any], deltas: list[dict[str, Any]]) -> dict[str, Any]:
    text = "".join(delta["text"] for delta in deltas if "text" in delta)
    citations = [delta["citation"] for delta in deltas if "citation" in delta]
    reasoning = [delta["reasoningContent"] for delta in deltas if "reasoningContent" in delta]
    if "toolUse" in start:
        written = "".join(delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta)
        try:
            return {"toolUse": {**start["toolUse"], "input": json.loads(written) if written else {}}}
        except ValueError:
            raise Unreadable("the input of a tool is not whole") from None
    if "toolResult" in start:
        items = [item for delta in deltas for item in delta.get("toolResult", [])]
        return {"toolResult": {**start["toolResult"], "content": items}}
    if "image" in start:
        image = dict(start["image"])
        for delta in deltas:
            image.update(delta.get("image", {}))
        return {"image": image}
    if citations:
        said = {"content": [{"text": text}]} if any("text" in delta for delta in deltas) else {}
        return {"citationsContent": {**said, "citations": citations}}
    if reasoning:
        thought = "".join(part.get("text", "") for part in reasoning)
        for part in reasoning:
            if "redactedContent" in part:
                return {"reasoningContent": {"redactedContent": part["redactedContent"]}}
        signatures = [part["signature"] for part in reasoning if "signature" in part]
        signed = {"signature": signatures[-1]} if signatures else {}
        return {"reasoningContent": {"reasoningText": {"text": thought, **signed}}}
    return {"text": text}


async def collect(events: Iterable[Event]) -> Answer:
    """Run the pipeline to its end."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    rest: dict[str, Any] = {}
    feeder = asyncio.create_task(_feed(events, queue))
    content: list[dict[str, Any]] = []
    try:
        async for start, deltas in _blocks(_queued(queue), rest):
            content.append(_finish(start, deltas))
    finally:
        feeder.cancel()
    if "messageStop" not in rest:
        raise Unreadable("the stream is not whole")
    stop, end = rest["messageStop"], rest.get("metadata", {})
    return Answer(
        {"role": rest["messageStart"]["role"], "content": content},
        stop["stopReason"],
        end.get("usage"),
        end.get("trace"),
        stop.get("additionalModelResponseFields"),
    )


def read(events: Iterable[Event]) -> Answer:
    """The same, for callers that are not asynchronous."""
    return asyncio.run(collect(list(events)))
