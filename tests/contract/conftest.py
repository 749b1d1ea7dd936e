"""A fixture for all tests of the contract."""

import pytest

from tests.nested import load


@pytest.fixture(scope="package", autouse=True)
def _loaded() -> None:
    load()
