"""The nox session of the tests in Chromium; noxfile.py runs this file with what it shares."""

from typing import Any

import nox

ASYNCIO: tuple[str, ...] = globals()["ASYNCIO"]
install: Any = globals()["install"]
pinned: Any = globals()["pinned"]
PYTEST: tuple[str, ...] = globals()["PYTEST"]

BROWSER = ("axe-playwright-python>=0.1.8", "playwright>=1.65")


@nox.session
def browser(session: nox.Session) -> None:
    """The HTML pages in the installed Chromium, one test of each; `-- --tier nightly` runs all."""
    install(session, *ASYNCIO, *BROWSER)
    suites = pinned("browser")
    if session.posargs[:1] == ["--tier"]:
        suites = (*session.posargs, *suites[2:])
    elif session.posargs:
        suites = tuple(session.posargs)
    session.run(*PYTEST, *suites)
