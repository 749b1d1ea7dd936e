"""An outline tells what was asked and answered, and is the same in every run."""

import json
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Call, Fake, Reply, fake_converse, faults, reply
from converse_harness.cli import main
from converse_harness.contract import ConsumerContract, Outcome, Target
from converse_harness.contract.trying import attempt, opened
from converse_harness.features.outline.entries import FORM
from converse_harness.features.outline.outline import Outline
from converse_harness.server.listener import ConverseServer
from converse_strategies import conversations, replies
from tests.features.outline.agent import MODEL, TOOLS, Blocks, run, spec, steps
from tests.server.control.conftest import Client

TO = {"to": "Tirano", "at": "9"}
CLAUDE = "anthropic.claude-sonnet-4-20250514-v1:0"
LOOP = (reply.tool_use("timetable", TO), reply.text("At nine."))
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "at": {"type": "string"}}}
AGENT = {
    "begins": "agent",
    "operation": "Converse",
    "modelId": MODEL,
    "system": [{"text": "You plan trips."}],
    "tools": {
        "book": {"description": "Looks at book.", "inputSchema": SCHEMA},
        "timetable": {"description": "Looks at timetable.", "inputSchema": {**SCHEMA, "required": ["at", "to"]}},
    },
}


def used(tool: str, status: str = "success") -> dict[str, Any]:
    return {"toolResult": {"tool": tool, "status": status, "content": [{"text": f"{tool}: yes"}]}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*content]}


def outline(*replies: Any, **changes: Any) -> Outline:
    with fake_converse(*replies, answers="off", rules="off") as fake:
        run("To Tirano", **changes)
    return fake.outline()


def test_the_form() -> None:
    """Whoever changes this changes the snapshots of all users: that is a new FORM, in a major release."""
    assert FORM == 1
    made = outline(
        reply.throttled("Slower."),
        reply.message(
            {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "c2ln"}}},
            {"text": "I look."},
            {"toolUse": {"name": "timetable", "input": TO}},
            {"toolUse": {"name": "book", "input": {}}},
        ),
        reply.cited("At nine.", {"title": "plan", "location": {"web": {"url": "https://example.com"}}}),
    )
    assert made == [
        {
            **AGENT,
            "messages": [user({"text": "To Tirano"})],
            "retried": [{"error": {"name": "ThrottlingException", "message": "Slower."}}],
            "content": [
                {"reasoningContent": {"text": "Look.", "signed": True}},
                {"text": "I look."},
                {"toolUse": {"name": "timetable", "input": TO}},
                {"toolUse": {"name": "book", "input": {}}},
            ],
            "stopReason": "tool_use",
        },
        {
            "messages": [user(used("timetable"), used("book"))],
            "content": [
                {
                    "citationsContent": {
                        "content": [{"text": "At nine."}],
                        "citations": [{"title": "plan", "location": {"web": {"url": "https://example.com"}}}],
                    }
                }
            ],
            "stopReason": "end_turn",
        },
    ]
    assert str(made) == (
        f"1. new agent, Converse {MODEL}\n"
        "   system: 'You plan trips.'\n"
        "   tools: book (2efde4), timetable (7af95c)\n"
        "   user: 'To Tirano'\n"
        "   -> ThrottlingException: Slower.\n"
        "   -> reasoning 'Look.' + 'I look.' + toolUse timetable "
        '{"at":"9","to":"Tirano"} + toolUse book {}, tool_use\n'
        "2.\n"
        "   user: toolResult timetable success: 'timetable: yes' + toolResult book success: 'book: yes'\n"
        '   -> citationsContent {"citations":[{"location":{"web":{"url":"https://example.com'
        "... (113 characters, b46053), end_turn"
    )


AGENTS: dict[str, dict[str, Any]] = {
    "To Tirano": {},
    "To Chur": {},
    "To Chur, again": {"system": "You plan slowly."},
    "To Bern": {"model": "us.amazon.nova-pro-v1:0", "system": "You plan slowly."},
}


def interleaved(order: Iterator[int]) -> Outline:
    """The outline of four agents at once, of which the one with the drawn number asks next."""
    with fake_converse() as fake:
        for question in AGENTS:
            tool, text = reply.tool_use("timetable", {"to": question, "at": "9"}), reply.text("At nine.")
            fake.when(last_user_text=question).script(tool, tool, text)
        agents = [steps(question, **changes) for question, changes in AGENTS.items()]
        while agents:
            at = next(order) % len(agents)
            if next(agents[at], None) is None:
                agents.pop(at)
    return fake.outline()


ONE_BY_ONE = interleaved(repeat(0))


@given(st.lists(st.integers(0, 3), min_size=16, max_size=16))
def test_agents_at_once_arrive_in_any_order(order: list[int]) -> None:
    made = interleaved(iter([*order, *[0] * 16]))
    assert made == ONE_BY_ONE
    assert [entry["begins"] for entry in made if "begins" in entry] == ["agent"] * 3 + ["conversation"]


def of_equal_agents(order: Iterator[int], agents: list[dict[str, Any]]) -> Outline:
    """The outline of agents that ask the same and get the same answers. Each is throttled once, by its own client."""
    with fake_converse() as fake:
        seen: set[str] = set()

        def answered(call: Call) -> Reply:
            client = call.headers["amz-sdk-invocation-id"]
            if client not in seen and call.turn == 1:
                seen.add(client)
                return reply.throttled()
            return reply.text("At nine.") if call.turn == 3 else reply.tool_use("timetable", TO)

        fake.always(answered)
        going = [steps("To Tirano", **changes) for changes in agents]
        while going:
            at = next(order) % len(going)
            if next(going[at], None) is None:
                going.pop(at)
    return fake.outline()


def test_equal_agents_share_their_failures() -> None:
    def asked(*replies: Reply) -> Outline:
        with fake_converse(*replies) as fake:
            for _ in range(2):
                run("To Tirano")
        return fake.outline()

    throttled, answer = reply.throttled(), reply.text("At nine.")
    assert asked(throttled, throttled, answer, answer) == asked(throttled, answer, throttled, answer)


KINDS = [{}, {"system": "You plan slowly."}, {"model": "us.amazon.nova-pro-v1:0"}, {"tools": [*TOOLS, spec("refund")]}]


@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=4), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_agents_that_ask_the_same_are_not_mixed_up(agents: list[dict[str, Any]], order: list[int]) -> None:
    made = of_equal_agents(iter([*order, *[0] * 16]), agents)
    assert made == of_equal_agents(repeat(0), agents)
    assert [len(entry["retried"]) for entry in made if "retried" in entry] == [1] * len(agents)
    assert not [entry for entry in made if "continues" in entry]


@given(st.permutations(range(4)), st.permutations(range(4)), st.integers(0, 3))
def test_what_differs_by_chance(offered: list[int], done: list[int], seed: int) -> None:
    tools = [spec(name, required=["to"]) for name in "abcd"]

    def asked(tools: Blocks, done: list[int], seed: int) -> Outline:
        uses = reply.message(*({"toolUse": {"name": name, "input": TO}} for name in "abcd"))
        with fake_converse(uses, reply.text("At nine."), seed=seed) as fake:
            run("To Tirano", tools=tools, results=lambda results: [results[index] for index in done])
        return fake.outline()

    made = asked([tools[index] for index in offered], done, seed)
    assert made == asked(tools, [0, 1, 2, 3], 0)


@given(st.data())
def test_whatever_is_sent_and_answered_is_plain_and_the_same(data: st.DataObject) -> None:
    sent = data.draw(conversations())
    answer = data.draw(replies())

    def asked(seed: int) -> Outline:
        client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
        with fake_converse(answer, seed=seed, rules="off", answers="off", history="off") as fake:
            client.converse(modelId=MODEL, messages=sent)
        return fake.outline()

    made = asked(0)
    assert made == asked(1)
    assert json.loads(json.dumps(made)) == made
    assert len(str(made).splitlines()) >= len(sent)
    ids = {str(block["toolUse"]["toolUseId"]) for each in sent for block in each["content"] if "toolUse" in block}
    assert not [each for each in ids if len(each) > 15 and each in json.dumps(made)]


def test_repeated_attempts_are_one_entry() -> None:
    first, second = outline(reply.throttled(), reply.text("x").broken(faults.reset), *LOOP)
    assert [[*each] for each in first["retried"]] == [["error"], ["content", "stopReason", "broken"]]
    assert second == outline(*LOOP)[1]


def test_a_request_that_is_made_smaller_is_another_entry() -> None:
    with fake_converse(reply.context_overflow(), *LOOP) as fake:
        with pytest.raises(ClientError):
            run("To Tirano, " * 20)
        run("To Tirano")
    first, second, _ = fake.outline()
    assert first["error"]["name"] == "ValidationException"
    assert second == {
        "begins": "conversation",
        **{name: second[name] for name in ("messages", "content", "stopReason")},
    }


def test_only_what_is_new_is_told() -> None:
    tools = [*TOOLS]
    with fake_converse(*LOOP) as fake:
        agent = steps("To Tirano", tools=tools)
        next(agent)
        tools[1:] = []
        next(agent)
    assert fake.outline()[1]["tools"] == {"book": None}
    assert "system" not in fake.outline()[1]


def test_what_python_and_frameworks_do_to_texts() -> None:
    indented = {"toolSpec": {**TOOLS[1]["toolSpec"], "description": "Books.\n\n    Args:\n        to: A town.\n    "}}
    clean = {"toolSpec": {**TOOLS[1]["toolSpec"], "description": "Books.\n\nArgs:\n    to: A town."}}
    assert outline(*LOOP, tools=[TOOLS[0], indented]) == outline(*LOOP, tools=[TOOLS[0], clean])

    def told(results: Blocks) -> Blocks:
        ids = results[0]["toolResult"]["toolUseId"], "tooluse_" + "aB3-" * 6
        return [*results, {"text": f"[tool calls {', '.join(ids)}]"}]

    text = "[tool calls (id of timetable), (id of a tool use)]"
    assert outline(*LOOP, results=told)[1]["messages"][0]["content"][1] == {"text": text}


def test_json_of_the_application_stays_as_it_is() -> None:
    given = {"clientToken": "mine", "p99_latency": 5, "toolUseId": "a"}
    first, second = outline(
        reply.tool_use("book", given),
        reply.text("Done."),
        results=lambda results: [
            {"toolResult": {**each["toolResult"], "content": [{"json": given}]}} for each in results
        ],
    )
    assert first["content"] == [{"toolUse": {"name": "book", "input": given}}]
    assert second["messages"][0]["content"][0]["toolResult"]["content"] == [{"json": given}]


def test_what_is_left_out_is_told() -> None:
    _, second = outline(*LOOP, first=1)
    assert second["left_out"] == ["user: 'To Tirano'"]
    assert second["messages"] == [user(used("timetable"))]
    assert "left out user: 'To Tirano'" in str(outline(*LOOP, first=1))


def test_a_branch_names_the_entry_that_it_continues() -> None:
    first = [user({"text": "To Tirano"})]
    both = [*first, {"role": "assistant", "content": [{"text": "When?"}]}]
    client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
    with fake_converse(*map(reply.text, ("When?", "At ten.", "At nine."))) as fake:
        for messages in (first, [*both, user({"text": "Ten."})], [*both, user({"text": "Nine."})]):
            client.converse(modelId=MODEL, messages=messages)
    assert [entry.get("continues") for entry in fake.outline()] == [None, None, 1]
    assert [entry["messages"] for entry in fake.outline()[1:]] == [[user({"text": f"{at}."})] for at in ("Nine", "Ten")]


def test_calls_of_other_operations_are_last() -> None:
    with fake_converse(*LOOP) as fake:
        fake.on_operation("Retrieve", {"retrievalResults": []}, service="bedrock-agent-runtime")
        client: Any = boto3.client("bedrock-agent-runtime", region_name="us-east-1")
        client.retrieve(knowledgeBaseId="ABCDEFGHIJ", retrievalQuery={"text": "trains"})
        run("To Tirano")
        counting: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
        counting.count_tokens(modelId=CLAUDE, input={"converse": {"messages": [user({"text": "x"})]}})
    assert fake.outline()[2:] == [
        {
            "operation": "Retrieve",
            "service": "bedrock-agent-runtime",
            "input": {"knowledgeBaseId": "ABCDEFGHIJ", "retrievalQuery": {"text": "trains"}},
            "output": {"retrievalResults": []},
        }
    ]


def test_files_are_told_by_digest_and_secrets_are_masked() -> None:
    key = "AK" + "IAQ7EXAMPLEKEYABCD"
    with fake_converse(reply.text(f"Your key is {key}.")) as fake:
        client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
        image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
        client.converse(modelId=MODEL, messages=[user({"text": f"Look: {key}"}, image)])
    (only,) = fake.outline()
    assert only["messages"][0]["content"][1]["image"]["source"] == {"bytes": "4 bytes, sha256 0f4636c78f65d363"}
    assert key not in json.dumps(only)
    assert key not in json.dumps(fake.calls[0].outline)


def test_the_entry_of_one_call(converse: Fake) -> None:
    converse.script(reply.throttled(), *LOOP)
    run("To Tirano")
    throttled, first, second = converse.calls
    assert throttled.outline["error"]["name"] == "ThrottlingException"
    assert [first.outline, second.outline] == [
        {name: value for name, value in entry.items() if name not in ("retried", "begins")}
        for entry in converse.outline()
    ]
    assert str(second) == '200  text "At nine."  (complete)'


def test_a_recording_has_the_outline_of_its_session(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "recordings/tool_loop.jsonl", "--outline"]) == 0
    told = capsys.readouterr().out
    assert "user: toolResult get_weather success" in told
    assert told.startswith("1. new agent, ConverseStream ")
    for option in (["--stable"], ["--call", "1"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            main(["show", "recordings/tool_loop.jsonl", "--outline", *option])
        assert f"show --outline: it came with {option[0]}" in capsys.readouterr().err


def test_a_fake_on_the_server_tells_its_outline() -> None:
    with Client() as client:
        client.post({"script": [{"text": "hi"}]})
        (fake,) = client.fakes.fakes
        with fake_converse(*LOOP) as other:
            run("To Tirano")
        answer = client.ask("GET", "/__converse/fakes/fake-1/outline")
        assert answer.value == {"form": FORM, "outline": fake.outline(), "text": str(fake.outline())}
        assert other.outline()
        assert client.ask("GET", "/__converse/fakes/fake-1/outline?x=1").status == 400


class Contract(ConsumerContract):
    operation = "Converse"

    def consume(self, target: Target) -> Outcome:
        content = target.client.converse(**target.request)["output"]["message"]["content"]
        return Outcome("".join(block.get("text", "") for block in content))


def test_each_case_of_a_contract_has_one() -> None:
    answers = [reply.text("hi")]
    tried = attempt(Contract(), "text_basic", answers, opened("boto", answers, ConverseServer))
    assert tried.seen.outline == tried.fake.outline()
    assert tried.seen.outline[0]["content"] == [{"text": "hi"}]
