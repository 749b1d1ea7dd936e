"""All 117 names of the vocabulary are here, each with a type of its kind, a strategy and a sample."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from converse_harness.samples import sample
from converse_harness.samples import table as sample_table
from converse_strategies.strands import table
from tests.oracle.seed_names import SEED_NAMES, Kind
from tests.strategies.conftest import found

NAMES: Final = [*SEED_NAMES]

THEIR_WORDS: Final[Mapping[str, Kind]] = {
    "ABC": "abstract class",
    "Literal": "literal",
    "Protocol": "protocol",
    "TypedDict": "typed dict",
    "TypedDict (total=False)": "typed dict",
    "str Enum": "enum",
}
"""What the folder `shared` calls a kind, where that is another word; whether fields may lack has changed since."""


def kind_of(name: str) -> Kind:
    """What a type of ours is."""
    subject, _, own = name.rpartition(".")
    found = getattr(import_module(f"converse_harness.types.{subject}"), own)
    tests: Mapping[Kind, bool] = {
        "typed dict": typing.is_typeddict(found),
        "literal": typing.get_origin(found) is typing.Literal,
        "alias": typing.get_origin(found) not in (None, typing.Literal) or isinstance(found, types.UnionType),
        "function": inspect.isfunction(found),
        "protocol": getattr(found, "_is_protocol", False),
        "dataclass": dataclasses.is_dataclass(found),
        "abstract class": inspect.isabstract(found) and not getattr(found, "_is_protocol", False),
        "exception": inspect.isclass(found) and issubclass(found, Exception),
        "enum": inspect.isclass(found) and issubclass(found, enum.Enum),
    }
    (kind,) = (kind for kind, holds in tests.items() if holds)
    return kind


def has_type(name: str) -> bool:
    subject, _, kind = name.rpartition(".")
    return hasattr(import_module(f"converse_harness.types.{subject}"), kind)


def has_strategy(name: str) -> bool:
    return name in table.TABLE


def has_sample(name: str) -> bool:
    return name in sample_table.SAMPLES


def missing(names: list[str], has: Callable[[str], bool]) -> list[str]:
    return [name for name in names if not has(name)]


def test_there_are_as_many_as_the_pages_have() -> None:
    assert len(NAMES) == 117


def test_the_table_is_that_of_the_pages(shared: Path) -> None:
    pages: Mapping[str, Mapping[str, str]] = json.loads((shared / "facts" / "seed-names.json").read_text("utf-8"))
    subjects = {page: page.removeprefix("strands.").removeprefix("types.").removesuffix(".types") for page in pages}
    theirs = {f"{subjects[page]}.{name}": kind for page, found in pages.items() for name, kind in found.items()}
    assert {name: THEIR_WORDS.get(kind, kind) for name, kind in theirs.items()} == SEED_NAMES


@pytest.mark.parametrize("has", [has_type, has_strategy, has_sample])
def test_every_name_is_there(has: Callable[[str], bool]) -> None:
    assert missing(NAMES, has) == []


def test_every_type_is_of_its_kind() -> None:
    assert {name: kind_of(name) for name in NAMES} == SEED_NAMES


def test_a_type_that_is_removed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        subject, _, kind = name.rpartition(".")
        with monkeypatch.context() as patch:
            patch.delattr(import_module(f"converse_harness.types.{subject}"), kind)
            assert missing(NAMES, has_type) == [name]


@pytest.mark.parametrize(
    ("module", "table_name", "has"), [(table, "TABLE", has_strategy), (sample_table, "SAMPLES", has_sample)]
)
def test_a_strategy_or_sample_that_is_removed_is_named(
    module: ModuleType,
    table_name: str,
    has: Callable[[str], bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = getattr(module, table_name)
    for name in NAMES:
        monkeypatch.setattr(module, table_name, {key: value for key, value in whole.items() if key != name})
        assert missing(NAMES, has) == [name]


@pytest.mark.parametrize("draw", ["strategy", "sample"])
def test_every_name_has_a_value(draw: str) -> None:
    for name in NAMES:
        value = sample(name) if draw == "sample" else found(table.TABLE[name]())
        assert value is not None or name == "session.encode_bytes_values" or name == "session.decode_bytes_values"
