"""chunk and assemble are inverses, however a message is cut; and every family cuts as recorded."""

import json
from typing import Any, get_args
from urllib.parse import quote

import pytest
from botocore.awsrequest import HeadersDict
from botocore.exceptions import EventStreamError
from botocore.parsers import create_parser
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Endpoint, ReplyError, StreamOrderError, assemble, bedrock, chunk, reply
from converse_harness.bedrock.families import (
    FAMILIES,
    NEUTRAL,
    Spelling,
    ToolInput,
    cut_text,
    cut_tool_input,
    family_of,
    reasoning_runs,
    spell_tool_input,
)
from converse_harness.literals import StopReason, StreamException
from converse_harness.stream.chunk import STREAMABLE, default_stop_reason, estimate_tokens
from converse_harness.stream.grammar import check_order
from converse_harness.stream.http import Request

documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=6), documents, max_size=3)
texts = st.text(max_size=40)
names = st.text("abcXYZ_-09", min_size=1, max_size=12)
ids = names.map(lambda name: f"tooluse_{name}")
citations = st.fixed_dictionaries(
    {
        "title": texts,
        "sourceContent": st.lists(st.fixed_dictionaries({"text": texts}), max_size=2),
        "location": st.builds(
            lambda a, b: {"documentChar": {"documentIndex": 0, "start": a, "end": b}},
            st.integers(0, 9),
            st.integers(0, 9),
        ),
    }
)
reasoning = st.fixed_dictionaries({"text": texts}, optional={"signature": st.text(min_size=1, max_size=9)})
blocks = st.one_of(
    st.fixed_dictionaries({"text": texts}),
    st.builds(
        lambda use_id, name, value: {"toolUse": {"toolUseId": use_id, "name": name, "input": value}},
        ids,
        names,
        objects,
    ),
    st.builds(lambda value: {"reasoningContent": {"reasoningText": value}}, reasoning),
    st.builds(lambda value: {"reasoningContent": {"redactedContent": value}}, st.binary(max_size=9)),
    st.builds(
        lambda text, cited: {"citationsContent": {"content": [{"text": text}], "citations": cited}},
        texts,
        st.lists(citations, min_size=1, max_size=2),
    ),
)
streamed_only_by_newer_models = st.one_of(
    st.builds(
        lambda use_id, content: {
            "toolResult": {"toolUseId": use_id, "type": "x", "status": "success", "content": content}
        },
        ids,
        st.lists(st.fixed_dictionaries({"text": texts}) | st.fixed_dictionaries({"json": objects}), max_size=3),
    ),
    st.builds(lambda data: {"image": {"format": "png", "source": {"bytes": data}}}, st.binary(min_size=1, max_size=9)),
)


def messages(block: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"role": st.just("assistant"), "content": st.lists(block, max_size=4)})


@given(messages(blocks | streamed_only_by_newer_models), st.sampled_from(sorted(FAMILIES)))
def test_assemble_is_the_inverse_of_chunk_in_every_family(message: dict[str, Any], family: str) -> None:
    events = chunk(message, family=FAMILIES[family])
    check_order(events)
    response = assemble(events)
    assert response.message == message
    assert response.stop_reason == default_stop_reason(message["content"])


@given(messages(blocks), st.data())
def test_a_stream_that_is_cut_off_amounts_to_no_message(message: dict[str, Any], data: st.DataObject) -> None:
    events = chunk(message)
    left = data.draw(st.integers(0, len(events) - 1))
    with pytest.raises(StreamOrderError, match=rf"after {left} events?\."):
        assemble(events[:left])
    with pytest.raises(StreamOrderError, match=rf"after {len(events) - 1} events?\."):
        assemble(events[:-1])


@given(messages(blocks).filter(lambda message: message["content"]), st.data())
def test_the_number_of_a_block_is_a_whole_number(message: dict[str, Any], data: st.DataObject) -> None:
    events = chunk(message)
    numbered = [
        place for place, event in enumerate(events) for members in event.values() if "contentBlockIndex" in members
    ]
    place = data.draw(st.sampled_from(numbered))
    ((name, members),) = events[place].items()
    number = members["contentBlockIndex"]
    wrong = data.draw(st.sampled_from([bool(number), float(number), str(number), number + 1, None]))
    events[place] = {name: {**members, "contentBlockIndex": wrong}}
    with pytest.raises(StreamOrderError, match=f"events.{place}. {name} has contentBlockIndex {wrong!r}"):
        check_order(events)


@given(messages(blocks), st.sampled_from(sorted(FAMILIES)))
def test_every_event_is_legal_in_the_model(message: dict[str, Any], family: str) -> None:
    for event in chunk(message, family=FAMILIES[family]):
        assert not bedrock.validate("ConverseStreamOutput", event)


@given(objects, st.data())
def test_a_tool_input_may_be_split_anywhere(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)  # with \u escapes, which may be split inside
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    tool = {"toolUseId": "t", "name": "n"}
    events = chunk({"role": "assistant", "content": [{"toolUse": {**tool, "input": value}}]})
    deltas = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}} for piece in pieces
    ]
    first_stop = next(index for index, event in enumerate(events) if "contentBlockStop" in event)
    assert assemble([*events[:2], *deltas, *events[first_stop:]]).message["content"] == [
        {"toolUse": {**tool, "input": value}}
    ]


def test_a_tool_input_split_inside_an_escape() -> None:
    message = {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {"city": "Zürich"}}}],
    }
    events = chunk(message, pieces={0: ['{"city": "Z\u00fc', 'rich"}']})
    assert [event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in events[2:4]] == [
        '{"city": "Zü',
        'rich"}',
    ]
    events[2]["contentBlockDelta"]["delta"]["toolUse"]["input"] = '{"city": "Z\\u00'
    events[3]["contentBlockDelta"]["delta"]["toolUse"]["input"] = 'fcrich"}'
    assert assemble(events).message == message


@given(st.text(max_size=300), st.sampled_from(sorted(FAMILIES)))
def test_cut_text_joins_to_the_text(text: str, name: str) -> None:
    reasoning = [piece for run in reasoning_runs(text, FAMILIES[name]) for piece in run]
    for pieces in (cut_text(text, FAMILIES[name]), reasoning):
        assert pieces
        assert "".join(pieces) == text
        assert "" not in (pieces[1:] if FAMILIES[name].opens_empty else pieces) or not text


WORDY = st.text(st.sampled_from("aB é\n\t 1.,-字"), max_size=600)


@given(WORDY, st.sampled_from(sorted(FAMILIES)), st.integers(1, 9))
def test_where_a_window_ends_changes_no_delta(text: str, name: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("converse_harness.bedrock.families._FIRST_WINDOW", len(text) + 1)
        at_once = cut_text(text, FAMILIES[name])
        patch.setattr("converse_harness.bedrock.families._FIRST_WINDOW", size)
        assert cut_text(text, FAMILIES[name]) == at_once


@given(objects, st.sampled_from(sorted(FAMILIES)))
def test_cut_tool_input_joins_to_the_json(value: dict[str, Any], name: str) -> None:
    text = spell_tool_input(value, FAMILIES[name])
    assert json.loads(text) == value
    assert "".join(cut_tool_input(text, FAMILIES[name])) == text


TEXT = "The quick brown fox jumps over the lazy dog, and nobody asks why it did so on that day."


def test_neutral_chunking_is_frozen() -> None:
    long = "x" * 25 + " y\n\nz "
    assert cut_text("The answer is  forty-two.", NEUTRAL) == ["The", " answer", " is", "  forty-two."]
    assert cut_text(long, NEUTRAL) == ["x" * 12, "x" * 13, " y", "\n\nz", " "]
    assert cut_text("", NEUTRAL) == [""]
    assert cut_tool_input(spell_tool_input({"id": [12345, "é"]}, NEUTRAL), NEUTRAL) == [
        *('{"', "id", '":', " ", "[", "1234", "5", ",", " ", '"', "é", '"]}')
    ]


def deltas_of(content: dict[str, Any], family: str, stop_reason: str | None = None) -> list[dict[str, Any]]:
    events = chunk({"role": "assistant", "content": [content]}, family=FAMILIES[family], stop_reason=stop_reason)
    return [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]


@pytest.mark.parametrize(
    ("family", "texts"),
    [
        ("ai21", ["", "The", " quick", " brown"]),
        ("claude", ["The", " quick brown fox jumps", " over the lazy dog", ", and"]),
        ("claude-3", ["The", " quick", " brown"]),
        ("gpt-oss", ["The quick brown fox", " jumps over the lazy"]),
        ("nova", ["The", " quick brown fox jumps over", " the lazy dog"]),
        ("titan", [TEXT]),
    ],
)
def test_a_text_is_cut_as_recorded(family: str, texts: list[str]) -> None:
    assert [delta["text"] for delta in deltas_of({"text": TEXT}, family)][: len(texts)] == texts


@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_last_delta_comes_only_where_it_was_recorded(family: str) -> None:
    reasons = ("end_turn", "guardrail_intervened", "max_tokens", "stop_sequence")
    ending = {reason for reason in reasons if deltas_of({"text": TEXT}, family, reason)[-1] == {"text": ""}}
    recorded = {"nova": {"end_turn", "guardrail_intervened"}, "llama": {"end_turn"}, "mistral": {"end_turn"}}
    assert ending == recorded.get(family, set())


def test_no_text_before_a_tool_use_ends_with_an_empty_delta() -> None:
    tool = {"toolUse": {"toolUseId": "t", "name": "n", "input": {"x": 2, "y": [5]}}}
    for stop_reason in ("end_turn", None):
        content = [{"text": "Let me see."}, tool]
        events = chunk({"role": "assistant", "content": content}, family=FAMILIES["nova"], stop_reason=stop_reason)
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        assert deltas == [{"text": "Let"}, {"text": " me see."}, {"toolUse": {"input": '{"x":2,"y":[5]}'}}]


@pytest.mark.parametrize(
    ("family", "inputs"),
    [
        ("nova", ['{"age":30}']),
        ("claude", ["", '{"age"', ": 30}"]),
        ("claude-3", ["", '{"age', '": 30}']),
        ("cohere", ['{\n    "', "age", '":', " ", "3", "0", "\n", "}"]),
        ("llama", ['{"age": 30}']),
    ],
)
def test_a_tool_input_is_spelled_and_cut_as_recorded(family: str, inputs: list[str]) -> None:
    deltas = deltas_of({"toolUse": {"toolUseId": "t", "name": "n", "input": {"age": 30}}}, family)
    assert [delta["toolUse"]["input"] for delta in deltas] == inputs


def test_reasoning_is_cut_as_recorded() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": TEXT}}}
    assert deltas_of(thought, "gpt-oss") == [{"reasoningContent": {"text": TEXT}}]
    assert len(deltas_of(thought, "claude")) > 5
    assert [delta["reasoningContent"]["text"] for delta in deltas_of(thought, "llama")] == cut_text(
        TEXT, FAMILIES["llama"]
    )


def test_every_way_to_spell_and_cut_is_that_of_a_family() -> None:
    assert {family.tool_json for family in FAMILIES.values()} == set(get_args(Spelling))
    assert {family.tool_input for family in FAMILIES.values()} == set(get_args(ToolInput))


@pytest.mark.parametrize(
    ("model_id", "family"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3"),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "claude"),
        ("anthropic.claude-v2", "claude-3"),
        ("us.amazon.nova-lite-v1:0", "nova"),
        ("amazon.titan-text-lite-v1", "titan"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
        ("arn:aws:bedrock:eu-west-1::foundation-model/cohere.command-r-v1:0", "cohere"),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-2-1b-instruct-v1:0", "llama"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "neutral"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss"),
        ("made-up", "neutral"),
    ],
)
def test_the_family_of_a_model_id(model_id: str, family: str) -> None:
    assert family_of(model_id).name == family


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            [{"document": {"name": "a"}}],
            (
                "content[0] is 'document', which cannot be streamed: AWS's API model has no delta for it. "
                f"Streamable: {', '.join(STREAMABLE)}."
            ),
        ),
        (
            [{"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": [{}]}}],
            (
                "content[0].citationsContent has 2 generated texts and 1 citations; a stream can carry one text with "
                "at least one citation. Use one block for each text."
            ),
        ),
        (
            [{"toolResult": {"toolUseId": "t", "content": [{"image": {"format": "png", "source": {"bytes": b"a"}}}]}}],
            (
                "content[0].toolResult.content has 'image', which has no delta in AWS's API model; a streamed tool "
                "result holds text and json."
            ),
        ),
    ],
)
def test_what_cannot_be_streamed_is_refused_by_name(content: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        chunk({"role": "assistant", "content": content})
    assert str(caught.value) == message


def test_pieces_must_add_up() -> None:
    with pytest.raises(ReplyError, match=r"^pieces\[0\] is \['a'\]; joined they must be the block's text, 'ab'\.$"):
        chunk({"role": "assistant", "content": [{"text": "ab"}]}, pieces={0: ["a"]})


@pytest.mark.parametrize("index", [-1, 1, 2])
def test_pieces_are_for_a_block_that_is_there_and_cut(index: int) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"p"}}}
    with pytest.raises(ReplyError) as caught:
        chunk({"role": "assistant", "content": [{"text": "ab"}, image]}, pieces={index: ["ab"]})
    assert str(caught.value) == (
        f"pieces[{index}]: content[{index}] is not there or not cut into pieces. "
        "Cut: text, reasoningContent, toolUse, citationsContent."
    )


def test_a_text_with_citations_is_cut_into_pieces() -> None:
    cited = {"citations": [{"title": "Alps"}], "content": [{"text": "18 °C"}]}
    events = chunk({"role": "assistant", "content": [{"citationsContent": cited}]}, pieces={0: ["18", " °C"]})
    assert [event["contentBlockDelta"]["delta"] for event in events[1:4]] == [
        {"citation": {"title": "Alps"}},
        {"text": "18"},
        {"text": " °C"},
    ]


def test_a_stream_that_failed_amounts_to_no_message() -> None:
    events = [{"messageStart": {"role": "assistant"}}, {"throttlingException": {"message": "no"}}]
    with pytest.raises(
        StreamOrderError, match=r"^events\[1\] is throttlingException: a stream that failed amounts to no message\.$"
    ):
        assemble(events)


def test_a_tool_input_that_was_cut_off_is_no_message() -> None:
    message = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {"a": 1}}}]}
    events = chunk(message, pieces={0: ['{"a"', ": 1}"]})
    del events[3]
    with pytest.raises(StreamOrderError, match=r"^The tool input of block 0 is not JSON"):
        assemble(events)


@pytest.mark.parametrize(
    ("place", "member", "left", "reason"),
    [
        (0, "messageStart", {}, "events[0].messageStart lacks 'role'"),
        (1, "contentBlockStart", {"start": {"toolUse": 5}}, "its start.toolUse is 5 (int)"),
        (2, "contentBlockDelta", {"delta": {"toolUse": {}}}, "its delta 0.toolUse lacks 'input'"),
        (2, "contentBlockDelta", {"delta": {"toolUse": {"input": 5}}}, "its delta 0.toolUse.input is 5 (int)"),
        (4, "messageStop", {}, "events[4].messageStop lacks 'stopReason'"),
    ],
)
def test_members_that_are_missing_or_wrong_are_no_message(
    place: int, member: str, left: dict[str, Any], reason: str
) -> None:
    tool = {"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}
    events = chunk({"role": "assistant", "content": [tool]}, pieces={0: ["{}"]})
    assert member in events[place]
    events[place] = {member: {"contentBlockIndex": 0, **left} if member.startswith("content") else left}
    with pytest.raises(StreamOrderError) as caught:
        assemble(events)
    assert "the stream amounts to no message: a member is missing or of another type" in str(caught.value)
    assert reason in str(caught.value)
    assert "_Draft" not in str(caught.value)


def test_a_server_tool_is_not_the_clients() -> None:
    tool = {"toolUseId": "t", "name": "nova_code_interpreter", "type": "server_tool_use", "input": {}}
    assert chunk({"role": "assistant", "content": [{"toolUse": tool}]})[-2] == {
        "messageStop": {"stopReason": "end_turn"}
    }


def test_estimates_are_never_nothing() -> None:
    assert estimate_tokens("") == 1
    assert estimate_tokens([{"text": "x" * 400}]) > 90
    assert chunk({"role": "assistant", "content": []}, family=NEUTRAL)[-1]["metadata"]["usage"]["totalTokens"] > 0


MODEL_IDS = [
    "ai21.jamba-1-5-mini-v1:0",
    "amazon.titan-text-lite-v1",
    "anthropic.claude-3-haiku-20240307-v1:0",
    "cohere.command-r-v1:0",
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "made-up",
    "mistral.mistral-7b-instruct-v0:2",
    "openai.gpt-oss-120b-1:0",
    "us.amazon.nova-lite-v1:0",
    "us.meta.llama3-2-1b-instruct-v1:0",
]


def test_there_is_a_model_id_of_every_family() -> None:
    assert {family_of(model_id).name for model_id in MODEL_IDS} == set(FAMILIES)


class Raw:
    """A body as botocore's event stream reads it."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks

    def stream(self) -> list[bytes]:
        return self.chunks


@given(
    st.lists(blocks, max_size=4),
    st.sampled_from(MODEL_IDS),
    st.sampled_from(bedrock.enum("StopReason")),
    st.none() | st.sampled_from(sorted(bedrock.stream_exceptions())),
    st.data(),
)
def test_botocore_and_the_validator_accept_whatever_a_reply_sends(
    content: list[dict[str, Any]],
    model_id: str,
    stop_reason: StopReason,
    exception: StreamException | None,
    data: st.DataObject,
) -> None:
    written = reply.message(*content, stop_reason=stop_reason)
    if exception is not None:
        count = sum(1 for _ in written.events())
        written = written.fails_after(data.draw(st.integers(0, count - 1)), exception)
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": "?"}]}]}).encode()
    exchange = Endpoint(written).exchange(Request("POST", f"/model/{quote(model_id)}/converse-stream", (), body))
    chunks = list(exchange.response.chunks)
    sent = [part.event for part in chunks if part.event is not None]
    check_order(sent)
    for event in sent:
        assert not bedrock.validate("ConverseStreamOutput", event)
    raw = {
        "headers": HeadersDict(exchange.response.headers),
        "status_code": 200,
        "body": Raw([part.data for part in chunks]),
        "context": {"operation_name": "ConverseStream"},
    }
    stream = create_parser("rest-json").parse(raw, bedrock.operation("ConverseStream").output_shape)["stream"]
    read: list[dict[str, Any]] = []
    if exception is None:
        read.extend(stream)
        assert assemble(read).message == {"role": "assistant", "content": content}
        assert assemble(read).stop_reason == stop_reason
    else:
        with pytest.raises(EventStreamError, match=exception):
            read.extend(stream)
        assert read == sent[:-1]
