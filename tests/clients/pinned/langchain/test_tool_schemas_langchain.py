"""Schemas that langchain writes for tools have values."""

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from tests.oracle.test_tool_schemas import Closed, Node, Person, check_values


@pytest.mark.parametrize(("model", "strict"), [(Person, None), (Closed, None), (Node, True)])
def test_values_satisfy_or_break_schemas_of_langchain(model: type[BaseModel], strict: bool | None) -> None:
    check_values(convert_to_openai_tool(model, strict=strict)["function"]["parameters"])
