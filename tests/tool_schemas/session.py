"""The nox session of the tool schemas; noxfile.py runs this file with its own install and node_is_there."""

from pathlib import Path
from typing import Any

import nox

install: Any = globals()["install"]
node_is_there: Any = globals()["node_is_there"]

PACKAGES = (
    *("mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24", "mcp-server-time==2026.10.19"),
    *("openai==3.57.0", "anthropic==2.13.0", "langchain-community==0.4.2", "jsonschema[format]"),
)


@nox.session(python="3.12")
def tool_schemas(session: nox.Session) -> None:
    """Inputs for some 450 tool schemas of released packages, checked by jsonschema; needs Node.js 20 with npm."""
    node_is_there(session)
    install(session, *PACKAGES)
    folder = Path(session.create_tmp()).resolve()
    (folder / "package.json").write_bytes(Path("tests/tool_schemas/package.json").read_bytes())
    session.run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), external=True)
    session.run("python", "-W", "ignore", "-m", "tests.tool_schemas", str(folder / "node_modules"))
