"""What every suite of the project shares: pytester, the tiers of its tests and the profiles of hypothesis."""

from tests import profiles

pytest_plugins = ["pytester", "tests.tiers"]

profiles.register()
