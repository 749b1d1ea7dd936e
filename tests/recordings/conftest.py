"""A fixture for all tests of recordings."""

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no client look up the proxies of the machine, which takes longer than most tests."""
    monkeypatch.setenv("NO_PROXY", "*")
