"""The least value of a schema satisfies it, as the jsonschema package sees it; what has none is named with its path."""

import json
import re
from itertools import islice
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converse_harness.json_schema.checking import broken
from converse_harness.json_schema.formats import STRING_FORMATS
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied
from converse_harness.json_schema.patterns import matching
from converse_harness.json_schema.scalars import words
from converse_harness.json_schema.values import least_value
from converse_strategies.json_schema import broken_values, json_schemas, schema_values
from tests.profiles import examples
from tests.strategies.conftest import as_drawn
from tests.strategies.json_schema.any_schemas import any_schemas, small_values
from tests.strategies.json_schema.test_json_schema import REAL, SAMPLES

CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER
SEEDS = st.integers(0, 9)
ONE = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def check(schema: Any, value: Any) -> None:
    json.dumps(value, allow_nan=False)
    of_draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    of_draft(schema, format_checker=CHECKER).validate(value)


WORDS = list(islice(words(1), 1000))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "a"),
        (True, "a"),
        ({"const": 5, "default": 6}, 5),
        ({"type": "integer", "default": 3, "examples": [4]}, 3),
        ({"type": "integer", "default": "three", "examples": [4]}, 4),
        ({"enum": ["b", "a"], "examples": ["a"]}, "a"),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": ["null", "string"]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a"),
        ({"type": "integer", "minimum": 10**400}, 10**400),
        ({"type": "string", "minLength": 3}, "aaa"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "pattern": r"^[A-Z]{2}-\d+$"}, "AA-0"),
        ({"type": "string", "pattern": r"^(?=.*\d)(?=.*[A-Z])[a-zA-Z\d]{8,}$"}, "A0bB1cC2"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "format": "date-time"}, "2026-01-01T12:00:00Z"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": "string", "format": "email"}, "a@example.com"),
        ({"type": "string", "format": "uri"}, "https://example.com/"),
        ({"type": "string", "format": "ipv4"}, "192.0.2.1"),
        ({"type": "string", "format": "a-format-that-nobody-has"}, "a"),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMaximum": -3}, -4),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.1),
        ({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}, 5),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 4),
        ({"type": "number", "multipleOf": 0.25, "minimum": 0.3, "maximum": 0.6}, 0.5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"not": {"type": "string"}}, 0),
        ({"type": "boolean", "not": {"const": False}}, True),
        ({"type": "array"}, []),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}}, [0, 1, -1]),
        (
            {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"}, "minItems": 2},
            [None, False],
        ),
        ({"type": "array", "items": [{"type": "null"}], "additionalItems": False, "minItems": 1}, [None]),
        ({"type": "array", "contains": {"const": 7}, "minContains": 2.0, "maxItems": 2.0}, [7, 7]),
        ({"type": "array", "minItems": 1000, "uniqueItems": True}, WORDS),
        ({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "required": ["b"]}, {"b": 0}),
        ({"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}}, {"a": 0}),
        ({"type": "object", "minProperties": 2, "properties": {"x": {"type": "null"}}}, {"x": None, "a": "a"}),
        ({"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^z+$"}}, {"z": "a"}),
        (
            {
                "type": "object",
                "minProperties": 1,
                "patternProperties": {"^x-": {"type": "integer"}},
                "additionalProperties": False,
            },
            {"x-": 0},
        ),
        ({**ONE, "dependentRequired": {"a": ["b"]}}, {"a": "a", "b": "a"}),
        ({**ONE, "dependencies": {"a": ["b"]}}, {"a": "a", "b": "a"}),
        ({**ONE, "dependentSchemas": {"a": {"required": ["c"]}}}, {"a": "a", "c": "a"}),
        (
            {
                **ONE,
                "if": {"properties": {"a": {"const": "a"}}},
                "then": {"properties": {"a": {"minLength": 2}}},
                "else": {},
            },
            {"a": "b"},
        ),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 9}]}, 3),
        ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}, 0),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, {"a": "a"}),
        ({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "null"}}}, None),
        (
            {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
                "required": ["next"],
            },
            {"next": None},
        ),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_the_least_value(schema: Any, value: Any) -> None:
    assert least_value(schema) == value


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("schema", [*SAMPLES.values(), *REAL.values()], ids=[*SAMPLES, *REAL])
def test_values_of_real_schemas(schema: Any, seed: int) -> None:
    check(schema, least_value(schema, seed=seed))


@given(schema=json_schemas(), seed=SEEDS)
def test_every_schema_of_a_tool_has_a_value(schema: Any, seed: int) -> None:
    check(schema, least_value(schema, seed=seed, objects=True))


@as_drawn(10)
@given(schema=any_schemas, seed=SEEDS)
def test_a_value_satisfies_its_schema_or_a_path_is_named(schema: Any, seed: int) -> None:
    refused: Unsatisfied | None = None
    try:
        value = least_value(schema, seed=seed)
    except Unsatisfied as error:
        refused = error
    else:
        check(schema, value)
    assert refused is None or (refused.path.startswith("#") and str(refused).startswith(f"{refused.path}: "))


@given(schema=json_schemas(), data=st.data())
def test_what_satisfies_a_schema_and_what_breaks_it(schema: Any, data: st.DataObject) -> None:
    part = SchemaPart("#", schema, schema)
    assert broken(part, data.draw(schema_values(schema))) is None
    wrong = data.draw(broken_values(schema))
    assert broken(part, wrong.value) is not None


def at_one_place(schema: Any, part: Any) -> list[Any]:
    """Return the parts that apply to the same value as a part of a schema."""
    if not isinstance(part, dict):
        return []
    found = [part[each] for each in ("not", "if", "then", "else") if each in part]
    found += [each for name in ("allOf", "anyOf", "oneOf") for each in part.get(name, ())]
    found += part.get("dependentSchemas", {}).values()
    if "$ref" in part:
        found.append(schema if part["$ref"] == "#" else schema["$defs"][part["$ref"].removeprefix("#/$defs/")])
    return found


def refers_to_itself(schema: Any, part: Any) -> bool:
    """Whether a part of a schema, or one below it, refers to itself at the same place: its check never ends."""
    inner = part if isinstance(part, list) else [*part.values()] if isinstance(part, dict) else []
    return returns(schema, part) or any(refers_to_itself(schema, each) for each in inner)


def returns(schema: Any, part: Any, above: tuple[int, ...] = ()) -> bool:
    return id(part) in above or any(returns(schema, each, (*above, id(part))) for each in at_one_place(schema, part))


@as_drawn(5)
@given(schema=any_schemas, value=small_values)
def test_the_checks_are_those_of_jsonschema(schema: Any, value: Any) -> None:
    # To catch RecursionError was tried: whatever Python frees that deep may fail, and pytest fails the test for it.
    assume(not refers_to_itself(schema, schema))
    right = jsonschema.Draft202012Validator(schema).is_valid(value)
    ours = broken(SchemaPart("#", schema, schema), value) is None
    assert ours == right or (right and "format" in json.dumps(schema))


def test_the_seed_varies_values_and_gives_the_same_again() -> None:
    for name in ("a pydantic model", "parts that overlap"):
        several = [least_value(REAL[name], seed=seed) for seed in range(8)]
        assert several == [least_value(REAL[name], seed=seed) for seed in range(8)]
        assert len({json.dumps(each) for each in several}) > 3


WRONG: dict[str, tuple[Any, str]] = {
    "a pattern of another language": ({"pattern": r"^\p{L}+$"}, r"#/properties/a/pattern: is '^\\p{L}+$', and no text"),
    "a pattern and a length": (
        {"pattern": "^a{5}$", "maxLength": 3},
        "#/properties/a/pattern: is '^a{5}$', and no text",
    ),
    "numbers": ({"type": "integer", "minimum": 3, "maximum": 2}, "#/properties/a/minimum: no number"),
    "fractions": ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "#/properties/a/exclusiveMinimum"),
    "types": ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#/properties/a/allOf/0/type: the types"),
    "an enum": ({"type": "string", "enum": [1, 2]}, "#/properties/a/type: no value is found"),
    "a list of nothing": ({"enum": []}, "#/properties/a"),
    "false": (False, "#/properties/a: is false"),
    "unique flags": (
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        "#/properties/a/uniqueItems: is true, and only 2",
    ),
    "oneOf": ({"oneOf": [{"type": "null"}, {"type": "null"}]}, "#/properties/a/oneOf: no value is found"),
    "not": ({"type": "null", "not": {}}, "#/properties/a/not: no value is found"),
    "a reference elsewhere": ({"$ref": "https://example.com/a.json"}, "#/properties/a/$ref: is 'https://example.com"),
    "a reference to nothing": ({"$ref": "#/$defs/B"}, "#/properties/a/$ref: is '#/$defs/B'"),
    "an endless chain": (
        {"type": "object", "properties": {"n": {"$ref": "#/properties/a"}}, "required": ["n"]},
        "#/properties/a/properties/n: refers to itself",
    ),
    "a circle": ({"$ref": "#/properties/a"}, "#"),
    "a type that is none": ({"type": "any"}, "#/properties/a/type: is 'any', and type takes one of null, "),
    "a keyword of another form": ({"type": "array", "minItems": "2"}, "#/properties/a/minItems: is '2'"),
    "required of draft 3": ({"type": "object", "required": True}, "#/properties/a/required: is True"),
    "a keyword that is not followed": ({"$dynamicRef": "#x"}, "#/properties/a/$dynamicRef: is not followed"),
    "a length": ({"type": "string", "minLength": 10**9}, "#/properties/a/minLength: is 1000000000"),
    "too many items": (
        {"type": "array", "minItems": 10**9},
        "#/properties/a/minItems: is 1000000000, and 1,000 are made",
    ),
    "no schema": (
        {"properties": {"b": [1]}},
        "#/properties/a/properties: is {'b': [1]}, and properties takes an object",
    ),
    "too many members": (
        {"type": "object", "required": ["b", "c"], "maxProperties": 1},
        "#/properties/a/maxProperties",
    ),
}


@pytest.mark.parametrize(("schema", "said"), WRONG.values(), ids=WRONG)
def test_what_has_no_value_is_named(schema: Any, said: str) -> None:
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(Unsatisfied, match="^" + re.escape(said)):
        least_value(whole)


def test_no_schema_at_all_is_named() -> None:
    with pytest.raises(Unsatisfied, match=r"^#: is \[1\], and a schema is an object, true or false"):
        least_value([1])


def test_what_is_not_needed_is_not_asked() -> None:
    optional = {"type": "object", "properties": {"a": {"pattern": r"\p{L}"}, "b": {"$ref": "https://example.com"}}}
    assert [least_value(optional, seed=seed) for seed in range(5)] == [{}] * 5


@pytest.mark.parametrize("name", STRING_FORMATS)
def test_the_texts_of_a_format_are_of_it(name: str) -> None:
    for number in (0, 1, 7, 300, 999):
        text = STRING_FORMATS[name].text(number)
        assert STRING_FORMATS[name].holds(text)
        assert name not in CHECKER.checkers or CHECKER.conforms(text, name)
    assert name in ("regex", "uri-template") or not STRING_FORMATS[name].holds("~ no ~")


PATTERNS = (
    r"^[^@]+@[^@]+\.[a-z]{2,}$",
    r"^#[0-9a-fA-F]{6}$",
    r"^(19|20)\d{2}-(0[1-9]|1[0-2])$",
    r"^\S+$",
    r"^\+?[1-9]\d{1,14}$",
    r"^arn:aws[\w-]*:s3:::[a-z0-9.-]{3,63}$",
    r"^(?!-)[a-z0-9-]{1,39}(?<!-)$",
    r"^v?\d+\.\d+\.\d+(-[\w.]+)?$",
    r"[\s\S]{5}",
    r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    r"^(?<year>\d{4})$",
    r"^[\u4e00-\u9fff]+$",
    r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$",
    r"^/(?:[^/]+/)*$",
    r"^(a+)+$",
    r"a{0,3}?b*+c",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_has_texts(pattern: str) -> None:
    check(
        {"type": "string", "pattern": pattern.replace("(?<year>", "(?P<year>").replace("*+", "*")},
        next(matching(pattern, 0)),
    )


def test_the_profile_draws_enough() -> None:
    assert examples(10) >= 200
