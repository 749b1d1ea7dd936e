"""The error tree: one branch per person who can mend it.

`ReplyError`: you wrote a reply, script or option wrong. `CallError`: the client under test did something that the
script does not allow. `DamagedData`: bytes or a file are not what they claim to be. `TransportError`: a transport
cannot open. `SecretFound`: what is to be written holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar


class ConverseHarnessError(Exception):
    """Base of everything that converse-harness raises."""


class ReplyError(ConverseHarnessError, ValueError):
    """A reply, script, marker or option was written wrong; raised at the line that wrote it."""


class StreamOrderError(ReplyError):
    """Stream events stand in an order that ConverseStream never sends; says which, where, and what is legal there."""


class DamagedData(ConverseHarnessError, ValueError):
    """Bytes or a file break their format."""


class CallError(ConverseHarnessError, AssertionError):
    """The client under test did something that the script does not allow; fails the test."""


class UnexpectedCall(CallError):
    """A call came in for which nothing is scripted."""


class RefusedRequest(CallError):
    """A request came in that Bedrock would refuse; says the rule, the place, Bedrock's words and who saw them."""


class ChangedHistory(CallError):
    """A call changed what the model had said before; says what it was and what it is now."""


class NotedCall(CallError):
    """A fake has something to note, and the ini setting `converse_notes` is `fail`."""


class ConverseNoteWarning(UserWarning):
    """A note of a fake, where the ini setting `converse_notes` is `warning`."""


class FakeNotOpenWarning(UserWarning):
    """A fake was scripted that is not open: it answers nobody."""


class UnusedReplies(CallError):
    """The test ended with replies that no call asked for."""


class BlockedConnection(CallError):
    """While a fake is on, something tried to reach a Bedrock host by a way that the open transports do not cover."""


class TransportError(ConverseHarnessError):
    """A transport cannot open: the library that it patches is not as expected."""


class SecretFound(ConverseHarnessError):
    """An exchange was not written because it would hold a secret that cannot be masked; says where and of what kind.

    The other exchanges of the recording are written.
    """


class MaskedSecretWarning(UserWarning):
    """A recording has `***` in the place of a secret: what is replayed there is not what Bedrock said, or was asked."""


_Name = TypeVar("_Name", bound=str)


def one_of(setting: str, value: object, known: Mapping[_Name, str]) -> _Name:
    """The name of a closed list that a value is; the list says what each of them means. Raises ReplyError.

    >>> one_of("failed", "drop", {"write": "as if it had passed", "drop": "forget it"})
    'drop'
    """
    for name in known:
        if name == value:
            return name
    listed = ", ".join(f'"{name}" ({meaning})' for name, meaning in known.items())
    raise ReplyError(f"{setting}={value!r}; one of {listed}.")


# Under the name by which people import them, in tracebacks as well; they are found there again when they are unpickled.
for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, ConverseHarnessError | Warning):
        _error.__module__ = "converse_harness"
