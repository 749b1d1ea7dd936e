"""Agents with a bug of the prompt cache or of the loop, each rebuilt from a public thread; mended, they have it not.

The code is ours, and as small as the bug allows: what the thread tells of is in `wrong`, and one `if mended` mends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from converse_harness import Call, Fake, Reply, reply
from converse_harness.features.budgets.limits import BudgetLimits

Json = dict[str, Any]

MODEL: Final = "us.anthropic.claude-opus-4-5-20251101-v1:0"
"""A model that gets the thoughts of earlier turns."""

THINKING: Final = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
POINT: Final[Json] = {"cachePoint": {"type": "default"}}
NAMES: Final = ("timetable", "seats", "weather")


def tool(name: str) -> Json:
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}


TOOLS: Final = tuple(map(tool, NAMES))


def user(*content: str | Json) -> Json:
    return {"role": "user", "content": [{"text": each} if isinstance(each, str) else each for each in content]}


def ask(
    messages: Sequence[Json], system: Sequence[Json] = (), tools: Sequence[Json] = TOOLS, **others: Any
) -> tuple[Json, str]:
    """The message of the model, and why it stopped."""
    sdk: Any = boto3  # it has no types
    client = sdk.client("bedrock-runtime", region_name="us-east-1", config=Config(retries={"total_max_attempts": 1}))
    config = {"tools": [*tools], **others.pop("choice", {})}
    answer = client.converse(modelId=MODEL, messages=[*messages], system=[*system], toolConfig=config, **others)
    return answer["output"]["message"], answer["stopReason"]


def uses_in(message: Json) -> list[Json]:
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def result(use: Json, text: str = "08:32", **others: str) -> Json:
    return {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": text}], **others}}


def results(message: Json, **others: str) -> Json:
    return user(*(result(use, **others) for use in uses_in(message)))


def cached(message: Json) -> Json:
    return {**message, "content": [*message["content"], POINT]}


# Bugs of the prompt cache


def tells_the_time(*, mended: bool) -> None:
    messages = [user("From Chur to Tirano?")]
    for second in range(3):
        now = "2026-12-01" if mended else f"2026-12-01 10:00:0{second}"
        answer, _ = ask(messages, [{"text": f"Now: {now}. You plan trips."}, POINT])
        messages += [answer, user("Is there a later train?")]


def shuffles_tools(*, mended: bool) -> None:
    messages = [user("From Chur to Tirano?")]
    for tools in itertools.islice(itertools.permutations(TOOLS), 3):
        listed = sorted(tools, key=str) if mended else tools
        answer, _ = ask(messages, tools=[*listed, POINT])
        messages += [answer, user("Is there a later train?")]


def moves_the_environment(*, mended: bool) -> None:
    environment: Json = {"text": "<environment>Open file: trip.py</environment>"}
    history: list[Json] = []
    for question in ("From Chur to Tirano?", "Later?", "And back?"):
        asked = user(question, environment)
        answer, _ = ask([*history, cached(asked)])
        history += [asked if mended else user(question), answer]


def cuts_old_results(*, mended: bool) -> None:
    timetable = " ".join(f"{hour:02}:32" for hour in range(24))
    messages, outputs = [user("From Chur to Tirano?")], list[Json]()
    while True:
        answer, why = ask([*messages[:-1], cached(messages[-1])])
        if why != "tool_use":
            return
        messages += [answer, user(*(result(use, timetable) for use in uses_in(answer)))]
        outputs.append(messages[-1]["content"][0]["toolResult"])
        left = 60 if mended else 100 - 10 * len(outputs)
        for each in outputs:
            each["content"] = [{"text": timetable[:left]}]


def narrows_tools_when_forced(*, mended: bool) -> None:
    schema, forced = tool("Trip"), {"toolChoice": {"tool": {"name": "Trip"}}}
    messages, system = [user("From Chur to Tirano?")], [{"text": "You plan trips."}, POINT]
    answer, _ = ask(messages, system, [*TOOLS, schema])
    messages += [answer, user("Answer with the tool Trip.")]
    ask(messages, system, [*TOOLS, schema] if mended else [schema], choice=forced)


def drops_thoughts(*, mended: bool) -> None:
    messages = [user("From Chur to Tirano?")]
    for _ in range(3):
        answer, _ = ask([*messages[:-1], cached(messages[-1])], additionalModelRequestFields=THINKING)
        for message in messages if not mended else ():
            message["content"] = [block for block in message["content"] if "reasoningContent" not in block]
        messages += [answer, user("Is there a later train?")]


def fans_out(*, mended: bool) -> None:
    question = user("Which seats are free, in all 24 trains?")
    answer, _ = ask([cached(question)])
    ask([cached(question) if mended else question, answer, cached(results(answer))])


# Bugs of the loop


def goes_on_with_the_same(*, mended: bool) -> None:
    messages, seen = [user("From Chur to Tirano?")], list[object]()
    while True:
        answer, why = ask(messages)
        asked = [(use["name"], use["input"]) for use in uses_in(answer)]
        if why != "tool_use" or (mended and asked in seen):
            return
        seen.append(asked)
        messages += [answer, results(answer)]


def goes_on_for_ever(*, mended: bool) -> None:
    messages = [user("From Chur to Tirano?")]
    for turn in itertools.count(1):
        answer, why = ask(messages)
        if why != "tool_use" or (mended and turn == 5):
            return
        messages += [answer, results(answer)]


def knows_one_way_to_stop(*, mended: bool) -> None:
    ends = {"stop", "end_turn", "stop_sequence"} if mended else {"stop"}
    for _ in range(8):
        _, why = ask([user("From Chur to Tirano?")])
        if why in ends:
            return


def waits_for_words(*, mended: bool) -> None:
    messages, stalled = [user("From Chur to Tirano?")], 0
    while stalled < (2 if mended else 100):
        answer, _ = ask(messages, additionalModelRequestFields=THINKING)
        if any("text" in block for block in answer["content"]):
            return
        messages += [answer, user("Go on.")]
        stalled += 1


def runs_all_again(*, mended: bool) -> None:
    for _ in range(2):
        messages = [user("Buy a ticket to Tirano.")]
        try:
            _to_the_end(messages, tries=2 if mended else 1)
            return
        except ClientError:
            continue


def _to_the_end(messages: list[Json], tries: int) -> None:
    while True:
        answer, why = _asked(messages, tries)
        if why != "tool_use":
            return
        messages += [answer, results(answer)]


def _asked(messages: list[Json], tries: int) -> tuple[Json, str]:
    for _ in range(tries - 1):
        try:
            return ask(messages)
        except ClientError:
            continue
    return ask(messages)


def forgets_what_it_read(*, mended: bool) -> None:
    messages = [user("Compare the timetables of Chur and Tirano.")]
    for _ in range(8):
        answer, why = ask(messages)
        if why != "tool_use":
            return
        for message in messages if not mended else ():
            for block in message["content"]:
                if "toolResult" in block:
                    block["toolResult"]["content"] = [{"text": "(elided)"}]
        messages += [answer, user(*(result(use, f"08:32 {use['input']['from']}") for use in uses_in(answer)))]


def tries_what_fails(*, mended: bool) -> None:
    messages, failed = [user("From Chur to Tirano?")], 0
    while failed < (2 if mended else 100):
        answer, why = ask(messages)
        if why != "tool_use":
            return
        messages += [answer, results(answer, status="error")]
        failed += 1


# What the model answers


def a_trip_if_forced(fake: Fake) -> None:
    fake.always(lambda call: reply.tool_use("Trip", {}) if call.tool_choice else reply.text("By Bernina Express."))


def texts(fake: Fake) -> None:
    fake.always(reply.text("By Bernina Express."))


def thoughts(fake: Fake) -> None:
    fake.script(*[reply.reasoning(f"Train {number} goes.", then=f"At {number}:32.") for number in range(3)])


def only_thoughts(fake: Fake) -> None:
    block = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    fake.script(*[reply.message(block)] * 6, reply.text("By Bernina Express."))


def different_tools(fake: Fake) -> None:
    fake.script(*[reply.tool_use("timetable", {"page": page}) for page in range(8)], reply.text("At 08:32."))


def the_same_tool(fake: Fake) -> None:
    fake.script(*[reply.tool_use("timetable", {"page": 1})] * 8, reply.text("At 08:32."))


def many_tools(fake: Fake) -> None:
    fake.script(reply.tool_uses(*[("seats", {"train": train}) for train in range(24)]), reply.text("In all."))


def no_second_call(fake: Fake) -> None:
    failures = iter([reply.internal_server_error()])

    def answer(call: Call) -> Reply:
        if not call.tool_results:
            return reply.tool_use("seats", {"buy": 1})
        return next(failures, reply.text("Here is your ticket."))

    fake.always(answer)


def reads_both(fake: Fake) -> None:
    def answer(call: Call) -> Reply:
        read = str(call.messages)
        missing = [place for place in ("Chur", "Tirano") if f"08:32 {place}" not in read]
        return reply.tool_use("timetable", {"from": missing[0]}) if missing else reply.text("They differ.")

    fake.always(answer)


@dataclass(frozen=True, slots=True)
class PublicBug:
    """A bug that users met, the thread that tells of it, and the key of a budget that is over because of it."""

    thread: str
    wrong: str
    agent: Callable[..., None]
    script: Callable[[Fake], None]
    over: str
    calls: int = 10

    @property
    def budget(self) -> BudgetLimits:
        return {"calls": self.calls, "same_tool_again": 0, "rewrites": 0}


BUGS: Final = (
    PublicBug(
        "earendil-works/pi#1873",
        "the system prompt has the time to the second, so no request begins like the one before it",
        tells_the_time,
        texts,
        "rewrites",
    ),
    PublicBug(
        "redpanda-data/ai-sdk-go#157",
        "the tools come out of a map, in another order each time",
        shuffles_tools,
        texts,
        "rewrites",
    ),
    PublicBug(
        "Kilo-Org/kilocode#7778",
        "only the last message of the user has the block about the environment; with the next it loses the block",
        moves_the_environment,
        texts,
        "rewrites",
    ),
    PublicBug(
        "openclaw/openclaw#111085",
        "old tool results are cut to what is left of a budget, so they get shorter with each turn",
        cuts_old_results,
        different_tools,
        "rewrites",
    ),
    PublicBug(
        "strands-agents/harness-sdk#4097",
        "a forced retry for structured output offers only the tool with the schema, and tools come first in a prefix",
        narrows_tools_when_forced,
        a_trip_if_forced,
        "rewrites",
    ),
    PublicBug(
        "cortexkit/magic-context#125",
        "the thoughts of earlier answers are stripped from the history on the next turn",
        drops_thoughts,
        thoughts,
        "rewrites",
    ),
    PublicBug(
        "redpanda-data/ai-sdk-go#205",
        "a turn of many parallel tools is longer than the 20 blocks over which a cache point looks back",
        fans_out,
        many_tools,
        "rewrites",
    ),
    PublicBug(
        "earendil-works/pi#9637",
        "the loop runs the same tool with the same input as often as the model asks for it",
        goes_on_with_the_same,
        the_same_tool,
        "same_tool_again",
    ),
    PublicBug(
        "Kohaku-Lab/KohakuTerrarium#98",
        "the results of all rounds but the last are elided, so the model has to read the first file again, and so on",
        forgets_what_it_read,
        reads_both,
        "same_tool_again",
    ),
    PublicBug(
        "anthropics/claude-code#30150",
        "a tool that fails is called with the same input again and again",
        tries_what_fails,
        the_same_tool,
        "same_tool_again",
    ),
    PublicBug(
        "strands-agents/harness-sdk#2298",
        "the loop has no maximum of turns",
        goes_on_for_ever,
        different_tools,
        "calls",
        calls=5,
    ),
    PublicBug(
        "Tencent/WeKnora#1868",
        "end_turn is not taken for an end, so the model is asked again after its final answer",
        knows_one_way_to_stop,
        texts,
        "calls",
        calls=1,
    ),
    PublicBug(
        "NVIDIA-NeMo/Gym#3138",
        "an answer of thoughts alone goes round the loop without a bound",
        waits_for_words,
        only_thoughts,
        "calls",
        calls=3,
    ),
    PublicBug(
        "agno-agi/agno#10366",
        "after a failed call the whole run begins anew, and executes again what had succeeded",
        runs_all_again,
        no_second_call,
        "calls",
        calls=2,
    ),
)
