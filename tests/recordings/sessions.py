"""The sample sessions in `recordings/`: what was asked and answered, as a table, and how the files are made of it.

`python -m tests.recordings.sessions` makes them anew: a boto3 client asks the project's own server, and the project's
own recorder listens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
import botocore.config

from converse_harness import ConverseServer, Reply, citing, record, reply

FOLDER: Final = Path(__file__).resolve().parents[2] / "recordings"

NOVA: Final = "us.amazon.nova-lite-v1:0"
CLAUDE: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

FORECAST: Final = "Zürich on Saturday: 18 °C, sunny, light wind from the west. Sunday: 15 °C and rain."
DOCUMENT: Final = {
    "name": "forecast",
    "format": "txt",
    "source": {"text": FORECAST},
    "citations": {"enabled": True},
}
TOOLS: Final = {
    "tools": [
        {
            "toolSpec": {
                "name": "get_weather",
                "description": "The weather in a city right now.",
                "inputSchema": {
                    "json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
                },
            }
        }
    ]
}


def said(text: str) -> dict[str, Any]:
    """A message of the user's."""
    return {"role": "user", "content": [{"text": text}]}


WEATHER: Final = reply.message(
    {"text": "Let me look."}, {"toolUse": {"name": "get_weather", "input": {"city": "Zürich"}}}
)
ASKED_FOR_WEATHER: Final = said("What is it like in Zürich?")


def tool_turn(client: Any) -> None:
    """A tool loop: the model asks for the weather, and says what it was told."""
    asked: dict[str, Any] = {"modelId": NOVA, "toolConfig": TOOLS, "system": [{"text": "You are a weather agent."}]}
    first = list(client.converse_stream(**asked, messages=[ASKED_FOR_WEATHER])["stream"])
    use = next(e["contentBlockStart"]["start"]["toolUse"] for e in first if "contentBlockStart" in e)
    wanted = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"], "input": {"city": "Zürich"}}}
    found = {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "18 °C, sunny"}]}}
    turns = [
        ASKED_FOR_WEATHER,
        {"role": "assistant", "content": [{"text": "Let me look."}, wanted]},
        {"role": "user", "content": [found]},
    ]
    list(client.converse_stream(**asked, messages=turns)["stream"])


def streams(model: str, text: str, *blocks: Mapping[str, Any], **more: Any) -> Callable[[Any], None]:
    """One streamed question, with `blocks` before its text."""
    asked = said(text)
    question = {**asked, "content": [*blocks, *asked["content"]]}

    def ask(client: Any) -> None:
        stream = client.converse_stream(modelId=model, messages=[question], **more)["stream"]
        with closing(stream), suppress(client.exceptions.ClientError):  # one of the sessions ends so
            list(stream)

    return ask


def asks(model: str, text: str) -> Callable[[Any], None]:
    """One question that is answered whole."""
    return lambda client: client.converse(modelId=model, messages=[said(text)])


@dataclass(frozen=True)
class SampleSession:
    """A session: who asks what, and what is answered."""

    ask: Callable[[Any], object]
    replies: Sequence[Reply]


SESSIONS: Final[Mapping[str, SampleSession]] = {
    "text": SampleSession(
        streams(CLAUDE, "Plan a trip from Chur to Tirano."),
        [reply.text("From Chur the Bernina Express climbs to 2,253 m, and comes down to Tirano among palms.")],
    ),
    "tool_loop": SampleSession(tool_turn, [WEATHER, reply.text("It is 18 °C and sunny in Zürich.")]),
    "reasoning": SampleSession(
        streams(
            CLAUDE,
            "Which is longer, the Gotthard or the Lötschberg base tunnel?",
            additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
        [
            reply.message(
                {
                    "reasoningContent": {
                        "reasoningText": {
                            "text": "The Gotthard base tunnel has 57 km, the Lötschberg one 35 km.",
                            "signature": "c2FtcGxlLXNpZ25hdHVyZQ==",
                        }
                    }
                },
                {"text": "The Gotthard base tunnel, by 22 km."},
            )
        ],
    ),
    "citations": SampleSession(
        streams(CLAUDE, "What will it be like on Saturday? Cite the forecast.", {"document": DOCUMENT}),
        [
            reply.cited(
                "On Saturday it will be ",
                "18 °C and sunny",
                citing(DOCUMENT, "18 °C, sunny"),
                ".",
            )
        ],
    ),
    "guardrail": SampleSession(
        streams(
            NOVA,
            "My card is 4111 1111 1111 1111. Is it valid?",
            guardrailConfig={"guardrailIdentifier": "gr1abcdefghi", "guardrailVersion": "1", "trace": "enabled"},
        ),
        [reply.guardrail_blocked("I cannot talk about card numbers.")],
    ),
    "throttled_then_fine": SampleSession(
        asks(NOVA, "Say good morning in Romansh."), [reply.throttled(), reply.text("Bun di!")]
    ),
    "error_in_the_stream": SampleSession(
        streams(NOVA, "Tell me a story."),
        [reply.text("Once upon a time there was").fails_after(4, "modelStreamErrorException", "The model stopped.")],
    ),
}
"""By the names of their files."""


def make(folder: Path) -> None:
    """Record every session into a folder."""
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake", "region_name": "us-east-1"}
    config = botocore.config.Config(retries={"mode": "standard", "total_max_attempts": 3})
    with ConverseServer() as server:
        for name, session in SESSIONS.items():
            paced = [each.paced(first=0.2, each=0.01) for each in session.replies]
            with server.script(*paced) as upstream, record(folder / f"{name}.jsonl"):
                client = boto3.client("bedrock-runtime", endpoint_url=upstream.url, config=config, **keys)
                session.ask(client)
                client.close()


if __name__ == "__main__":
    os.environ.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    make(FOLDER)
