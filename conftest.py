"""What every suite of the project shares: pytester, the tiers of its tests and the profiles of hypothesis."""

import pytest

from tests import profiles

pytest_plugins = ["pytester", "tests.tiers", "tests.halves", "tests.shared_folder", "tests.quiet"]

profiles.register()


def pytest_configure(config: pytest.Config) -> None:
    """Let one worker of pytest-xdist run all tests of a file, so that what they share is made once."""
    if config.getoption("dist", "no") == "load":  # the default with -n
        config.option.dist = "loadfile"
