"""What the tests of the contract share."""

from collections.abc import Iterator

import pytest

from tests.nested import shared_by_runs


@pytest.fixture(scope="package", autouse=True)
def _shared_by_runs() -> Iterator[None]:
    with shared_by_runs():
        yield
