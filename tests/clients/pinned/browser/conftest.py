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


@pytest.fixture(scope="module")  # not of the session: two folders have the fixture, and playwright runs once at a time
def _chromium() -> Iterator[tuple[Browser, Nowhere]]:
    executable = os.environ.get("CONVERSE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert executable, f"no Chromium: install one ({', '.join(NAMES)}), or name its path in CONVERSE_CHROMIUM"
    with sync_playwright() as playwright, chromium(playwright, executable) as opened:
        yield opened


@pytest.fixture
def visit(_chromium: tuple[Browser, Nowhere]) -> Iterator[Open]:
    """Open a file or a URL; after the test no page may have done what a sound page does not do.

    Without `policy` the Content-Security-Policy does not count. A page that is not `sound` may complain.
    """
    browser, nowhere = _chromium
    before = nowhere.asked
    visits: list[Visit] = []
    unsound: list[Visit] = []

    def open_page(
        target: Path | str,
        *,
        width: int = 1400,
        dark: bool = False,
        scripts: bool = True,
        policy: bool = True,
        sound: bool = True,
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            bypass_csp=not policy,
        )
        context.set_default_timeout(10_000)
        url, origin = (target.as_uri(), "") if isinstance(target, Path) else (target, "/".join(target.split("/")[:3]))
        opened = Visit(context.new_page(), origin)
        visits.append(opened)
        if not sound:
            unsound.append(opened)
        opened.watch()
        opened.page.goto(url)
        return opened

    yield open_page
    troubles = [trouble for opened in visits if opened not in unsound for trouble in opened.troubles]
    for opened in visits:
        opened.page.context.close()
    assert troubles == []
    assert nowhere.asked == before
