"""Every link of a page leads to a file, and to a heading of it."""

import re
from pathlib import Path
from typing import Final

import pytest

from converse_harness.cli.docs import headings
from tests.house.measure import ROOT

PAGES: Final = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page: those of its headings, and those that it sets itself."""
    text = page.read_text("utf-8")
    return {heading.slug for heading in headings(text.splitlines())} | set(re.findall(r'<a id="([^"]+)"', text))


def broken(page: Path, text: str) -> list[str]:
    """The links of a page's text that lead nowhere."""
    plain = re.sub(r"(?ms)^ *(`{3,}|~{3,}).*?^ *\1 *$", "", text)
    links = {(file, anchor) for file, anchor in LINK.findall(re.sub(r"`[^`\n]+`", "", plain))}
    targets = {file: page.parent / file if file else page for file, _ in links}
    known = {file: anchors(path) for file, path in targets.items() if path.suffix == ".md" and path.exists()}
    return sorted(
        f"{file}#{anchor}"
        for file, anchor in links
        if not targets[file].exists() or (anchor and file in known and anchor not in known[file])
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text("utf-8")) == []


def test_a_broken_link_is_found() -> None:
    text = "[a](rules.md#notes) [b](rules.md#note) [c](none.md) [d](#what-is-stopped) `[e](n)`\n```\n[f](no.md)\n```"
    assert broken(ROOT / "docs" / "guard.md", text) == ["none.md#", "rules.md#note"]
