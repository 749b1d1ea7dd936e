"""Citations of the sample document, of a search result and of a web page: the passage, and where it stands."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples.media import DOCUMENT_NAME, RULES

PASSAGE: Final = "One bag of up to 8 kg may be taken into the cabin."
ANSWER: Final = "You may take one bag of up to 8 kg with you."
WEB: Final = "www.example.com"


def document_char() -> dict[str, Any]:
    """The passage's first character in the document, and the one after its last."""
    start = RULES.index(PASSAGE)
    return {"documentIndex": 0, "start": start, "end": start + len(PASSAGE)}


def document_page() -> dict[str, Any]:
    """The document's only page."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def document_chunk() -> dict[str, Any]:
    """The second paragraph, where the paragraphs are the chunks."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def search_result_location() -> dict[str, Any]:
    """The first block of the first search result."""
    return {"searchResultIndex": 0, "start": 0, "end": 1}


def web() -> dict[str, Any]:
    """The page on the web."""
    return {"url": f"https://{WEB}/baggage", "domain": WEB}


def location() -> dict[str, Any]:
    """Characters of the document."""
    return {"documentChar": document_char()}


def source_content() -> dict[str, Any]:
    """The passage as the document has it."""
    return {"text": PASSAGE}


def generated_content() -> dict[str, Any]:
    """What the model makes of it."""
    return {"text": ANSWER}


def citation() -> dict[str, Any]:
    """The passage, where it stands, and in what."""
    return {"location": location(), "sourceContent": [source_content()], "title": DOCUMENT_NAME}


def block() -> dict[str, Any]:
    """An answer with its citation; it can be streamed."""
    return {"citations": [citation()], "content": [generated_content()]}


def search_result() -> dict[str, Any]:
    """A search result that holds the passage."""
    return {
        "source": web()["url"],
        "title": DOCUMENT_NAME,
        "content": [source_content()],
        "citations": {"enabled": True},
    }
