"""A Python file that `converse-harness serve` serves: what its names `script` and `always` answer."""

from pathlib import Path

import pytest

from converse_harness.cli.server_output import CannotServe, load

ECHO = """
from converse_harness import reply

def echo(call):
    return reply.text("again")
"""


@pytest.mark.parametrize("script", ["script = [echo]\nalways = echo", "always = echo"])
def test_always_is_used_any_number_of_times(tmp_path: Path, script: str) -> None:
    (tmp_path / "weather.py").write_text(ECHO + script)
    loaded = load(tmp_path / "weather.py")
    assert [slot.uses for _, slot in loaded.slots()] == [1, None][-len(script.splitlines()) :]


def test_always_is_a_reply_or_a_function(tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text("always = 'sunny'")
    with pytest.raises(CannotServe, match=r"weather\.py: always: 'sunny' is not a reply\."):
        load(tmp_path / "weather.py")
