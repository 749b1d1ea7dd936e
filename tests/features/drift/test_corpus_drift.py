"""Two answers that AWS gave to different requests differ in what was asked, and in little else that counts as drift."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from converse_harness.bedrock.models import COUNTERS
from converse_harness.features.drift.drift import drift_between
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.stream.frames import Decoder, encode
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media, rows_of_aws

ASKED: Final = re.compile(
    r"(?:messageStop\.)?stopReason .*"
    r"|(?:event |output\.message\.content\[\*\].*|contentBlock).*"  # other kinds of blocks
    r"|(?:\w+\.)?(?:trace|performanceConfig|serviceTier|additionalModelResponseFields) is (?:new|missing)"
)
"""Matches the changes that another request explains."""

NAME: Final = re.compile(r"\.inputAssessment\.\w+|^metadata\.| is (?:new|missing)$")
"""Matches the id of a guardrail, and what differs between a stream and an answer in JSON."""

_COUNTED: Final = "invocationMetrics.usage."
_GUARDS: Final = ("automatedReasoningPolicies", "automatedReasoningPolicyUnits", "contentPolicyImageUnits")

OTHERS: Final = {
    **dict.fromkeys((f"usage.{name}" for name in COUNTERS), 1),  # the first request of the two has a cachePoint
    "usage.serverToolUsage": 6,  # the two are of different months
    **{f"trace.guardrail.{name}": 4 for name in ("actionReason", *(f"{_COUNTED}{each}" for each in _GUARDS))},
}
"""The changes that the requests do not explain: what the service has changed between two months, which is drift."""


def lines_of(known: dict[str, Any]) -> list[Line]:
    """The lines of an exchange of the corpus."""
    request, response = known["request"], known["response"]
    data = base64.b64decode(response["body_base64"])
    streams = response["is_event_stream"]
    pieces = [encode(frame) for frame in Decoder().feed(data)] if streams else [data]
    kind = "application/vnd.amazon.eventstream" if streams else "application/json"
    captured = CapturedExchange(
        Request("POST", request["path"], (), body_with_media(request["body"])),
        known["operation"],
        response["status"],
        (("Content-Type", kind),),
        pieces=[(piece, 0.1) for piece in pieces],
    )
    return exchange_lines(captured, 1)


def test_what_is_called_drift_is_explained(shared: Path) -> None:
    """Neighbours of one suite, model and operation: mostly of one month. Ids, keys and their order are the same."""
    answers: defaultdict[tuple[str, ...], list[list[Line]]] = defaultdict(list)
    for row in rows_of_aws(shared):
        known = json.loads((shared / "corpus" / row["file"]).read_text())
        if row["status"] == 200:
            lines = lines_of(known)
            answers[row["file"].partition("/")[0], lines[0]["operation"], lines[0]["modelId"]].append(lines)
    pairs = [pair for each in answers.values() for pair in pairwise(each)]
    found = [drift_between(*pair) for pair in pairs]
    others = [text for each in found for text in (*each.form, *each.usage_keys) if not ASKED.fullmatch(text)]
    assert len(pairs) == 279
    assert Counter(NAME.sub("", text) for text in others) == OTHERS
