"""The class Scripting: the methods with which a test scripts the answers of its fake."""

# pyright: reportUnnecessaryTypeIgnoreComment=false
# Only mypy needs the `type: ignore` at `when`: for mypy the overloads overlap, because a Literal is also a str.

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar, overload

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call, Calls
from converse_harness.endpoint.condition import Condition, Pattern
from converse_harness.endpoint.failure_texts import unused_replies
from converse_harness.endpoint.outputs import Answer, named_operation
from converse_harness.endpoint.script import Queue, Replies, Responder, Slot, check_answers, check_some
from converse_harness.endpoint.stages import StagesOfFake
from converse_harness.errors import Argument, FakeNotOpenWarning, ReplyError
from converse_harness.faults.model import Transport
from converse_harness.features import with_methods_of_features
from converse_harness.literals import ScriptedOperation
from converse_harness.secrets.mask import mask
from converse_harness.words import counted, plural


class Scripted:
    """The replies that one call of `script` added. In a `with` statement, they answer calls only in the block.

    At the end of the block, the replies are removed. If a reply is unused, UnusedReplies is raised, unless the block
    itself raised an exception.
    """

    def __init__(self, endpoint: Endpoint, added: Sequence[tuple[Queue, Slot]]) -> None:
        self._endpoint = endpoint
        self._queues = {id(queue): queue for queue, _ in added}.values()
        self._slots = [slot for _, slot in added]

    @property
    def calls(self) -> Calls:
        """The calls that these replies answered, whatever the operation of a call is."""
        numbers = {number for slot in self._slots for number in slot.used_by}
        return Calls([call for call in list(self._endpoint.calls) if call.number in numbers], only=None)

    @property
    def unused(self) -> int:
        """The number of further calls that these replies must answer, so that none of them remains unused."""
        return sum((slot.uses or 0) - len(slot.used_by) for slot in self._slots if slot.unused)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._endpoint.lock:
            left = [slot for slot in self._slots if slot.unused]
            unused = unused_replies(self._endpoint.script, self._endpoint.calls, left) if left else None
            for queue in self._queues:
                queue.remove(self._slots)
            self._endpoint.script.ended += len(self._slots)
        if unused is not None and error is None:
            raise unused

    def __repr__(self) -> str:
        total = sum(slot.uses or 1 for slot in self._slots)
        what = ", ".join(slot.summary for slot in self._slots[:3]) + ", ..." * (len(self._slots) > 3)
        return mask(
            f"<{counted(total, 'scripted reply', 'scripted replies')}, {self.unused} must still be used: {what}>"
        )

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


_Given = TypeVar("_Given", contravariant=True)
"""The type of values that the methods of a When take: replies, or answers of the operation in its condition."""


class When(Generic[_Given]):
    """A condition for calls. The methods add replies for the calls that meet the condition."""

    def __init__(self, endpoint: Endpoint, queue: Queue) -> None:
        self._endpoint = endpoint
        self._queue = queue

    def script(self, *replies: _Given) -> Scripted:
        """Answer the calls that meet the condition with these replies, in order.

        When all of them are used, a call is answered by the next When whose condition it meets, or else by the script.
        """
        self._queue.was_filled = True  # set this even if a reply is wrong: the wrong reply causes its own error
        check_some(replies, "when().script()")
        self._endpoint.check(*self._bound(replies, "when().script(): "))
        with self._endpoint.lock:
            added = [(self._queue, slot) for slot in self._queue.add(replies, by="when().script()")]
            return Scripted(self._endpoint, added)

    def always(self, reply: _Given) -> None:
        """Answer all calls that meet the condition with the same reply."""
        self._queue.was_filled = True
        self._endpoint.check(*self._bound([reply], "when().always(): "))
        with self._endpoint.lock:
            self._queue.add([reply], endless=True, by="when().always()")

    def _bound(self, replies: Sequence[object], before: str) -> Sequence[object]:
        """Return the replies to check. Outputs become replies here, because only now their operation is known."""
        return replies if self._queue.operation is None else check_answers(self._queue.operation, replies, before)

    def __repr__(self) -> str:
        count = len(self._queue.slots)
        return f"<{self._queue.condition}: {count or 'no'} {plural(count, 'reply', 'replies')}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


_NOT_OPEN: Final = (
    "{fake} is scripted and answers nobody: clients reach the service itself. Open it first, `with fake_converse() as "
    "fake:`, and script it in there; or give the replies to fake_converse(...)."
)


if TYPE_CHECKING:  # the methods that features add; at run time they are there if the feature is
    from converse_harness.features.budgets.budget import Budgets
    from converse_harness.features.improvise.improvised import Improvises
    from converse_harness.features.outline.outline import Outlines

    class _OfFeatures(Improvises, Budgets, Outlines): ...
else:
    _OfFeatures = object


@with_methods_of_features
class Scripting(StagesOfFake, _OfFeatures):
    """The methods of a Fake for replies, conditions, answers to other operations, expected refusals, and its clock."""

    transport: ClassVar[Transport | None] = None
    """The transport by which clients reach this fake; None in the base class, which opens no transport."""

    endpoint: Endpoint

    def script(self, *replies: Responder | Replies) -> Scripted:
        """Append replies and recordings. Replies are used in order; a recording answers requests that match it.

        A Case of `cases` stands for its replies, in order.

        Raises ReplyError without an argument, for a value that is not a reply, and for a reply that this transport
        cannot express.
        """
        check_some(replies, "script()")
        self.endpoint.check(*replies)
        self._warn_if_not_open()
        with self.endpoint.lock:
            return Scripted(self.endpoint, self.endpoint.script.add(replies, by="script()"))

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
        service: str | None = None,
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
        service: str | None = None,
        last_user_text: Pattern | None = None,
        system: Pattern | None = None,
        tool: Pattern | None = None,
        turn: int | None = None,
    ) -> When[Any]:
        """Return a When for replies to the calls that meet all conditions. The first `when` that matches applies.

        A string is a glob that must match the whole text; a compiled pattern may match anywhere in the text. `tool`
        is met if the name of any tool matches. `turn` counts the model's answers in the conversation from 1. Raises
        ReplyError without any condition.

        With an `operation` other than Converse and ConverseStream, the When takes answers as `on_operation` does, and
        `service` is the service that has it.
        """
        condition = Condition(
            predicate=predicate,
            model=model,
            operation=operation,
            service=service,
            last_user_text=last_user_text,
            system=system,
            tool=tool,
            turn=turn,
        )
        self._warn_if_not_open()
        with self.endpoint.lock:
            return When(self.endpoint, self.endpoint.script.when(condition))

    def always(self, reply: Responder) -> None:
        """Answer all calls that no other reply answers, any number of times. A later `always` replaces this one."""
        self.endpoint.check(reply)
        self._warn_if_not_open()
        with self.endpoint.lock:
            queue = self.endpoint.script.fallback
            before = tuple(queue.slots)
            queue.add([reply], endless=True, by="always()")
            queue.remove(before)

    def on_operation(self, name: str, *answers: Answer, service: str | None = None) -> Scripted:
        """Append answers for an operation other than Converse and ConverseStream, for example `InvokeModel`.

        `service` is a Bedrock service of botocore, such as "bedrock-agent-runtime". It may be left out for operations
        of Bedrock Runtime and of Bedrock's control plane, and if no other service has an operation of this name.

        An answer is a dict with the members of the operation's output, a result of `reply.output`, a Reply that is an
        error, or a function of the Call that returns one of these. A stream of events is a list in the dict. Answers
        are used in order, like the replies of `script`. If the only answer is a function, it answers all other calls of
        the operation, any number of times; a later one replaces it. For answers with a condition, use
        `when(operation=...)`. Raises ReplyError for a value that cannot answer the operation, such as an output that
        AWS's API model does not allow, and for a name that is not an operation of Bedrock. Converse, ConverseStream,
        and an operation that also sends a stream of events raise ReplyError, too.
        """
        named = named_operation(name, service, Argument("on_operation", beside=f"{name!r}, ..."))
        if not answers:
            raise ReplyError(
                f"on_operation({name!r}): it needs an answer after the name, as "
                f"{named.written('{...the members of its output...}').removeprefix('converse.')}."
            )
        by = f"on_operation({name!r}, ...)"
        self.endpoint.check(*check_answers(named, answers, f"{by}: "))
        self._warn_if_not_open()
        with self.endpoint.lock:
            added = self.endpoint.script.on_operation(named, answers, by=by)
            return Scripted(self.endpoint, added)

    @property
    def _state(self) -> str:
        raise NotImplementedError

    def _warn_if_not_open(self) -> None:
        if self.transport is not None and self._state != "open":
            warnings.warn(_NOT_OPEN.format(fake=self), FakeNotOpenWarning, stacklevel=3)
