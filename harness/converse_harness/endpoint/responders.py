"""The values that a script accepts as replies, and the errors for all other values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from converse_harness.bedrock.findings import shown
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.condition import check_answer, is_async
from converse_harness.endpoint.outputs import check_output
from converse_harness.errors import Advice, ReplyError
from converse_harness.reply.improvised import Improvised
from converse_harness.reply.output import OperationOutput, output
from converse_harness.reply.reply import Reply

Answering = Reply | Callable[[Call], Reply]
"""A Reply, or a function that computes a Reply from the call."""


class Situation(Protocol):
    """A value that has replies to consecutive calls, such as a Case of `cases`."""

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies, in the order of the calls."""
        ...


Responder = Answering | Situation
"""A value that a script accepts: a Reply, a function that takes the call and returns a Reply, or a Case.

A Case contains several replies.
"""

_CASE_NAME: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
"""Matches a text that may be the name of a case.

The catalogue of cases cannot be asked: this module must not import it.
"""


def each_reply(responders: Iterable[object]) -> Iterator[object]:
    """Yield the replies of each Case, and all other values unchanged."""
    for responder in responders:
        several = None if callable(responder) or isinstance(responder, Reply) else getattr(responder, "replies", None)
        yield from cast("tuple[object, ...]", several) if isinstance(several, tuple) else (responder,)


def check_answers(operation: str, answers: Iterable[object], before: str) -> list[object]:
    """Check answers to an operation other than Converse. Return them as a list of outputs, replies and functions.

    A mapping is converted to an output, a Case to its replies. For other kinds of values, and for an output or a reply
    that does not fit the operation, ReplyError is raised. Its text begins with `before`.
    """
    checked: list[object] = []
    for answer in each_reply(answers):
        given = output(cast("Mapping[str, object]", answer)) if isinstance(answer, Mapping) else answer
        try:
            if isinstance(given, OperationOutput):
                check_output(operation, given.members)
            elif isinstance(given, Reply):
                check_answer(operation, given)
        except ReplyError as error:
            raise ReplyError(before, Advice(str(error), error.in_json)) from None
        if callable(given) and not isinstance(given, Improvised | type):
            check_responder(given, before)
        elif not isinstance(given, OperationOutput | Reply):
            raise ReplyError(
                f"{before}{shown(given)} does not answer {operation}. Give the members of its output as a dict, a "
                "reply that is an error, or a plain function of the call that returns one of these: lambda call: {...}."
            )
        checked.append(given)
    return checked


def check_responder(responder: Any, before: str) -> None:
    """Raise ReplyError unless the value is a Reply or a function of a call. The error's text begins with `before`."""
    if is_async(responder):
        raise ReplyError(
            f"{before}{responder!r} is an async function, and a call is answered at once. Give a plain function of the "
            "call that returns a reply."
        )
    if isinstance(responder, type) or not (isinstance(responder, Reply) or callable(responder)):
        raise ReplyError(
            f"{before}{responder!r} is not a reply. Write one with reply.text(...) or its like, or give a "
            f"function of the call that returns one.{_instead(responder)}"
        )
    name = getattr(responder, "__name__", "")
    if inspect.isfunction(responder) and responder.__module__.startswith("converse_harness.reply."):
        raise ReplyError(f"{before}reply.{name} is a function that makes a reply. Call it: reply.{name}(...).")
    if inspect.ismethod(responder) and isinstance(responder.__self__, Reply):
        raise ReplyError(f"{before}{name} is a method of a reply. Call it: .{name}(...).")


def _instead(given: object) -> str:
    if isinstance(given, str):
        case = f" For a case of the catalogue: cases.{given}." if _CASE_NAME.fullmatch(given) else ""
        return f" For the model's text: reply.text({shown(given)}).{case}"
    if isinstance(given, Mapping):
        members = cast("Mapping[object, object]", given)
        if "output" in members:
            return " For what boto3 returned, as it is: reply.response({...})."
        if "content" in members:
            return ' For a message, give its blocks: reply.message(*message["content"]).'
        if not {"body", "contentType"} & members.keys():
            return (
                " For a block of a message: reply.message({...}). For what boto3 returned: reply.response({...}). For "
                'the output of another operation: converse.on_operation("...", {...}).'
            )
    if isinstance(given, Mapping | OperationOutput):
        return (
            ' The members of an output answer another operation: converse.on_operation("InvokeModel", {...}), or '
            'converse.when(operation="InvokeModel").script({...}).'
        )
    if isinstance(given, list | tuple | Iterator):
        return " The replies are arguments of their own: write a star before the list, *replies."
    return ""


def check_some(responders: Sequence[object], by: str) -> None:
    """Raise ReplyError if there is no responder; `by` is the name of the function that was called without one."""
    if not responders:
        raise ReplyError(f'{by}: it needs a reply, as {by.removesuffix(")")}reply.text("...")).')


def check_endless(responders: Iterable[object], by: str) -> None:
    """Raise ReplyError unless there is exactly one responder that may answer any number of calls, as `always` requires.

    A reply must not have a number of uses, and must not be optional. `by` is the name of the called function, with
    which the error begins; it may be empty.
    """
    responders, start = [*responders], f"{by}: " if by else ""
    if len(responders) != 1:
        raise ReplyError(f"{start}these are {len(responders)} replies; any number of calls has one answer.")
    (responder,) = responders
    if isinstance(responder, Reply | Improvised | OperationOutput):
        if responder.uses > 1:
            raise ReplyError(
                f"{start}{responder.summary}: any number of calls gets this answer. ",
                Advice(f"Leave out .times({responder.uses}).", 'Leave out "times".'),
            )
        if responder.may_be_unused:
            raise ReplyError(
                f"{start}{responder.summary}: this answer may stay unused anyway. ",
                Advice("Leave out .optional().", 'Leave out "optional".'),
            )
