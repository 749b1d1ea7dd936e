"""The conversation machine plays any model; the agent only has to answer."""

import boto3
from agent import Agent, AgentError
from botocore.exceptions import ClientError, EventStreamError
from hypothesis import settings
from test_obvious import TOOL, weather

from converse_strategies import conversation_machine


def agent():
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    chat = Agent(client, {"get_weather": (TOOL, lambda **given: weather(given.get("city", "?")))})
    return lambda text: chat.ask(text).text


TestAgent = conversation_machine(
    agent, tools=[TOOL], history="fail", may_raise=(AgentError, ClientError, EventStreamError)
).TestCase
TestAgent.settings = settings(max_examples=25, stateful_step_count=8, deadline=None, database=None)
