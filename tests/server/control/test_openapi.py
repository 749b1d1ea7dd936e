"""openapi.json says what the tables say: routes, words, arguments, examples. Answers are held against it everywhere."""

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, get_args

import pytest
from openapi_spec_validator import validate

from converse_harness.endpoint.call import CallOutcome
from converse_harness.faults.model import DURATIONS
from converse_harness.features import FEATURES
from converse_harness.intercept.fake import Fake
from converse_harness.server.control import ROUTES
from converse_harness.server.control.arguments import lasting, parameters
from converse_harness.server.control.vocabulary import (
    ANSWERS,
    NOT_ENDLESS,
    REPLIES,
    SCRIPTING,
    conditions,
)
from tests.server.control.conftest import DOCUMENT, OUR_HEADERS, Client, check, follow
from tests.server.control.openapi import WRITE, updated

FILE = files("converse_harness.server.control").joinpath("openapi.json")
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for method, operation in path.items()
    if method != "parameters"
}
REPLY_SCHEMAS = {schema["title"]: schema for schema in map(follow, SCHEMAS["Reply"]["oneOf"])}


def test_the_document_is_openapi() -> None:
    validate(DOCUMENT)


def test_the_server_gives_the_document(client: Client) -> None:
    assert client.ask("GET", "/__converse/openapi.json").value == DOCUMENT


def test_its_routes_are_those_of_the_api() -> None:
    described = [
        (method.upper(), path, operation["operationId"])
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
        if method != "parameters" and operation.get("x-feature", "") in ("", *FEATURES)
    ]
    assert described == [(route.method, route.path, getattr(route.handler, "__name__", "")) for route in ROUTES]


def test_its_bodies_are_those_that_are_read() -> None:
    assert list(SCHEMAS["NewFake"]["properties"]) == [*SCRIPTING, *parameters(Fake)]
    assert list(SCHEMAS["MoreReplies"]["properties"]) == list(SCRIPTING)
    assert list(SCHEMAS["When"]["properties"]) == [*conditions(), *ANSWERS]
    assert {item["required"][0] for item in SCHEMAS["When"]["allOf"][1]["anyOf"]} == set(conditions())
    _, timed = SCHEMAS["Fault"]["oneOf"]
    assert list(timed["properties"]) == timed["required"] == [*parameters(lasting)]
    assert timed["properties"]["name"]["enum"] == [*DURATIONS]
    assert SCHEMAS["Call"]["properties"]["outcome"]["enum"] == list(get_args(CallOutcome))


def test_its_replies_settings_and_faults_are_those_of_the_tables() -> None:
    made = updated(DOCUMENT)["components"]["schemas"]
    others = {name for name in SCHEMAS if name not in made}  # replies of features that are not here
    present = {**SCHEMAS, "Reply": {**SCHEMAS["Reply"]}}
    present["Reply"]["oneOf"] = [
        each for each in SCHEMAS["Reply"]["oneOf"] if each["$ref"].rpartition("/")[2] not in others
    ]
    ordered = {name: present[name] for name in SCHEMAS if name not in others}
    assert json.dumps(made) == json.dumps(ordered), f"openapi.json is behind; write it with: {WRITE}"


# Whatever can be read in it is explained, and whatever it shows is so.


def test_what_always_refuses_is_in_no_schema_of_it() -> None:
    refused = {name for name, schema in SCHEMAS["EndlessReply"]["properties"].items() if schema is False}
    assert refused == set(NOT_ENDLESS)
    for name in ("NewFake", "MoreReplies", "When"):
        assert follow(SCHEMAS[name]["properties"]["always"]) is SCHEMAS["EndlessReply"]


def test_every_member_is_described() -> None:
    members_of = list(properties_in(SCHEMAS, "schemas"))
    assert len(members_of) > 80
    assert [path for path, schema in members_of if "description" not in follow(schema) | schema] == []
    for node in (*SCHEMAS.values(), *OPERATIONS.values(), *DOCUMENT["components"]["responses"].values()):
        assert node["description"].endswith(".")


def properties_in(node: object, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        for name, schema in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
            if schema is not False:
                yield f"{path}.{name}", schema
        for name, inner in node.items():
            if name not in ("examples", "example", "default"):
                yield from properties_in(inner, f"{path}.{name}")
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from properties_in(inner, f"{path}[{index}]")


def examples_in(node: object) -> Iterator[tuple[dict[str, Any], object]]:
    """Every example of the document, with the schema that it is an example of."""
    if isinstance(node, dict):
        if isinstance(node.get("examples"), list):
            yield from ((node, example) for example in node["examples"])
        if "schema" in node and isinstance(node.get("examples"), dict):
            yield from ((node["schema"], example["value"]) for example in node["examples"].values())
        for name, inner in node.items():
            if name not in ("examples", "example", "default"):
                yield from examples_in(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from examples_in(inner)


EXAMPLES = list(examples_in(DOCUMENT))


@pytest.mark.parametrize(("schema", "example"), EXAMPLES, ids=[json.dumps(example)[:40] for _, example in EXAMPLES])
def test_every_example_is_valid(schema: dict[str, Any], example: object) -> None:
    check(schema, example)


AS_BODIES: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(REPLIES, lambda example: {"script": [example]}),
    "output": lambda example: {"when": [{"operation": "Retrieve", "script": [example]}]},
    "When": lambda example: {"when": [example]},
    "EndlessReply": lambda example: {"always": example},
    "NewFake": lambda example: example,
    "MoreReplies": lambda example: example,
}
"""How the example of a schema becomes a body."""


@pytest.mark.parametrize("name", AS_BODIES)
def test_every_example_of_a_body_works(client: Client, name: str) -> None:
    examples = (REPLY_SCHEMAS | SCHEMAS)[name]["examples"]
    assert [client.post(AS_BODIES[name](example)).status for example in examples] == [201] * len(examples)


@pytest.mark.parametrize("name", ["open_fake", "script_fake"])
def test_every_example_of_a_request_works(client: Client, name: str) -> None:
    client.opened()
    path = {"open_fake": "/__converse/fakes", "script_fake": "/__converse/fakes/fake-1/script"}[name]
    for example in OPERATIONS[name]["requestBody"]["content"]["application/json"]["examples"].values():
        assert client.ask("POST", path, example["value"]).status in (200, 201)


HOST = OUR_HEADERS[0]
ERRORS: dict[str, tuple[Any, ...]] = {
    "Wrong.path": ("POST", "/__converse/fakes", {"script": [{"text": "a"}, {"text": "a"}, {"tool_use": {"name": 5}}]}),
    "Wrong.unknown": ("POST", "/__converse/fakes", {"scripts": []}),
    "Wrong.model": ("POST", "/__converse/fakes", {"script": [{"tool_use": "get weather"}]}),
    "NoFake.closed": ("GET", "/__converse/fakes/fake-3", None),
    "Refused.path": ("GET", "/__converse/fake", None),
    "Refused.method": ("PUT", "/__converse/fakes", None),
    "Refused.host": ("GET", "/__converse/fakes", None, (("host", "evil.example"),)),
    "Refused.origin": ("GET", "/__converse/fakes", None, (HOST, ("origin", "http://evil.example"))),
    "Refused.json": ("POST", "/__converse/fakes", {}, (HOST, ("content-type", "text/plain"))),
}
"""The request that each example of an error answers."""


def test_every_error_is_the_one_that_is_said(client: Client) -> None:
    shown = {
        f"{response}.{name}": example["value"]["message"]
        for response, node in DOCUMENT["components"]["responses"].items()
        for name, example in node["content"]["application/json"]["examples"].items()
    }
    assert set(shown) == set(ERRORS)
    for name, request in ERRORS.items():
        assert client.ask(*request).message.startswith(shown[name].removesuffix("..."))
