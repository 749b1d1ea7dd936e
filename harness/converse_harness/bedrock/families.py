"""How each model family cuts an answer into deltas, and the known words of errors: one literal table each.

Source of the first: 107 recorded streams (Amazon 57, Anthropic 36, Cohere 5, Meta 5, one each of AI21, Mistral,
OpenAI). A family without a recorded tool stream sends its tool input as one delta.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

ToolInput = Literal["one delta", "an empty delta, then fragments cut anywhere", "token-size fragments, none empty"]
"""How the JSON of a tool input is cut."""

EmptyText = Literal["nowhere", "as the first delta", "as the last delta"]
"""Where a text block has a delta with an empty string."""


@dataclass(frozen=True, slots=True)
class Family:
    """One model family: the size of a text delta in characters, where empty ones come, how tool input is cut."""

    name: str
    text: int
    empty_text: EmptyText = "nowhere"
    tool_input: ToolInput = "one delta"


NEUTRAL: Final = Family("neutral", text=1, tool_input="token-size fragments, none empty")
"""One delta a word: the chunking of a reply whose events are counted when it is written, and of `chunk()`."""

_LONGEST_WORD: Final = 24

FAMILIES: Final[Mapping[str, Family]] = {
    family.name: family
    for family in (
        Family("ai21", text=7, empty_text="as the first delta"),
        Family("amazon", text=5, empty_text="as the last delta"),
        Family("anthropic", text=7, tool_input="an empty delta, then fragments cut anywhere"),
        Family("cohere", text=5, tool_input="token-size fragments, none empty"),
        Family("meta", text=5, empty_text="as the last delta"),
        Family("mistral", text=7),
        Family("openai", text=5),
        NEUTRAL,
    )
}

_PROVIDERS: Final = re.compile(r"(?:^|[./])(" + "|".join(FAMILIES) + r")\.")
_WORDS: Final = re.compile(r"\s*\S+|\s+")
_TOKENS: Final = re.compile(r"\w{1,4}|\s+|[^\w\s]+")


def family_of(model_id: str) -> Family:
    """The family of a model id, inference profile id or ARN; NEUTRAL for one that names no known provider.

    >>> family_of("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0").name
    'amazon'
    """
    match = _PROVIDERS.search(model_id)
    return FAMILIES[match[1]] if match else NEUTRAL


def cut_text(text: str, family: Family) -> list[str]:
    """Cut text into the deltas that the family would send; joined they are the text, and there is at least one.

    >>> cut_text("The answer is forty-two.", NEUTRAL)
    ['The', ' answer', ' is', ' forty-two.']
    """
    least, longest, part = family.text, max(_LONGEST_WORD, 2 * family.text), max(_LONGEST_WORD // 2, family.text)
    pieces: list[str] = []
    piece = ""
    for word in _WORDS.findall(text):
        piece += word
        if len(piece) >= least:
            while len(piece) > longest:  # text without spaces, Japanese for instance
                pieces.append(piece[:part])
                piece = piece[part:]
            pieces.append(piece)
            piece = ""
    if piece or not pieces:
        pieces.append(piece)
    if family.empty_text == "as the first delta" and pieces[0]:
        pieces.insert(0, "")
    if family.empty_text == "as the last delta" and pieces[-1]:
        pieces.append("")
    return pieces


def cut_tool_input(json_text: str, family: Family) -> list[str]:
    """Cut the JSON of a tool input into the fragments that the family would send; joined they are that JSON.

    >>> cut_tool_input('{"city": "Bern"}', FAMILIES["anthropic"])
    ['', '{"city":', ' "Bern"}']
    """
    match family.tool_input:
        case "one delta":
            return [json_text]
        case "an empty delta, then fragments cut anywhere":
            return ["", *(json_text[i : i + 8] for i in range(0, len(json_text), 8))]
        case "token-size fragments, none empty":
            return _TOKENS.findall(json_text)


RECORDED: Final = "recorded"
REPORTED: Final = "reported by users"
OWN_WORDING: Final = "ours, in the manner of the recorded ones"


@dataclass(frozen=True, slots=True)
class Wording:
    """The text of an error, and its source: recorded, reported by users, or ours where nothing is known.

    `where` is the public repository that keeps the recording, or the issue that reports it.
    """

    message: str
    source: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Overflow(Wording):
    """What a model says of a conversation that is too long for it.

    `recognised_by` are those of CLIENTS that raise their own error of a context overflow for it; others see a plain
    ValidationException.
    """

    recognised_by: frozenset[str] = frozenset()


CLIENTS: Final = ("strands-agents", "langchain-aws", "litellm", "pydantic-ai")
"""The clients with an error of their own for a context overflow. What they recognise is asserted from running them."""

_ALL: Final = frozenset(CLIENTS)
_MODEL: Final = "The model returned the following errors: "

THROTTLES: Final[Mapping[str, Wording]] = {
    "requests": Wording("Too many requests, please wait before trying again.", REPORTED, "lobehub/lobehub#3994"),
    "tokens": Wording("Too many tokens, please wait before trying again.", REPORTED, "strands-agents/agent-builder#31"),
    "tokens_per_day": Wording(
        "Too many tokens per day, please wait before trying again.", REPORTED, "minorun365/agent-book#29"
    ),
}
"""What a ThrottlingException says, by what there was too much of."""

OVERFLOWS: Final[Mapping[str, Overflow]] = {
    "input_too_long": Overflow(
        "Input is too long for requested model.", REPORTED, "aws-samples/bedrock-chat#95", recognised_by=_ALL
    ),
    "prompt_too_long": Overflow(
        _MODEL + "prompt is too long: 903884 tokens > 200000 maximum",
        REPORTED,
        "strands-agents/harness-sdk#1663",
        recognised_by=_ALL,
    ),
    "max_tokens_exceed_context": Overflow(
        _MODEL + "input length and `max_tokens` exceed context limit: 196395 + 64000 > 204698, decrease input length "
        "or `max_tokens` and try again",
        REPORTED,
        "RooCodeInc/Roo-Code#3713",
        recognised_by=frozenset({"strands-agents"}),
    ),
    "input_tokens_exceeded": Overflow(
        _MODEL + "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try "
        "again.",
        RECORDED,
        "crmne/ruby_llm",
        recognised_by=frozenset({"langchain-aws", "pydantic-ai"}),
    ),
    "maximum_context_length": Overflow(
        "This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your "
        "prompt contains at least 137217 input tokens, for a total of at least 202753 tokens. Please reduce the length "
        "of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=137217)",
        REPORTED,
        "strands-agents/harness-sdk#3969",
        recognised_by=frozenset({"strands-agents", "langchain-aws"}),
    ),
    "too_many_text_bytes": Overflow(
        _MODEL + "too many total text bytes: 9988915 > 9000000",
        REPORTED,
        "strands-agents/harness-sdk#3969",
        recognised_by=frozenset({"strands-agents"}),
    ),
    "too_many_input_tokens": Overflow(
        "Too many input tokens. Max input tokens: 8192, request input token count: 9279",
        REPORTED,
        recognised_by=frozenset({"langchain-aws", "litellm"}),
    ),
}
"""Every known wording of a context overflow, by the name that `reply.context_overflow` takes."""

ERRORS: Final[Mapping[str, Wording]] = {
    "AccessDeniedException": Wording(
        "You don't have access to the model with the specified model ID.", RECORDED, "Arize-ai/openinference"
    ),
    "ExpiredTokenException": Wording(
        "The security token included in the request is expired", RECORDED, "DataDog/dd-trace-py"
    ),
    "InternalServerException": Wording(
        "The system encountered an unexpected error during processing. Try your request again.",
        REPORTED,
        "aws-samples/aws-genai-llm-chatbot#246",
    ),
    "InvalidSignatureException": Wording(
        "Signature expired: 20251117T063822Z is now earlier than 20251117T063849Z (20251117T064349Z - 5 min.)",
        RECORDED,
        "req_llm",
    ),
    "ModelErrorException": Wording(_MODEL + "An error occurred while processing your request.", OWN_WORDING),
    "ModelNotReadyException": Wording(
        "Model is not ready for inference. Wait and try your request again.", OWN_WORDING
    ),
    "ModelStreamErrorException": Wording(_MODEL + "An error occurred while streaming.", OWN_WORDING),
    "ModelTimeoutException": Wording(
        "Model has timed out in processing the request. Try your request again.",
        REPORTED,
        "aws-samples/sample-sonic-cdk-agent#31",
    ),
    "ResourceNotFoundException": Wording(
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
        RECORDED,
        "0xPlaygrounds/rig",
    ),
    "SerializationException": Wording("The request body is not JSON.", OWN_WORDING),
    "ServiceQuotaExceededException": Wording("Your request exceeds the service quota for your account.", OWN_WORDING),
    "ServiceUnavailableException": Wording(
        "Model is getting throttled. Try your request again.", RECORDED, "social-growth-studio/req_llm"
    ),
    "ThrottlingException": THROTTLES["requests"],
    "UnknownOperationException": Wording("The requested operation is not recognized by the service.", OWN_WORDING),
    "UnrecognizedClientException": Wording(
        "The security token included in the request is invalid.", RECORDED, "newrelic/newrelic-python-agent"
    ),
    "ValidationException": Wording(
        "The provided model identifier is invalid.", RECORDED, "open-telemetry/opentelemetry-python-contrib"
    ),
}
"""What each error says unless the test words it itself."""


def usual(name: str) -> str:
    """What an error says; its name, where nothing is known.

    >>> usual("ServiceUnavailableException"), usual("FutureException")
    ('Model is getting throttled. Try your request again.', 'FutureException')
    """
    return ERRORS[name].message if name in ERRORS else name
