"""How messages follow each other, and what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from converse_harness.bedrock.rules.rule import Asked, Breach

MEDIA: Final = ("image", "document", "video", "audio")


def at(n: int, m: int | None = None, *more: str) -> str:
    """The path of a message, or of a content block."""
    block = f"messages[{n}]" if m is None else f"messages[{n}].content[{m}]"
    return ".".join((block, *more))


def shown(asked: Asked, kind: str) -> Iterator[tuple[str, Any]]:
    """What is of a kind in messages and in the results of tools, with its path."""
    for n, m, value in asked.blocks(kind):
        yield at(n, m, kind), value
    for n, m, result in asked.blocks("toolResult"):
        for k, inner in enumerate(result.get("content", ())):
            if kind in inner:
                yield at(n, m, f"toolResult.content[{k}].{kind}"), inner[kind]


def has_no_message(asked: Asked) -> Iterator[Breach]:
    """The list of messages is empty, or not there although the model id is no stored prompt's."""
    if not asked.messages and ("messages" in asked.body or ":prompt/" not in asked.model_id):
        yield Breach("messages")


def starts_with_another(asked: Asked) -> Iterator[Breach]:
    """The first message is not the user's."""
    turns = _turns(asked)
    if turns and turns[0][1].get("role") != "user":
        yield Breach(at(turns[0][0], None, "role"))


def repeats_a_role(asked: Asked) -> Iterator[Breach]:
    """Two messages in a row have one role."""
    turns = _turns(asked)
    for (_, before), (n, message) in pairwise(turns):
        if before.get("role") == message.get("role"):
            yield Breach(at(n, None, "role"))


def _turns(asked: Asked) -> list[tuple[int, Mapping[str, Any]]]:
    """The messages of user and assistant: those of the role system stand between any others."""
    return [(n, message) for n, message in enumerate(asked.messages) if message.get("role") != "system"]


def blank_texts(asked: Asked) -> Iterator[Breach]:
    """A text is empty, or has nothing but whitespace."""
    for n, m, text in asked.blocks("text"):
        if not text.strip():
            yield Breach(at(n, m, "text"), {"n": n, "m": m})


def empty_texts(asked: Asked) -> Iterator[Breach]:
    """A text is empty, in a message or in the result of a tool."""
    for path, text in shown(asked, "text"):
        if not text:
            yield Breach(path)


def messages_of_whitespace(asked: Asked) -> Iterator[Breach]:
    """A message has texts, and all of them are whitespace."""
    texts: dict[int, list[str]] = {}
    for n, _, text in asked.blocks("text"):
        texts.setdefault(n, []).append(text)
    for n, each in texts.items():
        if not "".join(each).strip():
            yield Breach(at(n, None, "content"))


def empty_contents(asked: Asked) -> Iterator[Breach]:
    """A message has no content block."""
    for n, message in enumerate(asked.messages):
        if message.get("content") == []:
            yield Breach(at(n, None, "content"), {"n": n})


def blank_guard_contents(asked: Asked) -> Iterator[Breach]:
    """What a guardrail is to look at is blank."""
    for n, m, guarded in asked.blocks("guardContent"):
        if "text" in guarded and not guarded["text"].get("text", "-").strip():
            yield Breach(at(n, m, "guardContent.text.text"), {"n": n, "m": m})


def media_of_the_assistant(asked: Asked) -> Iterator[Breach]:
    """The assistant has an image, a document, a video or a sound."""
    for kind in MEDIA:
        for n, m, _ in asked.blocks(kind):
            if asked.messages[n].get("role") == "assistant":
                yield Breach(at(n, m, kind), {"n": n, "m": m, "kind": kind})


def any_reasoning(asked: Asked) -> Iterator[Breach]:
    """There is reasoning in the conversation."""
    for n, m, _ in asked.blocks("reasoningContent"):
        yield Breach(at(n, m, "reasoningContent"))


def ends_with_the_assistant(asked: Asked) -> Iterator[Breach]:
    """The last message is the assistant's."""
    if asked.messages and asked.messages[-1].get("role") == "assistant":
        yield Breach(at(len(asked.messages) - 1, None, "role"))


MOST: Final = 5

CITED_SOURCES: Final = ("text", "content")
"""Sources that are only for documents with citations."""

_NAME: Final = re.compile(r"(?: ?[A-Za-z0-9_\-()\[\]])* ?")
"""What was tried at the service: an underscore is accepted, a tab or a wide space is not."""


def names_with_other_characters(asked: Asked) -> Iterator[Breach]:
    """A name has a character that it may not have, or two spaces in a row."""
    for path, document in shown(asked, "document"):
        if not _NAME.fullmatch(document.get("name", "")):
            yield Breach(f"{path}.name")


def names_twice(asked: Asked) -> Iterator[Breach]:
    """Two documents of the request have one name."""
    seen: set[str] = set()
    for path, document in shown(asked, "document"):
        name = document.get("name", "")
        if name in seen:
            yield Breach(f"{path}.name")
        seen.add(name)


def too_many(asked: Asked) -> Iterator[Breach]:
    """The request has more than five documents."""
    for path, _ in list(shown(asked, "document"))[MOST:]:
        yield Breach(path)


def without_text(asked: Asked) -> Iterator[Breach]:
    """A message has a document and no text."""
    with_text = {n for n, _, _ in asked.blocks("text")}
    for n, m, _ in asked.blocks("document"):
        if n not in with_text:
            yield Breach(at(n, m, "document"))


def sources_for_citations(asked: Asked) -> Iterator[Breach]:
    """A document is a text or blocks, and is not to be cited."""
    for n, m, document in asked.blocks("document"):
        cited = document.get("citations", {}).get("enabled", False)
        if not cited and any(name in document.get("source", {}) for name in CITED_SOURCES):
            yield Breach(at(n, m, "document.source"), {"n": n, "m": m})
