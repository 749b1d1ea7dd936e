"""What the strategies draw is what strands' own types describe: pydantic says so, and refuses what was damaged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_strategies.strands.table import TABLE
from tests.profiles import examples

pytest.importorskip("strands")
pydantic = pytest.importorskip("pydantic")

PLACES: Mapping[str, tuple[str, ...]] = {
    "memory": ("strands.memory.types", "strands.memory.extraction.types", "strands.injection.types")
}

NOT_DATA = frozenset(
    {
        # Classes with behaviour: tests/oracle/test_strands_sessions.py compares what they do.
        *(name for name in TABLE if name.startswith(("exceptions.", "session."))),
        *(f"memory.{name}" for name in ("ExtractionTrigger", "Extractor", "InMemoryStore", "MemoryStore")),
        *(f"memory.{name}" for name in ("InjectionFormatCallback", "InjectionQueryCallback", "TriggerCallback")),
        *(f"tools.{name}" for name in ("AgentTool", "FunctionTool", "RunToolHandler", "ToolFunc", "ToolGenerator")),
        *(f"tools.{name}" for name in ("InterruptException", "ToolContext", "_Interruptible")),
        # Dataclasses with a field of a class that only strands has, and what holds a store, tool or callback: pydantic
        # asks for instances of strands' own protocols.
        *(f"memory.{name}" for name in ("ExtractionTriggerContext", "ExtractorContext", "InjectionContext")),
        *(f"memory.{name}" for name in ("ExtractionConfig", "InjectionConfig", "MemoryInjectionConfig")),
        *(f"memory.{name}" for name in ("MemoryAddToolConfig", "MemoryManagerConfig", "MemoryStoreConfig")),
        # Dataclasses of ours, that pydantic does not take for those of strands.
        *(f"memory.{name}" for name in ("AddMessagesContext", "ExtractionResult", "MemoryEntry")),
        *(f"memory.{name}" for name in ("InjectionFormatContext", "InjectionQueryContext", "MemoryMessageFilter")),
        "tools.Interrupt",
    }
)

DATA = sorted(TABLE.keys() - NOT_DATA)

ANYTHING = frozenset({"additionalModelResponseFields", "annotations", "custom", "inputSchema", "json", "metadata"})
"""Members of which a type says little or nothing; `input` as well, but not that of a delta."""


@cache
def adapter(name: str) -> Any:
    """Pydantic's opinion of the type of this name in strands."""
    subject, _, kind = name.rpartition(".")
    for place in PLACES.get(subject, (f"strands.types.{subject}",)):
        if hasattr(import_module(place), kind):
            return pydantic.TypeAdapter(getattr(import_module(place), kind))
    raise AssertionError(f"strands has no {name}")


def accepts(name: str, value: Any) -> bool:
    """Strictly: "1" is no number, and no member is there that the type does not have."""
    try:
        adapter(name).validate_python(value, strict=True, extra="forbid")
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", DATA)
def test_strands_types_accept_what_is_drawn(name: str) -> None:
    @settings(max_examples=examples(0.5))
    @given(TABLE[name]())
    def drawn(value: Any) -> None:
        adapter(name).validate_python(value, strict=True, extra="forbid")

    drawn()


@pytest.mark.parametrize("name", [name for name in DATA if name not in ("tools.JSONSchema", "content.Messages")])
def test_what_was_damaged_is_refused(name: str) -> None:
    @settings(max_examples=examples(0.15))
    @given(TABLE[name](), st.data())
    def damaged(value: Any, data: st.DataObject) -> None:
        if isinstance(value, str):
            assert not accepts(name, f"{value}?")
            return
        members = [
            member for member in value if member not in ANYTHING and (member, name) != ("input", "tools.ToolUse")
        ]
        member = data.draw(st.sampled_from(["noSuchMember", *members]))
        assert not accepts(name, {**value, member: object()})

    damaged()


def test_what_is_not_data_is_in_the_table() -> None:
    assert TABLE.keys() >= NOT_DATA
    assert len(DATA) > 90
