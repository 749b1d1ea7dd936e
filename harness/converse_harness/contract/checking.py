"""What the settings of a contract may be: refused where they are written, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from converse_harness import model
from converse_harness.cases import CASES, UnknownCase
from converse_harness.contract.expectations import OVERFLOW
from converse_harness.contract.properties import PROPERTIES, block_kinds
from converse_harness.damage import Door
from converse_harness.errors import ReplyError

if TYPE_CHECKING:
    from converse_harness.contract.consumer import ConsumerContract

OPERATIONS: Final = ("ConverseStream", "Converse")
DOORS: Final[Mapping[str, Door]] = {door.value: door for door in (Door.BOTO, Door.HTTPX, Door.SERVER)}

SETTINGS: Final[Mapping[str, str]] = {
    "door": 'how the consumer reaches the fake: `"boto"` (any boto client of the process), `"httpx"` or `"server"` '
    "(by URL)",
    "operation": 'what it calls: `"ConverseStream"` or `"Converse"`',
    "known": "the cases and properties that it knowingly does not handle, each with the reason",
    "time_limit": "how many seconds it may take for one answer",
    "errors": "what its own errors stand for, by class or name: names of errors of AWS, and `"
    f"{OVERFLOW}` for a conversation that is too long",
    "most_calls": "how often it may ask for one answer",
    "kinds": "the blocks of drawn answers",
    "examples": "how many answers are drawn for each property",
}
"""The settings of a contract, each with what it means."""


def check(contract: type[ConsumerContract], where: str) -> None:
    """Raises ReplyError for a setting that is none, at the line that wrote it."""
    for name, allowed in (("door", tuple(DOORS)), ("operation", OPERATIONS)):
        if (value := getattr(contract, name)) not in allowed:
            raise ReplyError(f"{where}.{name} = {value!r}; one of {', '.join(map(repr, allowed))}.")
    if not _is_number(contract.time_limit, int, float):
        raise ReplyError(f"{where}.time_limit = {contract.time_limit!r}; a number of seconds, more than 0.")
    for name in ("most_calls", "examples"):
        if not _is_number(value := getattr(contract, name), int):
            raise ReplyError(f"{where}.{name} = {value!r}; a whole number, 1 or more.")
    _check_kinds(contract.kinds, where)
    _check_errors(contract.errors, where)
    _check_known(contract, where)


def _is_number(value: Any, *types: type) -> bool:
    return type(value) in types and 0 < value < float("inf")


def _check_kinds(kinds: Any, where: str) -> None:
    allowed = block_kinds()
    given = {*cast("Sequence[object]", kinds)} if isinstance(kinds, list | tuple) else set[object]()
    if not given or not given <= {*allowed}:
        raise ReplyError(f"{where}.kinds = {kinds!r}; a list of some of {', '.join(map(repr, allowed))}.")


def _check_errors(errors: Any, where: str) -> None:
    allowed = {*model.all_errors(), OVERFLOW}
    for key, names in errors.items():
        if not isinstance(key, str) and not (isinstance(key, type) and issubclass(key, BaseException)):
            raise ReplyError(f"{where}.errors: {key!r} is no error; the class of one, or in another language its name.")
        shown = key if isinstance(key, str) else key.__name__
        if isinstance(names, str):
            raise ReplyError(f"{where}.errors[{shown}] = {names!r}; a list of names: [{names!r}].")
        if unknown := sorted({*names} - allowed):
            raise ReplyError(
                f"{where}.errors[{shown}]: {unknown[0]!r} is no error of AWS. One of: {', '.join(sorted(allowed))}."
            )


def _check_known(contract: type[ConsumerContract], where: str) -> None:
    names = {*contract.cases(), *PROPERTIES}
    for name, reason in contract.known.items():
        if name not in names:
            _refuse(name, contract, where)
        if type(reason) is not str or not reason.strip():
            raise ReplyError(f"{where}.known[{name!r}] = {reason!r}; say why, in a text.")


def _refuse(name: str, contract: type[ConsumerContract], where: str) -> None:
    try:
        case = CASES[name]
    except UnknownCase as error:
        raise UnknownCase(f"{where}.known: {error} Properties: {', '.join(PROPERTIES)}.") from None
    if case.stream_only and contract.operation == "Converse":
        why = "only a stream can be so, and the operation is Converse"
    else:
        why = f'the door "{contract.door}" cannot express it'
    raise ReplyError(f"{where}.known: {name!r} is no test of this contract: {why}. Leave it out.")
