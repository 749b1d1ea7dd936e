"""An agent of Semantic Kernel, tested as its users test one."""

import asyncio

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.bedrock import BedrockChatCompletion, BedrockChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory
from semantic_kernel.functions import kernel_function

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Weather:
    @kernel_function(description="Look up the weather.")
    def get_weather(self, city: str) -> str:
        return f"18 °C in {city}"


def run(question):
    agent = ChatCompletionAgent(
        service=BedrockChatCompletion(model_id=MODEL), name="guide", instructions="Be brief.", plugins=[Weather()]
    )
    return str(asyncio.run(agent.get_response(question)))


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert run("Where to?") == "Zürich"
    (call,) = converse.calls
    assert (call.system_text, call.last_user_text) == ("Be brief.", "Where to?")


def test_stream(converse):
    async def ask():
        history = ChatHistory()
        history.add_user_message("When?")
        pieces = BedrockChatCompletion(model_id=MODEL).get_streaming_chat_message_content(
            history, BedrockChatPromptExecutionSettings()
        )
        return [str(piece) async for piece in pieces]

    converse.script(reply.text("One fine day in May."))
    assert "".join(asyncio.run(ask())) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("Weather-get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert run("How warm is it in Bern?") == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["Weather-get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert run("Are you there?") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]
