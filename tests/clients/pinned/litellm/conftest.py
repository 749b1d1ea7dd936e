"""litellm, whose releases warn about themselves."""

from __future__ import annotations

import pytest

from tests.clients.litellm_warnings import WARNINGS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for warning in WARNINGS:
            item.add_marker(pytest.mark.filterwarnings(warning))
