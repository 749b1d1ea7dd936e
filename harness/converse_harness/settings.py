"""Check the settings of fakes and Endpoints. One table lists the values that each setting allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from converse_harness.bedrock.rules import LEVELS
from converse_harness.errors import Advice, ReplyError
from converse_harness.words import nearest

HistoryLevel = Literal["note", "fail", "off"]
"""The reaction of the fake to a request that changes an earlier answer."""

HISTORY_LEVELS: Final[Mapping[HistoryLevel, str]] = {
    "note": "answer as scripted, and make a note of the change",
    "fail": "answer as scripted, and fail the test",
    "off": "do not compare answers",
}


class Allowed(NamedTuple):
    """The rule for one setting: a function that tests a value, and a text for errors about the allowed values."""

    test: Callable[[Any], bool]
    said: str
    in_json: str = ""
    """A different text for callers of the control API; "" if the text is the same."""
    in_text: str = ""
    """A different text for the command line and ini file, where each value is a str; "" if the text is the same."""


def _whole(least: int | None = None) -> Callable[[object], bool]:
    return lambda value: type(value) is int and (least is None or value >= least)


def _one_of(*names: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in names


def _or_none(test: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or test(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_models(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    models = cast("Mapping[object, object]", value)
    return all(isinstance(each, str) for item in models.items() for each in item)


def _listed(known: Mapping[Any, str]) -> str:
    return ", ".join(f'"{name}" ({meaning})' for name, meaning in known.items())


ALLOWED: Final[Mapping[str, Allowed]] = {
    "seed": Allowed(_whole(), "it is a whole number."),
    "unused": Allowed(_one_of("fail", "allow"), "one of 'fail', 'allow'."),
    "unexpected": Allowed(_one_of("fail", "allow"), "one of 'fail', 'allow'."),
    "sleeps": Allowed(_is_bool, "it is True or False.", "it is true or false.", "it is yes or no."),
    "rules": Allowed(_one_of(*LEVELS), f"one of {_listed(LEVELS)}."),
    "history": Allowed(_one_of(*HISTORY_LEVELS), f"one of {_listed(HISTORY_LEVELS)}."),
    "keep_calls": Allowed(
        _or_none(_whole(1)),
        "it is a whole number from 1, or None to keep all calls.",
        "it is a whole number from 1, or null to keep all calls.",
    ),
    "models": Allowed(
        _or_none(_is_models),
        'it maps globs of model ids to model ids, as {"arn:*": "us.amazon.nova-lite-v1:0"}, or is None.',
        'it maps globs of model ids to model ids, as {"arn:*": "us.amazon.nova-lite-v1:0"}, or is null.',
    ),
    "cache_minimum": Allowed(
        _or_none(_whole(0)),
        "it is a whole number of tokens from 0, or None for each model's own minimum.",
        "it is a whole number of tokens from 0, or null for each model's own minimum.",
        "it is a whole number of tokens from 0, or model for each model's own minimum.",
    ),
    "attempts": Allowed(
        _or_none(_whole(1)),
        "it is a whole number from 1, or None for what each client is set to.",
        "it is a whole number from 1, or null for what each client is set to.",
        "it is a whole number from 1, or client for what each client is set to.",
    ),
}
"""Maps each setting to its allowed values."""


def check_settings(given: Mapping[str, object], by: str = "", more: Mapping[str, Allowed] | None = None) -> None:
    """Raise ReplyError for a setting that does not exist, and for a value that a setting does not allow.

    `by` is the name of the function or marker to which the settings were given; `more` are further settings that this
    function or marker allows.
    """
    known = {**ALLOWED, **(more or {})}
    for name, value in given.items():
        setting = f"{by}({name}={value!r}): " if by else f"{name}={value!r}; "
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close}=? " if close else ""
            raise ReplyError(
                f"{setting}no setting has this name. {hint}Settings: {', '.join(f'{each}=' for each in known)}."
            )
        if not known[name].test(value):
            raise ReplyError(setting, Advice(known[name].said, known[name].in_json or known[name].said))
