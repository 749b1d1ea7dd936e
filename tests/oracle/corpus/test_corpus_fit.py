"""What AWS answered fits what it was asked: the table of what answers need accuses few recorded answers, each known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pytest

from converse_harness import assemble, bedrock
from converse_harness.bedrock.fit import BY_NAME, Answer, misfits_of
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.stream.assemble import in_aws_form
from tests.oracle.answers import content_of
from tests.oracle.conftest import HAND_MADE

NOT_WHOLE = "_prompt_key"
"""All that one recorder kept of a request."""


class Pair(NamedTuple):
    """A recorded answer and its request."""

    file: str
    asked: RuleRequest
    answer: Answer


def pairs_of(shared: Path, corpus: str) -> Iterator[Pair]:
    for row in json.loads((shared / corpus / "index.json").read_text()):
        known = json.loads((shared / corpus / row["file"]).read_text())
        body = known["request"]["body"]
        if row["status"] == 200 and isinstance(body, dict) and NOT_WHOLE not in body:
            yield Pair(row["file"], request_of(known, body), answer_of(known["operation"], known["response"]))


def request_of(known: Mapping[str, Any], body: Mapping[str, Any]) -> RuleRequest:
    shape = bedrock.operation(known["operation"]).input_shape.name
    path = known["request"]["path"]
    model = unquote(path.split("/")[2]) if path else known["model_id"]
    return RuleRequest(known["operation"], model, bedrock.read_json(shape, body, recorded=True))


def answer_of(operation: str, response: Mapping[str, Any]) -> Answer:
    content = content_of(response, stream=operation == "ConverseStream")
    return Answer.of(in_aws_form(assemble(content)) if operation == "ConverseStream" else content[0])


@pytest.fixture(scope="module")
def pairs(shared: Path) -> list[Pair]:
    return [*pairs_of(shared, "corpus"), *pairs_of(shared, "corpus-2")]


_BEDROCK: Final = "pydantic__pydantic-ai/test_bedrock__test_bedrock_model_"
_LIVE: Final = "vercel__ai/__fixtures____"
_COMMAND_R: Final = "Arize-ai__openinference/recordings__should-handle-cohere-command-models-with-streaming.json"

EXCEPTIONS: Final = {
    (_COMMAND_R, "max_tokens_are_reached"): "Command R",
    (f"{_BEDROCK}structured_output__01.json", "forced_tool_is_used"): "Nova Micro",
    (f"{_LIVE}issue-9967-gpt-oss-json-tool-name-channel__fd094580__00.json", "tool_is_offered"): "gpt-oss",
}
"""Recorded answers that do not fit, and the model that an exception of their row names."""

REQUEST_BY_HAND: Final = {
    (f"{_LIVE}amazon-bedrock-redacted-content__114ec191__00.json", "tool_is_offered"): "as the script makes it",
}
"""Answers beside a request that nobody recorded, and what the file says of that request."""


def test_only_known_answers_are_accused(pairs: list[Pair], shared: Path) -> None:
    """867 pairs; without a whole request are the answers of one mock server and of some live files."""
    assert len(pairs) == 867
    found = {(pair.file, misfit.fit.name) for pair in pairs for misfit in misfits_of(pair.asked, pair.answer)}
    by_hand = {(file, name) for file, name in found if file in HAND_MADE}
    assert by_hand == {
        (f"{_BEDROCK}service_tier.json", "max_tokens_are_reached"),
        (f"{_BEDROCK}service_tier.json", "tier_is_the_asked_one"),
    }
    assert found - by_hand == EXCEPTIONS.keys() | REQUEST_BY_HAND.keys()
    for (_, name), model in EXCEPTIONS.items():
        assert model in str(BY_NAME[name].exceptions)
    for (file, _), how in REQUEST_BY_HAND.items():
        assert json.loads((shared / "corpus-2" / file).read_text())["request"]["known"] == how


def test_most_rows_are_about_something_recorded(pairs: list[Pair]) -> None:
    """Else nothing that was recorded could contradict them."""
    parts = Counter(part for pair in pairs for part in pair.answer.parts)
    unseen = {fit.name for fit in BY_NAME.values() if not any(parts[part] for part in fit.parts)}
    assert unseen == {
        *("claude_uses_the_forced_tool", "forced_tool_is_used", "claude_says_nothing_beside_a_forced_tool"),
        *("text_follows_the_format", "text_ends_before_the_stop_sequence"),
        "answer_continues_the_prefill",  # these, too, are about parts of requests
        *("answer_is_within_max_tokens", "long_answer_has_max_tokens"),  # the tokens of an answer are estimated
        *("model_makes_media", "stop_sequence_is_asked"),
    }
