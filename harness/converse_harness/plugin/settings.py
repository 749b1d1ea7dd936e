"""The settings of a test, from its marker, the command line and the ini file; and the fakes that belong to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake, Settings


_FAKES: Final = pytest.StashKey["list[Fake]"]()
"""The fakes of a test's own fixtures, on the test item."""

GROUP: Final = ("converse", "fake Amazon Bedrock Converse endpoint (converse-harness)")
"""Where `pytest --help` has our options."""

OPTIONS: Final = {
    "unused": ("fail", "what becomes of a test that leaves replies unused: fail or allow"),
    "unexpected": ("fail", "what becomes of a test whose client makes a call that is not scripted: fail or allow"),
    "rules": ("default", "what becomes of requests that Bedrock would refuse: off, warn, default or strict"),
    "history": ("note", "what becomes of requests that change what the model said before: note, fail or off"),
    "sleeps": ("no", "whether clients really wait between retries: yes or no"),
    "seed": ("0", "a whole number that changes every generated id and padding length"),
    "cache_minimum": ("model", "the least tokens of a prompt that is cached: a number, or model for each model's own"),
}
"""Each setting of the marker `converse`, with its default and meaning; also an ini and a command-line option."""

MARKED: Final = (*OPTIONS, "guard", "models")
"""What the marker takes; `guard` is a setting of the test, and not of its fakes."""

_BOOLEANS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def settings_of(item: pytest.Item) -> Settings:
    """The settings of a test: its marker, else the command line, else the ini file. Raises UsageError."""
    settings: dict[str, Any] = {
        name: item.config.getoption(f"converse_{name}") or item.config.getini(f"converse_{name}") for name in OPTIONS
    }
    settings["models"] = _models(item.config)
    for marker in reversed(list(item.iter_markers("converse"))):
        unknown = sorted(set(marker.kwargs) - set(MARKED))
        if unknown or marker.args:
            came = f"{unknown[0]}=" if unknown else repr(marker.args[0])
            raise pytest.UsageError(
                f"@pytest.mark.converse: {came} is no setting. Settings: {', '.join(f'{name}=' for name in MARKED)}."
            )
        settings.update(marker.kwargs)
    settings.pop("guard", None)
    try:
        sleeps = settings["sleeps"]
        settings["sleeps"] = sleeps if isinstance(sleeps, bool) else _BOOLEANS[str(sleeps).lower()]
        settings["seed"] = int(settings["seed"])
        minimum = settings["cache_minimum"]
        settings["cache_minimum"] = None if minimum in (None, "model") else int(minimum)
    except (KeyError, ValueError):
        raise pytest.UsageError(
            "converse settings: sleeps is yes or no, seed a whole number, cache_minimum a number of tokens or model; "
            f"got sleeps={settings['sleeps']!r}, seed={settings['seed']!r}, "
            f"cache_minimum={settings['cache_minimum']!r}."
        ) from None
    return cast("Settings", settings)


def _models(config: pytest.Config) -> Mapping[str, str]:
    """The mapping of model id globs to models. Raises UsageError."""
    said: dict[str, str] = {}
    for line in config.getini("converse_models"):
        glob, equals, model = (part.strip() for part in str(line).partition("="))
        if not (glob and equals and model):
            raise pytest.UsageError(f"converse_models: {line!r} is no line GLOB = MODEL.")
        said[glob] = model
    return said


def guard_of(item: pytest.Item) -> str | None:
    """The session guard setting of the closest marker; None if no marker has it."""
    said = (marker.kwargs["guard"] for marker in item.iter_markers("converse") if "guard" in marker.kwargs)
    return next(said, None)


def own_fakes(item: pytest.Item) -> list[Fake]:
    """The fakes that decide the test's outcome; fixtures append theirs."""
    return item.stash.setdefault(_FAKES, [])


_INSIDE_GIVEN: Final = """\
{name} uses @given, and the {kind} `{fixture}` would give all its examples one script and one list of calls.
Open a fake for each example instead:

{decorators}    @given(...)
    def {name}({parameters}):
        with {made}({answer}) as fake:
            ...

({imports}; More: converse-harness docs fixtures inside-given)"""


_USUAL: Final = {"answer": "answer", "parameters": "...", "decorators": "", "kind": "fixture"}

_WITHOUT_FIXTURE: Final[Mapping[str, Mapping[str, str]]] = {
    "converse": {"made": "fake_converse", "imports": "from converse_harness import fake_converse"},
    "converse_httpx": {"made": "HttpxFake", "imports": "from converse_harness import HttpxFake"},
    "converse_recording": {
        "made": "fake_converse",
        "imports": "from converse_harness import fake_converse, recording",
        "answer": 'recording("recordings/...")',
        "kind": "marker",
    },
    "converse_each_case": {
        "made": "fake_converse",
        "imports": "from converse_harness import fake_converse; from converse_harness.cases import CASES",
        "answer": '*case.replies, unused="allow"',
        "parameters": "case, ...",
        "decorators": '    @pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))\n',
    },
}
"""What makes the same as a fixture, by the names in the text above."""


def refuse_inside_given(item: pytest.Item, fixture: str) -> None:
    """Fail a test with `@given` that uses this fixture, unless it states that all examples share one fake."""
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        return
    from hypothesis import HealthCheck, settings

    chosen: Any = getattr(function, "_hypothesis_internal_use_settings", None) or settings.default
    if HealthCheck.function_scoped_fixture in chosen.suppress_health_check:
        return
    name = item.name.partition("[")[0]
    instead = {**_USUAL, **_WITHOUT_FIXTURE[fixture]}
    pytest.fail(_INSIDE_GIVEN.format(name=name, fixture=fixture, **instead), pytrace=False)


MARKER: Final = "converse_recording"

_ARGUMENTS: Final = {
    "name": "the file, below the folder of recordings and without .jsonl",
    "match": '"order", "exact" or "shape" (the default): which recorded exchange answers a call',
    "pace": '"recorded", or what the recorded pauses are multiplied by: 0 (the default) is none',
}
"""What the marker takes; the first also without its name."""


def settings_of_recording(item: pytest.Item) -> dict[str, Any] | None:
    """The settings of a test's recording markers, the closest first; None if there is none. Raises ReplyError."""
    settings: dict[str, Any] = {}
    markers = list(item.iter_markers(MARKER))
    for marker in reversed(markers):
        given: dict[str, Any] = dict(marker.kwargs)
        if marker.args:
            given["name"] = marker.args[0]
        unknown = [repr(arg) for arg in marker.args[1:]] + [f"{name}=" for name in given if name not in _ARGUMENTS]
        if unknown:
            from converse_harness.errors import ReplyError

            known = "; ".join(f"{name}: {meaning}" for name, meaning in _ARGUMENTS.items())
            raise ReplyError(f"@pytest.mark.{MARKER}: {unknown[0]} is none of its arguments. {known}.")
        settings |= given
    return settings if markers else None


def path_of(item: pytest.Item, name: object = None) -> Path:
    """The file of a test's recording. Raises ReplyError for an invalid name."""
    from converse_harness.recordings.choices import given_path, path_of_test

    if name is not None:
        return folder(item.config) / given_path(name)
    try:
        module = Path(os.path.relpath(item.path, item.config.rootpath)).parts
    except ValueError:  # another drive of Windows
        module = item.path.parts
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return folder(item.config) / path_of_test(module, classes, item.name)


def folder(config: pytest.Config) -> Path:
    """The folder of recordings."""
    return config.rootpath / str(config.getini("converse_recordings"))


def shown(config: pytest.Config, path: Path) -> str:
    """A path as reports show it: relative to the root folder, as in node ids."""
    try:
        return path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return str(path)


def mode_of_run(config: pytest.Config) -> str:
    """The record mode of the run, one of MODES."""
    return str(config.getoption("--converse-record") or config.getini("converse_record"))


def setting_of_run(config: pytest.Config) -> str:
    """Where the record mode was set, as written there."""
    given = config.getoption("--converse-record")
    return f"--converse-record={given}" if given else f"converse_record = {config.getini('converse_record')}"
