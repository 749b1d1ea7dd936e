"""AWS's protocol tests of requests that a server must refuse, asked of Converse where it can have their faults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from converse_harness import Endpoint, bedrock, reply
from converse_harness.settings import RuleLevel
from converse_harness.stream.http import Request
from tests.oracle import protocol_lacking as lacking
from tests.oracle import protocol_tables as table
from tests.oracle.smithy import cases_of, vectors_of

Vectors = Mapping[str, Mapping[str, Any]]

PATHS: Final = {"Converse": "converse", "ConverseStream": "converse-stream", "CountTokens": "count-tokens"}
HELD: Final = ("Converse", "ConverseStream")
"""The operations that are held to AWS's constraints; CountTokens is asked to read its body alone."""


JSON_HEADERS: Final = {"content-type": "application/json"}


class ProtocolAnswer(NamedTuple):
    """What a client sees first of an answer: its status, the kind of its error, and what that says."""

    status: int
    error: str = ""
    message: str = ""


@pytest.fixture(scope="module")
def malformed(shared: Path) -> Vectors:
    return vectors_of(shared / "protocol-tests" / "malformedRequests", "httpMalformedRequestTests")


@pytest.fixture(scope="module")
def validation(shared: Path) -> Vectors:
    return vectors_of(shared / "protocol-tests" / "validation", "httpMalformedRequestTests")


@pytest.fixture(scope="module")
def accepted(shared: Path) -> Vectors:
    return vectors_of(shared / "protocol-tests" / "validation", "httpRequestTests")


def asked(
    operation: str,
    body: str,
    *,
    whole: bool = False,
    rules: RuleLevel = "default",
    headers: Mapping[str, str] = JSON_HEADERS,
) -> ProtocolAnswer:
    """What an endpoint answers to a Converse request that is sent to an operation, or to a whole body."""
    model = "anthropic.claude-haiku-4-5-20251001-v1" if operation == "CountTokens" else "us.amazon.nova-lite-v1"
    target = f"/model/{model}%3A0/{PATHS[operation]}"
    if operation == "CountTokens" and not whole:
        body = f'{{"input":{{"converse":{body}}}}}'
    request = Request("POST", target, tuple(headers.items()), body.encode())
    response = Endpoint(reply.text("hi"), rules=rules).exchange(request).response
    error = dict(response.headers).get("x-amzn-ErrorType", "").partition(":")[0]
    said = json.loads(b"".join(chunk.data for chunk in response.chunks)) if error else {"message": ""}
    assert list(said) == ["message"]
    return ProtocolAnswer(response.status, error, said["message"])


def operations_with(place: str) -> Sequence[str]:
    """The operations that have the member in which a place is."""
    member = re.findall(r"\w+", place)[0]
    shapes = {name: bedrock.operation(name).input_shape.name for name in HELD}
    shapes["CountTokens"] = "ConverseTokensRequest"
    return [name for name, shape in shapes.items() if bedrock.has_member(shape, member)]


def wanted(vector: Mapping[str, Any]) -> ProtocolAnswer:
    response = vector["response"]
    return ProtocolAnswer(response["code"], response["headers"]["x-amzn-errortype"])


def value_in(body: str) -> str:
    """The value of the one member of a body, as it stands there."""
    found = re.fullmatch(r'\{\s*"\w+"\s*:\s*(.*?)\s*\}', body, re.DOTALL)
    assert found is not None, body
    return found[1]


def test_every_vector_is_in_one_table(malformed: Vectors, validation: Vectors, accepted: Vectors) -> None:
    cannot = [name for names in lacking.CANNOT.values() for name in names]
    rows = [*table.MALFORMED, *table.WHOLE_BODIES, *table.UNIONS, *table.MEDIA_TYPES, *table.CONSTRAINTS, *cannot]
    assert sorted([*rows, *table.ACCEPTED]) == sorted([*malformed, *validation, *accepted])


@pytest.mark.parametrize("name", table.MALFORMED)
def test_a_malformed_value_is_refused(malformed: Vectors, name: str) -> None:
    place = table.MALFORMED[name].place
    cases = cases_of(malformed[name])
    bodies = [place.replace("VALUE", value_in(case["request"]["body"])) for case in cases]
    answers = {(body, operation): asked(operation, body)[:2] for body in bodies for operation in operations_with(place)}
    assert answers == dict.fromkeys(answers, wanted(malformed[name])[:2])
    assert len(answers) >= len(HELD)


@pytest.mark.parametrize("row", table.MALFORMED.values(), ids=table.MALFORMED)
def test_a_good_value_in_its_place_is_read(row: table.MalformedPlace) -> None:
    body = row.place.replace("VALUE", row.good)
    answers = {operation: asked(operation, body, rules="off") for operation in operations_with(row.place)}
    assert answers == dict.fromkeys(answers, ProtocolAnswer(200))


@pytest.mark.parametrize("name", table.WHOLE_BODIES)
def test_a_body_that_is_no_object_is_refused(malformed: Vectors, name: str) -> None:
    for case in cases_of(malformed[name]):
        body = case["request"]["body"]
        for operation in PATHS:
            assert asked(operation, body, whole=True)[:2] == wanted(malformed[name])[:2], body


@pytest.mark.parametrize("operation", HELD)
@pytest.mark.parametrize("name", table.UNIONS)
def test_a_union_is_refused_in_another_way(malformed: Vectors, name: str, operation: str) -> None:
    row = table.UNIONS[name]
    assert wanted(malformed[name]) == (400, "SerializationException", "")
    value = value_in(malformed[name]["request"]["body"])
    for part, ours in row.renamed.items():
        assert part in value
        value = value.replace(part, ours)
    assert asked(operation, table.BLOCK.replace("VALUE", value)) == (400, "ValidationException", row.told)


@pytest.mark.parametrize("operation", PATHS)
@pytest.mark.parametrize("name", table.MEDIA_TYPES)
def test_media_types_are_not_looked_at(malformed: Vectors, name: str, operation: str) -> None:
    assert wanted(malformed[name])[:2] == table.MEDIA_TYPES[name]
    headers = malformed[name]["request"].get("headers", {})
    assert asked(operation, table.ORDINARY, headers=headers) == ProtocolAnswer(200)


def constraint_of(case: Mapping[str, Any]) -> str:
    """Which constraint is broken, in AWS's words."""
    body = json.loads(case["response"]["body"]["assertion"]["contents"])
    found = re.fullmatch(table.ENVELOPE, body["message"])
    assert found is not None, body["message"]
    return found[1]


def values_of(vector: Mapping[str, Any], row: table.ConstraintPlace) -> Sequence[str]:
    """The values to be put in a place: those of the row, or else AWS's own."""
    if row.values:
        return row.values
    cases = cases_of(vector)
    return [
        json.dumps(case["parameters"]["value"]) if "parameters" in case else value_in(case["request"]["body"])
        for case in cases
    ]


@pytest.mark.parametrize("operation", HELD)
@pytest.mark.parametrize("name", table.CONSTRAINTS)
def test_a_broken_constraint_is_told(validation: Vectors, name: str, operation: str) -> None:
    row = table.CONSTRAINTS[name]
    values = values_of(validation[name], row)
    for value, said in zip(values, row.said * len(values) if len(row.said) == 1 else row.said, strict=True):
        answer = asked(operation, row.place.replace("VALUE", value))
        assert answer[:2] == wanted(validation[name])[:2]
        shown = row.at.replace("VALUE", value.strip('"'))
        assert answer.message == f"1 validation error detected: {shown} failed to satisfy constraint: {said}"


@pytest.mark.parametrize("name", table.CONSTRAINTS)
def test_a_constraint_is_told_in_aws_words_or_as_bedrock_does(validation: Vectors, name: str) -> None:
    for case in cases_of(validation[name]):
        broken = constraint_of(case)
        ((theirs, words),) = [each for each in table.WORDS.items() if re.fullmatch(each[0], broken)]
        for said in table.CONSTRAINTS[name].said:
            assert re.search(words.ours, said), f"{said} is not said for {broken}"
            assert bool(re.search(theirs, said)) is not bool(words.why), f"{said} and {broken} are the same, or not"


def test_all_words_of_aws_are_met(validation: Vectors) -> None:
    met = {constraint_of(case) for name in validation for case in cases_of(validation[name])}
    assert [theirs for theirs in table.WORDS if not any(re.fullmatch(theirs, each) for each in met)] == []


@pytest.mark.parametrize("operation", HELD)
@pytest.mark.parametrize("name", table.ACCEPTED)
def test_what_keeps_all_constraints_is_accepted(accepted: Vectors, name: str, operation: str) -> None:
    assert name in accepted
    assert asked(operation, table.ACCEPTED[name]) == ProtocolAnswer(200)


class HeldShape(NamedTuple):
    """A member of a request: the shape that holds it, and its own."""

    holder: bedrock.Shape
    shape: bedrock.Shape


def _of_list(holder: bedrock.Shape) -> Sequence[bedrock.Shape]:
    return [holder.member]


def _of_map(holder: bedrock.Shape) -> Sequence[bedrock.Shape]:
    return [holder.key, holder.value]


def _of_structure(holder: bedrock.Shape) -> Sequence[bedrock.Shape]:
    return list(holder.members.values())


def _of_plain(_: bedrock.Shape) -> Sequence[bedrock.Shape]:
    return []


def members_of_requests() -> Iterator[HeldShape]:
    """All that Converse, ConverseStream and CountTokens can be asked, each shape in each other one once."""
    met: set[tuple[str, str]] = set()
    left = [bedrock.operation(name).input_shape for name in PATHS]
    while left:
        holder = left.pop()
        inner = {"list": _of_list, "map": _of_map, "structure": _of_structure}.get(holder.type_name, _of_plain)(holder)
        for shape in inner:
            if (holder.name, shape.name) not in met:
                met.add((holder.name, shape.name))
                left.append(shape)
                yield HeldShape(holder, shape)


@pytest.mark.parametrize(("reason", "is_one"), lacking.LACKING.items(), ids=lacking.LACKING)
def test_converse_lacks_what_it_is_said_to_lack(reason: str, is_one: lacking.IsOne) -> None:
    assert reason in lacking.CANNOT
    assert [f"{holder.name}: {shape.name}" for holder, shape in members_of_requests() if is_one(holder, shape)] == []
