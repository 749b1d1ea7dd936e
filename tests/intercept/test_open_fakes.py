"""The table in the docstring of OpenFakes: the answers to its four questions, in each situation."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from converse_harness import BlockedConnection
from converse_harness.intercept.exchange import RefusingFake
from converse_harness.intercept.registry import OPEN_FAKES, OpenFakes, forwarding

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
LOCAL = "http://127.0.0.1:8000"
HEAD, _, *ROWS = (
    [cell.strip() for cell in line.strip(" |").split("|")]
    for line in str(OpenFakes.__doc__).splitlines()
    if line.lstrip().startswith("|")  # from Python 3.13 on, docstrings are not indented
)
TABLE = {situation: dict(zip(HEAD[1:], answers, strict=True)) for situation, *answers in ROWS}


class Named(RefusingFake):
    """A fake by its name in the table."""

    is_recording = False

    @property
    def records(self) -> bool:
        return self.is_recording


class Situation:
    """Puts this process into a situation; `names` are the fakes in it by their names in the table."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.names = {name: Named(name) for name in ("newest", "chosen", "of the call", "of the thread", "fallback")}

    def fallback(self) -> None:
        OPEN_FAKES.set_fallback(self.names["fallback"])

    def thread(self) -> None:
        """Call this in the thread that outlives the fake."""
        self.fallback()
        inherits = threading.current_thread()
        ready, done = threading.Event(), threading.Event()

        def outlive() -> None:
            with OPEN_FAKES.one_call("Converse", HOST, lambda error, endpoint: None):
                pass
            ready.set()
            done.wait(10)
            OPEN_FAKES.inherit(inherits)

        OPEN_FAKES.open(self.names["of the thread"])
        other = threading.Thread(target=outlive)
        other.start()
        ready.wait(10)
        OPEN_FAKES.close(self.names["of the thread"])
        done.set()
        other.join()

    def fakes(self) -> None:
        self.thread()
        self.open("chosen", boto=True)
        self.open("newest", boto=False)

    def call(self) -> None:
        self.open("of the call", boto=True)
        self._stack.enter_context(OPEN_FAKES.one_call("Converse", HOST, lambda error, endpoint: None))
        self.fakes()

    def closed_call(self) -> None:
        self.call()
        OPEN_FAKES.close(self.names["of the call"])

    def open(self, name: str, *, boto: bool) -> None:
        self._stack.enter_context(OPEN_FAKES.opened(self.names[name], boto=boto))

    def answers(self, endpoint: str = HOST) -> dict[str, str]:
        """The answers to the four questions now, by their names in the table."""
        return {name: self._answer(name, *[endpoint] * (name == "answerer")) for name in HEAD[1:]}

    def _answer(self, question: str, *arguments: str) -> str:
        try:
            answer: Any = getattr(OPEN_FAKES, question)(*arguments)
        except BlockedConnection:
            return "raises"
        return "None" if answer is None else str(answer.message)


SITUATIONS: dict[str, Callable[[Situation], None]] = {
    "a call runs, its fake is open": Situation.call,
    "a call runs, its fake is closed": Situation.closed_call,
    "no call runs, a fake is open": Situation.fakes,
    "no fake, the thread outlived one": Situation.thread,
    "no fake, a fallback is set": Situation.fallback,
    "none of these": lambda situation: None,
}


@pytest.fixture
def situation() -> Iterator[Situation]:
    before = OPEN_FAKES.set_fallback(None)
    with ExitStack() as stack:
        yield Situation(stack)
    OPEN_FAKES.forget_threads()
    OPEN_FAKES.set_fallback(before)


def test_the_table_has_each_situation() -> None:
    assert list(TABLE) == list(SITUATIONS)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_answers_are_those_of_the_table(situation: Situation, name: str) -> None:
    SITUATIONS[name](situation)
    assert situation.answers() == TABLE[name]


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("exception", ["forwarding", "records"])
def test_nothing_is_blocked_while_calls_are_forwarded_or_recorded(
    situation: Situation, name: str, exception: str
) -> None:
    SITUATIONS[name](situation)
    expected = TABLE[name] | {"fake_that_blocks": "None", "blocker": "None"}
    if exception == "forwarding":
        with forwarding():
            assert situation.answers() == expected
        return
    for each, fake in situation.names.items():
        fake.is_recording = each != "fallback" or name == "no fake, a fallback is set"
    if name == "a call runs, its fake is closed":
        expected["answerer"] = "of the call"
    if name == "no fake, the thread outlived one":
        expected = TABLE[name]  # the fake is closed, so it records no call of the thread
    assert situation.answers() == expected


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_request_to_this_machine_passes_beside_fakes_of_other_transports(situation: Situation, name: str) -> None:
    SITUATIONS[name](situation)
    OPEN_FAKES.close(situation.names["chosen"])  # the fake that remains does not answer boto clients
    passes = not name.startswith("a call")
    assert situation.answers(LOCAL)["answerer"] == ("None" if passes else TABLE[name]["answerer"])
