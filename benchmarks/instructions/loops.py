"""The loops whose instructions are counted: `python -m benchmarks.instructions.loops SIDE`.

Each loop runs twice, for a few calls and for more of them; what lies between two calls of getppid() is counted by
callgrind, which the parent starts with `--dump-before=getppid`. The loops of the side `floor` run in a process in
which botocore was never patched.

Only the call is counted: its arguments and its reply are made before, and what opening and closing a fake takes is
counted by a loop of its own, `open`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmarks.agent import Conversation, asked_in_process, uses_tool
from benchmarks.floor import Exchange, kept_patches, story, telling
from benchmarks.in_process.calls import add_misses, greeting, tool_use, with_tools
from benchmarks.in_process.recordings import asked_number, cassettes, stream_file
from benchmarks.instructions import prepare as make
from converse_harness import fake_converse
from converse_harness.endpoint.expected_refusals.expected import ExpectedRefusals
from converse_harness.endpoint.prompt_cache.stage import PromptCaching
from converse_harness.endpoint.stage import Stage
from converse_harness.endpoint.stages import STAGES
from converse_harness.endpoint.standing import Conditions, Recordings
from converse_harness.intercept.clients import create_client

CONDITIONS: Final = 1_000
REPLAYED_EVENTS: Final = 50
UNUSED: Final[tuple[type[Stage], ...]] = (Conditions, Recordings, ExpectedRefusals, PromptCaching)
"""The stages that a Converse call does not use."""

REPLAYED: Final = Exchange("converse_stream", lambda: asked_number(0), lambda: story(REPLAYED_EVENTS))


@dataclass(frozen=True, slots=True)
class Loop:
    """Calls of one kind: how many are counted first, and how many then."""

    prepare: make.Prepare
    short: int
    long: int


CALLS: Final[Mapping[str, tuple[Callable[[], Exchange], int, int]]] = {
    "share fresh": (lambda: telling(1_000), 1, 3),
    "call": (greeting, 10, 40),
    "call tools": (tool_use, 10, 40),
    "call 20 tools": (lambda: with_tools(20), 5, 15),
    "call 100 tools": (lambda: with_tools(100), 2, 6),
}
"""Calls that are the only ones of their fakes, with the numbers of them."""


def floor(folder: Path) -> Iterator[tuple[str, Loop]]:
    """The client alone; and vcrpy, if it is installed."""
    for name, (exchange, short, long) in CALLS.items():
        yield name, Loop(make.plain_calls(exchange().floor(), exchange()), short, long)
    yield "first", Loop(make.first_events(telling(50).floor(), telling(50)), 5, 15)
    yield "agent", Loop(make.agent_alone(), 1, 3)
    if replay := cassettes(folder, REPLAYED).get("vcrpy"):
        yield "replay", Loop(make.repeated(replay), 5, 15)


def ours(folder: Path) -> Iterator[tuple[str, Loop]]:
    """The client with a fake."""
    client = create_client()
    for name, (exchange, short, long) in CALLS.items():
        yield name, Loop(make.in_fakes(client, exchange()), short, long)
    yield "first", Loop(make.first_events(client, telling(50), opens=True), 5, 15)
    yield "open", Loop(make.repeated(make.opened), 10, 40)
    for name, left_out in (("all stages", ()), ("needed stages", UNUSED)):
        stages = tuple(stage for stage in STAGES if stage not in left_out)
        with patch("converse_harness.endpoint.STAGES", stages), fake_converse() as fake:
            fake.always(greeting().answer())
            yield name, Loop(make.plain_calls(client, greeting()), 10, 40)
    with fake_converse() as fake:
        fake.always(telling(1_000).answer())
        yield "share cached", Loop(make.plain_calls(client, telling(1_000)), 1, 3)
    for name, misses in (("conditions", CONDITIONS), ("no conditions", 0)):
        with fake_converse(unused="allow") as fake:
            add_misses(fake, misses)
            fake.always(greeting().answer())
            yield name, Loop(make.plain_calls(client, greeting()), 2, 6)
    path, _ = stream_file(folder / "ours.jsonl", REPLAYED_EVENTS)
    yield "replay", Loop(make.repeated(partial(make.replayed, path, client, REPLAYED)), 5, 15)
    yield "leave", Loop(partial(make.leaving, folder), 1, 3)


def agent(_: Path) -> Iterator[tuple[str, Loop]]:
    """The last calls of an agent with a fake; the earlier ones come without a client."""
    client = create_client()
    conversation = Conversation(20)
    with fake_converse(*(uses_tool(turn) for turn in range(2 * make.AGENT_CALLS)), unused="allow") as fake:
        conversation.run(asked_in_process(fake.core), make.AGENT_CALLS - 5)
        yield "agent", Loop(partial(make.agents_calls, client, conversation), 1, 3)


SIDES: Final[Mapping[str, Callable[[Path], Iterator[tuple[str, Loop]]]]] = {
    "floor": floor,
    "ours": ours,
    "agent": agent,
}


def count(loop: Loop) -> None:
    """Run a loop between marks."""
    loop.prepare(1)()  # caches fill, imports happen
    for number in (loop.short, loop.long):
        work = loop.prepare(number)
        gc.collect()
        gc.freeze()
        os.getppid()
        work()
        os.getppid()
        gc.unfreeze()


def main() -> None:
    """Run the loops of a side, and print the number of counted calls of each."""
    side = sys.argv[1]
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        if side != "floor":
            stack.enter_context(kept_patches())
        for loop_name, loop in SIDES[side](Path(name)):
            count(loop)
            found[loop_name] = loop.long - loop.short
    print(json.dumps(found))


if __name__ == "__main__":
    main()
