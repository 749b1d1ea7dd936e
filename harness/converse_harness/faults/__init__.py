"""Deliberate breaches of the protocol, by name: `reply.text("a").broken(faults.reset)`.

They come from two tables, `order.ORDER_FAULTS` and `response.RESPONSE_FAULTS`; those in NOT_SENDABLE are left out. The
stub `__init__.pyi` declares the name of each fault for type checkers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from converse_harness.faults.model import Fault as Fault
from converse_harness.faults.order import ORDER_FAULTS
from converse_harness.faults.response import RESPONSE_FAULTS
from converse_harness.imports import no_such_name

NOT_SENDABLE: Final[Mapping[str, str]] = {
    "no_events": "empty_200 is the same on the wire",
    "event_of_two_types": "a frame has one type",
    "event_without_type": "a frame has a type",
}
"""The faults of `order.ORDER_FAULTS` that a fake cannot send, each with the reason. This module leaves them out."""

FAULTS: Final[Mapping[str, Fault]] = {
    **{name: fault for name, fault in ORDER_FAULTS.items() if name not in NOT_SENDABLE},
    **RESPONSE_FAULTS,
}
"""Maps the name of each fault that a fake can send to the fault."""

globals().update(FAULTS, __all__=sorted(FAULTS))


def __dir__() -> list[str]:
    return sorted(FAULTS)


def __getattr__(name: str) -> NoReturn:
    raise no_such_name(__name__, name, __dir__)
