"""The nox sessions of the differential test; noxfile.py runs this file with its own MATRIX, ASYNCIO and functions."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import nox

MATRIX: dict[str, Any] = globals()["MATRIX"]
ASYNCIO: tuple[str, ...] = globals()["ASYNCIO"]
install: Any = globals()["install"]
node_packages: Any = globals()["node_packages"]

STEP = ("python", "-m", "tests.clients.differential")
FOLDER = Path(".nox/differential")


def asked() -> list[str]:
    """The clients that can run on this machine: those in JavaScript need Node.js and npm."""
    there = all(map(shutil.which, ("node", "npm")))
    return [name for name, client in MATRIX.items() if there or not client.get("node")]


@nox.session(python="3.12")
def differential(session: nox.Session) -> None:
    """One drawn stream, all clients of the matrix: what they disagree on; `-- --seed N --streams N`."""
    install(session, *ASYNCIO)
    FOLDER.mkdir(parents=True, exist_ok=True)
    session.run(*STEP, "draw", str(FOLDER / "streams.json"), *session.posargs)
    if left_out := [name for name in MATRIX if name not in asked()]:
        session.warn(f"Left out: {', '.join(left_out)}; they need Node.js 20 or newer and npm on the PATH")
    for name in asked():
        session.notify(f"differential-{name}", [])
    session.notify("differential-compare", [])


def consumed(session: nox.Session, name: str) -> None:
    """What one client makes of the streams."""
    if MATRIX[name].get("node"):
        node_packages(session, "--omit=dev")
    install(session, *ASYNCIO, *MATRIX[name]["requires"])
    session.run(*STEP, "consume", name, str(FOLDER / "streams.json"), str(FOLDER / f"outcomes-{name}.json"))


for _client in MATRIX:
    _consumed = partial(consumed, name=_client)
    _consumed.__doc__ = f"{MATRIX[_client]['title']}: what it makes of the streams of `differential`."
    nox.session(python="3.12", name=f"differential-{_client}")(_consumed)


@nox.session(name="differential-compare", python="3.12")
def compared(session: nox.Session) -> None:
    """Print small streams on which clients disagree."""
    install(session, *ASYNCIO)
    session.run(
        *STEP, "compare", str(FOLDER / "streams.json"), *(str(FOLDER / f"outcomes-{name}.json") for name in asked())
    )
