"""What a test of this project may rely on: no AWS setting of the person who runs it reaches it, and Ctrl-C works."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from botocore.loaders import create_loader

from converse_harness.intercept.registry import forget_threads

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # read when it is imported; it would fetch a price list otherwise

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background has them ignore it, and their children after them, for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_aws_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every AWS variable, configuration file and the metadata service out of reach, for children as well."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


_loader = cache(create_loader)


@pytest.fixture(autouse=True)
def _files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's sessions share AWS's models, and httpx read no certificates: both take longer than most tests."""
    monkeypatch.setattr("botocore.session.create_loader", _loader)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


_MANY: Final = 50_000
"""Objects; to look through 160,000 takes 0.1 s."""


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect() -> None:
    """What is loaded already is not looked through where a test collects garbage; pytest does so after each inner run.

    A thread of an earlier file that outlived its fake does not keep botocore patched.
    """
    forget_threads()
    if len(gc.get_objects()) > _MANY:  # without those that are frozen, which are a million at the end
        gc.collect()
        gc.freeze()


_libraries: dict[str, ModuleType] = {}


def _note_libraries() -> None:
    for name, module in sys.modules.items():
        if "site-packages" in (getattr(module, "__file__", None) or ""):
            _libraries.setdefault(name, module)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.Pytester]:
    """Keep the libraries that a test or its inner run imports.

    pytester drops them, and whoever imports them next gets a second copy, whose errors the clients of the first do not
    know.
    """
    inline_run = pytester.inline_run

    class Notes:
        pytest_unconfigure = staticmethod(_note_libraries)

    def run(*arguments: Any, plugins: Any = (), **more: Any) -> Any:
        try:
            return inline_run(*arguments, plugins=[*plugins, Notes()], **more)
        finally:
            sys.modules.update(_libraries)

    monkeypatch.setattr(pytester, "inline_run", run)
    yield pytester
    _note_libraries()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if "pytester" in getattr(item, "fixturenames", ()):
            sys.modules.update(_libraries)
