"""Which reply answers which call, and what is said when none does."""

import json
import re
from typing import Any

import pytest

from converse_harness import Call, Endpoint, Fake, ReplyError, UnusedReplies, bedrock, reply
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.script import Queue
from converse_harness.stream.http import Request

NOVA = "us.amazon.nova-lite-v1:0"
NO_REPLY = (
    "is not a reply. Write one with reply.text(...) or its like, or give a function of the call that returns one."
)


def request(
    text: str = "hello",
    *,
    model: str = NOVA,
    turns: int = 0,
    tools: tuple[str, ...] = (),
    attempt: int = 1,
    **body: Any,
) -> Request:
    messages = [{"role": role, "content": [{"text": "."}]} for role in ("user", "assistant") * turns]
    conversation: dict[str, Any] = {"messages": [*messages, {"role": "user", "content": [{"text": text}]}], **body}
    if tools:
        specs = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in tools]
        conversation["toolConfig"] = {"tools": specs}
    headers = (("amz-sdk-request", f"attempt={attempt}; max=3"),)
    return Request("POST", f"/model/{model.replace(':', '%3A')}/converse", headers, json.dumps(conversation).encode())


def ask(fake: Fake, **asked: Any) -> str:
    """What the fake answers: the summary of its reply, or the first line of its refusal."""
    exchange = fake.core.exchange(request(**asked))
    if exchange.call.reply is not None:
        return exchange.call.reply.summary
    (body,) = exchange.response.chunks
    return str(json.loads(body.data)["message"])


@pytest.mark.parametrize(
    ("condition", "matching", "other"),
    [
        ({"model": "*nova*"}, {"model": NOVA}, {"model": "anthropic.claude"}),
        ({"model": NOVA}, {"model": NOVA}, {"model": NOVA + "0"}),
        ({"model": re.compile("nova")}, {"model": NOVA}, {"model": "anthropic.claude"}),
        ({"last_user_text": "*weather*"}, {"text": "the weather\nin Bern"}, {"text": "the Weather"}),
        ({"system": "*critic*"}, {"system": [{"text": "a"}, {"text": "a critic"}]}, {"system": []}),
        ({"tool": "get_*"}, {"tools": ("now", "get_weather")}, {"tools": ("now",)}),
        ({"turn": 2}, {"turns": 1}, {"turns": 0}),
        ({"operation": "Converse"}, {}, None),
        ({"predicate": lambda call: len(call.messages) > 2}, {"turns": 1}, {}),
        ({"model": "*nova*", "turn": 1}, {}, {"turns": 1}),
    ],
)
def test_a_condition(condition: dict[str, Any], matching: dict[str, Any], other: dict[str, Any] | None) -> None:
    fake = Fake()
    fake.when(condition.pop("predicate", None), **condition).always(reply.text("matched"))
    fake.always(reply.text("other"))
    assert ask(fake, **matching) == 'text "matched"'
    if other is not None:
        assert ask(fake, **other) == 'text "other"'


def test_precedence_is_whens_as_written_then_the_script_then_always() -> None:
    fake = Fake()
    fake.always(reply.text("always"))
    fake.script(reply.text("script"))
    fake.when(model="*").script(reply.text("first when"))
    fake.when(model="*nova*").script(reply.text("second when").times(2))
    answers = [ask(fake) for _ in range(6)]
    assert [answer.split('"')[1] for answer in answers] == [
        "first when", "second when", "second when", "script", "always", "always",
    ]  # fmt: skip
    fake.check()


def test_the_last_always_holds() -> None:
    fake = Fake()
    fake.always(reply.text("one"))
    fake.always(reply.text("two"))
    assert ask(fake) == 'text "two"'


def test_a_function_gets_the_call() -> None:
    fake = Fake(lambda call: reply.text(call.last_user_text.upper()))
    assert ask(fake, text="hello") == 'text "HELLO"'


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda fake: fake.when(), "when() without a condition matches every call; use script() or always() for that."),
        (lambda fake: fake.when(model=7), "when(model=7): a glob such as '*haiku*', or a compiled re.Pattern."),
        (
            lambda fake: fake.when("*weather*"),
            (
                "when('*weather*'): the predicate is a plain function of the call, as lambda call: len(call.messages) "
                "> 2. A text is given by name: when(last_user_text=...), when(model=...)."
            ),
        ),
        (
            lambda fake: fake.script("hi"),
            f"script(): 'hi' {NO_REPLY} For the model's text: reply.text('hi').",
        ),
        (
            lambda fake: fake.always(None),
            f"always(): None {NO_REPLY}",
        ),
    ],
)
def test_what_is_written_wrong_fails_where_it_is_written(write: Any, message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        write(Fake())
    assert str(caught.value) == message


def test_an_operation_that_no_service_has_is_refused_by_name() -> None:
    with pytest.raises(ReplyError, match=r"'InvokeModle'.*InvokeModel"):
        Fake().on_operation("InvokeModle", lambda call: {})


NOT_HANDLED = {
    "Converse": "Converse is scripted: converse.always(lambda call: ...) answers it with a function of the call.",
    "ConverseStream": "ConverseStream is scripted: converse.always(lambda call: ...) answers it with a function of the",
    "InvokeModelWithBidirectionalStream": "InvokeModelWithBidirectionalStream sends a stream of events in both "
    "directions, over HTTP/2. boto3 has no such method, and converse-harness cannot answer it: replace the object in",
}


@pytest.mark.parametrize(("operation", "advice"), NOT_HANDLED.items(), ids=NOT_HANDLED)
def test_an_operation_that_no_handler_can_answer_is_refused_with_what_answers_it(operation: str, advice: str) -> None:
    if operation not in bedrock.operations():
        pytest.skip("this botocore has no such operation")
    with pytest.raises(ReplyError, match=re.escape(advice)):
        Fake().on_operation(operation, lambda call: {})


@pytest.mark.parametrize("service", bedrock.services())
def test_every_other_operation_of_every_bedrock_service_is_taken(service: str) -> None:
    fake = Fake()
    for operation in bedrock.operations(service):
        if operation not in NOT_HANDLED:
            fake.on_operation(operation, lambda call: {}, service=service)
    assert {*fake.endpoint.script.named} == {
        NamedOperation(service, each) for each in bedrock.operations(service) if each not in NOT_HANDLED
    }


def refusal(fake: Fake, **asked: Any) -> str:
    ask(fake, **asked)
    return str(fake.endpoint.problems[-1])


def test_a_call_that_no_condition_meets_says_why_nearest_first() -> None:
    fake = Fake()
    fake.when(model="*haiku*", last_user_text="*weather*").script(reply.text("a"))
    fake.when(model=re.compile("^amazon"), turn=1).always(reply.text("b"))
    assert refusal(fake, text="the time") == (
        "call 1 has no reply: no condition matches.\n"
        "\n"
        'arrived   Converse us.amazon.nova-lite-v1:0, 1 message, last: text "the time"\n'
        "scripted  1. when(model=re.compile('^amazon'), turn=1): text \"b\"     no match: model is "
        '"us.amazon.nova-lite-v1:0"\n'
        "          2. when(model='*haiku*', last_user_text='*weather*'): text \"a\"     no match: model is "
        '"us.amazon.nova-lite-v1:0", last_user_text is "the time"\n'
        "\n"
        "No condition matches and nothing else is scripted. Correct the nearest condition, or answer\n"
        "everything else with converse.always(...).   More: converse-harness docs scripting by-what-is-asked"
    )


@pytest.mark.parametrize(
    ("replies", "asked", "first", "advice"),
    [
        ([], {}, "call 1 has no reply: nothing is scripted.", "Nothing is scripted."),
        ([reply.text("a")], {}, "call 2 has no reply left.", "The agent asked once more than the script expects."),
        (
            [reply.throttled()],
            {"attempt": 2},
            "call 2 has no reply left.",
            "The client repeated a call that had failed.",
        ),
    ],
)
def test_a_call_that_was_not_expected_gets_the_advice_for_its_case(
    replies: list[Any], asked: dict[str, Any], first: str, advice: str
) -> None:
    fake = Fake(*replies)
    for _ in replies:
        ask(fake)
    message = refusal(fake, **asked)
    assert message.startswith(f"{first}\n\narrived   ")
    assert f"\n\n{advice} " in message


def test_a_glob_that_lacks_its_stars_is_named() -> None:
    fake = Fake()
    fake.when(last_user_text="weather").always(reply.text("a"))
    told = refusal(fake, text="the weather")
    assert "no match: last_user_text is " in told
    assert "(a string is a glob of the whole text: last_user_text='*weather*')" in " ".join(told.split())
    assert "a glob" not in refusal(fake, text="the wind")


def test_the_handle_ends_the_replies_time() -> None:
    fake = Fake()
    fake.always(reply.text("always"))
    with fake.script(reply.text("a").times(2)) as scripted:
        ask(fake)
        assert scripted.unused == 1
        ask(fake)
    assert [call.number for call in scripted.calls] == [1, 2]
    with pytest.raises(UnusedReplies, match=r"^1 scripted reply was not used\."), fake.script(reply.text("b")):
        pass
    assert ask(fake) == 'text "always"'


def test_a_call_after_the_block_of_its_replies() -> None:
    fake = Fake()
    with fake.script(reply.text("a")):
        ask(fake)
    message = refusal(fake)
    assert message.startswith("call 2 has no reply: the `with` block of its replies has ended.\n\narrived   ")
    assert "Move the call into the block, or script" in " ".join(message.split())


def test_a_failing_block_keeps_its_own_error() -> None:
    with pytest.raises(KeyError), Fake().script(reply.text("a")):
        raise KeyError


def test_call_params_are_the_arguments_of_the_boto_call() -> None:
    endpoint = Endpoint(reply.text("a"))
    content = [{"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}]
    call: Call = endpoint.exchange(
        request(messages=[{"role": "user", "content": content}], inferenceConfig={"maxTokens": 5})
    ).call
    assert call.params == {
        "modelId": NOVA,
        "messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}]}],
        "inferenceConfig": {"maxTokens": 5},
    }
    assert call.inference == {"maxTokens": 5}
    assert call.guardrail is call.tool_choice is None


def test_whether_functions_run_is_known_also_after_they_are_gone() -> None:
    fake = Fake()

    def runs() -> bool:
        return fake.core.runs_functions

    with fake.script(lambda call: reply.text("a")):
        assert runs()
        assert ask(fake) == 'text "a"'
    assert not runs()
    fake.always(lambda call: reply.text(call.last_user_text))
    assert runs()
    fake.always(reply.text("b"))
    assert not runs()
    assert ask(fake) == 'text "b"'
    fake.when(lambda call: False)
    assert runs()


def test_what_was_taken_back_leaves_the_others_in_their_order() -> None:
    fake = Fake(reply.text("a"))
    with fake.script(reply.text("b"), reply.text("c")):
        assert [ask(fake), ask(fake), ask(fake)] == ['text "a"', 'text "b"', 'text "c"']
        fake.script(reply.text("d"), reply.text("e"))
        assert ask(fake) == 'text "d"'
    assert ask(fake) == 'text "e"'
    fake.script(reply.text("f"))
    assert ask(fake) == 'text "f"'


def test_what_was_let_go_is_said_where_calls_are_listed() -> None:
    fake = Fake(reply.text("hi").times(100), keep_calls=60)
    for number in range(62):
        ask(fake, text=str(number))
    assert [call.number for call in fake.calls] == [*range(3, 63)]
    said = "calls 1 to 2 were let go: the fake keeps the last 60 (keep_calls)"
    assert fake.transcript.splitlines()[0] == said
    with pytest.raises(UnusedReplies) as unused:
        fake.check()
    message = str(unused.value)
    arrived = message[message.index("arrived") :].splitlines()
    assert [line.strip() for line in arrived[:3]] == [
        f"arrived   {said}",
        "and 10 more before these",
        f'13. Converse {NOVA}, 1 message, last: text "12"',
    ]
    assert "used by calls 1, 2, 3, 4, 5, " in message
    assert ", 18, 19, 20, ... 62, 38 more calls expected" in message
    whole = Fake(reply.text("hi").times(100))
    ask(whole)
    assert "let go" not in whole.transcript


def test_queues_change_under_the_lock_of_their_fake_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server reads them in another thread."""
    fake = Fake()
    held: dict[str, list[bool]] = {"add": [], "remove": []}
    for name, seen in held.items():
        original = getattr(Queue, name)

        def change(*args: Any, seen: list[bool] = seen, original: Any = original, **more: Any) -> Any:
            seen.append(fake.core.lock._is_owned())  # type: ignore[attr-defined]
            return original(*args, **more)

        monkeypatch.setattr(Queue, name, change)
    with fake:
        with fake.script(reply.text("a")):
            ask(fake)
        with fake.when(model="*").script(reply.text("b")):
            ask(fake)
        fake.when(model="*").always(reply.text("c"))
        fake.always(reply.text("d"))
    assert len(held["add"]) == 4
    assert {name: set(seen) for name, seen in held.items()} == {"add": {True}, "remove": {True}}
