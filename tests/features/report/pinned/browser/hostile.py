"""Texts that would run, load or hide something if a page took them for markup, and a test suite that has them all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

RUN: Final = "window.ran=1"

TEXTS: Final = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</style></title></textarea></template><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"<img src=x onerror={RUN}>",
    f'" autofocus onfocus="{RUN}" onmouseover="{RUN}" x="',
    f"' autofocus onfocus='{RUN}' x='",
    f"<svg onload={RUN}><animate onbegin={RUN} attributeName=x></svg>",
    f"<a href='javascript:{RUN}'>here</a>",
    f"javascript:{RUN}",
    f"<iframe srcdoc='<script>parent.ran=1</script>'></iframe><object data='javascript:{RUN}'></object>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'><base href='https://bad.example/'>",
    "<link rel=stylesheet href='https://bad.example/x.css'><style>* { display: none }</style>",
    "<form action='https://bad.example/'><button autofocus>send</button></form>",
    "</article></section></main></body></html>",
    "<script>alert('a dialog')</script>",
    "&lt;script&gt;&#x3c;",
)
RTL: Final = "\u202egpj.exe\u202c \u2066\u2067\u061c"
WIDE: Final = "é" * 50_000
"""A word of 100 kB without a space; one of ASCII letters alone would be decoded as base64 for a minute."""

SECRETS: Final = ("AKIAQYLPMN5HABCDEFGH", "sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "AA", "hunter2-of-the-environment")

FORBIDDEN_TAGS: Final = ("animate", "base", "embed", "form", "iframe", "img", "link", "object", "textarea", "template")

SUITE: Final = '''
import json
import os
from pathlib import Path

import botocore.session
import pytest
from botocore.exceptions import ClientError
from converse_harness import reply

given = json.loads(Path(__file__).with_name("given.json").read_text(encoding="utf-8"))


def client():
    return botocore.session.get_session().create_client("bedrock-runtime")


def asked(text, temperature):
    return {
        "modelId": text if temperature else "us.amazon.nova-lite-v1:0",
        "system": [{"text": text}],
        "messages": [
            {"role": "user", "content": [{"text": text}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": text, "name": text, "input": {text: text}}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": text, "status": "error", "content": [{"text": text}]}}],
            },
        ],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": text, "description": text, "inputSchema": {"json": {"properties": {text: text}}}}}
            ]
        },
        "inferenceConfig": {"temperature": temperature, "stopSequences": [text]},
        "additionalModelRequestFields": {text: text},
        "requestMetadata": {text: text},
    }


@pytest.mark.converse(rules="off")
@pytest.mark.parametrize("text", given["texts"], ids=given["texts"])
def test_markup(converse, text):
    converse.script(
        reply.text(text),
        reply.tool_use("get_weather", {text: text}),
        reply.validation_error(text),
        reply.reasoning(text, text),
    )
    for temperature in (0.0, 0.5, 0.6, 0.7):
        try:
            answer = client().converse_stream(**asked(text, temperature))
            [*answer["stream"]]
        except ClientError:
            pass
    raise AssertionError(text)


def test_markup_that_rules_refuse(converse):
    converse.always(reply.text("never"))
    for text in given["texts"]:
        with pytest.raises(ClientError):
            client().converse(**asked(text, 0.0))
    raise AssertionError("refused")


def test_secrets(converse):
    converse.always(reply.text(f"The key is {given['secrets'][0]}"))
    for secret in given["secrets"]:
        client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": f"password={secret}"}]}])
    raise AssertionError(" and ".join(given["secrets"]))


def test_an_agent(converse):
    """A loop with tools, as a person would look at it."""
    tool = {"toolSpec": {"name": "get_weather", "description": "The weather of a city.", "inputSchema": {"json": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}}
    converse.script(
        reply.reasoning("The person wants the weather of two cities.", "I look it up."),
        reply.tool_use("get_weather", {"city": "Zürich"}),
        reply.throttled(),
        reply.tool_use("get_weather", {"city": "Bern"}),
    )
    messages = [{"role": "user", "content": [{"text": "What is the weather in Zürich and in Bern?"}]}]
    for turn in range(given["turns"]):
        try:
            answer = client().converse(
                modelId="us.amazon.nova-lite-v1:0", messages=messages, toolConfig={"tools": [tool]},
                system=[{"text": "You are a friendly assistant that looks up the weather before it answers."}],
                inferenceConfig={"temperature": 0.1 * turn, "maxTokens": 400},
            )
        except ClientError as error:
            messages[-1]["content"].append({"text": "Try again."})
            continue
        message = answer["output"]["message"]
        messages.append(message)
        results = [
            {"toolResult": {"toolUseId": block["toolUse"]["toolUseId"], "content": [{"text": "18 °C and sunny."}]}}
            for block in message["content"] if "toolUse" in block
        ]
        messages.append({"role": "user", "content": results or [{"text": "Go on, please."}]})


def test_many_calls(converse):
    converse.always(reply.text("It is 18 °C and sunny in Zürich, and it will be so tomorrow. Shall I look again?"))
    messages = []
    for number in range(given["many"]):
        messages.append({"role": "user", "content": [{"text": f"Look again, please; this is question {number}."}]})
        answer = client().converse(
            modelId="us.amazon.nova-lite-v1:0", messages=messages, system=[{"text": "You look up the weather."}]
        )
        messages.append(answer["output"]["message"])
    raise AssertionError("many calls")


def test_that_passes(converse):
    converse.script(reply.text("fine"))
    client().converse(modelId="us.amazon.nova-lite-v1:0", messages=[{"role": "user", "content": [{"text": "?"}]}])
'''


def report(folder: Path, *tests: str, turns: int = 5, many: int = 1) -> Path:
    """Run tests of the suite in a process of its own; their report."""
    given = {"texts": [*TEXTS, RTL, WIDE], "secrets": SECRETS, "turns": turns, "many": many}
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    account: dict[str, Any] = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": SECRETS[-1],
    }
    chosen = [f"test_suite.py::{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--converse-report=report.html", *chosen]
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, **account}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return folder / "report.html"
