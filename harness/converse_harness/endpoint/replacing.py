"""The interface through which a second run of a test replaces replies."""

from __future__ import annotations

from typing import Protocol

from converse_harness.endpoint.call import Call
from converse_harness.faults.model import Transport
from converse_harness.reply.reply import Reply


class Replacing(Protocol):
    """Sees every reply of Converse and ConverseStream before it is sent, and may replace it. Any thread may call it."""

    lenient: bool
    """Whether replies may stay unused, because a replaced reply may end the client's work early."""

    def again(self, call: Call) -> Reply | None:
        """Return a reply that answers this call in place of the script; None if the script answers it."""
        ...

    def beyond(self, call: Call, *, refused: bool) -> Reply | None:
        """Return a reply to a call that the script does not answer; None if it is unexpected or to be `refused`."""
        ...

    def instead(self, call: Call, reply: Reply, transport: Transport | None) -> Reply:
        """Return the reply to send in place of `reply`, which the script chose; `reply` itself changes nothing."""
        ...

    def answers_as(self, call: Call) -> str:
        """Return the id of the model in whose manner a call is answered; rules still ask the call's own model."""
        ...
