"""What is said of a call that no recorded exchange answers: word for word."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from converse_harness import Endpoint, Fake, UnexpectedCall, UnusedReplies, recording, reply
from converse_harness.recordings.differences import shown
from converse_harness.recordings.play.matching import Match
from converse_harness.stream.http import Request
from tests.recordings.asking import ask, body, exchange, request, result, streamed, throttled, tools, use, user, write

AGENT = {"system": [{"text": "You are a weather agent."}], "toolConfig": tools("get_weather")}
FIRST = body(user("What is it like in Bern?"), **AGENT)
SECOND = body(user("What is it like in Bern?"), use("tooluse_1"), result("tooluse_1"), **AGENT)

FILE = Path("recordings/weather.jsonl")
AGAIN = 'pytest --converse-record=all "tests/test_weather.py::test_bern"'
ALL_PLAYED = "call 3 has no reply left: all 2 exchanges of recordings/weather.jsonl were played already.\n"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir()
    write(FILE, exchange(FIRST), exchange(SECOND))


def refused(*asked: Any, match: Match = "shape", again: str = AGAIN, **how: Any) -> str:
    """What is said of the last of these calls, which alone is not answered."""
    endpoint = Endpoint(replace(recording(FILE, match=match), again=again), rules="off")
    *answered, last = asked
    for each in answered:
        ask(endpoint, each)
    assert endpoint.problems == []
    first = ask(endpoint, last, **how)
    (problem,) = endpoint.problems
    assert isinstance(problem, UnexpectedCall)
    assert str(problem).partition("\n")[0] == first
    return str(problem)


def differs(message: str) -> list[str]:
    """The lines of a message that show what differs."""
    section = message.partition("\ndiffers ")[2].partition("\n\n")[0]
    return [line.strip() for line in section.splitlines()[1:]]


def test_another_shape() -> None:
    assert refused(FIRST, body(user("And in Chur?"), use("tooluse_2"), user("It is warm."), **AGENT)) == (
        """\
call 2 matches no exchange of recordings/weather.jsonl.

arrived   Converse us.amazon.nova-lite-v1:0, 3 messages, last: text "It is warm."
nearest   recordings/weather.jsonl:4, not played: Converse us.amazon.nova-lite-v1:0, 3 messages, last: toolResult \
tooluse_1 "18 °C"

differs   - recorded, + arrived
          - messages[2].content[0]  {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "18 °C"}]...
          + messages[2].content[0]  {"text": "It is warm."}

match     "shape": operation, model, roles, kinds of blocks and names of tools are the same, texts may differ
          match="order" would play it: it is the next one.

The request differs from the recorded one: the client has changed, or the file was edited.
If that is meant, record it again:
pytest --converse-record=all "tests/test_weather.py::test_bern\""""
    )


def test_another_word() -> None:
    other = {**FIRST, "system": [{"text": "You are a travel agent."}]}
    assert refused(other, match="exact") == (
        """\
call 1 matches no exchange of recordings/weather.jsonl.

arrived   Converse us.amazon.nova-lite-v1:0, 1 message, last: text "What is it like in Bern?"
nearest   recordings/weather.jsonl:2, not played: Converse us.amazon.nova-lite-v1:0, 1 message, last: text \
"What is it like in Bern?"

differs   - recorded, + arrived
          - system[0].text  "You are a weather agent."
          + system[0].text  "You are a travel agent."

match     "exact": operation, model and the whole request are the same
          match="order" would play it: it is the next one.
          match="shape" would play it: only what that leaves out differs.

The request differs from the recorded one: the client has changed, or the file was edited.
If that is meant, record it again:
pytest --converse-record=all "tests/test_weather.py::test_bern\""""
    )


def test_another_operation_by_order() -> None:
    assert refused(FIRST, SECOND, match="order", operation="ConverseStream", again="") == (
        """\
call 2 is not what recordings/weather.jsonl has next.

arrived   ConverseStream us.amazon.nova-lite-v1:0, 3 messages, last: toolResult tooluse_1 "18 °C"
nearest   recordings/weather.jsonl:4, not played: Converse us.amazon.nova-lite-v1:0, 3 messages, last: toolResult \
tooluse_1 "18 °C"

differs   - recorded, + arrived
          - operation  "Converse"
          + operation  "ConverseStream"

match     "order": the next exchange, if operation and model are the same

The request differs from the recorded one: the client has changed, or the file was edited.
If that is meant, record it again:
with record('recordings/weather.jsonl'): ..."""
    )


@pytest.mark.parametrize("match", ["order", "exact", "shape"])
def test_another_model(match: Match) -> None:
    assert differs(refused(FIRST, match=match, model="us.amazon.nova-pro-v1:0")) == [
        '- modelId  "us.amazon.nova-lite-v1:0"',
        '+ modelId  "us.amazon.nova-pro-v1:0"',
    ]


def test_the_same_again() -> None:
    assert refused(FIRST, body(user("And now?"), **AGENT)) == (
        """\
call 2 has no reply left: recordings/weather.jsonl:2, which matches, was played already by call 1.

arrived   Converse us.amazon.nova-lite-v1:0, 1 message, last: text "And now?"
played    recordings/weather.jsonl:2, played by call 1: Converse us.amazon.nova-lite-v1:0, 1 message, last: text \
"What is it like in Bern?"
left      recordings/weather.jsonl:4, not played: Converse us.amazon.nova-lite-v1:0, 3 messages, last: toolResult \
tooluse_1 "18 °C"

The client asks once more than when it was recorded. If that is meant, record it again:
pytest --converse-record=all "tests/test_weather.py::test_bern\""""
    )


def test_one_more_attempt_than_was_recorded() -> None:
    write(FILE, throttled(FIRST), throttled(FIRST))
    message = refused(FIRST, FIRST, FIRST, attempt=3)
    assert message.startswith(
        "call 3 has no reply left: each of 2 that match was played already by calls 1, 2.\n\narrived "
    )
    assert "\nleft      nothing\n\nThe client tried once more (attempt 3) than when it was recorded. " in message


def test_all_were_played_by_order() -> None:
    message = refused(FIRST, SECOND, FIRST, match="order")
    assert message.startswith(
        "call 3 has no reply left: all 2 exchanges of recordings/weather.jsonl were played already."
    )
    assert "\nplayed    recordings/weather.jsonl:2, played by call 1: " in message
    assert "\n          recordings/weather.jsonl:4, played by call 2: " in message


def test_all_were_played_and_it_is_another_question() -> None:
    message = refused(FIRST, SECOND, body(*SECOND["messages"], use("tooluse_2"), result("tooluse_2"), **AGENT))
    assert message.startswith(
        "call 3 has no reply left: all 2 exchanges of recordings/weather.jsonl were played already."
    )
    assert "\nnearest   recordings/weather.jsonl:4, played by call 2: " in message
    assert differs(message) == [
        '+ messages[3]  {"role": "assistant", "content": [{"toolUse": {"toolUseId": "tooluse_2",...',
        '+ messages[4]  {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_2", "...',
    ]
    assert "would play it" not in message


def test_nothing_was_recorded() -> None:
    write(FILE)
    assert refused(FIRST).startswith(
        "call 1 has no reply: recordings/weather.jsonl holds no exchange.\n\narrived   Converse us."
    )


def test_neither_rule_would_play_it() -> None:
    other = {**FIRST, "toolConfig": tools("get_weather", "pay"), "guardrailConfig": {"guardrailIdentifier": "g"}}
    message = refused(FIRST, other, match="exact")
    assert (
        '\n          match="shape" would not play it either: messages, toolConfig.tools, guardrailConfig differ.\n'
        in (message)
    )


def test_what_was_played_is_not_offered() -> None:
    assert "would play it" not in refused(FIRST, SECOND, {**SECOND, "system": [{"text": "Be brief."}]}, match="exact")


def test_links_are_shown_with_their_ids() -> None:
    assert differs(refused(FIRST, body(user("a"), use("tooluse_x"), result("tooluse_y"), **AGENT))) == [
        '- messages[2].content[0].toolResult.toolUseId  "tooluse_1"',
        '+ messages[2].content[0].toolResult.toolUseId  "tooluse_y"',
    ]


def test_tools_are_shown_by_name() -> None:
    assert differs(refused({**FIRST, "toolConfig": tools("get_weather", "pay")})) == ['+ toolConfig.tools[1]  "pay"']


def test_a_message_that_came_between_is_shown_where_it_is() -> None:
    more = body(SECOND["messages"][0], {"role": "assistant", "content": []}, *SECOND["messages"][1:], **AGENT)
    write(FILE, exchange(SECOND))
    assert differs(refused(more, match="exact")) == ['+ messages[1]  {"role": "assistant", "content": []}']


def test_long_texts_are_shown_around_what_differs() -> None:
    story = "It was a dark and stormy night; the rain fell in torrents. " * 20
    write(FILE, exchange(body(user(f"{story}Then came Anna. {story}"))))
    shown = '"... in torrents. Then came {}. It was a dark and stormy night; the rain f..."'
    assert differs(refused(body(user(f"{story}Then came Otto. {story}")), match="exact")) == [
        f"- messages[0].content[0].text  {shown.format('Anna')}",
        f"+ messages[0].content[0].text  {shown.format('Otto')}",
    ]


def test_no_more_lines_than_can_be_read() -> None:
    write(FILE, exchange(body(user(*(f"recorded {number}" for number in range(30))))))
    lines = differs(refused(body(user(*(f"arrived {number}" for number in range(30)))), match="exact"))
    assert len(lines) == 19
    assert lines[-3:] == [
        '- messages[0].content[8].text  "recorded 8"',
        '+ messages[0].content[8].text  "arrived 8"',
        "and 21 more differences",
    ]


def test_as_many_lines_as_can_be_read_are_all_shown() -> None:
    write(FILE, exchange(body(user(*(f"recorded {number}" for number in range(10))))))
    shown = differs(refused(body(user(*(f"arrived {number}" for number in range(10)))), match="exact"))
    assert shown == [
        f'{sign} messages[0].content[{number}].text  "{side} {number}"'
        for number in range(10)
        for sign, side in (("-", "recorded"), ("+", "arrived"))
    ]


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "QWERTYUIOPASDFGH",
        "Bearer abcdefghijklmnop1234",
        "ABSK" + "QmVkcm9ja0FQSUtleS1hYmNk",
        "arn:aws:bedrock:us-east-1:210987654321:prompt/X",
    ],
)
@pytest.mark.parametrize("match", ["exact", "shape"])
def test_no_secret_is_shown(match: Match, secret: str) -> None:
    padding = "It was a dark and stormy night. " * 3
    for cut in range(60, 80):  # wherever a text may be cut
        texts = f"{padding[:cut]} {secret}", f"{padding[: cut - 50]} {secret}", f"{padding[: cut - 20]} {secret}"
        other = body(*map(user, texts), **AGENT)
        message = refused(other, match=match)
        private = secret.split(":")[4] if secret.startswith("arn") else secret.split()[-1]
        assert private[: len(private) // 2] not in message


def test_a_difference_between_secrets_is_one_that_is_not_shown() -> None:
    recorded, asked = "Bearer abcdefghijklmnop1234", "Bearer abcdefghijklmnop1235"
    assert shown(recorded, asked) == ('"Bearer ***"', '"Bearer *** (another one)"')
    write(FILE, exchange(body(user(recorded))))
    answer = ask(Endpoint(recording(FILE, match="exact")), body(user(asked)))
    assert answer == "hi"


def test_what_moves_the_cursor_is_not_printed() -> None:
    message = refused(body(user("\u202eevil\x1b[2J\x9b2J"), **AGENT), match="exact")
    assert '+ messages[0].content[0].text  "\\u202eevil\\u001b[2J\\u009b2J"' in message


# The nearest


def nearest(message: str) -> str:
    return message.partition("\nnearest   ")[2].partition(":")[2].partition(",")[0]


def test_the_nearest_is_not_played_and_most_alike() -> None:
    questions = [body(user("Is it warm?", "In Bern?")), body(user("Is it cold?", "In Chur?")), SECOND]
    write(FILE, *map(exchange, questions))
    assert nearest(refused(body(user("Is it cold?", "In Thun?")), match="exact")) == "4"
    assert nearest(refused(body(user("Is it warm?", "In Thun?")), match="exact")) == "2"
    assert nearest(refused(questions[1], body(user("Is it cold?", "In Thun?")), match="exact")) == "2"
    assert nearest(refused({**SECOND, "system": []}, match="exact")) == "6"


def test_the_nearest_is_of_the_same_operation() -> None:
    write(FILE, exchange(FIRST), streamed(SECOND, "Warm."))
    assert nearest(refused({**SECOND, "system": []})) == "2"
    assert nearest(refused({**FIRST, "system": []}, operation="ConverseStream")) == "4"


def test_what_cannot_be_compared_says_so() -> None:
    deep = "[" * 2000 + "]" * 2000
    endpoint = Endpoint(recording(FILE))
    sent = request({"messages": 0})
    sent = Request("POST", sent.target, (), b'{"messages":[],"additionalModelRequestFields":{"a":%s}}' % deep.encode())
    assert endpoint.exchange(sent).response.status == 400


# Beside other scripts


def test_what_is_scripted_by_hand_is_listed_too() -> None:
    endpoint = Endpoint(recording(FILE), reply.text("by hand"))
    other = body(user("a"))
    assert ask(endpoint, other) == "by hand"
    ask(endpoint, other)
    (problem,) = endpoint.problems
    assert str(problem).startswith(
        """\
call 2 matches no exchange of recordings/weather.jsonl.

arrived   Converse us.amazon.nova-lite-v1:0, 1 message, last: text "a"
scripted  1. text "by hand"     used by call 1
nearest   recordings/weather.jsonl:2, not played: """
    )


def test_each_of_two_recordings_says_why() -> None:
    other = write(FILE.with_name("other.jsonl"), exchange(body(user("a"))))
    endpoint = Endpoint(recording(FILE), recording(other))
    assert ask(endpoint, body(user("b", "c"))) == "call 1 matches no exchange of 2 recordings."
    (problem,) = endpoint.problems
    assert str(problem).count("\nnearest   recordings/weather.jsonl:2,") == 1
    assert str(problem).count("\nnearest   recordings/other.jsonl:2,") == 1
    assert "\n\ncall 1 matches no exchange of recordings/other.jsonl.\n" in str(problem)


def test_an_operation_that_was_not_recorded_is_routed() -> None:
    endpoint = Endpoint(recording(FILE))
    endpoint.exchange(Request("POST", "/model/m/invoke", (), b"{}"))
    assert str(endpoint.problems[0]).startswith("InvokeModel of bedrock-runtime is not scripted.\n")


def test_what_was_not_played_is_listed_by_file_and_line() -> None:
    fake = Fake()
    with pytest.raises(UnusedReplies) as caught, fake.script(recording(FILE)):
        ask(fake.endpoint, FIRST)
    assert str(caught.value).startswith(
        """\
1 scripted reply was not used.

scripted  1. recordings/weather.jsonl:2: text "hi"     used by call 1
          2. recordings/weather.jsonl:4: text "hi"     not used
arrived   """
    )


def test_of_a_long_recording_what_was_not_played_is_listed() -> None:
    write(FILE, *(exchange(body(user(str(number)))) for number in range(200)))
    fake = Fake()

    def run() -> None:
        with fake.script(recording(FILE)):
            for number in range(10):
                ask(fake.endpoint, body(user(str(number))))

    with pytest.raises(UnusedReplies) as caught:
        run()
    rows = str(caught.value).partition("\n\n")[2].partition("\narrived")[0].splitlines()
    assert len(rows) == 51
    assert rows[0] == 'scripted  11. recordings/weather.jsonl:22: text "hi"      not used'
    assert rows[-1].strip() == "and 150 more"
