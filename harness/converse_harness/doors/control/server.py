"""The fakes of a ConverseServer, as the control API sees them."""

from __future__ import annotations

from typing import Unpack

from converse_harness.doors.fake import Settings
from converse_harness.doors.server.fake import ServerFake
from converse_harness.doors.server.listener import ConverseServer


class FakesOf:
    """The fakes of one server."""

    def __init__(self, server: ConverseServer) -> None:
        self._server = server

    def open(self, **settings: Unpack[Settings]) -> ServerFake:
        """Open one; what is not said is as the server has it."""
        return self._server.script(**settings)

    def all(self) -> list[ServerFake]:
        """Those that are open."""
        return self._server.fakes
