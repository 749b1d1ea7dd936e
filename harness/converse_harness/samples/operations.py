"""Requests and answers of Converse, ConverseStream and CountTokens, as AWS's model has them."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples import content, guardrails, streaming, tools

MODEL: Final = "us.amazon.nova-lite-v1:0"


def response() -> dict[str, Any]:
    """The answer of Converse; its events are those of `streaming.events`."""
    return {
        "output": {"message": content.message()},
        "stopReason": streaming.stop_reason(),
        "usage": streaming.usage(),
        "metrics": streaming.metrics(),
    }


def request() -> dict[str, Any]:
    """The request that it answers."""
    return {
        "modelId": MODEL,
        "messages": [content.question()],
        "system": [content.system_block()],
        "inferenceConfig": inference_config(),
        "toolConfig": tools.config(),
    }


def guarded_request() -> dict[str, Any]:
    """The same for ConverseStream, with a guardrail."""
    return {**request(), "guardrailConfig": guardrails.config()}


def count_request() -> dict[str, Any]:
    """Asks how many tokens the request has."""
    counted = {key: request()[key] for key in ("messages", "system", "toolConfig")}
    return {"modelId": MODEL, "input": {"converse": counted}}


def inference_config() -> dict[str, Any]:
    """How the model is asked to write."""
    return {"maxTokens": 512, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]}


def output_config() -> dict[str, Any]:
    """Asks for JSON of a schema."""
    schema = '{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}},"required":["items"]}'
    return {
        "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "packing_list", "schema": schema}}}
    }


def request_metadata() -> dict[str, str]:
    """What a request is booked on."""
    return {"team": "travel", "stage": "test"}


def router_trace() -> dict[str, Any]:
    """What the guardrail found, and which model a router chose."""
    profile = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{MODEL}"
    return {"guardrail": guardrails.detected_trace(), "promptRouter": {"invokedModelId": profile}}
