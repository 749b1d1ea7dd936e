"""What users are to type runs as it stands: the code of a story, with the names in it that are the user's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONFTEST = """
from hypothesis import Phase, settings

# Explaining a failure traces every line, which takes longer than all the rest.
settings.register_profile("patient", deadline=None, phases=[Phase.generate, Phase.shrink])
settings.load_profile("patient")
"""
THEIRS = """
import boto3
import converse_harness

def my_parser(events):
    return converse_harness.assemble(events).message

def run_agent(endpoint_url):
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=endpoint_url)
    answer = client.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
    my_parser(list(answer["stream"]))
"""


def snippet(stories: str, number: int) -> str:
    """The Python code of a story."""
    [story] = re.findall(rf"^## {number}\. .*?(?=^## |\Z)", stories, re.MULTILINE | re.DOTALL)
    return "\n".join(re.findall(r"^```python\n(.*?)^```", story, re.MULTILINE | re.DOTALL))


BROKEN = THEIRS.replace("assemble(events)", "assemble(events[:1] + events[-2:])").replace('modelId="m"', 'modelId=""')


@pytest.mark.slow
@pytest.mark.parametrize(("theirs", "outcome"), [(THEIRS, "passed"), (BROKEN, "failed")], ids=["sound", "broken"])
def test_properties_of_a_stream_consumer(shared: Path, pytester: pytest.Pytester, theirs: str, outcome: str) -> None:
    code = snippet((shared / "USERS.md").read_text(encoding="utf-8"), 5)
    tests = code.count("@given")
    assert tests > 2
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(theirs + code)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(**{outcome: tests})
