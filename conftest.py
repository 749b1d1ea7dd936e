"""What every suite of the project shares: pytester, and a hypothesis profile that explores."""

from datetime import timedelta

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# The first st.text() in a fresh checkout lists all of Unicode: on a slow machine for longer than a health check allows.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# `pytest --hypothesis-profile=nightly`. Under CI=true hypothesis derandomises, so that a commit is not blamed for luck;
# this one looks for new counterexamples instead.
settings.register_profile(
    "nightly",
    max_examples=5000,
    derandomize=False,
    deadline=timedelta(seconds=5),
    suppress_health_check=[HealthCheck.too_slow],
)
