"""The hypothesis profiles `quick`, `ci` and `nightly`, and numbers of examples that depend on the profile.

`quick` is the default, and is fast. `ci` applies if the environment variable `CI` is set; it tries more examples. Both
try the same examples in each run, so that a failure is caused by a change and not by chance. `nightly` searches long,
and for new counterexamples.
"""

import os
from datetime import timedelta
from typing import Final

from hypothesis import HealthCheck, Phase, settings

# The first st.text() in a new checkout lists all of Unicode: on a slow machine for longer than a health check allows.
_PATIENT: Final = settings(settings.get_profile("default"), deadline=None, suppress_health_check=[HealthCheck.too_slow])


# The phase `explain` takes most of the time of `find`, and people investigate failures with a known seed themselves.
_SHORT: Final = settings(_PATIENT, phases=[phase for phase in Phase if phase is not Phase.explain], derandomize=True)


def register() -> None:
    """Register the three profiles, and load `ci` if the environment variable `CI` is set, otherwise `quick`."""
    settings.register_profile("quick", _SHORT, max_examples=20, database=None)
    settings.register_profile("ci", _SHORT, max_examples=30, database=None, print_blob=True)
    settings.register_profile("nightly", _PATIENT, max_examples=5000, derandomize=False, deadline=timedelta(seconds=5))
    settings.load_profile("ci" if os.environ.get("CI") else "quick")


def examples(times: float) -> int:
    """Return the profile's number of examples times `times`, but at least 1."""
    return max(1, round(times * settings().max_examples))
