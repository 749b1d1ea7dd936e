"""What a request repeats of the one before changes no verdict: the rules judge each request by itself."""

from __future__ import annotations

from random import Random
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import Call, Fake, RefusedRequest, reply
from converse_harness.bedrock.rules import BY_NAME
from converse_harness.settings import Settings
from converse_harness.stream.http import Request
from tests.conversations import Asked, draw, twin
from tests.profiles import examples

_OTHER = reply.text("There is no answer to this.")


def ask(fake: Fake, row: Asked) -> tuple[Call, bytes]:
    """Send a drawn request to a fake without a transport. Return the call, and the bytes of the answer."""
    fake.always(row.reply or _OTHER)
    exchange = fake.core.exchange(Request("POST", row.path, row.headers, row.data))
    exchange.taken.begin(exchange.response.chunks, 0.0)
    exchange.taken.extend(exchange.response.chunks)
    exchange.ended("cut" if exchange.response.broken else "complete")
    return fake.endpoint.calls[-1], b"".join(exchange.taken.data)


def verdict(fake: Fake, row: Asked) -> dict[str, Any]:
    """Send a request, and return what must not depend on the calls before it."""
    before = len(fake.endpoint.problems)
    call, sent = ask(fake, row)
    problems = [each for each in fake.endpoint.problems[before:] if isinstance(each, RefusedRequest)]
    scripted = call.reply is not None  # then the answer has padding that depends on the script before it
    counted = "cachePoint" not in row.body  # a cachePoint counts what was cached before
    shown = {
        "status": call.status,
        "sent": None if scripted else sent,
        "usage": call.response.usage if counted and call.response else None,
        "malformed": call.malformed,
        "refusal": call.refusal,
        "problems": [*map(str, problems)],
        "notes": [note for note in call.notes if note.kind in BY_NAME],
        "body": call.body,
        "params": call.params,
        "tools": (call.tools, call.tool_names, call.tool_choice, call.tool_results),
        "texts": (call.system_text, call.last_user_text, call.turn, call.asked),
    }
    return {name: repr(value) for name, value in shown.items()}  # in which 1, 1.0 and True differ


@given(st.integers(0, 2**32))
@settings(max_examples=examples(0.25))
def test_what_a_request_repeats_changes_no_verdict(seed: int) -> None:
    """A fake that knows the conversation says the same of each request as a fake that gets only this request.

    After each request comes another that nearly equals it: with 1.0 or true in place of 1, or with other keys first.
    """
    random = Random(seed)
    drawn = [row for row in draw(random, 8) if row.operation != "InvokeModel"]
    chosen = cast("Settings", drawn[0].settings)
    knowing = Fake(**chosen)
    rows = [each for one in drawn for each in (one, twin(random, one))]
    for number, row in enumerate(rows):
        fresh = Fake(**chosen)
        fresh.endpoint.received = number  # so that its call has the same number
        assert verdict(knowing, row) == verdict(fresh, row), row


@given(st.integers(0, 2**32))
@settings(max_examples=examples(0.3))
def test_a_call_shows_the_same_after_others(seed: int) -> None:
    """What a test changes in a call's messages is seen in no other call, and later calls change no earlier one."""
    rows = draw(Random(seed), 12)
    chosen: Settings = {**cast("Settings", rows[0].settings), "keep_calls": None}
    fake = Fake(**chosen)
    calls = [ask(fake, row)[0] for row in rows]
    shown = [repr((call.body, call.params)) for call in calls]
    for number, call in enumerate(calls):
        for message in call.messages:
            message["content"] = "changed"
        call.params.clear()
        assert [repr((each.body, each.params)) for each in calls[number + 1 :]] == shown[number + 1 :]
