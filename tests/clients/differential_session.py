"""The nox sessions of the differential test; noxfile.py runs this file with its own MATRIX, ASYNCIO and install."""

from functools import partial
from pathlib import Path
from typing import Any

import nox

MATRIX: dict[str, Any] = globals()["MATRIX"]
ASYNCIO: tuple[str, ...] = globals()["ASYNCIO"]
install: Any = globals()["install"]

STEP = ("python", "-m", "tests.clients.differential")
FOLDER = Path(".nox/differential")
CLIENTS = [name for name, client in MATRIX.items() if not client.get("node")]


@nox.session(python="3.12")
def differential(session: nox.Session) -> None:
    """One drawn stream, all Python clients of the matrix: what they disagree on; `-- --seed N --streams N`."""
    install(session, *ASYNCIO)
    FOLDER.mkdir(parents=True, exist_ok=True)
    session.run(*STEP, "draw", str(FOLDER / "streams.json"), *session.posargs)
    for name in CLIENTS:
        session.notify(f"differential-{name}", [])
    session.notify("differential-compare", [])


def consumed(session: nox.Session, name: str) -> None:
    """What one client makes of the streams."""
    install(session, *ASYNCIO, *MATRIX[name]["requires"])
    session.run(*STEP, "consume", name, str(FOLDER / "streams.json"), str(FOLDER / f"outcomes-{name}.json"))


for _client in CLIENTS:
    _consumed = partial(consumed, name=_client)
    _consumed.__doc__ = f"{MATRIX[_client]['title']}: what it makes of the streams of `differential`."
    nox.session(python="3.12", name=f"differential-{_client}")(_consumed)


@nox.session(name="differential-compare", python="3.12")
def compared(session: nox.Session) -> None:
    """Print the smallest streams on which clients disagree."""
    install(session, *ASYNCIO)
    session.run(
        *STEP, "compare", str(FOLDER / "streams.json"), *(str(FOLDER / f"outcomes-{name}.json") for name in CLIENTS)
    )
