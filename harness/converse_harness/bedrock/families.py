"""Two tables: the way in which each model family cuts an answer into deltas, and the known error messages.

Source of the first table: 107 recorded streams (Amazon 57, Anthropic 36, Cohere 5, Meta 5, one each of AI21, Mistral,
OpenAI). docs/fidelity.md compares the harness's deltas with 66 of these streams. A family without a recorded tool
stream sends a tool input as one delta. The functions `cut_text` and `cut_tool_input` use this table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, cycle
from typing import Any, Final, Literal

from converse_harness.bedrock.models import cut_as

Lengths = tuple[int, ...]
"""The lengths of consecutive deltas in characters. After the last length, the first one is used again. The values
WHOLE, WORDS and TOKENS have special meanings."""

WHOLE: Final[Lengths] = ()
"""The special value of Lengths for a family that sends the whole text as one delta."""

WORDS: Final[Lengths] = (0,)
"""The special value of Lengths for a family that sends one delta per word. No recorded model does this."""

TOKENS: Final[Lengths] = (1,)
"""The special value of Lengths for a family that sends one delta per token."""

Spelling = Literal["spaced", "compact", "pretty"]
"""How whitespace is written in the JSON of a tool input: `{"a": 1}`, `{"a":1}`, or indented over several lines."""

ToolInput = Literal["one delta", "an empty delta, then fragments cut anywhere", "token-size fragments, none empty"]
"""How the JSON of a tool input is cut into deltas."""


@dataclass(frozen=True, slots=True)
class Family:
    """How one model family cuts an answer into deltas, and where this family sends empty deltas.

    `text` and `reasoning` are the lengths of the deltas of a text and of reasoning; without `reasoning`, `text` applies
    to both. `opens_empty`: each text begins with an empty delta. `ends_empty`: the stop reasons at which the answer's
    last text ends with an empty delta. `tool_json` is the way in which whitespace is written in the JSON of a tool
    input. `fragments` are the lengths of a tool input's deltas, for families that cut the input anywhere. `signs`:
    reasoning ends with a signature, and the model refuses a request that contains earlier reasoning without its
    signature.
    """

    name: str
    text: Lengths
    reasoning: Lengths | None = None
    opens_empty: bool = False
    ends_empty: frozenset[str] = frozenset()
    tool_json: Spelling = "spaced"
    tool_input: ToolInput = "one delta"
    fragments: Lengths = ()
    signs: bool = False


USUAL_SIGNATURE: Final = "signature_00000000000000000000"
"""A placeholder for the signature of reasoning. Model families that sign their reasoning send a generated signature
instead; other families send none.
"""

UNNAMED_TOOL_USE: Final = "tooluse_0000000000000000000000"
"""A placeholder for a missing toolUseId in a toolUse block. The Endpoint replaces it with a generated id."""

NEUTRAL: Final = Family("neutral", text=WORDS, tool_input="token-size fragments, none empty")
"""The family that sends one delta per word. It is the default of `chunk`, and applies to models of unknown makers and
to scripted replies that count events, such as `Reply.fails_after`."""

FAMILIES: Final[Mapping[str, Family]] = {
    family.name: family
    for family in (
        Family("ai21", TOKENS, opens_empty=True),
        Family(
            "claude",
            text=(5, 23, 16, 8, 13, 7, 18, 49, 4, 16, 28, 9, 14, 33, 10, 20, 2, 15, 36, 12),
            reasoning=(1, 5, 8, 21, 10, 16, 6, 3, 11, 24, 9, 2, 15, 7, 18, 10, 6, 14, 2, 13),
            tool_input="an empty delta, then fragments cut anywhere",
            fragments=(6, 7, 12, 2, 3, 7, 10, 3, 8, 5, 3, 12, 2, 7, 11, 3, 8, 2, 7, 3),
            signs=True,
        ),
        Family(
            "claude-3",
            TOKENS,
            tool_input="an empty delta, then fragments cut anywhere",
            fragments=(5, 8, 11, 2, 7, 10, 4, 12, 3, 8, 6, 9, 2, 12, 7, 4, 10, 5, 7, 3),
        ),
        Family("cohere", TOKENS, tool_json="pretty", tool_input="token-size fragments, none empty"),
        Family("gpt-oss", text=(21,), reasoning=WHOLE),
        Family("llama", TOKENS, ends_empty=frozenset({"end_turn"})),
        Family("mistral", TOKENS, ends_empty=frozenset({"end_turn"})),
        Family(
            "nova",
            text=(3, 25, 13, 8, 16, 29, 5, 14, 8, 19, 4, 11, 26, 9, 17, 1, 15, 23, 7, 8),
            ends_empty=frozenset({"end_turn", "guardrail_intervened"}),
            tool_json="compact",
        ),
        Family("titan", text=(256,)),
        NEUTRAL,
    )
}
"""Every family by its name. Each tuple of delta lengths of Claude and Nova consists of 20 quantiles of the recorded
lengths. The quantiles are shuffled, because a family uses its lengths one after another."""


@lru_cache(512)
def family_of(model_id: str) -> Family:
    """Return the family of a model id, inference profile id or ARN; NEUTRAL if the model's maker is unknown.

    >>> family_of("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0").name
    'nova'
    """
    return FAMILIES[cut_as(model_id)]


RECORDED: Final = "recorded"
REPORTED: Final = "reported by users"
OWN_WORDING: Final = "ours, similar to the recorded ones"


@dataclass(frozen=True, slots=True)
class Wording:
    """An error message and its source. The message was recorded, was reported by users, or is our own wording.

    `where` names the public repository with the recording, or the issue with the report.
    """

    message: str
    source: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Overflow(Wording):
    """A model's error message for a conversation that is too long.

    `recognised_by` lists those of the CLIENTS that convert the message into their own error for a context overflow. The
    other clients raise a plain ValidationException.
    """

    recognised_by: frozenset[str] = frozenset()


CLIENTS: Final = ("strands-agents", "langchain-aws", "litellm", "pydantic-ai")
"""The client libraries that have an error class of their own for a conversation that is too long. Tests run each client
to check `recognised_by`."""

_ALL: Final = frozenset(CLIENTS)
_MODEL: Final = "The model returned the following errors: "

THROTTLES: Final[Mapping[str, Wording]] = {
    "requests": Wording("Too many requests, please wait before trying again.", REPORTED, "lobehub/lobehub#3994"),
    "tokens": Wording("Too many tokens, please wait before trying again.", REPORTED, "strands-agents/agent-builder#31"),
    "tokens_per_day": Wording(
        "Too many tokens per day, please wait before trying again.", REPORTED, "minorun365/agent-book#29"
    ),
}
"""Maps each quota to the message of the ThrottlingException that AWS sends when the quota is exceeded."""

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
        _MODEL + "too many total text bytes: 10000002 > 9000000",
        RECORDED,
        "crmne/ruby_llm",
        recognised_by=frozenset({"strands-agents"}),
    ),
    "too_many_input_tokens": Overflow(
        "Too many input tokens. Max input tokens: 8192, request input token count: 9279",
        REPORTED,
        recognised_by=frozenset({"langchain-aws", "litellm"}),
    ),
}
"""The known error messages for a conversation that is too long, if AWS sends the error instead of a stream. The keys
are the possible arguments of `reply.context_overflow`."""

OVERFLOW_IN_STREAM: Final = Wording(
    "Mantle streaming error for requestId 5f2d6f0e-6b1c-4c1b-9a53-0e3f2f6a7b18: ErrorEvent { error: APIError { "
    'message: "Input length (195071) exceeds model\'s maximum context length (131072)." } }',
    REPORTED,
    "stdapi-ai/stdapi.ai#293",
)
"""The error message of some models, such as gpt-oss, for a conversation that is too long. These models send the error
as the first frame of a stream."""

_TOOL_SEQUENCE: Final = Wording(
    "Model produced invalid sequence as part of ToolUse. Please refer to the model tool use troubleshooting guide.",
    REPORTED,
    "langchain-ai/langchain-aws#567",
)
"""Nova's error message for an invalid tool use. Nova sends it instead of a stream, or inside a stream."""

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
    "ModelErrorException": _TOOL_SEQUENCE,
    "ModelNotReadyException": Wording(
        "Model is not ready for inference. Wait and try your request again.", OWN_WORDING
    ),
    "ModelStreamErrorException": replace(_TOOL_SEQUENCE, source=RECORDED, where="prism-php/bedrock"),
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
    "UnrecognizedClientException": Wording(
        "The security token included in the request is invalid.", RECORDED, "crmne/ruby_llm"
    ),
    "ValidationException": Wording(
        "The provided model identifier is invalid.", RECORDED, "open-telemetry/opentelemetry-python-contrib"
    ),
}
"""The default message of each error. It applies if a test specifies no message."""


def usual(name: str) -> str:
    """Return the default message of an error, or the error's name if ERRORS has no message for it.

    >>> usual("ServiceUnavailableException"), usual("FutureException")
    ('Model is getting throttled. Try your request again.', 'FutureException')
    """
    return ERRORS[name].message if name in ERRORS else name


_WORD: Final = re.compile(r"\s*\S+|\s+")

_LONGEST_WORD: Final = 24

_PART_OF_A_WORD: Final = 12

_TOKEN: Final = re.compile(
    r"(?:\n+| )?[A-Za-z\u00c0-\u024f]{1,12}|\d{1,3}| ?[^\w\s]{1,3}|\s+|[^\W\d_]{1,2}|.", re.DOTALL
)
"""Matches roughly one token of a model: a word with the space before it, a few digits or signs, or whitespace."""

_NEUTRAL_TOKENS: Final = re.compile(r"\w{1,4}|\s+|[^\w\s]+")

_PRETTY_TOKENS: Final = re.compile(r'[{\[]?\n *"?|\d|\w{1,8}|\s+|[^\w\s]+')

SPELLINGS: Final[Mapping[Spelling, Mapping[str, Any]]] = {
    "spaced": {"separators": (", ", ": ")},
    "compact": {"separators": (",", ":")},
    "pretty": {"indent": 4},
}
"""The arguments of `json.dumps` for each way in which models write whitespace in the JSON of a tool's input."""


def cut_text(text: str, family: Family) -> list[str]:
    """Cut a text into the deltas that the family would send. There is at least one delta; joined, they are the text.

    >>> from converse_harness.bedrock.families import FAMILIES, NEUTRAL
    >>> cut_text("The answer is forty-two.", NEUTRAL)
    ['The', ' answer', ' is', ' forty-two.']
    >>> cut_text("The answer is forty-two.", FAMILIES["claude"])
    ['The', ' answer is forty-two.']
    """
    return [*chain.from_iterable(text_runs(text, family))]


def text_runs(text: str, family: Family) -> Iterator[list[str]]:
    """Cut a text like `cut_text`, but lazily: yield the deltas in lists, each of which is cut when it is needed."""
    if family.opens_empty and text:
        yield [""]
    yield from _runs(text, family.text)


def reasoning_runs(text: str, family: Family) -> Iterator[list[str]]:
    """Cut a reasoning text lazily, with the family's lengths for reasoning and without an empty first delta."""
    return _runs(text, family.text if family.reasoning is None else family.reasoning)


def ends_empty(family: Family, blocks: Sequence[Mapping[str, Any]], stop_reason: str) -> bool:
    """Whether the family sends an empty delta at the end of an answer with these content blocks.

    This requires that the last block is a non-empty text and that the family's `ends_empty` contains the stop reason.
    """
    return stop_reason in family.ends_empty and bool(blocks) and bool(blocks[-1].get("text"))


def spell_tool_input(value: object, family: Family) -> str:
    """Return a tool input as JSON with the family's whitespace; non-ASCII characters are not escaped."""
    return json.dumps(value, ensure_ascii=False, **SPELLINGS[family.tool_json])


def cut_tool_input(json_text: str, family: Family) -> list[str]:
    """Cut the JSON of a tool input into the fragments that the family would send; joined, they are the JSON.

    >>> from converse_harness.bedrock.families import FAMILIES
    >>> cut_tool_input('{"city": "Bern"}', FAMILIES["claude"])
    ['', '{"city', '": "Ber', 'n"}']
    """
    match family.tool_input:
        case "one delta":
            return [json_text]
        case "an empty delta, then fragments cut anywhere":
            return ["", *_lengths_of(json_text, family.fragments)]
        case "token-size fragments, none empty":
            return (_PRETTY_TOKENS if family.tool_json == "pretty" else _NEUTRAL_TOKENS).findall(json_text)


def _runs(text: str, lengths: Lengths) -> Iterator[list[str]]:
    if lengths == WHOLE or not text:
        return iter(([text],))
    if lengths == WORDS:
        return map(_short_words, _found_in_windows(_WORD, text))
    tokens = _found_in_windows(_TOKEN, text)
    return tokens if lengths == TOKENS else _grouped(tokens, lengths)


_FIRST_WINDOW: Final = 128
"""`_found_in_windows` reads a text in windows (parts). This is the length of the first window in characters; each later
window is twice as long as the one before."""


def _found_in_windows(pattern: re.Pattern[str], text: str) -> Iterator[list[str]]:
    """Yield the matches of `pattern.findall(text)` lazily, as one list for each window of the text.

    The last match of a window may continue past the window's end, so the next window starts with that match again. All
    other matches of a window are also matches in the whole text, because these patterns examine at most one character
    after a match.
    """
    start, size = 0, _FIRST_WINDOW
    while start + size < len(text):
        found: list[str] = pattern.findall(text, start, start + size)
        start += size - len(found.pop())
        if found:
            yield found
        size *= 2
    yield pattern.findall(text, start)


def _grouped(runs: Iterable[list[str]], lengths: Lengths) -> Iterator[list[str]]:
    """Join the tokens in `runs` into pieces whose lengths are as close as possible to `lengths`.

    After the last of the `lengths`, the first one is used again.
    """
    wanted = cycle(lengths)
    length = next(wanted)
    piece = ""
    for tokens in runs:
        pieces: list[str] = []
        for token in tokens:
            # The token starts a new piece if the current piece is nearer to `length` without the token.
            if piece and len(token) > 2 * (length - len(piece)):
                pieces.append(piece)
                piece, length = "", next(wanted)
            piece += token
        yield pieces
    yield [piece]


def _lengths_of(text: str, lengths: Lengths) -> Iterable[str]:
    """Cut a text into pieces with the given lengths; after the last length, the first length follows again."""
    wanted = cycle(lengths)
    start = 0
    while start < len(text):
        end = start + next(wanted)
        yield text[start:end]
        start = end


def _short_words(words: list[str]) -> list[str]:
    """Return the words, with each very long word (for example, a text without spaces) split into parts."""
    if max(map(len, words)) <= _LONGEST_WORD:
        return words
    return [*chain.from_iterable(map(_parts, words))]


def _parts(word: str) -> Iterator[str]:
    while len(word) > _LONGEST_WORD:
        yield word[:_PART_OF_A_WORD]
        word = word[_PART_OF_A_WORD:]
    yield word
