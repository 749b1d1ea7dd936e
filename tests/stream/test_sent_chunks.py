"""What is stored of the chunks of an answer: the same before and after it is packed, and after more has come."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness.stream.delivery import Frames, SentChunks, StreamChunks
from converse_harness.stream.events import encode_event
from converse_harness.stream.http import Chunk
from tests.profiles import examples

EVENTS: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    *({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}} for text in ("a", "b", "c")),
    {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 3, "totalTokens": 4}, "metrics": {"latencyMs": 5}}},
]
FRAMES = [encode_event(event) for event in EVENTS]

WITH_EVENT = st.sampled_from(range(len(EVENTS))).map(lambda at: Chunk(FRAMES[at], 0.5, EVENTS[at]))
SEVERAL = WITH_EVENT.map(lambda chunk: chunk._replace(more=(EVENTS[1], EVENTS[2])))
BODIES = st.binary(max_size=4).map(Chunk)
CHUNKS = st.lists(st.one_of(WITH_EVENT, SEVERAL, BODIES), max_size=5)


def seen(taken: SentChunks) -> object:
    """Everything that can be asked."""
    return (
        len(taken),
        bool(taken),
        [*taken.events],
        taken.data,
        taken.ends_with_metadata,
        taken.last_at,
        [*taken.times],
    )


@given(first=CHUNKS, later=CHUNKS, framed=st.none() | st.integers(0, 4))
@settings(max_examples=examples(1))
def test_packed_chunks_answer_as_before_and_take_more(
    first: list[Chunk], later: list[Chunk], framed: int | None
) -> None:
    both: list[SentChunks] = []
    for packs in (False, True):
        taken = SentChunks()
        frames = Frames(lambda: iter(EVENTS[:4]), FRAMES[:4])
        taken.begin([] if framed is None else StreamChunks(frames, [frames], lambda _: None, 0.0, 0.0), 10.0)
        taken.times.extend(10.0 + at for at in range(framed or 0))
        taken.extend(first, 20.0)
        if packs:
            taken.pack()
            taken.pack()
        taken.extend(later, 30.0)
        both.append(taken)
    both[1].pack()
    assert seen(both[1]) == seen(both[0])
