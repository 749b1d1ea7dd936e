"""Which calls a reply may answer: the operations that it fits, and the condition of a `when`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import partial
from operator import attrgetter
from typing import Final, Protocol, runtime_checkable

from converse_harness import bedrock
from converse_harness.endpoint import operations
from converse_harness.endpoint.call import Call
from converse_harness.errors import ReplyError
from converse_harness.reply.body import ErrorBody, shorten
from converse_harness.reply.reply import Reply

Pattern = str | re.Pattern[str]
"""A glob, which must match the whole text, case-sensitively; or a compiled pattern, which is searched."""


@runtime_checkable
class Searched(Protocol):
    """A compiled pattern of another engine than `re`, whose search may be slow; patterns of `re` qualify too."""

    def search(self, text: str, /) -> object:
        """Return a match or None. Raises CallError if the search gives up."""
        ...


_SUBJECTS: Final[dict[str, Callable[[Call], str | list[str]]]] = {
    "model": attrgetter("model_id"),
    "last_user_text": attrgetter("last_user_text"),
    "system": attrgetter("system_text"),
    "tool": attrgetter("tool_names"),
}
"""What a Pattern is held against; of a list any item may match."""


SCRIPTED: Final = ("Converse", "ConverseStream")
"""The operations that every reply of a script may answer."""


@dataclass(frozen=True, slots=True)
class Named:
    """An operation with its own kind of answer: of the conditions, only a `when` that names the operation may answer
    it.

    `answers` accepts the possible replies; `otherwise` is the advice for all other replies.
    """

    answers: Callable[[Reply], bool]
    otherwise: str


NAMED: Final[Mapping[str, Named]] = {
    "CountTokens": Named(
        lambda reply: isinstance(reply.body, ErrorBody) or reply.no_answer,
        "only an error before the stream or a connection failure can, reply.throttled() for instance. For a number of "
        'your own use on_operation("CountTokens", lambda call: {"inputTokens": 42}).',
    ),
    operations.OPERATION: Named(
        operations.can_apply,
        "only what a guardrail does can, reply.guardrail_blocked() for instance, with its trace; or an error before "
        'the stream or a connection failure. For an answer of your own use on_operation("ApplyGuardrail", lambda call: '
        "{...the members of its output...}).",
    ),
}


def check_answer(operation: str | None, reply: Reply) -> None:
    """Raise ReplyError if the operation has its own kind of answer and the reply is not one."""
    named = NAMED.get(operation or "")
    recorded = reply.recorded is not None and reply.recorded.operation == operation
    if named is not None and not recorded and not named.answers(reply):
        raise ReplyError(f"{reply.summary} cannot answer {operation}: {named.otherwise}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a call; every given part must hold.

    `turn` counts the model's answers in the conversation from 1: a call whose messages contain no answer is turn 1.
    """

    predicate: Callable[[Call], object] | None = None
    model: Pattern | Searched | None = None
    operation: str | None = None
    last_user_text: Pattern | Searched | None = None
    system: Pattern | Searched | None = None
    tool: Pattern | Searched | None = None
    turn: int | None = None
    _tests: tuple[Callable[[Call], object], ...] = field(init=False, repr=False, compare=False)
    """Each part but the predicate, as a question to a call; every call asks all conditions before its own."""

    def __post_init__(self) -> None:
        given = {name: value for name in _PARTS if (value := getattr(self, name)) is not None}
        if not given:
            raise ReplyError("when() without a condition matches every call; use script() or always() for that.")
        for name, value in given.items():
            if name in _SUBJECTS and not isinstance(value, str | Searched):
                raise ReplyError(f"when({name}={value!r}): a glob such as '*haiku*', or a compiled re.Pattern.")
        if self.predicate is not None and not callable(self.predicate):
            raise ReplyError(f"when({self.predicate!r}): the predicate is a function of the call.")
        if self.operation is not None and self.operation not in (*SCRIPTED, *NAMED):
            raise ReplyError(
                f"when(operation={self.operation!r}): one of {', '.join((*SCRIPTED, *NAMED))}. For an operation that "
                "is not scripted use on_operation()."
            )
        if self.operation in NAMED:
            bedrock.operation(self.operation)  # the oldest models lack it, and say so here
        tests: list[Callable[[Call], object]] = [partial(_is, name, given[name]) for name in _EXACT if name in given]
        tests += [partial(_has_match, _SUBJECTS[name], _search(given[name])) for name in _SUBJECTS if name in given]
        object.__setattr__(self, "_tests", tuple(tests))

    def meets(self, call: Call) -> bool:
        """Whether every part holds; the predicate is called only if all other parts hold."""
        for test in self._tests:
            if not test(call):
                return False
        return self.predicate is None or bool(self.predicate(call))

    def misses(self, call: Call) -> list[str]:
        """The reasons why the call does not match, one phrase per failing part; empty if the call matches."""
        found: list[str] = []
        for name, subject in _SUBJECTS.items():
            pattern = getattr(self, name)
            if pattern is not None and not _has_match(subject, _search(pattern), call):
                value = subject(call)
                found.append(f"{name} is {shorten(value) if isinstance(value, str) else value}")
        if self.operation is not None and self.operation != call.operation:
            found.append(f"operation is {call.operation}")
        if self.turn is not None and self.turn != call.turn:
            found.append(f"turn is {call.turn}")
        if not found and self.predicate is not None and not self.predicate(call):
            found.append("the predicate says no")
        return found

    @property
    def takes_time(self) -> bool:
        """Whether the check may be slow, because it runs a user's function or pattern."""
        patterns = (getattr(self, name) for name in _SUBJECTS)
        return self.predicate is not None or any(
            not isinstance(each, str | re.Pattern) for each in patterns if each is not None
        )

    def __str__(self) -> str:
        parts: list[str] = []
        for name in _PARTS:
            value = getattr(self, name)
            if name == "predicate" and value is not None:
                parts.append(getattr(value, "__name__", "predicate"))
            elif value is not None:
                parts.append(f"{name}={value!r}")
        return f"when({', '.join(parts)})"


_EXACT: Final = ("operation", "turn")
"""The parts of a condition that are the same or not."""

_PARTS: Final = ("predicate", "model", "operation", "last_user_text", "system", "tool", "turn")


def _is(name: str, wanted: object, call: Call) -> bool:
    return bool(getattr(call, name) == wanted)


def _has_match(subject: Callable[[Call], str | list[str]], search: Callable[[str], object], call: Call) -> object:
    value = subject(call)
    return search(value) if isinstance(value, str) else any(map(search, value))


def _search(pattern: Pattern | Searched) -> Callable[[str], object]:
    """Compile a pattern to its match function. Done once per glob, because the cache of `fnmatch` is small."""
    return re.compile(translate(pattern)).match if isinstance(pattern, str) else pattern.search
