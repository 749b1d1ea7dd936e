"""Create boto clients, and create environment variables with which any client sends its requests to a fake."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

ACCESS_KEY: Final = "converse-harness-dummy-key"
SECRET_KEY: Final = "converse-harness-dummy-secret"
BEARER_TOKEN: Final = "converse-harness-dummy-token"
REGION: Final = "us-east-1"
"""The region of a client without a configured region."""

ENDPOINTS: Final = (
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "AWS_ENDPOINT_URL_BEDROCK",
    "AWS_ENDPOINT_URL_BEDROCK_AGENT",
    "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME",
    "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE",
    "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL",
    "AWS_ENDPOINT_URL_BEDROCK_DATA_AUTOMATION",
    "AWS_ENDPOINT_URL_BEDROCK_DATA_AUTOMATION_RUNTIME",
    "AWS_BEDROCK_RUNTIME_ENDPOINT",
)
"""The environment variables from which AWS's SDKs, the AI SDK and litellm read a Bedrock endpoint."""

KEYS: Final = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_SESSION_TOKEN": "",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION_NAME": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Environment variables with dummy keys and a region, under all names that AWS's SDKs and litellm read.

The last variable stops clients from querying the instance metadata service."""

ACCOUNT: Final = {
    **KEYS,
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
    "AWS_USE_FIPS_ENDPOINT": "false",
    "AWS_USE_DUALSTACK_ENDPOINT": "false",
}
"""Environment variables with dummy keys, and with settings for a client whose endpoint URL is set by another variable.

FIPS and dual-stack endpoints are off, because AWS's JavaScript SDK refuses to combine them with an endpoint URL."""

LOCAL: Final = ("127.0.0.1", "localhost", "::1")
"""The names and addresses of localhost, as entries for NO_PROXY."""


def environ(url: str, outer: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for a program: its Bedrock clients send requests to `url`, without a proxy.

    `outer` is the environment to which the variables will be added; its NO_PROXY entries are kept.
    """
    unproxied = {name: ",".join(filter(None, (outer.get(name), *LOCAL))) for name in ("NO_PROXY", "no_proxy")}
    return {**dict.fromkeys(ENDPOINTS, url), **ACCOUNT, **unproxied}


def is_loopback(url: str) -> bool:
    """Whether the host of a URL is localhost or a loopback address."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=1)
def _session() -> Any:
    from importlib import import_module

    session: Any = import_module("botocore.session")  # `Any`, because botocore has no type hints
    return session.get_session()


def create_client(region_name: str = "us-east-1", **options: Any) -> Any:
    """Create a bedrock-runtime client. It has dummy keys, so that botocore does not search for credentials.

    `options` are further keyword arguments of botocore's `create_client`.
    """
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
    return _session().create_client("bedrock-runtime", region_name=region_name, **{**keys, **options})


def create_real_client() -> Any:
    """Create a bedrock-runtime client for recording: its credentials and region are those that botocore finds."""
    return _session().create_client("bedrock-runtime")
