"""`converse_guard = session` and aiobotocore without keys: the request fails at signing, and the test nevertheless."""

from __future__ import annotations

import asyncio

import aiobotocore.session
import pytest

from converse_harness import BlockedConnection
from converse_harness.intercept.guard.session import SessionGuard


async def ask(service: str = "bedrock-runtime") -> None:
    async with aiobotocore.session.get_session().create_client(service, region_name="us-east-1") as client:
        if service == "bedrock-runtime":
            await client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
        else:
            await client.list_queues()


@pytest.fixture
def guard() -> SessionGuard:
    """The guard of a session, not open."""
    return SessionGuard()


def test_a_request_that_cannot_be_signed_is_refused(guard: SessionGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    guard.open()
    try:
        with pytest.raises(BlockedConnection, match="aiobotocore tried to reach bedrock-runtime") as raised:
            asyncio.run(ask())
        assert raised.value in guard.problems
        with pytest.raises(Exception, match="Unable to locate credentials"):
            asyncio.run(ask("sqs"))
        assert len(guard.problems) == 1
    finally:
        guard.close()
