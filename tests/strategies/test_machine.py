"""`conversation_machine`: sound agents pass, planted bugs are found and shown in a few steps, nothing stays open.

How pytest prints the steps is on the page property-testing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import Phase, settings
from hypothesis.errors import InvalidArgument
from hypothesis.stateful import rule, run_state_machine_as_test
from strands import Agent, tool
from strands.models import BedrockModel

from converse_harness import ChangedHistory, RefusedRequest, UnexpectedCall, UnusedReplies, fake_converse
from converse_harness.bedrock import has_member
from converse_harness.intercept.clients import create_client
from converse_harness.intercept.registry import OPEN_FAKES
from converse_strategies import basics
from converse_strategies.machine import TROUBLES, ConversationMachine, conversation_machine
from tests.profiles import examples

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Look up the weather.",
    "inputSchema": {
        "json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
SHORT = settings(
    max_examples=examples(0.2),
    stateful_step_count=6,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
)
LONG = settings(SHORT, max_examples=examples(5))
FOUND_AND_SHRUNK = pytest.mark.parametrize(
    "shrunk", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["found", "shrunk"]
)


class Loop:
    """A tool loop as people write it, without a bug; each subclass has one."""

    options: dict[str, Any] = {}  # noqa: RUF012 - read only
    model_id = "m"

    def __init__(self, url: str | None = None) -> None:
        self.client = create_client(endpoint_url=url, **self.options)
        self.messages: list[Any] = []

    def __call__(self, text: str) -> str:
        kept = list(self.messages)
        self.messages.append({"role": "user", "content": [{"text": text}]})
        try:
            return self.loop()
        except ClientError:
            self.messages = kept
            raise

    def loop(self) -> str:
        while True:
            message = self.model()
            self.messages.append(message)
            uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            uses = [use for use in uses if use.get("type") != "server_tool_use"]
            if not uses:
                return said(message)
            self.messages.append({"role": "user", "content": [self.run(use) for use in uses]})

    def run(self, use: Any) -> Any:
        known = use["name"] == WEATHER["name"] and isinstance(use["input"].get("city"), str)
        result = [{"text": f"18 °C in {use['input']['city']}" if known else "No such tool, or no city."}]
        status = "success" if known else "error"
        return {"toolResult": {"toolUseId": use["toolUseId"], "content": result, "status": status}}

    def model(self) -> Any:
        tools = {"tools": [{"toolSpec": WEATHER}]}
        return self.client.converse(modelId=self.model_id, messages=self.messages, toolConfig=tools)["output"][
            "message"
        ]


def said(message: Any) -> str:
    """What a reader sees of an answer: its texts, also those that cite something."""
    cited = [part for block in message["content"] for part in block.get("citationsContent", {}).get("content", ())]
    return "".join(block.get("text", "") for block in (*message["content"], *cited))


class KeepsAnUnansweredQuestion(Loop):
    def __call__(self, text: str) -> str:
        self.messages.append({"role": "user", "content": [{"text": text}]})
        return self.loop()


class RunsTheFirstToolOnly(Loop):
    def loop(self) -> str:
        message = self.model()
        self.messages.append(message)
        match message["content"]:
            case [{"toolUse": use}, *_]:
                self.messages.append({"role": "user", "content": [self.run(use)]})
                return self.loop()
            case _:
                return str(message["content"][0]["text"])


class RunsNoTools(Loop):
    def loop(self) -> str:
        message = self.model()
        self.messages.append(message)
        return str(message["content"][0].get("text", "I would have to look it up."))


class AsksOnceMore(Loop):
    def __call__(self, text: str) -> str:
        super().__call__(text)
        try:
            return super().__call__(f"Are you sure? {text}")
        except ClientError:
            return "I am."


class AsksForEver(Loop):
    def __call__(self, text: str) -> str:
        while True:
            text = super().__call__(text)


class TrustsTheModel(Loop):
    def run(self, use: Any) -> Any:
        return super().run({**use, "input": {"city": use["input"]["city"]}})


class TriesOnce(Loop):
    options = {"config": Config(retries={"total_max_attempts": 1})}  # noqa: RUF012 - read only


class TripsOverAnOverflow(Loop):
    def loop(self) -> str:
        try:
            return super().loop()
        except ClientError as error:
            return str(error.response["reason"])


def roles_alternate(conversation: ConversationMachine) -> None:
    for call in conversation.calls:
        roles = [message["role"] for message in call.messages]
        assert roles == (["user", "assistant"] * len(roles))[: len(roles)], f"{roles}"


def every_tool_use_is_answered(conversation: ConversationMachine) -> None:
    for call in conversation.calls:
        blocks = [(message["role"], block) for message in call.messages for block in message["content"]]
        used = [block["toolUse"] for _, block in blocks if "toolUse" in block]
        own = [use["toolUseId"] for use in used if use.get("type") != "server_tool_use"]
        answered = [
            block["toolResult"]["toolUseId"] for role, block in blocks if "toolResult" in block and role == "user"
        ]
        assert answered == own


def what_the_model_says_is_returned(conversation: ConversationMachine) -> None:
    for turn in conversation.turns:
        if turn.error is None:
            last = turn.calls[-1].response
            assert last is not None
            assert turn.answer == said(last.message)


INVARIANTS = (roles_alternate, every_tool_use_is_answered, what_the_model_says_is_returned)
weather_machine = partial(conversation_machine, tools=[WEATHER], invariants=INVARIANTS, rules="off")


def steps_to(error: type[BaseException], match: str, machine: Any, *, shrunk: bool) -> list[str]:
    """The steps to an error as hypothesis prints them, without the invariants between them."""
    phases = (Phase.generate, Phase.shrink) if shrunk else (Phase.generate,)  # explaining would trace every line
    with pytest.raises(error, match=match) as caught:
        run_state_machine_as_test(machine, settings=settings(LONG, phases=phases))
    steps = re.findall(r"state\.(.*)", "\n".join(getattr(caught.value, "__notes__", [])))
    return [step for step in steps if not step.endswith("()")]


def run_until(machine: Any, enough: Callable[[], bool]) -> None:
    """Run the machine with other draws, up to twenty times, until enough was seen: what is drawn is left to chance."""
    for _ in range(20):
        run_state_machine_as_test(machine, settings=settings(SHORT, derandomize=False))
        if enough():
            return


def test_a_sound_agent_passes() -> None:
    seen: set[str] = set()
    tools: set[int] = set()

    def note(conversation: ConversationMachine) -> None:
        seen.update(turn.trouble for turn in conversation.turns)
        tools.update(len(call.tool_results) for call in conversation.calls)

    machine = weather_machine(Loop, invariants=(*INVARIANTS, note))
    run_until(machine, lambda: seen == {"", *TROUBLES} and tools >= {0, 1, 2})
    assert seen == {"", *TROUBLES}
    assert tools >= {0, 1, 2}


def test_a_sound_agent_passes_over_a_real_socket() -> None:
    urls: set[str] = set()

    def make_agent(url: str) -> Loop:
        urls.add(url)
        return Loop(url)

    run_state_machine_as_test(weather_machine(make_agent, server=True), settings=SHORT)
    assert all(url.startswith("http://127.0.0.1:") for url in urls)


@FOUND_AND_SHRUNK
@pytest.mark.parametrize(
    ("agent", "trouble", "error", "message", "steps"),
    [
        (KeepsAnUnansweredQuestion, ["overflow"], AssertionError, "'user', 'user'", ["overflow", "carry_on"]),
        (RunsTheFirstToolOnly, [], AssertionError, "==", ["use_tools"]),
        (RunsNoTools, [], UnusedReplies, "scripted repl.* not used", ["use_tools"]),
        (AsksOnceMore, [], UnexpectedCall, r"call \d+ has no reply left", ["chat"]),
        (AsksForEver, [], UnexpectedCall, r"call \d+ has no reply left", ["chat"]),
        (TriesOnce, ["throttle"], ClientError, "Too many requests", ["throttle"]),
    ],
)
def test_a_planted_bug_is_found_and_shown_in_few_steps(
    agent: type[Loop], trouble: list[str], error: type[Exception], message: str, steps: list[str], shrunk: bool
) -> None:
    shown = steps_to(error, message, weather_machine(agent, troubles=trouble), shrunk=shrunk)
    assert OPEN_FAKES.newest() is None
    assert shown
    if not shrunk:
        return
    assert len(shown) <= len(steps) + 1  # now and then hypothesis leaves a step that is not needed
    assert [step.partition("(")[0] for step in shown[-len(steps) :]] == steps
    for step in shown:
        assert "text='0'" in step
        assert "answer='0'" in step
        assert step.startswith("use_tools") == ("{'name': 'get_weather', 'input': {'city': ''}}" in step)


class Claude(Loop):
    model_id = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class LosesSignatures(Claude):
    def model(self) -> Any:
        message = super().model()
        for block in message["content"]:
            block.get("reasoningContent", {}).get("reasoningText", {}).pop("signature", None)
        return message


class ReadsRedactedThoughtsAsText(Claude):
    def model(self) -> Any:
        message = super().model()
        for block in message["content"]:
            thought = block.get("reasoningContent", {})
            if "redactedContent" in thought:
                thought["redactedContent"] = thought["redactedContent"].decode(errors="replace").encode()
        return message


class LosesThoughts(Claude):
    def model(self) -> Any:
        thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        message = self.client.converse(
            modelId=self.model_id,
            messages=self.messages,
            toolConfig={"tools": [{"toolSpec": WEATHER}]},
            inferenceConfig={"maxTokens": 2048},
            additionalModelRequestFields=thinking,
        )["output"]["message"]
        return {**message, "content": [block for block in message["content"] if "reasoningContent" not in block]}


class ReadsTheFirstBlock(Claude):
    def loop(self) -> str:
        super().loop()
        return str(self.messages[-1]["content"][0]["text"])


class ReadsTexts(Claude):
    def loop(self) -> str:
        super().loop()
        return "".join(block.get("text", "") for block in self.messages[-1]["content"])


class RunsEveryTool(Loop):
    model_id = "us.amazon.nova-lite-v1:0"

    def loop(self) -> str:
        while True:
            message = self.model()
            self.messages.append(message)
            uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            if not uses:
                return said(message)
            self.messages.append({"role": "user", "content": [self.run(use) for use in uses]})


class StopsAtTheEndOnly(Loop):
    def loop(self) -> str:
        while True:
            answer = self.client.converse(modelId=self.model_id, messages=self.messages)
            self.messages.append(answer["output"]["message"])
            if answer["stopReason"] == "end_turn":
                return said(self.messages[-1])


BESIDE_TEXT: list[tuple[type[Loop], dict[str, Any], type[Exception], str, list[str]]] = [
    (LosesSignatures, {"history": "fail"}, ChangedHistory, "changes the signature", ["think"]),
    (LosesSignatures, {"rules": "default", "history": "off"}, RefusedRequest, "signature", ["think"]),
    (ReadsRedactedThoughtsAsText, {"history": "fail"}, ChangedHistory, "changes reasoning", ["think"]),
    (LosesThoughts, {"history": "fail"}, ChangedHistory, "leaves out reasoning", ["think"]),
    (ReadsTheFirstBlock, {}, KeyError, "text", ["think"]),
    (ReadsTexts, {"kinds": ["citationsContent"]}, AssertionError, "==", ["cite"]),
    (RunsEveryTool, {"kinds": ["toolResult"]}, UnexpectedCall, "no reply left", ["use_service_tool"]),
    (StopsAtTheEndOnly, {"tools": [], "troubles": ["stop_early"]}, AssertionError, "'assistant'", ["stop_early"]),
]
HAS_HISTORY = find_spec("converse_harness.endpoint.history") is not None
"""Whether the built-in stage `history`, which compares what comes back, is there: the core is tested without it."""


@FOUND_AND_SHRUNK
@pytest.mark.parametrize(
    ("agent", "options", "error", "message", "steps"),
    [row for row in BESIDE_TEXT if HAS_HISTORY or row[2] is not ChangedHistory],
)
def test_a_bug_in_what_an_answer_has_beside_text_is_found(
    agent: type[Loop],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    steps: list[str],
    shrunk: bool,
) -> None:
    if options.get("kinds") == ["toolResult"] and not has_member("ToolUseBlock", "type"):
        pytest.skip("this botocore knows no tools that the service runs")
    machine = weather_machine(agent, **{"troubles": [], **options})
    shown = steps_to(error, message, machine, shrunk=shrunk)
    assert {step.partition("(")[0] for step in shown} & {*steps}
    assert not shrunk or len(shown) <= 3


def test_an_agent_of_texts_alone_can_be_asked_for_nothing_else() -> None:
    machine = weather_machine(ReadsTheFirstBlock, kinds=[], troubles=[])
    run_state_machine_as_test(machine, settings=SHORT)


def test_after_trouble_the_conversation_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    before: set[str] = set()
    carry_on = ConversationMachine.carry_on

    def noted(conversation: ConversationMachine, text: str, answer: str) -> None:
        before.add(conversation.turns[-1].trouble)
        carry_on(conversation, text, answer)
        assert conversation.answers[-1] == answer

    monkeypatch.setattr(ConversationMachine, "carry_on", noted)
    machine = weather_machine(Loop)
    run_until(machine, lambda: bool(before))
    assert before
    assert before <= {*TROUBLES} - {"throttle"}


@pytest.mark.parametrize("model", [Claude.model_id, RunsEveryTool.model_id, "m"])
def test_a_sound_agent_passes_with_every_kind_of_answer(model: str) -> None:
    seen: set[str] = set()
    stops: set[str] = set()

    def note(conversation: ConversationMachine) -> None:
        for call in conversation.calls:
            if call.response is not None:
                seen.update(kind for block in call.response.message["content"] for kind in block)
                stops.add(call.response.stop_reason)

    class Sound(Loop):
        model_id = model

    # Claude does not take the tool of Nova
    served = [] if model == Claude.model_id or not has_member("ToolUseBlock", "type") else ["toolResult"]
    kinds = ["reasoningContent", "citationsContent", *served]
    machine = weather_machine(
        Sound, kinds=kinds, rules="default", history="fail", invariants=(*INVARIANTS, note), may_raise=ClientError
    )
    thinks = ["reasoningContent"] if model == Claude.model_id else []
    wanted = {"text", "toolUse", "citationsContent", *served, *thinks}
    run_until(machine, lambda: seen == wanted and stops > {"end_turn", "tool_use"})
    assert seen == wanted
    assert stops > {"end_turn", "tool_use"}


@pytest.mark.parametrize("server", [False, True])
def test_what_bedrock_refuses_is_found_without_an_invariant(server: bool) -> None:
    machine = weather_machine(RunsTheFirstToolOnly, troubles=[], invariants=(), rules="default", server=server)
    with pytest.raises(RefusedRequest, match=r"Expected toolResult blocks at messages\."):
        run_state_machine_as_test(machine, settings=LONG)


def test_of_a_sound_agent_nothing_is_said_whatever_the_trouble() -> None:
    run_state_machine_as_test(weather_machine(Loop, invariants=(), history="fail"), settings=SHORT)


@FOUND_AND_SHRUNK
def test_trouble_is_no_excuse_for_another_error(shrunk: bool) -> None:
    machine = weather_machine(TripsOverAnOverflow, troubles=["overflow"], may_raise=ClientError)
    last = steps_to(KeyError, "reason", machine, shrunk=shrunk)[-1]
    assert last == "overflow(answer='0', text='0', uses=[])" if shrunk else last.startswith("overflow(answer=")


def test_any_error_may_be_what_trouble_comes_to() -> None:
    machine = weather_machine(TripsOverAnOverflow, troubles=["overflow"], invariants=())
    run_state_machine_as_test(machine, settings=SHORT)


@FOUND_AND_SHRUNK
def test_an_agent_that_trusts_the_model_is_found(shrunk: bool) -> None:
    machine = weather_machine(TrustsTheModel, troubles=["misuse_tool"], may_raise=ClientError)
    last = steps_to(KeyError, "city", machine, shrunk=shrunk)[-1]
    use = "{'name': 'get_weather', 'input': {}}"
    step = f"misuse_tool(answer='0', text='0', use={use})"
    assert last == step if shrunk else last.startswith("misuse_tool(answer=")


def test_what_is_said_can_be_chosen() -> None:
    said = basics.faker_texts()
    captured: list[str] = []

    def ask(text: str) -> str:
        captured.append(text)
        message = {"role": "user", "content": [{"text": text}]}
        create_client().converse(modelId="m", messages=[message])
        return text

    machine = conversation_machine(lambda: ask, texts=said, answers=said, troubles=())
    run_state_machine_as_test(machine, settings=SHORT)
    assert all(text.endswith(".") and text.isascii() for text in captured)


def test_a_subclass_has_rules_and_ways_to_ask_of_its_own() -> None:
    class HadMuchToForget(Exception):
        pass

    class Forgetful(weather_machine(lambda: None, troubles=())):  # type: ignore[misc]  # mypy knows no such base class
        def __init__(self) -> None:
            super().__init__()
            self.loop = Loop()

        def ask(self, text: str) -> str:
            return self.loop(text)

        @rule(text=basics.visible_texts())
        def forget(self, text: str) -> None:
            forgotten = len(self.loop.messages)
            self.loop.messages.clear()
            self.chat(text, "Have we met?")
            assert self.answers[-1] == "Have we met?"
            if forgotten > 2:
                raise HadMuchToForget

    with pytest.raises(HadMuchToForget):
        run_state_machine_as_test(Forgetful, settings=LONG)


def test_an_agent_that_cannot_be_made_leaves_nothing_open() -> None:
    def make_agent() -> Callable[[str], str]:
        raise RuntimeError("no model chosen")

    with pytest.raises(RuntimeError, match="no model chosen"):
        run_state_machine_as_test(conversation_machine(make_agent), settings=SHORT)
    assert OPEN_FAKES.newest() is None


def test_what_happens_after_the_last_step_is_seen() -> None:
    class Curious(conversation_machine(Loop, troubles=())):  # type: ignore[misc]  # as above
        def teardown(self) -> None:
            with pytest.raises(ClientError):
                self.agent("Anybody there?")
            super().teardown()

    with pytest.raises(UnexpectedCall):
        run_state_machine_as_test(Curious, settings=SHORT)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agent": "nova"}, "'nova'.*is a function that makes an agent"),
        ({"tools": ["get_weather"]}, "'get_weather' is no ToolSpec of the AWS API"),
        ({"tools": [{"name": "x"}]}, "is no ToolSpec of the AWS API"),
        (
            {"troubles": ["throttled"]},
            "'throttled' is not possible. .* throttle, overflow, break_stream, stop_early, misuse_tool;",
        ),
        ({"kinds": ["thoughts"]}, r"kinds=.*'thoughts'.*reasoningContent"),
        ({"troubles": ["misuse_tool"]}, "'misuse_tool' needs a tool. Give the ToolSpecs"),
        ({"troubles": "overflow"}, "'overflow' is not possible"),
        ({"invariants": ["roles"]}, "'roles' cannot be called"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_written(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        conversation_machine(**{"agent": Loop, **arguments})


# strands-agents


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"18 °C in {city}"


@pytest.fixture(scope="module")
def make_strands_agent() -> Callable[[], Agent]:
    """Agents of one model, so that boto reads its own once."""
    model = BedrockModel(boto_session=boto3.Session(region_name="us-east-1"), model_id="us.amazon.nova-lite-v1:0")
    return lambda: Agent(model=model, tools=[get_weather], callback_handler=None)


def the_answer_is_the_last_text(conversation: ConversationMachine) -> None:
    for turn in conversation.turns:
        if turn.error is None:
            last = turn.calls[-1].response
            assert last is not None
            assert turn.answer.message["content"] == last.message["content"]


strands_machine = partial(
    conversation_machine,
    tools=[get_weather.tool_spec],
    invariants=[roles_alternate, every_tool_use_is_answered, the_answer_is_the_last_text],
)


def test_strands_survives_throttling(make_strands_agent: Callable[[], Agent]) -> None:
    run_state_machine_as_test(strands_machine(make_strands_agent, troubles=["throttle"]), settings=SHORT)


def test_strands_tells_the_model_of_its_mistakes(make_strands_agent: Callable[[], Agent]) -> None:
    machine = strands_machine(make_strands_agent, troubles=["misuse_tool"], may_raise=())
    run_state_machine_as_test(machine, settings=SHORT)


@FOUND_AND_SHRUNK
@pytest.mark.parametrize("trouble", ["overflow", "break_stream"])
def test_strands_keeps_a_question_that_was_not_answered(
    make_strands_agent: Callable[[], Agent], trouble: str, shrunk: bool
) -> None:
    """Found by this machine: after an error its history has two user messages in a row."""
    machine = strands_machine(make_strands_agent, troubles=[trouble], invariants=[roles_alternate], rules="off")
    steps = [step.partition("(")[0] for step in steps_to(AssertionError, "'user', 'user'", machine, shrunk=shrunk)]
    assert trouble in steps[:-1]
    assert steps[-2:] == [trouble, "carry_on"] or not shrunk


def test_the_fake_of_the_test_is_left_alone() -> None:
    with fake_converse(unused="allow") as outer:
        run_state_machine_as_test(conversation_machine(Loop, troubles=()), settings=SHORT)
        assert OPEN_FAKES.newest() is outer.core
        assert outer.calls == []
