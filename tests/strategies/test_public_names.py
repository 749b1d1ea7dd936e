"""No public name of the strategies hides one of the harness, as a counterexample may use both."""

import converse_harness
import converse_strategies


def test_no_name_hides_one_of_the_harness() -> None:
    ours, theirs = (
        {name for name in dir(module) if name[0] != "_"} for module in (converse_strategies, converse_harness)
    )
    assert "stream_events" in ours
    assert "faults" in theirs
    assert ours & theirs == set()
