"""Chromium for the suite: one process, and for each page a context of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.clients.pinned.browser.visit import Nowhere, Visit, chromium

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Open = Callable[..., Visit]


@pytest.fixture(scope="session")
def _chromium() -> Iterator[tuple[Browser, Nowhere]]:
    executable = os.environ.get("CONVERSE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert executable, f"no Chromium: install one ({', '.join(NAMES)}), or name its path in CONVERSE_CHROMIUM"
    with sync_playwright() as playwright, chromium(playwright, executable) as opened:
        yield opened


@pytest.fixture
def visit(_chromium: tuple[Browser, Nowhere]) -> Iterator[Open]:
    """Open a file or a URL; after the test no page may have done what a sound page does not do."""
    browser, nowhere = _chromium
    before = nowhere.asked
    visits: list[Visit] = []

    def open_page(
        target: Path | str, *, width: int = 1400, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(10_000)
        url, origin = (target.as_uri(), "") if isinstance(target, Path) else (target, "/".join(target.split("/")[:3]))
        opened = Visit(context.new_page(), origin)
        visits.append(opened)
        opened.watch()
        opened.page.goto(url)
        return opened

    yield open_page
    troubles = [trouble for opened in visits for trouble in opened.troubles]
    for opened in visits:
        opened.page.context.close()
    assert troubles == []
    assert nowhere.asked == before
