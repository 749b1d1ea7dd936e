"""The AWS SDK for JavaScript in the matrix: a plain loop over what it hands out, over HTTP/2 as it does by default."""

from __future__ import annotations

from converse_harness.contract import Outcome, Target
from tests.clients.matrix.base import because
from tests.clients.matrix.folding import Fold, whole
from tests.clients.matrix.javascript import JavaScriptContract

STREAM: dict[str, str] = {}
WHOLE: dict[str, str] = {}


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
