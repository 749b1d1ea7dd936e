"""The fakes of a ConverseServer, as the control API sees them."""

from __future__ import annotations

from converse_harness.doors.fake import RulesLevel, Strictness
from converse_harness.doors.server.fake import ServerFake
from converse_harness.doors.server.listener import ConverseServer


class FakesOf:
    """The fakes of one server."""

    def __init__(self, server: ConverseServer) -> None:
        self._server = server

    def open(
        self,
        *,
        seed: int = 0,
        unused: Strictness = "fail",
        unexpected: Strictness = "fail",
        rules: RulesLevel = "default",
    ) -> ServerFake:
        """Open one."""
        return self._server.script(seed=seed, unused=unused, unexpected=unexpected, rules=rules)

    def all(self) -> list[ServerFake]:
        """Those that are open."""
        return self._server.fakes
