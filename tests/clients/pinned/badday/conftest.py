"""What the frameworks of these suites leave behind, which this project's own settings would take for an error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import litellm
import pytest

from tests.clients.litellm_warnings import WARNINGS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for warning in WARNINGS:
            item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True)
def _a_loop_for_plain_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """`run_sync` of pydantic-ai takes the thread's event loop, makes one where there is none, and leaves it open."""
    if request.node.get_closest_marker("asyncio"):
        yield
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def _clients_of_its_own() -> Iterator[None]:
    """The HTTP clients of litellm are kept by it, with a transport that is closed or an event loop that ended."""
    yield
    litellm.in_memory_llm_clients_cache.cache_dict.clear()
