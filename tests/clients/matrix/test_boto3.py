"""boto3 in the matrix: a plain loop over what it hands out, in process."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from converse_harness.contract import Outcome, Target
from tests.clients.matrix.base import MatrixContract, because
from tests.clients.matrix.folding import folded, whole

STREAM = {
    # It does not miss what a caller could: there is no stop reason either.
    **because(
        "a stream that ends too early ends without an error",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "truncated_frame", "cut_in_prelude", "cut_in_headers"),
        *("again_unfinished", "again_half_text", "again_half_frame", "again_half_input", "again_after_tool"),
        "empty_200",
    ),
}
WHOLE = {
    **because("a body that is cut off, or not there, is read as an answer without content", "empty_200", "closed"),
    **because("a 200 that is no answer is read as an answer without content", "unknown_operation"),
}


def client(target: Target) -> Any:
    """A client as anybody makes one; keys it finds none."""
    timeouts = Config(read_timeout=target.patience, connect_timeout=target.patience)
    return boto3.client("bedrock-runtime", region_name="us-east-1", config=timeouts)


class _Boto3(MatrixContract):
    client = "boto3"
    transport = "boto"


class TestStream(_Boto3):
    known = STREAM

    def consume(self, target: Target) -> Outcome:
        return folded(client(target).converse_stream(**target.request)["stream"])


class TestWhole(_Boto3):
    operation = "Converse"
    known = WHOLE

    def consume(self, target: Target) -> Outcome:
        return whole(client(target).converse(**target.request))
