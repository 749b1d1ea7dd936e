"""moto, which comes and goes between two tests of a session that keeps botocore patched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from moto import mock_aws

from converse_harness import fake_converse, reply
from tests.intercept.conftest import unkept
from tests.intercept.test_kept_patches import ask, kept
from tests.intercept.test_leaving import attributes

__all__ = ["kept", "unkept"]


@pytest.mark.parametrize("fake_open", [False, True], ids=["between two fakes", "while a fake is open"])
@pytest.mark.parametrize("first", ["the fake", "moto"])
def test_moto_comes_and_goes(kept: Callable[[], None], first: str, fake_open: bool) -> None:
    mock_aws().start()  # what it patches for the life of the process is there before
    mock_aws().stop()
    originals = attributes()
    if first == "the fake":
        with fake_converse(reply.text("one")):
            assert ask() == "one"
    with mock_aws():
        if fake_open:
            with fake_converse(reply.text("two")):
                assert ask() == "two"
    with fake_converse(reply.text("three")):
        assert ask() == "three"
    kept()
    assert attributes() == originals
