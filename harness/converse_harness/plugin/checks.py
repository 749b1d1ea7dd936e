"""Check a run's settings when the run starts, and a test's settings when the test begins.

Messages name a setting in the form in which the user gave it: as an option, an ini setting or a marker argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from converse_harness.plugin import settings

if TYPE_CHECKING:
    from converse_harness.endpoint.settings import Allowed
    from converse_harness.intercept.fake import Settings

_OF_RUN: Final = pytest.StashKey["dict[str, Any]"]()
"""The key, in the stash of the pytest config, of the settings of fakes from the command line and the ini file."""

_MARKER: Final = "@pytest.mark.converse"


def check_run(config: pytest.Config) -> None:
    """Check the settings of the command line and the ini file. Raises UsageError for the first invalid one."""
    for name in ("patches", "notes", "stale"):
        settings.chosen(config, name)
    _of_run(config)
    if config.getoption("converse_chaos_strict") and config.getoption("converse_chaos") is None:
        raise pytest.UsageError("--converse-chaos-strict came without --converse-chaos. Give both options.")


def check_marker(item: pytest.Item) -> None:
    """Check the arguments of a test's markers `converse`. Raises UsageError for the first invalid one."""
    __tracebackhide__ = True
    _marked(item)


def settings_of(item: pytest.Item) -> Settings:
    """Return the settings of a test's fakes, from its markers, the command line and the ini file.

    Raises UsageError for an invalid setting.
    """
    __tracebackhide__ = True
    marked = _marked(item)
    return cast("Settings", {**_of_run(item.config), **{name: marked[name] for name in marked if name not in _TEST}})


def _of_run(config: pytest.Config) -> dict[str, Any]:
    """Return the settings of all fakes from the command line, or otherwise from the ini file."""
    found = config.stash.get(_OF_RUN, None)
    if found is None:
        found = dict[str, Any](models=settings.models_of(config))
        for name, (default, _) in settings.OF_FAKES.items():
            found[name], came = _said(config, name, default)
            if came:
                _check(name, found[name], came)
        config.stash[_OF_RUN] = found
    return found


def _said(config: pytest.Config, name: str, default: str) -> tuple[object, str]:
    """Return a setting's value, and a text that names the user's source; "" for the default, which needs no check."""
    option, ini = config.getoption(f"converse_{name}"), str(config.getini(f"converse_{name}"))
    text = ini if option is None else str(option)
    value = _READ[name](text) if name in _READ else text
    if option is not None:
        return value, f"--converse-{name.replace('_', '-')}={text}"
    return value, "" if text == default else f"converse_{name} = {text}"


def _check(name: str, value: object, came: str) -> None:
    from converse_harness.endpoint.settings import ALLOWED

    allowed = ALLOWED[name]
    if not allowed.test(value):
        raise pytest.UsageError(f"{came}: {allowed.in_text or allowed.said}")


def _marked(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's markers `converse`; the closest marker wins."""
    __tracebackhide__ = True
    marked: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("converse"))):
        unknown = sorted(set(marker.kwargs) - set(settings.MARKED))
        if unknown or marker.args:
            _refuse_unknown(f"{unknown[0]}=" if unknown else repr(marker.args[0]))
        marked.update(marker.kwargs)
    if marked:
        from converse_harness.endpoint.settings import check_settings
        from converse_harness.errors import ReplyError

        try:
            check_settings(marked, _MARKER, _of_test())
        except ReplyError as error:
            raise pytest.UsageError(str(error)) from None
    return marked


def _refuse_unknown(came: str) -> None:
    from converse_harness.bedrock.service import nearest

    __tracebackhide__ = True
    close = nearest(came.rstrip("="), settings.MARKED)
    hint = f"Did you mean {close}=? " if close else ""
    known = ", ".join(f"{name}=" for name in settings.MARKED)
    raise pytest.UsageError(f"{_MARKER}: {came} is no setting. {hint}Settings: {known}.")


_TEST: Final = frozenset(settings.OF_TEST)


def _of_test() -> Mapping[str, Allowed]:
    """Return the allowed values of those marker settings that belong to the test itself, and not to its fakes."""
    from converse_harness.endpoint.settings import Allowed

    def is_guard(value: object) -> bool:
        return isinstance(value, str) and value in guards

    def is_bool(value: object) -> bool:
        return isinstance(value, bool)

    guards = tuple(settings.OF_RUN["guard"][1])
    return {
        "guard": Allowed(is_guard, f"one of {str(guards)[1:-1]}."),
        "rerun": Allowed(is_bool, "it is True or False."),
    }


def _number(word: str) -> Callable[[str], object]:
    """Return a function that reads a whole number; it returns None for `word`, and any other text unchanged."""

    def read(text: str) -> object:
        if text == word:
            return None
        return int(text) if _WHOLE.fullmatch(text) else text

    return read


_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")

_BOOLEANS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

_READ: Final[Mapping[str, Callable[[str], object]]] = {
    "sleeps": lambda text: _BOOLEANS.get(text.lower(), text),
    "seed": _number(""),
    "cache_minimum": _number("model"),
    "attempts": _number("client"),
}
"""For each setting that is not a text: the function that reads the setting from a text of the ini file."""
