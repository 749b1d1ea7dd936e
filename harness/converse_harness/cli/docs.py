"""`converse-harness docs`: print the pages of the documentation that belong to the installed release."""

from __future__ import annotations

import argparse
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.cli.terminal import BOLD, Arguments, CommandFailed, Printer

_NOTHING_FOUND: Final = 2

_HEADING: Final = re.compile(r"(#+) (.+)")
_FENCE: Final = "```"
_COMMENT: Final = re.compile(r"<!--.*-->")
"""Matches a comment line of a page. Such lines are not printed: they are instructions for the tests, for example to run
an example or to rewrite a table."""


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


DESCRIPTION: Final = "Print a page of the documentation, or one section of it. Without a page, list the pages."
ARGUMENTS: Final[Arguments] = {
    "page": {
        "metavar": "PAGE",
        "nargs": "?",
        "help": "scripting, for instance; or scripting#running-out; or a name, such as of a rule or case, to look up",
    },
    "section": {"metavar": "SECTION", "nargs": "?", "help": "running-out, for instance"},
}


def run(given: argparse.Namespace) -> int:
    """Print the requested page or section, or the places that explain a name; return the exit code 0.

    Raises CommandFailed, with the exit code 2, if the page or the section does not exist.
    """
    printer = Printer(sys.stdout)
    if given.page is None:
        names = page_names()
        width = max(map(len, names))
        for name in names:
            printer.say(f"{printer.styled(f'{name:<{width}}', BOLD)}  {headings(read_page(name))[0].text}")
        return 0
    page, _, section = given.page.partition("#")
    if page and page not in page_names() and not (section or given.section):
        found = places_of(page) or sections_with(page)
        for place, line in found:
            printer.say(f"{printer.styled(f'converse-harness docs {place}', BOLD)}\n{line}\n")
        if found:
            return 0
    try:
        lines = read_page(page)
        shown = section_of(page, lines, given.section or section) if given.section or section else lines
    except LookupError as error:
        raise CommandFailed(error.args[0], _NOTHING_FOUND) from error
    bold = {heading.line for heading in headings(shown)}
    for number, line in enumerate(shown):
        if not _COMMENT.fullmatch(line):
            printer.say(line, BOLD if number in bold else "")
    return 0


def page_names() -> list[str]:
    """The names of all pages: their paths without the suffix, `scripting` or `matrix/boto3` for instance."""
    folder = _folder()
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.md"))


def read_page(name: str) -> list[str]:
    """Return the lines of a page. Raises LookupError for an unknown page; the message lists all pages."""
    names = page_names()
    if name not in names:
        raise LookupError(f"there is no page {name!r}.{_hint(name, names)} Pages: {', '.join(names)}.")
    return (_folder() / f"{name}.md").read_text(encoding="utf-8").splitlines()


def places_of(name: str) -> list[tuple[str, str]]:
    """Return where the pages explain a name: headings, and rows of tables with the name in the first cell.

    Each place is a section as `page#slug`, with the line of the heading or row. A row must contain the whole name as
    code; a heading must contain a word that begins with the name. The matrix pages are left out, because their tables
    contain test results.
    """
    row = re.compile(rf"\| [^|]*`(?:[\w.]*\.)?{re.escape(name)}\b[^|]*\|.*", re.IGNORECASE)
    places: list[tuple[str, str]] = []
    for page in page_names():
        if page.partition("/")[0] == "matrix":
            continue
        lines = read_page(page)
        found = headings(lines)
        for heading in found[1:]:
            if re.search(rf"\b{re.escape(name)}", heading.text, re.IGNORECASE):
                places.append((f"{page}#{heading.slug}", lines[heading.line]))  # noqa: PERF401 - as the loop below
        for number, line in enumerate(lines):
            if row.match(line):
                section = [each for each in found if each.line < number][-1]
                places.append((f"{page}#{section.slug}", line))
    return places


def sections_with(word: str) -> list[tuple[str, str]]:
    """Return the sections whose own lines contain a word, as pairs of `page#slug` and the first such line."""
    wanted = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    places: dict[str, str] = {}
    for page in page_names():
        if page.partition("/")[0] == "matrix":
            continue
        lines = read_page(page)
        found = headings(lines)
        for number, line in enumerate(lines):
            if wanted.search(line):
                section = [each for each in found if each.line <= number][-1]
                places.setdefault(f"{page}#{section.slug}", line)
    return [*places.items()]


def section_of(page: str, lines: list[str], slug: str) -> list[str]:
    """Return the lines of one section, with its subsections.

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
    """The headings of a page, in their order; lines of fenced code blocks are not headings."""
    found: list[Heading] = []
    fenced = False
    for number, line in enumerate(lines):
        if line.startswith(_FENCE):
            fenced = not fenced
        elif not fenced and (heading := _HEADING.fullmatch(line)):
            found.append(Heading(number, len(heading[1]), heading[2]))
    return found


def _folder() -> Path:
    """The folder of the pages: in the installed package, or in the repository if the install is editable."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "docs"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def _hint(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
