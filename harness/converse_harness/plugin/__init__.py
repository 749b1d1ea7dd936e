"""The pytest plugin: the fixtures. What happens to a test with them stands in `outcome`, from top to bottom.

Loaded by every pytest of the environment, so it imports nothing heavy: everything else comes inside the fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from converse_harness.plugin.outcome import HOOKS, Hooks
from converse_harness.plugin.settings import add_options, refuse_inside_given, settings_of

if TYPE_CHECKING:
    from converse_harness.cases import Case
    from converse_harness.intercept.fake import Fake
    from converse_harness.intercept.httpx import HttpxFake
    from converse_harness.server.listener import ConverseServer

AnyFake = TypeVar("AnyFake", bound="Fake")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the options and ini settings, and the hooks of this run."""
    # Not through `pytest_plugins`: for that, pytest would search all installed packages once more.
    pluginmanager.register(Hooks(), "converse_hooks")
    add_options(parser)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the fixtures of samples come in when pytest looks for one: to register all 140 would slow every start."""
    plugins = session.config.pluginmanager
    manager: Any = plugins.getplugin("funcmanage")
    look_up: Any = getattr(manager, "getfixturedefs", None)  # not public

    def add() -> None:
        plugins.register(import_module("converse_harness.plugin.parameters"), "converse_samples")

    def getfixturedefs(name: str, *where: Any) -> Any:
        if name.startswith("converse_") and name not in globals():
            del manager.getfixturedefs
            add()
        return look_up(name, *where)

    if look_up is None or session.config.getoption("showfixtures"):
        add()
    else:
        manager.getfixturedefs = getfixturedefs


def _fake_of_a_test(request: pytest.FixtureRequest, kind: type[AnyFake]) -> Iterator[AnyFake]:
    item: pytest.Item = request.node
    refuse_inside_given(item, str(request.fixturename))
    fake = kind(**settings_of(item))
    item.config.stash[HOOKS].adopt(item, fake)
    fake.open()
    try:
        yield fake
    finally:
        fake.close()
    fake.check_problems()  # of what other fixtures did after the test


@pytest.fixture
def converse(request: pytest.FixtureRequest) -> Iterator[Fake]:
    """A fake Bedrock that already answers every boto3 and aiobotocore client of the process.

    Clients made before or after, in any thread, with or without credentials and region. Say what it answers with
    `converse.script(reply.text("hi"))`, `converse.when(...)` or `converse.always(...)`; look at `converse.calls`.
    A test that leaves replies unused or makes a call that is not scripted fails.
    """
    from converse_harness.intercept.in_process import BotoFake

    yield from _fake_of_a_test(request, BotoFake)


@pytest.fixture
def converse_httpx(request: pytest.FixtureRequest) -> Iterator[HttpxFake]:
    """A fake Bedrock that answers httpx: every client that asks a host of Bedrock; all other hosts pass through.

    Also `converse_httpx.httpx_transport` and `.httpx_async_transport` for one client. It scripts and checks as
    `converse` does.
    """
    from converse_harness.intercept.httpx import HttpxFake

    yield from _fake_of_a_test(request, HttpxFake)


@pytest.fixture
def converse_client(converse: Fake) -> Any:
    """A ready boto client for bedrock-runtime, on the fake of the fixture `converse`."""
    from converse_harness.intercept.clients import create_client, create_real_client

    return create_real_client() if converse.records else create_client()


@pytest.fixture
def converse_each_case(request: pytest.FixtureRequest) -> Case:
    """A named trouble: the test runs once for each case of the catalogue, and the fake answers with it.

    The case's replies come first, then "OK." for whatever else is asked; `-k overflow` picks cases by name, and
    `@pytest.mark.parametrize("converse_each_case", ["throttle_mid"], indirect=True)` names some. The value is the
    Case: `name`, `sentence`, `required`. The fake is that of the fixture `converse`. A test that asks for no answer
    fails; one that calls Converse alone is skipped where only a stream can be so. `converse-harness cases` lists them.
    """
    from converse_harness.plugin.parameters import give_case

    return give_case(request)


@pytest.fixture(scope="session")
def converse_server(request: pytest.FixtureRequest) -> Iterator[ConverseServer]:
    """A loopback server (HTTP/1.1 and HTTP/2) for clients in any language and process; one per xdist worker.

    `with converse_server.script(reply.text("hi")) as fake:` opens a fake with a URL of its own, also inside `@given`:
    `fake.url`, `fake.environ` (the variables by which SDKs find it), `fake.calls`. A fake that a test leaves open is
    closed at the test's end, and its problems fail the test.
    """
    from converse_harness.server.listener import ConverseServer

    hooks = request.config.stash[HOOKS]
    with ConverseServer() as server:
        hooks.server = server
        yield server
        left = server.fakes
        hooks.server = None
    for fake in left:
        fake.check()
