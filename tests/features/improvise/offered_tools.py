"""Schemas of tools as servers and frameworks write them, and 200 configurations made of them.

Each group has the manner of its source, with names of our own. What was looked at, in November 2026: the tools/list
answers of the reference servers of the Model Context Protocol (everything, filesystem, memory, sequential-thinking,
GitHub, GitLab), of Playwright's and of Notion's server; toolSnaps of github-mcp-server; pydantic 2 and strands-agents.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import jsonschema

from converse_harness import Fake
from tests.oracle.test_tool_schemas import SCHEMAS

Json = dict[str, Any]

DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"
TEXT: Final[Json] = {"type": "string"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}


def closed(required: Json, optional: Json | None = None) -> Json:
    """As zod is written: draft 7, nothing beyond the members."""
    return {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": [*required],
        "additionalProperties": False,
    }


def opened(required: Json, optional: Json | None = None) -> Json:
    """As people and Go write it by hand."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": [*required]}


ZOD: Final[Mapping[str, Json]] = {
    "echo": closed({"message": {"type": "string", "description": "What comes back."}}),
    "add": closed({"a": {"type": "number"}, "b": {"type": "number"}}),
    "nothing": closed({}),
    "long_run": closed({}, {"duration": {"type": "number", "default": 10}, "steps": {"type": "number", "default": 5}}),
    "annotated": closed(
        {"kind": {"type": "string", "enum": ["error", "success", "debug"]}},
        {"image": {"type": "boolean", "default": False}},
    ),
    "resource": closed({"id": {"type": "number", "minimum": 1, "maximum": 100}}),
    "links": closed({}, {"count": {"type": "number", "minimum": 1, "maximum": 10, "default": 3}}),
    "edit_file": closed(
        {
            "path": TEXT,
            "edits": {
                "type": "array",
                "items": closed({"old": TEXT, "new": TEXT}),
            },
        },
        {"dry_run": {"type": "boolean", "default": False}},
    ),
    "read_many": closed({"paths": {"type": "array", "items": TEXT, "minItems": 1}}),
    "head": closed({"path": TEXT}, {"head": {"type": "number"}, "tail": {"type": "number"}}),
    "create_entities": closed(
        {
            "entities": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"name": TEXT, "type": TEXT, "facts": {"type": "array", "items": TEXT}},
                    "required": ["name", "type", "facts"],
                    "additionalProperties": False,
                },
            }
        }
    ),
    "think": closed(
        {
            "thought": TEXT,
            "more": {"type": "boolean"},
            "number": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
        },
        {"branch": TEXT},
    ),
    "click": closed(
        {"element": TEXT, "ref": TEXT},
        {"button": {"type": "string", "enum": ["left", "right", "middle"]}, "double": {"type": "boolean"}},
    ),
    "fill": closed(
        {
            "fields": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": TEXT,
                        "type": {"type": "string", "enum": ["textbox", "checkbox", "slider"]},
                        "value": TEXT,
                    },
                    "required": ["name", "type", "value"],
                    "additionalProperties": False,
                },
                "minItems": 2,
            }
        }
    ),
    "resize": closed({"width": {"type": "number"}, "height": {"type": "number"}}),
    "tabs": closed({"action": {"type": "string", "enum": ["list", "new", "close"]}}, {"index": {"type": "number"}}),
    "headers": closed({"headers": {"type": "object", "propertyNames": TEXT, "additionalProperties": TEXT}}),
    "literal": closed(
        {
            "kind": {"type": "string", "const": "point"},
            "at": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        }
    ),
    "nullable": closed({"until": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}}),
    "union": closed(
        {
            "target": {
                "anyOf": [
                    closed({"kind": {"type": "string", "const": "user"}, "id": COUNT}),
                    closed(
                        {
                            "kind": {"type": "string", "const": "team"},
                            "slug": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
                        }
                    ),
                ]
            }
        }
    ),
    "one_of": closed({"page": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "enum": ["last"]}]}}),
    "record": closed({"labels": {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 1}}),
    "mail": closed(
        {
            "to": {
                "type": "string",
                "format": "email",
                "pattern": r"^(?!\.)(?!.*\.\.)([\w'+\-\.]*)[\w+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            }
        }
    ),
    "zod_uuid": closed(
        {
            "id": {
                "type": "string",
                "format": "uuid",
                "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-fA-F]{12})$",
            }
        }
    ),
}
"""zod-to-json-schema and zod 4."""

BY_HAND: Final[Mapping[str, Json]] = {
    "search_code": opened(
        {"q": TEXT}, {"per_page": {"type": "number", "minimum": 1, "maximum": 100}, "order": {"enum": ["asc"]}}
    ),
    "create_issue": opened(
        {"owner": TEXT, "repo": TEXT, "title": TEXT},
        {"assignees": {"type": "array", "items": TEXT}, "milestone": {"type": "number"}},
    ),
    "push_files": opened(
        {"branch": TEXT, "files": {"type": "array", "minItems": 1, "items": opened({"path": TEXT, "content": TEXT})}}
    ),
    "review": opened(
        {
            "pullNumber": {"type": "number"},
            "event": {"type": "string", "enum": ["APPROVE", "REQUEST_CHANGES", "COMMENT"]},
        },
        {"commitID": {"type": "string", "minLength": 40}},
    ),
    "list": {"type": "object", "properties": {}},
    "no_properties": {"type": "object"},
    "free": {"type": "object", "properties": {"anything": {}}, "required": ["anything"]},
    "any_members": {"type": "object", "additionalProperties": True, "required": ["query"]},
    "described": opened(
        {
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "city": {"type": "string", "examples": ["Bern"]},
        }
    ),
    "sha": opened({"sha": {"type": "string", "pattern": "^[0-9a-f]{40}$"}}),
    "version": opened({"version": {"type": "string", "pattern": r"^v?\d+\.\d+\.\d+$"}}),
    "account": opened(
        {
            "account": {"type": "string", "pattern": r"^\d{12}$"},
            "bucket": {"type": "string", "minLength": 3, "maxLength": 63, "pattern": r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$"},
        }
    ),
    "password": opened(
        {"password": {"type": "string", "minLength": 12, "pattern": r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).+$"}}
    ),
    "ranges": opened(
        {
            "latitude": {"type": "number", "minimum": -90, "maximum": 90},
            "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "step": {"type": "integer", "multipleOf": 15, "minimum": 1},
        }
    ),
    "money": opened(
        {
            "amount": {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0},
            "currency": {"type": "string", "minLength": 3, "maxLength": 3},
        }
    ),
    "unique": opened({"ids": {"type": "array", "items": COUNT, "uniqueItems": True, "minItems": 4}}),
    "contains": opened({"roles": {"type": "array", "items": TEXT, "contains": {"const": "admin"}}}),
    "either": opened(
        {
            "by": {
                "type": "object",
                "properties": {"id": TEXT, "name": TEXT},
                "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
            }
        }
    ),
    "depends": {
        "type": "object",
        "properties": {"card": TEXT, "address": TEXT},
        "required": ["card"],
        "dependentRequired": {"card": ["address"]},
    },
    "if_then": opened(
        {
            "pay": {
                "type": "object",
                "properties": {"by": {"enum": ["card", "cash"]}, "number": {"type": "string", "minLength": 4}},
                "required": ["by"],
                "if": {"properties": {"by": {"const": "card"}}},
                "then": {"required": ["number"]},
            }
        }
    ),
    "not_empty": opened({"name": {"type": "string", "not": {"enum": ["", "a", "b"]}}}),
    "patterns": opened(
        {
            "env": {
                "type": "object",
                "patternProperties": {"^[A-Z_]+$": TEXT},
                "additionalProperties": False,
                "minProperties": 2,
            }
        }
    ),
    "nulls": opened({"parent": {"type": ["string", "null"]}, "flag": {"type": ["null", "boolean"]}}),
    "when": opened(
        {
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "time"},
            "for": {"type": "string", "format": "duration"},
            "url": {"type": "string", "format": "uri"},
            "host": {"type": "string", "format": "hostname"},
            "ip": {"type": "string", "format": "ipv4"},
        }
    ),
}
"""Written by hand, in JSON, Go or TypeScript."""

_RICH: Final[Json] = {
    "type": "object",
    "properties": {"text": opened({"content": {"type": "string", "maxLength": 2000}}), "type": {"enum": ["text"]}},
    "required": ["text"],
}
_PAGE: Final[Json] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"type": {"const": "page"}, "page_id": {"type": "string", "format": "uuid"}},
            "required": ["page_id", "type"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"type": {"const": "database"}, "database_id": {"$ref": "#/$defs/Id"}},
            "required": ["database_id", "type"],
            "additionalProperties": False,
        },
    ]
}
OPENAPI: Final[Mapping[str, Json]] = {
    name: {
        **schema,
        "$defs": {
            "Id": {"type": "string", "format": "uuid"},
            "RichText": _RICH,
            "Parent": _PAGE,
            "Filter": {
                "type": "object",
                "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}, "property": TEXT},
                "required": ["property"],
            },
        },
    }
    for name, schema in {
        "post_page": opened(
            {
                "parent": {"$ref": "#/$defs/Parent"},
                "title": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/RichText"}},
            }
        ),
        "get_block": opened({"block_id": {"$ref": "#/$defs/Id"}}, {"start_cursor": TEXT}),
        "query": opened({"filter": {"$ref": "#/$defs/Filter"}, "page_size": {"type": "integer", "default": 100}}),
        "patch": opened(
            {"parent": {"allOf": [{"$ref": "#/$defs/Parent"}, {"properties": {"type": {"const": "database"}}}]}}
        ),
        "tree": opened(
            {
                "root": {
                    "type": "object",
                    "properties": {
                        "left": {"anyOf": [{"$ref": "#/properties/root"}, {"type": "null"}]},
                        "value": COUNT,
                    },
                    "required": ["value"],
                }
            }
        ),
    }.items()
}
"""Made of OpenAPI documents, with definitions."""

PYDANTIC: Final[Mapping[str, Json]] = {
    name.replace(" ", "_"): schema for name, schema in SCHEMAS.items() if schema.get("type") == "object"
}

TOOLS: Final[Mapping[str, Json]] = {**ZOD, **BY_HAND, **OPENAPI, **PYDANTIC}
MODELS: Final = ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-lite-v1:0", "openai.gpt-oss-120b-1:0")


class Offer(NamedTuple):
    """A configuration: what an agent is given, and how it is answered."""

    number: int
    model: str
    tools: Mapping[str, Json]
    seed: int
    at_once: int


def offers(count: int = 200) -> Iterator[Offer]:
    """Configurations of one to five tools; every tool is in several of them, with several seeds."""
    names = [*TOOLS]
    for number in range(count):
        chosen = dict.fromkeys(names[(number + 11 * step) % len(names)] for step in range(1 + number % 5))
        # Nova is offered no definitions.
        nova = not any("$defs" in TOOLS[name] for name in chosen)
        model = MODELS[1] if nova and number % 2 else MODELS[number % 3 & 2]
        yield Offer(number, model, {name: TOOLS[name] for name in chosen}, number // len(names), 1 + number % 3)


def check_inputs(fake: Fake, offer: Offer) -> None:
    """Each tool was used once, with input that satisfies its schema; then came a text."""
    *asked, last = fake.calls
    uses = [block["toolUse"] for call in asked for block in _content(call) if "toolUse" in block]
    assert sorted(use["name"] for use in uses) == sorted(offer.tools)
    for use in uses:
        schema = offer.tools[use["name"]]
        checker = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        checker(schema, format_checker=checker.FORMAT_CHECKER).validate(use["input"])
    assert [kind for block in _content(last) for kind in block] == ["text"]
    assert len(asked) == -(-len(offer.tools) // offer.at_once)


def _content(call: Any) -> Any:
    return call.response.message["content"]
