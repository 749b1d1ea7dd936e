"""The variables by which clients find Bedrock, as tables, and which addresses are this machine's own."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

ACCESS_KEY: Final = "converse-harness-dummy-key"
SECRET_KEY: Final = "converse-harness-dummy-secret"
BEARER_TOKEN: Final = "converse-harness-dummy-token"
REGION: Final = "us-east-1"
"""The region of a client for which none is configured."""

ENDPOINTS: Final = (
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "AWS_ENDPOINT_URL_BEDROCK",
    "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME",
    "AWS_BEDROCK_RUNTIME_ENDPOINT",
)
"""Variables that AWS's SDKs, the AI SDK and litellm read an endpoint of Bedrock from."""

ACCOUNT: Final = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION_NAME": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
}
"""An account that is none, with the names that SDKs and litellm read; and no asking a machine for keys it has not."""

LOCAL: Final = "127.0.0.1,localhost"


def environ(url: str) -> dict[str, str]:
    """The variables that lead a program's Bedrock clients to `url`, and no proxy in between."""
    return {**dict.fromkeys(ENDPOINTS, url), **ACCOUNT, "NO_PROXY": LOCAL, "no_proxy": LOCAL}


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
