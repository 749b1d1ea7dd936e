"""What the control API says when it does not do what it was asked."""

from __future__ import annotations

from enum import Enum

from converse_harness.errors import ReplyError


class Refusal(Enum):
    """Why a request is not carried out: the HTTP status, and the AWS error whose shape the answer has."""

    WRONG = (400, "ValidationException")
    NO_FAKE = (404, "ResourceNotFoundException")
    NO_PATH = (404, "UnknownOperationException")
    NO_METHOD = (405, "UnknownOperationException")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.value[0]

    @property
    def error(self) -> str:
        """The name in x-amzn-ErrorType."""
        return self.value[1]


class Refused(ReplyError):
    """A request to the control API that is not carried out; nothing has changed."""

    def __init__(
        self, message: str, refusal: Refusal = Refusal.WRONG, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.headers = headers
