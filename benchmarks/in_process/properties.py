"""Hypothesis: how many streams a second it makes, alone and through the boto transport, and how it shrinks a planted
bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.floor import asked, kept_patches
from benchmarks.measure import ROOT, Rounds, run_python, timed
from benchmarks.rows import Row
from converse_harness import assemble, fake_converse, reply
from converse_harness.intercept.clients import create_client

ROUNDS = 5
EXAMPLES = 200
SEEDS = range(5)
IMPORT_ROUNDS = 8
IMPORT = """
import time, hypothesis.stateful
started = time.process_time()
import converse_strategies
from converse_strategies.entry import register
register()
from converse_strategies import chunked_messages, replies, stream_events
print(time.process_time() - started)
"""
"""What hypothesis' entry point does is ours as well."""

Events = list[dict[str, Any]]


def rows() -> Iterator[Row]:
    """Streams a second, shrinking, import."""
    with kept_patches():
        yield from _speed()
        yield from _shrinking()
    yield from _imports()


def _speed() -> list[Row]:
    """Examples a second: each round is a property of its own, with the same examples."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    from converse_strategies import stream_events

    client = create_client()
    sent: list[int] = []

    def unchanged(events: Events) -> None:
        with fake_converse(reply.events(events)):
            came = list(client.converse_stream(**asked())["stream"])
        assert came[:-1] == events[:-1]  # botocore drops members of the usage that are recorded, but in no model
        sent.append(len(events))

    def only_drawn(drawn: object) -> None:
        pass

    profile = settings(
        max_examples=EXAMPLES,
        derandomize=True,  # the same examples in every round
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )

    def each(strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> Callable[[], float]:
        examples = profile(given(strategy)(check))
        return lambda: timed(examples) / EXAMPLES

    measured = Rounds(
        ROUNDS,
        {
            "through": each(stream_events(), unchanged),
            "drawn": each(stream_events(), only_drawn),
            "plain": each(st.lists(st.text()), only_drawn),
        },
    )
    return [
        Row("examples", 1 / measured.of("through"), f"{sum(sent) / len(sent):.0f} events each"),
        Row("examples generated", 1 / measured.of("drawn")),
        Row("examples plain", 1 / measured.of("plain")),
        Row("drawing", measured.ratio("drawn", "plain"), measured.against("drawn", "plain")),
    ]


def text_of(stream: Any) -> str:
    """The text of a streamed message, by a consumer that is wrong: it gives reasoning before a tool out as text."""
    text = pending = ""
    for event in stream:
        match event:
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": str(thought)}}}}:
                pending += thought
            case {"contentBlockDelta": {"delta": {"text": str(piece)}}}:
                text += piece
                pending = ""
            case {"contentBlockStart": {"start": {"toolUse": _}}}:
                text += pending
            case _:
                pass
    return text


def _shrinking() -> list[Row]:
    """What is left of the counterexample, and how long it took from the first example, through the boto transport."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from converse_strategies import stream_events

    client = create_client()

    def found(number: int) -> tuple[float, int, int]:
        last: Events = []
        calls = 0

        @seed(number)
        @settings(
            max_examples=10_000,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(stream_events())
        def agrees(events: Events) -> None:
            nonlocal last, calls
            calls += 1
            with fake_converse(reply.events(events)):
                text = text_of(client.converse_stream(**asked())["stream"])
            blocks = assemble(events).message["content"]
            if text != "".join(block.get("text") or cited(block) for block in blocks):
                last = events
                raise AssertionError

        def fails() -> None:
            try:
                agrees()
            except AssertionError:
                return
            raise RuntimeError(f"with the seed {number} hypothesis did not find the planted bug")

        return timed(fails), len(last), calls

    runs = [found(number) for number in SEEDS]
    note = f"median of {len(runs)} seeds, {median(calls for _, _, calls in runs):.0f} calls"
    longest = max(events for _, events, _ in runs)
    return [
        Row("shrink", median(seconds for seconds, _, _ in runs), note),
        Row("shrink longest", max(seconds for seconds, _, _ in runs)),
        Row("shrink events", longest, "the most of all seeds"),
    ]


def cited(block: dict[str, Any]) -> str:
    """The text of a block with citations, empty for others."""
    return "".join(item["text"] for item in block.get("citationsContent", {}).get("content", ()))


def _imports() -> list[Row]:
    """CPU time in processes of their own."""
    environment = {"HYPOTHESIS_NO_PLUGINS": "1"}
    seconds = [float(run_python(["-c", IMPORT], ROOT, environment, allowed=(0,))) for _ in range(IMPORT_ROUNDS)]
    return [Row("import strategies", 1000 * median(seconds))]
