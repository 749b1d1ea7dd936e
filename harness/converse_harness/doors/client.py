"""Ready boto clients. One botocore session for the process: what a client costs is the loading of its model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _session() -> Any:
    from importlib import import_module

    session: Any = import_module("botocore.session")  # botocore has no types of its own
    return session.get_session()


def create_client(region_name: str = "us-east-1", **options: Any) -> Any:
    """A new bedrock-runtime client with dummy keys, so that none are looked for; `options` are those of botocore."""
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
    return _session().create_client("bedrock-runtime", region_name=region_name, **{**keys, **options})


def create_real_client() -> Any:
    """A new bedrock-runtime client with the credentials and the region of the environment, for one that records."""
    return _session().create_client("bedrock-runtime")
