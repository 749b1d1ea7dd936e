"""The nox session that compares with detect-secrets; noxfile.py runs this file with its own install."""

from typing import Any

import nox

install: Any = globals()["install"]


@nox.session
def detect_secrets(session: nox.Session) -> None:
    """What detect-secrets finds in the corpus of shapes and we do not; `-- --write` stores it as known."""
    install(session, "detect-secrets==1.5.0", extra="[test]")
    session.run("python", "-m", "tests.secrets.shapes.others", *session.posargs)
