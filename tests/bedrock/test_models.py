"""What is known of a model by its id: rows, newer ids of a line, ids behind which the settings say what stands."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import fake_converse, reply
from converse_harness.bedrock.models import MODELS, Model, standing
from converse_harness.bedrock.rules import RULES, RuleRequest, refusal_of
from converse_harness.intercept.clients import create_client
from converse_harness.samples import sample
from converse_strategies.basics import MODEL_IDS
from tests.bedrock.rules.asking import LLAMA, TEXT, assistant, config, image, result, use, user

ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
PREFILLED = {"messages": [user(TEXT), assistant(TEXT)]}


def test_every_row_can_be_reached() -> None:
    """No row stands behind one whose glob is wider."""
    assert [model.name for model in MODELS if standing(model.example).model is not model] == []
    assert len({model.ids for model in MODELS}) == len(MODELS)


def test_every_model_of_a_rule_is_in_the_table() -> None:
    globs = {glob for rule in RULES for glob in (*rule.models.only, *rule.models.but) if isinstance(glob, str)}
    assert len(globs) > 20
    assert [glob for glob in globs if not any(_meet(glob, model) for model in MODELS)] == []


def _meet(glob: str, model: Model) -> bool:
    example = glob.replace("*", "")
    return fnmatchcase(model.example, glob) or fnmatchcase(example, model.ids) or model.example.startswith(example)


def test_what_is_drawn_and_shown_is_of_known_models() -> None:
    shown = sample("ConverseRequest")["modelId"]
    for model_id in (*MODEL_IDS, shown):
        known = standing(model_id)
        assert known.model is not None
        assert (known.inferred, known.model.retired, known.model.converses) == (False, "", True)


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("us.anthropic.claude-opus-9", "Claude Opus 5.5"),
        ("anthropic.claude-opus-4-9-20270101-v1:0", "Claude Opus 4.8"),
        ("anthropic.claude-saga-6", "Claude Opus 5.5"),
        ("amazon.nova-3-lite-v1:0", "Nova 2 Lite"),
        ("amazon.nova-2-pro-v1:0", "Nova 2 Lite"),
        ("meta.llama5-70b-instruct-v1:0", "Llama 4 Scout"),
        ("us.openai.gpt-7-terra", "GPT 6"),
        ("deepseek.v4", "DeepSeek V3.2"),
    ],
)
def test_a_newer_id_is_held_to_the_last_row_before_it(model_id: str, name: str) -> None:
    known = standing(model_id)
    assert (known.model.name if known.model else None, known.inferred) == (name, True)


@pytest.mark.parametrize(
    "model_id", ["my-model", "m", ARN, "anthropic.claude", "amazon.titan-embed-text-v2:0", "acme.big-7", "openai.gpt-4"]
)
def test_of_other_ids_nothing_is_known(model_id: str) -> None:
    assert standing(model_id)[1:] == (None, False)
    assert refusal_of(RuleRequest("Converse", model_id, PREFILLED)) is None


@given(st.text(max_size=40) | st.from_regex(r"(us\.)?(anthropic|amazon|meta)\.[a-z0-9.-]{0,20}", fullmatch=True))
def test_any_id_stands_for_something(model_id: str) -> None:
    known = standing(model_id)
    assert known.inferred <= (known.model is not None)


def test_what_is_inferred_says_so() -> None:
    with fake_converse(reply.text("hi"), unexpected="allow", unused="allow") as fake:
        for model_id in ("us.anthropic.claude-opus-9", "us.anthropic.claude-opus-4-7"):
            with pytest.raises(Exception, match="does not support assistant message prefill"):
                create_client().converse(modelId=model_id, **PREFILLED)
    inferred, known = map(str, fake.endpoint.problems)
    assert "inferred  from Claude Opus 5.5: nothing is known of us.anthropic.claude-opus-9, which is newer" in inferred
    assert "inferred" not in known


def test_a_setting_says_what_stands_behind_an_id() -> None:
    assert refusal_of(RuleRequest("Converse", ARN, PREFILLED)) is None
    with fake_converse(unexpected="allow", models={"arn:*/abc*": "anthropic.claude-opus-4-7"}) as fake:
        with pytest.raises(Exception, match="does not support assistant message prefill"):
            create_client().converse(modelId=ARN, **PREFILLED)
        assert (fake.calls[0].model_id, fake.calls[0].stands_for) == (ARN, "anthropic.claude-opus-4-7")


def test_what_stands_behind_an_id_also_cuts_the_answer() -> None:
    def deltas(model_id: str) -> list[str]:
        with fake_converse(reply.text("One two three four five six."), models={"alias": "amazon.titan-text-lite-v1"}):
            stream = create_client().converse_stream(modelId=model_id, messages=[user(TEXT)])["stream"]
            return [each["contentBlockDelta"]["delta"]["text"] for each in stream if "contentBlockDelta" in each]

    assert deltas("alias") == deltas("amazon.titan-text-lite-v1") != deltas("other")


def test_llama_is_shown_merged_turns() -> None:
    """As in harness-sdk#1223: a text after a result, each in a message of its own."""
    used = [user(TEXT), assistant(use("a")), user(result("a", TEXT)), assistant(use("b")), user(result("b", TEXT))]
    asked = RuleRequest("Converse", LLAMA, {"messages": [*used, user(TEXT)], **config()})
    refusal = refusal_of(asked)
    assert refusal is not None
    assert refusal.message == (
        "messages.4.content: Conversation blocks and tool result blocks cannot be provided in the same turn."
    )
    assert refusal_of(RuleRequest("Converse", LLAMA, {"messages": used, **config()})) is None
    assert refusal_of(RuleRequest("Converse", "us.amazon.nova-lite-v1:0", asked.body)) is None


def test_results_in_two_messages_are_merged_for_llama_alone() -> None:
    """As in agno#6242, where Claude and Nova refused them."""
    messages = [user(TEXT), assistant(use("a"), use("b")), user(result("a", TEXT)), user(result("b", TEXT))]
    assert refusal_of(RuleRequest("Converse", LLAMA, {"messages": messages, **config()})) is None
    refusal = refusal_of(RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": messages, **config()}))
    assert refusal is not None
    assert refusal.rule.name == "tool_uses_have_results"


def test_a_result_that_comes_too_late_is_one_too_many() -> None:
    """As in harness-sdk#1435, where a tool used another one by itself."""
    inner = [user(TEXT), assistant(use("b")), user(result("b", TEXT)), assistant(TEXT)]
    messages = [user(TEXT), assistant(use("a")), *inner, user(result("a", TEXT))]
    refusal = refusal_of(RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": messages, **config()}))
    assert refusal is not None
    assert refusal.message == (
        "The number of toolResult blocks at messages.6.content exceeds the number of toolUse blocks of previous turn."
    )


def _stream(model_id: str) -> Iterator[object]:
    text = {"image": {"format": "png", "source": {"bytes": b"no image"}}}
    yield from create_client().converse_stream(modelId=model_id, messages=[user(TEXT, text)])["stream"]


def test_some_refusals_come_as_the_first_frame_of_a_stream() -> None:
    told = pytest.raises(Exception, match="detected file MIME type text/plain")
    with fake_converse(unexpected="allow") as fake, told as caught:
        list(_stream("us.amazon.nova-lite-v1:0"))
    assert (type(caught.value).__name__, fake.calls[0].status) == ("EventStreamError", 200)
    assert [refusal.rule.name for call in fake.calls if (refusal := call.refusal)] == ["nova_images_are_images"]
    asked = {"messages": [user(TEXT, image(data="bm8gaW1hZ2U="))]}
    assert refusal_of(RuleRequest("Converse", "a-made-up-model", asked)) is None


def test_a_model_at_the_end_of_its_life_is_not_found() -> None:
    told = pytest.raises(Exception, match="reached the end of its life")
    with fake_converse(unexpected="allow", rules="strict") as fake, told as caught:
        create_client().converse(modelId="us.amazon.nova-premier-v1:0", messages=[user(TEXT)])
    assert type(caught.value).__name__ == "ResourceNotFoundException"
    assert fake.calls[0].status == 404
