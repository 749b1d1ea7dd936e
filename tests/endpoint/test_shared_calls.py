"""Eight threads call one fake: no call, reply, refusal, note or problem is lost or doubled. Users' code may call it."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import (
    Call,
    ConverseServer,
    Fake,
    RefusedRequest,
    fake_converse,
    recording,
    reply,
)
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.stage import Stage
from converse_harness.intercept.clients import create_client
from converse_harness.intercept.observers import replacing
from converse_harness.plugin.reruns.watch import Watch
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
    fake.when(lambda call: back(call.last_user_text)).script(
        *[reply.text(str(number)) for number in range(2 * THREADS)]
    )


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

        def outer(number: int) -> None:
            answers.append(ask(client, f"outer {number}"))

        def back(text: str) -> str:
            if text.startswith("outer") and text not in asked:  # a match function sees each exchange that is left
                asked.add(text)
                answers.append(ask(client, f"inner {text}"))
            return "yes"

        script(fake, back, tmp_path / "trip.jsonl")
        together([partial(outer, number) for number in range(THREADS)])

    assert sorted(answers, key=int) == [str(number) for number in range(2 * THREADS)]
    numbers = {call.last_user_text: call.number for call in fake.calls}
    assert sorted(numbers.values()) == [*range(1, 2 * THREADS + 1)]
    for number in range(THREADS):
        steps = numbers[f"inner outer {number}"] - numbers[f"outer {number}"]
        assert steps > 0 if script is in_function else steps == 1  # under the lock, no other call comes in between


SONNET = "us.anthropic.claude-sonnet-4-6"
KINDS = ("plain", "streamed", "replaced", "when", "recorded", "talk", "cached", "blank", "empty")
ROUNDS = 6
EACH = THREADS * ROUNDS
"""The number of jobs of each kind."""


class Tally(Stage):
    """Notes the calls that have ended, and those that were forgotten."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.over: list[int] = []
        self.dropped: list[int] = []

    def ended(self, call: Call) -> None:
        self.over.append(call.number)

    def forgotten(self, call: Call) -> None:
        self.dropped.append(call.number)


class Jobs:
    """The calls of all threads. `asked` are the texts of their requests, `answers` those of the answers by kind."""

    def __init__(self) -> None:
        self.client = create_client()
        self.asked: list[str] = []
        self.answers: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def converse(self, text: str, *before: Json, **more: Any) -> str:
        self.asked.append(text)
        messages = [*before, {"role": "user", "content": [{"text": text}]}]
        answer = self.client.converse(**{"modelId": NOVA, "messages": messages, **more})
        return str(answer["output"]["message"]["content"][0]["text"])

    def share(self, jobs: Sequence[tuple[str, int]]) -> None:
        """Do the jobs in all threads at once. A job is a kind and a number."""

        def some(at: int) -> None:
            for kind, number in jobs[at::THREADS]:
                self.run(kind, number)

        together([partial(some, at) for at in range(THREADS)])

    def run(self, kind: str, number: int) -> None:
        text = f"{kind} {number}"
        match kind:
            case "streamed":
                self.asked.append(text)
                question: Json = {"role": "user", "content": [{"text": text}]}
                events = self.client.converse_stream(modelId=NOVA, messages=[question])["stream"]
                deltas = [event.get("contentBlockDelta", {}).get("delta", {}) for event in events]
                answer = "".join(delta.get("text", "") for delta in deltas)
            case "talk":  # the second request changes the answer to the first
                first: Json = {"role": "user", "content": [{"text": text}]}
                changed: Json = {"role": "assistant", "content": [{"text": f"{self.converse(text)} Or not?"}]}
                answer = self.converse(f"talk again {number}", first, changed)
            case "cached":
                system = [{"text": f"You are agent {number}."}, {"cachePoint": {"type": "default"}}]
                self.converse(text, modelId=SONNET, system=system)
                answer = self.converse(text, modelId=SONNET, system=system)
            case "blank" | "empty":
                content = [{"text": text}, {"text": " "}] if kind == "blank" else []
                self.asked.append(text)
                with pytest.raises(ClientError):
                    self.client.converse(modelId=NOVA, messages=[{"role": "user", "content": content}] * bool(content))
                return
            case _:
                answer = self.converse(text)
        self.answers[kind].append(answer)


def numbered(kind: str, count: int = EACH) -> list[str]:
    return [f"{kind} {number}" for number in range(count)]


@pytest.mark.needs_os
def test_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    jobs = [(kind, number) for number in range(EACH) for kind in KINDS]
    Random(46).shuffle(jobs)
    watch = Watch(lambda seen: reply.text("other") if "replaced" in seen.call.last_user_text else seen.reply)
    with replacing(*watch.stages), fake_converse(unexpected="allow", cache_minimum=0) as fake:
        tally = fake.endpoint.add(Tally)
        fake.when(lambda call: call.last_user_text.startswith("when")).script(*map(reply.text, numbered("reply")))
        fake.when(last_user_text="talk*").always(
            lambda call: reply.text(f"Here is my answer to {call.last_user_text}.")
        )
        fake.when(model=SONNET).always(reply.text("ok"))
        pairs = {f"recorded {number}": f"answer {number}" for number in range(EACH)}
        fake.script(recording(recorded(tmp_path / "trip.jsonl", pairs), match="exact"))
        fake.script(*map(reply.text, numbered("in order", 2 * EACH)))
        fake.always(reply.text("always"))
        done = Jobs()
        with fake.refuses("text_is_not_blank") as expected:
            done.share(jobs)

    calls = {call.number: call for call in fake.calls}
    assert [*calls] == [*range(1, len(done.asked) + 1)]
    texts = [call.last_user_text.strip() or "empty" for call in calls.values()]
    assert Counter(texts) == Counter("empty" if text.startswith("empty") else text for text in done.asked)
    assert sorted(tally.over) == [*calls]

    assert sorted(done.answers["when"]) == sorted(numbered("reply"))
    assert sorted(done.answers["recorded"]) == sorted(numbered("answer"))
    assert {*done.answers["replaced"]} == {"other"}
    given = [*done.answers["plain"], *done.answers["streamed"]]
    assert max(Counter(text for text in given if text != "always").values()) == 1
    slots = [slot for _, slot in fake.endpoint.script.slots()]
    assert {len(slot.used_by) for slot in slots if slot.uses is not None} == {1}
    answered = sorted(number for number, call in calls.items() if call.refusal is None)
    assert sorted(number for slot in slots for number in slot.used_by) == answered
    assert sorted(seen.call.number for seen in watch.replies) == answered
    assert [seen.number for seen in watch.replies] == [*range(1, len(answered) + 1)]

    blank = [call for call in calls.values() if "blank" in str(call)]
    assert sorted(call.number for call in expected.calls) == [call.number for call in blank]
    assert len(blank) == EACH
    assert [type(problem) for problem in fake.endpoint.problems] == [RefusedRequest] * EACH
    again = [call for call in calls.values() if call.last_user_text.startswith("talk again")]
    assert sorted(note.call for note in fake.notes) == [call.number for call in again]
    for call in again:
        assert call.parent is not None
        assert call.parent.last_user_text == call.last_user_text.replace("again ", "")
    for text in numbered("cached"):
        writes, reads = [call.cache for call in calls.values() if call.last_user_text == text]
        assert (writes.read, writes.written) == (0, reads.read)
        assert (reads.written, reads.read > 0) == (0, True)


@pytest.mark.needs_os
def test_older_calls_are_dropped_once_and_in_order() -> None:
    with fake_converse(keep_calls=5) as fake:
        tally = fake.endpoint.add(Tally)
        fake.always(lambda call: reply.text(f"Here is my answer to {call.last_user_text}."))
        done = Jobs()
        done.share([("talk", number) for number in range(6 * THREADS)])
    count = len(done.asked)
    assert tally.dropped == [*range(1, count - 4)]
    assert [call.number for call in fake.calls] == [*range(count - 4, count + 1)]
    assert fake.endpoint.received == count
    noted = [note.call for note in fake.notes]
    assert len(noted) == len({*noted})


@pytest.mark.needs_os
def test_calls_are_forwarded_once(tmp_path: Path) -> None:
    with ConverseServer() as server, server.script(unexpected="allow") as service, fake_converse() as fake:
        service.always(lambda call: reply.text(f"real {call.last_user_text}"))
        fake.core.writer = writer = SessionWriter(tmp_path / "trip.jsonl")
        fake.when(last_user_text="when*").script(*map(reply.text, numbered("reply")))
        done = Jobs()
        done.client = create_client(endpoint_url=service.url)
        jobs = [(kind, number) for number in range(EACH) for kind in ("plain", "when", "blank")]
        with fake.refuses("text_is_not_blank") as expected:
            done.share(jobs)

    assert sorted(done.answers["plain"]) == sorted(f"real {text}" for text in numbered("plain"))
    assert sorted(done.answers["when"]) == sorted(numbered("reply"))
    calls = {call.number: call for call in fake.calls}
    assert [*calls] == [*range(1, len(done.asked) + 1)]
    forwarded = [call for call in calls.values() if not call.last_user_text.startswith("when")]
    assert [each.request.body for each in writer.answered] == [call.raw for call in forwarded]
    assert sorted(call.last_user_text for call in service.calls) == sorted(call.last_user_text for call in forwarded)
    assert {call.outcome for call in forwarded} == {"complete"}
    blank = [call.number for call in forwarded if call.last_user_text.startswith("blank")]
    assert sorted(call.number for call in expected.calls) == blank
    assert fake.endpoint.problems == []


@pytest.mark.needs_os
def test_each_thread_expects_its_own_refusals() -> None:
    fake, idle = Fake(), ExitStack()
    for _ in range(1000):  # blocks that stay open, so that leaving another block takes a while
        idle.enter_context(fake.refuses("text_is_not_blank", match="never"))

    def expect(at: int) -> None:
        content = [*[{"text": "hi"}] * at, {"text": " "}]
        body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
        for _ in range(60):
            with fake.refuses("text_is_not_blank", match=rf"content\.{at} ") as expected:
                call = fake.core.exchange(Request("POST", f"/model/{NOVA}/converse", (), body)).call
            assert expected.calls == [call]

    together([partial(expect, at) for at in range(THREADS)])
    assert fake.endpoint.problems == []
