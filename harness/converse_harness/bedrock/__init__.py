"""Facts about Bedrock: AWS's API model in botocore, request rules, model families, guardrails, citations.

This module exports the functions for AWS's API model. `service.py` reads the API model, and `beyond.py` lists the
deviations of recorded answers from it. `checks.py` checks a value against a shape, and `codec.py` converts values to
JSON and back.
"""

from converse_harness.bedrock.api.beyond import BEYOND_MODEL, Beyond
from converse_harness.bedrock.api.checks import JSON_CHECKS, FindingKind, Violation, check, validate
from converse_harness.bedrock.api.codec import from_json, read_json, to_json
from converse_harness.bedrock.api.service import (
    CONTROL_PLANE,
    SERVICE,
    ErrorShape,
    NotInModel,
    Operation,
    Shape,
    all_errors,
    botocore_version,
    check_operation,
    enum,
    errors,
    has_member,
    has_shape,
    is_document,
    is_union,
    member,
    method_of,
    operation,
    operations,
    service,
    service_of,
    shape,
    stream_events,
    stream_exceptions,
    stream_shape,
)

__all__ = [
    "BEYOND_MODEL",
    "CONTROL_PLANE",
    "JSON_CHECKS",
    "SERVICE",
    "Beyond",
    "ErrorShape",
    "FindingKind",
    "NotInModel",
    "Operation",
    "Shape",
    "Violation",
    "all_errors",
    "botocore_version",
    "check",
    "check_operation",
    "enum",
    "errors",
    "from_json",
    "has_member",
    "has_shape",
    "is_document",
    "is_union",
    "member",
    "method_of",
    "operation",
    "operations",
    "read_json",
    "service",
    "service_of",
    "shape",
    "stream_events",
    "stream_exceptions",
    "stream_shape",
    "to_json",
    "validate",
]
