"""A fake Amazon Bedrock Converse endpoint for tests: real, unchanged clients, scripted answers.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converse_harness import cases as cases
    from converse_harness import faults as faults
    from converse_harness import reply as reply
    from converse_harness.assembly import Response as Response
    from converse_harness.assembly import assemble as assemble
    from converse_harness.calls import Call as Call
    from converse_harness.chunking import chunk as chunk
    from converse_harness.citation import citing as citing
    from converse_harness.doors.fake import Fake as Fake
    from converse_harness.doors.in_process import fake_converse as fake_converse
    from converse_harness.doors.recorder import record as record
    from converse_harness.doors.server.listener import ConverseServer as ConverseServer
    from converse_harness.endpoint import Endpoint as Endpoint
    from converse_harness.errors import BlockedConnection as BlockedConnection
    from converse_harness.errors import CallError as CallError
    from converse_harness.errors import ConverseHarnessError as ConverseHarnessError
    from converse_harness.errors import DamagedData as DamagedData
    from converse_harness.errors import DoorError as DoorError
    from converse_harness.errors import RefusedRequest as RefusedRequest
    from converse_harness.errors import RefusedRequestWarning as RefusedRequestWarning
    from converse_harness.errors import ReplyError as ReplyError
    from converse_harness.errors import SecretFound as SecretFound
    from converse_harness.errors import StreamOrderError as StreamOrderError
    from converse_harness.errors import UnexpectedCall as UnexpectedCall
    from converse_harness.errors import UnusedReplies as UnusedReplies
    from converse_harness.recordings.playing.recording import recording as recording
    from converse_harness.recordings.secrecy.redaction import Redaction as Redaction
    from converse_harness.replies import Reply as Reply

_HOME = {
    "BlockedConnection": "errors",
    "Call": "calls",
    "CallError": "errors",
    "ConverseHarnessError": "errors",
    "ConverseServer": "doors.server.listener",
    "DamagedData": "errors",
    "DoorError": "errors",
    "Endpoint": "endpoint",
    "Fake": "doors.fake",
    "Redaction": "recordings.secrecy.redaction",
    "RefusedRequest": "errors",
    "RefusedRequestWarning": "errors",
    "Reply": "replies",
    "ReplyError": "errors",
    "Response": "assembly",
    "SecretFound": "errors",
    "StreamOrderError": "errors",
    "UnexpectedCall": "errors",
    "UnusedReplies": "errors",
    "assemble": "assembly",
    "chunk": "chunking",
    "citing": "citation",
    "fake_converse": "doors.in_process",
    "record": "doors.recorder",
    "recording": "recordings.playing.recording",
}

__all__ = [
    "BlockedConnection",
    "Call",
    "CallError",
    "ConverseHarnessError",
    "ConverseServer",
    "DamagedData",
    "DoorError",
    "Endpoint",
    "Fake",
    "Redaction",
    "RefusedRequest",
    "RefusedRequestWarning",
    "Reply",
    "ReplyError",
    "Response",
    "SecretFound",
    "StreamOrderError",
    "UnexpectedCall",
    "UnusedReplies",
    "assemble",
    "cases",
    "chunk",
    "citing",
    "fake_converse",
    "faults",
    "record",
    "recording",
    "reply",
]

if not TYPE_CHECKING:  # type checkers must see a typo in an import, so they must not see this function

    def __getattr__(name):
        if name in ("cases", "faults", "reply"):
            return import_module(f"converse_harness.{name}")
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"converse_harness.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return __all__
