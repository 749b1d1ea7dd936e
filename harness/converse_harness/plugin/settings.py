"""The settings of a run and of its tests, from the marker, the command line and the ini file; also a test's fakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import pytest

from converse_harness.features import FEATURES, Feature
from converse_harness.recordings.names import FAILED, MODES
from converse_harness.settings import SETTINGS, YES_OR_NO, Allowed, Settings, check_settings, unknown_name

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake

OF_RUN: Final[Mapping[str, tuple[str, Mapping[Any, str]]]] = {
    "patches": (
        "how long botocore stays patched",
        {"session": "from the first test that needs it to the end", "test": "while a fake is open"},
    ),
    "record": ("what @pytest.mark.converse_recording does", MODES),
    "record_failed": ("what becomes of what a test recorded that did not pass", FAILED),
    "guard": (
        "whether a host of Bedrock is reached without a fake or a recording",
        {"off": "it is", "session": "it is not, from the first conftest.py on"},
    ),
    "stale": (
        "what becomes of a test that is answered from a recording of requests in other words",
        {"note": "a line at the end of the run", "fail": "a failure of the test", "off": "nothing"},
    ),
    "notes": (
        "what becomes of notes",
        {
            "summary": "a section at the end of the run",
            "warning": "a ConverseNoteWarning as well",
            "fail": "a failure of the test",
        },
    ),
}
"""Maps each setting of a whole run to its subject, and to its choices with their meanings. The first choice is the
default."""

_OF_FEATURES: Final = {name: row for feature in FEATURES.values() for name, row in feature.settings.items()}
"""Maps each setting of a feature to its subject and its choices, as `OF_RUN` does."""

NOTE: Final = "converse_note"
"""The name of a pytest user property in the teardown report of a test. The value is a note as JSON."""

STALE: Final = "converse_stale"
"""The name of a pytest user property in the teardown report of a test. The value is a line about a recording."""

UNKNOWN: Final = "converse_unknown_models"
"""The name of a pytest user property in the teardown report of a test. The value is the number of calls by model id, as
JSON."""

VERDICT: Final = "converse_contract"
"""The name of a pytest user property in the call report of a test. The value is the verdict of a contract as JSON."""

ONCE_MORE: Final = pytest.StashKey[Callable[[pytest.Item], AbstractContextManager[None]]]()
"""The key under which the stash of the pytest config holds a function that returns the context manager for a rerun."""

RERUNS: Final = pytest.StashKey[bool]()
"""The key under which the stash of the pytest config holds True while a test runs again."""

CHANGED: Final = pytest.StashKey[bool]()
"""The key under which the stash of the pytest config holds True while a test runs again with a fault in a reply."""

MARKER: Final = "converse_recording"
"""The name of the marker that makes a test play or record a recording."""

RECORDED: Final = "converse_recorded"
"""The name under which the hooks that record tests are registered as a plugin of pytest."""

_ONLY_INI: Final[Mapping[str, tuple[Literal["string", "linelist", "bool"], str | list[str] | bool, str]]] = {
    "environ": ("bool", False, "whether a test with a fake has dummy AWS keys and a region in its environment"),
    "keep_files": (
        "bool",
        False,
        "whether the files in requests (images, documents, ...) are kept beside a recording, not their SHA-256 alone",
    ),
    "model": ("string", "", "the model id that the fixture converse_model returns"),
    "models": ("linelist", [], f"{SETTINGS['models'].plain}: lines GLOB = MODEL"),
    "recordings": ("string", "recordings", "the folder of recordings, relative to rootdir"),
    "redact": (
        "linelist",
        [],
        "what is replaced in recordings, a line each: pattern => replacement (a regular expression)",
    ),
}
"""Maps each setting that only the ini file has to its type, its default and its meaning."""

_OF_FEATURES_MARKED: Final = tuple(name for feature in FEATURES.values() for name in feature.marked)
"""The arguments of the marker `converse` that features add. Their own functions check the values."""

OF_TEST: Final = ("guard", "rerun", "environ", *_OF_FEATURES_MARKED)
"""The arguments of the marker `converse` that are settings of the test itself, and not of its fakes."""

MARKED: Final = (*(name for name, setting in SETTINGS.items() if "marker" in setting.where), *OF_TEST)
"""The arguments of the marker `converse`."""

MARKERS: Final = (
    f"converse({', '.join(f'{name}=' for name in MARKED)}): settings of the fixture converse, see --help",
    (
        f"{MARKER}(name=None, *, match='shape', pace=0, ignore=(), keep_files=False): plays the test's recording; "
        "--converse-record makes it"
    ),
)
"""The markers with their arguments, as `pytest --markers` prints them."""

_FAKES: Final = pytest.StashKey["list[Fake]"]()
"""The key under which the stash of a test item holds the fakes of the test's own fixtures."""

PARALLEL: Final = ("run-parallel", "pytest_run_parallel.plugin")
"""The plugin names of pytest-run-parallel: the first if it is installed, the second if it is loaded with `-p`."""


def add_options(parser: pytest.Parser) -> None:
    """Register all settings with pytest: as options of the command line, as ini settings, or as both."""
    group = parser.getgroup("converse", "fake Amazon Bedrock Converse endpoint (converse-harness)")
    for name, setting in SETTINGS.items():
        if "option" in setting.where:
            option = f"--converse-{name.replace('_', '-')}"
            group.addoption(option, default=None, metavar=name.upper(), help=setting.help(setting.default))
            parser.addini(f"converse_{name}", f"the default of {option}", default=setting.text(setting.default))
    for name, (about, choices) in OF_RUN.items():
        default, *_ = choices
        option = f"--converse-{name.replace('_', '-')}"
        group.addoption(option, choices=[*choices], default=None, help=_with_choices(about, choices))
        parser.addini(f"converse_{name}", f"the default of {option}", default=default)
    for feature in FEATURES.values():
        for name, arguments in feature.options.items():
            group.addoption(f"--converse-{name}", **arguments)
        for name, (about, choices) in feature.settings.items():
            default, *_ = choices
            parser.addini(f"converse_{name}", _with_choices(about, choices), default=default)
        for name, about in feature.line_settings.items():
            parser.addini(f"converse_{name}", about, "linelist", [])
    for name, (kind, standard, meaning) in _ONLY_INI.items():
        parser.addini(f"converse_{name}", meaning, kind, standard)


def _with_choices(about: str, choices: Mapping[Any, str]) -> str:
    default, *_ = choices
    listed = "; ".join(f"{choice}: {meaning}" for choice, meaning in choices.items())
    return f"{about} (default: {default}). {listed}"


def chosen(config: pytest.Config, name: str) -> str:
    """Return a setting of the run from the command line, or otherwise from the ini file.

    The setting is one of `OF_RUN` or of a feature. Raises UsageError for an invalid value.
    """
    # `early` is for calls before pytest has parsed all options
    early = getattr(config.known_args_namespace, f"converse_{name}", None)
    choice = str(config.getoption(f"converse_{name}", None) or early or config.getini(f"converse_{name}"))
    _, choices = OF_RUN.get(name) or _OF_FEATURES[name]
    if choice not in choices:
        raise pytest.UsageError(f"converse_{name} = {choice}: one of {', '.join(choices)}.")
    return choice


def is_asked(config: pytest.Config, feature: Feature) -> bool:
    """Whether one of a feature's options is given, or one of its settings does not have its default."""
    given = [config.getoption(f"--converse-{option}") not in (None, False, []) for option in feature.options]
    given += [bool(config.getini(f"converse_{name}")) for name in feature.line_settings]
    defaults = ((name, next(iter(choices))) for name, (_, choices) in feature.settings.items())
    return any(given) or any(chosen(config, name) != default for name, default in defaults)


def models_of(config: pytest.Config) -> dict[str, str]:
    """Return the ini setting `converse_models`, which maps globs of model ids to model ids.

    Raises UsageError for a line that is not `GLOB = MODEL`.
    """
    models: dict[str, str] = {}
    for line in config.getini("converse_models"):
        glob, equals, model = (part.strip() for part in str(line).partition("="))
        if not (glob and equals and model):
            raise pytest.UsageError(f"converse_models: {line!r} is no line GLOB = MODEL.")
        models[glob] = model
    return models


def of_test(item: pytest.Item, name: str, default: object) -> object:
    """Return an argument of the closest marker `converse` that has this argument; `default` if no marker has it."""
    return next((each.kwargs[name] for each in item.iter_markers("converse") if name in each.kwargs), default)


def set_environ(item: pytest.Item, fake: Fake) -> None:
    """Set `fake.environ` for a test, if the setting `environ` is on. A fake that records needs the real keys."""
    if of_test(item, "environ", item.config.getini("converse_environ")) and not fake.core.records:
        patch = pytest.MonkeyPatch()
        item.addfinalizer(patch.undo)
        for name, value in fake.environ.items():
            patch.setenv(name, value)


def own_fakes(item: pytest.Item) -> list[Fake]:
    """Return the list of a test's own fakes. Their problems fail the test; fixtures append their fakes to the list."""
    return item.stash.setdefault(_FAKES, [])


def kept_error(item: pytest.Item) -> BaseException | None:
    """Return the error with which a test method of a unittest.TestCase ended; None for a test of another kind.

    pytest does not raise such an error but keeps it in a list. An expected failure counts as no error.
    """
    kept: list[pytest.ExceptionInfo[BaseException]] | None = getattr(item, "_excinfo", None)
    error = kept[0].value if kept else None
    return None if isinstance(error, pytest.xfail.Exception) else error


def record_setting(config: pytest.Config) -> str:
    """Return the record mode as the user wrote it: `--converse-record=once` or `converse_record = once`."""
    given = config.getoption("--converse-record")
    return f"--converse-record={given}" if given else f"converse_record = {config.getini('converse_record')}"


def folder(config: pytest.Config) -> Path:
    """Return the folder of recordings, from the ini setting `converse_recordings`."""
    return config.rootpath / str(config.getini("converse_recordings"))


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
"""Maps each fixture or marker to the values for the message `_INSIDE_GIVEN`. The message shows how to open a fake
without the fixture or marker."""


def refuse_inside_given(item: pytest.Item, fixture: str) -> None:
    """Fail a test with `@given` that uses the fixture or marker `fixture`.

    A test that suppresses HealthCheck.function_scoped_fixture is accepted.
    """
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        return
    from hypothesis import HealthCheck, settings

    own: Any = getattr(function, "_hypothesis_internal_use_settings", None) or settings.default
    if HealthCheck.function_scoped_fixture in own.suppress_health_check:
        return
    name = item.name.partition("[")[0]
    instead = {**_USUAL, **_WITHOUT_FIXTURE[fixture]}
    pytest.fail(_INSIDE_GIVEN.format(name=name, fixture=fixture, **instead), pytrace=False)


_OF_RUN: Final = pytest.StashKey["dict[str, Any]"]()
"""The key under which the stash of the pytest config holds the settings of fakes from the command line and ini file."""

_MARKER: Final = "@pytest.mark.converse"


def check_run(config: pytest.Config) -> None:
    """Check the settings of the command line and the ini file. Raises UsageError for the first invalid setting."""
    for name in ("patches", "notes", "stale"):
        chosen(config, name)
    _of_run(config)


def settings_of(node: pytest.Item | pytest.Collector) -> Settings:
    """Return the settings of the fakes of a test, class or module, from its markers, the command line and the ini file.

    Raises UsageError for an invalid setting.
    """
    __tracebackhide__ = True
    marked = {name: value for name, value in marked_with(node).items() if name not in OF_TEST}
    return cast("Settings", _of_run(node.config) | marked)


def _of_run(config: pytest.Config) -> dict[str, Any]:
    """Return the settings of all fakes. The command line has priority over the ini file.

    Raises UsageError for an invalid setting.
    """
    found = config.stash.get(_OF_RUN, None)
    if found is None:
        found = dict[str, Any](models=models_of(config))
        for name, allowed in ((name, each.allowed) for name, each in SETTINGS.items() if "option" in each.where):
            option, ini = config.getoption(f"converse_{name}"), str(config.getini(f"converse_{name}"))
            text = ini if option is None else str(option)
            found[name] = allowed.read(text)
            if not allowed.test(found[name]):
                in_ini, on_command_line = f"converse_{name} = {text}", f"--converse-{name.replace('_', '-')}={text}"
                source = in_ini if option is None else on_command_line
                raise pytest.UsageError(f"{source}: {allowed.in_text or allowed.said}")
            if unknown := unknown_name(name, found[name]):
                raise pytest.UsageError(f"converse_{name}, or --converse-{name.replace('_', '-')}: {unknown}")
        config.stash[_OF_RUN] = found
    return found


def _is_anything(value: object) -> bool:
    return True


def marked_with(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return the arguments of the markers `converse` of a test, class or module; the closest marker has priority.

    Raises UsageError for the first invalid argument.
    """
    __tracebackhide__ = True
    marked: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("converse"))):
        unknown = [f"{name}=" for name in sorted(set(marker.kwargs) - set(MARKED))]
        unknown += map(repr, marker.args)
        if unknown:
            from converse_harness.words import nearest

            close = nearest(unknown[0].rstrip("="), MARKED)
            hint = f"Did you mean {close}=? " if close else ""
            known = ", ".join(f"{name}=" for name in MARKED)
            raise pytest.UsageError(f"{_MARKER}: {unknown[0]} is no setting. {hint}Settings: {known}.")
        marked |= marker.kwargs
    if marked:
        from converse_harness.errors import ReplyError

        guards = tuple(OF_RUN["guard"][1])
        guard = Allowed(guards.__contains__, f"one of {str(guards)[1:-1]}.")
        others = dict.fromkeys(_OF_FEATURES_MARKED, Allowed(_is_anything, ""))
        try:
            check_settings(marked, _MARKER, {"guard": guard, "rerun": YES_OR_NO, "environ": YES_OR_NO, **others})
        except ReplyError as error:
            raise pytest.UsageError(str(error)) from None
    return marked
