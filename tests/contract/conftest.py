"""What the tests of the contract share."""

import pytest

from tests.nested import load


@pytest.fixture(scope="package", autouse=True)
def _loaded() -> None:
    load()
