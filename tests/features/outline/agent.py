"""A small agent over boto3, one request at a time, and the changes that the tests plant into it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import boto3

MODEL: Final = "us.amazon.nova-lite-v1:0"
Blocks = list[dict[str, Any]]


def spec(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"to": {"type": "string"}, "at": {"type": "string"}}, **more}
    return {"toolSpec": {"name": name, "description": f"Looks at {name}.", "inputSchema": {"json": schema}}}


TOOLS: Final = (spec("timetable", required=["to", "at"]), spec("book"))


def same(results: Blocks) -> Blocks:
    return results


def steps(
    question: str,
    *,
    model: str = MODEL,
    system: str = "You plan trips.",
    tools: Sequence[Mapping[str, Any]] = TOOLS,
    results: Callable[[Blocks], Blocks] = same,
    answers: Callable[[Blocks], Blocks] = same,
    first: int = 0,
    more: Sequence[str] = (),
) -> Iterator[str]:
    """Ask until the model gives an answer without tools; yield after each request.

    `results` changes the tool results of a turn, `answers` the model's messages. `first` is the number of the first
    message that is sent, as in a sliding window, from the second request on. `more` are further questions.
    """
    client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": question}]}]
    while True:
        answer = client.converse(
            modelId=model,
            system=[{"text": system}],
            toolConfig={"tools": [*tools]},
            messages=messages[first if len(messages) > 1 else 0 :],
        )
        content = answer["output"]["message"]["content"]
        yield answer["stopReason"]
        if answer["stopReason"] != "tool_use":
            if not more:
                return
            messages += [answer["output"]["message"], {"role": "user", "content": [{"text": more[0]}]}]
            more = more[1:]
            continue
        uses = [block["toolUse"] for block in content if "toolUse" in block]
        told = [{"toolUseId": use["toolUseId"], "content": [{"text": f"{use['name']}: yes"}]} for use in uses]
        messages.append({"role": "assistant", "content": answers(content)})
        messages.append({"role": "user", "content": results([{"toolResult": each} for each in told])})


def run(question: str, **changes: Any) -> None:
    for _ in steps(question, **changes):
        pass
