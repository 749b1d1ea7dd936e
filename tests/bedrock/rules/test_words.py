"""What the service says where a request is not as AWS's API model says: word for word."""

from __future__ import annotations

from typing import Any

import pytest

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleRequest, notes_of, refusal_of
from converse_harness.settings import RuleLevel
from tests.bedrock.rules.asking import NOVA, TEXT, assistant, document, image, use, user

Json = dict[str, Any]

FAILED = "failed to satisfy constraint: Member must"
TOOL = f"{FAILED} satisfy regular expression pattern: [a-zA-Z0-9_-]+"
NOT_EMPTY = f"{FAILED} have length greater than or equal to 1"
NULL = f"{FAILED} not be null"
ROLES = ", ".join(bedrock.enum("ConversationRole"))
METADATA = r"[a-zA-Z0-9\s:_@$#=/+,-.]"
LENGTHS = "Member must have length less than or equal to 256, Member must have length greater than or equal to"
LONG = "a" * 64 + "!"
SECOND = "at 'toolConfig.tools.2.member.toolSpec.name'"


def tool(name: str, **more: Any) -> Json:
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}} | more}


def said_of(body: Json) -> str:
    refusal = refusal_of(RuleRequest("Converse", NOVA, {"messages": [user(TEXT)]} | body))
    assert refusal is not None
    return refusal.message


TOLD: dict[str, tuple[Json, list[str]]] = {
    "a parameter": (
        {"inferenceConfig": {"temperature": 1.5, "maxTokens": 0}},
        [
            f"Value '1.5' at 'inferenceConfig.temperature' {FAILED} have value less than or equal to 1",
            f"Value '0' at 'inferenceConfig.maxTokens' {FAILED} have value greater than or equal to 1",
        ],
    ),
    "an enum": (
        {"performanceConfig": {"latency": "fast"}},
        [f"Value 'fast' at 'performanceConfig.latency' {FAILED} satisfy enum value set: [optimized, standard]"],
    ),
    "a role is repeated, what is in a message is not": (
        {"messages": [{"role": "developer", "content": [TEXT, use(name="!")]}]},
        [
            f"Value 'developer' at 'messages.1.member.role' {FAILED} satisfy enum value set: [{ROLES}]",
            f"Value at 'messages.1.member.content.2.member.toolUse.name' {TOOL}",
        ],
    ),
    "what is not there": (
        {"messages": [user(TEXT), {"role": "assistant"}, user({"reasoningContent": {"reasoningText": {}}})]},
        [
            f"Value null at 'messages.2.member.content' {NULL}",
            f"Value at 'messages.3.member.content.1.member.reasoningContent.reasoningText.text' {NULL}",
        ],
    ),
    "a list of tools is not repeated": (
        {"toolConfig": {"tools": []}},
        [f"Value at 'toolConfig.tools' {NOT_EMPTY}"],
    ),
    "names of tools, too short and too long": (
        {"toolConfig": {"tools": [tool("", description=""), tool(LONG)]}},
        [
            f"Value '' at 'toolConfig.tools.1.member.toolSpec.name' {TOOL}",
            f"Value '' at 'toolConfig.tools.1.member.toolSpec.name' {NOT_EMPTY}",
            f"Value '' at 'toolConfig.tools.1.member.toolSpec.description' {NOT_EMPTY}",
            f"Value '{LONG}' {SECOND} {FAILED} have length less than or equal to 64",
            f"Value '{LONG}' {SECOND} {TOOL}",
        ],
    ),
    "a system prompt": (
        {"system": [{"text": ""}]},
        [f"Value at 'system.1.member.text' {NOT_EMPTY}"],
    ),
    "an element of a list of texts": (
        {"inferenceConfig": {"stopSequences": ["|", "", ""]}},
        [
            (
                f"Value '[|, , ]' at 'inferenceConfig.stopSequences' {FAILED} satisfy constraint: "
                "[Member must have length greater than or equal to 1]"
            ),
        ],
    ),
    "keys and values of a map of texts": (
        {"requestMetadata": {"{": "a", "b": "}", "c": "}"}},
        [
            (
                "Value at 'requestMetadata' failed to satisfy constraint: Map keys must satisfy constraint: "
                f"[{LENGTHS} 1, Member must satisfy regular expression pattern: {METADATA}{{1,256}}]"
            ),
            (
                "Value at 'requestMetadata' failed to satisfy constraint: Map value must satisfy constraint: "
                f"[{LENGTHS} 0, Member must satisfy regular expression pattern: {METADATA}{{0,256}}]"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("body", "told"), TOLD.values(), ids=TOLD)
def test_constraints(body: Json, told: list[str]) -> None:
    count = f"{len(told)} validation error{'s' if len(told) > 1 else ''} detected: "
    assert said_of(body) == count + "; ".join(told)


OTHER_FIELDS = "fields that only some models have belong in additionalModelRequestFields"

IGNORED: dict[str, tuple[Json, list[tuple[str, str]]]] = {
    "a field of some models": (
        {"top_k": 5, "inferenceConfig": {"topK": 5}},
        [("top_k", OTHER_FIELDS), ("inferenceConfig.topK", OTHER_FIELDS)],
    ),
    "a parameter that stands too high": ({"maxTokens": 5}, [("maxTokens", "AWS has inferenceConfig.maxTokens")]),
    "a parameter that stands too deep": (
        {"inferenceConfig": {"toolChoice": {"auto": {}}, "modelId": "m"}},
        [
            ("inferenceConfig.toolChoice", "AWS has toolConfig.toolChoice"),
            ("inferenceConfig.modelId", "AWS has modelId"),
        ],
    ),
    "another spelling": (
        {"inferenceConfg": {}, "stop_sequences": [], "toolConfig": {"tools": [tool("look", input_schema={})]}},
        [
            ("inferenceConfg", "AWS has inferenceConfig"),
            ("stop_sequences", "AWS has inferenceConfig.stopSequences"),
            ("toolConfig.tools[0].toolSpec.input_schema", "AWS has toolConfig.tools[0].toolSpec.inputSchema"),
        ],
    ),
    "what is nowhere": (
        {"messages": [user(TEXT, {"image": image()["image"] | {"name": "a"}})]},
        [("messages[0].content[1].image.name", f"AWS has {', '.join(bedrock.shape('ImageBlock').members)} there")],
    ),
}


@pytest.mark.parametrize("level", ["default", "strict"])
@pytest.mark.parametrize(("body", "told"), IGNORED.values(), ids=IGNORED)
def test_what_bedrock_ignores(body: Json, told: list[tuple[str, str]], level: RuleLevel) -> None:
    asked = RuleRequest("Converse", NOVA, {"messages": [user(TEXT)]} | body)
    assert refusal_of(asked, level) is None
    [note] = notes_of(asked)
    members = ", ".join(f"{path} (misplaced? {advice})" for path, advice in told)
    message = f"{members}; botocore {bedrock.botocore_version()}"
    assert (note.rule.name, note.path, note.message) == ("members_are_known", told[0][0], message)


def test_a_union_with_an_unknown_member_beside_a_known_one_is_refused() -> None:
    said = said_of({"messages": [user({**TEXT, "type": "text"})]})
    assert said.startswith("ContentBlock object at messages.0.content.0 can only set one of the following keys: text, ")


UNSET: dict[str, Json] = {
    "ContentBlock object at messages.1.content.0 must set one of the following keys: text, image, toolUse, toolResult, "
    "document, video, cachePoint, reasoningContent, citationsContent, searchResult.": {
        "messages": [user(TEXT), assistant({"thinking": "hm"}), user(TEXT)]
    },
    "DocumentSource object at messages.0.content.1.document.source must set one of the following keys: bytes, "
    "s3Location": {"messages": [user(TEXT, {"document": {**document()["document"], "source": {}}})]},
    "ToolInputSchema object at toolConfig.tools.0.toolSpec.inputSchema must set one of the following keys: json.": {
        "toolConfig": {"tools": [tool("look", inputSchema={"type": "object"})]}
    },
}


@pytest.mark.parametrize(("message", "body"), UNSET.items(), ids=["ContentBlock", "DocumentSource", "ToolInputSchema"])
def test_unions_that_are_not_set(message: str, body: Json) -> None:
    assert said_of(body) == message


def test_a_model_id_in_the_body_is_not_looked_at() -> None:
    assert refusal_of(RuleRequest("Converse", NOVA, {"modelId": "not a model", "messages": [user(TEXT)]})) is None
