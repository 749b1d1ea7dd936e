"""Samples against others' judgement: the names of the seed pages, strands' own types, and the jsonschema package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from converse_harness import samples
from tests.oracle.seed_names import SEED_NAMES

OWN: Final = [name for name in samples.NAMES if "." in name]
"""Samples of the vocabulary of Strands; the others are shapes of AWS."""


BEYOND_PYDANTIC: Final = {f"memory.Memory{name}Config" for name in ("Store", "Manager", "AddTool", "Injection")}
"""They hold objects with methods, of which pydantic knows nothing."""


def without_sample() -> list[str]:
    return [name for name in SEED_NAMES if name not in samples.NAMES or samples.sample(name) is None]


def test_every_name_has_a_sample() -> None:
    assert without_sample() == []
    assert sorted(OWN) == sorted(SEED_NAMES)


def test_a_sample_that_is_removed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_them = samples.NAMES
    for removed in SEED_NAMES:
        monkeypatch.setattr(samples, "NAMES", tuple(name for name in all_of_them if name != removed))
        assert without_sample() == [removed]


def strands_name(name: str) -> Any:
    subject, _, kind = name.partition(".")
    module = "strands.memory.types" if subject == "memory" else f"strands.types.{subject}"
    return getattr(import_module(module), kind)


@pytest.mark.parametrize("name", OWN)
def test_strands_has_such_a_value(name: str) -> None:
    theirs, value = strands_name(name), samples.sample(name)
    match SEED_NAMES[name]:
        case "typed dict":
            assert set(value) <= fields(theirs)
            if name not in BEYOND_PYDANTIC:
                TypeAdapter(theirs).validate_python(value, strict=True)
        case "literal":
            TypeAdapter(theirs).validate_python(value, strict=True)
        case "dataclass":
            assert set(vars(value)) >= {field for field in theirs.__dataclass_fields__ if not field.startswith("_")}
        case "exception":
            with pytest.raises(theirs.__bases__[0], match=r"."):
                raise value
            assert type(value).__name__ == theirs.__name__
        case "enum":
            assert theirs(value.value).name == value.name
        case "protocol" | "abstract class":
            assert [each for each in vars(theirs) if not each.startswith("_") and not hasattr(value, each)] == []
        case "alias" | "function":
            assert name in OTHERWISE


def fields(typed: Any) -> set[str]:
    """The members of a TypedDict."""
    own = set(getattr(typed, "__annotations__", {}))
    return own.union(*(fields(base) for base in getattr(typed, "__orig_bases__", ())))


def is_list_of_messages(value: Any) -> bool:
    message = TypeAdapter(strands_name("content.Message"))
    return all(message.validate_python(each, strict=True) == each for each in value)


OTHERWISE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "content.Messages": is_list_of_messages,
    "session.decode_bytes_values": lambda value: strands_name("session.decode_bytes_values")(value) != value,
    "session.encode_bytes_values": lambda value: strands_name("session.encode_bytes_values")(value) != value,
    "streaming.CitationLocation": lambda value: len(value) == 1,
    "tools.JSONSchema": lambda value: Draft202012Validator.check_schema(value) is None,
    "tools.RunToolHandler": inspect.isasyncgenfunction,
    "tools.ToolChoice": lambda value: value == {"tool": {"name": "get_weather"}},
    "tools.ToolChoiceAnyDict": lambda value: value == {"any": {}},
    "tools.ToolChoiceAutoDict": lambda value: value == {"auto": {}},
    "tools.ToolChoiceToolDict": lambda value: value == {"tool": {"name": "get_weather"}},
    "tools.ToolGenerator": inspect.isasyncgen,
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_no_type_at_run_time(name: str) -> None:
    assert OTHERWISE[name](samples.sample(name))


@pytest.mark.parametrize("spec", ["ToolSpec", "ToolSpecification"])
def test_the_tool_use_satisfies_the_schema(spec: str) -> None:
    schema = samples.sample(spec)["inputSchema"]["json"]
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert list(validator.iter_errors(samples.sample("ToolUse")["input"])) == []
    assert list(validator.iter_errors({"days": 9})) != []
