"""How long hypothesis looks: the profiles `quick`, `ci` and `nightly`, and numbers of examples that follow them.

`quick` is what a person waits for; `ci`, which a `CI` in the environment chooses, tries more. Both try the same each
time, so that a change is not blamed for luck; `nightly` looks for long and for new counterexamples.
"""

import os
from datetime import timedelta
from typing import Final

from hypothesis import HealthCheck, Phase, settings

# The first st.text() in a fresh checkout lists all of Unicode: on a slow machine for longer than a health check allows.
_PATIENT: Final = settings(settings.get_profile("default"), deadline=None, suppress_health_check=[HealthCheck.too_slow])


# To explain takes most of the time of `find`, and a failure of a known seed is looked into by hand.
_SHORT: Final = settings(_PATIENT, phases=[phase for phase in Phase if phase is not Phase.explain], derandomize=True)


def register() -> None:
    """Make the three known to hypothesis, and load the one that the environment asks for."""
    settings.register_profile("quick", _SHORT, max_examples=20, database=None)
    settings.register_profile("ci", _SHORT, max_examples=50, database=None, print_blob=True)
    settings.register_profile("nightly", _PATIENT, max_examples=5000, derandomize=False, deadline=timedelta(seconds=5))
    settings.load_profile("ci" if os.environ.get("CI") else "quick")


def examples(times: float) -> int:
    """So many times the examples of the profile, and at least one."""
    return max(1, round(times * settings().max_examples))
