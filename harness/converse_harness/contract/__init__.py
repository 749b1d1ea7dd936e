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

from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import pytest

from converse_harness.cases import CASES, Case
from converse_harness.contract.expectations import uses_tool
from converse_harness.contract.failure_texts import (
    NotHandled,
    Seen,
    Tried,
    WrongAnswer,
    failure,
    kind_of,
    note,
    one_of_each,
    wrong_answers,
)
from converse_harness.contract.judging import Flaw, Verdict, VerdictLevel, verdict_of
from converse_harness.contract.outcome import Outcome, ToolCall
from converse_harness.contract.properties import PROPERTIES, PropertyDraw, Unending
from converse_harness.contract.running import Adapter, SetUpFailed, Target, ToolFailed
from converse_harness.contract.settings import SETTINGS, check, takes_arguments
from converse_harness.contract.trying import attempt, in_full_once, offers_tool, opened
from converse_harness.errors import ReplyError
from converse_harness.plugin.settings import own_fakes
from converse_harness.reply.reply import Reply

__all__ = [
    "ConsumerContract",
    "Flaw",
    "NotHandled",
    "Outcome",
    "Seen",
    "SetUpFailed",
    "Target",
    "ToolCall",
    "ToolFailed",
    "Verdict",
    "VerdictLevel",
    "consumer_contract",
    "verdict_of",
]


class ConsumerContract:
    """The base class of tests of a consumer: code that reads answers of Bedrock. Each case becomes one test.

    Write a subclass named `TestSomething` with a method `consume`. The settings are attributes of the subclass:

    * `transport`: how the consumer reaches the fake: "boto" (any boto client of the process), "httpx" or "server" (by
      URL);
    * `operation`: the operation that the consumer calls;
    * `known`: maps each case or property that the consumer does not handle to the reason. The test of such a case must
      fail, as with a strict xfail; the test of such a property counts the answers that are not handled;
    * `time_limit` and `most_calls`: the maximum number of seconds and of requests for one answer;
    * `errors`: maps the consumer's own errors, by class or name, to names of AWS errors, to "ContextOverflow" for a
      conversation that is too long, or to names for stop reasons, such as "GuardrailIntervened";
    * `kinds`: the kinds of blocks in generated answers (None: all). The Outcome must show each named kind, otherwise
      SetUpFailed is raised. Without "toolUse" in it, the request offers no tool, and no case has a tool use;
    * `stop_reasons`: the stop reasons of generated legal answers (None: all);
    * `without`: names of errors, faults and stop reasons that generated answers do not have;
    * `examples`: the number of generated answers for each property;
    * `seed`: decides which answers are generated (None: each run generates other answers).

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
    kinds: ClassVar[Sequence[str] | None] = None
    stop_reasons: ClassVar[Sequence[str] | None] = None
    without: ClassVar[Sequence[str]] = ()
    examples: ClassVar[int] = 200
    seed: ClassVar[int | None] = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check(cls, cls.__name__)

    def consume(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Send the target's request with the consumer, and return the consumer's result.

        The method may be a coroutine function. An exception after the first request counts as an error of the consumer.
        An earlier exception counts as a mistake in this method.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `consume`: ask `target`, and return an Outcome.")

    def consume_next(self, target: Target) -> Outcome | Awaitable[Outcome]:
        """Send the target's request, a second question, in the conversation that `consume` began; return the result.

        Write this method if the consumer remembers its conversation. It is called after `consume`, if the result of
        `consume` was right, above all after an error: the second answer must come back whole, and the request must be
        one that Bedrock accepts, with the first question in it at most once. The method may be a coroutine function.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `consume_next`: it asks one question.")

    @property
    def remembers(self) -> bool:
        """Whether the subclass has a method `consume_next`."""
        return type(self).consume_next is not ConsumerContract.consume_next

    def seen(self, seen: Seen) -> None:
        """Do nothing. Each test of a case calls this method with its observations; override it for your own reports."""

    @classmethod
    def cases(cls) -> list[str]:
        """Return the names of the cases that are possible with the contract's operation, transport and kinds."""
        streams = cls.operation == "ConverseStream"
        tools = offers_tool(cls.kinds)
        return [
            name
            for name, case in CASES.items()
            if (streams or not case.stream_only)
            and cls._can_send(case)
            and (tools or not any(map(uses_tool, case.replies)))
        ]

    @classmethod
    def _can_send(cls, case: Case) -> bool:
        faults = (placement.fault for answer in case.replies for placement in answer.plan.placements)
        return all(cls.transport in fault.transports for fault in faults)

    # The following methods make one test for each case and property, and run these tests.

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test for each possible case (see `cases`) and one test for each property."""
        if "contract_case" in metafunc.fixturenames:
            metafunc.parametrize("contract_case", list(self._marked(self.cases())))
        if "contract_property" in metafunc.fixturenames:
            metafunc.parametrize("contract_property", list(self._marked(PROPERTIES)))

    def _marked(self, names: Iterable[str]) -> Iterator[Any]:
        for name in names:
            reason = self.known.get(name)
            strict = name not in PROPERTIES
            marks = () if reason is None else [pytest.mark.xfail(reason=reason, raises=NotHandled, strict=strict)]
            yield pytest.param(name, marks=marks, id=name)

    # The consumer runs in fixtures: if it raises before its first request, pytest then reports an error and not a
    # failure. The names of the fixtures begin with _, so that `pytest --fixtures` does not list them. For such a name,
    # ruff assumes that the fixture has no value; therefore the noqa comments for PT019.

    @pytest.fixture
    def _contract_tried(self, contract_case: str, request: pytest.FixtureRequest) -> Tried:
        """Run the consumer with the replies of one case, and judge its result."""
        with in_full_once(type(self), contract_case):
            return self._try(contract_case, CASES[contract_case].replies, request)

    def test_case(self, contract_case: str, _contract_tried: Tried, request: pytest.FixtureRequest) -> None:  # noqa: PT019
        """Fail unless the consumer handles the case as the contract requires."""
        __tracebackhide__ = True
        tried = _contract_tried
        self._keep([tried], request)
        self.seen(tried.seen)
        _fail(failure([tried], CASES[contract_case], _name_of(request)))

    @pytest.fixture
    def _contract_worst(self, contract_property: str, request: pytest.FixtureRequest) -> list[Tried]:
        """Search for the smallest generated replies that the consumer does not handle, of each kind of verdict.

        If the setting `known` names the property, no smaller replies are searched for: return the first run of each
        kind, with the number of such runs.
        """
        known = contract_property in self.known
        tried: list[Tried] = []
        found: dict[object, Tried] = {}

        def put(replies: Sequence[Reply]) -> None:
            each = self._try(contract_property, replies, request)
            if known:
                tried.append(each)
            if each.seen.verdict.level is VerdictLevel.HANDLED:
                return
            wrong = WrongAnswer.of(each)
            if each.seen.outcome is None:
                raise Unending(wrong)
            if not known and kind_of(each) not in found:
                raise wrong

        drawing = PropertyDraw.of(self, request.node.nodeid.partition("[")[0])
        with in_full_once(type(self), contract_property):
            # hypothesis stops soon after it has found an error. So answers are drawn again, as long as there are kinds
            # of verdicts that were not seen before.
            more = True
            while more:
                more = False
                try:
                    PROPERTIES[contract_property].check(put, drawing, shrink=not known)
                except (WrongAnswer, ExceptionGroup) as error:
                    worst = [each.tried for each in wrong_answers(error)]
                    found |= {kind_of(each): each for each in worst}
                    more = all(each.seen.outcome is not None for each in worst)
        return one_of_each(tried, counts=True) if known else one_of_each([*found.values()])

    def test_property(
        self,
        contract_property: str,
        _contract_worst: list[Tried],  # noqa: PT019
        request: pytest.FixtureRequest,
    ) -> None:
        """Fail unless the consumer handles all generated answers of the property as the contract requires."""
        __tracebackhide__ = True
        self._keep(_contract_worst, request)
        _fail(failure(_contract_worst, PROPERTIES[contract_property], _name_of(request)))

    def _keep(self, tried: Sequence[Tried], request: pytest.FixtureRequest) -> None:
        """Attach to the test its verdicts, for the table of verdicts, and its fakes, for the report of a failure."""
        item = cast("pytest.Function", request.node)
        name = item.callspec.id
        note(item, name, one_of_each(tried), self.known.get(name))
        own_fakes(item).extend(each.fake for each in tried)

    def _try(self, name: str, replies: Sequence[Reply], request: pytest.FixtureRequest) -> Tried:
        """Run the consumer with a fake that sends these replies, and judge the consumer's result."""
        fake = opened(self.transport, replies, lambda: request.getfixturevalue("converse_server"))
        return attempt(self, name, replies, fake)


def consumer_contract(adapter: Adapter, **settings: Any) -> type[ConsumerContract]:
    """Make a subclass of ConsumerContract from a function that takes a Target and returns an Outcome.

    `settings` are the attributes of the class. Assign the class to a name that pytest collects. Raises ReplyError for
    an unknown or invalid setting.

    >>> def ask(target: Target) -> Outcome: ...
    >>> TestMine = consumer_contract(ask, known={"bad_crc": "it does not look at checksums"})
    """
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise ReplyError(f"consumer_contract({unknown[0]}=...): no setting. Settings: {', '.join(SETTINGS)}.")
    given: object = adapter
    if not callable(given) or not takes_arguments(given, 1):
        raise ReplyError(f"consumer_contract({adapter!r}): a function that takes a Target and returns an Outcome.")

    def consume(self: ConsumerContract, target: Target) -> Outcome | Awaitable[Outcome]:
        return adapter(target)

    return cast(
        "type[ConsumerContract]", type("consumer_contract", (ConsumerContract,), {"consume": consume, **settings})
    )


def _name_of(request: pytest.FixtureRequest) -> str:
    """Return the name of the contract's class in the test's node id.

    `__name__` is not used, because it is the same for all classes that `consumer_contract` makes.
    """
    return cast("pytest.Function", request.node).nodeid.split("::")[-2]


def _fail(error: NotHandled | None) -> None:
    if error is not None:
        raise error.with_traceback(None)  # pytest shows this line, since it must show one line of the traceback
