"""Functions that make replies. Each function checks its arguments against AWS's API model as soon as it is called.

Messages, blocks and events are plain dicts, as in the AWS API. The Endpoint adds realistic values for what is left out:
token usage, latency, ids of tool uses.
"""

from typing import TYPE_CHECKING

from converse_harness.features import names_of, owned_by_feature
from converse_harness.imports import no_such_name
from converse_harness.reply.exact import events, response
from converse_harness.reply.failures import (
    access_denied,
    connect_timeout,
    connection_refused,
    context_overflow,
    error,
    expired_token,
    internal_server_error,
    invalid_model_id,
    invalid_signature,
    model_error,
    model_not_ready,
    model_timeout,
    read_timeout,
    resource_not_found,
    service_unavailable,
    throttled,
    unknown_operation,
    unrecognized_client,
    validation_error,
)
from converse_harness.reply.guardrails import guardrail_blocked, guardrail_masked, guardrail_passed
from converse_harness.reply.messages import cited, json, message, reasoning, text, tool_use, tool_uses
from converse_harness.reply.operation_output import output

__all__ = [
    "access_denied",
    "cited",
    "connect_timeout",
    "connection_refused",
    "context_overflow",
    "error",
    "events",
    "expired_token",
    "guardrail_blocked",
    "guardrail_masked",
    "guardrail_passed",
    "internal_server_error",
    "invalid_model_id",
    "invalid_signature",
    "json",
    "message",
    "model_error",
    "model_not_ready",
    "model_timeout",
    "output",
    "read_timeout",
    "reasoning",
    "resource_not_found",
    "response",
    "service_unavailable",
    "text",
    "throttled",
    "tool_use",
    "tool_uses",
    "unknown_operation",
    "unrecognized_client",
    "validation_error",
]


if TYPE_CHECKING:  # the names that features add; at run time they are there if the feature is
    from converse_harness.features.embeddings.embedding import embedding as embedding
    from converse_harness.features.improvise.improvised import improvised as improvised


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # type checkers must not see `__getattr__`, so that they report unknown names of this module
    __all__.extend(names_of("reply"))

    def __getattr__(name):
        found = owned_by_feature("reply", name)
        if found is None:
            raise no_such_name(__name__, name, __dir__)
        return found
