"""Call any operation of any Bedrock service in botocore with its own client, and read the whole answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

import botocore.session
from botocore.config import Config

from converse_harness import bedrock

REFUSED: Final = ("Converse", "ConverseStream", "InvokeModelWithBidirectionalStream")
OPERATIONS: Final = tuple(
    (service, name) for service in bedrock.services() for name in bedrock.operations(service) if name not in REFUSED
)
"""Every operation that `on_operation` answers, each with its service."""

STREAMS: Final = tuple(each for each in OPERATIONS if bedrock.event_stream(each[1], each[0]) is not None)


@cache
def _session() -> Any:  # botocore has no type hints
    """Return one session for all clients, so that two clients of a service have the same classes of errors."""
    session: Any = botocore.session.get_session()
    return session


@cache
def client(service: str, endpoint_url: str | None = None) -> Any:
    """Return a client of a service that tries once. It is kept, because botocore takes long to make one."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    once = Config(retries={"total_max_attempts": 1, "mode": "standard"}, read_timeout=1)
    return _session().create_client(service, endpoint_url=endpoint_url, config=once, **keys)


def ask(service: str, name: str, params: Mapping[str, Any], *, endpoint_url: str | None = None) -> dict[str, Any]:
    """Call an operation. Return the members of its output, with the bytes of a body and the list of the events."""
    answer: dict[str, Any] = getattr(client(service, endpoint_url), bedrock.method_of(name))(**params)
    answer.pop("ResponseMetadata")
    stream = bedrock.event_stream(name, service)
    if stream is not None:
        answer[stream.member] = list(answer[stream.member])
    return {key: value.read() if hasattr(value, "read") else value for key, value in answer.items()}


def comparable(value: Any) -> Any:
    """Return a value in which times and numbers are as exact as JSON carries them."""
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    if isinstance(value, datetime):
        return round(value.timestamp(), 2)
    return round(value, 4) if isinstance(value, float) else value
