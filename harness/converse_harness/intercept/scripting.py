"""The class Scripting: the methods with which a test tells its fake what to answer."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, Final, Literal, cast

from converse_harness import bedrock
from converse_harness.endpoint import Endpoint, Handler
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.condition import Condition, Pattern, is_async
from converse_harness.endpoint.expected import ExpectedRefusal, expected_refusal
from converse_harness.endpoint.failure_texts import no_handler
from converse_harness.endpoint.responders import Responder
from converse_harness.endpoint.script import Replies
from converse_harness.errors import FakeNotOpenWarning, ReplyError
from converse_harness.faults.model import Transport
from converse_harness.intercept.scripted import Scripted, When
from converse_harness.reply.improvised import improvised

_NOT_OPEN: Final = (
    "{fake} is scripted and answers nobody: clients reach the service itself. Open it first, `with fake_converse() as "
    "fake:`, and script it in there; or give the replies to fake_converse(...)."
)


class Scripting:
    """The methods of a Fake for its script: replies, conditions, handlers, expected refusals, and the fake's clock."""

    transport: ClassVar[Transport | None] = None
    """The transport by which clients reach this fake; None in the base class, which opens no transport."""

    endpoint: Endpoint
    lock: AbstractContextManager[object]

    def script(self, *replies: Responder | Replies) -> Scripted:
        """Append replies and recordings. Replies are used in order; a recording answers the requests in it.

        A Case of `cases` stands for its replies, in order.

        Raises ReplyError for a value that is not a reply, or a reply that this transport cannot express.
        """
        self.endpoint.check(*replies)
        self._warn_if_not_open()
        with self.lock:
            return Scripted(self.endpoint, self.lock, self.endpoint.script.add(replies, by="script()"))

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
    ) -> When:
        """Return a When for replies to the calls that meet all conditions. The first `when` that matches applies.

        A string is a glob that must match the whole text; a compiled pattern may match anywhere in the text. `tool`
        is met if the name of any tool matches. `turn` counts the model's answers in the conversation from 1. Raises
        ReplyError without any condition.
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
        """Answer all calls that no other reply answers, any number of times. The last `always` replaces others."""
        self.endpoint.check(reply)
        self._warn_if_not_open()
        with self.lock:
            queue = self.endpoint.script.fallback
            before = tuple(queue.slots)
            queue.add([reply], endless=True, by="always()")
            queue.remove(before)

    def improvise(self, *, seed: int = 0, tools: Sequence[str] | Literal["all"] = "all", at_once: int = 1) -> None:
        """Answer every call that nothing else answers with `reply.improvised`: each offered tool once, then a text.

        The arguments are those of `reply.improvised`. Raises ReplyError for a wrong one.
        """
        self.always(improvised(seed=seed, tools=tools, at_once=at_once))

    def on_operation(self, name: str, handler: Handler) -> None:
        """Set the handler for an operation other than Converse and ConverseStream, for example `InvokeModel`.

        Operations of Bedrock's control plane, such as `GetInferenceProfile`, are possible too. `handler` takes the Call
        and returns the members of the operation's output, or a Reply that is an error. Raises ReplyError for Converse
        and ConverseStream, for an operation that answers with a stream of events, and for a name that is neither an
        operation of Bedrock Runtime nor of the control plane.
        """
        said = f"on_operation({name!r}, {handler!r}): "
        given, answers = cast("object", name), cast("object", handler)  # tests are user code
        if not isinstance(given, str):
            raise ReplyError(f'{said}the first argument is the name of an operation, as "InvokeModel".')
        refused = no_handler(name)
        if refused is not None:
            raise ReplyError(refused)
        try:
            bedrock.check_operation(name)
        except bedrock.NotInModel as error:
            raise bedrock.NotInModel(f"{said}{error}") from None
        if not callable(answers) or isinstance(answers, type) or is_async(answers):
            raise ReplyError(
                f"{said}the handler is a plain function of the call, which returns the members of the operation's "
                "output as a dict, or a reply that is an error: lambda call: {...}."
            )
        with self.lock:
            self.endpoint.handlers[name] = handler

    def refuses(self, rule: str, *, match: str | re.Pattern[str] | None = None) -> ExpectedRefusal:
        """Return a context manager for a block in which a request breaks this rule, as pytest.raises for an exception.

        The client gets Bedrock's error, and the test does not fail for it. Leaving the block raises NotRefused if no
        request broke the rule. `match` is a regular expression that is searched in Bedrock's message. Raises ReplyError
        for an unknown rule, and for one that refuses nothing at the fake's level of rules.
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
