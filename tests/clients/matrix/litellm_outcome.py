"""What litellm is asked in the matrix, and what comes of its answer: the same for both of its ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import litellm
from litellm import exceptions

from converse_harness import bedrock
from converse_harness.contract import Outcome, Target, ToolCall
from converse_harness.contract.expectations import OVERFLOW
from converse_harness.contract.running import MODEL_ID, QUESTION, TOOL, TOOL_DESCRIPTION, TOOL_SCHEMA
from tests.clients.matrix.base import because


def _of(*statuses: int) -> list[str]:
    """The errors of AWS with such a status: litellm's classes are documented by the status that they stand for."""
    return [error.name for error in bedrock.all_errors().values() if error.status in statuses]


ERRORS: Final[dict[type[BaseException] | str, list[str]]] = {
    exceptions.ContextWindowExceededError: [OVERFLOW],
    exceptions.MidStreamFallbackError: [],  # a stream broke off; its `original_exception` has the reason
    exceptions.BadRequestError: _of(400),
    exceptions.AuthenticationError: _of(403),  # 401 is never an answer of Bedrock's
    exceptions.PermissionDeniedError: _of(403),
    exceptions.NotFoundError: _of(404),
    exceptions.Timeout: _of(408),
    exceptions.RateLimitError: _of(429),
    exceptions.InternalServerError: _of(500),
    exceptions.ServiceUnavailableError: _of(500, 503),  # of Bedrock's 500 litellm makes it on purpose
}

ALWAYS: Final = {
    **because(
        "it has no word for the stop reason, and says `stop`",
        *("stop_malformed_model_output", "stop_malformed_tool_use"),
    ),
    **because("it hands out a tool use of the type server_tool_use as one to be run", "server_tool_nova"),
    **because(
        "it has no class for the HTTP status 424, and takes the one of a bad request",
        *("model_error", "model_stream_error", "model_stream_error_exception_first_frame"),
        *("model_stream_error_exception_in_tool_input", "model_stream_error_exception_at_end", "again_model_failed"),
    ),
}
STREAM: Final = {
    **ALWAYS,
    **because(
        "it takes each delta for the tool that started last, whatever its contentBlockIndex; a tool without a delta "
        "gets the input {}",
        *("tool_interleaved", "second_block_start"),
    ),
    **because("it knows a delta by its contentBlockIndex, and skips one without", "no_index"),
}
WHOLE: Final = {
    **ALWAYS,
    **because(
        "it leaves out the text of citationsContent blocks, unless there is no other",
        *("citation_several", "citation_document_char", "citation_document_page", "citation_document_chunk"),
        *("citation_search_result_location", "citation_web"),
    ),
}


def asked(target: Target) -> dict[str, Any]:
    """The question as the keyword arguments of `completion` and `acompletion`."""
    function = {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": dict(TOOL_SCHEMA)}
    return {
        "model": f"bedrock/{MODEL_ID}",
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": function}],
        "timeout": target.patience,
        "aws_access_key_id": "any",
        "aws_secret_access_key": "any",
        "aws_region_name": "us-east-1",
    }


def forget_clients() -> None:
    """Drop the HTTP clients that litellm keeps: they are those of a transport that is closed, or of another event "
    "loop.
    """
    litellm.in_memory_llm_clients_cache.cache_dict.clear()


def whole(answer: Any) -> Outcome:
    """What is in a whole answer."""
    (choice,) = answer.choices
    said = choice.message
    calls = [ToolCall(call.function.name, call.function.arguments) for call in said.tool_calls or ()]
    reasoning = getattr(said, "reasoning_content", None) or ""
    return Outcome(said.content or "", calls, choice.finish_reason, None, reasoning)


def streamed(chunks: Sequence[Any]) -> Outcome:
    """What is in the chunks of a stream, put together as litellm does it for its users."""
    return whole(litellm.stream_chunk_builder(list(chunks))) if chunks else Outcome()


def broken_off(chunks: Sequence[Any], error: Exception) -> Outcome:
    """What of a stream had been shown before an error."""
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    return Outcome(text, error=error)
