"""Every attribute of another library that is replaced while a fake is open: one table.

Tests, error messages and the patching itself read it. A name that ends the parameters as "..." stands for any others.
"""

from __future__ import annotations

from converse_harness.doors import boto, credentials
from converse_harness.doors.patching import Patches, Point

_SIGNING = ("self", "signing_name", "region_name", "signature_version", "request_credentials", "...")
_CLIENT = ("self", "service_name", "region_name", "config", "...")

POINTS = (
    Point(
        "botocore.endpoint",
        "Endpoint._send_request",
        ("self", "request_dict", "operation_model"),
        boto.hold_call,
        eager=True,
    ),
    Point("botocore.endpoint", "Endpoint._send", ("self", "request"), boto.answer, eager=True),
    Point(
        "botocore.endpoint",
        "Endpoint._do_get_response",
        ("self", "request", "operation_model", "context"),
        None,
        mentions=("_send",),
        eager=True,
    ),
    Point("botocore.signers", "RequestSigner.get_auth_instance", _SIGNING, credentials.sign_with_dummies, eager=True),
    Point("botocore.session", "Session.create_client", _CLIENT, credentials.create_without_keys, eager=True),
    Point("botocore.session", "Session.get_credentials", ("self",), credentials.defer_credentials, eager=True),
    Point(
        "moto.core.botocore_stubber",
        "BotocoreStubber.__call__",
        ("self", "event_name", "request", "kwargs"),
        boto.leave_bedrock,
    ),
)
"""What is replaced, with the parameters that it must have."""


def _switch(on: bool) -> None:
    """Told before the points go in and after they are out."""


PATCHES = Patches(POINTS, _switch)
