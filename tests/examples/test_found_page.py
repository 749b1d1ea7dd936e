"""docs/found.md lists each find once, shows it in at most ten lines, and is of the versions of the matrix."""

import re
import tomllib
from typing import Final

from tests.examples.pages import PAGES_READ, ROOT

TEXT: Final = (ROOT / "docs" / "found.md").read_text(encoding="utf-8")
FINDS: Final = re.findall(r"^### (.*)$", TEXT, re.MULTILINE)
TABLE: Final = re.findall(r"^\| ([\w-]+) ([\d.]+) \| \[(.*)\]\(#(.*)\) \| [\w' ]+ \| (.*) \|$", TEXT, re.MULTILINE)


def test_the_table_has_every_find_in_its_order() -> None:
    assert [find for _, _, find, _, _ in TABLE] == FINDS
    for _, _, find, anchor, _ in TABLE:
        assert anchor == re.sub(r"[^\w\- ]", "", find.lower()).replace(" ", "-")


def test_each_find_stands_in_the_chapter_of_its_client() -> None:
    chapters = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert list(dict.fromkeys(client for client, *_ in TABLE)) == chapters


def test_the_versions_are_those_of_the_matrix() -> None:
    matrix = tomllib.loads((ROOT / "tests/clients/matrix/clients.toml").read_text(encoding="utf-8"))
    pinned = {
        re.sub(r"-slim|\[.*\]", "", package) for client in matrix.values() for package in client.get("requires", [])
    }
    assert {f"{client}=={version}" for client, version, *_ in TABLE} <= pinned


def test_each_find_is_one_block_of_ten_lines() -> None:
    (page,) = (page for page in PAGES_READ if page.blocks and page.blocks[0].page.name == "found.md")
    lines = TEXT.splitlines()
    shown = [block for block in page.blocks if lines[: block.line] and _heading_above(lines, block.line) in FINDS]
    assert len(shown) == len(FINDS)
    assert [str(block) for block in shown if len([line for line in block.code.splitlines() if line]) > 10] == []


def _heading_above(lines: list[str], line: int) -> str:
    return next((text.removeprefix("### ") for text in reversed(lines[:line]) if text.startswith("#")), "")
