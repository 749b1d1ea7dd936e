"""Wrong arguments of `later`: each is an error that names the argument and what came."""

from __future__ import annotations

import pytest

from converse_harness import Fake
from tests.package.test_wrong_arguments_of_fakes import VALUES, check_named


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["hours", "minutes", "seconds"])
def test_a_duration_is_a_number(name: str, value: str) -> None:
    if value in ("one", "half"):
        Fake().later(**{name: VALUES[value]})
    else:
        check_named(lambda given: Fake().later(**{name: given}), f"later({name}=", value)
