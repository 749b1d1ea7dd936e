"""ConsumerContract: the tests that anybody's consumer of Bedrock's answers must pass."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import pytest

from converse_harness import reply
from converse_harness.cases import CASES, Case, UnknownCase
from converse_harness.contract.expectations import expectation_of
from converse_harness.contract.outcome import PATIENT, SHORT, Outcome, Target
from converse_harness.contract.properties import PROPERTIES, Property
from converse_harness.contract.running import Adapter, run
from converse_harness.contract.verdicts import FOLLOW_UP, Flaw, Level, Verdict, error_name, judge, mishandled
from converse_harness.damage import Door
from converse_harness.errors import ReplyError
from converse_harness.plugins.contracts import VERDICT
from converse_harness.replies import Reply

if TYPE_CHECKING:
    from converse_harness.calls import Call
    from converse_harness.doors.fake import Fake

OPERATIONS: Final = ("ConverseStream", "Converse")
DOORS: Final[Mapping[str, Door]] = {door.value: door for door in (Door.BOTO, Door.HTTPX, Door.SERVER)}


class NotHandled(AssertionError):
    """The consumer mishandled or refused an answer; the verdict says how."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one case: what the consumer made of it, with how many requests, and what that is called."""

    case: str
    operation: str
    verdict: Verdict
    outcome: Outcome | None
    requests: int

    @property
    def told(self) -> dict[str, Any]:
        """The same as plain values, for JSON; an error by its name."""
        outcome = self.outcome or Outcome()
        calls = [
            [call.name, call.input if isinstance(call.input, str) else dict(call.input)] for call in outcome.tool_calls
        ]
        return {
            "verdict": self.verdict.words,
            "requests": self.requests,
            "text": outcome.text,
            "tool_calls": calls,
            "stop_reason": outcome.stop_reason,
            "error": error_name(outcome.error),
            "why": self.verdict.why,
        }


class ConsumerContract:
    """Subclass it as `TestSomething` and write `consume`: every case of the catalogue becomes a test of the consumer.

    Settings are attributes of the class. `door` is how the consumer reaches the fake: "boto" (any boto client of the
    process), "httpx" or "server" (by URL); `operation` what it calls. `known` has the cases and properties that it
    knowingly does not handle, each with the reason: they are expected to fail, and fail the test when they do not.
    `time_limit` is in seconds. `errors` says what the consumer's own errors stand for, by class or name: names of
    errors of AWS, and "ContextOverflow" for a conversation that is too long. `most_calls` is how often it may ask.
    `kinds` are the blocks of drawn answers, `examples` how many are drawn for each property.

    >>> class TestMine(ConsumerContract):
    ...     known = {"bad_crc": "it does not look at checksums"}
    ...
    ...     def consume(self, target: Target) -> Outcome:
    ...         answer = target.client.converse_stream(**target.request)
    ...         ...
    """

    door: ClassVar[str] = "boto"
    operation: ClassVar[str] = "ConverseStream"
    known: ClassVar[Mapping[str, str]] = {}
    time_limit: ClassVar[float] = 10.0
    errors: ClassVar[Mapping[type[BaseException] | str, Iterable[str]]] = {}
    most_calls: ClassVar[int] = 50
    kinds: ClassVar[Sequence[str]] = ("text", "toolUse", "reasoningContent")
    examples: ClassVar[int] = 20

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check(cls)

    def consume(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Ask the target with the consumer, and say what it made of the answer; may be a coroutine function.

        What it raises after the first request is the consumer's error; what it raises before is one of the adapter.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `consume`: ask `target`, and return an Outcome.")

    def seen(self, seen: Seen) -> None:
        """Called with what was seen of each case, before the verdict decides the test; for reports of your own."""

    @classmethod
    def cases(cls) -> list[str]:
        """The names of the cases that the operation can have and the door can express."""
        door = DOORS[cls.door]
        return [
            name
            for name, case in CASES.items()
            if (cls.operation == "ConverseStream" or not case.stream_only)
            and all(door in breach.fault.doors for answer in case.replies for breach in answer.breaches)
        ]

    # The tests

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each case that the door and the operation allow, and one for each property."""
        if "contract_case" in metafunc.fixturenames:
            metafunc.parametrize("contract_case", list(self._marked(self.cases())))
        if "contract_property" in metafunc.fixturenames:
            metafunc.parametrize("contract_property", list(self._marked(PROPERTIES)))

    def _marked(self, names: Iterable[str]) -> Iterator[Any]:
        for name in names:
            reason = self.known.get(name)
            marks = () if reason is None else [pytest.mark.xfail(reason=reason, raises=NotHandled, strict=True)]
            yield pytest.param(name, marks=marks, id=name)

    @pytest.fixture
    def contract_seen(self, contract_case: str, request: pytest.FixtureRequest) -> Seen:
        """What the consumer makes of a case. Here, so that what goes wrong before it asks is an error of the set-up."""
        case = CASES[contract_case]
        verdict, outcome, requests = self._put(case.replies, request)
        return Seen(case.name, self.operation, verdict, outcome, requests)

    def test_case(self, contract_seen: Seen, request: pytest.FixtureRequest) -> None:
        """What the consumer makes of a case is what it must make of it."""
        __tracebackhide__ = True
        self.seen(contract_seen)
        _note(request, contract_seen.case, contract_seen.verdict)
        _pass(contract_seen.verdict, CASES[contract_seen.case])

    def test_property(self, contract_property: str, request: pytest.FixtureRequest) -> None:
        """What holds for every answer holds for those that hypothesis draws."""
        __tracebackhide__ = True
        found = PROPERTIES[contract_property]
        worst: list[Verdict] = []

        def put(answer: Reply) -> None:
            verdict, _, _ = self._put([answer], request)
            if verdict.level is not Level.HANDLED:
                worst.append(verdict)
                _pass(verdict, found)

        try:
            found.check(put, operation=self.operation, door=self.door, kinds=self.kinds, examples=self.examples)
        finally:
            _note(request, contract_property, worst[-1] if worst else Verdict(Level.HANDLED))

    def _put(self, replies: Sequence[Reply], request: pytest.FixtureRequest) -> tuple[Verdict, Outcome | None, int]:
        """Answer the consumer so, and judge what it makes of it."""
        expected = expectation_of(replies)
        fake = _opened(self.door, request)
        try:
            _answer(fake, replies, goes_on=bool(expected.answers))
            target = Target(fake, self.operation, SHORT if any(map(_is_silent, replies)) else PATIENT)
            outcome = run(self.consume, target, self.time_limit)
            calls = fake.calls
        finally:
            fake.close()
        if outcome is None:
            if len(calls) > self.most_calls:
                return mishandled(Flaw.ENDLESS, f"it was stopped after {self.time_limit:g} s"), None, self.most_calls
            return mishandled(Flaw.HANGS, f"it was stopped after {self.time_limit:g} s"), None, len(calls)
        fake.check()
        verdict = judge(expected, outcome, calls, most_calls=self.most_calls, errors=self.errors)
        return verdict, outcome, len(calls)


def consumer_contract(adapter: Adapter, **settings: Any) -> type[ConsumerContract]:
    """A ConsumerContract of a function that takes a Target and returns an Outcome; `settings` are its attributes.

    Give it to a name that pytest collects. Raises ReplyError for what is no setting, and for an unknown case in
    `known`.

    >>> def ask(target: Target) -> Outcome: ...
    >>> TestMine = consumer_contract(ask, known={"bad_crc": "it does not look at checksums"})
    """
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise ReplyError(f"consumer_contract({unknown[0]}=...): no setting. Settings: {', '.join(SETTINGS)}.")

    def consume(self: ConsumerContract, target: Target) -> Outcome | Awaitable[Outcome]:
        return adapter(target)

    return cast("type[ConsumerContract]", type("Contract", (ConsumerContract,), {"consume": consume, **settings}))


SETTINGS: Final = ("door", "operation", "known", "time_limit", "errors", "most_calls", "kinds", "examples")


def _check(contract: type[ConsumerContract]) -> None:
    """Raises ReplyError for a setting that is none, at the line that wrote it."""
    where = contract.__name__
    for name, value, allowed in (("door", contract.door, DOORS), ("operation", contract.operation, OPERATIONS)):
        if value not in allowed:
            raise ReplyError(f"{where}.{name} = {value!r}; one of {', '.join(map(repr, allowed))}.")
    for name, reason in contract.known.items():
        if name not in PROPERTIES:
            try:
                case = CASES[name]
            except UnknownCase as error:
                raise UnknownCase(f"{where}.known: {error} Properties: {', '.join(PROPERTIES)}.") from None
            if name not in contract.cases():
                why = (
                    "only a stream can be so" if case.stream_only and contract.operation == "Converse" else "it is not"
                )
                raise ReplyError(f"{where}.known: {name!r} is no test of this contract: {why}. Leave it out.")
        if type(reason) is not str or not reason.strip():
            raise ReplyError(f"{where}.known[{name!r}] = {reason!r}; say why, in a text.")


def _opened(door: str, request: pytest.FixtureRequest) -> Fake:
    """A fake that leaves it to the verdict what an unused reply or a refused request means."""
    if DOORS[door] is Door.SERVER:
        return cast("Fake", request.getfixturevalue("converse_server").script(unused="allow", unexpected="allow"))
    if DOORS[door] is Door.HTTPX:
        from converse_harness.doors.httpx import HttpxFake

        return HttpxFake(unused="allow", unexpected="allow").open()
    from converse_harness.doors.in_process import BotoFake

    return BotoFake(unused="allow", unexpected="allow").open()


def _answer(fake: Fake, replies: Sequence[Reply], *, goes_on: bool) -> None:
    """The replies in order; then the last again where it must fail, and FOLLOW_UP to whatever else is asked."""
    *first, last = replies
    follow_up = reply.text(FOLLOW_UP)
    if goes_on:
        fake.script(*replies)
        fake.always(follow_up)
        return
    fake.script(*first)

    def again(call: Call) -> Reply:
        return follow_up if call.tool_results else last.times(1)

    fake.always(again)


def _is_silent(answer: Reply) -> bool:
    """Whether a client waits in vain for an answer, or for the rest of one."""
    return any(breach.fault.name in ("connect_timeout", "read_timeout", "stall") for breach in answer.breaches)


def _note(request: pytest.FixtureRequest, name: str, verdict: Verdict) -> None:
    item = cast("pytest.Function", request.node)
    told = {"contract": type(item.instance).__name__, "test": name, "verdict": verdict.words, "why": verdict.why}
    item.user_properties.append((VERDICT, json.dumps(told, ensure_ascii=False)))


def _pass(verdict: Verdict, case: Case | Property) -> None:
    __tracebackhide__ = True
    if verdict.level is not Level.HANDLED:
        why = f"\n\n  seen  {verdict.why}" if verdict.why else ""
        raise NotHandled(f"{case.name}: {verdict.words}.{why}\n  sent  {case.sentence}\n  must  {case.must}")
