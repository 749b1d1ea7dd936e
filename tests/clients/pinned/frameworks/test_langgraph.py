"""An agent that is a graph of LangGraph, tested as its users test one. Its model is that of langchain-aws."""

import asyncio

from langchain_aws import ChatBedrockConverse
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
THREAD = {"configurable": {"thread_id": "1"}}


@tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def graph():
    chat = ChatBedrockConverse(model=MODEL).bind_tools([get_weather])
    built = StateGraph(MessagesState)
    built.add_node("model", lambda state: {"messages": chat.invoke(state["messages"])})
    built.add_node("tools", ToolNode([get_weather]))
    built.add_edge(START, "model")
    built.add_conditional_edges("model", tools_condition)
    built.add_edge("tools", "model")
    return built.compile(checkpointer=InMemorySaver())


def question(text):
    return {"messages": [("user", text)]}


def answer(state):
    return state["messages"][-1].text


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert answer(graph().invoke(question("Where to?"), THREAD)) == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_conversation(converse):
    agent = graph()
    converse.script(reply.text("Zürich"), reply.text("In May."))
    agent.invoke(question("Where to?"), THREAD)
    assert answer(agent.invoke(question("When?"), THREAD)) == "In May."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    pieces = [piece.text for piece, _ in graph().stream(question("When?"), THREAD, stream_mode="messages")]
    assert len(pieces) > 1
    assert "".join(pieces) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert answer(graph().invoke(question("How warm is it in Bern?"), THREAD)) == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert answer(graph().invoke(question("Are you there?"), THREAD)) == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse):
    converse.script(reply.text("Zürich"))
    assert answer(asyncio.run(graph().ainvoke(question("Where to?"), THREAD))) == "Zürich"
