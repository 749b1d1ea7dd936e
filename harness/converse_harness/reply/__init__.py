"""How people write replies. Everything is checked against AWS's model at the line that writes it.

Messages, blocks and events are the plain dicts of the AWS API. What has to be believable but was not written, the
Endpoint fills in: token usage, latency, tool use ids.
"""

from converse_harness.reply.failures import (
    connect_timeout,
    connection_refused,
    context_overflow,
    error,
    read_timeout,
    throttled,
)
from converse_harness.reply.plain import events, json, message, text, tool_use

__all__ = [
    "connect_timeout",
    "connection_refused",
    "context_overflow",
    "error",
    "events",
    "json",
    "message",
    "read_timeout",
    "text",
    "throttled",
    "tool_use",
]
