"""Every operation of every Bedrock service: the advice for a call without an answer is a line that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError

from converse_harness import Fake, ReplyError, bedrock, fake_converse
from converse_harness.bedrock.api.example import output_example
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.outputs import no_handler
from converse_harness.endpoint.own_answers.control_plane import ANSWERS

OWN = {*ANSWERS, "CountTokens", "ApplyGuardrail"}
"""The operations that have an answer of the fake's own."""


def some(shape: Any) -> Any:
    """A value that botocore takes for a shape of a request, with nothing that may be left out."""
    match shape.type_name:
        case "structure":
            names = [next(iter(shape.members))] if getattr(shape, "is_tagged_union", False) else shape.required_members
            return {name: some(shape.members[name]) for name in names}
        case "list":
            return [some(shape.member)] * shape.metadata.get("min", 0)
        case "map":
            return {}
        case "string":
            return shape.enum[0] if shape.enum else "x" * shape.metadata.get("min", 1)
        case "blob":
            return b"{}"
        case "boolean":
            return True
        case "timestamp":
            return 0
        case _:
            return shape.metadata.get("min", 1)


def asked(client: Any, named: NamedOperation) -> dict[str, Any]:
    """What botocore returns for a call of an operation, with the events of a stream as a list."""
    described: Any = bedrock.operation(named.name, named.service)
    arguments = {} if described.input_shape is None else some(described.input_shape)
    answer = getattr(client, bedrock.method_of(named.name))(**arguments)
    del answer["ResponseMetadata"]
    stream = bedrock.event_stream(named.name, named.service)
    if stream is not None:
        return {**answer, stream.member: list(answer[stream.member])}
    return {name: each.read() if hasattr(each, "read") else each for name, each in answer.items()}


def expected(named: NamedOperation, got: Mapping[str, Any]) -> dict[str, Any]:
    """The example of an operation's output, as botocore returns it.

    Of the answer that it returned, these members are taken: the status, a body without bytes, the type of a stream.
    """
    output = output_example(named.name, named.service)
    shape: Any = bedrock.operation(named.name, named.service).output_shape
    stream = bedrock.event_stream(named.name, named.service)
    found: dict[str, Any] = bedrock.from_json(shape.name, output, named.service) if shape is not None else {}
    read = {"statusCode"} | {name for name, each in got.items() if each == b""}
    if stream is not None:
        read.add("contentType")
        found[stream.member] = [
            bedrock.from_json(stream.union.name, each, named.service) for each in output[stream.member]
        ]
    return {**found, **{name: each for name, each in got.items() if name in read}}


def advised(fake: Fake) -> str:
    """The first line of Python in the advice for the last call."""
    problem = str(fake.endpoint.problems.pop())
    return next(line for line in problem.splitlines() if line.startswith("converse.on_operation("))


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["every ninth", "all"])
@pytest.mark.parametrize("service", bedrock.services())
def test_the_advice_for_an_operation_is_a_line_that_answers_it(service: str, step: int) -> None:
    client = botocore.session.get_session().create_client(service, region_name="us-east-1")
    named = [NamedOperation(service, each) for each in bedrock.operations(service)[::step]]
    with closing(fake_converse().open()) as fake:
        for each in named:
            if no_handler(each) is not None:
                with pytest.raises(ReplyError):
                    fake.on_operation(each.name, {}, service=service)
                continue
            if each.name in OWN:
                fake.on_operation(each.name, output_example(each.name, service), service=service)
            else:
                with pytest.raises(ClientError, match=f"{each.name} of {service} is not scripted"):
                    asked(client, each)
                exec(advised(fake), {"converse": fake})
            got = asked(client, each)
            assert got == expected(each, got)
        assert fake.endpoint.problems == []
        assert {(call.service, call.operation) for call in fake.calls.all} == {
            each for each in named if no_handler(each) is None
        }
