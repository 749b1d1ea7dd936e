"""Schemas that pydantic and strands-agents write for tools have values, and their own readers take them."""

import datetime as dt
import decimal
import enum
import ipaddress
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pytest
import strands
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, Json, JsonValue, TypeAdapter

from converse_strategies.json_schema import broken_values, schema_values
from converse_strategies.message.tools import tool_uses


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str = Field(min_length=1, max_length=40)
    zip: str = Field(pattern=r"^\d{5}$")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    barks: str | int


class Node(BaseModel):
    value: int
    children: list["Node"] = []
    next: "Node | None" = None


class Person(BaseModel):
    """Somebody who orders."""

    name: str = Field(description="The full name.", examples=["Ada"])
    home: Address | None = None
    color: Color = Color.RED
    labels: set[str] = set()
    places: dict[str, Address] = {}
    by_code: dict[Annotated[str, Field(pattern="^[A-Z]{2}$")], int] = {}


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pet: Cat | Dog = Field(discriminator="kind")
    pair: tuple[int, str]
    many: list[Literal["a", "b", 1]] = Field(min_length=1, max_length=3)
    step: Annotated[int, Field(gt=3, lt=100, multiple_of=5)]
    ratio: Annotated[float, Field(gt=0, lt=1)]
    anything: Any


class Formats(BaseModel):
    when: dt.datetime
    day: dt.date
    time: dt.time
    long: dt.timedelta
    id: uuid.UUID
    url: AnyUrl
    v4: ipaddress.IPv4Address
    v6: ipaddress.IPv6Address


class Numbers(BaseModel):
    price: decimal.Decimal = Field(ge=0, max_digits=6, decimal_places=2)
    raw: JsonValue
    text: Json[int] | None = None


@strands.tool
def weather(
    city: str,
    days: int = 3,
    unit: Literal["c", "f"] = "c",
    extra: dict[str, Any] | None = None,
    tags: list[str] = [],  # noqa: B006  (people write tools so)
    least: float | None = None,
) -> str:
    """Look up the weather.

    Args:
        city: Where.
        days: For how long.
        unit: Of temperatures.
        extra: Whatever else.
        tags: Words.
        least: The least probability.
    """
    return city


@strands.tool
def order(person: Person, pets: list[Cat | Dog], note: str = "") -> str:
    """Order something."""
    return note


MODELS = (Address, Person, Closed, Formats, Node, Cat)
SCHEMAS: dict[str, Any] = {
    **{f"pydantic {model.__name__}": model.model_json_schema() for model in (*MODELS, Numbers)},
    **{f"strands {tool.tool_name}": tool.tool_spec["inputSchema"]["json"] for tool in (weather, order)},
}


def each(strategy: st.SearchStrategy[Any], holds: Callable[[Any], object]) -> None:
    @settings(database=None, phases=(Phase.generate, Phase.shrink))
    @given(strategy)
    def every(value: Any) -> None:
        holds(value)

    every()


def check_values(schema: Any) -> None:
    """What is drawn satisfies the schema, and what is broken breaks it."""
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    each(schema_values(schema), jsonschema.Draft202012Validator(schema, format_checker=checker).validate)
    validator = jsonschema.Draft202012Validator(schema)

    def breaks(broken: Any) -> None:
        assert broken.keyword == "format" or not validator.is_valid(broken.value)

    each(broken_values(schema), breaks)


@pytest.mark.parametrize("name", SCHEMAS)
def test_values_satisfy_or_break_schemas_of_others(name: str) -> None:
    check_values(SCHEMAS[name])


@pytest.mark.parametrize("model", MODELS)
def test_pydantic_takes_what_its_schema_allows(model: type[BaseModel]) -> None:
    each(schema_values(model.model_json_schema()), TypeAdapter(model).validate_python)


@pytest.mark.parametrize("tool", [weather, order], ids=lambda tool: tool.tool_name)
def test_strands_takes_uses_of_its_tools(tool: Any) -> None:
    def takes(use: Any) -> None:
        assert use["name"] == tool.tool_name
        tool._metadata.validate_input(use["input"])

    each(tool_uses(tool.tool_spec), takes)
