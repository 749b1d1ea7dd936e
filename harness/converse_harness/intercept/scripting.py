"""The class Scripting: the methods with which a test scripts the answers of its fake."""

# pyright: reportUnnecessaryTypeIgnoreComment=false
# Only mypy needs the `type: ignore` at `when`: for mypy the overloads overlap, because a Literal is also a str.

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Literal, overload

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.condition import Condition, Pattern
from converse_harness.endpoint.expected import ExpectedRefusal, expected_refusal
from converse_harness.endpoint.outputs import Answer, check_operation
from converse_harness.endpoint.responders import Responder, check_some
from converse_harness.endpoint.script import Replies
from converse_harness.errors import FakeNotOpenWarning, ReplyError
from converse_harness.faults.model import Transport
from converse_harness.intercept.scripted import Scripted, When
from converse_harness.literals import ScriptedOperation
from converse_harness.reply.improvised import improvised

_NOT_OPEN: Final = (
    "{fake} is scripted and answers nobody: clients reach the service itself. Open it first, `with fake_converse() as "
    "fake:`, and script it in there; or give the replies to fake_converse(...)."
)


class Scripting:
    """The methods of a Fake for replies, conditions, answers to other operations, expected refusals, and its clock."""

    transport: ClassVar[Transport | None] = None
    """The transport by which clients reach this fake; None in the base class, which opens no transport."""

    endpoint: Endpoint
    lock: AbstractContextManager[object]

    def script(self, *replies: Responder | Replies) -> Scripted:
        """Append replies and recordings. Replies are used in order; a recording answers requests that match it.

        A Case of `cases` stands for its replies, in order.

        Raises ReplyError without an argument, for a value that is not a reply, and for a reply that this transport
        cannot express.
        """
        check_some(replies, "script()")
        self.endpoint.check(*replies)
        self._warn_if_not_open()
        with self.lock:
            return Scripted(self.endpoint, self.lock, self.endpoint.script.add(replies, by="script()"))

    @overload
    def when(  # type: ignore[overload-overlap]
        self,
        predicate: Callable[[Call], object] | None = None,
        *,
        model: Pattern | None = None,
        operation: ScriptedOperation | None = None,
        last_user_text: Pattern | None = None,
        system: Pattern | None = None,
        tool: Pattern | None = None,
        turn: int | None = None,
    ) -> When[Responder]: ...

    @overload
    def when(
        self,
        predicate: Callable[[Call], object] | None = None,
        *,
        operation: str,
        model: Pattern | None = None,
        last_user_text: Pattern | None = None,
        system: Pattern | None = None,
        tool: Pattern | None = None,
        turn: int | None = None,
    ) -> When[Answer]: ...

    def when(
        self,
        predicate: Callable[[Call], object] | None = None,
        *,
        model: Pattern | None = None,
        operation: str | None = None,
        last_user_text: Pattern | None = None,
        system: Pattern | None = None,
        tool: Pattern | None = None,
        turn: int | None = None,
    ) -> When[Any]:
        """Return a When for replies to the calls that meet all conditions. The first `when` that matches applies.

        A string is a glob that must match the whole text; a compiled pattern may match anywhere in the text. `tool`
        is met if the name of any tool matches. `turn` counts the model's answers in the conversation from 1. Raises
        ReplyError without any condition.

        With an `operation` other than Converse and ConverseStream, the When takes answers as `on_operation` does.
        """
        condition = Condition(
            predicate=predicate,
            model=model,
            operation=operation,
            last_user_text=last_user_text,
            system=system,
            tool=tool,
            turn=turn,
        )
        self._warn_if_not_open()
        with self.lock:
            return When(self.endpoint, self.lock, self.endpoint.script.when(condition))

    def always(self, reply: Responder) -> None:
        """Answer all calls that no other reply answers, any number of times. A later `always` replaces this one."""
        self.endpoint.check(reply)
        self._warn_if_not_open()
        with self.lock:
            queue = self.endpoint.script.fallback
            before = tuple(queue.slots)
            queue.add([reply], endless=True, by="always()")
            queue.remove(before)

    def improvise(self, *, seed: int = 0, tools: Sequence[str] | Literal["all"] = "all", at_once: int = 1) -> None:
        """Answer all other calls as `reply.improvised` does: the model uses each offered tool once, then sends a text.

        The arguments are those of `reply.improvised`. Raises ReplyError for a wrong argument.
        """
        self.always(improvised(seed=seed, tools=tools, at_once=at_once))

    def on_operation(self, name: str, *answers: Answer) -> Scripted:
        """Append answers for an operation other than Converse and ConverseStream, for example `InvokeModel`.

        An answer is a dict with the members of the operation's output, a result of `reply.output`, a Reply that is an
        error, or a function of the Call that returns one of these. Answers are used in order, like the replies of
        `script`. If the only answer is a function, it answers all other calls of the operation, any number of times; a
        later one replaces it. For answers with a condition, use `when(operation=...)`. Operations of Bedrock's
        control plane, such as `GetInferenceProfile`, are possible too. Raises ReplyError for a value that cannot answer
        the operation, and for a name that is not an operation of Bedrock Runtime or of the control plane. Converse,
        ConverseStream, and other operations that answer with a stream of events also raise ReplyError.
        """
        check_operation(name, f"on_operation({name!r}, ...): ")
        if not answers:
            raise ReplyError(
                f"on_operation({name!r}): it needs an answer after the name, as "
                f'on_operation("{name}", {{...the members of its output...}}).'
            )
        self.endpoint.check(*answers)
        self._warn_if_not_open()
        with self.lock:
            added = self.endpoint.script.on_operation(name, answers, by=f"on_operation({name!r}, ...)")
            return Scripted(self.endpoint, self.lock, added)

    def refuses(self, rule: str, *, match: str | re.Pattern[str] | None = None) -> ExpectedRefusal:
        """Return a context manager for a block in which a request must break this rule; it works like `pytest.raises`.

        The client gets Bedrock's error, and this error does not make the test fail. Leaving the block raises NotRefused
        if no request broke the rule. `match` is a regular expression that is searched in Bedrock's message. Raises
        ReplyError for an unknown rule, and for a rule that refuses nothing at the level that the fake's `rules` sets.
        """
        made = expected_refusal(self.endpoint, rule, match)
        self._warn_if_not_open()
        return made

    def later(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Advance the fake's own clock by this duration, so that cached prefixes expire.

        Raises ReplyError unless the duration is more than 0.
        """
        for name, value in (("hours", hours), ("minutes", minutes), ("seconds", seconds)):
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise ReplyError(f"later({name}={value!r}): it is a number of {name}, 0 or more, as later(minutes=6).")
        with self.lock:
            self.endpoint.cache.later(3600 * hours + 60 * minutes + seconds)

    @property
    def _state(self) -> str:
        raise NotImplementedError

    def _warn_if_not_open(self) -> None:
        if self.transport is not None and self._state != "open":
            warnings.warn(_NOT_OPEN.format(fake=self), FakeNotOpenWarning, stacklevel=3)
