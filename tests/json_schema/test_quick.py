"""A compiled schema finds what the slow checks find: the same values are valid, and the same keyword is broken."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from converse_harness.json_schema.checking import broken
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied
from converse_harness.json_schema.quick import breaks
from converse_strategies.json_schema import broken_values, json_schemas, schema_values
from tests.strategies.conftest import as_drawn
from tests.strategies.json_schema.any_schemas import any_schemas, small_values


def slowly(schema: Any, value: Any) -> str | None:
    try:
        return broken(SchemaPart("#", schema, schema), value)
    except (Unsatisfied, RecursionError):
        return None


@given(schema=json_schemas(), data=st.data())
def test_schemas_of_tools_are_checked_alike(schema: Any, data: st.DataObject) -> None:
    check = breaks(schema)
    assert check(data.draw(schema_values(schema))) is None
    wrong = data.draw(broken_values(schema)).value
    assert check(wrong) == slowly(schema, wrong)


@as_drawn(5)
@given(schema=any_schemas, value=small_values)
def test_any_schema_is_checked_alike(schema: Any, value: Any) -> None:
    given = schema if isinstance(schema, dict) else {"anyOf": [schema]}
    assert breaks(given)(value) == slowly(given, value)
