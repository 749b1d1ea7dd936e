"""Run a consumer with the replies of a fake, and judge its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol
from weakref import WeakKeyDictionary

import pytest

from converse_harness import reply
from converse_harness.contract.expectations import expectation_of, is_endless
from converse_harness.contract.failure_texts import Seen, Tried
from converse_harness.contract.judging import (
    FOLLOW_UP,
    HANDLED,
    NEXT_ANSWER,
    Flaw,
    Verdict,
    judge,
    judge_next,
    judge_results,
    mishandled,
)
from converse_harness.contract.outcome import Outcome
from converse_harness.contract.places import SHOWN_BY, unshown
from converse_harness.contract.running import (
    NEXT_QUESTION,
    PATIENT,
    QUESTION,
    SHORT_TIME,
    SetUpFailed,
    Target,
    refuse_other_runs,
    run,
)
from converse_harness.errors import CallError, ReplyError
from converse_harness.json_values import object_of
from converse_harness.reply.body import EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.settings import RuleLevel
from converse_harness.words import one_line

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call
    from converse_harness.intercept.fake import Fake
    from converse_harness.server.listener import ConverseServer


class Contract(Protocol):
    """The members of a ConsumerContract that a run of its consumer needs."""

    operation: ClassVar[str]
    time_limit: ClassVar[float]
    errors: ClassVar[Mapping[type[BaseException] | str, Iterable[str]]]
    most_calls: ClassVar[int]
    kinds: ClassVar[Sequence[str] | None]

    def consume(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Send the target's request with the consumer, and return the consumer's result."""
        ...

    def consume_next(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Send a second question of the same conversation."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether the consumer has a method `consume_next` of its own."""
        ...


_COMPARED: Final[Mapping[str, RuleLevel]] = {"*": "off", "tools_are_offered": "default"}
"""The levels at which answers are compared with what they need in the request. A contract sends what any model may
answer to any request, whatever this one asks for. Only dropped tools are noted, because `Target.request` has one.
"""


def offers_tool(kinds: Sequence[str] | None) -> bool:
    """Whether the consumer's request offers a tool: unless the setting `kinds` leaves out tool uses."""
    return kinds is None or "toolUse" in kinds


def opened(transport: str, replies: Sequence[Reply], server: Callable[[], ConverseServer]) -> Fake:
    """Open a fake that does not fail the test for unused replies and unexpected calls, because the verdict covers both.

    `replies` are the replies that it will send. `server` returns the running server. It is called only for the
    transport "server".
    """
    rules: dict[str, RuleLevel] = dict.fromkeys(_of_others(replies), "off")
    if transport == "server":
        return server().script(unused="allow", unexpected="allow", rules=rules, answers=_COMPARED)
    if transport == "httpx":
        from converse_harness.intercept.httpx.fake import HttpxFake

        fake: Fake = HttpxFake(unused="allow", unexpected="allow", rules=rules, answers=_COMPARED)
    else:
        from converse_harness.intercept.in_process import InProcessFake

        fake = InProcessFake(unused="allow", unexpected="allow", rules=rules, answers=_COMPARED)
    fake.core.before = partial(refuse_other_runs, fake)
    return fake.open()


def _of_others(replies: Sequence[Reply]) -> Iterator[str]:
    """Yield the rules of Claude by which it would refuse blocks that these replies have, and that it does not send.

    A contract asks a Claude, and its answers have the blocks of all models. A consumer that sends such a block back, as
    it came, makes no mistake.
    """
    for answer in replies:
        if not isinstance(answer.plan.body, MessageBody | EventsBody):
            continue
        deltas = [event["contentBlockDelta"] for event in answer.events() if "contentBlockDelta" in event]
        kinds = [(delta.get("contentBlockIndex"), name) for delta in deltas for name in _kinds_of(delta)]
        if {index for index, name in kinds if name == "text"} - {index for index, name in kinds if name == "signature"}:
            yield "claude_thoughts_are_signed"
        if any(name == "image" for _, name in kinds):
            yield "media_are_the_users"
        items = [object_of(item) for delta in deltas for item in object_of(delta.get("delta")).get("toolResult", ())]
        if any(item.get("text") == "" for item in items):
            yield "claude_results_have_texts"


def _kinds_of(delta: Mapping[str, Any]) -> Iterable[str]:
    """Return "image" for the delta of an image, and the members of a delta of reasoning."""
    members = object_of(delta.get("delta"))
    return ("image",) if "image" in members else object_of(members.get("reasoningContent"))


def attempt(contract: Contract, name: str, replies: Sequence[Reply], fake: Fake) -> Tried:
    """Run the contract's consumer with an open fake that sends these replies, judge the result, and close the fake."""
    with closing(fake):
        verdict, outcome, requests = _put(contract, fake, replies)
    try:
        fake.check()
    except CallError:
        if outcome is not None:  # after its fake was closed, a stopped consumer may send requests, which are no error
            raise
    return Tried(replies, Seen(name, contract.operation, verdict, outcome, requests, fake.calls), fake)


@contextmanager
def in_full_once(contract: type[Contract], name: str) -> Generator[None]:
    """Run a `with` block for the test `name`. If an earlier test raised the same error, skip the test.

    One mistake of an adapter fails in many cases in the same way, and says nothing about the consumer in any of them.
    """
    try:
        yield
    except (SetUpFailed, ReplyError) as error:
        first = _RAISED.setdefault(contract, {}).setdefault(str(error), name)
        if first == name:
            raise
        pytest.skip(f"{type(error).__name__}, as in {first}: {one_line(str(error))[:_SHOWN]}...")


_SHOWN: Final = 80
_RAISED: Final[WeakKeyDictionary[type[Contract], dict[str, str]]] = WeakKeyDictionary()
"""Maps each contract to the errors of its adapter: the text of each error, and the test that raised the error in full.
"""


def _put(contract: Contract, fake: Fake, replies: Sequence[Reply]) -> tuple[Verdict, Outcome | None, int]:
    _answer(fake, replies, contract.operation, goes_on=bool(expectation_of(replies).answers))
    patience = SHORT_TIME if any(map(_is_silent, replies)) else PATIENT
    target = Target(fake, contract.operation, patience, offers_tool(contract.kinds))
    outcome = run(contract.consume, target, time_limit=contract.time_limit, most_calls=contract.most_calls)
    calls = fake.calls.all
    if len(calls) > contract.most_calls:
        return mishandled(Flaw.ENDLESS, f"more than {contract.most_calls} requests"), None, contract.most_calls
    if outcome is None:
        return mishandled(Flaw.HANGS, f"it was stopped after {contract.time_limit:g} s"), None, len(calls)
    _check_kinds(contract, outcome, calls)
    expected = expectation_of(replies, len(fake.calls))
    verdict = judge(expected, outcome, calls, errors=contract.errors)
    if verdict == HANDLED and target.ran:
        verdict = judge_results(fake.calls, target.ran)
    if verdict == HANDLED and contract.remembers:
        verdict = _put_next(contract, replace(target, question=NEXT_QUESTION), len(fake.calls))
    return verdict, outcome, len(calls)


def _put_next(contract: Contract, target: Target, before: int) -> Verdict:
    """Ask the consumer the second question, after `before` calls, and judge its result."""
    target.fake.when(last_user_text=f"*{NEXT_QUESTION}*").always(reply.text(NEXT_ANSWER))
    outcome = run(
        contract.consume_next, target, time_limit=contract.time_limit, most_calls=before + contract.most_calls
    )
    calls = target.fake.calls[before:]
    if len(calls) > contract.most_calls:
        return mishandled(Flaw.ENDLESS, f"next question: more than {contract.most_calls} requests")
    if outcome is None:
        return mishandled(Flaw.HANGS, f"next question: it was stopped after {contract.time_limit:g} s")
    if not calls and outcome.error is None:
        raise SetUpFailed(
            f"consume_next returned {outcome!r}, and the consumer asked nothing. Let it send the question of "
            "target.request in the conversation that `consume` began."
        )
    return judge_next(outcome, calls, QUESTION)


def _check_kinds(contract: Contract, outcome: Outcome, calls: Sequence[Call]) -> None:
    """Raise SetUpFailed if the setting `kinds` names a kind of blocks that was sent but is not in `outcome`."""
    if contract.kinds is None or outcome.error is not None:
        return
    kind = unshown(outcome, calls, contract.kinds)
    if kind is not None:
        *others, last = (f"`{place}`" for place in SHOWN_BY[kind])
        raise SetUpFailed(
            f"The contract's `kinds` names {kind!r}, and the Outcome does not show it, so that it cannot be judged. "
            f"Return it as {', '.join(others)} or {last} of the Outcome, or leave {kind!r} out of `kinds`."
        )


def _answer(fake: Fake, replies: Sequence[Reply], operation: str, *, goes_on: bool) -> None:
    """Give the fake a script with the replies in order.

    If `goes_on` is true, the fake answers all later calls with FOLLOW_UP. Otherwise it answers later calls that contain
    tool results with FOLLOW_UP, and all other later calls with the last reply again. A call of another operation than
    the contract's gets FOLLOW_UP too: most broken streams cannot answer Converse.
    """
    follow_up = reply.text(FOLLOW_UP)

    def again(call: Call) -> Reply:
        return follow_up if call.tool_results or call.operation != operation else replies[-1].times(1)

    if ordered := replies if goes_on else replies[:-1]:
        fake.script(*ordered)
    fake.always(follow_up if goes_on else again)


def _is_silent(answer: Reply) -> bool:
    """Whether an answer, or the rest of it, never arrives, so that the client waits until its timeout."""
    faults = [placement.fault for placement in answer.plan.placements]
    return any(fault.name in ("connect_timeout", "read_timeout") or is_endless(fault) for fault in faults)
