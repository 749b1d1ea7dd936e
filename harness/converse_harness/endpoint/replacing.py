"""The interface of an object that replaces replies while a test runs a second time."""

from __future__ import annotations

from typing import Protocol

from converse_harness.endpoint.call import Call
from converse_harness.faults.model import Transport
from converse_harness.reply.reply import Reply


class Replacing(Protocol):
    """An object that may replace replies of Converse and ConverseStream before they are sent. Threads may share it."""

    lenient: bool
    """Whether the test may leave replies unused, because a replaced reply may end the client's work early."""

    def again(self, call: Call) -> Reply | None:
        """Return a reply that answers this call in place of the script; None if the script must answer the call."""
        ...

    def beyond(self, call: Call, *, refused: bool) -> Reply | None:
        """Return a reply to a call that the script does not answer; None if the call must fail.

        `refused` is true if Bedrock would refuse the request.
        """
        ...

    def instead(self, call: Call, reply: Reply, transport: Transport | None) -> Reply:
        """Return the reply to send in place of the scripted `reply`. To change nothing, return `reply` itself."""
        ...
