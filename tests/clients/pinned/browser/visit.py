"""A page in Chromium, with everything that it asked for, complained of and opened."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Playwright, Route

FLAGS: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
OWN: Final = (".google.com", ".googleapis.com", ".gvt1.com")
"""Where Chromium asks for itself, as who is signed in, whatever page is open; Visit notes what a page asks there."""
FORBIDDEN: Final = ("serious", "critical")
"""The faults of accessibility that no page may have, by axe-core's names of their impact."""

VIOLATIONS: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(
  `${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


class Nowhere:
    """A proxy that answers nobody, for everything that is not on this machine."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._socket.setblocking(False)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._asked: list[str] = []

    @property
    def asked(self) -> list[str]:
        """Who was asked so far, without Chromium's own: the kernel holds the connections until they are read here."""
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(TimeoutError):
                    connection.settimeout(1)
                    self._asked.append(connection.recv(1000).decode("latin-1").partition("\r\n")[0])
        return [line for line in self._asked if not _host(line).endswith(OWN)]

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()


def _host(line: str) -> str:
    """The host in the first line of a proxy's request: `CONNECT host:443 HTTP/1.1`, or `POST http://host/ HTTP/1.1`.

    A line without a host is returned as it is, so that it counts.
    """
    _, _, target = line.partition(" ")
    target = target.partition(" ")[0]
    return urlsplit(target if "://" in target else f"//{target}").hostname or line


@dataclass(eq=False)  # no slots: Playwright sets attributes of the methods that it is given
class Visit:
    """One page. `origin` is the server that it may ask; a page from disk may ask nobody."""

    page: Page
    origin: str = ""
    denied: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])
    dialogs: list[str] = field(default_factory=list[str])

    def watch(self) -> None:
        """Note what the page does from now on, and deny every request that it may not send."""
        self.page.context.route("**/*", self._route)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.context.on("page", lambda other: self.denied.append(f"a new tab: {other.url}"))
        self.page.add_init_script(VIOLATIONS)

    def _route(self, route: Route) -> None:
        request = route.request
        parts = urlsplit(request.url)
        is_page = request.is_navigation_request() and parts.scheme == "file"
        if is_page or (self.origin and f"{parts.scheme}://{parts.netloc}" == self.origin):
            route.continue_()
        else:
            self.denied.append(f"{request.method} {request.url}")
            route.abort()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def troubles(self) -> list[str]:
        """Everything that a sound page does not do."""
        return [*self.denied, *self.complaints, *self.dialogs, *self.page.evaluate("window.violations ?? []")]

    def faults(self, include: str = "html", exclude: str = "nothing") -> list[str]:
        """What axe-core finds in the parts of the page, of the impacts that are forbidden."""
        self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self.page.evaluate(
            "async (parts) => (await axe.run(parts, { resultTypes: ['violations'] })).violations",
            {"include": [include], "exclude": [exclude]},
        )
        return [
            f"{fault['id']} ({fault['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for fault in found
            if fault["impact"] in FORBIDDEN
            for node in fault["nodes"][:3]
        ]

    def sideways(self) -> int:
        """By how many pixels the whole page can be scrolled sideways."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide

    def picture(self, name: str, *, whole: bool = False) -> None:
        """Write a screenshot to the folder that CONVERSE_SHOTS names, if it does."""
        if folder := os.environ.get("CONVERSE_SHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=whole)


@contextmanager
def chromium(playwright: Playwright, executable: str) -> Iterator[tuple[Browser, Nowhere]]:
    """Chromium as it is installed, and the proxy that it has."""
    nowhere = Nowhere()
    # Chromium has no sandbox for root.
    root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    try:
        browser = playwright.chromium.launch(
            executable_path=executable, args=[*FLAGS, *root], proxy={"server": nowhere.url, "bypass": "127.0.0.1"}
        )
        try:
            yield browser, nowhere
        finally:
            browser.close()
    finally:
        nowhere.close()
