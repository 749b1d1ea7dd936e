"""Ready boto clients. One botocore session for the process: what a client costs is the loading of its model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _session() -> Any:
    import botocore.session

    return botocore.session.get_session()


def create_client(region_name: str = "us-east-1", **options: Any) -> Any:
    """A new bedrock-runtime client with dummy keys, so that no credentials are looked for; `options` as for create_client."""
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
    return _session().create_client("bedrock-runtime", region_name=region_name, **{**keys, **options})
