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
    from converse_harness.intercept.fake import Settings

_OF_RUN: Final = pytest.StashKey["dict[str, Any]"]()
"""The key under which the stash of the pytest config holds the settings of fakes from the command line and ini file."""

_MARKER: Final = "@pytest.mark.converse"


def check_run(config: pytest.Config) -> None:
    """Check the settings of the command line and the ini file. Raises UsageError for the first invalid setting."""
    for name in ("patches", "notes", "stale"):
        settings.chosen(config, name)
    _of_run(config)
    if config.getoption("converse_chaos_strict") and config.getoption("converse_chaos") is None:
        raise pytest.UsageError("--converse-chaos-strict came without --converse-chaos. Give both options.")


def settings_of(node: pytest.Item | pytest.Collector) -> Settings:
    """Return the settings of the fakes of a test, class or module, from its markers, the command line and the ini file.

    Raises UsageError for an invalid setting.
    """
    __tracebackhide__ = True
    marked = {name: value for name, value in marked_with(node).items() if name not in settings.OF_TEST}
    return cast("Settings", _of_run(node.config) | marked)


def _of_run(config: pytest.Config) -> dict[str, Any]:
    """Return the settings of all fakes. The command line has priority over the ini file.

    Raises UsageError for an invalid setting.
    """
    found = config.stash.get(_OF_RUN, None)
    if found is None:
        found = dict[str, Any](models=settings.models_of(config))
        for name, (default, _) in settings.OF_FAKES.items():
            option, ini = config.getoption(f"converse_{name}"), str(config.getini(f"converse_{name}"))
            text = ini if option is None else str(option)
            found[name] = _READ[name](text) if name in _READ else text
            if option is not None or text != default:  # the default of an ini setting needs no check
                from converse_harness.endpoint.settings import ALLOWED

                if not ALLOWED[name].test(found[name]):
                    in_ini, on_command_line = f"converse_{name} = {text}", f"--converse-{name.replace('_', '-')}={text}"
                    source = in_ini if option is None else on_command_line
                    raise pytest.UsageError(f"{source}: {ALLOWED[name].in_text or ALLOWED[name].said}")
        config.stash[_OF_RUN] = found
    return found


def marked_with(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return the arguments of the markers `converse` of a test, class or module; the closest marker has priority.

    Raises UsageError for the first invalid argument.
    """
    __tracebackhide__ = True
    marked: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("converse"))):
        unknown = [f"{name}=" for name in sorted(set(marker.kwargs) - set(settings.MARKED))]
        unknown += map(repr, marker.args)
        if unknown:
            from converse_harness.bedrock.service import nearest

            close = nearest(unknown[0].rstrip("="), settings.MARKED)
            hint = f"Did you mean {close}=? " if close else ""
            known = ", ".join(f"{name}=" for name in settings.MARKED)
            raise pytest.UsageError(f"{_MARKER}: {unknown[0]} is no setting. {hint}Settings: {known}.")
        marked |= marker.kwargs
    if marked:
        from converse_harness.endpoint.settings import ALLOWED, Allowed, check_settings
        from converse_harness.errors import ReplyError

        # `rerun` accepts only True and False, so it is checked by the same rule as `sleeps`.
        guards = tuple(settings.OF_RUN["guard"][1])
        guard = Allowed(guards.__contains__, f"one of {str(guards)[1:-1]}.")
        try:
            check_settings(marked, _MARKER, {"guard": guard, "rerun": ALLOWED["sleeps"]})
        except ReplyError as error:
            raise pytest.UsageError(str(error)) from None
    return marked


def _number(word: str) -> Callable[[str], object]:
    """Return a function that converts `word` to None, and the text of a whole number to an int.

    The function returns any other text unchanged.
    """
    return lambda text: None if text == word else int(text) if _WHOLE.fullmatch(text) else text


_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")

_BOOLEANS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

_READ: Final[Mapping[str, Callable[[str], object]]] = {
    "sleeps": lambda text: _BOOLEANS.get(text.lower(), text),
    "seed": _number(""),
    "cache_minimum": _number("model"),
    "attempts": _number("client"),
}
"""Maps each setting that is not a text to the function that reads its value from the text of an option or ini file."""
