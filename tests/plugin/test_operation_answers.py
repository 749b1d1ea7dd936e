"""Answers of other operations in a project's tests: an unused one fails, and the settings allow it."""

import pytest

TESTS = """
import boto3
import pytest
from converse_harness import reply

ONE = {"body": b"1", "contentType": "application/json"}


def embed():
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    return client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=b"{}")["body"].read()


def test_used(converse):
    converse.on_operation("InvokeModel", ONE)
    assert embed() == b"1"


def test_unused(converse):
    converse.on_operation("InvokeModel", ONE, ONE)
    assert embed() == b"1"


@pytest.mark.converse(unused="allow")
def test_allowed(converse):
    converse.on_operation("InvokeModel", ONE)


def test_optional(converse):
    converse.when(operation="InvokeModel", model="*titan*").script(reply.output(ONE).optional())


def test_swallowed(converse):
    converse.on_operation("InvokeModel", ONE)
    try:
        embed(), embed()
    except Exception:
        pass
"""


def test_an_unused_answer_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(TESTS)
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*UnusedReplies: 1 scripted reply was not used.",
            '*2. on_operation("InvokeModel"): output *not used',
            '*@pytest.mark.converse(unused="allow")*',
            "*UnexpectedCall: call 2, InvokeModel, has no answer left.",
        ]
    )
