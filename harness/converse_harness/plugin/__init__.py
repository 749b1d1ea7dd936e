"""The fixtures of the pytest plugin, and the hooks with which a run begins. `outcome` has the phases of a test.

Every pytest run of the environment loads this module, so it imports no slow modules; each fixture imports its own.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from converse_harness.features import explanation_of
from converse_harness.plugin import settings
from converse_harness.plugin.fakes import FAKES, FakesOfTests, fakes_of_tests, is_asked_for
from converse_harness.plugin.outcome import ASKED, Phases
from converse_harness.plugin.reporting import REPORTING, Reporting

if TYPE_CHECKING:
    from converse_harness.cases import Case
    from converse_harness.intercept.fake import Fake
    from converse_harness.intercept.httpx.fake import HttpxFake
    from converse_harness.server.listener import ConverseServer

# Keep these fixtures in lines 10 to 99: `pytest --fixtures` sorts by "path:line" as text, so line 100 precedes line 31.


@pytest.fixture
def converse(request: pytest.FixtureRequest) -> Iterator[Fake]:
    """A fake Bedrock that already answers every client of the process that asks Bedrock, whatever its library is.

    Clients may be created before or after the fake, in any thread, with or without credentials and region. Script the
    answers with `converse.script(reply.text("hi"))`, `converse.when(...)` or `converse.always(...)`; inspect
    `converse.calls`. A test fails if it leaves replies unused or makes a call that is not scripted.
    """
    from converse_harness.intercept.in_process import InProcessFake

    yield from _fake_of_a_test(request, InProcessFake)


@pytest.fixture
def converse_client(converse: Fake) -> Any:
    """A ready boto client for bedrock-runtime, on the fake of the fixture `converse`."""
    from converse_harness.intercept.clients import create_client, create_real_client

    return create_real_client() if converse.core.records else create_client()


@pytest.fixture
def converse_httpx(request: pytest.FixtureRequest) -> Iterator[HttpxFake]:
    """A fake Bedrock that answers every httpx client that calls a Bedrock host; calls to other hosts pass through.

    `converse_httpx.httpx_transport` and `.httpx_async_transport` are transports for a single client. Scripting and
    checks work as in `converse`.
    """
    from converse_harness.intercept.httpx.fake import HttpxFake

    yield from _fake_of_a_test(request, HttpxFake)


@pytest.fixture(scope="session")
def converse_server(request: pytest.FixtureRequest) -> Iterator[ConverseServer]:
    """A loopback server (HTTP/1.1 and HTTP/2) for clients in any language and process; one per xdist worker.

    `with converse_server.script(reply.text("hi")) as fake:` opens a fake with a URL of its own, also inside `@given`:
    `fake.url`, `fake.environ` (variables with which SDKs find the fake), `fake.calls`. A fake that a test leaves open
    is closed at the test's end, and its problems fail the test.
    """
    from converse_harness.server.listener import ConverseServer

    fakes = fakes_of_tests(request.config)
    with ConverseServer() as server:
        fakes.server = server
        yield server
        left = server.fakes
        fakes.server = None
    for fake in left:
        fake.check()


@pytest.fixture
def converse_each_case(request: pytest.FixtureRequest) -> Case:
    """A named situation: the test runs once for each case of the catalogue; the fake sends its replies.

    The fake of the fixture `converse`, or of `converse_httpx` if the test uses `converse_httpx`, answers first with the
    case's replies and then with "OK.". The fixture's value is the Case: `name`, `sentence`, `required`. `-k overflow`
    selects cases by name, and so does `@pytest.mark.parametrize("converse_each_case", ["throttle_mid"],
    indirect=True)`. A test that makes no call fails. A test that calls only Converse is skipped if the case needs a
    stream. `converse-harness cases` lists the cases.
    """
    from converse_harness.plugin.parameters import give_case

    return give_case(request)


@pytest.fixture(scope="session")
def converse_model(request: pytest.FixtureRequest) -> str:
    """The model id in the ini setting `converse_model`, for code under test that takes its model id from the test.

    `pytest -o converse_model=us.anthropic.claude-opus-5` runs the same tests with another model.
    """
    model = str(request.config.getini("converse_model"))
    if not model:
        raise pytest.UsageError(
            "the fixture converse_model returns the ini setting converse_model, which is not set. Add a model id to "
            "the ini file, for example converse_model = us.anthropic.claude-sonnet-4-5-20250929-v1:0, or to the "
            "command line: -o converse_model=MODEL."
        )
    return model


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the options and ini settings, and the hooks that every run needs."""
    # The hooks are not listed in `pytest_plugins`, because pytest would then search all installed packages again.
    pluginmanager.register(FakesOfTests(), FAKES)
    pluginmanager.register(Reporting(), REPORTING)
    pluginmanager.register(Phases(), "converse_phases")
    settings.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """If the setting `guard` is "session", block calls to Bedrock before pytest imports any conftest.py."""
    _guard(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Check the settings, and register the markers and further hooks. Raises UsageError for an invalid setting."""
    _guard(config)  # needed if pytest loaded this plugin too late for the hook above
    from converse_harness.features import FEATURES, module_of
    from converse_harness.intercept.guard import workers

    workers.arm()
    plugins = config.pluginmanager
    reporting: Any = plugins.get_plugin(REPORTING)
    from converse_harness.plugin.guard import LateRefusals

    late = LateRefusals(config)
    plugins.register(late, "converse_late_refusals")
    config.stash[ASKED] = [fakes_of_tests(config).checks, reporting.checks, late.checks]
    config.stash[settings.ONCE_MORE] = _once_more
    notes = sys.modules.get("converse_harness.notes")  # None unless a pytest run around this one loaded the module
    if notes is not None:
        aside = ExitStack()
        aside.enter_context(notes.set_aside())
        config.add_cleanup(aside.close)
    fakes = sys.modules.get("converse_harness.intercept.fake")
    if fakes is not None:  # the test of a run around this one may be running
        before = fakes.await_calls(False)
        config.add_cleanup(lambda: fakes.await_calls(before))
    settings.check_run(config)
    for marker in settings.MARKERS:
        config.addinivalue_line("markers", marker)
    # The Tally registers the recordings of all tests. It is needed if tests may record, or if unused recordings may
    # exist.
    records = settings.chosen(config, "record") != "none"
    if records or config.getini("converse_redact") or settings.folder(config).is_dir():
        from converse_harness.plugin.recording.tally import tally_of

        tally_of(config)
    for name, feature in FEATURES.items():
        if settings.is_asked(config, feature):
            plugins.register(getattr(module_of(name, "hooks"), feature.plugin)(config), f"converse_{name}")
    _await_imports(config)


def _await_imports(config: pytest.Config) -> None:
    """Call the functions of features that wait for a module, when the run imports it."""
    from converse_harness.features import FEATURES, functions_on_import
    from converse_harness.imports import ImportHook

    modules = frozenset(module for feature in FEATURES.values() for module in feature.on_import)

    def imported(module: Any) -> None:
        for function in functions_on_import(module.__name__):
            function(config, module)

    hook = ImportHook(modules, imported)

    def remove() -> None:
        while hook in sys.meta_path:
            sys.meta_path.remove(hook)

    if modules:
        sys.meta_path.insert(0, hook)
        config.add_cleanup(remove)
    for name in modules & sys.modules.keys():
        imported(sys.modules[name])


_GUARD: Final = "converse_guard"
"""The name under which the guard of the session is registered as a plugin of pytest."""


def _guard(config: pytest.Config) -> None:
    if settings.chosen(config, "guard") == "session" and not config.pluginmanager.has_plugin(_GUARD):
        from converse_harness.plugin.guard import GuardHooks

        config.pluginmanager.register(GuardHooks(config), _GUARD)


@contextmanager
def _once_more(item: pytest.Item) -> Generator[None, None, None]:
    """Context manager in which a test runs again, outside of pytest's protocol and without writing a recording."""
    config = item.config
    config.stash[settings.RERUNS] = True
    try:
        with ExitStack() as around:
            for hooks in filter(None, map(config.pluginmanager.get_plugin, (REPORTING, _GUARD))):
                around.enter_context(contextmanager(hooks.pytest_runtest_protocol)(item))
            yield
    finally:
        config.stash[settings.RERUNS] = False


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Delay the registration of the 140 sample fixtures until pytest looks one up, so that pytest starts faster."""
    plugins = session.config.pluginmanager
    manager: Any = plugins.getplugin("funcmanage")
    # To register the fixtures took a third of the time in which the plugin starts. pytest's `getfixturedefs` is not
    # public, so it may be missing; then they are registered at once.
    look_up: Any = getattr(manager, "getfixturedefs", None)

    def add() -> None:
        plugins.register(import_module("converse_harness.plugin.parameters"), "converse_samples")

    def getfixturedefs(name: str, *where: Any) -> Any:
        if name.startswith("converse_") and name not in globals():
            del manager.getfixturedefs
            add()
        return look_up(name, *where)

    if session.config.getoption("showfixtures") and session.config.get_verbosity() <= 0:
        plugins.register(_MoreFixtures(), "converse_more_fixtures")
    elif look_up is None or session.config.getoption("showfixtures"):
        add()
    else:
        manager.getfixturedefs = getfixturedefs


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """If a test uses a fixture `converse_each_...`, run the test once for each case or variant of this fixture."""
    if any(name.startswith("converse_each_") for name in metafunc.fixturenames):
        from converse_harness.plugin import parameters

        asked = metafunc.config.stash[ASKED]
        if parameters.checks not in asked:
            asked.append(parameters.checks)
        parameters.parametrize(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    op: str, left: object, right: object
) -> Generator[None, list[list[str]], list[list[str]]]:
    """Explain a failed comparison of values that a feature knows, above the lines of pytest or of another plugin."""
    told = yield
    lines = explanation_of(op, left, right)
    return [[*lines, *(line for others in told[:1] for line in others)], *told] if lines else told


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """If pytest-run-parallel is loaded, keep a test in one thread if its fake serves the whole process."""
    if any(map(config.pluginmanager.hasplugin, settings.PARALLEL)):
        from converse_harness.plugin.parameters import in_one_thread

        in_one_thread(items)


_MORE_FIXTURES: Final = (
    "converse-harness has 140 more fixtures with sample values (converse_message, converse_each_stop_reason, ...): "
    "pytest --fixtures -v, or converse-harness docs samples"
)


class _MoreFixtures:
    """Prints a hint below the list of `pytest --fixtures`, because the 140 sample fixtures are listed only with -v."""

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the hint about the sample fixtures."""
        terminalreporter.write_line(_MORE_FIXTURES)


AnyFake = TypeVar("AnyFake", bound="Fake")


def _fake_of_a_test(request: pytest.FixtureRequest, kind: type[AnyFake]) -> Iterator[AnyFake]:
    __tracebackhide__ = True
    item: pytest.Item = request.node
    settings.refuse_inside_given(item, str(request.fixturename))
    fake = kind(**settings.settings_of(item))
    fakes_of_tests(item.config).adopt(item, fake)
    fake.open()
    fake.endpoint.awaits_call = is_asked_for(item, request.fixturename)
    try:
        yield fake
    finally:
        fake.close()
    # The teardown of other fixtures may have caused problems after the test function was checked.
    fake.core.check_problems()
