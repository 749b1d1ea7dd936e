"""ExpectedRefusal: a `with` block of a test that fails unless Bedrock would refuse a request in the block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self, cast

from converse_harness.bedrock.rules import BY_NAME, Refusal, Rule
from converse_harness.endpoint.call import Call, Calls
from converse_harness.errors import ConverseHarnessError, NotRefused, RefusedRequest, ReplyError
from converse_harness.secrets.mask import mask
from converse_harness.settings import RuleLevel
from converse_harness.user_lines import UserLine, calling_line
from converse_harness.words import nearest, one_line

_NEVER_REFUSED: Final[Mapping[str, str]] = {
    "lenient": "nothing is refused with rules={level!r}. Leave this setting out, or hold the "
    'test to the rules: @pytest.mark.converse(rules="default"), fake_converse(rules="default").',
    "note": "this rule is only noted, because newer models or answers speak against it. Look for it in fake.notes.",
    "ignored": "Bedrock ignores what breaks this rule, so the rule is only noted. Look for it in fake.notes.",
    "strict": "this rule refuses only at the strict level, and the level is {level!r}. Raise "
    'it: @pytest.mark.converse(rules="strict"), fake_converse(rules="strict").',
}
"""The reasons why a rule can refuse no request, by the verdict of the rule.

The key "lenient" is no verdict: it is for the levels "warn" and "off", at which no rule refuses.
"""

_MORE: Final = "   More: converse-harness docs rules expected-refusals"


@dataclass(eq=False)
class RefusalBlock:
    """A rule that a request in a block must break, and the refusals in the block so far; the Endpoint fills it.

    `line` is the line of the user's code that called `Fake.refuses`. `taken` are the expected refusals. `missed` are
    those with another rule or an unexpected text, so that the message of NotRefused can list them.
    """

    rule: Rule
    pattern: re.Pattern[str] | None
    line: UserLine | None
    was_entered: bool = False
    taken: list[tuple[Call, Refusal]] = field(default_factory=list[tuple[Call, Refusal]])
    missed: list[tuple[Call, Refusal, RefusedRequest]] = field(
        default_factory=list[tuple[Call, Refusal, RefusedRequest]]
    )

    def takes(self, call: Call, refusal: Refusal) -> bool:
        """Store the refusal of a call if it is expected. Return whether it is."""
        matches = self.pattern is None or self.pattern.search(refusal.message) is not None
        if refusal.rule.name != self.rule.name or not matches:
            return False
        self.taken.append((call, refusal))
        return True

    def __repr__(self) -> str:
        match = "" if self.pattern is None else f", match={self.pattern.pattern!r}"
        return f"refuses({self.rule.name!r}{match})"


class _Endpoint(Protocol):
    """The attributes of an Endpoint that an ExpectedRefusal uses."""

    rules: RuleLevel
    calls: list[Call]
    problems: list[ConverseHarnessError | Exception]
    expected: list[RefusalBlock]
    blocks: list[RefusalBlock]
    received: int


class ExpectedRefusal:
    """A context manager, created by `Fake.refuses`, that expects a request in its block to break a rule.

    `refusals` contains the expected refusals with Bedrock's messages, `calls` contains the refused calls, both in the
    order of arrival. `refusal` and `call` are the first of each. All can be read in the block and after it. At the end
    of the block, NotRefused is raised if there was no expected refusal. An exception that the client raises passes
    through the block unchanged.
    """

    def __init__(self, endpoint: _Endpoint, rule: Rule, pattern: re.Pattern[str] | None) -> None:
        self.rule: Final = rule
        self._endpoint = endpoint
        self._block = RefusalBlock(rule, pattern, calling_line())
        self._since = 0
        endpoint.blocks.append(self._block)

    @property
    def refusals(self) -> list[Refusal]:
        """The expected refusals so far; each has the `message`, the `path` in the request, and the `rule`."""
        return [refusal for _, refusal in self._block.taken]

    @property
    def calls(self) -> Calls:
        """The refused calls so far."""
        return Calls([call for call, _ in self._block.taken], only=None)

    @property
    def refusal(self) -> Refusal:
        """The first refusal. Raises NotRefused if there is none so far."""
        self._check()
        return self.refusals[0]

    @property
    def call(self) -> Call:
        """The first refused call. Raises NotRefused if there is none so far."""
        self._check()
        return self.calls[0]

    def __enter__(self) -> Self:
        self._since, self._block.was_entered = self._endpoint.received, True
        self._endpoint.expected.append(self._block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._endpoint.expected.remove(self._block)
        if error is None or isinstance(error, Exception):
            self._check(error)

    def _check(self, error: Exception | None = None) -> None:
        __tracebackhide__ = True
        if self._block.taken:
            return
        same = [each for each in self._block.missed if each[1].rule.name == self.rule.name]
        text = self._not_matched([refusal for _, refusal, _ in same]) if same else self._not_broken()
        for _, _, problem in same or self._block.missed:  # NotRefused is raised in place of these problems
            if problem in self._endpoint.problems:
                self._endpoint.problems.remove(problem)
        raise NotRefused(mask(text)) from error

    def _not_matched(self, refusals: Sequence[Refusal]) -> str:
        messages = "\n          ".join(refusal.message for refusal in refusals)
        pattern = self._block.pattern
        return (
            f"{self!r}: the rule was broken, and Bedrock's message does not match.\n\n"
            f"message   {messages}\npattern   {'' if pattern is None else pattern.pattern}\n\n"
            f"Correct match=, a regular expression that is searched in the message.{_MORE}"
        )

    def _not_broken(self) -> str:
        calls = [call for call in self._endpoint.calls if call.number > self._since]
        rows = [f"{call.number}. {call.asked}: {one_line(call.outline)}" for call in calls[-20:]]
        arrived = "\n          ".join(rows) or "nothing: no call reached the fake in this block"
        refused = "".join(
            f"{'          ' if number else 'refused   '}call {call.number}, by another rule: {refusal.rule.name}\n"
            f"          broken at {refusal.path}\n          {refusal.message}\n"
            for number, (call, refusal, _) in enumerate(self._block.missed)
        )
        names = dict.fromkeys(refusal.rule.name for _, refusal, _ in self._block.missed)
        blocks = "".join(f'\nwith converse.refuses("{name}"): ...' for name in names)
        return (
            f"{self!r}: no request in this block breaks this rule.\n\n"
            f"rule      {self.rule.name}: {self.rule.what}\narrived   {arrived}\n"
            f"{refused}\nAsk in the block what breaks the rule, or name the rule that is broken.{_MORE}{blocks}"
        )

    def __repr__(self) -> str:
        return repr(self._block)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


def expected_refusal(endpoint: _Endpoint, name: str, match: str | re.Pattern[str] | None) -> ExpectedRefusal:
    """Return a context manager that expects the rule `name` to refuse a request, with a message that `match` matches.

    Raises ReplyError for an unknown rule, for a rule that refuses nothing at the Endpoint's level, and for a pattern
    that is not a regular expression.
    """
    given = cast("object", name)  # a test may pass a value of another type
    if not isinstance(given, str) or given not in BY_NAME:
        close = nearest(name, BY_NAME)
        hint = f"Did you mean {close!r}? " if close else ""
        raise ReplyError(
            f"refuses({name!r}): no rule has this name. {hint}`converse-harness docs rules` lists the rules; a failure "
            "`Bedrock would refuse` has the name in its line `rule`."
        )
    rule = BY_NAME[name]
    reason = "lenient" if endpoint.rules in ("off", "warn") else rule.verdict
    if reason in _NEVER_REFUSED and reason != endpoint.rules:  # a "strict" rule refuses at the "strict" level
        raise ReplyError(f"refuses({name!r}): {_NEVER_REFUSED[reason].format(level=endpoint.rules)}")
    return ExpectedRefusal(endpoint, rule, _pattern(name, match))


def _pattern(name: str, match: str | re.Pattern[str] | None) -> re.Pattern[str] | None:
    if match is None:
        return None
    wrong = f"refuses({name!r}, match={match!r}): "
    given = cast("object", match.pattern if isinstance(match, re.Pattern) else match)
    if not isinstance(given, str):
        raise ReplyError(
            f"{wrong}a regular expression, as a string or compiled from one; it is searched in the message."
        )
    try:
        return re.compile(match)
    except re.error as error:
        raise ReplyError(
            f"{wrong}{error}. It is a regular expression; re.escape(...) makes one that matches a text exactly."
        ) from None


def is_expected(expected: Sequence[RefusalBlock], call: Call, refusal: Refusal) -> bool:
    """Whether one of the entered `with fake.refuses(...)` blocks expects the refusal. The newest of them stores it."""
    return any(each.takes(call, refusal) for each in reversed(expected))
