"""Fixtures that a test with `@given` cannot have: one fake would serve all its examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

INSIDE_GIVEN: Final = """\
{name} uses @given, and the {kind} `{fixture}` would give all its examples one script and one list of calls.
Open a fake for each example instead:

{decorators}    @given(...)
    def {name}({parameters}):
        with {made}({answer}) as fake:
            ...

({imports}; More: converse-harness docs fixtures inside-given)"""


@dataclass(frozen=True, slots=True)
class Instead:
    """What stands in the place of a fixture: what is imported, how it is called, what comes before `@given`."""

    made: str
    imports: str
    answer: str = "answer"
    parameters: str = "..."
    decorators: str = ""
    kind: str = "fixture"


WITHOUT_FIXTURE: Final[Mapping[str, Instead]] = {
    "converse": Instead("fake_converse", "from converse_harness import fake_converse"),
    "converse_httpx": Instead("HttpxFake", "from converse_harness.doors.httpx import HttpxFake"),
    "converse_recording": Instead(
        "fake_converse",
        "from converse_harness import fake_converse, recording",
        answer='recording("recordings/...")',
        kind="marker",
    ),
    "converse_each_case": Instead(
        "fake_converse",
        "from converse_harness import fake_converse; from converse_harness.cases import CASES",
        answer='*case.replies, unused="allow"',
        parameters="case, ...",
        decorators='    @pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))\n',
    ),
}
"""What makes the same as a fixture."""


def refuse_inside_given(item: pytest.Item, fixture: str) -> None:
    """Fail a test with `@given` that asks for this fixture, unless it says that it wants one fake for all examples."""
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        return
    import pytest
    from hypothesis import HealthCheck, settings

    chosen: Any = getattr(function, "_hypothesis_internal_use_settings", None) or settings.default
    if HealthCheck.function_scoped_fixture in chosen.suppress_health_check:
        return
    name = item.name.partition("[")[0]
    pytest.fail(INSIDE_GIVEN.format(name=name, fixture=fixture, **asdict(WITHOUT_FIXTURE[fixture])), pytrace=False)
