"""Eight threads call one fake: no call, reply, refusal, note or problem is lost or doubled, and users' code may call."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import Call, Fake, fake_converse, recording, reply
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import Request
from tests.threads import together

Json = dict[str, Any]

NOVA = "us.amazon.nova-lite-v1:0"
THREADS = 8
ANSWER = (
    b'{"metrics":{"latencyMs":1},"output":{"message":{"content":[{"text":"%s"}],"role":"assistant"}},'
    b'"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}'
)


def recorded(path: Path, pairs: dict[str, str]) -> Path:
    """A recording with one exchange for each question."""
    writer = SessionWriter(path)
    for question, answer in pairs.items():
        body = json.dumps({"messages": [{"role": "user", "content": [{"text": question}]}]}).encode()
        request = Request("POST", f"/model/{NOVA}/converse", (("Content-Type", "application/json"),), body)
        head = (("Content-Type", "application/json"),)
        writer.captured.append(CapturedExchange(request, "Converse", 200, head, 0.1, [(ANSWER % answer.encode(), 0.2)]))
    writer.save()
    return path


def ask(client: Any, text: str) -> str:
    answer = client.converse(modelId=NOVA, messages=[{"role": "user", "content": [{"text": text}]}])
    return str(answer["output"]["message"]["content"][0]["text"])


def in_condition(fake: Fake, back: Callable[[str], str], path: Path) -> None:
    fake.when(lambda call: back(call.last_user_text)).script(*[reply.text(str(number)) for number in range(2 * THREADS)])


def in_function(fake: Fake, back: Callable[[str], str], path: Path) -> None:
    meeting = threading.Barrier(THREADS, timeout=5)  # without the lock, the functions of all threads run at once

    def answer(number: int, call: Call) -> Reply:
        if call.last_user_text.startswith("outer"):
            meeting.wait()
        back(call.last_user_text)
        return reply.text(str(number))

    fake.script(*[partial(answer, number) for number in range(2 * THREADS)])


def in_match_function(fake: Fake, back: Callable[[str], str], path: Path) -> None:
    def match(_: Json, asked: Json) -> str:
        return back(asked["messages"][-1]["content"][0]["text"])

    fake.script(recording(recorded(path, {f"?{number}": str(number) for number in range(2 * THREADS)}), match=match))


@pytest.mark.needs_os
@pytest.mark.parametrize("script", [in_condition, in_function, in_match_function])
def test_code_of_the_user_may_call_the_same_fake(
    script: Callable[[Fake, Callable[[str], str], Path], None], tmp_path: Path
) -> None:
    answers, asked = list[str](), set[str]()
    with fake_converse() as fake:
        client = create_client()

        def back(text: str) -> str:
            if text.startswith("outer") and text not in asked:  # a match function sees each exchange that is left
                asked.add(text)
                answers.append(ask(client, f"inner {text}"))
            return "yes"

        script(fake, back, tmp_path / "trip.jsonl")
        together([lambda n=n: answers.append(ask(client, f"outer {n}")) for n in range(THREADS)])

    assert sorted(answers, key=int) == [str(number) for number in range(2 * THREADS)]
    numbers = {call.last_user_text: call.number for call in fake.calls}
    assert sorted(numbers.values()) == [*range(1, 2 * THREADS + 1)]
    for n in range(THREADS):
        outer, inner = numbers[f"outer {n}"], numbers[f"inner outer {n}"]
        # Under the lock, no other call comes between the two.
        assert inner > outer if script is in_function else inner == outer + 1
