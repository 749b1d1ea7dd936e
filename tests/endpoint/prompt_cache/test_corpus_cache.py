"""What recorded sessions read from the prompt cache and wrote to it, and what a fake says that was asked the same."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from converse_harness import Endpoint, reply
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media, shared

__all__ = ["shared"]

EARLIER: Final[Mapping[str, str]] = {
    "test_bedrock_cache_usage_includes_cache_tokens.yaml": "its one call reads what another test had just written",
    "test_bedrock_single_tool_choice_preserves_cache[anthropic].yaml": "the first call reads what an earlier run wrote",
}
"""Sessions of which a call before the first is not there, and how that is seen."""

SESSIONS: Final = 11
CALLS: Final = 22

Pattern = list[tuple[bool, bool]]
"""For each call whether it read, and whether it wrote."""


def _counted(response: Mapping[str, Any]) -> tuple[int, int]:
    """What the usage of a recorded answer says was read and written."""
    text = json.dumps(response).replace('\\"', '"')
    for value in response.values():
        if isinstance(value, str) and len(value) > 100:
            text += b64decode(value).decode("latin-1")
    read, written = (re.findall(rf'"cache{which}InputTokens": ?(\d+)', text) for which in ("Read", "Write"))
    return int(read[-1]) if read else 0, int(written[-1]) if written else 0


def _sessions(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """The recorded sessions in which something was read or written, by the name of their cassette."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for entry in json.loads((shared / "corpus" / "index.json").read_text()):
        call = json.loads((shared / "corpus" / entry["file"]).read_text())
        name = entry["source"]["path"].rpartition("/")[2]
        found.setdefault(name, []).append((entry["source"]["interaction"], call))
    return {
        name: [call for _, call in sorted(calls, key=lambda each: each[0])]
        for name, calls in found.items()
        if any(any(_counted(call["response"])) for _, call in calls)
    }


def _asked(endpoint: Endpoint, call: Mapping[str, Any]) -> tuple[int, int]:
    """What the usage of the fake's answer to a recorded request says was read and written."""
    operation = "converse-stream" if call["operation"] == "ConverseStream" else "converse"
    path = f"/model/{quote(call['model_id'], safe='')}/{operation}"
    exchange = endpoint.exchange(Request("POST", path, (), body_with_media(call["request"]["body"])))
    exchange.taken.extend(exchange.response.chunks)
    answer = exchange.call.response
    assert answer is not None
    assert answer.usage is not None
    return answer.usage["cacheReadInputTokens"], answer.usage["cacheWriteInputTokens"]


def _patterns(shared: Path) -> dict[str, tuple[Pattern, Pattern]]:
    """Of each session the pattern that was recorded, and the fake's."""
    patterns: dict[str, tuple[Pattern, Pattern]] = {}
    for name, calls in _sessions(shared).items():
        endpoint = Endpoint(rules="off")
        endpoint.script.fallback.add([reply.text("ok")], endless=True)
        if name in EARLIER:
            for call in calls:
                _asked(endpoint, call)
        counts = [(_counted(call["response"]), _asked(endpoint, call)) for call in calls]
        patterns[name] = _pattern([recorded for recorded, _ in counts]), _pattern([ours for _, ours in counts])
    return patterns


def _pattern(counts: Sequence[tuple[int, int]]) -> Pattern:
    return [(read > 0, written > 0) for read, written in counts]


def test_a_fake_reads_and_writes_where_the_service_did(shared: Path) -> None:
    patterns = _patterns(shared)
    assert (len(patterns), sum(len(recorded) for recorded, _ in patterns.values())) == (SESSIONS, CALLS)
    assert {name: ours for name, (_, ours) in patterns.items()} == {
        name: recorded for name, (recorded, _) in patterns.items()
    }
