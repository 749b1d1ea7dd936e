"""What the tests of recordings share."""

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no client read what proxies the machine has: it takes longer than most tests."""
    monkeypatch.setenv("NO_PROXY", "*")
