"""What a rehearsal names against what is really met with the model id edited by hand: the table of docs/upgrade.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.rehearsal.edited import CLIENTS, MODELS, rows_of, rows_on_the_page


def test_the_page_has_a_row_for_each_client_and_model() -> None:
    assert len(rows_on_the_page()) == len(CLIENTS) * len(MODELS)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_page_shows_what_is_measured(client: str, tmp_path: Path) -> None:
    rows = [*rows_of(client, tmp_path)]
    on_page = [row for row in rows_on_the_page() if row.startswith(f"| {CLIENTS[client]} ")]
    assert on_page == rows, "docs/upgrade.md is behind; write it with: nox -s rehearsal -- --write"
