"""docs/matrix.md and the pages of the site are made of what was seen of the clients; every client has its column."""

from __future__ import annotations

import re

from tests.clients.matrix.base import clients
from tests.clients.matrix.page import CASES, FOLDER, PAGE, anchor, page, site_pages

LINK = re.compile(r"\(matrix/(\w+)\.md#([\w-]+)\)")


def test_page() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.clients.matrix.page`"


def test_every_row_of_every_client_is_linked_once_and_leads_to_what_was_seen() -> None:
    pages = site_pages()
    linked = LINK.findall(pages[CASES])
    assert sorted(linked) == sorted(
        (client.name, anchor(operation, case))
        for client in clients().values()
        for operation, rows in client.read().items()
        if operation != "versions"
        for case in rows
    )
    for client, name in linked:
        assert f'<a id="{name}"></a>' in pages[FOLDER / f"{client}.md"]
