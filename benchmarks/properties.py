"""How many hypothesis examples a second come through the boto door: each opens a fake, and reads one stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import ASKED
from benchmarks.measure import Rounds, per_call
from converse_harness import fake_converse, reply
from converse_harness.doors.client import create_client

ROUNDS = 8
EXAMPLES = 200


def rows() -> list[Row]:
    """A property of a text and its pieces, with client and without."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    @st.composite
    def cut_texts(draw: st.DrawFn) -> list[str]:
        text = draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=200))
        points = draw(st.lists(st.integers(0, len(text)), max_size=20))
        edges = [0, *sorted(points), len(text)]
        return [text[start:end] for start, end in pairwise(edges)]

    client = create_client()
    sent: list[int] = []

    def joined_deltas_are_the_text(pieces: list[str]) -> None:
        with fake_converse(reply.text("".join(pieces), pieces=pieces)):
            events: list[Any] = list(client.converse_stream(**ASKED)["stream"])
        sent.append(len(events))
        deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
        assert "".join(deltas) == "".join(pieces)

    def only_drawn(pieces: list[str]) -> None:
        pass

    profile = settings(
        max_examples=EXAMPLES,
        derandomize=True,  # the same examples in every round
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    through = profile(given(cut_texts())(joined_deltas_are_the_text))
    drawn = profile(given(cut_texts())(only_drawn))
    rounds = Rounds(ROUNDS, through=lambda: per_call(through) / EXAMPLES, drawn=lambda: per_call(drawn) / EXAMPLES)
    note = f"{sum(sent) / len(sent):.0f} events each"
    return [Row("examples", 1 / rounds.median("through"), note), Row("examples generated", 1 / rounds.median("drawn"))]
