"""aiobotocore in the matrix: a plain loop over what it hands out, in process, on aiohttp."""

from __future__ import annotations

from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from converse_harness.contract import Outcome, Target
from tests.clients.matrix.base import MatrixContract, because
from tests.clients.matrix.folding import folded_async, whole

STREAM = {
    # As botocore, whose frames and parsers these are. There is no stop reason either, which a caller could look for.
    **because(
        "a stream that ends too early ends without an error",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "truncated_frame", "cut_in_prelude", "cut_in_headers"),
        *("again_unfinished", "again_half_text", "again_half_frame", "again_half_input", "again_after_tool"),
        "empty_200",
    ),
}
WHOLE = {
    **because("a body that is not there is read as an answer without content", "empty_200"),
    **because("a 200 that is no answer is read as an answer without content", "unknown_operation"),
}

SESSION = get_session()
"""One for all clients: it reads AWS's API model once."""


def client(target: Target) -> Any:
    """A client as anybody makes one; keys it finds none."""
    timeouts = AioConfig(read_timeout=target.patience, connect_timeout=target.patience)
    return SESSION.create_client("bedrock-runtime", region_name="us-east-1", config=timeouts)


class _Aiobotocore(MatrixContract):
    client = "aiobotocore"
    transport = "boto"


class TestStream(_Aiobotocore):
    known = STREAM

    async def consume(self, target: Target) -> Outcome:
        async with client(target) as bedrock:
            return await folded_async((await bedrock.converse_stream(**target.request))["stream"])


class TestWhole(_Aiobotocore):
    operation = "Converse"
    known = WHOLE

    async def consume(self, target: Target) -> Outcome:
        async with client(target) as bedrock:
            return whole(await bedrock.converse(**target.request))
