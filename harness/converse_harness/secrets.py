"""What must never be shown or written, as one table of patterns and one of headers."""

from __future__ import annotations

import re
from typing import Final

from converse_harness.wire.http import Request

MASK: Final = "***"

SECRET_HEADERS: Final = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-amz-security-token", "x-api-key"}
)

PATTERNS: Final = (
    # The account id of an ARN, also in a path, where each colon is %3A
    re.compile(r"(?P<kept>\barn(?P<colon>:|%3[Aa])(?:(?:(?!(?P=colon))\S)*(?P=colon)){3})\d{12}(?=(?P=colon))"),
    re.compile(r"(?P<kept>)\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # an AWS access key id
    re.compile(r"(?P<kept>)\bABSK[A-Za-z0-9+/=]{16,}"),  # a long-term Bedrock API key
    re.compile(r"(?P<kept>)\bbedrock-api-key-[A-Za-z0-9+/=_-]{16,}"),  # a short-term Bedrock API key
    re.compile(r"(?P<kept>\bBearer\s+)[A-Za-z0-9._~+/=-]{16,}"),
    re.compile(r"(?P<kept>[?&]X-Amz-(?:Signature|Security-Token|Credential)=)[^&\s]+"),  # a signed URL
)
"""What matches is masked but for the group `kept`."""


def mask(text: str) -> str:
    """The text without its secrets, for failure messages and reports.

    >>> mask("arn:aws:bedrock:us-east-1:123456789012:inference-profile/x")
    'arn:aws:bedrock:us-east-1:***:inference-profile/x'
    >>> mask("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aprompt%2Fx/other")
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A***%3Aprompt%2Fx/other'
    """
    for pattern in PATTERNS:
        text = pattern.sub(lambda found: found["kept"] + MASK, text)
    return text


def mask_headers(request: Request) -> Request:
    """The request with the values of its secret headers masked."""
    headers = tuple((name, MASK if name.lower() in SECRET_HEADERS else value) for name, value in request.headers)
    return Request(request.method, request.target, headers, request.body)
