"""`conversation_machine` with history="fail" finds an agent that changes an answer, without an invariant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from converse_harness import ChangedHistory
from tests.strategies.test_machine import LONG, Loop, weather_machine


class ForgetsAllToolsButOne(Loop):
    def model(self) -> Any:
        message = super().model()
        uses = [block for block in message["content"] if "toolUse" in block][1:]
        return {**message, "content": [block for block in message["content"] if block not in uses]}


@pytest.mark.parametrize("server", [False, True])
def test_what_is_changed_of_an_answer_is_found_without_an_invariant(server: bool) -> None:
    machine = weather_machine(ForgetsAllToolsButOne, troubles=[], invariants=(), history="fail", server=server)
    with pytest.raises(ChangedHistory, match=r"call \d+ leaves out toolUse get_weather of the answer to call \d+"):
        run_state_machine_as_test(machine, settings=LONG)
