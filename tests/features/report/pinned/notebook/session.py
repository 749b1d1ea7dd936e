"""The nox session of the notebook; noxfile.py runs this file with its own install, pinned and PYTEST."""

from typing import Any

import nox

install: Any = globals()["install"]
pinned: Any = globals()["pinned"]
PYTEST: tuple[str, ...] = globals()["PYTEST"]

JUPYTER = ("ipykernel>=6.29", "nbclient>=0.10.1")


@nox.session
def notebook(session: nox.Session) -> None:
    """docs/examples/notebook.ipynb, run by Jupyter: its outputs are those that are stored in it."""
    install(session, *JUPYTER, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("notebook")))
