"""Test your own code, the consumer, with every case of the catalogue and with generated answers.

One adapter runs the consumer and returns its result; the contract decides whether the result is right:

    from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall

    class TestMyClient(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            answer = MyClient(target.client).ask(...)
            return Outcome(answer.text, [ToolCall(call.name, call.input) for call in answer.calls], answer.stop_reason)

`pytest` then runs a test for each case, and prints a table of the verdicts at the end. For an adapter that is a
function, write `TestMyClient = consumer_contract(ask)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import pytest

from converse_harness import bedrock, reply
from converse_harness.cases import CASES, UnknownCase
from converse_harness.contract.expectations import OVERFLOW, PROPERTIES, Unending, block_kinds, expectation_of
from converse_harness.contract.running import PATIENT, SHORT_TIME, Adapter, Outcome, SetUpFailed, Target, ToolCall, run
from converse_harness.contract.verdicts import (
    FOLLOW_UP,
    HANDLED,
    Flaw,
    NotHandled,
    Seen,
    Tried,
    Verdict,
    VerdictLevel,
    failure,
    judge,
    mishandled,
    note,
)
from converse_harness.errors import CallError, ReplyError
from converse_harness.faults.model import Transport
from converse_harness.plugin.settings import own_fakes
from converse_harness.reply.reply import Reply

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call
    from converse_harness.intercept.fake import Fake


__all__ = [
    "ConsumerContract",
    "Flaw",
    "NotHandled",
    "Outcome",
    "Seen",
    "SetUpFailed",
    "Target",
    "ToolCall",
    "Verdict",
    "VerdictLevel",
    "consumer_contract",
]


class ConsumerContract:
    """The base class of tests of a consumer: code that reads answers of Bedrock. Each case becomes one test.

    Write a subclass named `TestSomething` with a method `consume`. The settings are attributes of the subclass:

    * `transport`: the way to the fake: "boto" (any boto client of the process), "httpx" or "server" (by URL);
    * `operation`: the operation that the consumer calls;
    * `known`: maps each case or property that the consumer does not handle to the reason. The tests of these cases and
      properties must fail, as with a strict xfail;
    * `time_limit` and `most_calls`: the most seconds and requests that the consumer may use for one answer;
    * `errors`: maps the consumer's own errors, by class or name, to names of AWS errors, or to "ContextOverflow" for a
      conversation that is too long;
    * `kinds`: the kinds of blocks in generated answers;
    * `examples`: the number of generated answers for each property.

    An invalid setting raises ReplyError when Python executes the `class` statement.

    >>> class TestMine(ConsumerContract):
    ...     known = {"bad_crc": "it does not look at checksums"}
    ...
    ...     def consume(self, target: Target) -> Outcome:
    ...         answer = target.client.converse_stream(**target.request)
    ...         ...
    """

    transport: ClassVar[str] = "boto"
    operation: ClassVar[str] = "ConverseStream"
    known: ClassVar[Mapping[str, str]] = {}
    time_limit: ClassVar[float] = 10.0
    errors: ClassVar[Mapping[type[BaseException] | str, Iterable[str]]] = {}
    most_calls: ClassVar[int] = 50
    kinds: ClassVar[Sequence[str]] = ("text", "toolUse", "reasoningContent")
    examples: ClassVar[int] = 50

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check(cls, cls.__name__)

    def consume(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Send the target's request with the consumer, and return the consumer's result.

        The method may be a coroutine function. An exception after the first request counts as an error of the consumer.
        An earlier exception counts as a mistake in this method.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `consume`: ask `target`, and return an Outcome.")

    def seen(self, seen: Seen) -> None:
        """Do nothing. Each test of a case calls this method with a Seen; override it for your own reports."""

    @classmethod
    def cases(cls) -> list[str]:
        """The names of the cases that are possible with the contract's operation and transport."""
        transport = cls.transport
        return [
            name
            for name, case in CASES.items()
            if (cls.operation == "ConverseStream" or not case.stream_only)
            and all(
                transport in placement.fault.transports for answer in case.replies for placement in answer.placements
            )
        ]

    # The tests

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test for each possible case (see `cases`) and one test for each property."""
        if "contract_case" in metafunc.fixturenames:
            metafunc.parametrize("contract_case", list(self._marked(self.cases())))
        if "contract_property" in metafunc.fixturenames:
            metafunc.parametrize("contract_property", list(self._marked(PROPERTIES)))

    def _marked(self, names: Iterable[str]) -> Iterator[Any]:
        for name in names:
            reason = self.known.get(name)
            marks = () if reason is None else [pytest.mark.xfail(reason=reason, raises=NotHandled, strict=True)]
            yield pytest.param(name, marks=marks, id=name)

    # The consumer runs in fixtures: if it raises before its first request, pytest then reports an error and not a
    # failure. The names of the fixtures begin with _, so that `pytest --fixtures` does not list them. For such a name,
    # ruff assumes that the fixture has no value; therefore the noqa comments for PT019.

    @pytest.fixture
    def _contract_tried(self, contract_case: str, request: pytest.FixtureRequest) -> Tried:
        """Run the consumer with the replies of one case."""
        return self._try(contract_case, CASES[contract_case].replies, request)

    def test_case(self, contract_case: str, _contract_tried: Tried, request: pytest.FixtureRequest) -> None:  # noqa: PT019
        """The consumer handles the case as the contract requires."""
        __tracebackhide__ = True
        tried = _contract_tried
        self._keep(tried, request)
        self.seen(tried.seen)
        _fail(failure(tried, CASES[contract_case], _name_of(request)))

    @pytest.fixture
    def _contract_worst(
        self, contract_property: str, request: pytest.FixtureRequest
    ) -> tuple[Tried | None, NotHandled | None]:
        """Search for the smallest generated answer that the consumer does not handle.

        Return the run with this answer, and the exception for the test. Both are None if the consumer handles all
        generated answers.
        """
        found = PROPERTIES[contract_property]
        worst: Tried | None = None

        def put(answer: Reply) -> None:
            nonlocal worst
            tried = self._try(contract_property, [answer], request)
            error = failure(tried, found, _name_of(request))
            if error is not None:
                worst = tried
                raise Unending(error) if tried.seen.outcome is None else error

        try:
            found.check(
                put, operation=self.operation, transport=self.transport, kinds=self.kinds, examples=self.examples
            )
        except NotHandled as error:
            return worst, error
        return None, None

    def test_property(
        self,
        contract_property: str,
        _contract_worst: tuple[Tried | None, NotHandled | None],  # noqa: PT019
        request: pytest.FixtureRequest,
    ) -> None:
        """The property holds for all answers that hypothesis generates."""
        __tracebackhide__ = True
        tried, error = _contract_worst
        self._keep(tried, request)
        _fail(error)

    def _keep(self, tried: Tried | None, request: pytest.FixtureRequest) -> None:
        """Attach two things to the test: the verdict for the table of verdicts, and the fake for a failure report."""
        item = cast("pytest.Function", request.node)
        name = item.callspec.id
        note(item, name, HANDLED if tried is None else tried.seen.verdict, self.known.get(name))
        if tried is not None:
            own_fakes(item).append(tried.fake)

    def _try(self, name: str, replies: Sequence[Reply], request: pytest.FixtureRequest) -> Tried:
        """Run the consumer with a fake that sends these replies, and judge the consumer's result."""
        fake = _opened(self.transport, request)
        try:
            verdict, outcome, requests = self._put(fake, replies)
        finally:
            fake.close()
        try:
            fake.check()
        except CallError:
            if outcome is not None:  # a stopped consumer may have sent requests after its fake was closed
                raise
        return Tried(replies, Seen(name, self.operation, verdict, outcome, requests), fake)

    def _put(self, fake: Fake, replies: Sequence[Reply]) -> tuple[Verdict, Outcome | None, int]:
        expected = expectation_of(replies)
        _answer(fake, replies, goes_on=bool(expected.answers))
        target = Target(fake, self.operation, SHORT_TIME if any(map(_is_silent, replies)) else PATIENT)
        outcome = run(self.consume, target, time_limit=self.time_limit, most_calls=self.most_calls)
        calls = fake.calls.all
        if len(calls) > self.most_calls:
            return mishandled(Flaw.ENDLESS, f"more than {self.most_calls} requests"), None, self.most_calls
        if outcome is None:
            return mishandled(Flaw.HANGS, f"it was stopped after {self.time_limit:g} s"), None, len(calls)
        return judge(expected, outcome, calls, errors=self.errors), outcome, len(calls)


def consumer_contract(adapter: Adapter, **settings: Any) -> type[ConsumerContract]:
    """Make a subclass of ConsumerContract from a function that takes a Target and returns an Outcome.

    `settings` are the attributes of the class. Assign the class to a name that pytest collects. Raises ReplyError for
    an unknown or invalid setting.

    >>> def ask(target: Target) -> Outcome: ...
    >>> TestMine = consumer_contract(ask, known={"bad_crc": "it does not look at checksums"})
    """
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise ReplyError(f"consumer_contract({unknown[0]}=...): no setting. Settings: {', '.join(SETTINGS)}.")
    if not callable(adapter):
        raise ReplyError(f"consumer_contract({adapter!r}): a function that takes a Target and returns an Outcome.")

    def consume(self: ConsumerContract, target: Target) -> Outcome | Awaitable[Outcome]:
        return adapter(target)

    return cast(
        "type[ConsumerContract]", type("consumer_contract", (ConsumerContract,), {"consume": consume, **settings})
    )


def _name_of(request: pytest.FixtureRequest) -> str:
    """Return the name of the contract's class in the test's node id.

    `__name__` is not used, because all classes that `consumer_contract` makes have the same one.
    """
    return cast("pytest.Function", request.node).nodeid.split("::")[-2]


def _opened(transport: str, request: pytest.FixtureRequest) -> Fake:
    """Open a fake that accepts unused replies and unexpected calls, because the verdict covers both."""
    if transport == "server":
        return cast("Fake", request.getfixturevalue("converse_server").script(unused="allow", unexpected="allow"))
    if transport == "httpx":
        from converse_harness.intercept.httpx import HttpxFake

        return HttpxFake(unused="allow", unexpected="allow").open()
    from converse_harness.intercept.in_process import BotoFake

    return BotoFake(unused="allow", unexpected="allow").open()


def _answer(fake: Fake, replies: Sequence[Reply], *, goes_on: bool) -> None:
    """Give the fake a script with the replies in order.

    If `goes_on` is true, the fake answers all later calls with FOLLOW_UP. Otherwise it answers later calls with tool
    results with FOLLOW_UP, and all others with the last reply again.
    """
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
    """Whether the client waits until its timeout, because the answer or the rest of the answer never arrives."""
    return any(placement.fault.name in ("connect_timeout", "read_timeout", "stall") for placement in answer.placements)


def _fail(error: NotHandled | None) -> None:
    if error is not None:
        raise error.with_traceback(None)  # pytest requires one visible frame of this module


OPERATIONS: Final = ("ConverseStream", "Converse")
_TRANSPORTS: Final[tuple[Transport, ...]] = ("boto", "httpx", "server")

SETTINGS: Final[Mapping[str, str]] = {
    "transport": 'how it reaches the fake: `"boto"` (any boto client of the process), `"httpx"` or `"server"` (by URL)',
    "operation": 'what it calls: `"ConverseStream"` or `"Converse"`',
    "known": "the cases and properties that it knowingly does not handle, each with the reason",
    "time_limit": "how many seconds it may take for one answer",
    "errors": "what its own errors stand for, by class or name: names of errors of AWS, and `"
    f"{OVERFLOW}` for a conversation that is too long",
    "most_calls": "how often it may ask for one answer",
    "kinds": "the blocks of drawn answers",
    "examples": "how many answers are drawn for each property",
}
"""The settings of a contract and their meanings."""


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


_ALLOWED: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "transport": (_TRANSPORTS.__contains__, f"one of {', '.join(map(repr, _TRANSPORTS))}"),
    "operation": (OPERATIONS.__contains__, f"one of {', '.join(map(repr, OPERATIONS))}"),
    "time_limit": (
        lambda value: type(value) in (int, float) and 0 < value < float("inf"),
        "a number of seconds, more than 0",
    ),
    "most_calls": (_is_count, "a whole number, 1 or more"),
    "examples": (_is_count, "a whole number, 1 or more"),
}
"""For each setting with a single value: a function that returns whether a value is allowed, and a description of the
allowed values."""


def _check(contract: type[ConsumerContract], where: str) -> None:
    """Check the settings of a contract. Raises ReplyError for an invalid setting."""
    for name, (is_allowed, expected) in _ALLOWED.items():
        if not is_allowed(value := getattr(contract, name)):
            raise ReplyError(f"{where}.{name} = {value!r}; {expected}.")
    kinds: Any = contract.kinds
    if not isinstance(kinds, list | tuple) or not kinds or not {*cast("Sequence[object]", kinds)} <= {*block_kinds()}:
        allowed = ", ".join(map(repr, block_kinds()))
        raise ReplyError(f"{where}.kinds = {kinds!r}; a list of some of {allowed}.")
    _check_errors(contract.errors, where)
    _check_known(contract, where)


def _check_errors(errors: Any, where: str) -> None:
    allowed = {*bedrock.all_errors(), OVERFLOW}
    for key, names in errors.items():
        if not isinstance(key, str) and not (isinstance(key, type) and issubclass(key, BaseException)):
            raise ReplyError(f"{where}.errors: {key!r} is no error; the class of one, or in another language its name.")
        shown = key if isinstance(key, str) else key.__name__
        if isinstance(names, str):
            raise ReplyError(f"{where}.errors[{shown}] = {names!r}; a list of names: [{names!r}].")
        if unknown := sorted({*names} - allowed):
            raise ReplyError(
                f"{where}.errors[{shown}]: {unknown[0]!r} is no error of AWS. One of: {', '.join(sorted(allowed))}."
            )


def _check_known(contract: type[ConsumerContract], where: str) -> None:
    names = {*contract.cases(), *PROPERTIES}
    for name, reason in contract.known.items():
        if name not in names:
            try:
                case = CASES[name]
            except UnknownCase as error:
                raise UnknownCase(f"{where}.known: {error} Properties: {', '.join(PROPERTIES)}.") from None
            if case.stream_only and contract.operation == "Converse":
                why = "only a stream can be so, and the operation is Converse"
            else:
                why = f'the transport "{contract.transport}" cannot express it'
            raise ReplyError(f"{where}.known: {name!r} is no test of this contract: {why}. Leave it out.")
        if type(reason) is not str or not reason.strip():
            raise ReplyError(f"{where}.known[{name!r}] = {reason!r}; say why, in a text.")
