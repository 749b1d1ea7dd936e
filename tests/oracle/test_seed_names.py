"""All 117 names of the vocabulary are here: each has a type, a strategy and a sample; what is missing is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

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


def missing(names: list[str], has: Callable[[str], bool]) -> list[str]:
    return [name for name in names if not has(name)]


def test_there_are_as_many_as_the_pages_have(names: list[str]) -> None:
    assert len(names) == len(set(names)) == 117


def test_every_name_has_a_type(names: list[str]) -> None:
    assert missing(names, has_type) == []


def test_a_type_that_is_removed_is_named(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names:
        subject, _, kind = name.rpartition(".")
        with monkeypatch.context() as patch:
            patch.delattr(import_module(f"converse_harness.types.{subject}"), kind)
            assert missing(names, has_type) == [name]
