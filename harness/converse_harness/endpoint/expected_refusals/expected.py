"""ExpectedRefusal: a `with` block of a test that fails unless Bedrock would refuse a request in the block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, cast

from converse_harness.bedrock.rules import BY_NAME, Refusal, Rule, unknown_rule
from converse_harness.endpoint.call import Call, Calls
from converse_harness.endpoint.stage import MembersOfStage, Stage
from converse_harness.errors import NotRefused, RefusedRequest, ReplyError
from converse_harness.secrets.mask import mask
from converse_harness.user_lines import UserLine, calling_line
from converse_harness.words import one_line

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint

_NEVER_REFUSED: Final[Mapping[str, str]] = {
    "lenient": "this rule refuses nothing with rules={level!r}. Leave this setting out, or hold the "
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
    """A rule that a request in a block must break, and the refusals in the block so far.

    `line` is the line of the user's code that called `Fake.refuses`. `taken` are the expected refusals. `missed` are
    those with another rule or an unexpected text, so that the message of NotRefused can list them.
    """

    rule: Rule
    pattern: re.Pattern[str] | None
    line: UserLine | None
    was_entered: bool = False
    taken: list[tuple[Call, Refusal]] = field(default_factory=list[tuple[Call, Refusal]])
    missed: list[tuple[Call, Refusal]] = field(default_factory=list[tuple[Call, Refusal]])

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


class ExpectedRefusals(Stage):
    """Takes the refusals that blocks of the test expect.

    `made` are all blocks, `entered` those in which the test is now, the outermost first.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.made: list[RefusalBlock] = []
        self.entered: tuple[RefusalBlock, ...] = ()
        self._lock = Lock()

    def wanted(self, call: Call, refusal: Refusal) -> bool:
        """Whether a block expects the refusal. The newest such block stores it, or else each block stores a miss."""
        blocks = self.entered
        if any(each.takes(call, refusal) for each in reversed(blocks)):
            return True
        for block in blocks:
            block.missed.append((call, refusal))
        return False

    def leftovers(self) -> list[str]:
        """Return a line about each block that no `with` statement has entered."""
        return [
            f"{block!r}{f' at {block.line}' if block.line else ''} was not entered, so it expects nothing. Write it as "
            f'a block: with converse.refuses("{block.rule.name}"): ...'
            for block in self.made
            if not block.was_entered
        ]

    def enter(self, block: RefusalBlock) -> None:
        """Let a block take refusals from now on."""
        block.was_entered = True
        with self._lock:
            self.entered = (*self.entered, block)

    def leave(self, block: RefusalBlock) -> None:
        """Let a block take no more refusals."""
        with self._lock:
            self.entered = tuple(each for each in self.entered if each is not block)


class ExpectedRefusal:
    """A context manager, created by `Fake.refuses`, that expects a request in its block to break a rule.

    `refusals` contains the expected refusals with Bedrock's messages, `calls` contains the refused calls, both in the
    order of arrival. `refusal` and `call` are the first of each. All can be read in the block and after it. At the end
    of the block, NotRefused is raised if there was no expected refusal. An exception that the client raises passes
    through the block unchanged.
    """

    def __init__(self, endpoint: Endpoint, rule: Rule, pattern: re.Pattern[str] | None) -> None:
        self.rule: Final = rule
        self._endpoint = endpoint
        self._stage = endpoint.stage(ExpectedRefusals)
        self._block = RefusalBlock(rule, pattern, calling_line())
        self._since = 0
        self._stage.made.append(self._block)

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
        self._since = self._endpoint.received
        self._stage.enter(self._block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._stage.leave(self._block)
        if error is None or isinstance(error, Exception):
            self._check(error)

    def _check(self, error: Exception | None = None) -> None:
        __tracebackhide__ = True
        if self._block.taken:
            return
        same = [each for each in self._block.missed if each[1].rule.name == self.rule.name]
        text = self._not_matched([refusal for _, refusal in same]) if same else self._not_broken()
        for call, _ in same or self._block.missed:  # NotRefused is raised in place of the problems of these calls
            problem = call.of(RefusedRequest)
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
        rows = [f"{call.number}. {call.asked}: {one_line(str(call))}" for call in calls[-20:]]
        arrived = "\n          ".join(rows) or "nothing: no call reached the fake in this block"
        refused = "".join(
            f"{'          ' if number else 'refused   '}call {call.number}, by another rule: {refusal.rule.name}\n"
            f"          broken at {refusal.path}\n          {refusal.message}\n"
            for number, (call, refusal) in enumerate(self._block.missed)
        )
        names = dict.fromkeys(refusal.rule.name for _, refusal in self._block.missed)
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


class RefusesOfFake(MembersOfStage):
    """The member of a Fake that stands on expected refusals."""

    def refuses(self, rule: str, *, match: str | re.Pattern[str] | None = None) -> ExpectedRefusal:
        """Return a context manager for a block in which a request must break this rule; it works like `pytest.raises`.

        The client gets Bedrock's error, and this error does not make the test fail. Leaving the block raises NotRefused
        if no request broke the rule. `match` is a regular expression that is searched in Bedrock's message. Raises
        ReplyError for an unknown rule, and for a rule that refuses nothing at the level that the fake's `rules` sets.
        """
        made = ExpectedRefusal(self.endpoint, _rule(rule, self.endpoint), _pattern(rule, match))
        self._warn_if_not_open()
        return made


def _rule(name: str, endpoint: Endpoint) -> Rule:
    """Return the rule with this name. Raises ReplyError if there is none, or if it refuses nothing at its level."""
    given = cast("object", name)  # a test may pass a value of another type
    if not isinstance(given, str) or given not in BY_NAME:
        raise ReplyError(f"refuses({name!r}): {unknown_rule(name)}")
    rule, level = BY_NAME[name], endpoint.level_of(name)
    reason = "lenient" if level in ("off", "warn") else rule.verdict
    if reason in _NEVER_REFUSED and reason != level:  # a "strict" rule refuses at the "strict" level
        raise ReplyError(f"refuses({name!r}): {_NEVER_REFUSED[reason].format(level=level)}")
    return rule


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
