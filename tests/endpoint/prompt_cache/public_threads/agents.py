"""Agents that write to the prompt cache again and again, or never: each with the bug that a thread tells of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from converse_harness import Fake, fake_converse, reply
from tests.public_threads.lessons import ScriptLesson, bedrock, tool_result, tool_spec, user

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROFILE: Final = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/planner"
POINT: Final = {"cachePoint": {"type": "default"}}
RULES: Final = "You plan trips by train, and you say what each of them costs. " * 400
TOOLS: Final = [tool_spec(name) for name in ("look", "book", "answer")]

Run = Callable[[], object]
"""An agent that asks the model until it is done."""

Ask = Callable[[list[dict[str, Any]]], dict[str, Any]]
"""What asks the model once, with the messages so far."""


def a_loop(steps: int, uses: int = 1) -> Fake:
    """A fake whose model uses a tool in each step but the last, several at once if it is to."""
    asks = [
        reply.message(*({"toolUse": {"name": "look", "input": {"step": step, "n": n}}} for n in range(uses)))
        for step in range(steps - 1)
    ]
    return fake_converse(*asks, reply.text("All is booked."), models={"arn:*": SONNET})


def steps_of(ask: Ask) -> None:
    """What every agent does: it asks, runs the tools that the model uses, and asks again."""
    messages = [user("Plan a trip to Zürich.")]
    while True:
        answer = ask(messages)
        messages.append(answer["output"]["message"])
        uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
        if not uses:
            return
        messages.append(user(*(tool_result("There is a train.", use["toolUseId"]) for use in uses)))


def converse(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = TOOLS, **choice: Any) -> Any:
    """A request whose tools and system prompt can be cached."""
    config = {"tools": [*tools, POINT], **choice}
    return bedrock().converse(modelId=SONNET, system=[{"text": RULES}, POINT], messages=messages, toolConfig=config)


def with_a_point(message: dict[str, Any]) -> dict[str, Any]:
    """A message that ends with a cachePoint, in the request alone and not in the conversation."""
    return {**message, "content": [*message["content"], POINT]}


def writes_once(agent: Run) -> None:
    """Six steps of an agent: what one of them wrote is read by all others."""
    with a_loop(6) as fake:
        agent()
        assert not fake.cache.rewrites, fake.cache.rewrites
        assert all(call.cache.read for call in fake.calls[1:])


def reads_something(agent: Run) -> None:
    """The prompt is the same in each step, so that most of it can be read."""
    with a_loop(6) as fake:
        agent()
        assert fake.cache.read > 4 * fake.cache.written, "nothing is read"


def reads_after_many_results(agent: Run) -> None:
    """The model uses twelve tools at once; what came before is read all the same."""
    with a_loop(3, uses=12) as fake:
        agent()
        before, last = (call.cache for call in fake.calls[-2:])
        assert last.read >= before.read + before.written, f"written again: {fake.cache.rewrites!r}"


def retries_from_the_cache(agent: Run) -> None:
    """The answer that is forced at the end reads what the steps before it wrote."""
    with a_loop(2) as fake:
        fake.script(reply.tool_use("answer", {"text": "All is booked."}))
        agent()
        assert not fake.cache.rewrites, fake.cache.rewrites


def begins_with_a_clock(*, mended: bool) -> None:
    """An agent of Strands whose system prompt says what time it is; or whose prompt is as it was."""
    from strands import Agent
    from strands.hooks import BeforeModelCallEvent
    from strands.models import BedrockModel
    from strands.models.model import CacheConfig

    model = BedrockModel(model_id=SONNET, cache_config=CacheConfig(strategy="auto"))
    agent = Agent(model=model, tools=[_look()], system_prompt=RULES, callback_handler=None)
    seconds = iter(range(10, 60))

    def tell_the_time(event: BeforeModelCallEvent) -> None:
        agent.system_prompt = f"Current time is 15:09:{next(seconds)}. {RULES}"

    if not mended:
        agent.hooks.add_callback(BeforeModelCallEvent, tell_the_time)
    agent("Plan a trip to Zürich.")


def asks_a_profile(*, mended: bool) -> None:
    """An agent of Strands that asks a profile; `auto` looks for the model in its ARN, where it is not."""
    from strands import Agent
    from strands.models import BedrockModel
    from strands.models.model import CacheConfig

    cache = CacheConfig(strategy="anthropic" if mended else "auto")
    model = BedrockModel(model_id=PROFILE, cache_config=cache, region_name="eu-west-1")
    Agent(model=model, tools=[_look()], system_prompt=RULES, callback_handler=None)("Plan a trip to Zürich.")


def _look() -> Any:
    from strands import tool

    @tool
    def look(step: int, n: int) -> str:
        """Look for a train.

        Args:
            step: Which step it is.
            n: Which train.
        """
        return "There is a train."

    return look


def never_sets_a_point(*, mended: bool) -> None:
    """The points of another API are not translated, and what comes is billed in full in each step."""

    def ask(messages: list[dict[str, Any]]) -> Any:
        points = [POINT] if mended else []
        system = [{"text": RULES}, *points]
        sent = [*messages[:-1], with_a_point(messages[-1])] if mended else messages
        config = {"tools": [*TOOLS, *points]}
        return bedrock().converse(modelId=SONNET, system=system, messages=sent, toolConfig=config)

    steps_of(ask)


def sets_one_point_at_the_end(*, mended: bool) -> None:
    """Twelve uses and twelve results lie between two points; a point that stays behind is near enough."""

    def ask(messages: list[dict[str, Any]]) -> Any:
        last = len(messages) - 1
        points = {last, last - 2} if mended else {last}
        return converse([with_a_point(each) if n in points else each for n, each in enumerate(messages)])

    steps_of(ask)


def offers_only_the_tool_that_is_forced(*, mended: bool) -> None:
    """The last answer is to be a tool's input: other tools are taken away, or only not chosen."""
    final: list[dict[str, Any]] = []

    def ask(messages: list[dict[str, Any]]) -> Any:
        final[:] = messages
        return converse(messages)

    steps_of(ask)
    choice = {"toolChoice": {"tool": {"name": "answer"}}}
    converse([*final, user("Answer now.")], TOOLS if mended else TOOLS[2:], **choice)


LESSONS: Final[Mapping[str, ScriptLesson]] = {
    "a clock begins the system prompt": ScriptLesson(
        begins_with_a_clock,
        writes_once,
        by="converse.cache.rewrites",
        says=r"call 2 wrote .* tokens again .* parts at system\[0\].text, character 16, and 4 more",
    ),
    "the model behind a profile is not seen": ScriptLesson(
        asks_a_profile, reads_something, by="converse.cache.read", says="nothing is read"
    ),
    "there is no cache point": ScriptLesson(
        never_sets_a_point, reads_something, by="converse.cache.read", says="nothing is read"
    ),
    "more than 20 blocks lie between cache points": ScriptLesson(
        sets_one_point_at_the_end, reads_after_many_results, by="converse.cache.rewrites", says="written again"
    ),
    "other tools are taken away where one is forced": ScriptLesson(
        offers_only_the_tool_that_is_forced,
        retries_from_the_cache,
        by="converse.cache.rewrites",
        says=r"call 3 wrote .* parts at toolConfig.tools\[0\]",
    ),
}
