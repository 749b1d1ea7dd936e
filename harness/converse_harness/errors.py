"""The error tree: one branch per person who can fix the cause.

`ReplyError`: you wrote a reply, script or option wrong. `CallError`: the client under test did something that the
script does not allow. `DamagedData`: bytes or a file are not what they claim to be. `TransportError`: a transport
cannot open. `SecretFound`: data to be written contains a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar


class ConverseHarnessError(Exception):
    """The base class of all exceptions that converse-harness raises."""


class ReplyError(ConverseHarnessError, ValueError):
    """A reply, script, marker or option was written wrong; raised at the line that wrote it."""


class StreamOrderError(ReplyError):
    """Stream events are in an order that ConverseStream never sends; the message names the event and the legal ones."""


class DamagedData(ConverseHarnessError, ValueError):
    """Bytes or a file violate their format."""


class CallError(ConverseHarnessError, AssertionError):
    """The client under test did something that the script does not allow. This error fails the test."""


class UnexpectedCall(CallError):
    """A call arrived for which nothing is scripted."""


class RefusedRequest(CallError):
    """A request arrived that Bedrock would refuse; the message contains the rule, the path in the request,
    Bedrock's own message and the evidence.
    """


class ChangedHistory(CallError):
    """A call changed an earlier answer of the model. The message contains the old and the new text."""


class NotedCall(CallError):
    """A fake has a note about a call, and the ini setting `converse_notes` is `fail`."""


class ConverseNoteWarning(UserWarning):
    """The warning for a fake's note about a call, if the ini setting `converse_notes` is `warning`."""


class FakeNotOpenWarning(UserWarning):
    """A test adds replies to a fake that is not open, so the fake answers no client."""


class UnusedReplies(CallError):
    """The test ended with scripted replies that no call used."""


class BlockedConnection(CallError):
    """While a fake was open, code tried to reach a Bedrock host in a way that the open transports do not cover."""


class TransportError(ConverseHarnessError):
    """A transport cannot open: the library that it patches is not as expected."""


class SecretFound(ConverseHarnessError):
    """An exchange was not written because it contains a secret that cannot be masked; the message contains the
    secret's place and kind.

    The other exchanges of the recording are written.
    """


class MaskedSecretWarning(UserWarning):
    """A recording has `***` in place of a secret, so the replayed value differs from the real one."""


_Name = TypeVar("_Name", bound=str)


def one_of(setting: str, value: object, known: Mapping[_Name, str]) -> _Name:
    """Return the value if it is a key of `known`, which maps names to meanings. Raises ReplyError otherwise.

    >>> one_of("failed", "drop", {"write": "as if it had passed", "drop": "forget it"})
    'drop'
    """
    for name in known:
        if name == value:
            return name
    listed = ", ".join(f'"{name}" ({meaning})' for name, meaning in known.items())
    raise ReplyError(f"{setting}={value!r}; one of {listed}.")


# Users import these classes from `converse_harness`, so tracebacks and pickle must use that module name.
for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, ConverseHarnessError | Warning):
        _error.__module__ = "converse_harness"
