"""Which exchange is played: in which order, for retries, for what was masked, and how often that is worked out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Fake, Redaction, ReplyError, recording, reply
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.read import parse
from converse_harness.recordings.play.matching import MATCHES, Match, MatchFunction, asked_in
from converse_harness.recordings.play.play import OtherRequest, Recording
from converse_harness.recordings.record.write import SessionWriter, header, text_of
from converse_harness.stream.http import Request
from converse_strategies import converse_requests
from tests.profiles import examples
from tests.recordings.asking import (
    as_stored,
    ask,
    body,
    counts_tokens,
    exchange,
    json_of,
    request,
    throttled,
    tools,
    user,
    write,
)

HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"
ARN = "arn:aws:bedrock:us-east-1:{}:application-inference-profile/abc"


def same_initial(recorded: dict[str, Any], asked: dict[str, Any]) -> bool:
    """A match function of a user."""
    return text_in(recorded)[0] == text_in(asked)[0]


def text_in(asked: dict[str, Any]) -> str:
    return str(asked["messages"][0]["content"][0]["text"])


def asking(text: str) -> dict[str, Any]:
    """A request; its shape depends on the last character."""
    return body(user(text, *["more"] * text.endswith("2")))


TEXTS = ["a1", "a2", "aa1", "b2", "cust-1"]


@pytest.mark.parametrize("rule", [*MATCHES, same_initial])
@given(
    recorded=st.lists(st.sampled_from(TEXTS), min_size=2, max_size=5),
    asked=st.lists(st.sampled_from([*TEXTS, "cust-91"]), min_size=2, max_size=5),
    replaces=st.booleans(),
)
def test_which_exchange_is_played(
    recorded: list[str], asked: list[str], rule: Match | MatchFunction, replaces: bool
) -> None:
    """As the rule says, the first one that is left. Of those, one with an equal request has priority."""
    lines = [header()]
    for number, text in enumerate(recorded):
        call, answer = exchange(asking(text), str(number))
        lines += [{**call, "call": number + 1}, answer]
    redaction = Redaction({re.compile(r"cust-\d+"): "cust-1"}) if replaces else None
    endpoint = Endpoint(Recording(Path("a.jsonl"), parse(text_of(lines)), rule, redaction=redaction))
    left = list(range(len(recorded)))
    for text in asked:
        sent = "cust-1" if replaces and text.startswith("cust") else text
        equal = [number for number in left if recorded[number] == sent]
        if callable(rule):
            fit = [number for number in equal + left if recorded[number][0] == sent[0]]
        elif rule == "shape":
            fit = equal + [number for number in left if recorded[number].endswith("2") is sent.endswith("2")]
        else:
            fit = equal if rule == "exact" else left
        said = ask(endpoint, asking(text))
        assert said == str(fit[0]) if fit else said.startswith("call ")
        if fit:
            assert (endpoint.calls[-1].of(OtherRequest) is None) is (recorded[fit[0]] == sent)
            left.remove(fit[0])


@pytest.mark.parametrize("rule", MATCHES)
def test_a_retry_of_the_same_request_plays_what_came_for_it(tmp_path: Path, rule: Match) -> None:
    asked = body(user("a"))
    file = write(tmp_path / "a.jsonl", throttled(asked), throttled(asked), exchange(asked, "well"))
    endpoint = Endpoint(recording(file, match=rule))
    told = [ask(endpoint, asked, attempt=attempt) for attempt in (1, 2, 3)]
    assert told == ["Too many requests", "Too many requests", "well"]
    assert [call.status for call in endpoint.calls] == [429, 429, 200]


def test_other_operations_are_matched_by_path_and_form(tmp_path: Path) -> None:
    def invoked(label: str, text: str) -> list[dict[str, Any]]:
        asked = {"anthropic_version": "v", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
        call = {"call": 0, "operation": "InvokeModel", "modelId": label, "request": asked}
        return [call, {"t": 1, "status": 200, "body": {"said": label}}]

    endpoint = Endpoint(recording(write(tmp_path / "a.jsonl", invoked("one", "a"), invoked("two", "a"))))

    def said(label: str, asked: dict[str, Any]) -> Any:
        sent = Request("POST", f"/model/{label}/invoke", (), json.dumps(asked).encode())
        (chunk,) = endpoint.exchange(sent).response.chunks
        return json.loads(chunk.data)

    messages = [{"role": "user", "content": "another"}]
    asked = {"anthropic_version": "w", "max_tokens": 8, "messages": messages}
    assert said("two", asked) == {"said": "two"}
    messages[0]["role"] = "assistant"
    assert said("one", asked)["message"].startswith("call 2 matches no exchange of ")
    messages[0]["role"] = "user"
    assert said("one", asked) == {"said": "one"}


def test_what_was_asked_of_the_control_plane_is_played(tmp_path: Path) -> None:
    call = {"call": 0, "operation": "GetInferenceProfile", "inferenceProfileIdentifier": "a"}
    file = write(tmp_path / "a.jsonl", [call, {"t": 1, "status": 200, "body": {"models": []}}])
    endpoint = Endpoint(recording(file))
    assert endpoint.exchange(Request("GET", "/inference-profiles/b", (), b"")).response.status == 400
    assert endpoint.exchange(Request("GET", "/inference-profiles/a", (), b"")).response.status == 200


@counts_tokens
def test_tokens_are_counted_as_recorded_and_then_estimated(tmp_path: Path) -> None:
    counted = {"input": {"converse": body(user("a"))}}
    call = {"call": 0, "operation": "CountTokens", "modelId": HAIKU, "request": counted}
    file = write(tmp_path / "a.jsonl", [call, {"t": 1, "status": 200, "body": {"inputTokens": 4711}}])
    endpoint = Endpoint(recording(file))
    asked = {"input": {"converse": body(user("b" * 40))}}
    sent = [request(asked, operation="CountTokens", model=HAIKU) for _ in range(2)]
    told = [next(iter(endpoint.exchange(each).response.chunks)).data for each in sent]
    assert [json.loads(each)["inputTokens"] == 4711 for each in told] == [True, False]
    assert endpoint.problems == []


URL = "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&X-Amz-Date=1"
RECORDED = [URL.format("***"), f"of {ARN.format('111122000001')} (111122000001)"]
LIVE = [URL.format("0f" * 32), f"of {ARN.format('210987654321')} (210987654321)"]


def test_what_is_always_masked_does_not_tell_requests_apart(tmp_path: Path) -> None:
    endpoint = Endpoint(recording(write(tmp_path / "a.jsonl", exchange(body(user(*RECORDED)), "yes")), match="exact"))
    assert ask(endpoint, body(user(*LIVE, "more"))).startswith("call 1 matches no exchange")
    assert ask(endpoint, body(user(*LIVE))) == "yes"


def test_an_account_id_that_is_known_from_another_exchange_is_masked_too(tmp_path: Path) -> None:
    first, second = body(user(ARN.format("111122000001"))), body(user("of 111122000001 and 111122000002"))
    endpoint = Endpoint(recording(write(tmp_path / "a.jsonl", exchange(first), exchange(second, "yes")), match="exact"))
    assert ask(endpoint, body(user("of 210987654321 and 310987654322."))).startswith("call 1 matches no exchange")
    assert ask(endpoint, body(user("of 210987654321 and 210987654321"))).startswith("call 2 matches no exchange")
    assert ask(endpoint, body(user("of 210987654321 and 310987654322"))) == "yes"


def test_what_the_user_has_replaced_does_not_tell_requests_apart(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", exchange(body(user(*RECORDED, "for cust-1")), "yes"))
    live = body(user(*LIVE, "for cust-4711"))
    assert ask(Endpoint(recording(file, match="exact")), live).startswith("call 1 matches no exchange")
    redaction = Redaction({re.compile(r"cust-\d+"): "cust-1"})
    assert ask(Endpoint(recording(file, match="exact", redaction=redaction)), live) == "yes"


def test_a_tool_that_was_renamed_by_redaction_keeps_its_shape(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", exchange(body(user("a"), toolConfig=tools("acme_pay")), "yes"))
    redaction = Redaction({"bigcorp": "acme"})
    live = body(user("b"), toolConfig=tools("bigcorp_pay"))
    assert ask(Endpoint(recording(file, redaction=redaction)), live) == "yes"


def test_a_recording_that_is_scripted_for_a_while_is_gone_afterwards(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", exchange(body(user("a")), "1"), exchange(body(user("a")), "2"))
    fake = Fake(reply.text("by hand"), unused="allow")
    with fake.script(recording(file)):
        assert ask(fake.endpoint, body(user("a"))) == "1"
        assert ask(fake.endpoint, body(user("a"))) == "2"
    assert ask(fake.endpoint, body(user("a"))) == "by hand"
    assert ask(fake.endpoint, body(user("a"))) == "call 4 has no reply left."


def test_a_recording_plays_from_its_beginning_in_each_script(tmp_path: Path) -> None:
    session = recording(write(tmp_path / "a.jsonl", exchange(body(user("a")), "1")))
    assert [ask(Endpoint(session), body(user("a"))) for _ in range(2)] == ["1", "1"]


@pytest.mark.parametrize("recorded", ["a", "another"])
def test_a_match_function_that_raises_fails_the_test_and_plays_nothing(tmp_path: Path, recorded: str) -> None:
    def broken(recorded: dict[str, Any], asked: dict[str, Any]) -> bool:
        raise ValueError("broken")

    session = recording(write(tmp_path / "a.jsonl", exchange(body(user(recorded)), "1")), match=broken)
    endpoint = Endpoint(reply.text("by hand"), session)
    assert "broken" in ask(endpoint, body(user("a")))
    (problem,) = endpoint.problems
    assert isinstance(problem.__cause__, ValueError)
    assert [slot.used_by for _, slot in endpoint.script.slots()] == [[], []]


def test_a_rule_that_is_none_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", exchange(body(user("a"))))
    with pytest.raises(ReplyError, match=r"'prose'.*: one of 'order', 'exact', 'shape', or a function"):
        recording(file, match="prose")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", MATCHES)
def test_thousands_of_exchanges_are_asked_for_once_each(
    tmp_path: Path, rule: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each exchange is for a rule is worked out once, however often the recording is asked."""
    from converse_harness.recordings.play import play as playing

    worked_out = 0

    def counted(exchange: RecordedExchange) -> Any:
        nonlocal worked_out
        worked_out += 1
        return asked_in(exchange)

    monkeypatch.setattr(playing, "asked_in", counted)
    texts = [f"question {number}" for number in range(300)]
    file = write(tmp_path / "a.jsonl", *(exchange(body(user(text)), text) for text in texts))
    session = recording(file, match=rule)
    for _ in range(2):
        endpoint = Endpoint(session)
        assert [ask(endpoint, body(user(text))) for text in texts] == texts
    assert worked_out <= 2 * len(texts)  # for shape: its shape, and whether it is the same


def test_accounts_that_a_recorder_numbered_in_another_order_are_played(tmp_path: Path) -> None:
    """A bucket's owner is in no ARN, so it has the last number; two texts beside each other are searched twice."""
    location = {"uri": "s3://b/k.png", "bucketOwner": "410987654323"}
    image = {"image": {"format": "png", "source": {"s3Location": location}}}
    texts = [{"text": "of"}, {"text": f"{ARN.format('210987654321')} and {ARN.format('310987654322')}"}]
    asked = request({"messages": [{"role": "user", "content": [image]}, {"role": "user", "content": texts}]})
    writer = SessionWriter(tmp_path / "a.jsonl")
    captured = writer.forward(Endpoint().receive(asked)).captured
    captured.status, captured.pieces, captured.running = 200, [(b'{"output":{}}', 0.1)], False
    endpoint = Endpoint(Recording(writer.path, parse(as_stored(writer)), "exact"))
    assert endpoint.exchange(asked).response.status == 200


PRIVATE = st.sampled_from(
    [
        "Chur",
        "210987654321",
        f"of {ARN.format('210987654321')} and {ARN.format('310987654322')}",
        f"of {ARN.format('310987654322')}, which is 310987654322",
        "https://b.s3.amazonaws.com/k?X-Amz-Signature=0f0f0f0f0f0f0f0f&X-Amz-Date=1",
        "cust-4711",
    ]
)


@settings(max_examples=examples(0.6))
@given(st.lists(converse_requests(texts=PRIVATE), min_size=1, max_size=3), st.sampled_from(MATCHES), st.data())
def test_whatever_is_recorded_is_played_for_what_was_asked(
    several: list[dict[str, Any]], rule: Match, data: st.DataObject
) -> None:
    """Masked or not, whole sessions; by exact request and by shape in any order."""
    redaction = Redaction({re.compile(r"cust-\d+"): "cust-1"})
    writer = SessionWriter(Path("session.jsonl"), redaction=redaction)
    sent = [request(asked, model=model_id) for model_id, asked in map(json_of, several)]
    listening = Endpoint()
    for each in sent:
        captured = writer.forward(listening.receive(each)).captured
        captured.status, captured.pieces, captured.running = 200, [(b'{"output":{}}', 0.1)], False
    session = Recording(writer.path, parse(as_stored(writer)), rule, redaction=redaction)
    endpoint = Endpoint(session)
    if rule != "order":
        sent = data.draw(st.permutations(sent))
    for each in sent:
        assert endpoint.exchange(each).response.status == 200
    assert endpoint.problems == []
