"""Checks of function arguments that AWS's API model does not describe.

Each error names the function and the argument, and gives advice.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final, TypeGuard, TypeVar, cast

from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.words import shown

AN_EVENT: Final = '{"messageStart": {"role": "assistant"}}'
"""An example of an event, shown in error messages."""

_UNCHANGED: Final = frozenset({str, int, float, bool, bytes, type(None)})
"""The classes of immutable values, which `_copy` returns unchanged."""

_Value = TypeVar("_Value")


Path = tuple[str | int, ...]
"""The keys and indexes that lead from a value to a part of it."""


def wrong(function: str, name: str, value: object, *problem: str | Advice, path: Path = ()) -> ReplyError:
    """Make the error for the argument `name` of a function; `path` leads to the wrong part, which is `value`.

    `problem` is a sentence about the allowed values; advice may follow it.

    >>> str(wrong("text", "text", 5, "it must be a str."))
    'text(text=5): it must be a str.'
    """
    return ReplyError(Argument(function, name, path, value), ": ", *problem)


@contextmanager
def built_by(function: str, sources: Mapping[Path, str] | Mapping[Path, str | Argument]) -> Generator[None, None, None]:
    """Make a context for a function that builds its result with another function, such as `message`.

    Errors in this context name the arguments of `function`. `sources` maps parts of the other function's arguments to
    the argument of `function`, or its name, from which the part is made. A path begins with the name of the argument.

    >>> with built_by("tool_use", {("content", 0, "toolUse", "toolUseId"): "id"}):
    ...     raise ReplyError(Argument("message", "content", (0, "toolUse", "toolUseId")), " is wrong.")
    Traceback (most recent call last):
    converse_harness.ReplyError: tool_use(): id is wrong.
    """

    def moved(part: str | Advice | Argument) -> str | Advice | Argument:
        if not isinstance(part, Argument):
            return part
        path = (part.name, *part.path)
        for length in range(len(path), 0, -1):
            if path[:length] in sources:
                source = sources[path[:length]]
                made = Argument(name=source) if isinstance(source, str) else source
                part = part._replace(name=made.name, path=(*made.path, *path[length:]))
                break
        return part._replace(function=function if part.function else "")

    try:
        yield
    except ReplyError as error:
        raise type(error)(*map(moved, error.parts)) from None


def check_text(call: str, **given: object) -> None:
    """Raise ReplyError unless each argument is a str."""
    for name, value in given.items():
        check_text_at(Argument(call, name, value=value))


def check_text_at(argument: Argument) -> None:
    """Raise ReplyError unless the value of the argument is a str."""
    kind = type(argument.value)
    if not issubclass(kind, str):
        raise ReplyError(argument, f": it must be a str; it is of the type {kind.__name__}.")


def check_optional_text(call: str, **given: object) -> None:
    """Raise ReplyError unless each argument is None or a str."""
    check_text(call, **{name: value for name, value in given.items() if value is not None})


def check_flag(call: str, **given: object) -> None:
    """Raise ReplyError unless each argument is True or False."""
    for name, value in given.items():
        if not isinstance(value, bool):
            raise wrong(call, name, value, "it must be True or False.")


def texts(call: str, name: str, value: object, path: Path = ()) -> list[str]:
    """Return a list or tuple of str as a list. Raises ReplyError for any other value.

    >>> texts("text", "pieces", ("a", "b"))
    ['a', 'b']
    """
    if not is_array(value) or not all(isinstance(each, str) for each in value):
        raise wrong(call, name, value, "it must be a list of str, the exact deltas in their order.", path=path)
    return list(value)


def pieces_by_block(call: str, value: object) -> dict[int, Sequence[str]] | None:
    """Return a copy of the argument `pieces` of the function `call`; None stays None.

    Raises ReplyError unless the value maps indexes of blocks to lists of str.
    """
    if value is None:
        return None
    if not is_object(value) or not all(type(index) is int for index in value):
        raise wrong(
            call, "pieces", value, 'it must be a dict of the index of a block and its deltas, such as {0: ["Hi", "!"]}.'
        )
    return {index: texts(call, "pieces", given, (index,)) for index, given in value.items()}


def copied(at: Argument, value: _Value) -> _Value:
    """Return a deep copy of a value. Raises ReplyError for a value that cannot be copied, such as an iterator."""
    try:
        return cast("_Value", _copy(value))
    except Exception as error:  # noqa: BLE001 - an object of a user's own raises what it likes
        problem = f" is {shown(value)}, which cannot be copied ({error}). Give JSON values, and bytes for blobs."
        raise ReplyError(at, problem) from None


def _copy(value: object) -> object:
    """Copy dicts and lists here, three times as fast as `deepcopy` does; copy all other values with `deepcopy`."""
    kind = value.__class__
    if kind in _UNCHANGED:
        return value
    if kind is dict:
        return {key: _copy(item) for key, item in cast("dict[object, object]", value).items()}
    if kind is list:
        return [_copy(item) for item in cast("list[object]", value)]
    return copy.deepcopy(value)


def is_whole_response(value: object) -> bool:
    """Whether a value is a whole response of boto3, and not a content block or an event.

    >>> is_whole_response({"stopReason": "end_turn", "output": {"message": {}}}), is_whole_response({"text": "hi"})
    (True, False)
    """
    return is_object(value) and any(name in value for name in ("output", "stream", "ResponseMetadata", "Error"))


def has_content(value: object) -> bool:
    """Whether a value is a whole Message of the AWS API, and not one content block."""
    return is_object(value) and "content" in value and "role" in value


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: a question with a similar known name, otherwise a full stop.

    Forms of the name with the endings "exception" and "s", and without a final "s", are also compared.

    >>> did_you_mean("ThrottlingException", ["throttlingException"]), did_you_mean("x", ["throttlingException"])
    ("; did you mean 'throttlingException'?", '.')
    """
    by_lower = {each.lower(): each for each in known}
    given = str(name).lower()
    spelled = (given, f"{given}exception", f"{given}s", given.removesuffix("s"))
    close = [near for each in spelled for near in get_close_matches(each, by_lower, n=1, cutoff=0.85)]
    return f"; did you mean {by_lower[close[0]]!r}?" if close else "."


def is_listed(value: object) -> TypeGuard[Iterable[object]]:
    """Whether a value is an iterable of items, such as a list, and not a text, bytes or a dict."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)


def each_event(call: str, events: object) -> Iterator[Mapping[str, Any]]:
    """Yield the events in an iterable. Raises ReplyError unless `events` is an iterable of dicts.

    `call` is the name of the function that the error names.
    """
    if not is_listed(events):
        raise wrong(call, "events", events, f"it must be a list of event dicts, such as {AN_EVENT}.")
    for index, event in enumerate(events):
        if not is_object(event):
            raise ReplyError(
                Argument(call, "events", (index,)),
                f" is {shown(event)}; an event is a dict with its type as the key: {AN_EVENT}.",
            )
        yield event


def check_json(name: str, members: Mapping[str, object]) -> None:
    """Raise ReplyError unless all `members` are valid JSON and the member `message` is a str.

    `name` is the name of the error or exception that has these members.
    """
    if not isinstance(members["message"], str):
        raise ReplyError(f"{name}.message is {shown(members['message'])}; it must be a str.")
    for member, value in members.items():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as problem:
            raise ReplyError(f"{name}.{member} is {shown(value)}, which is no JSON: {problem}.") from None


def members(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those members of a mapping that have one of these names."""
    return {name: value[name] for name in names if name in value}
