"""The pages are plain to read: no sentence is long, and the first example comes soon."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.house.measure import ROOT

PAGES: Final = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
)

LONGEST: Final = 35
"""Words of a sentence; what stands in a line of code counts as one word."""

LAST_LINE: Final = 45
"""Line of a page in which its first example begins at the latest: about a screen and a half."""

FENCE: Final = re.compile(r" *(`{3,}|~{3,})")
OPENING: Final = re.compile(r"\A(?:>\s*)*(?:[-*+]|\d+[.)])\s+")
"""What begins a new item of a list."""
ABBREVIATIONS: Final = frozenset({"e.g.", "i.e.", "etc.", "vs.", "cf.", "St.", "No."})


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, headings and list items of a page with their first lines; no code, tables or comments."""
    first, lines, closing = 0, list[str](), ""
    for number, line in enumerate([*re.sub(r"<!--.*?-->", _blank, text, flags=re.DOTALL).splitlines(), ""], 1):
        bare = line.strip()
        if closing:
            closing = "" if bare == closing else closing
            continue
        fence = FENCE.match(line)
        heading = bare.startswith("#")
        if lines and (not bare or fence or heading or bare.startswith("|") or OPENING.match(bare)):
            yield first, " ".join(lines)
            lines = []
        if fence:
            closing = fence[1]
        elif heading:
            yield number, bare.lstrip("# ")
        elif bare and not bare.startswith("|"):
            first = first if lines else number
            lines.append(OPENING.sub("", bare, count=1) if not lines else bare)


def _blank(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def sentences(text: str) -> Iterator[tuple[int, list[str]]]:
    """The sentences of a page as words, each with the line in which its paragraph begins."""
    for line, paragraph in paragraphs(text):
        plain = re.sub(r"(`+).+?\1", "CODE", paragraph)  # a line of code is one word
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)  # of a link, what is read
        words: list[str] = []
        for word in re.sub(r"\*\*|__", "", plain).split():
            words += [word] if re.search(r"\w", word) else []  # a dash is no word
            if re.search(r"[.!?][\"')\]]*$", word) and not word.endswith("...") and word not in ABBREVIATIONS:
                yield line, words
                words = []
        if words:
            yield line, words


def long_sentences(text: str) -> list[str]:
    """The sentences with too many words, as a person looks for them."""
    return [
        f"line {line}, {len(words)} words: {' '.join(words)}" for line, words in sentences(text) if len(words) > LONGEST
    ]


def first_example(text: str) -> int:
    """The line in which a page's first example begins; 0 for a page without code."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if FENCE.match(line)), 0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_sentence_is_long(page: Path) -> None:
    assert long_sentences(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_first_example_comes_soon(page: Path) -> None:
    assert first_example(page.read_text("utf-8")) <= LAST_LINE


# What the splitter itself must see.

WORDS: Final = " ".join(["word"] * LONGEST)


@pytest.mark.parametrize(
    "text",
    [
        f"{WORDS} more.",
        f"A sentence. {WORDS} more. Another one.",
        f"# Title\n\nShort.\n\n- {WORDS}\n  more\n- another",
        f"{WORDS} `code with spaces`.",
        f"{WORDS} [more](https://example.com/a.b)",
        f"1. {WORDS} 3.11",
        f"```text\ncode\n```\n{WORDS} more",
        f"**{WORDS} more.**",
        f"{WORDS}, e.g. this.",
    ],
)
def test_a_long_sentence_is_found(text: str) -> None:
    assert len(long_sentences(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{WORDS}.",
        f"{WORDS}. {WORDS}.",
        f"**{WORDS}.** More of it.",
        f"{WORDS}\n\n{WORDS}",
        f"- {WORDS}\n- {WORDS}\n1. {WORDS}",
        f"```python\n{WORDS} more\n```",
        f"~~~\n```\n{WORDS} more\n~~~",
        f"| {WORDS} | more |",
        f"<!-- {WORDS}\nmore -->\n",
        f"# Heading\n{WORDS}",
        f"{WORDS} -",
        f"{WORDS.removesuffix(' word')} (`a. b. c`). lower case follows",
    ],
)
def test_no_other_sentence_is_found(text: str) -> None:
    assert long_sentences(text) == []


def test_the_first_example_is_found() -> None:
    assert first_example("# Page\n\ntext `code`\n\n```python\nx\n```\n```\ny\n```") == 5
    assert first_example("only text") == 0
