"""CountTokens: which ids it counts for, which requests it refuses and in which words, and how a body is weighed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import Endpoint, bedrock, fake_converse, reply
from converse_harness.bedrock.models import MODELS
from converse_harness.bedrock.rules import BY_NAME, RuleRequest, notes_of, refusals_of
from converse_harness.bedrock.rules.rule import MODEL
from converse_harness.intercept.clients import create_client
from converse_harness.settings import RuleLevel
from converse_harness.stream.http import Request
from tests.bedrock.rules.asking import TEXT, Broken, Json, assistant, result, use, user
from tests.bedrock.rules.broken import BROKEN

pytestmark = pytest.mark.skipif(not bedrock.has_shape("CountTokensRequest"), reason="this botocore has no CountTokens")

SONNET = "anthropic.claude-sonnet-4-20250514-v1:0"
HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"
ACCOUNT = "arn:aws:bedrock:us-east-1:123456789012:"
UNSUPPORTED = "The provided model doesn't support counting tokens."
INVALID = "The provided model identifier is invalid."
RETIRED = "This model version has reached the end of its life."

COUNTS = "counts"
NOTED = "counts, with a note"
IDS: dict[str, tuple[str, str]] = {
    SONNET: (COUNTS, COUNTS),
    HAIKU: (COUNTS, COUNTS),
    "anthropic.claude-3-7-sonnet-20250219-v1:0": (COUNTS, COUNTS),
    "anthropic.claude-3-5-haiku-20241022-v1:0": (COUNTS, RETIRED),
    "anthropic.claude-opus-4-6-v1": (COUNTS, COUNTS),
    f"arn:aws:bedrock:us-east-1::foundation-model/{SONNET}": (COUNTS, COUNTS),
    **{f"{region}.{SONNET}": (UNSUPPORTED, UNSUPPORTED) for region in ("us", "eu", "apac", "jp", "us-gov", "global")},
    f"{ACCOUNT}inference-profile/us.{SONNET}": (UNSUPPORTED, UNSUPPORTED),
    f"{ACCOUNT}application-inference-profile/abcdefghijkl": (UNSUPPORTED, UNSUPPORTED),
    "global.my-model": (UNSUPPORTED, INVALID),
    "anthropic.claude-opus-4-7": (UNSUPPORTED, UNSUPPORTED),
    "anthropic.claude-opus-5": (UNSUPPORTED, UNSUPPORTED),
    "anthropic.claude-opus-5-5": (UNSUPPORTED, UNSUPPORTED),
    "anthropic.claude-sonnet-5": (UNSUPPORTED, UNSUPPORTED),
    "anthropic.claude-fable-5": (UNSUPPORTED, UNSUPPORTED),
    "amazon.nova-pro-v1:0": (UNSUPPORTED, UNSUPPORTED),
    "us.amazon.nova-2-lite-v1:0": (UNSUPPORTED, UNSUPPORTED),
    "anthropic.claude-3-haiku-20240307-v1:0": (NOTED, NOTED),
    "anthropic.claude-opus-4-1-20250805-v1:0": (NOTED, NOTED),
    "anthropic.claude-sonnet-9": (NOTED, NOTED),
    "meta.llama3-1-8b-instruct-v1:0": (NOTED, NOTED),
    "amazon.titan-text-lite-v1": (NOTED, NOTED),
    "my-id": (NOTED, INVALID),
    f"{ACCOUNT}imported-model/abcdefghijkl": (NOTED, NOTED),
}
"""What Bedrock says to each id at the levels "default" and "strict"; the table of models has the sources."""


def said_to(model_id: str, given: Json, level: RuleLevel = "default") -> str | int:
    """What CountTokens answers: the number, or Bedrock's words; a number has no note, or the one that says NOTED."""
    with fake_converse(rules=level) as fake:
        try:
            counted = create_client().count_tokens(modelId=model_id, input=given)["inputTokens"]
        except ClientError as error:
            assert [note.call for note in fake.notes if note.kind == refused_by(fake.calls.all[0])] == [1]
            return str(error.response["Error"]["Message"])
    kinds = [note.kind for note in fake.notes]
    assert kinds in ([], ["model_is_known_to_count_tokens"])
    return NOTED if kinds else int(counted)


def refused_by(call: Any) -> str:
    return call.refusal.rule.name if call.refusal is not None else ""


@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
@pytest.mark.parametrize("kind", ["converse", "invokeModel"])
@pytest.mark.parametrize("model_id", IDS)
def test_which_ids_are_counted_for(model_id: str, kind: str, strict: bool) -> None:
    given: Json = {"messages": [user(TEXT)]} if kind == "converse" else {"body": b'{"prompt": "hi"}'}
    said = said_to(model_id, {kind: given}, "strict" if strict else "default")
    expected = IDS[model_id][strict]
    assert expected == COUNTS if isinstance(said, int) else said.startswith(expected)


def test_the_table_of_models_decides() -> None:
    """With all three values; a row of no value is noted."""
    found: dict[str, int] = {}
    for model in MODELS:
        asked = RuleRequest("CountTokens", model.example, {"messages": [user(TEXT)]})
        refused = [each.rule.name for each in refusals_of(asked)] == ["model_counts_tokens"]
        noted = [each.rule.name for each in notes_of(asked)] == ["model_is_known_to_count_tokens"]
        counts = model.fact("CountTokens").ability
        assert (refused, noted) == (counts == "no", counts == "not known"), model
        found[counts] = found.get(counts, 0) + 1
    assert min(found[each] for each in ("yes", "no", "not known")) > 9


def test_what_stands_behind_an_id_counts_too() -> None:
    with fake_converse(models={"alias": SONNET}) as fake:
        create_client().count_tokens(modelId="alias", input={"converse": {"messages": [user(TEXT)]}})
    assert fake.notes == []


def test_a_refused_count_fails_no_test() -> None:
    """A client that counts tokens can count by itself: CrewAI and strands do, with the ids of profiles."""
    asked = {"modelId": f"us.{SONNET}", "input": {"converse": {"messages": [user(TEXT)]}}}
    with fake_converse(reply.text("hi")) as fake:
        with pytest.raises(ClientError, match="doesn't support counting tokens"):
            create_client().count_tokens(**asked)
        create_client().converse(modelId=f"us.{SONNET}", messages=[user(TEXT)])
    assert fake.failures() == []
    assert [(note.kind, note.call) for note in fake.notes] == [("model_counts_tokens", 1)]
    assert fake.notes[0].text.startswith(f"Bedrock would refuse call 1: {UNSUPPORTED}\n")


def test_what_is_scripted_is_no_way_around_a_refusal_but_a_level_is() -> None:
    asked = {"modelId": f"us.{SONNET}", "input": {"converse": {"messages": [user(TEXT)]}}}
    with fake_converse() as fake:
        fake.on_operation("CountTokens", lambda call: {"inputTokens": 42})
        with pytest.raises(ClientError, match="doesn't support counting tokens"):
            create_client().count_tokens(**asked)
    assert [note.kind for note in fake.notes] == ["model_counts_tokens"]
    levels: list[tuple[RuleLevel, list[str]]] = [("warn", ["model_counts_tokens"]), ("off", [])]
    for level, kinds in levels:
        with fake_converse(rules=level) as fake:
            fake.on_operation("CountTokens", lambda call: {"inputTokens": 42})
            assert create_client().count_tokens(**asked)["inputTokens"] == 42
        assert [note.kind for note in fake.notes] == kinds


# The conversation


def counted(broken: Broken) -> RuleRequest:
    return RuleRequest("CountTokens", broken.model_id, broken.asked.body)


HAS_COUNTS = bedrock.has_shape("ConverseTokensRequest")

IN_COUNTS = {
    name: broken
    for name, broken in BROKEN.items()
    if broken.operation == "Converse"
    and name != "some_use_no_tools"  # of models for which nothing is counted, in Converse and not in streams
    and "CountTokens" in BY_NAME[name].operations
    and (not HAS_COUNTS or broken.asked.body.keys() <= bedrock.shape("ConverseTokensRequest").members.keys())
}


@pytest.mark.parametrize(("name", "broken"), IN_COUNTS.items(), ids=IN_COUNTS)
def test_a_conversation_is_held_to_the_rules_of_converse(name: str, broken: Broken) -> None:
    """In the same words, but for the prefix of a model's errors; the path says where in this request."""
    asked = counted(broken)
    found = [*refusals_of(asked, "strict"), *notes_of(asked)]
    words = broken.message.removeprefix(MODEL)
    if BY_NAME[name].message == "{errors}":
        words = re.sub(r" at '(?=[a-z])", " at 'input.converse.", words)
    path = broken.path if broken.path == "modelId" else f"input.converse.{broken.path}"
    assert (name, path, words) in [(each.rule.name, each.path, each.message) for each in found]


def test_most_rules_hold_for_counts() -> None:
    assert len(IN_COUNTS) > 70
    assert not any(name.startswith(("model_converses", "some_are_invoked")) for name in IN_COUNTS)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "A conversation must start with a user message."),
        ([user(TEXT), assistant({"text": ""}), user(TEXT)], "messages: text content blocks must be non-empty"),
        ([user(result("a", TEXT))], "The toolConfig field must be defined"),
        ([assistant(use()), user(result("a", TEXT))], "A conversation must start with a user message."),
    ],
    ids=["none", "an empty text", "a lone result", "the assistant first"],
)
def test_what_clients_count_without_its_conversation_is_refused(messages: list[Json], words: str) -> None:
    assert str(said_to(SONNET, {"converse": {"messages": messages}})).startswith(words)


# A body of InvokeModel


SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize("before", [0, 2])
def test_a_web_search_is_no_tool_to_count(before: int) -> None:
    tools = [{"type": "custom", "name": "look", "input_schema": {}}] * before
    body = json.dumps({"messages": [user(TEXT)], "tools": [*tools, SEARCH]}).encode()
    said = said_to(SONNET, {"invokeModel": {"body": body}})
    assert said == (
        f"tools.{before}: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: "
        "'bash_20250124', 'custom', 'text_editor_20250124', 'text_editor_20250429', 'text_editor_20250728'"
    )


def test_the_count_is_what_converse_says_it_used() -> None:
    asked: Json = {"messages": [user({"text": "word " * 100})], "system": [{"text": "Be brief."}]}
    with fake_converse(reply.text("hi")):
        used = create_client().converse(modelId=HAIKU, **asked)["usage"]["inputTokens"]
        assert create_client().count_tokens(modelId=HAIKU, input={"converse": asked})["inputTokens"] == used


def test_a_body_that_is_no_base64_is_malformed() -> None:
    endpoint = Endpoint()
    body = b'{"input": {"invokeModel": {"body": "####"}}}'
    exchange = endpoint.exchange(Request("POST", f"/model/{SONNET}/count-tokens", (), body))
    assert exchange.response.status == 400
    assert exchange.call.refusal is None
