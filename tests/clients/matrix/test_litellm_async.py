"""litellm in the matrix, awaited: on aiohttp, in process."""

from __future__ import annotations

from typing import Any

import litellm
import pytest
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

from converse_harness.contract import Outcome, Target
from tests.clients.litellm_warnings import WARNINGS
from tests.clients.matrix.base import MatrixContract
from tests.clients.matrix.litellm_outcome import (
    ERRORS,
    STREAM,
    WHOLE,
    asked,
    broken_off,
    forget_clients,
    streamed,
    whole,
)

pytestmark = [pytest.mark.filterwarnings(warning) for warning in WARNINGS]


class _LitellmAsync(MatrixContract):
    client = "litellm_async"
    transport = "boto"
    errors = ERRORS

    async def consume(self, target: Target) -> Outcome:
        forget_clients()
        try:
            return await self.answer({**asked(target)})
        finally:
            await close_litellm_async_clients()  # type: ignore[no-untyped-call]  # the only untyped one of litellm here

    async def answer(self, question: dict[str, Any]) -> Outcome:
        raise NotImplementedError


class TestStream(_LitellmAsync):
    known = STREAM

    async def answer(self, question: dict[str, Any]) -> Outcome:
        stream = await litellm.acompletion(**question, stream=True)
        chunks: list[Any] = []
        try:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401 - those before an error count
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return broken_off(chunks, error)
        return streamed(chunks)


class TestWhole(_LitellmAsync):
    operation = "Converse"
    known = WHOLE

    async def answer(self, question: dict[str, Any]) -> Outcome:
        return whole(await litellm.acompletion(**question))
