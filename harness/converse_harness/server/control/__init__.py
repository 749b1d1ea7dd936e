"""The control API: what a test in any language says to the server over HTTP, without I/O.

`vocabulary.py` has the words of a reply as one table, `scripting.py` reads what a body scripts, `api.py` has the routes
as one table, `openapi.json` describes them for people and generators; tests hold the four together.
"""

from converse_harness.server.control.api import ROUTES, ControlApi, Fakes

__all__ = ["ROUTES", "ControlApi", "Fakes"]
