"""What the tests of recordings share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from botocore.loaders import create_loader


@pytest.fixture(scope="session", autouse=True)
def _files_are_read_once() -> Iterator[None]:
    """Let botocore's sessions share AWS's models, and httpx read no certificates: both take longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", cache(create_loader))
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))
        patch.setenv("NO_PROXY", "*")
        yield


@pytest.fixture(scope="session", autouse=True)
def _little_to_collect() -> Iterator[None]:
    """What is loaded already is not looked through where a test collects what a client dropped."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
