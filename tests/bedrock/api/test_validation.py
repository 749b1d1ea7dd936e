"""Strict validation: what is refused, with the very message, and where it is stricter than botocore's own validator."""

import re
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock import FindingKind
from converse_harness.bedrock.api import checks, service
from converse_harness.bedrock.api.beyond import BEYOND_MODEL, Beyond, ExtraMember, MayBeAbsent, SeenIn
from converse_harness.bedrock.api.checks import Checks
from converse_harness.errors import DamagedData, ReplyError

VERSION = f"botocore {bedrock.botocore_version()}"
TOOL_USE = {"toolUseId": "t1", "name": "get_weather", "input": {}}
USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}

CONTENT_BLOCK = ", ".join(map(repr, bedrock.shape("ContentBlock").members))
STOP_REASON = ", ".join(map(repr, bedrock.enum("StopReason")))
DOCUMENT = "free-form JSON: dict with str keys, list, str, finite int or float, bool; None only inside of these"


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ("ContentBlock", {"text": ""}),
        ("ContentBlock", {"toolUse": TOOL_USE}),
        ("ContentBlock", MappingProxyType({"text": "a"})),
        ("Message", {"role": "assistant", "content": ({"text": "Zürich 😀"},)}),
        ("Message", {"role": "assistant", "content": []}),
        ("ToolUseBlock", {**TOOL_USE, "input": {"a": [None, True, 1, 1.5, "x", {"b": ()}]}}),
        ("ToolUseBlock", {**TOOL_USE, "input": []}),
        ("ToolUseBlock", {**TOOL_USE, "type": "tool_use"}),
        ("ImageSource", {"bytes": b"x"}),
        ("ImageSource", {"bytes": bytearray(b"x")}),
        ("TokenUsage", USAGE),
        ("TokenUsage", {**USAGE, "serverToolUsage": {}, "cacheReadInputTokenCount": 0, "cacheWriteInputTokenCount": 0}),
        ("InferenceConfiguration", {"temperature": 1, "topP": 0.5, "maxTokens": 1}),
        ("ConverseStreamOutput", {"contentBlockStop": {"contentBlockIndex": 0}}),
        ("ConverseStreamOutput", {"messageStop": {"stopReason": "end_turn", "p": "abc"}}),
        ("ConverseStreamOutput", {"throttlingException": {"message": "Slow down."}}),
        ("ConverseStreamOutput", {"throttlingException": {}}),
        ("UnrecognizedClientException", {"message": "The security token included in the request is invalid."}),
        ("GuardrailSensitiveInformationPolicyAssessment", {"piiEntities": []}),
        ("StopReason", "end_turn"),
    ],
)
def test_legal_values(shape: str, value: object) -> None:
    assert bedrock.validate(shape, value) == []
    bedrock.check(shape, value)


@pytest.mark.parametrize(
    ("shape", "root", "value", "messages"),
    [
        (
            "ContentBlock",
            "content[0]",
            {"text": "a", "toolUse": TOOL_USE},
            [
                (
                    "content[0] has two members, 'text' and 'toolUse'; "
                    "a ContentBlock has exactly one (AWS model ContentBlock)."
                )
            ],
        ),
        (
            "ContentBlock",
            "",
            {"text": "a", "toolUse": TOOL_USE, "cachePoint": {"type": "default"}},
            [
                (
                    "the ContentBlock has three members, 'text', 'toolUse' and 'cachePoint'; "
                    "a ContentBlock has exactly one (AWS model ContentBlock)."
                )
            ],
        ),
        (
            "Message",
            "",
            {"role": "user", "content": [{"text": "a"}, {}]},
            [f"content[1] has no member; a ContentBlock has exactly one of {CONTENT_BLOCK} (AWS model ContentBlock)."],
        ),
        (
            "ConverseStreamOutput",
            "events[3]",
            {"messageStop": {"stopReason": "end_turn"}, "contentBlockStop": {"contentBlockIndex": 0}},
            [
                (
                    "events[3] has two members, 'messageStop' and 'contentBlockStop'; "
                    "a ConverseStreamOutput has exactly one (AWS model ConverseStreamOutput)."
                )
            ],
        ),
        (
            "ContentBlock",
            "content[0]",
            {"tooluse": TOOL_USE},
            [
                (
                    "content[0] has the unknown member 'tooluse'; did you mean 'toolUse'? "
                    f"A ContentBlock has {CONTENT_BLOCK} (AWS model ContentBlock, {VERSION})."
                )
            ],
        ),
        (
            "Message",
            "",
            {"role": "user", "content": [], 5: 1},
            [f"the Message has the unknown member 5; a Message has 'role', 'content' (AWS model Message, {VERSION})."],
        ),
        (
            "MessageStopEvent",
            "",
            {"stopReason": "end_trun"},
            [
                (
                    "stopReason is 'end_trun'; did you mean 'end_turn'? "
                    f"A StopReason is one of {STOP_REASON} (AWS model StopReason, {VERSION})."
                )
            ],
        ),
        (
            "ImageBlock",
            "content[0].image",
            {"format": "???", "source": {"bytes": b"x"}},
            [
                (
                    "content[0].image.format is '???'; an ImageFormat is one of 'png', 'jpeg', 'gif', 'webp' "
                    f"(AWS model ImageFormat, {VERSION})."
                )
            ],
        ),
        (
            "ContentBlock",
            "content[0]",
            {"toolUse": {**TOOL_USE, "name": "get weather"}},
            ["content[0].toolUse.name is 'get weather'; a ToolName matches [a-zA-Z0-9_-]+ (AWS model ToolName)."],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "name": "n" * 65},
            ["name has 65 characters; a ToolName has 1 to 64 (AWS model ToolName)."],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "name": "a\n"},
            ["name is 'a\\n'; a ToolName matches [a-zA-Z0-9_-]+ (AWS model ToolName)."],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "name": "é"},
            ["name is 'é'; a ToolName matches [a-zA-Z0-9_-]+ (AWS model ToolName)."],
        ),
        (
            "MessageStartEvent",
            "",
            {"role": None},
            ["role is None; it must be a str, or its member left out (AWS model ConversationRole)."],
        ),
        (
            "MessageStartEvent",
            "",
            [],
            ["the MessageStartEvent is [] (list); it must be a dict (AWS model MessageStartEvent)."],
        ),
        (
            "Message",
            "messages[2]",
            {"role": "user", "content": {"text": "hi"}},
            ["messages[2].content is {'text': 'hi'} (dict); it must be a list (AWS model ContentBlocks)."],
        ),
        (
            "MessageStartEvent",
            "",
            {},
            ["the MessageStartEvent lacks 'role'; a MessageStartEvent needs 'role' (AWS model MessageStartEvent)."],
        ),
        (
            "ContentBlockStopEvent",
            "",
            {"contentBlockIndex": -1},
            ["contentBlockIndex is -1; a NonNegativeInteger is 0 to 2147483647 (AWS model NonNegativeInteger)."],
        ),
        (
            "ContentBlockStopEvent",
            "",
            {"contentBlockIndex": 2**31},
            [
                (
                    "contentBlockIndex is 2147483648; "
                    "a NonNegativeInteger is 0 to 2147483647 (AWS model NonNegativeInteger)."
                )
            ],
        ),
        (
            "ContentBlockStopEvent",
            "",
            {"contentBlockIndex": False},
            ["contentBlockIndex is False (bool); it must be an int (AWS model NonNegativeInteger)."],
        ),
        (
            "ContentBlockStopEvent",
            "",
            {"contentBlockIndex": 0.0},
            ["contentBlockIndex is 0.0 (float); it must be an int (AWS model NonNegativeInteger)."],
        ),
        (
            "InferenceConfiguration",
            "inferenceConfig",
            {"temperature": 1.5},
            [
                (
                    "inferenceConfig.temperature is 1.5; an InferenceConfigurationTemperatureFloat is 0 to 1 "
                    "(AWS model InferenceConfigurationTemperatureFloat)."
                )
            ],
        ),
        (
            "InferenceConfiguration",
            "",
            {"topP": float("nan")},
            ["topP is nan (float); it must be a finite float or int (AWS model InferenceConfigurationTopPFloat)."],
        ),
        (
            "ImageSource",
            "",
            {"bytes": "eA=="},
            ["bytes is 'eA==' (str); it must be bytes (AWS model ImageSourceBytesBlob)."],
        ),
        (
            "ImageSource",
            "",
            {"bytes": b""},
            ["bytes has 0 bytes; an ImageSourceBytesBlob has at least 1 (AWS model ImageSourceBytesBlob)."],
        ),
        (
            "CitationsConfig",
            "",
            {"enabled": 1},
            ["enabled is 1 (int); it must be a bool (AWS model Boolean)."],
        ),
        ("ContentBlock", "", {"text": b"hi"}, ["text is 2 bytes (bytes); it must be a str (AWS model String)."]),
        (
            "ContentBlock",
            "",
            {"text": "half \ud83d"},
            [
                (
                    "text is 'half \\ud83d', which holds a lone surrogate; "
                    "UTF-8 cannot carry that, leave it out (AWS model String)."
                )
            ],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "input": None},
            [f"input is None; it must be {DOCUMENT}, or its member left out (AWS model Document)."],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "input": {"city": {"a set"}, "two words": [1, float("inf")]}},
            [
                f"input.city is {{'a set'}} (set); it must be {DOCUMENT} (AWS model Document).",
                f"input['two words'][1] is inf (float); it must be {DOCUMENT} (AWS model Document).",
            ],
        ),
        (
            "ToolUseBlock",
            "",
            {**TOOL_USE, "input": {"a": {1: 2, "\ud83d": 3}}},
            [
                "input.a has the key 1 (int); a key must be a str that UTF-8 can carry (AWS model Document).",
                "input.a has the key '\\ud83d' (str); a key must be a str that UTF-8 can carry (AWS model Document).",
            ],
        ),
        (
            "RequestMetadata",
            "requestMetadata",
            {"a!": "b"},
            [
                (
                    "requestMetadata has a key that is 'a!'; a RequestMetadataKeyString matches "
                    r"[a-zA-Z0-9\s:_@$#=/+,-.]{1,256} (AWS model RequestMetadataKeyString)."
                )
            ],
        ),
        (
            "RequestMetadata",
            "",
            {},
            ["the RequestMetadata has 0 members; a RequestMetadata has 1 to 16 (AWS model RequestMetadata)."],
        ),
        (
            "RequestMetadata",
            "",
            [],
            ["the RequestMetadata is [] (list); it must be a dict (AWS model RequestMetadata)."],
        ),
        (
            "TokenUsage",
            "usage",
            {**USAGE, "serverToolUsage": [], "cacheReadInputTokenCount": "0"},
            [
                "usage.serverToolUsage is [] (list); it must be a dict (recorded TokenUsage.serverToolUsage).",
                (
                    "usage.cacheReadInputTokenCount is '0' (str); "
                    "it must be an int (recorded TokenUsage.cacheReadInputTokenCount)."
                ),
            ],
        ),
    ],
)
def test_messages(shape: str, root: str, value: object, messages: list[str]) -> None:
    assert [each.message for each in bedrock.validate(shape, value, root=root)] == messages


def test_an_enum_is_extended_by_what_is_recorded() -> None:
    known = [*(bedrock.enum("ToolUseType") if bedrock.has_shape("ToolUseType") else ()), "tool_use"]
    (violation,) = bedrock.validate("ToolUseBlock", {**TOOL_USE, "type": "toolUse"})
    assert violation.limit == tuple(known)
    assert violation.message.startswith("type is 'toolUse'; did you mean 'tool_use'? A")


def test_a_document_that_contains_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["loop"] = loop
    (violation,) = bedrock.validate("ToolUseBlock", {**TOOL_USE, "input": loop})
    assert violation.message == (
        f"input contains itself or is nested too deeply; it must be {DOCUMENT} (AWS model Document)."
    )


def test_values_are_cut_short_in_messages_and_never_fail_there() -> None:
    def message(text: object) -> str:
        return bedrock.validate("ContentBlock", {"text": text})[0].message

    assert re.match(r"text is (a huge number|<int instance with .*>) \(int\); ", message(10**5000))
    assert len(message([["x" * 10_000] * 1000] * 1000)) < 400
    assert len(bedrock.validate("StopReason", "x" * 100_000)[0].message) < 500


def test_a_violation_says_what_and_where_for_machines_too() -> None:
    content = [{"text": "a"}, {"toolUse": {**TOOL_USE, "name": "n" * 65}}]
    path = "messages[7].content[1].toolUse.name"
    (found,) = bedrock.validate("Message", {"role": "user", "content": content}, root="messages[7]")
    assert found.path == path
    assert found.message == f"{path} has 65 characters; a ToolName has 1 to 64 (AWS model ToolName)."
    assert (found.kind, found.shape, found.limit) == (FindingKind.LENGTH, "ToolName", (1, 64))
    assert found.steps == ("content", 1, "toolUse", "name")


@pytest.mark.parametrize(
    ("shape", "value", "kind", "limit"),
    [
        ("ContentBlock", {}, FindingKind.UNION, tuple(bedrock.shape("ContentBlock").members)),
        ("Message", {"role": "user"}, FindingKind.REQUIRED, "content"),
        ("Message", {"role": "user", "content": [], "x": 1}, FindingKind.UNKNOWN, "x"),
        ("Message", [], FindingKind.TYPE, "a dict"),
        ("StopReason", "x", FindingKind.ENUM, bedrock.enum("StopReason")),
        ("ToolName", "é", FindingKind.PATTERN, "[a-zA-Z0-9_-]+"),
        ("NonNegativeInteger", -1, FindingKind.RANGE, (0, 2**31 - 1)),
    ],
)
def test_kinds_and_limits(shape: str, value: object, kind: FindingKind, limit: object) -> None:
    (violation,) = bedrock.validate(shape, value)
    assert (violation.kind, violation.limit, violation.shape) == (kind, limit, shape)


def test_check_raises_the_one_message() -> None:
    with pytest.raises(ReplyError) as caught:
        bedrock.check("StopReason", 5, root="stop_reason")
    assert str(caught.value) == "stop_reason is 5 (int); it must be a str (AWS model StopReason)."


def test_check_lists_all_messages_and_raises_what_it_is_told() -> None:
    with pytest.raises(DamagedData) as caught:
        bedrock.check("Message", {"content": [{"text": 5}]}, root="message", error=DamagedData)
    assert str(caught.value) == (
        "2 things are not as in AWS's API model:\n"
        "  message lacks 'role'; a Message needs 'role', 'content' (AWS model Message).\n"
        "  message.content[0].text is 5 (int); it must be a str (AWS model String)."
    )


def test_every_shape_of_the_service_refuses_a_plain_object() -> None:
    for name in bedrock.service().shape_names:
        (violation,) = bedrock.validate(name, object())
        assert violation.kind is FindingKind.TYPE
        assert violation.path == ""


def test_the_table_is_read() -> None:
    event = {"messageStart": {"role": "assistant", "p": "abc"}}
    without = Checks(row for row in BEYOND_MODEL if not (isinstance(row, ExtraMember) and row.member == "p"))
    assert bedrock.validate("ConverseStreamOutput", event) == []
    (violation,) = bedrock.validate("ConverseStreamOutput", event, checks=without)
    assert (violation.path, violation.kind, violation.limit) == ("messageStart", FindingKind.UNKNOWN, "p")


def test_a_row_that_the_model_has_caught_up_with_changes_nothing() -> None:
    recording = SeenIn("owner/name", "path")
    rows: list[Beyond] = [
        ExtraMember("TokenUsage", "inputTokens", "string", recording, "since modelled"),
        MayBeAbsent("TokenUsage", "cacheReadInputTokens", recording, "no longer required"),
    ]
    assert bedrock.validate("TokenUsage", USAGE, checks=Checks(rows)) == []
    assert len(bedrock.validate("TokenUsage", {**USAGE, "inputTokens": "1"}, checks=Checks(rows))) == 1


# Shapes that Bedrock Runtime does not have today, or only in operations that nobody fakes.


@pytest.fixture
def own_shape(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[Any], list[str]]]:
    """Make a validator of shapes of the test's own; it gives the paths of what is wrong."""

    def install(name: str, **shapes: Any) -> Callable[[Any], list[str]]:
        from botocore.model import ServiceModel

        own = ServiceModel({"metadata": {}, "operations": {}, "shapes": shapes}, "own")
        monkeypatch.setattr(service, "body_shape", lambda name, of: own.shape_for(name))
        made = Checks(())
        return lambda value: [each.message for each in bedrock.validate(name, value, checks=made)]

    return install


def test_a_shape_that_contains_itself(own_shape: Callable[..., Callable[[Any], list[str]]]) -> None:
    validate = own_shape(
        "Tree",
        Tree={
            "type": "structure",
            "members": {"twigs": {"shape": "Trees"}, "byName": {"shape": "TreeMap"}, "n": {"shape": "Long"}},
        },
        Trees={"type": "list", "member": {"shape": "Tree"}, "max": 2},
        TreeMap={"type": "map", "key": {"shape": "Name"}, "value": {"shape": "Tree"}},
        Name={"type": "string", "max": 1},
        Long={"type": "long"},
    )
    assert validate({"twigs": [{"byName": {"a": {"n": 2**63 - 1}}}, {}]}) == []
    assert validate({"twigs": [{"byName": {"a": {"n": 2**63}}}, {}, {}]}) == [
        "twigs has 3 items; a Trees has at most 2 (AWS model Trees).",
        (
            "twigs[0].byName.a.n is 9223372036854775808; a Long is -9223372036854775808 to 9223372036854775807 "
            "(AWS model Long)."
        ),
    ]
    assert validate({"byName": {"two": {}}}) == [
        "byName has a key that has 3 characters; a Name has at most 1 (AWS model Name)."
    ]


@pytest.mark.parametrize(
    ("value", "sound"),
    [
        (datetime(2025, 1, 2, tzinfo=UTC), True),
        (datetime(2025, 1, 2, tzinfo=timezone(timedelta(hours=2))), True),
        (datetime(2025, 1, 2), False),  # noqa: DTZ001 - that it has no zone is the mistake
        ("2025-01-02T00:00:00Z", True),
        ("2025-01-02T00:00:00+02:00", True),
        ("2025-01-02T00:00:00", False),
        ("today", False),
        (0, False),
    ],
)
def test_timestamps(own_shape: Callable[..., Callable[[Any], list[str]]], value: object, sound: bool) -> None:
    found = own_shape("When", When={"type": "timestamp"})(value)
    assert (found == []) is sound
    must = "it must be a datetime with a time zone, or its text in ISO 8601 (AWS model When)"
    assert all(must in each for each in found)


def test_numbers_with_one_limit(own_shape: Callable[..., Callable[[Any], list[str]]]) -> None:
    validate = own_shape("Real", Real={"type": "double", "min": 0})
    assert validate(10**300) == []
    assert validate(-0.5) == ["the Real is -0.5; a Real is at least 0 (AWS model Real)."]
    assert validate(10**400) != []
    assert own_shape("Real", Real={"type": "float", "max": 1})(2) == [
        "the Real is 2; a Real is at most 1 (AWS model Real)."
    ]
    assert own_shape("Int", Int={"type": "integer", "max": 9})(10) == [
        "the Int is 10; an Int is -2147483648 to 9 (AWS model Int)."
    ]


def test_lengths_with_one_limit(own_shape: Callable[..., Callable[[Any], list[str]]]) -> None:
    assert own_shape("Text", Text={"type": "string", "max": 0})("a") == [
        "the Text has 1 character; a Text has at most 0 (AWS model Text)."
    ]
    assert own_shape("Text", Text={"type": "string", "max": 1})("😀") == []


# Patterns


def test_every_pattern_of_the_service_is_checked() -> None:
    shapes = [bedrock.shape(name) for name in bedrock.service().shape_names]
    found = [each.metadata["pattern"] for each in shapes if "pattern" in each.metadata]
    assert len(found) >= 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [each for each in found if checks.compiled(each) is None] == []


@pytest.mark.parametrize(
    ("pattern", "matches", "fails"),
    [
        (r"\w+", "abc_1", "é"),
        (r"\d+", "12", "١٢"),
        (r"\s", "\t", "\u00a0"),
        (r"a.b", "a\x0bb", "a\u2028b"),
        (r".", "é", "\r"),
        (r"[.]", ".", "a"),
        (r"\.", ".", "a"),
        (r"[^.]\.[\].]", "a.]", "..]"),
        (r"[]a]+", "]a", "b"),
        (r"a$", "a", "a\n"),
        (r"a|b", "b", "ab"),
        (r"[a-z]++", "abc", "ABC"),
    ],
)
def test_patterns_mean_what_they_mean_in_java(pattern: str, matches: str, fails: str) -> None:
    expression = checks.compiled(pattern)
    assert expression is not None
    assert expression.fullmatch(matches)
    assert not expression.fullmatch(fails)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\p{Alpha}+", r"\P{L}", r"\h", r"\v", r"\R", r"\07", r"a\z", r"a\Z", r"\Qa.b\E", r"(?<name>a)"),
        *(r"[a-z&&[^b]]", r"[a[b-d]]", r"[a--b]", "(", "[", r"a{99999999999}"),
    ],
)
def test_patterns_that_python_cannot_say_are_not_checked(pattern: str) -> None:
    assert checks.compiled(pattern) is None


@given(pattern=st.text(st.sampled_from(r"ab\[]^-&|~.()*+?{}1,$pP:<!=>"), max_size=12) | st.text(max_size=8))
def test_no_pattern_ever_fails_or_warns(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expression = checks.compiled(pattern)
        assert expression is None or expression.flags & re.ASCII
