"""The AWS SDK for JavaScript in the matrix: a plain loop over what it hands out, over HTTP/2 as it does by default."""

from __future__ import annotations

from converse_harness.contract import Outcome, Target
from tests.clients.matrix.base import because
from tests.clients.matrix.folding import Fold, whole
from tests.clients.matrix.javascript import JavaScriptContract

CLOSES = "its requestTimeout closes the stream, and is an error only of a request that has no head yet; "

STREAM = {
    **because(
        "a stream that ends too early ends without an error",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "empty_200"),
        *("again_unfinished", "again_half_text", "again_half_input", "again_after_tool"),
    ),
    **because(CLOSES + "what came before looks whole", "stall"),
}
WHOLE = {
    **because("a body that is not there is read as an answer without content", "empty_200"),
    **because("a 200 that is no answer is read as an answer without content", "unknown_operation"),
    **because(CLOSES + "what came before is read as JSON", "stall"),
    **because(
        "Node ends the streams of an HTTP/2 connection that was closed as if they were complete; what came before is "
        "read as JSON",
        "closed",
    ),
}


class _AwsSdk(JavaScriptContract):
    client = "aws_sdk_js"
    asked_with = "aws-sdk"


class TestStream(_AwsSdk):
    known = STREAM

    def consume(self, target: Target) -> Outcome:
        handed = self.hand_out(target)
        fold = Fold()
        for event in handed["events"]:
            fold.take(event)
        return fold.outcome(handed["name"])


class TestWhole(_AwsSdk):
    operation = "Converse"
    known = WHOLE

    def consume(self, target: Target) -> Outcome:
        handed = self.hand_out(target)
        return Outcome(error=handed["name"]) if handed["answer"] is None else whole(handed["answer"])
