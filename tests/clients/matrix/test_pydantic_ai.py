"""Pydantic AI in the matrix: an agent on BedrockConverseModel with a tool that really runs.

The tool takes its input as it comes, as Pydantic AI's own tools of MCP servers do. One that is made of a function by
`@agent.tool` validates it first: it would not run with an input that lacks the city.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from pydantic_ai import Agent, AgentRunResult, AgentRunResultEvent, ModelSettings, ThinkingPart, Tool, exceptions
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.providers.bedrock import BedrockProvider

from converse_harness.contract import Outcome, Target, ToolCall
from converse_harness.contract.expectations import OVERFLOW
from converse_harness.contract.running import MODEL_ID, QUESTION, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA
from tests.clients.matrix.base import MatrixContract, because

ALWAYS: Final = because("it reads redacted reasoning as UTF-8", "reasoning_redacted_binary")
STREAM: Final = {
    **ALWAYS,
    **because(
        "it fails on reasoning without text and signature (UnexpectedModelBehavior), known or not", "unknown_reasoning"
    ),
    **because(
        "a stream that ends too early ends without an error, and without a stop reason",
        *("no_message_stop", "cut_off", "truncated_frame", "cut_in_prelude", "cut_in_headers"),
        *("again_unfinished", "again_half_text", "again_half_frame", "again_after_tool"),
    ),
    **because("it looks up the id of a tool that has not started (KeyError)", "no_block_start", "tool_input_in_text"),
    **because("it looks up a contentBlockIndex that is not there (KeyError)", "no_index"),
}
WHOLE: Final = ALWAYS

# As the docstrings of its errors say; a subclass stands before its base.
ERRORS: Final[dict[type[BaseException] | str, Iterable[str]]] = {
    exceptions.ContentFilterError: ["ContentFiltered", "GuardrailIntervened"],
    exceptions.ModelContextWindowExceededError: [OVERFLOW],
    exceptions.ModelRateLimitError: ["ThrottlingException"],
    exceptions.ModelQuotaExceededError: ["ServiceQuotaExceededException"],
    exceptions.ModelUnavailableError: ["ModelNotReadyException", "ServiceUnavailableException"],
    exceptions.ModelServerError: ["InternalServerException", "ModelStreamErrorException"],
    exceptions.ModelAuthenticationError: [
        *("AccessDeniedException", "ExpiredTokenException", "InvalidSignatureException", "UnrecognizedClientException")
    ],
    exceptions.ModelNotFoundError: ["ResourceNotFoundException", "ValidationException"],
    exceptions.ModelRequestRejectedError: ["SerializationException", "ValidationException"],
}


@cache
def make_model(patience: float) -> BedrockConverseModel:
    """A model, which an application makes once: it makes a boto client."""
    provider = BedrockProvider(region_name="us-east-1", aws_read_timeout=patience, aws_connect_timeout=patience)
    return BedrockConverseModel(MODEL_ID, provider=provider)


class Conversation:
    """An agent, what it showed while it streamed, and the tools that it ran."""

    def __init__(self, target: Target, settings: ModelSettings | None = None) -> None:
        weather = Tool.from_schema(self.get_weather, TOOL, TOOL_DESCRIPTION, dict(TOOL_SCHEMA))
        self.ran: list[ToolCall] = []
        self.shown = ""
        self.agent = Agent(make_model(target.patience), tools=[weather], model_settings=settings)

    def get_weather(self, **given: Any) -> str:
        self.ran.append(ToolCall(TOOL, given))
        return "18 °C and sunny."

    def failed(self, error: Exception) -> Outcome:
        return Outcome(self.shown, self.ran, None, error)

    def ended(self, result: AgentRunResult[str]) -> Outcome:
        answers = [message for message in result.all_messages() if isinstance(message, ModelResponse)]
        reasoning = "".join(
            part.content for answer in answers for part in answer.parts if isinstance(part, ThinkingPart)
        )
        return Outcome(result.output, self.ran, result.response.finish_reason, None, reasoning)


AT_ONCE = dict.fromkeys(("tool_parallel", "tool_interleaved"), "it runs tools at once, in threads")


class _PydanticAi(MatrixContract):
    client = "pydantic_ai"
    transport = "boto"
    errors = ERRORS


class TestStream(_PydanticAi):
    known = STREAM
    varies = AT_ONCE

    async def consume(self, target: Target) -> Outcome:
        conversation = Conversation(target)
        try:
            async with conversation.agent.run_stream_events(QUESTION) as events:
                async for event in events:
                    match event:
                        case PartStartEvent(part=TextPart(content=text)):
                            conversation.shown += text
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                            conversation.shown += text
                        case AgentRunResultEvent(result=result):
                            return conversation.ended(result)
                        case _:
                            pass
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return conversation.failed(error)
        raise AssertionError("the run has a result, or fails")


class TestWhole(_PydanticAi):
    operation = "Converse"
    known = WHOLE
    varies = AT_ONCE

    async def consume(self, target: Target) -> Outcome:
        # Without a limit of its own it calls ConverseStream here as well, with the largest that the model has.
        conversation = Conversation(target, ModelSettings(max_tokens=1000))
        try:
            return conversation.ended(await conversation.agent.run(QUESTION))
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return conversation.failed(error)
