"""Which recorded exchange answers a call: by order, by the exact request, or by its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

from converse_harness.calls import Call
from converse_harness.recordings.exchange import Exchange

Match = Literal["order", "exact", "shape"]

MATCHES: Final[tuple[str, ...]] = get_args(Match)


def by_order(exchange: Exchange, call: Call) -> bool:
    """Any call of the operation is the next one."""
    return exchange.operation == call.operation


def by_exact_request(exchange: Exchange, call: Call) -> bool:
    """The same operation, model and request."""
    return exchange.operation == call.operation and dict(exchange.request) == dict(call.body)


def by_shape(exchange: Exchange, call: Call) -> bool:
    """The same operation and model, and requests whose `shape` is the same."""
    return exchange.operation == call.operation and shape(exchange.request) == shape(call.body)


def shape(request: Mapping[str, Any]) -> object:
    """What of a request stays the same where only prose changes: roles, kinds of blocks, names of tools."""
    return [
        (message.get("role"), [next(iter(block), None) for block in message.get("content", ())])
        for message in request.get("messages", ())
    ]


RULES: Final[Mapping[str, Callable[[Exchange, Call], bool]]] = {
    "order": by_order,
    "exact": by_exact_request,
    "shape": by_shape,
}
