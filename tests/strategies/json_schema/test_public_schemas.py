"""Schemas as OpenAPI and pydantic write them: what is drawn for them is right for their readers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from pydantic import BaseModel, Field

from converse_harness.json_schema.formats import STRING_FORMATS
from converse_strategies import schema_values, tool_inputs
from converse_strategies.json_schema.reading import FORMATS


class Price(BaseModel):
    amount: Decimal
    above_zero: Decimal = Field(gt=0)
    short: Decimal | None = Field(max_digits=5, decimal_places=2)


@given(drawn=tool_inputs(Price.model_json_schema()))
def test_a_decimal_of_pydantic_is_a_number(drawn: Any) -> None:
    for value in drawn.values():
        assert value is None or Decimal(value).is_finite()
    jsonschema.validate(drawn, Price.model_json_schema())


NULLABLE = {
    "type": "object",
    "properties": {"city": {"type": "string", "nullable": True}, "days": {"enum": [1, 2], "nullable": False}},
    "required": ["city", "days"],
}


@given(drawn=tool_inputs(NULLABLE))
def test_nullable_of_openapi_is_taken(drawn: Any) -> None:
    jsonschema.validate(drawn, NULLABLE)
    assert isinstance(drawn["city"], str)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_drawn_as_it_is(name: str) -> None:
    @given(drawn=schema_values({"type": "string", "format": name}))
    def holds(drawn: str) -> None:
        assert STRING_FORMATS[name].holds(drawn)

    holds()


def test_a_json_pointer_is_no_other_text() -> None:
    assert STRING_FORMATS["json-pointer"].holds("/a/b~1c")
    assert not STRING_FORMATS["json-pointer"].holds("a")
