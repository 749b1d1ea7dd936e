"""Fixtures for all tests: the tests see no AWS settings of the person who runs them, and Ctrl-C works."""

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

from converse_harness.intercept.registry import OPEN_FAKES

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise litellm downloads a price list

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # In a background job of a shell, the tests and all their child processes would ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_aws_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all AWS variables, the configuration files and the metadata service, also from child processes."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


_loader = cache(create_loader)


@pytest.fixture(autouse=True)
def _files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's sessions share AWS's models, and let httpx load no certificates. Both take long."""
    monkeypatch.setattr("botocore.session.create_loader", _loader)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


_MANY: Final = 50_000
"""Number of objects. The garbage collector needs 0.1 s for 160,000 of them."""


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect() -> None:
    """Exclude the objects that exist already from garbage collection, which pytest runs after each inner run.

    Also forget the threads of earlier files that outlived their fakes, so that they do not keep botocore patched.
    """
    OPEN_FAKES.forget_threads()
    if len(gc.get_objects()) > _MANY:  # the frozen objects, a million at the end, are not counted
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

    pytester removes them from `sys.modules`. The next import would load a second copy, and clients of the first copy
    do not catch the exceptions of the second.
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
