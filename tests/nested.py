"""Runs of pytest inside a test: the plugins that they name, since they load none by themselves, and what they share."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

import pytest
from botocore.loaders import create_loader

OURS: Final = ("-p", "converse_harness.plugin")
ANYIO: Final = ("-p", "anyio")
# It warns without this setting.
ASYNCIO: Final = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function")
HYPOTHESIS: Final = ("-p", "_hypothesis_pytestplugin")
RESPX: Final = ("-p", "respx.plugin")
SOCKET: Final = ("-p", "pytest_socket")
XDIST: Final = ("-p", "xdist.plugin")


@contextmanager
def shared_by_runs() -> Iterator[None]:
    """Let botocore's sessions share AWS's models, and the collections that end each run skip what is loaded already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", cache(create_loader))
        gc.collect()
        gc.freeze()
        yield
        gc.unfreeze()
