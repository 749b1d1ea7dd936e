"""Decide whether a reply may answer a call, from the call's operation and from the condition of a `when`.

The functions `is_async` and `blame` handle all functions of the user: predicates, and functions that compute replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import translate
from inspect import isasyncgenfunction, iscoroutinefunction
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from converse_harness import bedrock
from converse_harness.endpoint import operations
from converse_harness.endpoint.call import CONVERSATIONS, SCRIPTED, Call
from converse_harness.endpoint.operations import NamedOperation, labels
from converse_harness.endpoint.outputs import named_operation
from converse_harness.errors import Advice, Argument, ReplyError, quoted_whole
from converse_harness.reply.body import OutputBody, shorten
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import wrong
from converse_harness.user_lines import UserLine, calling_line, raising_line

Pattern = str | re.Pattern[str]
"""A glob, which must match the whole text, case-sensitively; or a compiled pattern, which may match anywhere."""


@runtime_checkable
class Searched(Protocol):
    """A compiled pattern, of `re` or of another engine; the search of another engine may be slow."""

    def search(self, text: str, /) -> object:
        """Return a match; None if the text has none. Raises CallError if the search takes too long."""
        ...


_SUBJECTS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "operation": attrgetter("operation"),
    "service": attrgetter("service"),
    "turn": attrgetter("turn"),
    "model": attrgetter("model_id"),
    "last_user_text": attrgetter("last_user_text"),
    "system": attrgetter("system_text"),
    "tool": attrgetter("tool_names"),
}
"""Maps each part of a condition to a function that returns the call's value for this part.

The parts are checked in this order.
"""

_EXACT: Final = ("operation", "service", "turn")
"""The parts of a condition that must be equal to the value of the call."""

_OF_CONVERSATIONS: Final = ("turn", "last_user_text", "system", "tool")
"""The parts of a condition that say something about a conversation."""

_PATTERNS: Final = tuple(name for name in _SUBJECTS if name not in _EXACT)
"""The parts of a condition that are globs or compiled patterns. If the call has a list of values for a part, such as
the names of its tools, at least one value must match."""


class Named(NamedTuple):
    """An operation that needs its own kind of reply. A reply answers it only if the script names the operation.

    The function `answers` returns true for each reply that can answer the operation. `otherwise` is the advice about
    other replies.
    """

    answers: Callable[[Reply], bool]
    otherwise: Advice


NAMED: Final[Mapping[str, Named]] = {
    "CountTokens": Named(
        operations.is_failure,
        Advice(
            "only an error before the stream or a connection failure can, reply.throttled() for instance. For a "
            'number of your own give the output: {"inputTokens": 42}.',
            'only an error before the stream or a connection failure can, {"throttled": true} for instance.',
        ),
    ),
    operations.OPERATION: Named(
        operations.can_apply,
        Advice(
            "only what a guardrail does can, reply.guardrail_blocked() for instance, with its trace; or an error "
            "before the stream or a connection failure. For an answer of your own give the members of the output, as "
            "a dict.",
            'only what a guardrail does can, {"guardrail_blocked": true} for instance, with its trace; or an error '
            "before the stream or a connection failure.",
        ),
    ),
}


_OTHERS: Final = Named(
    NAMED["CountTokens"].answers,
    Advice(
        "only an error before the stream or a connection failure can, reply.throttled() for instance; or the members "
        "of its output, as a dict.",
        NAMED["CountTokens"].otherwise.json,
    ),
)
"""The kind of reply for each operation that has no entry in NAMED."""


def is_async(function: object) -> bool:
    """Whether a callable is async, so that its result would have to be awaited."""
    called = getattr(function, "__call__", None)  # noqa: B004 - the method itself, not whether there is one
    return any(map(iscoroutinefunction, (function, called))) or any(map(isasyncgenfunction, (function, called)))


def blame(error: Exception, what: str, line: UserLine | None, doing: str) -> None:
    """Add a note to an error that a function of the user raised.

    `what` describes the function, `line` is the line at which the user gave the function. `doing` says what the
    function was called for.

    >>> error = KeyError("foo")
    >>> blame(error, "the function given to always()", UserLine("test_x.py", 12), "it answered call 1")
    >>> error.__notes__
    ['raised by the function given to always() at test_x.py:12, while it answered call 1']
    """
    raised_at = raising_line(error)
    returned = isinstance(error, ReplyError) and raised_at is None
    place = f" at {raised_at}" if raised_at is not None and raised_at != line else ""
    given = "" if line is None else f" at {line}"
    note = f"{'returned' if returned else 'raised'}{place} by {what}{given}, while {doing}"
    if note not in getattr(error, "__notes__", ()):  # the same error may be raised again, with the note
        error.add_note(note)


def in_short(error: Exception, call: Call) -> str:
    """Return the type and the text of an error, with the notes about this call that `blame` added."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.endswith(f" call {call.number}")]
    return ", ".join([f"{type(error).__name__}: {error}", *notes])


def check_answer(operation: str | None, reply: Reply) -> None:
    """Raise ReplyError if the operation needs its own kind of reply, and this reply is of another kind."""
    if operation is None or operation in SCRIPTED:
        return
    named = NAMED.get(operation, _OTHERS)
    body, recorded = reply.plan.body, reply.plan.recorded is not None and reply.plan.recorded.operation == operation
    if isinstance(body, OutputBody) and body.operation == operation:
        return
    if not recorded and not named.answers(reply):
        raise ReplyError(f"{reply.summary} cannot answer {operation}: ", named.otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a call. Each field that is not None is a part of the condition, and every part must hold.

    `turn` is the number of the requested answer in its conversation. It is 1 for a call whose messages contain no
    answer.
    """

    predicate: Callable[[Call], object] | None = None
    model: Pattern | Searched | None = None
    operation: str | None = None
    service: str | None = None
    last_user_text: Pattern | Searched | None = None
    system: Pattern | Searched | None = None
    tool: Pattern | Searched | None = None
    turn: int | None = None
    _tests: Mapping[str, Callable[[Call], object]] = field(init=False, repr=False, compare=False)
    """The tests of all parts except the predicate. They are built once, because they may run for every call."""
    named: NamedOperation | None = field(init=False, repr=False, compare=False, default=None)
    """The operation and its service, unless it is one of SCRIPTED; None without an operation."""
    line: UserLine | None = field(init=False, repr=False, compare=False, default_factory=calling_line)
    """The line of the user's code that made the condition."""

    def __post_init__(self) -> None:
        given = self._given
        if not given:
            raise ReplyError("when() without a condition matches every call; use script() or always() for that.")
        for name, value in given.items():
            in_bytes = isinstance(getattr(value, "pattern", ""), bytes)
            if name in _PATTERNS and (in_bytes or isinstance(value, type) or not isinstance(value, str | Searched)):
                raise wrong("when", name, quoted_whole(value), "a glob such as '*haiku*', or a compiled re.Pattern.")
        unfit = not callable(self.predicate) or isinstance(self.predicate, type) or is_async(self.predicate)
        if self.predicate is not None and unfit:
            raise ReplyError(
                f"when({self.predicate!r}): the predicate is a plain function of the call, as lambda call: "
                "len(call.messages) > 2. A text is given by name: when(last_user_text=...), when(model=...)."
            )
        if self.turn is not None and (type(self.turn) is not int or self.turn < 1):
            must = "a whole number; the first answer of a conversation is turn 1."
            raise wrong("when", "turn", quoted_whole(self.turn), must)
        if self.operation is not None and self.operation not in SCRIPTED:
            at = Argument("when", "operation", value=quoted_whole(self.operation))
            object.__setattr__(self, "named", named_operation(self.operation, self.service, at))
            self._check_parts(self.operation)
        elif self.service is not None and self.service != bedrock.SERVICE:
            raise wrong("when", "service", quoted_whole(self.service), _NEEDS_OPERATION)
        if self.named is not None:
            given = {**given, "service": self.named.service}
        tests = {name: _test(name, given[name]) for name in _SUBJECTS if name in given}
        object.__setattr__(self, "_tests", tests)

    def _check_parts(self, operation: str) -> None:
        """Raise ReplyError for a part about a model or a conversation if the calls of the operation have none."""
        named = self.named
        for name in () if named is None else self._given:
            lacks = "conversation" if name in _OF_CONVERSATIONS and operation not in CONVERSATIONS else ""
            if name == "model" and named is not None and "modelId" not in (labels(operation, named.service) or ()):
                lacks = "model id"
            if lacks:
                advice = Advice(
                    "Give a function of the call: when(lambda call: call.params[...] == ..., "
                    f"operation={json.dumps(operation)}).",
                    "Leave it out.",
                )
                value = quoted_whole(getattr(self, name))
                raise wrong("when", name, value, f"the calls of {operation} have no {lacks}. ", advice)

    @property
    def _given(self) -> dict[str, Any]:
        return {name: value for name in _PARTS if (value := getattr(self, name)) is not None}

    def meets(self, call: Call) -> bool:
        """Whether the call meets every part. The predicate is called only if the call meets all other parts."""
        for test in self._tests.values():
            if not test(call):
                return False
        return self.predicate is None or self._is_predicted(self.predicate, call)

    def _is_predicted(self, predicate: Callable[[Call], object], call: Call) -> bool:
        try:
            return bool(predicate(call))
        except Exception as error:
            blame(error, "the predicate given to when()", self.line, f"it looked at call {call.number}")
            raise

    def misses(self, call: Call) -> list[str]:
        """Return the reasons why the call does not match, one phrase per failing part; empty if the call matches."""
        found: list[str] = []
        for name in (*_PATTERNS, *_EXACT):
            if name in self._tests and not self._tests[name](call):
                value = _SUBJECTS[name](call)
                found.append(f"{name} is {shorten(value) if name in _PATTERNS and isinstance(value, str) else value}")
                found[-1] += self._glob_advice(name, value)
        if not found and self.predicate is not None and not self._is_predicted(self.predicate, call):
            found.append("the predicate says no")
        return found

    def _glob_advice(self, name: str, value: object) -> str:
        """Return advice about the part `name`, for which the call has the value `value`; empty if no advice applies.

        There is advice if `value` contains the glob, or matches it except for upper and lower case. For the operation,
        the advice is always to write one exact name.
        """
        wanted = getattr(self, name)
        if name == "operation":
            both = ", leave it out for both" if value in SCRIPTED and wanted in SCRIPTED else ""
            return f" (operation= is one exact name{both})"
        if isinstance(wanted, str) and isinstance(value, str) and wanted and wanted in value:
            return f" (a string is a glob of the whole text: {name}={f'*{wanted}*'!r})"
        if isinstance(wanted, str) and isinstance(value, str) and re.match(translate(wanted), value, re.IGNORECASE):
            return " (capitals count in a glob)"
        return ""

    @property
    def takes_time(self) -> bool:
        """Whether the condition may be slow to check, because a predicate or a pattern of another engine must run."""
        return any(not isinstance(value, str | int | re.Pattern) for value in self._given.values())

    @property
    def in_json(self) -> str:
        """The condition as users of the control API write it, for example `when {"turn": 1}`."""
        patterns = {name: {"regex": value.pattern} for name, value in self._given.items() if hasattr(value, "pattern")}
        return f"when {json.dumps(self._given | patterns, ensure_ascii=False, default=repr)}"

    def __str__(self) -> str:
        parts = (
            getattr(value, "__name__", name) if name == "predicate" else f"{name}={value!r}"
            for name, value in self._given.items()
        )
        return f"when({', '.join(parts)})"


_NEEDS_OPERATION: Final = 'name the operation too: when(operation="Retrieve", service="bedrock-agent-runtime").'

_PARTS: Final = tuple(each.name for each in fields(Condition) if each.init)


def _test(name: str, wanted: Any) -> Callable[[Call], object]:
    """Build the test of one part of a condition. A glob is compiled once, since `fnmatch` keeps only a few globs."""
    subject = _SUBJECTS[name]
    if name in _EXACT:
        return lambda call: subject(call) == wanted
    search = re.compile(translate(wanted)).match if isinstance(wanted, str) else wanted.search

    def has_match(call: Call) -> object:
        value = subject(call)
        return search(value) if isinstance(value, str) else any(map(search, value))

    return has_match
