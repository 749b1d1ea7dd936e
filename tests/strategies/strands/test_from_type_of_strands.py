"""`st.from_type` draws strands-agents' own TypedDicts, which hypothesis alone cannot, as they contain typing.Any."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strands.types.content import ContentBlock, Message
from strands.types.tools import ToolResult, ToolUse

from tests.profiles import examples

SUBJECTS = ("citations", "content", "event_loop", "guardrails", "media", "streaming", "tools")

NOT_REQUIRED = {"GuardContentText": {"qualifiers"}}
"""Members that older versions of strands require, and AWS does not."""


def typed_dicts() -> Iterator[Any]:
    for subject in SUBJECTS:
        ours = vars(import_module(f"converse_harness.types.{subject}"))
        module = import_module(f"strands.types.{subject}")
        for name, value in vars(module).items():
            if hasattr(value, "__required_keys__") and value.__module__ == module.__name__ and name in ours:
                yield pytest.param(value, id=f"{subject}.{name}")


@pytest.mark.parametrize("kind", [*typed_dicts()])
def test_a_typed_dict_of_strands_is_drawn(kind: Any) -> None:
    @settings(max_examples=examples(0.25), suppress_health_check=[HealthCheck.too_slow])
    @given(value=st.from_type(kind))
    def drawn(value: dict[str, Any]) -> None:
        assert set(value) >= kind.__required_keys__ - NOT_REQUIRED.get(kind.__name__, set())

    drawn()


@pytest.mark.parametrize("kind", [Message, ContentBlock, ToolUse, ToolResult])
def test_those_that_hypothesis_cannot_draw_are_among_them(kind: Any) -> None:
    assert kind in [each.values[0] for each in typed_dicts()]
