"""litellm in the matrix, called plainly: on httpx, in process."""

from __future__ import annotations

from typing import Any

import litellm
import pytest

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


class _LitellmSync(MatrixContract):
    client = "litellm_sync"
    transport = "httpx"
    errors = ERRORS


class TestStream(_LitellmSync):
    known = STREAM

    def consume(self, target: Target) -> Outcome:
        forget_clients()
        stream = litellm.completion(**asked(target), stream=True)
        chunks: list[Any] = []
        try:
            for chunk in stream:
                chunks.append(chunk)  # noqa: PERF402 - those before an error count
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return broken_off(chunks, error)
        return streamed(chunks)


class TestWhole(_LitellmSync):
    operation = "Converse"
    known = WHOLE

    def consume(self, target: Target) -> Outcome:
        forget_clients()
        return whole(litellm.completion(**asked(target)))
