"""The names that functions of `reply` accept, as `Literal` types, for annotations of your own functions.

tests/package/test_literals.py compares each type with the harness's table or with AWS's API model. Functions with a
parameter `strict` also accept other names if it is False; `reply.error` does so if `status` is given.

>>> from converse_harness.literals import StreamException
>>> def broken(exception: StreamException) -> str:
...     return exception
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from converse_harness.imports import no_such_name

__all__ = [
    "BlockingPolicy",
    "ErrorName",
    "FamilyName",
    "GuardrailPolicy",
    "GuardrailSide",
    "MaskingPolicy",
    "OverflowWording",
    "ScriptedOperation",
    "StopReason",
    "StreamException",
    "ThrottleWording",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # so that type checkers still report an unknown name of this module

    def __getattr__(name):
        raise no_such_name(__name__, name, __dir__)


ScriptedOperation: TypeAlias = Literal["Converse", "ConverseStream"]
"""The operations that ask a model for the next message of a conversation. Scripted replies answer these operations."""

StopReason: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "guardrail_intervened",
    "content_filtered",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
]
"""Why the model stopped. Source: AWS's API model (StopReason); older versions of botocore lack the last three."""

StreamException: TypeAlias = Literal[
    "internalServerException",
    "modelStreamErrorException",
    "serviceUnavailableException",
    "throttlingException",
    "validationException",
]
"""The exceptions in a stream of ConverseStream, for `Reply.fails_after`. Source: AWS's API model."""

ErrorName: TypeAlias = Literal[
    "AccessDeniedException",
    "ConflictException",
    "ExpiredTokenException",
    "InternalServerException",
    "InvalidSignatureException",
    "ModelErrorException",
    "ModelNotReadyException",
    "ModelStreamErrorException",
    "ModelTimeoutException",
    "ResourceNotFoundException",
    "SerializationException",
    "ServiceQuotaExceededException",
    "ServiceUnavailableException",
    "ThrottlingException",
    "UnrecognizedClientException",
    "ValidationException",
]
"""The HTTP errors of `reply.error`: those of Bedrock Runtime in AWS's API model, and those of the gateway before it."""

OtherErrorName: TypeAlias = Literal[
    "BadGatewayException",
    "ConcurrentModificationException",
    "DecryptionFailure",
    "DependencyFailedException",
    "DuplicateIdException",
    "EncryptionFailure",
    "InvalidInputException",
    "ResourceInUseException",
    "ResourceLimitExceededException",
    "RetryableConflictException",
    "RuntimeClientError",
    "ServiceException",
    "SubscriptionRequiredException",
    "ThrottledException",
    "TooManyTagsException",
    "UnauthorizedException",
]
"""The HTTP errors of the other Bedrock services in AWS's API models, for an answer of `on_operation`."""

ThrottleWording: TypeAlias = Literal["requests", "tokens", "tokens_per_day"]
"""Values of `wording` for `reply.throttled`: the quota that is exceeded according to the error message."""

OverflowWording: TypeAlias = Literal[
    "input_too_long",
    "prompt_too_long",
    "max_tokens_exceed_context",
    "input_tokens_exceeded",
    "maximum_context_length",
    "too_many_text_bytes",
    "too_many_input_tokens",
]
"""Values of `wording` for `reply.context_overflow`: each one selects one of Bedrock's error messages."""

BlockingPolicy: TypeAlias = Literal["topic", "content", "word", "managed_word", "pii", "regex", "grounding"]
"""The guardrail policies that can block, for `reply.guardrail_blocked`."""

MaskingPolicy: TypeAlias = Literal["pii", "regex"]
"""The guardrail policies that can mask, for `reply.guardrail_masked`."""

GuardrailPolicy: TypeAlias = BlockingPolicy | Literal["automated_reasoning"]
"""All guardrail policies, for `reply.guardrail_passed`."""

GuardrailSide: TypeAlias = Literal["input", "output"]
"""What a guardrail checked: the user's input or the model's output."""

FamilyName: TypeAlias = Literal[
    "ai21", "claude", "claude-3", "cohere", "gpt-oss", "llama", "mistral", "nova", "titan", "neutral"
]
"""The model families, for `chunk` and `stream_events`. Each family splits an answer into deltas in its own way."""
