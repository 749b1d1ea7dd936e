"""A Reply in a counterexample is the code that makes it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

from converse_harness import Reply, chunk, faults, reply
from converse_strategies import HostileStream, errors, faulty_replies, replies, stream_errors
from tests.strategies.conftest import smallest

METADATA: dict[str, Any] = {
    "metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, "metrics": {"latencyMs": 0}}
}
STREAM: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    {"messageStop": {"stopReason": "end_turn"}},
    METADATA,
]


def plain(value: Any) -> Any:
    """A reply as values that can be compared."""
    if is_dataclass(value):
        # Which rows an answer is meant not to fit is not printed: what is pasted may have notes.
        names = [field.name for field in fields(value) if field.name != "misfits"]
        return {name: plain(getattr(value, name)) for name in names}
    return dict(value) if isinstance(value, dict) else value


def pasted(printed: str) -> Reply:
    made = eval(printed, {"reply": reply, "faults": faults})
    assert isinstance(made, Reply)
    return made


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        (reply.text("hi"), "reply.text('hi')"),
        (reply.text("hi", stop_reason="max_tokens"), "reply.message({'text': 'hi'}, stop_reason='max_tokens')"),
        (reply.text("hi", pieces=["h", "i"]), "reply.message({'text': 'hi'}, pieces={0: ['h', 'i']})"),
        (reply.tool_use("pay", {"chf": 5}), "reply.message({'toolUse': {'name': 'pay', 'input': {'chf': 5}}})"),
        (reply.events(STREAM), f"reply.events({STREAM})"),
        (reply.events([METADATA], strict=False), f"reply.events([{METADATA}], strict=False)"),
        (reply.throttled("Slow").times(2), "reply.error('ThrottlingException', 'Slow').times(2)"),
        (reply.error("Odd", "a", status=499, code=1), "reply.error('Odd', 'a', status=499, code=1)"),
        (reply.error("ThrottlingException", "a", status=400), "reply.error('ThrottlingException', 'a', status=400)"),
        (reply.connection_refused(), "reply.connection_refused()"),
        (reply.connect_timeout(), "reply.connect_timeout()"),
        (reply.read_timeout(), "reply.read_timeout()"),
        (
            reply.text("a b").fails_after(1, "throttlingException", "Slow").paced(first=1.0).times(3),
            "reply.text('a b').fails_after(1, 'throttlingException', 'Slow').paced(first=1.0, each=0.0).times(3)",
        ),
        (
            reply.text("a").fails_after(0, "modelStreamErrorException", "x", originalStatusCode=500),
            "reply.text('a').fails_after(0, 'modelStreamErrorException', 'x', originalStatusCode=500)",
        ),
        (
            reply.text("a").fails_after(1, "oddException", "x", strict=False),
            "reply.text('a').fails_after(1, 'oddException', 'x', strict=False)",
        ),
        (reply.text("a b").broken(faults.reset), "reply.text('a b').broken(faults.reset, after=3)"),
        (reply.message({"text": "a"}, additional={"b": 1}), "reply.message({'text': 'a'}, additional={'b': 1})"),
    ],
)
def test_a_reply_is_printed_as_it_is_written(written: Reply, printed: str) -> None:
    assert " ".join(pretty(written).split()).replace("( ", "(") == printed
    assert plain(pasted(pretty(written))) == plain(written)


def test_a_reply_with_more_events_than_a_printer_shows_is_printed_whole() -> None:
    answer = reply.events(chunk({"role": "assistant", "content": [{"text": "x"}] * 600}))
    assert len(list(answer.events())) > 1000
    assert plain(pasted(pretty(answer))) == plain(answer)
    case = HostileStream(list(answer.events())[1:], faults.no_message_start, 0)
    assert eval(pretty(case), {"HostileStream": HostileStream, "faults": faults}) == case


ANSWERED = [name for name, fault in faults.FAULTS.items() if not fault.no_answer]
"""Those that leave something of the reply, which is printed then."""

FAULTY = faulty_replies(names=ANSWERED).map(lambda case: case.reply)


@given(replies() | errors() | stream_errors() | FAULTY, st.integers(1, 3))
def test_what_is_printed_makes_the_same_reply(answer: Reply, uses: int) -> None:
    printed = pasted(pretty(answer.times(uses)))
    assert plain(printed) == plain(answer.times(uses))


def test_a_counterexample_shows_it() -> None:
    @settings(database=None, phases=[Phase.generate, Phase.shrink])
    @given(answer=replies(kinds=["text"]))
    def fails(answer: Reply) -> None:
        assert "text" not in answer.summary

    answer = smallest(replies(kinds=["text"]), lambda answer: "text" in answer.summary)
    with pytest.raises(AssertionError) as caught:
        fails()
    assert f"answer={pretty(answer)}".split("\n", maxsplit=1)[0] in "\n".join(caught.value.__notes__)
