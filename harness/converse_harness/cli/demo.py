"""`converse-harness demo`: run a real botocore client against the fake."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from converse_harness import reply
from converse_harness.cli.terminal import BOLD, DIM, Arguments, say
from converse_harness.intercept.clients import create_client
from converse_harness.intercept.in_process import fake_converse

DESCRIPTION: Final = (
    "Run a real, unchanged botocore client through a two-turn tool loop against the fake: no account, no network."
)
ARGUMENTS: Final[Arguments] = {}

_MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"

_TOOLS = {
    "tools": [
        {
            "toolSpec": {
                "name": "get_weather",
                "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}}},
            }
        }
    ]
}

_NEXT = """
That was botocore's own client, parser and signing; only the network was missing. In a test of yours:

    from converse_harness import reply

    def test_looks_up_the_weather(converse):
        converse.script(
            reply.tool_use("get_weather", {"city": "Zürich"}),
            reply.text("18 °C and sunny."),
        )
        assert "18" in weather_agent("What is it like in Zürich?")

pytest finds the fixture `converse` by itself; `pytest --fixtures` and `pytest --markers` say what else there is.
"""


def run(_given: argparse.Namespace) -> int:
    """Run a tool loop against the fake, and print every event as it arrives; return the exit code 0."""
    with fake_converse() as fake:
        fake.script(
            reply.tool_use("get_weather", {"city": "Zürich"}).paced(first=0.2, each=0.03),
            reply.text("It is 18 °C and sunny in Zürich.").paced(first=0.2, each=0.03),
        )
        client = create_client()
        messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "What is it like in Zürich?"}]}]
        say("you    What is it like in Zürich?", BOLD)
        while True:
            stream = client.converse_stream(modelId=_MODEL, messages=messages, toolConfig=_TOOLS)["stream"]
            for event in stream:
                say("       " + json.dumps(event, ensure_ascii=False), DIM)
            response = fake.calls[-1].response
            assert response is not None  # every stream of this script is complete
            messages.append(response.message)
            if response.stop_reason != "tool_use":
                break
            tool = response.message["content"][0]["toolUse"]
            say(f"agent  calls {tool['name']}({tool['input']})", BOLD)
            result = {"toolUseId": tool["toolUseId"], "content": [{"text": "18 °C, sunny"}], "status": "success"}
            messages.append({"role": "user", "content": [{"toolResult": result}]})
        say(f"model  {response.message['content'][0]['text']}", BOLD)
    say(_NEXT)
    return 0
