"""The class Stage: a part of the fake that acts at several moments in the life of each call, such as the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast, get_args
from weakref import proxy

if TYPE_CHECKING:
    from converse_harness.bedrock.rules import Refusal
    from converse_harness.endpoint import Endpoint
    from converse_harness.endpoint.call import Call, CallOutcome
    from converse_harness.endpoint.script import Slot
    from converse_harness.notes import Note
    from converse_harness.reply.reply import Reply
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import HttpResponse


Position = Literal["before the script", "in the script", "after the script"]
_POSITIONS: Final = get_args(Position)


class Exchange:
    """One call in progress. The transport sends the `response`, and then calls the method `ended`.

    `taken` is the list to which the transport appends each chunk that the client received.
    """

    call: Call
    response: HttpResponse
    taken: SentChunks

    def ended(self, outcome: CallOutcome) -> None:
        """Store the outcome of the answer in the call; if an outcome is already stored, do nothing."""
        raise NotImplementedError


class Stage:
    """A part of the fake that acts at several moments in the life of each call. A subclass overrides what it needs.

    An Endpoint makes one object of each class, and calls the methods of its stages in the order of the stages. A method
    that no stage overrides costs nothing. What a stage knows of a call, it stores with `Call.keep`, and others read it
    with `Call.of`. `endpoint` is a weak proxy, so that a fake that nobody uses is freed at once.

    The methods run in these threads and under these locks:

    - `received`, `refusal`, `source`, `forgotten`: the thread of the call, under the lock of the fake. So calls come
      one after the other, in the order of their arrival.
    - `instead`, `accepted`, `wanted`, `sending`: the thread of the call, without the lock. So several calls come at
      once.
    - `usage`: the thread of the call or the reader of the stream, without the lock.
    - `ended`: any thread, with or without the lock, because a finalizer may call it between any two lines of code. It
      must take no lock but a re-entrant one.
    - `leftovers`: the thread of the test, without the lock.

    The thread of a call is the client's, or one of the server. A stage whose state is used without the lock of the fake
    has a lock of its own, and calls no code of a user under it. Of the user's code, only conditions and match functions
    run under the lock of the fake (in `source`). They may call the same fake, but must not wait for another thread that
    calls it.

    If a method raises an Exception, the test fails with it. The client gets an HTTP error with its text, or its answer
    if the method is `ended` or `forgotten`. Only in `usage` of a stream, nobody but the reader gets the Exception.

    >>> from converse_harness import fake_converse, reply
    >>> class Models(Stage):
    ...     def received(self, call):
    ...         print(call.number, call.model_id)
    >>> import boto3
    >>> with fake_converse(reply.text("hi")) as fake:
    ...     models = fake.endpoint.add(Models)
    ...     client = boto3.client("bedrock-runtime")
    ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
    1 m
    """

    position: ClassVar[Position] = "before the script"
    """When `source` is asked. After the script, it gets only the calls for which the script has no reply."""

    answers_refused: ClassVar[bool] = False
    """Whether `source` is also asked for a call that Bedrock would refuse, as for an answer that Bedrock has given."""

    leaves_only_unused: ClassVar[bool] = False
    """Whether `leftovers` returns only what is unused. Then it is not called if the test may leave replies unused."""

    lenient: bool = False
    """Whether the test may leave replies unused, for example because a changed reply may end the client's work."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint: Final[Endpoint] = cast("Endpoint", proxy(endpoint))

    def received(self, call: Call) -> None:
        """Read a call that has just arrived. It is the last of `endpoint.calls`."""

    def refusal(self, call: Call) -> Refusal | None:
        """Return the error with which Bedrock would refuse the call; None if it would not. The first refusal counts."""

    def source(self, call: Call) -> Slot | Exchange | None:
        """Return a Slot with the reply to the call; None leaves the call to the next stage.

        An Exchange answers the call by itself, as when the call is forwarded to the real service.
        """

    def instead(self, call: Call, reply: Reply) -> Reply:
        """Return the reply to send in place of `reply`; `reply` itself changes nothing."""
        return reply

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Read the reply to a call before it is rendered.

        `reply` is None if no Reply answers: the call is refused, forwarded, not scripted or of another operation. If
        the user's function that makes the reply raises an error, the method is not called.
        """

    def wanted(self, call: Call, refusal: Refusal) -> bool:
        """Whether the test expects this refusal, so that it is no problem. The message is the one that is sent."""
        return False

    def usage(self, call: Call, counted: dict[str, Any]) -> None:
        """Change the token counts of an answer, in the form of AWS's TokenUsage, before they are sent.

        They are not final: `inputTokens` is 0 until a stage sets it, and the reply's own usage is added later. If the
        reply has its own usage, the counters of the cache are missing. To read what was sent, use `call.response`.
        """

    def sending(self, call: Call, reply: Reply, response: HttpResponse) -> HttpResponse:
        """Return the response to send in place of the rendered `response`."""
        return response

    def ended(self, call: Call) -> None:
        """Note that the fake's answer to a call has ended, as `call.outcome` describes. Append, and do no more.

        For a forwarded call, which a real service answers, the method is not called.
        """

    def forgotten(self, call: Call) -> None:
        """Drop what is stored of a call that leaves `endpoint.calls`, because of the setting `keep_calls`."""

    def leftovers(self) -> Sequence[str | Exception | Note]:
        """Return what the test has prepared and not used, and the errors that show only at the end of the test.

        All lines of text together become one UnusedReplies, which the setting `unused="allow"` leaves out. Any other
        error fails the test. A Note is told if there is no error.
        """
        return ()


Source = Callable[["Call"], "Slot | Exchange | None"]


@lru_cache(maxsize=64)
def _overridden(kinds: tuple[type[Stage], ...]) -> dict[str, list[int]]:
    """Return, for each attribute of StageHooks, the indexes of the classes that override the method."""

    def of(name: str, among: Iterable[int] = range(len(kinds))) -> list[int]:
        return [index for index in among if getattr(kinds[index], name) is not getattr(Stage, name)]

    ordered = sorted(range(len(kinds)), key=lambda index: _POSITIONS.index(kinds[index].position))
    for_refused = [index for index in ordered if kinds[index].answers_refused]
    found = {name: of(name) for name in StageHooks.__annotations__ if name != "source_of_refused"}
    return found | {"source": of("source", ordered), "source_of_refused": of("source", for_refused)}


class StageHooks:
    """For each method of Stage, the methods of those stages that override it, in the order in which they are called."""

    received: tuple[Callable[[Call], None], ...]
    refusal: tuple[Callable[[Call], Refusal | None], ...]
    source: tuple[Source, ...]
    source_of_refused: tuple[Source, ...]
    instead: tuple[Callable[[Call, Reply], Reply], ...]
    accepted: tuple[Callable[[Call, Reply | None], None], ...]
    wanted: tuple[Callable[[Call, Refusal], bool], ...]
    usage: tuple[Callable[[Call, dict[str, Any]], None], ...]
    sending: tuple[Callable[[Call, Reply, HttpResponse], HttpResponse], ...]
    ended: tuple[Callable[[Call], None], ...]
    forgotten: tuple[Callable[[Call], None], ...]

    def __init__(self, stages: Sequence[Stage]) -> None:
        for name, indexes in _overridden(tuple([type(each) for each in stages])).items():
            method = "source" if name == "source_of_refused" else name
            setattr(self, name, tuple([getattr(stages[index], method) for index in indexes]))


class MembersOfStage:
    """The base of the classes with the members that a stage adds to Fake."""

    endpoint: Endpoint

    def _warn_if_not_open(self) -> None:
        """Warn that clients do not reach this fake, if it is not open."""
        raise NotImplementedError
