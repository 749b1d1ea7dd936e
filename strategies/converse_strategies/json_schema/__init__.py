"""Strategies for JSON Schemas of tools, for values that satisfy them, and for values that break them in one place."""

from converse_strategies.json_schema.breaking import BrokenValue, broken_values
from converse_strategies.json_schema.schemas import json_schemas, schema_values

__all__ = ["BrokenValue", "broken_values", "json_schemas", "schema_values"]
