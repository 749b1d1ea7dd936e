"""What can be wrong with the bytes of an event stream: one class for each kind of violation.

Each message says what came, what is allowed, where in the stream it stands and what to do.
"""

from __future__ import annotations

from typing import ClassVar

from converse_harness.errors import DamagedData, ReplyError


class UnwritableFrame(ReplyError):
    """Headers or a payload that no frame can carry, found when a frame is written.

    A `ReplyError`, because whoever wrote them mends it; and one class, because a person reads its message, while the
    kinds of `FrameError` tell a program what is wrong with bytes that came from elsewhere.
    """


class FrameError(DamagedData):
    """Bytes that are not a frame; `offset` is where in the stream, in bytes from its start, the violation stands."""

    advice: ClassVar[str] = "Mend what wrote these bytes."

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset

    def __str__(self) -> str:
        return f"byte {self.offset} of the stream: {super().__str__()}. {self.advice}"


class TruncatedFrame(FrameError):
    """The stream ends within a frame."""

    advice = "The stream was cut: keep the frames before this one, and treat the answer as incomplete."


class TrailingBytes(FrameError):
    """Bytes follow the one frame that was asked for."""

    advice = "Read a stream of several frames with Decoder."


class PreludeChecksumMismatch(FrameError):
    """The lengths at the start of a frame do not match their CRC."""

    advice = "A length was changed after it was written, or these bytes are not the start of a frame."


class MessageChecksumMismatch(FrameError):
    """A frame does not match its CRC."""

    advice = "Headers or payload were changed after they were written."


class FrameTooShort(FrameError):
    """The total length is less than that of a frame without headers and payload."""


class HeadersOverrun(FrameError):
    """The headers are longer than the frame has room for."""


class HeadersTooLong(FrameError):
    """The headers are longer than `eventstream.MAX_HEADERS_LENGTH`."""


class PayloadTooLong(FrameError):
    """The payload is longer than `eventstream.MAX_PAYLOAD_LENGTH`."""


class EmptyHeaderName(FrameError):
    """A header's name has no bytes."""


class HeaderNameCutOff(FrameError):
    """A header's name, and the type that follows it, reach beyond the headers."""


class UnknownHeaderType(FrameError):
    """A type byte that is none of `eventstream.HeaderType`."""


class HeaderValueCutOff(FrameError):
    """A header's value reaches beyond the headers."""


class HeaderValueTooLong(FrameError):
    """A string or byte array is longer than `eventstream.MAX_VALUE_LENGTH`."""


class InvalidUtf8(FrameError):
    """A header's name or string is not UTF-8."""


class DuplicateHeader(FrameError):
    """Two headers of a frame have the same name."""
