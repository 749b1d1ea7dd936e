"""The settings of a test, from its marker, the command line and the ini file; and the fakes that are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import pytest

if TYPE_CHECKING:
    from converse_harness.doors.fake import Fake, Settings

FAKES: Final = pytest.StashKey["list[Fake]"]()
"""The fakes of a test's own fixtures, on the test item."""

GROUP: Final = ("converse", "fake Amazon Bedrock Converse endpoint (converse-harness)")
"""Where `pytest --help` has our options."""

OPTIONS: Final = {
    "unused": ("fail", "what becomes of a test that leaves replies unused: fail or allow"),
    "unexpected": ("fail", "what becomes of a test whose client makes a call that is not scripted: fail or allow"),
    "rules": ("default", "what becomes of requests that Bedrock would refuse: off, warn, default or strict"),
    "sleeps": ("no", "whether clients really wait between retries: yes or no"),
    "seed": ("0", "a whole number that changes every generated id and padding length"),
}
"""Each setting of the marker `converse`, with its default and meaning; also an ini and a command-line option."""

_BOOLEANS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def settings_of(item: pytest.Item) -> Settings:
    """The settings of a test: its marker, else the command line, else the ini file. Raises UsageError."""
    settings: dict[str, Any] = {
        name: item.config.getoption(f"--converse-{name}") or item.config.getini(f"converse_{name}") for name in OPTIONS
    }
    for marker in reversed(list(item.iter_markers("converse"))):
        unknown = sorted(set(marker.kwargs) - set(OPTIONS))
        if unknown or marker.args:
            came = f"{unknown[0]}=" if unknown else repr(marker.args[0])
            raise pytest.UsageError(
                f"@pytest.mark.converse: {came} is no setting. Settings: {', '.join(f'{name}=' for name in OPTIONS)}."
            )
        settings.update(marker.kwargs)
    try:
        sleeps = settings["sleeps"]
        settings["sleeps"] = sleeps if isinstance(sleeps, bool) else _BOOLEANS[str(sleeps).lower()]
        settings["seed"] = int(settings["seed"])
    except (KeyError, ValueError):
        raise pytest.UsageError(
            f"converse settings: sleeps is yes or no and seed a whole number; got sleeps={settings['sleeps']!r}, "
            f"seed={settings['seed']!r}."
        ) from None
    return cast("Settings", settings)


def own_fakes(item: pytest.Item) -> list[Fake]:
    """The fakes that decide about a test's outcome; a fixture appends its own."""
    return item.stash.setdefault(FAKES, [])
