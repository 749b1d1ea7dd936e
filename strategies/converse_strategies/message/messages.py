"""Strategies for AWS Messages, single ones and whole conversations that Bedrock accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import basics
from converse_strategies.basics import Texts, cached, chosen, composite, sampled
from converse_strategies.message.blocks import Block, Message, assistant_messages, draw_block, rename_tools, streamable
from converse_strategies.message.citation import citations_content_blocks
from converse_strategies.message.media import audios, documents, images, videos
from converse_strategies.message.tools import cache_points, draw_tool_result, draw_tool_use

MAX_DOCUMENTS: Final = 5
MAX_IMAGES: Final = 20
MAX_CACHE_POINTS: Final = 4
_LIMITS: Final = {"document": MAX_DOCUMENTS, "image": MAX_IMAGES, "cachePoint": MAX_CACHE_POINTS}


@composite
def user_messages(
    draw: st.DrawFn, *, kinds: Collection[str] | None = None, max_blocks: int = 3, texts: Texts | None = None
) -> Message:
    """Messages of the user that Bedrock accepts at the beginning of a conversation, so without blank texts and tool
    results.

    `kinds` are some of text, image, document, video, audio, searchResult, guardContent and cachePoint. A message with a
    document also has a text, and a cache point is never the first block. `texts` is a strategy for texts; a blank text
    gets one more character. Source: AWS's API model, and reports of Bedrock's users about refused requests. Such
    requests have blank texts, empty messages, documents without a text, documents with equal or invalid names, or more
    than five documents. Raises InvalidArgument, when drawn, for an unknown kind.

    >>> from hypothesis import find
    >>> find(user_messages(), lambda message: True)
    {'role': 'user', 'content': [{'text': '0'}]}
    """
    some = basics.visible_texts(texts)
    return {"role": "user", "content": _draw_user_content(draw, _user_kinds(kinds), some, max_blocks, Used())}


@composite
def messages(
    draw: st.DrawFn, *, kinds: Collection[str] | None = None, max_blocks: int = 3, texts: Texts | None = None
) -> Message:
    """Messages of the user or of the assistant. `kinds` are kinds of blocks that the user or the assistant sends.

    >>> from hypothesis import find
    >>> find(messages(), lambda message: message["role"] == "assistant")
    {'role': 'assistant', 'content': [{'text': ''}]}
    """
    of_user = None if kinds is None else [kind for kind in kinds if kind in _USER]
    of_assistant = None if kinds is None else [kind for kind in kinds if kind not in _USER or kind in ("text", "image")]
    sides: list[st.SearchStrategy[Message]] = []
    if of_user != []:
        sides.append(user_messages(kinds=of_user, max_blocks=max_blocks, texts=texts))
    if of_assistant != [] or not sides:
        sides.append(assistant_messages(kinds=of_assistant, max_blocks=max_blocks, texts=texts))
    return draw(st.one_of(sides))


class Used:
    """What all messages of one request have in common. `documents` contains the names of the documents so far.

    `sources` contains the documents and search results of the user's messages, each with its index among those of its
    kind. `counts` has the number of blocks of each kind. `caches_briefly` is true after a cache point with a lifetime
    of five minutes.
    """

    def __init__(self) -> None:
        self.documents: set[str] = set()
        self.sources: list[tuple[int, Block]] = []
        self.counts = Counter[str]()
        self.caches_briefly = False

    def has_room(self, block: Block) -> bool:
        """Count `block`. Return False if the request already has as many blocks of this kind as Bedrock allows.

        If `block` is a document, its name is made unique. If it is a cache point, its lifetime is made no longer than
        that of an earlier one.
        """
        kind = next(iter(block))
        self.counts[kind] += 1
        if self.counts[kind] > _LIMITS.get(kind, inf):
            return False
        if kind == "cachePoint":
            self.caches_briefly = shorten(block[kind], self.caches_briefly)
        if kind == "document":
            block[kind]["name"] = basics.distinct(str(block[kind]["name"]), self.documents, 200)
        return True

    def may_cite(self, block: Block) -> None:
        """Add a block of a user's message to `sources`, if an answer can cite it."""
        kind = next(iter(block))
        if kind in _CITED:
            self.sources.append((sum(kind in each for _, each in self.sources), block))


def shorten(point: dict[str, Any], briefly: bool) -> bool:
    """Remove the lifetime from `point` if it is longer than five minutes, the default, and an earlier cache point has
    the default.

    `briefly` says whether an earlier cache point has the default. Return the value of `briefly` for the next cache
    point.
    """
    if briefly and point.get("ttl", _BRIEF) != _BRIEF:
        del point["ttl"]
    return briefly or point.get("ttl", _BRIEF) == _BRIEF


_BRIEF: Final = "5m"


def _user_kinds(kinds: Collection[str] | None) -> tuple[str, ...]:
    """Return the kinds of blocks in `kinds`, which a user may send; if `kinds` is None, all that the installed botocore
    has.

    Raises InvalidArgument for any other kind.
    """
    known = tuple(name for name in _USER if bedrock.has_member("ContentBlock", name))
    return chosen("user_messages", "kinds", kinds, known)


def _draw_user_content(
    draw: st.DrawFn, kinds: tuple[str, ...], texts: Texts, max_blocks: int, used: Used
) -> list[Block]:
    """Draw the content of one user message: at most `max_blocks` blocks of some of `kinds` and, if needed, a text.

    `used` counts the blocks of the whole request, because Bedrock limits their number.
    """
    content: list[Block] = []
    for block in draw(_user_blocks(kinds, texts, max_blocks)):
        if used.has_room(block) and (content or "cachePoint" not in block):
            content.append(block)
            used.may_cite(block)
    found = {kind for block in content for kind in block}
    if not content or ("document" in found and "text" not in found):
        content.append({"text": draw(texts)})
    return content


@cached
def _user_blocks(kinds: tuple[str, ...], texts: Texts, max_blocks: int) -> st.SearchStrategy[list[Block]]:
    blocks = st.one_of(*(st.fixed_dictionaries({kind: _USER[kind](texts)}) for kind in kinds))
    return st.lists(blocks, min_size=1, max_size=max_blocks)


def _guard_contents(texts: Texts) -> st.SearchStrategy[Block]:
    qualifiers = st.sampled_from(bedrock.enum("GuardrailConverseContentQualifier"))
    some = st.lists(qualifiers, min_size=1, max_size=3, unique=True)
    return st.fixed_dictionaries({"text": st.fixed_dictionaries({"text": texts}, optional={"qualifiers": some})})


def _search_results(texts: Texts) -> st.SearchStrategy[Block]:
    content = st.lists(st.fixed_dictionaries({"text": texts}), min_size=1, max_size=1)
    cited = st.fixed_dictionaries({"enabled": st.booleans()})
    return st.fixed_dictionaries({"source": texts, "title": texts, "content": content}, optional={"citations": cited})


_USER: Final[Mapping[str, Callable[[Texts], st.SearchStrategy[Any]]]] = {
    "text": lambda texts: texts,
    "image": lambda texts: images(),
    "document": lambda texts: documents(),
    "cachePoint": lambda texts: cache_points(),
    "guardContent": _guard_contents,
    "searchResult": _search_results,
    "video": lambda texts: videos(),
    "audio": lambda texts: audios(),
}
"""Kind of block that a user sends, except tool results -> function that takes a strategy for texts, and returns one for
the content of the block. The simplest comes first.
"""

_ANSWERED: Final = ("text", "toolUse", "reasoningContent", "citationsContent")
"""The members of ContentBlock that the assistant sends in a conversation."""


@composite
def conversations(
    draw: st.DrawFn,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    min_turns: int = 0,
    max_turns: int = 3,
    kinds: Collection[str] | None = None,
    texts: Texts | None = None,
) -> list[Message]:
    """Conversations that Bedrock accepts: the first and the last message are the user's, and the roles alternate.

    Each turn, after the first message, consists of an answer of the assistant and the user's next message. Every tool
    use has a result in the next message, every result has a tool use, and the input satisfies the schema of the tool.
    Citations are of documents and search results before them, with `citations` enabled, unless `kinds` leaves out both.
    No text is blank. A message with documents has a text; a conversation has at most five documents, with different
    names.

    `tools` are the Tools (or ToolSpecifications) that the assistant may use. By default it uses tools of any name; if
    `tools` is empty, it uses none. `kinds` are the members of ContentBlock to choose from, for both roles. `texts` is a
    strategy for texts; a blank text gets one more character. Source: AWS's API model, and reports of Bedrock's users
    about refused requests.

    >>> from hypothesis import find
    >>> [message["role"] for message in find(conversations(min_turns=1), lambda messages: True)]
    ['user', 'assistant', 'user']
    """
    return draw_conversation(draw, tools, min_turns, max_turns, kinds, texts)


def draw_conversation(
    draw: st.DrawFn,
    tools: Sequence[Mapping[str, Any]] | None,
    min_turns: int,
    max_turns: int,
    kinds: Collection[str] | None,
    texts: Texts | None,
) -> list[Message]:
    """Draw a conversation as `conversations` does. For tools that are drawn, too, no strategy has to be built."""
    some = basics.visible_texts(texts)
    of_assistant, of_user = _kinds_of(kinds, tools)
    used = Used()
    opening = _draw_user_content(draw, of_user, some, 2, used)
    specs = _specs(tools) if tools else None
    turns: list[_Turn] = []
    while len(turns) < max_turns and (len(turns) < min_turns or draw(_MORE)):
        turns.append(_draw_turn(draw, of_assistant, of_user, some, specs, used))
    rename_tools([use, result] for turn in turns for use, result in turn.tools)
    return [{"role": "user", "content": opening}, *(message for turn in turns for message in turn.messages)]


_MORE: Final = st.booleans()
"""Whether another turn or block comes. In this form hypothesis can shrink by leaving it out, as in lists."""


class _Turn(NamedTuple):
    """An answer of the assistant and the user's next message, in `messages`. `tools` has one pair per tool use: it and
    its result.
    """

    messages: list[Message]
    tools: list[tuple[dict[str, Any], dict[str, Any]]]


def _draw_turn(
    draw: st.DrawFn,
    of_assistant: tuple[str, ...],
    of_user: tuple[str, ...],
    texts: Texts,
    specs: Sequence[Mapping[str, Any]] | None,
    used: Used,
) -> _Turn:
    cites = None if _CITED.isdisjoint(of_user) else used.sources
    answer = [_draw_answer_block(draw, of_assistant, texts, specs, cites)]
    while len(answer) < _MOST_BLOCKS and draw(_MORE):
        answer.append(_draw_answer_block(draw, of_assistant, texts, specs, cites))
    answer.sort(key=_place)
    uses = [block["toolUse"] for block in answer if "toolUse" in block]
    results = [_result(draw, use, used) for use in uses]
    content = [{"toolResult": result} for result in results]
    if not results or draw(st.booleans()):
        content += _draw_user_content(draw, of_user, texts, 2, used)
    messages = [{"role": "assistant", "content": answer}, {"role": "user", "content": content}]
    return _Turn(messages, [*zip(uses, results, strict=True)])


def _specs(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those of `tools` that have a specification: the client runs them. System tools and cache points are left
    out.
    """
    return [tool for tool in tools if "toolSpec" in tool or "inputSchema" in tool]


def _place(block: Block) -> int:
    """Return a sort key that puts blocks in the order in which models send them: reasoning first, tool uses last."""
    return {"reasoningContent": 0, "toolUse": 2}.get(next(iter(block)), 1)


_MOST_BLOCKS: Final = 3
_CITED: Final = frozenset({"document", "searchResult"})
"""The kinds of blocks that an answer can cite."""


def _draw_answer_block(
    draw: st.DrawFn,
    kinds: tuple[str, ...],
    texts: Texts,
    specs: Sequence[Mapping[str, Any]] | None,
    cites: Sequence[tuple[int, Block]] | None,
) -> Block:
    """Draw a block of an answer. Citations are of one of `cites`; if there are none, a text is drawn in their place. If
    `cites` is None, the user's messages have no sources, and citations are of any.
    """
    kind = draw(sampled(kinds))
    if kind == "citationsContent" and cites is not None:
        if not cites:
            return draw_block(draw, "text", texts)
        index, block = cites[draw(st.integers(0, len(cites) - 1))]
        source = next(iter(block.values()))
        source["citations"] = {"enabled": True}
        return {kind: draw(citations_content_blocks(document=source, index=index, texts=texts))}
    if kind != "toolUse":
        return draw_block(draw, kind, texts)
    return {"toolUse": draw_tool_use(draw, specs[draw(st.integers(0, len(specs) - 1))] if specs else None)}


def _result(draw: st.DrawFn, use: Mapping[str, Any], used: Used) -> dict[str, Any]:
    result = draw_tool_result(draw, use["toolUseId"])
    result["content"] = [item for item in result["content"] if used.has_room(item)] or [{"text": "0"}]
    return result


def _answered() -> list[str]:
    return [kind for kind in streamable() if kind in _ANSWERED]


def kinds_of_conversations() -> tuple[str, ...]:
    """Return the members of ContentBlock that messages of a conversation may have: those of the assistant, then those
    of the user.
    """
    return tuple(dict.fromkeys((*_answered(), *_user_kinds(None))))


def _kinds_of(
    kinds: Collection[str] | None, tools: Sequence[Mapping[str, Any]] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (kinds of blocks for the assistant, kinds of blocks for the user): those of `kinds`, by default all.

    The assistant gets `toolUse` only if `tools` is None or contains a tool that the client runs. If nothing is left for
    a role, it gets `text`.
    """
    wanted = chosen("conversations", "kinds", kinds, kinds_of_conversations())
    never = "toolUse" if tools is not None and not _specs(tools) else None
    of_assistant = tuple(kind for kind in _answered() if kind in wanted and kind != never)
    return of_assistant or ("text",), tuple(kind for kind in _user_kinds(None) if kind in wanted) or ("text",)
