"""docs/matrix.md, its grid and its pages are made of what was seen of the clients; every client has its column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.matrix.base import clients
from tests.clients.matrix.page import FOLDER, GRID, PAGE, anchor, pages

LINK = re.compile(r"\(matrix/(\w+)\.md#([\w-]+)\)")


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_page(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == pages()[path], "run `python -m tests.clients.matrix.page`"


def test_there_is_no_other_page() -> None:
    assert {*FOLDER.iterdir()} == {*pages()} - {PAGE, GRID}


def test_every_row_of_every_client_is_linked_once_and_leads_to_what_was_seen() -> None:
    linked = LINK.findall(PAGE.read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(
        (client.name, anchor(operation, case))
        for client in clients().values()
        for operation, rows in client.read().items()
        if operation != "versions"
        for case in rows
    )
    for client, name in linked:
        assert f'<a id="{name}"></a>' in (FOLDER / f"{client}.md").read_text(encoding="utf-8")
