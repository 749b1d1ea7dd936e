"""A fake Amazon Bedrock Converse endpoint for tests: real, unchanged clients, scripted answers.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converse_harness import cases as cases
    from converse_harness import faults as faults
    from converse_harness import reply as reply
    from converse_harness.bedrock.citations import citing as citing
    from converse_harness.endpoint.call import Call as Call
    from converse_harness.endpoint.endpoint import Endpoint as Endpoint
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
    from converse_harness.intercept.fake import Fake as Fake
    from converse_harness.intercept.in_process import fake_converse as fake_converse
    from converse_harness.intercept.recorder import record as record
    from converse_harness.recordings.play import recording as recording
    from converse_harness.recordings.redaction import Redaction as Redaction
    from converse_harness.reply.reply import Reply as Reply
    from converse_harness.server.listener import ConverseServer as ConverseServer
    from converse_harness.stream.assemble import Response as Response
    from converse_harness.stream.assemble import assemble as assemble
    from converse_harness.stream.chunk import chunk as chunk

_HOME = {
    "BlockedConnection": "errors",
    "Call": "endpoint.call",
    "CallError": "errors",
    "ConverseHarnessError": "errors",
    "ConverseServer": "server.listener",
    "DamagedData": "errors",
    "DoorError": "errors",
    "Endpoint": "endpoint.endpoint",
    "Fake": "intercept.fake",
    "Redaction": "recordings.redaction",
    "RefusedRequest": "errors",
    "RefusedRequestWarning": "errors",
    "Reply": "reply.reply",
    "ReplyError": "errors",
    "Response": "stream.assemble",
    "SecretFound": "errors",
    "StreamOrderError": "errors",
    "UnexpectedCall": "errors",
    "UnusedReplies": "errors",
    "assemble": "stream.assemble",
    "chunk": "stream.chunk",
    "citing": "bedrock.citations",
    "fake_converse": "intercept.in_process",
    "record": "intercept.recorder",
    "recording": "recordings.play",
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
