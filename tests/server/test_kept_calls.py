"""How many calls the fakes of a server keep, what each of them keeps, and what is said of the others."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from converse_harness import ConverseServer, reply
from converse_harness.server.mounts import ServerFake
from converse_harness.settings import ONLY_SERVER
from converse_harness.stream.http import Request
from tests.server.peers import Raw

BOUND = ONLY_SERVER["keep_calls"]
REQUEST = Request("POST", "/model/m/converse", (), b'{"messages": []}')

MOUNTED: list[Callable[..., ServerFake]] = [ConverseServer.script, ConverseServer.answer_all]


def received(fake: ServerFake, count: int) -> None:
    """Let calls arrive as they do from a socket, without their answers."""
    for _ in range(count):
        fake.endpoint.receive(REQUEST)


@pytest.mark.parametrize("opens", MOUNTED, ids=lambda opens: opens.__name__)
def test_a_fake_of_a_server_keeps_as_many_calls_as_serve_and_notes_the_first_that_it_lets_go(
    server: ConverseServer, opens: Callable[..., ServerFake]
) -> None:
    assert inspect.signature(opens).parameters["keep_calls"].default == BOUND
    fake = opens(server)
    received(fake, BOUND)
    assert (len(fake.calls), fake.endpoint.notes) == (BOUND, [])
    received(fake, 2)
    assert [fake.calls[0].number, len(fake.calls), fake.endpoint.received] == [3, BOUND, BOUND + 2]
    (note,) = fake.notes
    assert (note.kind, note.call) == ("calls_let_go", 1)
    assert f"keeps its last {BOUND:,} calls" in note.text
    assert "keep_calls=None" in note.text
    assert '"keep_calls": null' in note.json
    fake.close()


@pytest.mark.parametrize(("kept", "left"), [(3, 3), (None, BOUND + 1)])
def test_a_number_that_the_test_gives_wins_and_makes_no_note(
    server: ConverseServer, kept: int | None, left: int
) -> None:
    fake = server.script(keep_calls=kept)
    received(fake, BOUND + 1)
    assert (len(fake.calls), fake.notes) == (left, [])
    fake.close()


def test_a_server_with_settings_of_its_own_gives_its_number(server: ConverseServer) -> None:
    server.settings = {"keep_calls": 2}
    fake = server.script()
    received(fake, 5)
    assert (len(fake.calls), fake.notes) == (2, [])
    fake.close()


def test_a_test_that_makes_a_few_calls_sees_all_of_them(server: ConverseServer) -> None:
    with server.script(reply.text("hi").times(20)) as fake, Raw(fake.url) as peer:
        for _ in range(20):
            assert peer.ask(fake.url).status == 200
        assert [call.number for call in fake.calls] == [*range(1, 21)]


def tracked(found: Any, beside: tuple[type, ...] = ()) -> list[Any]:
    """The objects that the garbage collector visits, beginning with this one and without objects of these classes."""
    seen: dict[int, Any] = {}
    waiting = [found]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, (type, *beside)) and gc.is_tracked(each):
            seen[id(each)] = each
            waiting += gc.get_referents(each)
    return [*seen.values()]


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_what_a_client_was_sent_is_one_object_for_the_collector(server: ConverseServer, operation: str) -> None:
    with server.script(reply.text("one two three four five six")) as fake, Raw(fake.url) as peer:
        assert peer.ask(fake.url, operation).status == 200
        (call,) = fake.calls
        gc.collect()  # which sees that a tuple contains nothing to visit
        # The frames are those of the reply, for all calls that it answers.
        assert tracked(call.answered.taken, (list,)) == [call.answered.taken]
        assert call.response is not None
        assert call.response.message["content"] == [{"text": "one two three four five six"}]
