"""A model id that nobody knows is said once a run, in one line, and fails nothing."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from botocore.exceptions import ClientError

from converse_harness import fake_converse, reply
from converse_harness.bedrock.rules import PROFILES
from converse_harness.intercept.clients import create_client
from converse_harness.notes import set_aside, take_unknown_models
from tests.nested import ASYNCIO

ASKED = [{"role": "user", "content": [{"text": "hi"}]}]
SUITE = """
    import boto3
    import pytest
    from converse_harness import reply

    KNOWN = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


    @pytest.mark.parametrize("model", ["test-model", "test-model", "m", KNOWN, "a", "b"])
    def test_it(converse, model):
        converse.script(reply.text("hi"))
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        client = boto3.client("bedrock-runtime", **keys)
        client.converse(modelId=model, messages=[{"role": "user", "content": [{"text": "hi"}]}])
"""


@pytest.mark.parametrize(
    "workers",
    [pytest.param([], id="one process"), pytest.param(["-n", "2", "-p", "xdist"], id="xdist", marks=pytest.mark.slow)],
)
def test_one_line_for_a_whole_run(pytester: pytest.Pytester, workers: list[str]) -> None:
    if workers:
        pytest.importorskip("xdist")
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("--converse-notes=fail", *ASYNCIO[2:], *workers)
    result.assert_outcomes(passed=6)
    (line,) = (line for line in result.outlines if "unknown model id" in line)
    ids = "[a-z-]+" if workers else "test-model, m, a"  # in parallel, the order is that in which tests end
    about = f"{len(PROFILES)} rules of single models were not asked.   Known ids: converse-harness docs rules models"
    assert re.fullmatch(rf"converse-harness: 5 calls to 4 unknown model ids \({ids}, .*\): {about}", line)


def test_no_line_where_all_are_known(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("-k", "claude", *ASYNCIO[2:])
    result.assert_outcomes(passed=1, deselected=5)
    result.stdout.no_fnmatch_line("*unknown model id*")


def test_what_is_not_counted() -> None:
    """Calls that no rule was asked of, that a rule refused, and whose model the settings name."""
    with set_aside():
        for settings in ({"rules": "off"}, {"rules": "strict", "unexpected": "allow"}, {"models": {"x": "zai.glm-5"}}):
            with fake_converse(**{"unused": "allow", **settings}) as fake:  # type: ignore[arg-type]
                fake.always(reply.text("hi"))
                with suppress(ClientError):  # at the strict level
                    create_client().converse(modelId="x", messages=ASKED)
            assert len(fake.calls) == 1
        assert take_unknown_models() == {}
        with fake_converse(reply.text("hi")):
            create_client().converse(modelId="x", messages=ASKED)
        assert take_unknown_models() == {"x": 1}
