"""The methods of a Stage run in the threads and under the lock that its docstring names. Their errors fail tests."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import getdoc
from pathlib import Path
from threading import BrokenBarrierError, get_ident
from types import FunctionType
from typing import Any, Final, Literal, NamedTuple

import pytest
from botocore.exceptions import ClientError

from converse_harness import Fake, UnusedReplies, fake_converse, reply
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Slot
from converse_harness.endpoint.stage import Stage
from converse_harness.intercept.clients import create_client
from converse_harness.intercept.observers import watching
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.stream.http import Request
from tests.threads import together

MODEL = "us.amazon.nova-lite-v1:0"
METHODS: Final = [name for name, each in vars(Stage).items() if isinstance(each, FunctionType) and name != "__init__"]
ROW = re.compile(r"- ((?:`\w+`(?:, )?)+): ([^,]+), (under|without|with or without) the lock")


class Claim(NamedTuple):
    """In which thread a method of Stage runs, and whether under the lock, as the docstring of Stage says."""

    thread: str
    lock: str


CLAIMS: Final[Mapping[str, Claim]] = {
    name: Claim(thread, lock)
    for names, thread, lock in ROW.findall(" ".join((getdoc(Stage) or "").split()))
    for name in re.findall(r"`(\w+)`", names)
}


PAGE = Path(__file__).parents[2].joinpath("docs", "architecture.md").read_text(encoding="utf-8")


class OwnedLock:
    """A re-entrant lock for a fake. `held` is whether the current thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owners: list[int] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owners.append(get_ident())

    def __exit__(self, *_: object) -> None:
        self._owners.pop()
        self._lock.release()

    @property
    def held(self) -> bool:
        return get_ident() in self._owners

    @property
    def free(self) -> bool:
        return not self._owners


class Seen(NamedTuple):
    """One call of a method of a stage: the thread, whether it holds the lock, and the Call (None in `leftovers`)."""

    method: str
    thread: int
    held: bool
    call: Call | None


class Witness(Stage):
    """Notes each call of each of its methods. With `parties`, so many threads meet in each method without the lock."""

    def __init__(self, lock: OwnedLock, parties: int, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.seen: list[Seen] = []
        self._lock = lock
        self._inside = dict.fromkeys(METHODS, 0)
        self._numbers: list[tuple[str, int]] = []
        """Of each call: the method, and the number of threads in it."""
        free = [name for name, claim in CLAIMS.items() if claim.lock == "without" and name != "leftovers"]
        self.meeting = {name: threading.Barrier(parties, timeout=5) for name in free if parties}

    @property
    def most(self) -> dict[str, int]:
        """The largest number of threads in each method at the same time."""
        return {
            method: max((number for name, number in self._numbers if name == method), default=0) for method in METHODS
        }

    def note(self, method: str, call: Call | None) -> None:
        self.seen.append(Seen(method, get_ident(), self._lock.held, call))
        self._inside[method] += 1  # no function is called in this line, so that no other thread runs
        self._numbers.append((method, self._inside[method]))
        if method in self.meeting:
            with suppress(BrokenBarrierError):
                self.meeting[method].wait()
        self._inside[method] -= 1


def _noting(name: str) -> Any:
    def method(self: Witness, *arguments: Any) -> Any:
        self.note(name, arguments[0] if arguments else None)
        return getattr(Stage, name)(self, *arguments)

    return method


for _name in METHODS:
    setattr(Witness, _name, _noting(_name))


def question(*blank: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call that names the thread which makes it. A blank text in it breaks a rule."""
    content = [{"text": "hi"}, *blank]
    return {
        "modelId": MODEL,
        "system": [{"text": str(get_ident())}],
        "messages": [{"role": "user", "content": content}],
    }


def ask_all(client: Any) -> None:
    """One whole answer, one stream and one refusal."""
    client.converse(**question())
    assert [*client.converse_stream(**question())["stream"]]
    with pytest.raises(ClientError):
        client.converse(**question({"text": " "}))


def check_locks(seen: Sequence[Seen]) -> None:
    held: dict[str, set[bool]] = {}
    for each in seen:
        held.setdefault(each.method, set()).add(each.held)
    said = {"under": [True], "without": [False], "with or without": [False, True]}
    assert {name: sorted(each) for name, each in held.items()} == {
        name: said[claim.lock] for name, claim in CLAIMS.items()
    }


@pytest.mark.needs_os
def test_threads_and_locks_of_each_method() -> None:
    assert [*CLAIMS] == sorted(METHODS, key=[*CLAIMS].index), "a method has no row in the docstring of Stage"
    lock = OwnedLock()
    with fake_converse(keep_calls=1, unexpected="allow") as fake:
        fake.endpoint.lock = lock
        fake.always(reply.text("hi"))
        witness = fake.endpoint.add(partial(Witness, lock, 2))
        client = create_client()
        together([partial(ask_all, client)] * 2)
        witness.meeting.clear()

        begun: list[Any] = []
        together([lambda: begun.extend(client.converse_stream(**question())["stream"] for _ in range(2))])
        assert [*begun.pop()]
        read_here = fake.calls.last
        fake.when(lambda call: begun.pop().close()).script(reply.text("never").optional())
        client.converse(**question())  # its condition ends another call under the lock, as a finalizer may do

    check_locks(witness.seen)
    one_at_a_time = [name for name, claim in CLAIMS.items() if claim.lock == "under"]
    assert [witness.most[name] for name in one_at_a_time] == [1] * len(one_at_a_time)
    several = [name for name, claim in CLAIMS.items() if claim == CLAIMS["instead"] or name == "usage"]
    assert [witness.most[name] for name in several] == [2] * len(several)

    arrived = [each for each in witness.seen if each.method in ("received", "refusal", "source")]
    numbers = [each.call.number for each in arrived if each.call is not None]
    assert numbers == sorted(numbers), "another call came in between"
    assert {*numbers} == {*range(1, 10)}

    for each in witness.seen:
        thread = CLAIMS[each.method].thread
        if each.call is None:
            assert (thread, each.thread) == ("the thread of the test", get_ident())
        elif each.method == "forgotten":  # the call that comes drops an older one
            assert each.thread in {int(other.call.system_text) for other in witness.seen if other.call is not None}
        elif each.call is read_here and thread != "the thread of the call":
            assert each.thread == get_ident() != int(each.call.system_text)
        elif each.method != "ended":
            assert each.thread == int(each.call.system_text)


def test_the_table_of_the_page_about_stages() -> None:
    """It has each method in the order of the class, and the same locks."""
    rows = re.findall(r"^\| `(\w+)\(.*?\)` \|.*\| (yes|no) \|[^|]*\|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == METHODS
    assert {name for name, lock in rows if lock == "yes"} == {
        name for name, claim in CLAIMS.items() if claim.lock == "under"
    }


def test_locks_of_a_forwarded_call(tmp_path: Path) -> None:
    fake, lock = Fake(), OwnedLock()
    fake.endpoint.lock = lock
    fake.core.writer = SessionWriter(tmp_path / "trip.jsonl")
    witness = fake.endpoint.add(partial(Witness, lock, 0))
    body = json.dumps({"messages": question({"text": " "})["messages"]}).encode()
    assert fake.core.exchange(Request("POST", f"/model/{MODEL}/converse", (), body)).captured is not None
    assert {each.method: each.held for each in witness.seen} == {"received": True, "accepted": False, "wanted": False}


@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_a_stage_fails_the_test(method: str) -> None:
    def fails(*_: object) -> None:
        raise ValueError(f"in {method}")

    fake, lock, raised = fake_converse(keep_calls=1, unexpected="allow"), OwnedLock(), list[Exception]()
    fake.endpoint.lock = lock
    fake.endpoint.add(type("Failing", (Stage,), {method: fails}))
    witness = fake.endpoint.add(partial(Witness, lock, 0))

    def ask_each() -> None:
        client = create_client()
        fake.always(reply.text("hi"))
        for streams in (False, True):
            for blank in ((), ({"text": " "},)):
                try:
                    if streams:
                        assert [*client.converse_stream(**question(*blank))["stream"]]
                    else:
                        client.converse(**question(*blank))
                except (ClientError, ValueError) as error:
                    raised.append(error)

    with pytest.raises(ValueError, match=f"in {method}"), fake:
        ask_each()

    assert lock.free
    assert [call.number for call in fake.calls] == [4]
    ended = [each.call.number for each in witness.seen if each.method == "ended" and each.call is not None]
    assert sorted(ended) == [1, 2, 3, 4]
    problems = [each for each in fake.endpoint.problems if isinstance(each, ValueError)]
    at_client = [each for each in raised if isinstance(each, ClientError) and f"ValueError: in {method}" in str(each)]
    if method in ("ended", "forgotten"):  # these do not answer the call
        assert (len(problems), at_client) == (4 if method == "ended" else 3, [])
    else:
        assert len(problems) == len(at_client)
    assert len([each for each in raised if isinstance(each, ValueError)]) == (method == "usage")


class Received(Stage):
    """Notes the numbers of the calls that arrive."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.numbers: list[int] = []

    def received(self, call: Call) -> None:
        self.numbers.append(call.number)


@pytest.mark.needs_os
@pytest.mark.parametrize("what", ["a stage is added", "a stage is removed", "a call arrives"])
def test_another_thread_attaches_a_stage_while(what: str) -> None:
    attaching, done, first = threading.Event(), threading.Event(), iter([True])
    attached: list[Received] = []

    class Slow(Received):
        def __init__(self, endpoint: Endpoint) -> None:
            super().__init__(endpoint)
            attached.append(self)

        def __getattribute__(self, name: str) -> Any:
            if name == "received" and next(first, False):
                attaching.set()
                done.wait(0.05)  # in vain if the other thread waits for this one, as it should
            return super().__getattribute__(name)

    fake = Fake()
    fake.always(reply.text("hi"))
    body = json.dumps({"messages": question()["messages"]}).encode()

    def ask() -> int:
        return fake.core.exchange(Request("POST", f"/model/{MODEL}/converse", (), body)).call.number

    removed, added = fake.endpoint.add(Received), list[Received]()

    def meanwhile() -> None:
        attaching.wait(5)
        match what:
            case "a stage is added":
                added.append(fake.endpoint.add(Received))
            case "a stage is removed":
                fake.endpoint.remove(removed)
            case _:
                ask()
        done.set()

    with watching(Slow):
        together([ask, meanwhile])
        last = ask()
    assert attached[0].numbers == [*range(1, last + 1)]
    assert [last in each.numbers for each in added] == [True] * len(added)
    assert (last in removed.numbers) == (what != "a stage is removed")


@pytest.mark.needs_os
def test_an_answer_ends_once() -> None:
    fake = Fake()
    fake.always(reply.text("hi"))
    lock = OwnedLock()
    witness = fake.endpoint.add(partial(Witness, lock, 0))
    body = json.dumps({"messages": question()["messages"]}).encode()
    for number in range(1, 51):
        exchange = fake.core.exchange(Request("POST", f"/model/{MODEL}/converse", (), body))
        together([partial(exchange.ended, outcome) for outcome in ("complete", "cut", "closed by client")])
        assert sum(each.method == "ended" for each in witness.seen) == number


@pytest.mark.needs_os
def test_no_reply_is_skipped_while_others_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without a reply asks whether the script has run out, while other calls take replies."""

    def left(slot: Slot) -> bool:
        found = slot.uses is None or len(slot.used_by) < slot.uses
        time.sleep(0)  # another thread runs between the look at a slot and the step to the next one
        return found

    monkeypatch.setattr(Slot, "left", property(left))
    fake, count = Fake(rules="off", unexpected="allow"), 20
    fake.when(last_user_text="scripted").script(*[reply.text(str(number)) for number in range(count)])

    def ask(text: str) -> None:
        body = json.dumps({"messages": [{"role": "user", "content": [{"text": text}]}]}).encode()
        for _ in range(count):
            fake.core.exchange(Request("POST", f"/model/{MODEL}/converse", (), body))

    together([partial(ask, "scripted"), *[partial(ask, "other")] * 4])
    assert [slot.used_by for _, slot in fake.endpoint.script.slots() if len(slot.used_by) != 1] == []


class OverBudget(Stage):
    def leftovers(self) -> Sequence[str | Exception]:
        return ["a line about what is not used", AssertionError("over budget")]


@pytest.mark.parametrize("unused", ["fail", "allow"])
def test_an_error_at_the_end_fails_whatever_may_stay_unused(unused: Literal["fail", "allow"]) -> None:
    with pytest.raises((UnusedReplies, AssertionError)) as raised, fake_converse(unused=unused) as fake:
        fake.endpoint.add(OverBudget)
    assert [str(each) for each in fake.failures()] == ["a line about what is not used"] * (unused == "fail") + [
        "over budget"
    ]
    assert str(raised.value) == str(fake.failures()[0])


class LeftReplies(Stage):
    """A stage that says what is unused. `asked` counts how often."""

    leaves_only_unused = True
    asked = 0

    def leftovers(self) -> Sequence[str]:
        self.asked += 1
        return ["one reply"]


def test_what_is_unused_is_not_collected_if_it_is_allowed() -> None:
    with fake_converse(unused="allow") as allowing:
        silent = allowing.endpoint.add(LeftReplies)
    strict = fake_converse()
    asked = strict.endpoint.add(LeftReplies)
    with pytest.raises(UnusedReplies, match="one reply"):
        strict.check()
    assert (silent.asked, asked.asked) == (0, 1)
