"""The pytest plugin: fixtures, options, the marker, and the test's own outcome.

Loaded by every pytest of the environment, so it imports nothing heavy: everything else comes inside the fixtures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import pytest

from converse_harness.plugin import cases, contracts, guard, notes, parallel, recording, samples
from converse_harness.plugin.masks import CALLS, Masks
from converse_harness.plugin.settings import GROUP, MARKED, OPTIONS, own_fakes, settings_of

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake
    from converse_harness.intercept.httpx import HttpxFake
    from converse_harness.server.listener import ConverseServer

AnyFake = TypeVar("AnyFake", bound="Fake")

SERVER: Final = pytest.StashKey["ConverseServer"]()
"""The server of the fixture `converse_server`, on the session's config."""


_PATCHES: Final = ("session", "test")
"""How long botocore stays patched."""

_KEPT: Final = pytest.StashKey[bool]()
"""Whether this session keeps botocore patched already, on its config."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the options and ini settings, and those of samples, cases and recordings."""
    # Not through `pytest_plugins`: for that, pytest would search all installed packages once more.
    pluginmanager.register(samples, "converse_samples")
    pluginmanager.register(cases, "converse_cases")
    pluginmanager.register(recording, "converse_recordings")
    pluginmanager.register(contracts, "converse_contracts")
    pluginmanager.register(guard, "converse_guard")
    pluginmanager.register(notes, "converse_notes")
    pluginmanager.register(Masks(), "converse_masks")
    group = parser.getgroup(*GROUP)
    for name, (default, meaning) in OPTIONS.items():
        option = f"--converse-{name.replace('_', '-')}"
        group.addoption(option, default=None, metavar=name.upper(), help=f"{meaning} (default: {default})")
        parser.addini(f"converse_{name}", f"{meaning} (fixture converse)", default=default)
    meaning = "how long botocore stays patched: session, from the first test that needs it to the end, or test"
    group.addoption("--converse-patches", choices=_PATCHES, default=None, help=f"{meaning} (default: session)")
    parser.addini("converse_patches", meaning, default="session")
    parser.addini("converse_models", "lines GLOB = MODEL: what stands behind model ids such as ARNs", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker with its settings. Raises UsageError for an invalid setting."""
    if _patches(config) not in _PATCHES:
        raise pytest.UsageError(f"converse_patches = {_patches(config)}: it is {' or '.join(_PATCHES)}.")
    arguments = ", ".join(f"{name}=" for name in MARKED)
    config.addinivalue_line("markers", f"converse({arguments}): settings of the fixture converse, see --help")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """For assertions on cache rewrites: explain the rewrites instead of showing the difference of two tuples."""
    module: Any = sys.modules.get("converse_harness.endpoint.rewrites")
    if module is None or op != "==":
        return None
    found: Any = next((each for each in (left, right) if isinstance(each, module.Rewrites)), None)
    return [f"{left!r} == {right!r}", *found.explain()] if found else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With pytest-run-parallel: run tests that share a fake of this process in one thread."""
    if any(map(config.pluginmanager.hasplugin, parallel.PLUGINS)):
        parallel.in_one_thread(items)


@pytest.fixture
def converse(request: pytest.FixtureRequest) -> Iterator[Fake]:
    """A fake Bedrock that already answers every boto3 and aiobotocore client of the process.

    Clients made before or after, in any thread, with or without credentials and region. Say what it answers with
    `converse.script(reply.text("hi"))`, `converse.when(...)` or `converse.always(...)`; look at `converse.calls`.
    A test that leaves replies unused or makes a call that is not scripted fails.
    """
    from converse_harness.intercept.in_process import BotoFake

    yield from _fixture_fake(request, BotoFake)


@pytest.fixture
def converse_httpx(request: pytest.FixtureRequest) -> Iterator[HttpxFake]:
    """A fake Bedrock that answers httpx: every client that asks a host of Bedrock; all other hosts pass through.

    Also `converse_httpx.httpx_transport` and `.httpx_async_transport` for one client. It scripts and checks as
    `converse` does.
    """
    from converse_harness.intercept.httpx import HttpxFake

    yield from _fixture_fake(request, HttpxFake)


@pytest.fixture
def converse_client(converse: Fake) -> Any:
    """A ready boto client for bedrock-runtime, on the fake of the fixture `converse`."""
    from converse_harness.intercept.clients import create_client, create_real_client

    return create_real_client() if converse.records else create_client()


@pytest.fixture(scope="session")
def converse_server(request: pytest.FixtureRequest) -> Iterator[ConverseServer]:
    """A loopback server (HTTP/1.1 and HTTP/2) for clients in any language and process; one per xdist worker.

    `with converse_server.script(reply.text("hi")) as fake:` opens a fake with a URL of its own, also inside `@given`:
    `fake.url`, `fake.environ` (the variables by which SDKs find it), `fake.calls`. A fake that a test leaves open is
    closed at the test's end, and its problems fail the test.
    """
    from converse_harness.server.listener import ConverseServer

    with ConverseServer() as server:
        request.config.stash[SERVER] = server
        yield server
        left = server.fakes
        del request.config.stash[SERVER]
    for fake in left:
        fake.check()


def _patches(config: pytest.Config) -> str:
    said: str = config.getoption("converse_patches") or config.getini("converse_patches")
    return said


def _keep_patches(config: pytest.Config) -> None:
    """Keep botocore patched from the first fake to the end of the session, if the settings ask for it."""
    if _KEPT not in config.stash and _patches(config) == "session":
        from converse_harness.intercept import registry

        config.stash[_KEPT] = True
        registry.keep_patches(config)


def _fixture_fake(request: pytest.FixtureRequest, kind: type[AnyFake]) -> Iterator[AnyFake]:
    from converse_harness.plugin.settings import refuse_inside_given

    item = cast("pytest.Item", request.node)
    refuse_inside_given(item, str(request.fixturename))
    fake = kind(**settings_of(item))
    own_fakes(item).append(fake)
    recording.give(item, fake)
    _keep_patches(item.config)
    fake.open()
    try:
        yield fake
    finally:
        fake.close()
    fake.check_problems()  # of what other fixtures did after the test


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Restore botocore after the session's fixtures have ended."""
    if session.config.stash.get(_KEPT, False):
        from converse_harness.intercept import registry

        registry.drop_patches(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let the fakes decide the test's outcome: one failure in the call phase, no second error at teardown."""
    __tracebackhide__ = True
    server = item.config.stash.get(SERVER, None)
    before = _open_fakes()
    if server is not None:
        server.settings = settings_of(item)
        server.recent.clear()
    error: BaseException | None = None
    try:
        result = yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as raised:
        error = raised
        raise
    finally:
        if server is not None:
            server.settings = {}
        if isinstance(error, pytest.xfail.Exception):
            _asked(item, before, error)
        else:
            _what_fakes_say(item, before, error)
    return result


def _open_fakes() -> Mapping[Fake, int]:
    """Every open fake with its number of problems so far; empty if the module of fakes was never loaded."""
    module = sys.modules.get("converse_harness.intercept.fake")
    return {} if module is None else module.open_fakes()


def _what_fakes_say(item: pytest.Item, before: Mapping[Fake, int], error: BaseException | None) -> None:
    said = _asked(item, before, error)
    if said is not None:
        raise said  # the one frame of ours that a failure shows, because pytest wants to show one


def _asked(item: pytest.Item, before: Mapping[Fake, int], error: BaseException | None) -> Exception | None:
    """The problems that fail the test; every fake is checked now, so that none reports again when its fixture ends.

    Fakes of the test's fixtures, and those left open on the server, are checked completely. Fakes of a wider scope are
    checked only for problems with this test's calls, because their replies may be for other tests.
    """
    own = own_fakes(item)
    server = item.config.stash.get(SERVER, None)
    left = [] if server is None else [fake for fake in server.fakes if fake not in before]
    for fake in left:
        fake.close()
    last: Exception | None = None
    left_early = isinstance(error, pytest.skip.Exception | pytest.xfail.Exception)
    asked: list[Callable[[BaseException | None], None]] = [] if left_early else [fake.check for fake in (*own, *left)]
    asked += [partial(fake.check_problems, since=had) for fake, had in before.items() if fake not in own]
    asked.append(partial(notes.check, item))
    for ask in asked:
        try:
            ask(last or error)
        except Exception as said:  # noqa: BLE001 - whatever fails the test
            last = said.with_traceback(None)
    return last


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the calls to the report of a failing test."""
    report = yield
    if report.when == "call" and report.failed:
        from converse_harness.endpoint.failure_texts import transcript

        server = item.config.stash.get(SERVER, None)
        for fake in [*own_fakes(item), *(server.recent if server is not None else ())]:
            if fake.calls:
                report.sections.append((f"{CALLS}{fake.where}", transcript(fake.calls)))
    return report
