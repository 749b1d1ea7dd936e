"""Which schemas are of draft 2020-12: our table of its keywords says what the metaschema of the draft says."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from converse_harness.bedrock.rules.finders.tools import broken_keyword
from tests.profiles import examples

Json = Any

KEYWORDS: Final = sorted(
    {
        name
        for vocabulary in (
            "core",
            "applicator",
            "unevaluated",
            "validation",
            "meta-data",
            "format-annotation",
            "content",
        )
        for name in (
            Draft202012Validator({})
            ._resolver.lookup(f"https://json-schema.org/draft/2020-12/meta/{vocabulary}")
            .contents["properties"]
        )
    }
    | {"definitions", "dependencies", "nullable", "example"}
)
TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null", "text")
numbers = st.integers(-2, 3) | st.sampled_from((0.5, 2.0, -0.5))
plain = st.none() | st.booleans() | numbers | st.sampled_from(("", "a", "#a", "a b", "^a", "object"))
lists = st.lists(st.sampled_from(TYPES), max_size=2) | st.lists(plain, max_size=2)


def schemas() -> st.SearchStrategy[Json]:
    return st.recursive(
        plain | lists,
        lambda inner: st.dictionaries(
            st.sampled_from(KEYWORDS) | st.sampled_from(("a", "b")), inner | lists, max_size=3
        ),
        max_leaves=12,
    )


def is_of_the_draft(schema: Json) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


@given(schemas())
@example({"properties": {"n": {"exclusiveMinimum": True}}})
@example({"items": [{"type": "string"}]})
@example({"dependencies": {"a": ["b", "b"]}})
@example({"allOf": []})
@example({"multipleOf": 0})
@example({"dependentRequired": {"a": ["b", 1]}})
@example({"$anchor": "1a"})
@example({"$vocabulary": {"a": 1}})
@example({"maxItems": -1})
@example({"$id": "a#b"})
@example({"maxLength": 2.0, "minLength": 0.5})
@settings(max_examples=examples(10))
def test_the_table_says_what_the_metaschema_says(schema: Json) -> None:
    assert (broken_keyword(schema) is None) == is_of_the_draft(schema)


def test_every_keyword_of_the_draft_is_tried() -> None:
    assert len(KEYWORDS) > 50
    assert {"prefixItems", "dependentRequired", "$dynamicAnchor", "contentSchema"} <= {*KEYWORDS}
