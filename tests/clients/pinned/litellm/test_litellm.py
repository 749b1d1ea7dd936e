"""litellm, which signs by itself: on httpx where it is called plainly, on aiohttp where it is awaited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final

import litellm
import openai
import pytest
from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients
from litellm.router import Router

from converse_harness import ConverseServer, Fake, HttpxFake, fake_converse, reply
from converse_harness.intercept.clients import ACCOUNT
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
    MODEL,
    QUESTION,
    STREAM,
    TOOL_SCHEMA,
    Ask,
    Deviation,
    Order,
    Result,
    canonical,
    run,
)

pytestmark = pytest.mark.any_answer

ASKED: Final[dict[str, Any]] = {
    "model": f"bedrock/{MODEL}",
    "messages": [{"role": "user", "content": QUESTION}],
    "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL_SCHEMA}}],
}

STOP_REASONS: Final = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
"""litellm's words for the stop reasons of the AWS API."""

ERRORS: Final = {400: "ValidationException", 424: "ModelErrorException", 429: "ThrottlingException"}


@dataclass(slots=True)
class Fold:
    """Puts a Result together from litellm's chunks, or from its whole answer, which has one choice as well."""

    order: Order
    result: Result = field(default_factory=Result)
    names: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(default_factory=list[str])

    def take(self, chunk: Any) -> bool:
        for choice in chunk.choices:
            delta = getattr(choice, "delta", None) or choice.message
            now = self.result
            text, reasoning = delta.content or "", getattr(delta, "reasoning_content", None) or ""
            self.result = replace(now, text=now.text + text, reasoning=now.reasoning + reasoning)
            if text:
                self.order.on_piece()
            for call in delta.tool_calls or ():
                if call.function.name:
                    self.names.append(call.function.name)
                    self.inputs.append("")
                self.inputs[-1] += call.function.arguments
            if choice.finish_reason:
                self.result = replace(self.result, stop=STOP_REASONS[choice.finish_reason])
        if usage := getattr(chunk, "usage", None):
            self.result = replace(self.result, usage=(usage.prompt_tokens, usage.completion_tokens))
        return self.order.leave_at is not None and self.result.text == self.order.leave_at

    def done(self) -> Result:
        tools = tuple((name, canonical(json.loads(text))) for name, text in zip(self.names, self.inputs, strict=True))
        return replace(self.result, tools=tools)

    def fail(self, error: Any) -> Result:
        """The Result so far, with an error; litellm goes by the HTTP status, and wraps what happens inside a stream."""
        cause = getattr(error, "original_exception", None) or error
        name = CONNECTION if isinstance(cause, openai.APIConnectionError) else ERRORS.get(error.status_code, str(cause))
        return replace(self.result, error=name, said=str(error))


def ask(order: Order) -> Result:
    fold = Fold(order)
    try:
        if order.operation != STREAM:
            fold.take(litellm.completion(**ASKED))
            return fold.done()
        stream = litellm.completion(**ASKED, stream=True, stream_options={"include_usage": True})
        for chunk in stream:
            if fold.take(chunk):
                break
    except openai.OpenAIError as error:
        return fold.fail(error)
    return fold.done()


async def _ask(order: Order) -> Result:
    fold = Fold(order)
    try:
        if order.operation != STREAM:
            fold.take(await litellm.acompletion(**ASKED))
            return fold.done()
        stream = await litellm.acompletion(**ASKED, stream=True, stream_options={"include_usage": True})
        async with aclosing(stream):
            async for chunk in stream:
                if fold.take(chunk):
                    break
    except openai.OpenAIError as error:
        return fold.fail(error)
    return fold.done()


async def _ask_and_close(order: Order) -> Result:
    try:
        return await _ask(order)
    finally:
        await close_litellm_async_clients()  # type: ignore[no-untyped-call]  # the only untyped one of litellm here


def ask_async(order: Order) -> Result:
    return asyncio.run(_ask_and_close(order))


DEVIATIONS: Final = {
    ("exception inside the stream", STREAM): Deviation(
        "it gives an exception the HTTP status that its shape has, and drops the name",
        {"error": "ModelErrorException"},
    ),
}


@dataclass(frozen=True, slots=True)
class Way:
    """How litellm is called, and by which transport it is answered; awaited it uses aiohttp by default."""

    ask: Ask
    fake: Callable[..., Fake] | None = None
    """Opens a fake of this process; None if the server answers."""
    no_aiohttp: bool = False


WAYS: Final = {
    "sync, server": Way(ask),
    "async, server": Way(ask_async),
    "sync, in process": Way(ask, fake_converse),
    "async, in process": Way(ask_async, fake_converse),
    "async on httpx, in process": Way(ask_async, HttpxFake, no_aiohttp=True),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(
    name: str, operation: str, way: Way, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm.in_memory_llm_clients_cache.cache_dict.clear()  # it keeps clients, with their transport
    monkeypatch.setattr(litellm, "disable_aiohttp_transport", way.no_aiohttp)
    if way.fake is not None:
        for variable, value in ACCOUNT.items():
            monkeypatch.setenv(variable, value)
    run(name, operation, way.fake or converse_server.script, way.ask, DEVIATIONS)


def test_a_client_from_before_the_fake_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that litellm keeps is one of httpx over a session of aiohttp: that is one call, not two."""
    litellm.in_memory_llm_clients_cache.cache_dict.clear()
    for variable, value in ACCOUNT.items():
        monkeypatch.setenv(variable, value)

    async def texts() -> list[Any]:
        found: list[Any] = []
        for text in ("first", "second"):
            with fake_converse(reply.text(text)) as fake:
                found.append((await litellm.acompletion(**ASKED)).choices[0].message.content)
                assert len(fake.calls) == 1
        await close_litellm_async_clients()  # type: ignore[no-untyped-call]
        return found

    assert asyncio.run(texts()) == ["first", "second"]


def test_its_router_waits_in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm.in_memory_llm_clients_cache.cache_dict.clear()
    for variable, value in ACCOUNT.items():
        monkeypatch.setenv(variable, value)
    params = {"model": ASKED["model"]}
    router = Router(model_list=[{"model_name": "m", "litellm_params": params}], num_retries=1)

    async def ask() -> Any:
        try:
            return await router.acompletion(model="m", messages=ASKED["messages"])
        finally:
            await close_litellm_async_clients()  # type: ignore[no-untyped-call]

    with fake_converse(reply.throttled(), reply.text("ok")) as fake:
        assert asyncio.run(ask()).choices[0].message.content == "ok"
    assert fake.calls[0].answered.waited > 0
    with fake_converse(reply.throttled(), reply.text("ok")) as fake:
        assert router.completion(model="m", messages=ASKED["messages"]).choices[0].message.content == "ok"
    assert fake.calls[0].answered.waited > 0
