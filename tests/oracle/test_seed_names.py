"""All 117 names of the vocabulary are here: each has a type, a strategy and a sample; what is missing is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from converse_harness.samples import sample
from converse_harness.samples import table as sample_table
from converse_strategies.strands import table
from tests.strategies.conftest import found

Names = Mapping[str, Mapping[str, str]]


@pytest.fixture(scope="module")
def names(shared: Path) -> list[str]:
    """`content.Message` and 116 others, `memory` for what is in strands' memory.types."""
    pages: Names = json.loads((shared / "facts" / "seed-names.json").read_text(encoding="utf-8"))
    subjects = {page: page.removeprefix("strands.").removeprefix("types.").removesuffix(".types") for page in pages}
    return [f"{subjects[page]}.{name}" for page, found in pages.items() for name in found]


def has_type(name: str) -> bool:
    subject, _, kind = name.rpartition(".")
    return hasattr(import_module(f"converse_harness.types.{subject}"), kind)


def has_strategy(name: str) -> bool:
    return name in table.TABLE


def has_sample(name: str) -> bool:
    return name in sample_table.SAMPLES


def missing(names: list[str], has: Callable[[str], bool]) -> list[str]:
    return [name for name in names if not has(name)]


def test_there_are_as_many_as_the_pages_have(names: list[str]) -> None:
    assert len(names) == len(set(names)) == 117


@pytest.mark.parametrize("has", [has_type, has_strategy, has_sample])
def test_every_name_is_there(names: list[str], has: Callable[[str], bool]) -> None:
    assert missing(names, has) == []


def test_a_type_that_is_removed_is_named(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names:
        subject, _, kind = name.rpartition(".")
        with monkeypatch.context() as patch:
            patch.delattr(import_module(f"converse_harness.types.{subject}"), kind)
            assert missing(names, has_type) == [name]


@pytest.mark.parametrize(
    ("module", "table_name", "has"), [(table, "TABLE", has_strategy), (sample_table, "SAMPLES", has_sample)]
)
def test_a_strategy_or_sample_that_is_removed_is_named(
    module: ModuleType,
    table_name: str,
    has: Callable[[str], bool],
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = getattr(module, table_name)
    for name in names:
        monkeypatch.setattr(module, table_name, {key: value for key, value in whole.items() if key != name})
        assert missing(names, has) == [name]


@pytest.mark.parametrize("draw", ["strategy", "sample"])
def test_every_name_has_a_value(names: list[str], draw: str) -> None:
    for name in names:
        value = sample(name) if draw == "sample" else found(table.TABLE[name]())
        assert value is not None or name == "session.encode_bytes_values" or name == "session.decode_bytes_values"
