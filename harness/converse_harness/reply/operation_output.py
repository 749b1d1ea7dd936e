"""The function `reply.output`, which makes the answer of an operation other than Converse, such as InvokeModel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from converse_harness.faults.model import Fault
from converse_harness.reply.body import OutputBody
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply, no_fault
from converse_harness.reply.usable import Usable
from converse_harness.stream.arguments import check_flag, wrong
from converse_harness.words import shown


class _Change(NamedTuple):
    """A method of Reply that is called as soon as the operation is known, with its arguments."""

    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OperationOutput(Usable):
    """The answer of an operation other than Converse, made by `reply.output`.

    `members` are the members of the operation's output. `uses` is the number of calls in a row that get this answer.
    The methods mean the same as those of Reply. Their arguments are checked by `on_operation` or `when`, which know the
    operation.
    """

    members: Mapping[str, Any]
    uses: int = 1
    may_be_unused: bool = False
    strict: bool = True
    _changes: tuple[_Change, ...] = ()

    def fails_after(
        self, events: int, exception: str, message: str | None = None, *, strict: bool = True, **members: object
    ) -> Self:
        """Return a copy that sends an exception frame after this number of events and then ends the stream.

        `exception` is an exception of the operation's stream, such as `throttlingException`.

        >>> from converse_harness import reply
        >>> reply.output({"completion": [{"chunk": {"bytes": b"hi"}}]}).fails_after(1, "throttlingException")
        <Output {'completion': [...]}, fails_after(1, 'throttlingException')>
        """
        said = () if message is None else (message,)
        options = members if strict else {**members, "strict": strict}
        return self._changed("fails_after", events, exception, *said, **options)

    def error_frame_after(self, events: int, code: str = "InternalFailure", message: str | None = None) -> Self:
        """Return a copy that sends an unmodelled error frame after this number of events and then ends the stream."""
        return self._changed("error_frame_after", events, code, *(() if message is None else (message,)))

    def broken(self, fault: Fault, *, after: int | None = None) -> Self:
        """Return a copy that breaks the protocol with a fault after `after` events; by default after half of them.

        Raises ReplyError if `fault` is not a fault.
        """
        if not isinstance(fault, Fault):  # pyright: ignore[reportUnnecessaryIsInstance]  # tests are user code
            raise wrong("broken", "fault", fault, no_fault(fault))
        return self._changed("broken", fault, **({} if after is None else {"after": after}))

    def paced(self, *, first: float = 0.0, each: float = 0.0) -> Self:
        """Return a copy that waits `first` seconds before the first event, and `each` seconds before later events."""
        return self._changed("paced", first=first, each=each)

    def reply(self, operation: str, service: str) -> Reply:
        """Return the Reply that sends this output as the answer of an operation. Raises ReplyError as Reply does."""
        body = OutputBody(operation, service, self.members, self.strict)
        found = Reply(Plan(body), self.uses, self.may_be_unused)
        for change in self._changes:
            found = getattr(found, change.method)(*change.arguments, **change.options)
        return found

    def _changed(self, method: str, *arguments: object, **options: object) -> Self:
        return replace(self, _changes=(*self._changes, _Change(method, arguments, options)))

    @property
    def summary(self) -> str:
        """A description in one line, such as `output {'inputTokens': 42}, 2 times`."""
        changes = [f"{method}({_as_written(given, options)})" for method, given, options in self._changes]
        return self._with_use(f"output {shown(dict(self.members))}", *changes)

    def __repr__(self) -> str:
        return f"<O{self.summary.removeprefix('o')}>"


def _as_written(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    return ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())])


_MUST: Final = 'the members of an operation\'s output are a dict, as reply.output({"inputTokens": 42}).'


def output(members: Mapping[str, object], *, strict: bool = True) -> OperationOutput:
    """Answer an operation other than Converse. `members` are the members of its output, as a boto3 client returns them.

    A stream of events is a list of events, as `{"completion": [{"chunk": {"bytes": b"hi"}}], "sessionId": "s"}` for
    InvokeAgent. Pass the output to `on_operation`, or to a `when` with an operation. Like a reply, it has the methods
    `times`, `optional`, `paced`, `broken`, `fails_after` and `error_frame_after`. `on_operation` and `when` check the
    members against AWS's API model of the operation, because `output` does not know the operation; with `strict=False`,
    they check nothing. A member that is a blob, such as the `body` of InvokeModel, must be bytes. Raises ReplyError
    unless `members` is a mapping.

    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse() as fake:
    ...     fake.on_operation("CountTokens", reply.output({"inputTokens": 42}).times(2).optional())
    <2 scripted replies, 0 must still be used: output {'inputTokens': 42}, 2 times, optional>
    """
    check_flag("output", strict=strict)
    if not isinstance(members, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # tests are user code
        raise wrong("output", "members", members, _MUST)
    return OperationOutput(dict(members), strict=strict)
