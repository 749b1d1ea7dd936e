"""Twenty failing conversations of 10 to 40 turns: small agents over boto3, each with one bug.

Those with a source are rebuilt from a public report; the others are planted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

CLAUDE: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA: Final = "us.amazon.nova-lite-v1:0"

_HEAD: Final = """
import json
import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

MODEL = {model!r}
SCHEMA = {schema}
CONFIG = {{"tools": [{{"toolSpec": {{"name": name, "inputSchema": {{"json": SCHEMA}}}}}} for name in {tools}]}}


def client():
    return boto3.client("bedrock-runtime", region_name="us-east-1", config=Config(retries={{"total_max_attempts": 1}}))


def asked(messages):
    return {{"modelId": MODEL, "messages": messages, "toolConfig": CONFIG, {more}}}


def user(*blocks):
    return {{"role": "user", "content": [*blocks]}}


def result(use, text="ok"):
    return {{"toolResult": {{"toolUseId": use["toolUseId"], "content": [{{"text": text}}]}}}}


def uses_of(message):
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]
"""

_LOOP: Final = """

def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        answer = bedrock.converse(**asked(messages))
        message = answer["output"]["message"]
        messages.append(message)
        seen(answer, message)
        if answer["stopReason"] != "tool_use":
            return "".join(block.get("text", "") for block in message["content"])
        messages.append(user(*(result(use) for use in uses_of(message))))
"""

_STREAM: Final = """

def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        content, stop = streamed(bedrock.converse_stream(**asked(messages))["stream"])
        message = {"role": "assistant", "content": content}
        messages.append(message)
        if stop != "tool_use":
            return message
        messages.append(user(*(result(use) for use in uses_of(message))))
"""


class Conversation(NamedTuple):
    """A failing test: the agent behind `_HEAD`, the replies as an expression, and the name of the expected error.

    `most` is the number of turns that the result may have.
    """

    name: str
    agent: str
    replies: str
    error: str
    most: int = 1
    source: str = ""
    model: str = NOVA
    tools: tuple[str, ...] = ("find", "book", "cancel")
    more: str = ""
    schema: str = '{"type": "object"}'
    asserts: str = 'run("From Chur to Tirano?")'
    is_small: bool = False

    @property
    def module(self) -> str:
        """The source of `agent.py`."""
        head = _HEAD.format(model=self.model, tools=self.tools, more=self.more, schema=self.schema)
        return head + self.agent

    def test(self, script: str = "") -> str:
        """The source of the test, with the conversation or another script."""
        line = script or f"converse.script(*{self.replies})"
        imports = "import pytest\nfrom agent import *\nfrom converse_harness import citing, faults, reply\n"
        return f"{imports}\n\ndef test_it(converse):\n    {line}\n    {self.asserts}\n"


_FINDS: Final = '[reply.tool_use("find", {"to": f"Tirano {n}"}, text=f"I look for train {n}.") for n in range(%d)]'
_THOUGHT: Final = '[reply.reasoning(f"Train {n} may fit.", reply.tool_use("find", {"to": str(n)})) for n in range(%d)]'
_THINKING: Final = '"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}, '
_TOKENS: Final = '"inferenceConfig": {"maxTokens": 4000}'

CONVERSATIONS: Final = (
    Conversation(
        "first_block_is_reasoning",
        _LOOP
        + """

def seen(answer, message):
    if answer["stopReason"] == "end_turn":
        message["content"][0]["text"]
""",
        f'[*{_THOUGHT % 20}, reply.reasoning("Now I know.", "The train leaves at nine."), *{_FINDS % 3}]',
        "KeyError",
        source="mem0ai/mem0#6368",
        model=CLAUDE,
        more=_THINKING + _TOKENS,
        is_small=True,
    ),
    Conversation(
        "input_of_no_delta",
        """

def streamed(stream):
    content, text, stop = [], "", ""
    for event in stream:
        if "contentBlockStart" in event:
            content.append({"toolUse": dict(event["contentBlockStart"]["start"]["toolUse"])})
            text = ""
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            text += delta.get("text", "") + delta.get("toolUse", {}).get("input", "")
        elif "contentBlockStop" in event:
            if content and "input" not in content[-1].get("toolUse", {"input": 0}):
                content[-1]["toolUse"]["input"] = json.loads(text)
            else:
                content.append({"text": text})
            text = ""
        elif "messageStop" in event:
            stop = event["messageStop"]["stopReason"]
    return content, stop
"""
        + _STREAM,
        f'[*{_FINDS % 13}, reply.tool_use("book", pieces=[]), *{_FINDS % 2}]',
        "JSONDecodeError",
        source="run-llama/llama_index#19084",
    ),
    Conversation(
        "results_in_messages_of_their_own",
        """

def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        answer = bedrock.converse(**asked(messages))
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            return message
        messages.extend(user(result(use)) for use in uses_of(message))
""",
        f'[*{_FINDS % 9}, reply.tool_uses(("find", {{"to": "Chur"}}), ("book", {{"seat": 7}}), "cancel"), '
        'reply.text("Booked.")]',
        "RefusedRequest",
        source="genkit-ai/aws-bedrock-js-plugin#664",
        model=CLAUDE,
        more=_TOKENS,
    ),
    Conversation(
        "first_tool_only",
        """

def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        answer = bedrock.converse(**asked(messages))
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            return message
        messages.append(user(result(uses_of(message)[0])))
""",
        f'[*{_FINDS % 12}, reply.tool_uses(("find", {{"to": "Chur"}}), ("find", {{"to": "Bern"}}), text="Both."), '
        f"*{_FINDS % 4}]",
        "RefusedRequest",
        source="567-labs/instructor#2541",
    ),
    Conversation(
        "delta_of_a_citation",
        """

def streamed(stream):
    text, stop = "", ""
    for event in stream:
        if "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            if "text" not in delta:
                raise ValueError(f"Unsupported content block type(s): {sorted(delta)}")
            text += delta["text"]
        elif "messageStop" in event:
            stop = event["messageStop"]["stopReason"]
    return [{"text": text}], stop


def run(question):
    bedrock, messages = client(), []
    document = {"format": "txt", "name": "fares", "source": {"text": "Chur to Tirano: 61 francs."}}
    messages.append(user({"document": {**document, "citations": {"enabled": True}}}, {"text": question}))
    for _ in range(11):
        content, _ = streamed(bedrock.converse_stream(modelId=MODEL, messages=messages)["stream"])
        messages += [{"role": "assistant", "content": content}, user({"text": "And then?"})]
""",
        '[*(reply.text(f"Stop {n} of the line.") for n in range(9)), reply.cited("It costs ", "61 francs", '
        'citing({"name": "fares", "source": {"text": "Chur to Tirano: 61 francs."}}, "61 francs"), " for all."), '
        'reply.text("Done.")]',
        "ValueError",
        source="langchain-ai/langchainjs#10942",
        model=CLAUDE,
        is_small=True,
    ),
    Conversation(
        "text_beside_tools_is_dropped",
        _LOOP
        + """

def parsed(message):
    uses = uses_of(message)
    if uses:
        return {"tool_calls": [use["name"] for use in uses]}
    return {"content": message["content"][0]["text"]}


def seen(answer, message):
    if message["content"][0].get("text"):
        parsed(message)["content"]
""",
        '[*(reply.tool_uses("find", "book") for _ in range(14)), reply.tool_use("cancel", {"id": "7"}, text="Sorry."), '
        'reply.text("Cancelled.")]',
        "KeyError",
        source="mem0ai/mem0#6556",
    ),
    Conversation(
        "text_in_place_of_tools",
        _LOOP
        + """

def seen(answer, message):
    parsed = {"role": "assistant", **({"tool_calls": uses_of(message)} if uses_of(message) else {})}
    for call in parsed["tool_calls"]:
        call["name"]
""",
        f'[*{_FINDS % 22}, reply.text("I have no tool for this.", usage={{"inputTokens": 900, "outputTokens": 9}})]',
        "KeyError",
        source="huggingface/smolagents#1950",
    ),
    Conversation(
        "cut_input_is_asked_again",
        """

def streamed(stream):
    text = ""
    for event in stream:
        text += event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse", {}).get("input", "")
    return json.loads(text or "{}")


def run(question):
    bedrock, messages = client(), [user({"text": question})]
    for n in range(12):
        try:
            streamed(bedrock.converse_stream(**asked(messages))["stream"])
        except json.JSONDecodeError:
            while True:
                try:
                    streamed(bedrock.converse_stream(**asked(messages))["stream"])
                except Exception:
                    continue
""",
        '[*(reply.tool_use("find", {"to": str(n)}) for n in range(10)), reply.tool_use("book", {"seats": "1A and 1B"}, '
        'pieces=[\'{"seats": \', \'"1A an\'], stop_reason="max_tokens")]',
        "UnexpectedCall",
        source="aaif-goose/goose#7527",
    ),
    Conversation(
        "blocks_by_arrival",
        """

def streamed(stream):
    content, stop = [], ""
    for event in stream:
        if "contentBlockStart" in event:
            content.append("")
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            at = event["contentBlockDelta"]["contentBlockIndex"]
            if "toolUse" in delta:
                content[at] += delta["toolUse"]["input"]
        elif "messageStop" in event:
            stop = event["messageStop"]["stopReason"]
    return [{"text": "."}], "end_turn"


def run(question):
    bedrock, messages = client(), [user({"text": question})]
    for _ in range(13):
        content, _ = streamed(bedrock.converse_stream(**asked(messages))["stream"])
        messages += [{"role": "assistant", "content": content}, user({"text": "And then?"})]
""",
        '[*(reply.tool_use("find", {"to": f"Stop {n}"}) for n in range(12)), reply.message({"text": "I book."}, '
        '{"toolUse": {"name": "book", "input": {"seat": 7, "class": "second"}}})]',
        "IndexError",
        source="NousResearch/hermes-agent#107472",
    ),
    Conversation(
        "error_in_the_middle_of_a_stream",
        """

def streamed(stream):
    text, stop = "", ""
    try:
        for event in stream:
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            stop = event.get("messageStop", {}).get("stopReason", stop)
    except EventStreamError as error:
        raise RuntimeError("broken: " + error.response["message"])
    return [{"text": text}], stop


def run(question):
    bedrock, messages = client(), [user({"text": question})]
    for _ in range(15):
        content, _ = streamed(bedrock.converse_stream(**asked(messages))["stream"])
        messages += [{"role": "assistant", "content": content}, user({"text": "And then?"})]
""",
        '[*(reply.text(f"Stop {n} of the line.") for n in range(14)), reply.text("The last stop is Tirano in Italy.")'
        '.fails_after(4, "modelStreamErrorException", "The model is tired.")]',
        "KeyError",
        source="crmne/ruby_llm#871",
    ),
    Conversation(
        "overflow_cuts_a_pair",
        """

def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        try:
            answer = bedrock.converse(**asked(messages))
        except ClientError as error:
            if "too long" not in str(error):
                raise
            messages = messages[-1:]
            answer = bedrock.converse(**asked(messages))
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            return message
        messages.append(user(*(result(use) for use in uses_of(message))))
""",
        f'[*{_FINDS % 18}, reply.context_overflow(), reply.text("Shorter now."), *{_FINDS % 2}]',
        "RefusedRequest",
        most=2,
    ),
    Conversation(
        "cancelled_and_booked_again_in_forty_turns",
        _LOOP
        + """

class Seats(dict):
    pass


BOOKED = Seats()


def seen(answer, message):
    for use in uses_of(message):
        seat = use["input"].get("seat")
        if use["name"] == "book":
            assert BOOKED.get(seat) != "cancelled", f"seat {seat} was given back"
            BOOKED[seat] = "booked"
        elif use["name"] == "cancel" and seat in BOOKED:
            BOOKED[seat] = "cancelled"
""",
        '[*(reply.tool_uses(("find", {"to": str(n)}), ("book", {"seat": n})) for n in range(1, 20)), '
        'reply.tool_use("cancel", {"seat": 7, "why": "The train is late today."}), '
        '*(reply.tool_use("find", {"to": str(n)}) for n in range(18)), '
        'reply.tool_use("book", {"seat": 7}), reply.text("Booked again.")]',
        "AssertionError",
        most=3,
        asserts='BOOKED.clear()\n    run("From Chur to Tirano?")',
    ),
    Conversation(
        "division_by_an_input",
        _LOOP
        + """

def seen(answer, message):
    for use in uses_of(message):
        for leg in use["input"].get("legs", ()):
            leg["price"] / leg["seats"]
""",
        f'[*{_FINDS % 10}, reply.tool_use("book", {{"name": "Anna", "legs": ['
        '{"price": 61, "seats": 2, "from": "Chur"}, '
        '{"price": 30, "seats": 0, "from": "Pontresina"}], "pay": {"by": "card", "in": "CHF"}}), reply.text("Paid.")]',
        "ZeroDivisionError",
        schema='{"type": "object", "properties": {"legs": {"type": "array", "items": {"type": "object", "properties": '
        '{"price": {"type": "integer", "minimum": 10}, "seats": {"type": "integer"}}, '
        '"required": ["price", "seats"]}}}}',
    ),
    Conversation(
        "percent_in_a_text",
        _LOOP
        + """

def seen(answer, message):
    for block in message["content"]:
        "%s" % (block.get("text", "") % {})
""",
        f'[*{_FINDS % 16}, reply.text("The fare is reduced by 50%, and children travel free of charge in July.")]',
        "ValueError",
    ),
    Conversation(
        "trace_without_a_policy",
        _LOOP
        + """

def seen(answer, message):
    for found in answer.get("trace", {}).get("guardrail", {}).get("inputAssessment", {}).values():
        found["wordPolicy"]["customWords"]
""",
        f'[*{_FINDS % 11}, reply.guardrail_blocked(policy="topic")]',
        "KeyError",
        more='"guardrailConfig": {"guardrailIdentifier": "abcdefghij", "guardrailVersion": "1", "trace": "enabled"}',
    ),
    Conversation(
        "stop_sequence_is_no_number",
        _LOOP
        + """

def seen(answer, message):
    fields = answer.get("additionalModelResponseFields") or {}
    float(fields.get("stop_sequence", "0"))
""",
        f'[*{_FINDS % 10}, reply.message({{"text": "One two"}}, {{"text": "three"}}, stop_reason="stop_sequence", '
        'usage={"inputTokens": 10, "outputTokens": 3}, additional={"stop_sequence": "END", "other": [1, 2]})]',
        "ValueError",
        model=CLAUDE,
        more='"inferenceConfig": {"maxTokens": 4000, "stopSequences": ["END"]}, '
        '"additionalModelResponseFieldPaths": ["/stop_sequence", "/other"]',
    ),
    Conversation(
        "waits_for_ever",
        """
import time


def run(question):
    bedrock, messages = client(), [user({"text": question})]
    while True:
        answer = bedrock.converse(**asked(messages))
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            return message
        for use in uses_of(message):
            while use["input"].get("state") == "pending":
                time.sleep(0.01)
        messages.append(user(*(result(use) for use in uses_of(message))))
""",
        f'[*{_FINDS % 9}, reply.tool_use("book", {{"state": "pending", "to": "Chur"}}, text="Wait."), *{_FINDS % 2}]',
        "Failed",
    ),
    Conversation(
        "same_id_twice",
        _LOOP
        + """

OPEN = {}


def seen(answer, message):
    for use in uses_of(message):
        if use["name"] == "book":
            OPEN[use["toolUseId"]] = use
    for use in uses_of(message):
        if use["name"] == "cancel" and use["toolUseId"] in OPEN:
            raise LookupError(use["toolUseId"])
""",
        f'[*{_FINDS % 5}, reply.tool_use("book", {{"seat": 1}}, id="tooluse_a"), *{_FINDS % 5}, '
        'reply.tool_use("cancel", {"seat": 2}, id="tooluse_b"), reply.tool_use("cancel", {"seat": 1}, id="tooluse_a")]',
        "LookupError",
        most=2,
        asserts='OPEN.clear()\n    run("From Chur to Tirano?")',
    ),
    Conversation(
        "redacted_reasoning",
        _LOOP
        + """

def seen(answer, message):
    for block in message["content"]:
        if "reasoningContent" in block:
            block["reasoningContent"]["reasoningText"]
""",
        f'[*{_THOUGHT % 13}, reply.reasoning(b"secret thoughts of a model", reply.tool_use("book", {{"seat": 4}})), '
        'reply.reasoning("Good.", "Booked.")]',
        "KeyError",
        model=CLAUDE,
        more=_THINKING + _TOKENS,
    ),
    Conversation(
        "gives_up_after_the_third_throttle",
        """

class GaveUp(Exception):
    pass


def run(question):
    bedrock, messages, throttles = client(), [user({"text": question})], 0
    while True:
        try:
            answer = bedrock.converse(**asked(messages))
        except ClientError as error:
            throttles += error.response["Error"]["Code"] == "ThrottlingException"
            if throttles == 3:
                raise GaveUp from error
            continue
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            return message
        messages.append(user(*(result(use) for use in uses_of(message))))
""",
        f'[*{_FINDS % 4}, reply.throttled(), *{_FINDS % 4}, reply.throttled(), reply.throttled(), reply.text("Done.")]',
        "GaveUp",
        most=3,
    ),
)
