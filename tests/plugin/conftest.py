"""A small agent on botocore for the pytester projects; its code makes no provision for tests."""

from collections.abc import Iterator

import pytest

from tests.nested import OURS, load
from tests.plugin.upstream import Upstream, echo, service

AGENT = '''
import functools

import botocore.session

session = botocore.session.get_session()


@functools.cache
def client(**options):
    return session.create_client("bedrock-runtime", region_name="us-east-1", **options)


def ask(text, history=(), **options):
    messages = [*history, {"role": "user", "content": [{"text": text}]}]
    answer = client(**options).converse(modelId="us.amazon.nova-lite-v1:0", messages=messages)
    return answer["output"]["message"]["content"][0]["text"]


def weather(city):
    """A tool loop that survives anything, as agents in production do."""
    messages = [{"role": "user", "content": [{"text": f"What is it like in {city}?"}]}]
    tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}
    while True:
        try:
            asked = {"modelId": "us.amazon.nova-lite-v1:0", "messages": messages, "toolConfig": tools}
            tool, text = None, ""
            for event in client().converse_stream(**asked)["stream"]:
                if "contentBlockStart" in event:
                    tool = event["contentBlockStart"]["start"]["toolUse"]
                text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        except Exception:
            return "sorry"
        if tool is None:
            return text
        messages.append({"role": "assistant", "content": [{"toolUse": {**tool, "input": {}}}]})
        content = [{"text": "city not found"}]
        result = {"toolUseId": tool["toolUseId"], "content": content, "status": "error"}
        messages.append({"role": "user", "content": [{"toolResult": result}]})
'''


ASKING = """
import boto3
import pytest
from botocore.exceptions import ClientError
from converse_harness import reply

HELLO = [{"role": "user", "content": [{"text": "hi"}]}]


def client(**options):
    return boto3.client("bedrock-runtime", region_name="us-east-1", **options)


def ask(messages=HELLO, **options):
    answer = client(**options).converse(modelId="us.amazon.nova-lite-v1:0", messages=messages)
    return answer["output"]["message"]["content"][0]["text"]


def careful(messages, **options):
    try:
        return ask(messages, **options)
    except ClientError:
        return "sorry"
"""


@pytest.fixture(scope="package")
def imported() -> None:
    """What an inner run may need is imported."""
    load()


@pytest.fixture(scope="package", autouse=True)
def _imported_for_all(imported: None) -> None:
    """Here every file has inner runs."""


@pytest.fixture
def project(imported: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytester project with the module `agent`. Its runs load only our plugin of all installed plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(OURS))
    pytester.makepyfile(agent=AGENT)
    pytester.syspathinsert()
    return pytester


@pytest.fixture
def asking(project: pytest.Pytester) -> pytest.Pytester:
    """A pytester project with the module `asking`."""
    project.makepyfile(asking=ASKING)
    return project


@pytest.fixture
def upstream(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A service that answers with the last text of the request, for a project that records it."""
    with service(echo) as running:
        yield Upstream(project, running, monkeypatch)
