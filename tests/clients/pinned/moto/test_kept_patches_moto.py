"""moto, which comes and goes between two tests of a session that keeps botocore patched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from moto import mock_aws

from tests.intercept.conftest import unkept
from tests.intercept.test_kept_patches import kept, with_fakes_around

__all__ = ["kept", "unkept"]


@pytest.mark.parametrize("fake_open", [False, True], ids=["between two fakes", "while a fake is open"])
def test_moto_comes_and_goes(kept: Callable[[], None], fake_open: bool) -> None:
    mock_aws().start()  # what it patches for the life of the process is there before
    mock_aws().stop()
    with_fakes_around(mock_aws, kept, fake_open=fake_open)
