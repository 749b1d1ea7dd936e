"""AWS Messages, one at a time: what an assistant answers, what a user says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import leaves
from converse_strategies.blocks import Block, Texts, contents, streamable
from converse_strategies.choices import chosen
from converse_strategies.media import audios, documents, images, videos

Message = dict[str, Any]

MAX_DOCUMENTS: Final = 5
MAX_IMAGES: Final = 20
MAX_CACHE_POINTS: Final = 4


@st.composite
def assistant_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 1,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> Message:
    """Messages of the assistant, of blocks that ConverseStream can send.

    `kinds` are the members of ContentBlock to choose from, all that can be streamed if not given; `texts` what texts
    are drawn from. A result of a server tool brings the use that it answers, so there may be more than `max_blocks`.
    Raises InvalidArgument, when drawn, for a kind that cannot be streamed.

    >>> from hypothesis import find
    >>> find(assistant_messages(kinds=["text"]), lambda message: len(message["content"]) > 1)
    {'role': 'assistant', 'content': [{'text': ''}, {'text': ''}]}
    """
    wanted = chosen("assistant_messages", "kinds", kinds, streamable())
    some = leaves.texts() if texts is None else texts
    return {"role": "assistant", "content": draw(contents(wanted, some, min_blocks, max_blocks))}


@st.composite
def user_messages(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> Message:
    """Messages of the user that Bedrock takes as the first of a conversation: no text is blank, no tool is answered.

    `kinds` are some of text, image, document, video, audio, searchResult, guardContent and cachePoint; a document
    brings a text, a cache point stands behind another block. `texts` is what texts are drawn from; what it draws blank
    gets a character. Source: what Bedrock refuses beyond its model, as its users report it: blank texts, empty
    messages, documents without a text, with equal or odd names, or more than five. Raises InvalidArgument, when drawn,
    for an unknown kind.

    >>> from hypothesis import find
    >>> find(user_messages(), lambda message: True)
    {'role': 'user', 'content': [{'text': '0'}]}
    """
    some = leaves.visible_texts(texts)
    return {"role": "user", "content": draw_user_content(draw, user_kinds(kinds), some, max_blocks, Used())}


@st.composite
def messages(
    draw: st.DrawFn, *, kinds: Collection[str] | None = None, max_blocks: int = 3, texts: Texts | None = None
) -> Message:
    """Messages of the user or of the assistant; `kinds` are those of either.

    >>> from hypothesis import find
    >>> find(messages(), lambda message: message["role"] == "assistant")
    {'role': 'assistant', 'content': [{'text': ''}]}
    """
    of_user = None if kinds is None else [kind for kind in kinds if kind in _USER]
    of_assistant = None if kinds is None else [kind for kind in kinds if kind not in _USER or kind in ("text", "image")]
    users = user_messages(kinds=of_user, max_blocks=max_blocks, texts=texts)
    assistants = assistant_messages(kinds=of_assistant, max_blocks=max_blocks, texts=texts)
    if kinds is not None and not of_assistant:
        return draw(users)
    if kinds is not None and not of_user:
        return draw(assistants)
    return draw(users | assistants)


class Used:
    """What the messages of one request share: the names of documents, how many there are of what is limited."""

    def __init__(self) -> None:
        self.documents: set[str] = set()
        self.images = 0
        self.cache_points = 0

    def has_room(self, block: Block) -> bool:
        """Count a block in, a document under a name of its own; False if there are too many of its kind."""
        match block:
            case {"document": document}:
                if len(self.documents) == MAX_DOCUMENTS:
                    return False
                self._rename(document)
            case {"image": _}:
                self.images += 1
            case {"cachePoint": _}:
                self.cache_points += 1
            case _:
                pass
        return self.images <= MAX_IMAGES and self.cache_points <= MAX_CACHE_POINTS

    def _rename(self, document: dict[str, Any]) -> None:
        base = str(document["name"])
        number = 1
        while document["name"] in self.documents:
            number += 1
            document["name"] = f"{base[:190].rstrip()} {number}"
        self.documents.add(document["name"])


def user_kinds(kinds: Collection[str] | None) -> tuple[str, ...]:
    """The members of ContentBlock that a user may send and the installed botocore knows. Raises InvalidArgument."""
    known = tuple(name for name in _USER if bedrock.has_member("ContentBlock", name))
    return chosen("user_messages", "kinds", kinds, known)


def draw_user_content(
    draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts, max_blocks: int, used: Used
) -> list[Block]:
    """The content of one message of a user, within what its request has left of what is limited."""
    content: list[Block] = []
    for block in draw(_user_blocks(kinds, texts, max_blocks)):
        if used.has_room(block) and (content or "cachePoint" not in block):
            content.append(block)
    if not content or (_has(content, "document") and not _has(content, "text")):
        content.append({"text": draw(texts)})
    return content


def _has(content: list[Block], kind: str) -> bool:
    return any(kind in block for block in content)


@lru_cache
def _user_blocks(kinds: tuple[str, ...], texts: Texts, max_blocks: int) -> st.SearchStrategy[list[Block]]:
    return st.lists(_user_block(kinds, texts), min_size=1, max_size=max_blocks)


@st.composite
def _user_block(draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts) -> Block:
    return _USER[draw(st.sampled_from(kinds))](draw, texts)


def _text(draw: st.DrawFn, texts: Texts) -> Block:
    return {"text": draw(texts)}


def _image(draw: st.DrawFn, texts: Texts) -> Block:
    return {"image": draw(_media("image"))}


def _document(draw: st.DrawFn, texts: Texts) -> Block:
    return {"document": draw(_media("document"))}


def _video(draw: st.DrawFn, texts: Texts) -> Block:
    return {"video": draw(_media("video"))}


def _audio(draw: st.DrawFn, texts: Texts) -> Block:
    return {"audio": draw(_media("audio"))}


def _search_result(draw: st.DrawFn, texts: Texts) -> Block:
    result: Block = {"source": draw(texts), "title": draw(texts), "content": [{"text": draw(texts)}]}
    if draw(st.booleans()):
        result["citations"] = {"enabled": draw(st.booleans())}
    return {"searchResult": result}


def _guard_content(draw: st.DrawFn, texts: Texts) -> Block:
    text: Block = {"text": draw(texts)}
    qualifiers = draw(_qualifiers())
    if qualifiers:
        text["qualifiers"] = qualifiers
    return {"guardContent": {"text": text}}


def _cache_point(draw: st.DrawFn, texts: Texts) -> Block:
    return {"cachePoint": {"type": "default"}}


@cache
def _qualifiers() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(bedrock.enum("GuardrailConverseContentQualifier")), max_size=3, unique=True)


@cache
def _media(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return {"image": images, "document": documents, "video": videos, "audio": audios}[kind]()


_USER: Final[Mapping[str, Callable[[st.DrawFn, Texts], Block]]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "cachePoint": _cache_point,
    "guardContent": _guard_content,
    "searchResult": _search_result,
    "video": _video,
    "audio": _audio,
}
"""What a user may send beside the results of tools, the simplest first."""
