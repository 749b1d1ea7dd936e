"""Each rule by itself: what breaks it, what Bedrock says, and which models it is of."""

from __future__ import annotations

import json

import pytest

from converse_harness import bedrock
from converse_harness.bedrock.models import bare
from converse_harness.bedrock.rules import (
    BY_NAME,
    NOTING,
    RULES,
    RuleRequest,
    notes_of,
    refusal_of,
    refusals_of,
)
from converse_harness.bedrock.rules.finders.tools import broken_keyword
from converse_harness.settings import RuleLevel
from tests.bedrock.rules.asking import (
    CACHE_POINT,
    NOVA,
    SONNET,
    TEXT,
    THOUGHT,
    Broken,
    Json,
    assistant,
    config,
    document,
    image,
    result,
    thinking,
    use,
    user,
)
from tests.bedrock.rules.broken import ALL, BROKEN
from tests.bedrock.rules.broken_news import cited

MALFORMED_ID = "not a model"


def test_every_rule_has_a_request_that_breaks_it() -> None:
    assert {"model_id_is_well_formed", *ALL} == {rule.name for rule in RULES}


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_a_request_that_breaks_one_rule(name: str, broken: Broken) -> None:
    bedrock.read_json(bedrock.operation(broken.operation).input_shape.name, broken.asked.body)
    noted = BY_NAME[name].verdict in NOTING
    found = notes_of(broken.asked) if noted else refusals_of(broken.asked, "strict")
    refused = [(each.rule.name, each.path, each.message) for each in found]
    assert refused == [(name, broken.path, broken.message)]


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_levels(name: str, broken: Broken) -> None:
    assert refusal_of(broken.asked, "off") is None
    found = refusal_of(broken.asked)
    verdict = BY_NAME[name].verdict
    assert (found is None) == (verdict != "refuse")
    assert (refusal_of(broken.asked, "strict") is None) == (verdict in NOTING)
    assert found == refusal_of(broken.asked, "warn")


def test_a_made_up_model_id_is_fine_but_at_the_strict_level() -> None:
    asked = RuleRequest("Converse", MALFORMED_ID, {"messages": [user(TEXT)]})
    assert refusal_of(asked) is None
    first, second = refusals_of(asked, "strict")
    assert (first.rule.name, second.rule.name) == ("model_id_is_well_formed", "model_exists")
    assert first.message.startswith(
        "1 validation error detected: Value 'not a model' at 'modelId' failed to satisfy constraint: Member must "
        "satisfy regular expression pattern: (arn:aws"
    )


@pytest.mark.parametrize("count", [0, 1, 2.0, -1, 1.5, True, "1", float("inf")])
def test_only_a_whole_number_counts_in_a_schema(count: object) -> None:
    keywords = [f"{end}{what}" for end in ("min", "max") for what in ("Contains", "Items", "Length", "Properties")]
    broken = [each for each in keywords if broken_keyword({each: count}) is not None]
    assert broken == ([] if type(count) is not bool and count in (0, 1, 2) else keywords)


@pytest.mark.parametrize(
    ("model_id", "plain"),
    [
        ("amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"),
        ("us-gov.anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"),
        ("global.anthropic.claude-sonnet-5", "anthropic.claude-sonnet-5"),
        ("arn:aws:bedrock:us-east-1::foundation-model/meta.llama3-8b-instruct-v1:0", "meta.llama3-8b-instruct-v1:0"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "abc"),
        ("in.moonshotai.kimi-k3", "moonshotai.kimi-k3"),
        ("my.model", "my.model"),
    ],
)
def test_the_model_of_an_id(model_id: str, plain: str) -> None:
    assert bare(model_id) == plain


def test_a_rule_says_who_accepts_what_it_forbids() -> None:
    exempted = {name: {str(each): who for each, who in rule.models.but.items()} for name, rule in BY_NAME.items()}
    assert {name for name, models in exempted.items() if models} == {
        "first_message_is_the_users",
        "text_is_not_blank",
    }
    assert all(who for models in exempted.values() for who in models.values())
    assert all(rule.source for rule in RULES)


def test_what_a_model_accepts_is_not_refused() -> None:
    for name, accepting in (
        ("first_message_is_the_users", SONNET),
        ("text_is_not_blank", SONNET),
        ("text_is_not_blank", "us.amazon.nova-micro-v1:0"),
    ):
        asked = BROKEN[name].asked
        assert refusal_of(asked) is not None
        assert refusal_of(RuleRequest(asked.operation, accepting, asked.body)) is None


@pytest.mark.parametrize("content", [(TEXT, cited("txt"), CACHE_POINT), (result("a", TEXT), cited("txt"), TEXT)])
def test_claude_gets_a_document_with_citations_as_it_is(content: tuple[Json, ...]) -> None:
    """It is no text to Claude, as one without them is."""
    messages = [user(TEXT), assistant(use()), user(*content)] if "toolResult" in content[0] else [user(*content)]
    assert refusal_of(RuleRequest("Converse", SONNET, {"messages": messages, **config()}), "strict") is None


IN_A_ROW = {
    "texts": [user(TEXT), user(TEXT)],
    "a text after a result": [user(TEXT), assistant(use()), user(result("a", TEXT)), user(TEXT)],
    "the latest guarded": [user(TEXT), user({"guardContent": {"text": {"text": "hi"}}})],
}
"""Messages of the user in a row, as strands sends them: steered, after structured output, with a guardrail."""


@pytest.mark.parametrize("level", ["default", "strict"])
@pytest.mark.parametrize("model_id", ["global.anthropic.claude-sonnet-4-6", NOVA, "qwen.qwen3-32b-v1:0"])
@pytest.mark.parametrize("messages", IN_A_ROW.values(), ids=IN_A_ROW)
def test_messages_of_one_role_in_a_row_are_not_refused(messages: list[Json], model_id: str, level: RuleLevel) -> None:
    assert refusal_of(RuleRequest("Converse", model_id, {"messages": messages, **config()}), level) is None


def test_claude_need_not_think_again_between_two_tools() -> None:
    """Its turn is all that it does until it is spoken to."""
    twice = [
        user(TEXT),
        assistant(THOUGHT, use()),
        user(result("a", TEXT)),
        assistant(use("b")),
        user(result("b", TEXT)),
    ]
    answered = [user(TEXT), assistant(use()), user(result("a", TEXT)), assistant(TEXT), user(TEXT)]
    for messages in (twice, answered):
        assert refusal_of(RuleRequest("Converse", SONNET, {"messages": messages, **thinking(), **config()})) is None


def test_an_adaptive_claude_may_be_told_a_temperature_of_one() -> None:
    adaptive = thinking(type="adaptive")
    for temperature, name in ((1, None), (0.5, "claude_has_no_temperature")):
        body = {"messages": [user(TEXT)], "inferenceConfig": {"temperature": temperature}, **adaptive}
        refusal = refusal_of(RuleRequest("Converse", "us.anthropic.claude-opus-4-7", body))
        assert (refusal and refusal.rule.name) == name


def test_an_image_of_just_five_mebibytes_is_taken() -> None:
    messages = [user(TEXT, image(data="A" * (5 * 1024 * 1024)))]
    assert refusal_of(RuleRequest("Converse", SONNET, {"messages": messages})) is None


def test_a_cache_point_after_a_pdf_or_a_text() -> None:
    pdf = {"document": {**document()["document"], "format": "pdf"}}
    for content in ([TEXT, pdf, CACHE_POINT], [document(), TEXT, CACHE_POINT]):
        assert refusal_of(RuleRequest("Converse", SONNET, {"messages": [user(*content)]})) is None


@pytest.mark.parametrize(
    ("defined", "recursive"),
    [
        ({"A": "B", "B": ""}, False),
        ({"A": "B", "B": "C", "C": ""}, False),
        ({"A": "A"}, True),
        ({"A": "B", "B": "A"}, True),
        ({"A": "B", "B": "C", "C": "D", "D": "B"}, True),
    ],
)
@pytest.mark.parametrize("keyword", ["$defs", "definitions"])
def test_a_schema_of_an_answer_that_contains_itself(keyword: str, defined: dict[str, str], recursive: bool) -> None:
    """Each definition has a property of the type that another one defines."""
    closed: Json = {"type": "object", "additionalProperties": False}
    made = {
        name: {**closed, "properties": {"next": {"$ref": f"#/{keyword}/{of}"} if of else {"type": "string"}}}
        for name, of in defined.items()
    }
    schema: Json = {**closed, "properties": {"first": {"$ref": f"#/{keyword}/A"}}, keyword: made}
    structure = {"jsonSchema": {"name": "answer", "schema": json.dumps(schema)}}
    body = {"messages": [user(TEXT)], "outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}}
    found = [each.rule.name for each in refusals_of(RuleRequest("Converse", SONNET, body))]
    assert found == ["claude_answers_without_recursion"] * recursive
    own = {"messages": [user(TEXT)], "additionalModelRequestFields": {"output_config": {"format": {"schema": schema}}}}
    assert [each.rule.name for each in refusals_of(RuleRequest("Converse", SONNET, own))] == found
