"""What Bedrock says when something fails, as one literal table: each error's message, and where it is known from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Wording:
    """The text of an error, and its source: recorded, reported by users, or ours where nothing is known."""

    message: str
    source: str


RECORDED: Final = "recorded"
REPORTED: Final = "reported by users"
OURS: Final = "ours, in the manner of the recorded ones"

ERRORS: Final[Mapping[str, Wording]] = {
    "AccessDeniedException": Wording("You don't have access to the model with the specified model ID.", RECORDED),
    "InternalServerException": Wording(
        "The system encountered an unexpected error during processing. Try your request again.", OURS
    ),
    "ModelErrorException": Wording(
        "The model returned the following errors: An error occurred while processing your request.", OURS
    ),
    "ModelNotReadyException": Wording("Model is not ready for inference. Wait and try your request again.", OURS),
    "ModelStreamErrorException": Wording(
        "The model returned the following errors: An error occurred while streaming.", OURS
    ),
    "ModelTimeoutException": Wording("Model has timed out in processing the request. Try your request again.", OURS),
    "ResourceNotFoundException": Wording(
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
        RECORDED,
    ),
    "ServiceQuotaExceededException": Wording("Your request exceeds the service quota for your account.", OURS),
    "ServiceUnavailableException": Wording("Model is getting throttled. Try your request again.", RECORDED),
    "ThrottlingException": Wording("Too many requests, please wait before trying again.", REPORTED),
    "ValidationException": Wording("The provided model identifier is invalid.", RECORDED),
}
"""What each error says unless the test words it itself."""


def usual(name: str) -> str:
    """What an error says; its name, where nothing is known.

    >>> usual("ServiceUnavailableException"), usual("FutureException")
    ('Model is getting throttled. Try your request again.', 'FutureException')
    """
    return ERRORS[name].message if name in ERRORS else name
