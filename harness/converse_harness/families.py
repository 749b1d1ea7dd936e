"""How each model family cuts an answer into deltas, as one literal table.

Source: 107 recorded streams (Amazon 57, Anthropic 36, Cohere 5, Meta 5, one each of AI21, Mistral, OpenAI). A family
without a recorded tool stream sends its tool input as one delta.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class ToolInput(Enum):
    """How the JSON of a tool input is cut."""

    WHOLE = "one delta"
    FRAGMENTS = "an empty delta, then fragments cut anywhere"
    TOKENS = "token-size fragments, none empty"


class EmptyText(Enum):
    """Where a text block has a delta with an empty string."""

    NONE = "nowhere"
    FIRST = "as the first delta"
    LAST = "as the last delta"


@dataclass(frozen=True, slots=True)
class Family:
    """One model family: the size of a text delta in characters, where empty ones come, how tool input is cut."""

    name: str
    text: int
    empty_text: EmptyText = EmptyText.NONE
    tool_input: ToolInput = ToolInput.WHOLE


NEUTRAL: Final = Family("neutral", text=1, tool_input=ToolInput.TOKENS)
"""One delta a word: the chunking of a reply whose events are counted when it is written, and of `chunk()`."""

_LONGEST_WORD: Final = 24

FAMILIES: Final[Mapping[str, Family]] = {
    family.name: family
    for family in (
        Family("ai21", text=7, empty_text=EmptyText.FIRST),
        Family("amazon", text=5, empty_text=EmptyText.LAST),
        Family("anthropic", text=7, tool_input=ToolInput.FRAGMENTS),
        Family("cohere", text=5, tool_input=ToolInput.TOKENS),
        Family("meta", text=5, empty_text=EmptyText.LAST),
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
    if family.empty_text is EmptyText.FIRST and pieces[0]:
        pieces.insert(0, "")
    if family.empty_text is EmptyText.LAST and pieces[-1]:
        pieces.append("")
    return pieces


def cut_tool_input(json_text: str, family: Family) -> list[str]:
    """Cut the JSON of a tool input into the fragments that the family would send; joined they are that JSON.

    >>> cut_tool_input('{"city": "Bern"}', FAMILIES["anthropic"])
    ['', '{"city":', ' "Bern"}']
    """
    match family.tool_input:
        case ToolInput.WHOLE:
            return [json_text]
        case ToolInput.FRAGMENTS:
            return ["", *(json_text[i : i + 8] for i in range(0, len(json_text), 8))]
        case ToolInput.TOKENS:
            return _TOKENS.findall(json_text)
