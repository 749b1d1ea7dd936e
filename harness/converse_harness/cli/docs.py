"""`converse-harness docs`: print the pages of the documentation that belong to the installed release."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.cli.model_facts import print_facts
from converse_harness.cli.terminal import BOLD, Arguments, CommandFailed, say, styled

_HEADING: Final = re.compile(r"(#+) (.+)")
_FENCE: Final = "```"
_COMMENT: Final = re.compile(r"<!--.*-->")
"""Matches a line of a page that is a comment, for example an instruction for the tests to run an example.

Such a line is not printed.
"""


class Heading(NamedTuple):
    """A heading of a page: the index of its line, its level (1 for `#`) and its text."""

    line: int
    level: int
    text: str

    @property
    def slug(self) -> str:
        """The anchor of the heading in links.

        >>> Heading(0, 2, "What `fails`, and why").slug
        'what-fails-and-why'
        """
        return re.sub(r"[^\w\- ]", "", self.text.lower()).replace(" ", "-")


DESCRIPTION: Final = (
    "Print a page of the documentation, or one section of it, or the places where words stand. Without a page, list "
    "the pages."
)
ARGUMENTS: Final[Arguments] = {
    "page": {
        "metavar": "PAGE",
        "nargs": "?",
        "help": "scripting, for instance; or scripting#running-out; or a model id; or words to look up, such as a rule",
    },
    "section": {"metavar": "SECTION", "nargs": "*", "help": "running-out, for instance; or more words to look up"},
}


def run(given: argparse.Namespace) -> int:
    """Print the requested page or section; return the exit code 0.

    For the id of a model, print what is known of this model. If there is no page of the given name, print the places
    that explain this name, or the sections that contain all of the given words. Without a name, list the pages. Raises
    CommandFailed, with the exit code 2, if the page or the section does not exist, or if no page contains any of the
    words.
    """
    if given.page is None:
        names = page_names()
        width = max(map(len, names))
        for name in names:
            say(f"{styled(f'{name:<{width}}', BOLD)}  {headings(read_page(name))[0].text}")
        return 0
    page, _, section = given.page.partition("#")
    words = " ".join((given.page, *given.section)).split()
    if not section and len(words) == 1 and print_facts(page):
        return 0
    if not section and (page not in page_names() or len(given.section) > 1):
        found = _found(words)
        for place, line in found:
            say(f"{styled(f'converse-harness docs {place}', BOLD)}\n{line}\n")
        if found:
            return 0
        if len(words) > 1:
            raise CommandFailed(
                f"no page contains any of: {', '.join(words)}. Pages: {', '.join(page_names())}.", code=2
            )
    section = "".join(given.section) or section
    try:
        lines = read_page(page)
        shown = section_of(page, lines, section) if section else lines
    except LookupError as error:
        raise CommandFailed(error.args[0], code=2) from error
    bold = {heading.line for heading in headings(shown)}
    for number, line in enumerate(shown):
        if not _COMMENT.fullmatch(line):
            say(line, BOLD if number in bold else "")
    return 0


def _found(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the places to print for some words; an empty list if they stand nowhere."""
    if len(words) == 1:
        return places_of(words[0]) or sections_with(words[0])
    return places_with(words)


def page_names() -> list[str]:
    """Return the names of all pages: their paths without suffix, for instance `scripting`."""
    folder = _folder()
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.md"))


def read_page(name: str) -> list[str]:
    """Return the lines of a page. Raises LookupError for an unknown page; the message lists all pages."""
    names = page_names()
    if name not in names:
        raise LookupError(f"there is no page {name!r}.{_hint(name, names)} Pages: {', '.join(names)}.")
    return (_folder() / f"{name}.md").read_text(encoding="utf-8").splitlines()


def places_of(name: str) -> list[tuple[str, str]]:
    """Return the places that explain a name: headings, and rows of tables with the name in the first cell.

    A place is a section as `page#slug`, together with the line of the heading or row. A row must contain the whole name
    as code; a heading must contain a word that begins with the name.
    """
    word = re.compile(rf"\b{re.escape(name)}", re.IGNORECASE)
    row = re.compile(rf"\| [^|]*`(?:[\w.]*\.)?{re.escape(name)}\b[^|]*\|.*", re.IGNORECASE)
    places: list[tuple[str, str]] = []
    for page, lines, found in _searched():
        places += ((f"{page}#{each.slug}", lines[each.line]) for each in found[1:] if word.search(each.text))
        places += ((_place(page, found, number), line) for number, line in enumerate(lines) if row.match(line))
    return places


def sections_with(word: str) -> list[tuple[str, str]]:
    """Return each section that contains a word, as `page#slug`, with the first line that contains the word.

    The lines of its subsections do not count.
    """
    wanted = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    places: dict[str, str] = {}
    for page, lines, found in _searched():
        for number, line in enumerate(lines):
            if wanted.search(line):
                places.setdefault(_place(page, found, number), line)
    return [*places.items()]


def places_with(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the sections that contain all of the words, as `page#slug`, each with the line that has most of them.

    Sections with all words in one line come first, then those with a word in the heading. If no section of a page has
    as many of the words as the whole page, the place is the page. If no place has all words, return the places that
    have most of them. A word of a page counts if it, or its part after an underscore, begins with one of the words.
    """
    wanted = [re.compile(rf"(?<![^\W_]){re.escape(word)}", re.IGNORECASE) for word in words]

    def count(lines: Iterable[str]) -> int:
        text = "\n".join(lines)
        return sum(bool(word.search(text)) for word in wanted)

    ranked: list[tuple[int, int, int, str, str]] = []
    for page, lines, found in _searched():
        parts = {
            f"{page}#{one.slug}": lines[one.line : end] for one, end in zip(found, _ends(lines, found), strict=True)
        }
        if count(lines) > max(map(count, parts.values())):
            parts = {page: lines}
        for place, part in parts.items():
            best = max(part, key=lambda line: count([line]))
            ranked.append((-count(part), -count([best]), -count(part[:1]), place, best))
    ranked.sort(key=itemgetter(0, 1, 2))
    return [(place, line) for number, *_, place, line in ranked if number and number == ranked[0][0]]


def _ends(lines: list[str], found: list[Heading]) -> list[int]:
    """Return the index after the last line of each section, without its subsections."""
    return [*(each.line for each in found[1:]), len(lines)]


def _searched() -> Iterator[tuple[str, list[str], list[Heading]]]:
    """Yield the name, lines and headings of each page."""
    for page in page_names():
        lines = read_page(page)
        yield page, lines, headings(lines)


def _place(page: str, found: list[Heading], number: int) -> str:
    """Return the section that contains the line with the index `number`, as `page#slug`.

    `found` are the headings of the page.
    """
    return f"{page}#{[each for each in found if each.line <= number][-1].slug}"


def section_of(page: str, lines: list[str], slug: str) -> list[str]:
    """Return the lines of a page's section, with those of its subsections; `slug` is the anchor of its heading.

    Raises LookupError for an unknown section; the message lists the page's sections.
    """
    found = headings(lines)
    heading = next((each for each in found if each.slug == slug), None)
    if heading is None:
        slugs = [each.slug for each in found]
        raise LookupError(f"{page} has no section {slug!r}.{_hint(slug, slugs)} Sections: {', '.join(slugs)}.")
    later = (each.line for each in found if each.line > heading.line and each.level <= heading.level)
    return lines[heading.line : next(later, len(lines))]


def headings(lines: list[str]) -> list[Heading]:
    """Return the headings of a page in their order. Lines inside fenced code blocks are not headings."""
    found: list[Heading] = []
    fenced = False
    for number, line in enumerate(lines):
        if line.startswith(_FENCE):
            fenced = not fenced
        elif not fenced and (heading := _HEADING.fullmatch(line)):
            found.append(Heading(number, len(heading[1]), heading[2]))
    return found


def _folder() -> Path:
    """Return the folder of the pages. It is in the installed package, or in the repository for an editable install."""
    package = Path(__file__).resolve().parents[1]
    return next(folder for folder in (package / "docs", package.parents[1] / "docs") if folder.is_dir())


def _hint(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
