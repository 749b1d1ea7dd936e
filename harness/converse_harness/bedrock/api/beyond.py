"""A table of the ways in which AWS's answers deviate from AWS's API model, the description of the API in botocore.

`validate` reads the whole table, so that it accepts recorded answers. The JSON codec reads only the rows of the class
ExtraError: it copies unknown members unchanged, so it needs no rows for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple


class SeenIn(NamedTuple):
    """A file in a public repository that shows a deviation from AWS's API model."""

    repository: str
    path: str


@dataclass(frozen=True, slots=True)
class ExtraMember:
    """A member that AWS sends in a structure although AWS's API model lacks the member."""

    shape: str
    member: str
    type: Literal["integer", "string", "object"]
    recording: SeenIn
    seen: str


@dataclass(frozen=True, slots=True)
class ExtraValue:
    """An enum value that AWS sends or accepts although AWS's API model lacks the value.

    If the API model also lacks `member`, this row adds the member together with its value.
    """

    shape: str
    member: str
    value: str
    recording: SeenIn
    seen: str


@dataclass(frozen=True, slots=True)
class MayBeAbsent:
    """A member that AWS leaves out of a structure although AWS's API model requires the member."""

    shape: str
    member: str
    recording: SeenIn
    seen: str


@dataclass(frozen=True, slots=True)
class ExtraError:
    """An HTTP error that AWS sends although AWS's API model lists it for no operation.

    `body` is the name of another error: its body has the same members, and the API model contains it. `recording` is
    None if no answer with this error is recorded. `seen` describes when AWS sends the error.
    """

    shape: str
    status: int
    body: str
    recording: SeenIn | None
    seen: str


Beyond = ExtraMember | ExtraValue | MayBeAbsent | ExtraError

_TOOL_STREAM: Final = SeenIn(
    "open-telemetry/opentelemetry-python-contrib",
    "instrumentation/opentelemetry-instrumentation-botocore/tests/cassettes/"
    "test_converse_stream_no_content_tool_call.yaml",
)
_SONNET_5: Final = SeenIn("langchain-ai/langchain-aws", "libs/aws/tests/cassettes/test_agent_loop[v0].yaml.gz")
_SONNET_5_STREAM: Final = SeenIn(
    "langchain-ai/langchain-aws", "libs/aws/tests/cassettes/test_agent_loop_streaming[v0].yaml.gz"
)
_PROMPT_CACHING: Final = SeenIn(
    "DataDog/dd-trace-py", "tests/contrib/botocore/bedrock_cassettes/bedrock_converse_prompt_caching.yaml"
)
_NOVA: Final = SeenIn(
    "Arize-ai/openinference",
    "python/instrumentation/openinference-instrumentation-bedrock/tests/openinference/instrumentation/bedrock/"
    "cassettes/TestNovaInvokeModel.test_nova_converse.yaml",
)
_GUARDRAIL: Final = SeenIn(
    "traceloop/openllmetry",
    "packages/opentelemetry-instrumentation-bedrock/tests/metrics/cassettes/test_bedrock_guardrails_metrics/"
    "test_titan_converse_guardrail.yaml",
)
_WORDS: Final = SeenIn("elastic/ecs", "rfcs/text/0050-gen_ai-security-fields.md")
_BAD_TOKEN: Final = SeenIn(
    "crmne/ruby_llm",
    "spec/fixtures/vcr_cassettes/chat_error_handling_with_bedrock_amazon_nova-2-lite-v1_0_raises_appropriate_auth_error"
    ".yml",
)
_EXPIRED_TOKEN: Final = SeenIn("DataDog/dd-trace-py", "tests/contrib/botocore/conftest.py")
_SLOW_CLOCK: Final = SeenIn("req_llm", "fixtures of amazon_bedrock; in which copy of the repository is not known")

_PADDING: Final = "padding: a prefix of a-zA-Z0-9, 2 to 61 long, in every event of 66 streams"
_TYPED: Final = "`tool_types` in the rows of models has the months"
_DUPLICATE: Final = "the same number again as in the member without `Count`, from Claude 3.7 on"

BEYOND_MODEL: Final[tuple[Beyond, ...]] = (
    ExtraMember("MessageStartEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("ContentBlockStartEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("ContentBlockDeltaEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("ContentBlockStopEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("MessageStopEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("ConverseStreamMetadataEvent", "p", "string", _TOOL_STREAM, _PADDING),
    ExtraMember("TokenUsage", "serverToolUsage", "object", _NOVA, "always {}; in 235 of 349 answers, most models"),
    ExtraMember("TokenUsage", "cacheReadInputTokenCount", "integer", _PROMPT_CACHING, _DUPLICATE),
    ExtraMember("TokenUsage", "cacheWriteInputTokenCount", "integer", _PROMPT_CACHING, _DUPLICATE),
    ExtraValue("ToolUseBlock", "type", "tool_use", _SONNET_5, f"a client's tool; {_TYPED}"),
    ExtraValue("ToolUseBlockStart", "type", "tool_use", _SONNET_5_STREAM, f"a client's tool; {_TYPED}"),
    MayBeAbsent(
        "GuardrailSensitiveInformationPolicyAssessment", "regexes", _GUARDRAIL, "only piiEntities; in 10 answers"
    ),
    MayBeAbsent(
        "GuardrailWordPolicyAssessment", "managedWordLists", _WORDS, "only customWords; in a log of invocations"
    ),
    ExtraError("UnrecognizedClientException", 403, "AccessDeniedException", _BAD_TOKEN, "a wrong token; Converse"),
    ExtraError("ExpiredTokenException", 403, "AccessDeniedException", _EXPIRED_TOKEN, "an expired token; InvokeModel"),
    ExtraError("InvalidSignatureException", 403, "AccessDeniedException", _SLOW_CLOCK, "a slow clock; Converse"),
    ExtraError("SerializationException", 400, "ValidationException", None, "a body that is no JSON; not recorded"),
)
"""All known deviations of AWS from AWS's API model, one per row. A row for a member or value has no effect if the API
model of a newer botocore already contains it. Source: validation of 369 recorded answers against botocore 1.44.5. The
last row is not recorded: AWS's gateway is known to send this error for a request that it cannot parse."""
