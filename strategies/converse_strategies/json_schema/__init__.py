"""Values of the JSON Schemas that tools have, values that break them in one place, and such schemas themselves."""

from converse_strategies.json_schema.breaking import BrokenValue, broken_values
from converse_strategies.json_schema.schemas import json_schemas, schema_values

__all__ = ["BrokenValue", "broken_values", "json_schemas", "schema_values"]
