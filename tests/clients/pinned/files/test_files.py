"""Agents that send an image and a document twice: recorded with the files and without them, and replayed.

An agent is a function: it asks about both files, asks once more with the history, and returns the last answer.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import ConverseServer, UnexpectedCall, fake_converse, record, recording, reply
from converse_harness.endpoint.call import Call
from converse_harness.json_values import leaves

CLAUDE: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
FIRST, SECOND = "What do you see?", "And what else?"

Ask = Callable[[bytes, bytes], str]

ASKS: dict[str, Ask] = {}
"""The agents, by the package whose version is printed."""

IMAGES_ONLY: Final = ("agent-framework-bedrock", "any-llm-sdk", "griptape", "semantic-kernel")
"""These packages send no documents to Bedrock."""


def agent_of(package: str) -> Callable[[Ask], Ask]:
    """Keep a function in `ASKS`."""
    return lambda ask: ASKS.setdefault(package, ask)


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def data_url(data: bytes) -> str:
    kind = "application/pdf" if data.startswith(b"%PDF") else "image/png"
    return f"data:{kind};base64,{base64_of(data)}"


def as_bedrock_takes(image: bytes, document: bytes) -> list[Any]:
    """A question in the form of Bedrock's API."""
    return [
        {"image": {"format": "png", "source": {"bytes": image}}},
        {"document": {"format": "pdf", "name": "plan", "source": {"bytes": document}}},
        {"text": FIRST},
    ]


def as_openai_sends(image: bytes, *documents: bytes) -> list[dict[str, Any]]:
    """A question in the form of OpenAI's chat completions."""
    files = [{"type": "file", "file": {"file_data": data_url(each)}} for each in documents]
    return [{"type": "text", "text": FIRST}, {"type": "image_url", "image_url": {"url": data_url(image)}}, *files]


@agent_of("boto3")
def ask_boto3(image: bytes, document: bytes) -> str:
    import boto3

    client = boto3.client("bedrock-runtime")
    messages = [{"role": "user", "content": as_bedrock_takes(image, document)}]
    messages += [client.converse(modelId=CLAUDE, messages=messages)["output"]["message"]]
    messages += [{"role": "user", "content": [{"text": SECOND}]}]
    return str(client.converse(modelId=CLAUDE, messages=messages)["output"]["message"]["content"][0]["text"])


@agent_of("strands-agents")
def ask_strands(image: bytes, document: bytes) -> str:
    from strands import Agent
    from strands.models import BedrockModel

    asked = Agent(BedrockModel(model_id=CLAUDE), callback_handler=None)
    asked(as_bedrock_takes(image, document))
    return str(asked(SECOND)).strip()


@agent_of("langchain-aws")
def ask_langchain(image: bytes, document: bytes) -> str:
    from langchain_aws import ChatBedrockConverse
    from langchain_core.messages import HumanMessage

    chat = ChatBedrockConverse(model=CLAUDE)
    parts: list[Any] = [
        {"type": "text", "text": FIRST},
        {"type": "image", "mime_type": "image/png", "base64": base64_of(image)},
        {"type": "file", "mime_type": "application/pdf", "base64": base64_of(document), "name": "plan"},
    ]
    history: list[Any] = [HumanMessage(content=parts)]
    history += [chat.invoke(history), HumanMessage(content=SECOND)]
    return str(chat.invoke(history).content)


@agent_of("pydantic-ai-slim")
def ask_pydantic_ai(image: bytes, document: bytes) -> str:
    from pydantic_ai import Agent, BinaryContent

    asked = Agent(f"bedrock:{CLAUDE}")
    files = [BinaryContent(image, media_type="image/png"), BinaryContent(document, media_type="application/pdf")]
    first = asked.run_sync([FIRST, *files])
    return str(asked.run_sync(SECOND, message_history=first.all_messages()).output)


@agent_of("litellm")
def ask_litellm(image: bytes, document: bytes) -> str:
    import litellm

    messages: list[Any] = [{"role": "user", "content": as_openai_sends(image, document)}]
    messages += [litellm.completion(f"bedrock/{CLAUDE}", messages).choices[0].message]
    messages += [{"role": "user", "content": SECOND}]
    return str(litellm.completion(f"bedrock/{CLAUDE}", messages).choices[0].message.content)


@agent_of("openai-agents")
def ask_openai_agents(image: bytes, document: bytes) -> str:
    from agents import Agent, Runner, set_tracing_disabled
    from agents.extensions.models.litellm_model import LitellmModel

    set_tracing_disabled(True)
    asked = Agent(name="Guide", model=LitellmModel(model=f"bedrock/{CLAUDE}"))
    content = [
        {"type": "input_image", "image_url": data_url(image)},
        {"type": "input_file", "filename": "plan.pdf", "file_data": data_url(document)},
        {"type": "input_text", "text": FIRST},
    ]
    first = Runner.run_sync(asked, [{"role": "user", "content": content}])
    return str(Runner.run_sync(asked, [*first.to_input_list(), {"role": "user", "content": SECOND}]).final_output)


@agent_of("google-adk")
def ask_google_adk(image: bytes, document: bytes) -> str:
    from google.adk.agents import LlmAgent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, Part

    files = [Part.from_bytes(data=image, mime_type="image/png")]
    files += [Part.from_bytes(data=document, mime_type="application/pdf")]

    async def ask() -> str:
        runner = InMemoryRunner(LlmAgent(name="guide", model=LiteLlm(f"bedrock/{CLAUDE}")), app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        said = ""
        for parts in ([Part(text=FIRST), *files], [Part(text=SECOND)]):
            message = Content(role="user", parts=parts)
            async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                said = event.content.parts[0].text
        return said

    return asyncio.run(ask())


@agent_of("amazon-bedrock-haystack")
def ask_haystack(image: bytes, document: bytes) -> str:
    from haystack.dataclasses import ChatMessage, FileContent, ImageContent
    from haystack_integrations.components.generators.amazon_bedrock import AmazonBedrockChatGenerator

    generator = AmazonBedrockChatGenerator(model=CLAUDE)
    files = [
        ImageContent(base64_of(image), mime_type="image/png"),
        FileContent(base64_of(document), mime_type="application/pdf", filename="plan.pdf"),
    ]
    history = [ChatMessage.from_user(content_parts=[FIRST, *files])]
    history += [*generator.run(history)["replies"], ChatMessage.from_user(SECOND)]
    return str(generator.run(history)["replies"][0].text)


@agent_of("llama-index-llms-bedrock-converse")
def ask_llama_index(image: bytes, document: bytes) -> str:
    from llama_index.core.llms import ChatMessage, DocumentBlock, ImageBlock, TextBlock
    from llama_index.llms.bedrock_converse import BedrockConverse

    chat = BedrockConverse(model=CLAUDE)
    files = [
        ImageBlock(image=image, image_mimetype="image/png"),
        DocumentBlock(data=document, document_mimetype="application/pdf", title="plan"),
    ]
    history = [ChatMessage(blocks=[TextBlock(text=FIRST), *files])]
    history += [chat.chat(history).message, ChatMessage(SECOND)]
    return str(chat.chat(history).message.content)


@agent_of("agno")
def ask_agno(image: bytes, document: bytes) -> str:
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.media import File, Image
    from agno.models.aws import AwsBedrock

    asked = Agent(model=AwsBedrock(id=CLAUDE), db=InMemoryDb(), add_history_to_context=True, session_id="trip")
    plan = File(content=document, format="pdf", name="plan", mime_type="application/pdf")
    asked.run(FIRST, images=[Image(content=image, format="png")], files=[plan])
    return str(asked.run(SECOND).content)


@agent_of("llm-bedrock")
def ask_llm(image: bytes, document: bytes) -> str:
    import llm

    conversation = llm.get_model("nova-lite").conversation()
    files = [llm.Attachment("image/png", content=image), llm.Attachment("application/pdf", content=document)]
    conversation.prompt(FIRST, attachments=files).text()
    return str(conversation.prompt(SECOND).text())


@agent_of("any-llm-sdk")
def ask_any_llm(image: bytes, _: bytes) -> str:
    from any_llm import completion

    messages: list[Any] = [{"role": "user", "content": as_openai_sends(image)}]
    messages += [completion(f"bedrock:{CLAUDE}", messages).choices[0].message]
    messages += [{"role": "user", "content": SECOND}]
    return str(completion(f"bedrock:{CLAUDE}", messages).choices[0].message.content)


@agent_of("semantic-kernel")
def ask_semantic_kernel(image: bytes, _: bytes) -> str:
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.bedrock import BedrockChatCompletion
    from semantic_kernel.contents import AuthorRole, ChatMessageContent, ImageContent, TextContent

    asked = ChatCompletionAgent(service=BedrockChatCompletion(model_id=CLAUDE), name="guide")
    items = [TextContent(text=FIRST), ImageContent(data=image, data_format="base64", mime_type="image/png")]

    async def ask() -> str:
        first = await asked.get_response(ChatMessageContent(role=AuthorRole.USER, items=items))
        return str(await asked.get_response(SECOND, thread=first.thread))

    return asyncio.run(ask())


@agent_of("agent-framework-bedrock")
def ask_agent_framework(image: bytes, _: bytes) -> str:
    from agent_framework import Agent, Content, Message
    from agent_framework_bedrock import BedrockChatClient

    asked = Agent(client=BedrockChatClient(model=CLAUDE))

    async def ask() -> str:
        session = asked.create_session()
        contents = [Content.from_text(FIRST), Content.from_data(image, "image/png")]
        await asked.run(Message("user", contents), session=session)
        return str((await asked.run(SECOND, session=session)).text)

    return asyncio.run(ask())


@agent_of("griptape")
def ask_griptape(image: bytes, _: bytes) -> str:
    from griptape.artifacts import ImageArtifact, ListArtifact, TextArtifact
    from griptape.drivers.prompt.amazon_bedrock import AmazonBedrockPromptDriver
    from griptape.structures import Agent

    asked = Agent(prompt_driver=AmazonBedrockPromptDriver(model=CLAUDE))
    picture = ImageArtifact(image, format="png", width=128, height=128)
    asked.run(ListArtifact([TextArtifact(FIRST), picture]))
    return str(asked.run(SECOND).output.value)


# What they send


def noise(seed: str, length: int) -> bytes:
    return hashlib.shake_256(seed.encode()).digest(length)


def picture(seed: str) -> bytes:
    """A PNG of 128 by 128 pixels."""
    rows = b"".join(b"\0" + noise(f"{seed} {row}", 3 * 128) for row in range(128))
    head = struct.pack(">IIBBBBB", 128, 128, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def paper(seed: str) -> bytes:
    """A PDF of one empty page and some data."""
    data = noise(seed, 100_000)
    return b"".join(
        (
            b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n",
            b"2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n",
            b"3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>\nendobj\n",
            b"4 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\n" % (len(data), data),
            b"trailer\n<</Root 1 0 R>>\n%%EOF\n",
        )
    )


# The law

ROW: Final = "{:<36}{:<14}{:>6}{:>12}{:>12}"


@pytest.fixture(scope="module")
def table(pytestconfig: pytest.Config) -> Iterator[list[str]]:
    """The rows that are printed at the end: how many bytes a recording has with its files, and by digest."""
    rows: list[str] = []
    yield rows
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", ROW.format("package", "version", "calls", "with files", "by digest"), *rows, sep="\n")


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def seen(*files: bytes) -> str:
    return f"I see {', '.join(sorted(hashlib.sha256(each).hexdigest()[:16] for each in files))}."


def answer(call: Call) -> Any:
    """An answer that tells which files are in the request."""
    return reply.text(seen(*(base64.b64decode(value) for path, value in leaves(call.body) if path[-1] == "bytes")))


def recorded(path: Path, ask: Callable[[], str], server: ConverseServer, **how: Any) -> tuple[str, list[Call]]:
    """The last answer and the calls of an agent, while it is recorded; the server stands for Bedrock."""
    with pytest.MonkeyPatch.context() as environ, server.script(answer, answer) as bedrock:
        environ.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.url)
        environ.setenv("AWS_BEDROCK_RUNTIME_ENDPOINT", bedrock.url)  # litellm reads no other variable
        with record(path, **how):
            said = ask()
        return said, list(bedrock.calls)


def size_of(path: Path) -> int:
    """The bytes of a recording and of the files beside it."""
    return sum(each.stat().st_size for each in (path, *path.parent.glob(f"{path.stem}.media/*")))


@pytest.mark.parametrize("package", ASKS)
def test_an_agent_is_replayed_without_its_files(
    package: str, server: ConverseServer, tmp_path: Path, table: list[str]
) -> None:
    """The replay has the same answer and the same requests; with another image there is none."""
    files = (picture("a trip"), paper("a plan"))
    sent = files[:1] if package in IMAGES_ONLY else files
    ask = partial(ASKS[package], *files)
    with_files, by_digest = tmp_path / "with_files.jsonl", tmp_path / "by_digest.jsonl"
    recorded(with_files, ask, server, keep_files=True)
    said, calls = recorded(by_digest, ask, server)
    assert (said, len(calls)) == (seen(*sent), 2)
    assert size_of(with_files) > sum(map(len, sent))
    assert size_of(by_digest) < 5000
    with fake_converse(recording(by_digest, match="exact")) as fake:  # an exchange that is not used fails
        assert ask() == said
    assert [each.body for each in fake.calls] == [each.body for each in calls]
    with (
        pytest.raises(UnexpectedCall, match="matches no exchange"),
        fake_converse(recording(by_digest, match="exact"), unused="allow"),
        suppress(Exception),  # of the agent's own
    ):
        ASKS[package](picture("another trip"), files[1])
    sizes = (f"{size_of(path):,}" for path in (with_files, by_digest))
    table.append(ROW.format(package, version(package), len(calls), *sizes))
