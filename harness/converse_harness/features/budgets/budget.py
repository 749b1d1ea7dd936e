"""The check of a budget, and `converse.budget(...)`: a budget for a part of a test."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, Unpack

from converse_harness.endpoint.stage import MembersOfStage, Stage
from converse_harness.errors import Argument, CallError
from converse_harness.features.budgets.counts import BudgetCount
from converse_harness.features.budgets.limits import BudgetLimits, check_limits
from converse_harness.features.budgets.texts import failure_text, overruns

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint


OF_TEST: Final = (
    "Mend the agent, or raise the limits: @pytest.mark.converse(budget={as_dict}), or converse_budget in the ini file."
)
"""The advice about the budget of a test."""

_OF_BLOCK: Final = "Mend the agent, or raise the limits: with converse.budget({as_arguments}): ..."


def check_budget(count: BudgetCount, limits: BudgetLimits, advice: str, error: BaseException | None) -> None:
    """Raise CallError if the calls cost more than the limits. If there is an `error` already, add a note to it."""
    __tracebackhide__ = True
    found = overruns(count, limits)
    if not found:
        return
    text = failure_text(count, found, advice)
    if error is None:
        raise CallError(text)
    error.add_note(text)  # the error is what the test is about; the calls may show where it comes from


class BudgetBlock:
    """A `with` block with a budget for the calls to one fake. The end of the block raises CallError."""

    def __init__(self, endpoint: Endpoint, limits: BudgetLimits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._count = BudgetCount()
        self._stage: Stage | None = None

    def __enter__(self) -> Self:
        self._count = BudgetCount()
        self._stage = self._endpoint.add(self._count.stage)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        __tracebackhide__ = True
        if self._stage is not None:
            self._endpoint.remove(self._stage)
        if error is None or isinstance(error, Exception):
            check_budget(self._count, self._limits, _OF_BLOCK, error)

    def __repr__(self) -> str:
        return f"<budget {self._limits}, {len(self._count.calls)} so far>"


class Budgets(MembersOfStage):
    """The method that this feature adds to a fake."""

    def budget(self, **limits: Unpack[BudgetLimits]) -> BudgetBlock:
        """Return a `with` block that raises a CallError at its end if the calls in it cost more than the limits.

        Each limit is a whole number from 0, and `waited` a number of seconds. Only calls to this fake count. If the
        block raises an exception, the exception gets a note instead. Raises ReplyError for a limit that does not exist,
        and for a wrong value.

        >>> import boto3
        >>> from converse_harness import CallError, fake_converse, reply
        >>> with fake_converse(reply.text("hi").times(2)) as fake:
        ...     client = boto3.client("bedrock-runtime")
        ...     hello = [{"role": "user", "content": [{"text": "hello"}]}]
        ...     try:
        ...         with fake.budget(calls=1):
        ...             answers = [client.converse(modelId="m", messages=hello) for _ in range(2)]
        ...     except CallError as error:
        ...         print(str(error).splitlines()[0])
        budget: 2 calls of 1. Call 2 went over.
        """
        checked = check_limits(limits, Argument("budget"))
        self._warn_if_not_open()
        return BudgetBlock(self.endpoint, checked)
