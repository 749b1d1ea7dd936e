"""Sample values: valid, the same everywhere, new each time, one story; personal data that looks right."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import subprocess
import sys
import wave
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import assemble, bedrock, chunk, samples
from converse_harness.errors import ReplyError
from converse_harness.samples.content import PII
from converse_harness.samples.objects import OBJECTS
from converse_harness.samples.table import SAMPLES, VARIANTS
from converse_harness.samples.values import SHAPES, VALUES
from converse_harness.stream.grammar import ORDER, check_order
from converse_harness.types.tools import InterruptException

WITH_SHAPE: Final = {
    "content.Message": "Message",
    "content.Messages": "Messages",
    "content.Role": "ConversationRole",
    "content.ContentBlock": "ContentBlock",
    "content.SystemContentBlock": "SystemContentBlock",
    "content.CachePoint": "CachePointBlock",
    "content.GuardContent": "GuardrailConverseContentBlock",
    "content.GuardContentText": "GuardrailConverseTextBlock",
    "content.ReasoningContentBlock": "ReasoningContentBlock",
    "content.ReasoningTextBlock": "ReasoningTextBlock",
    "content.ContentBlockStart": "ContentBlockStart",
    "content.ContentBlockStartToolUse": "ToolUseBlockStart",
    "content.ContentBlockDelta": "ContentBlockDeltaEvent",
    "content.DeltaContent": "ContentBlockDelta",
    "content.ContentBlockStop": "ContentBlockStopEvent",
    "tools.ToolSpec": "ToolSpecification",
    "tools.Tool": "Tool",
    "tools.ToolUse": "ToolUseBlock",
    "tools.ToolResult": "ToolResultBlock",
    "tools.ToolResultContent": "ToolResultContentBlock",
    "tools.ToolResultStatus": "ToolResultStatus",
    "tools.ToolConfig": "ToolConfiguration",
    "tools.ToolChoice": "ToolChoice",
    "tools.ToolChoiceAuto": "AutoToolChoice",
    "tools.ToolChoiceAutoDict": "ToolChoice",
    "tools.ToolChoiceAny": "AnyToolChoice",
    "tools.ToolChoiceAnyDict": "ToolChoice",
    "tools.ToolChoiceTool": "SpecificToolChoice",
    "tools.ToolChoiceToolDict": "ToolChoice",
    "streaming.StreamEvent": "ConverseStreamOutput",
    "streaming.MessageStartEvent": "MessageStartEvent",
    "streaming.ContentBlockStartEvent": "ContentBlockStartEvent",
    "streaming.ContentBlockDeltaEvent": "ContentBlockDeltaEvent",
    "streaming.ContentBlockDelta": "ContentBlockDelta",
    "streaming.ContentBlockDeltaToolUse": "ToolUseBlockDelta",
    "streaming.ReasoningContentBlockDelta": "ReasoningContentBlockDelta",
    "streaming.CitationsDelta": "CitationsDelta",
    "streaming.CitationSourceContentDelta": "CitationSourceContentDelta",
    "streaming.CitationLocation": "CitationLocation",
    "streaming.ContentBlockStopEvent": "ContentBlockStopEvent",
    "streaming.MessageStopEvent": "MessageStopEvent",
    "streaming.MetadataEvent": "ConverseStreamMetadataEvent",
    "streaming.ExceptionEvent": "ThrottlingException",
    "streaming.ModelStreamErrorEvent": "ModelStreamErrorException",
    "event_loop.StopReason": "StopReason",
    "event_loop.Usage": "TokenUsage",
    "media.ImageContent": "ImageBlock",
    "media.ImageFormat": "ImageFormat",
    "media.ImageSource": "ImageSource",
    "media.DocumentContent": "DocumentBlock",
    "media.DocumentFormat": "DocumentFormat",
    "media.DocumentSource": "DocumentSource",
    "media.VideoContent": "VideoBlock",
    "media.VideoFormat": "VideoFormat",
    "media.VideoSource": "VideoSource",
    "citations.CitationsConfig": "CitationsConfig",
    "citations.CitationsContentBlock": "CitationsContentBlock",
    "citations.Citation": "Citation",
    "citations.CitationGeneratedContent": "CitationGeneratedContent",
    "citations.CitationSourceContent": "CitationSourceContent",
    "citations.DocumentCharLocation": "DocumentCharLocation",
    "citations.DocumentChunkLocation": "DocumentChunkLocation",
    "citations.DocumentPageLocation": "DocumentPageLocation",
    "citations.SearchResultLocation": "SearchResultLocation",
    "citations.WebLocation": "WebLocation",
    "guardrails.Trace": "ConverseTrace",
    "guardrails.GuardrailTrace": "GuardrailTraceAssessment",
    "guardrails.GuardrailAssessment": "GuardrailAssessment",
    "guardrails.GuardrailConfig": "GuardrailStreamConfiguration",
    "guardrails.TopicPolicy": "GuardrailTopicPolicyAssessment",
    "guardrails.Topic": "GuardrailTopic",
    "guardrails.ContentPolicy": "GuardrailContentPolicyAssessment",
    "guardrails.ContentFilter": "GuardrailContentFilter",
    "guardrails.WordPolicy": "GuardrailWordPolicyAssessment",
    "guardrails.CustomWord": "GuardrailCustomWord",
    "guardrails.ManagedWord": "GuardrailManagedWord",
    "guardrails.SensitiveInformationPolicy": "GuardrailSensitiveInformationPolicyAssessment",
    "guardrails.PIIEntity": "GuardrailPiiEntityFilter",
    "guardrails.Regex": "GuardrailRegexFilter",
    "guardrails.ContextualGroundingPolicy": "GuardrailContextualGroundingPolicyAssessment",
    "guardrails.ContextualGroundingFilter": "GuardrailContextualGroundingFilter",
    "ConverseRequest": "ConverseRequest",
    "ConverseStreamRequest": "ConverseStreamRequest",
    "CountTokensRequest": "CountTokensRequest",
    "ConverseResponse": "ConverseResponse",
    "ConverseTrace": "ConverseTrace",
    "GuardrailTraceAssessment": "GuardrailTraceAssessment",
    "TokenUsage": "TokenUsage",
    "ConverseStreamMetrics": "ConverseStreamMetrics",
    "ToolSpecification": "ToolSpecification",
    "SystemTool": "SystemTool",
    "AudioBlock": "AudioBlock",
    "SearchResultBlock": "SearchResultBlock",
    "InferenceConfiguration": "InferenceConfiguration",
    "OutputConfig": "OutputConfig",
    "RequestMetadata": "RequestMetadata",
}
"""Samples that AWS could have sent, or been sent -> their shapes; the others are of types that only Strands has."""

NEWER_MEMBERS: Final = {"TokenUsage": "cacheDetails", "ToolSpecification": "strict"}
"""What botocore 1.40 lacks in shapes that it has: there, the sample is refused."""


def test_every_row_has_a_value() -> None:
    assert sorted(SAMPLES) == sorted([*VALUES, *OBJECTS])
    assert set(VARIANTS) == set(SHAPES)


SUBJECTS: Final = {
    "Messages": ["content"],
    "Tools": ["tools"],
    "Streams": ["streaming", "event_loop"],
    "Media and citations": ["media", "citations"],
    "Guardrails": ["guardrails"],
    "AWS's own shapes": [""],
    "Exceptions, sessions, memory": ["exceptions", "session", "memory"],
}
"""Headings of the tables in docs/samples.md -> modules of `types`; "" is AWS's API model."""


def tables() -> str:
    """The end of docs/samples.md."""
    lines = ["## All fixtures", "", "| fixture | runs the test |", "|---|---|"]
    lines += [f"| `{row.fixture}` | {row.doc.removeprefix('Runs the test ')} |" for row in VARIANTS.values()]
    for heading, modules in SUBJECTS.items():
        lines += ["", f"### {heading}", "", "| fixture | type | what |", "|---|---|---|"]
        lines += [
            f"| `{row.fixture}` | `{name}` | {row.doc} |"
            for name, row in SAMPLES.items()
            if name.rpartition(".")[0] in modules
        ]
    return "\n".join(lines) + "\n"


def test_the_page_lists_every_fixture() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "samples.md"
    assert page.read_text(encoding="utf-8").endswith(tables())
    assert all(row.fixture in tables() for row in (*SAMPLES.values(), *VARIANTS.values()))


def test_fixtures_are_named_alike_and_once() -> None:
    fixtures = [row.fixture for row in (*SAMPLES.values(), *VARIANTS.values())]
    assert len(set(fixtures)) == len(fixtures)
    assert [each for each in fixtures if not re.fullmatch("converse_[a-z]+(_[a-z]+)*", each)] == []
    assert [name for name, row in VARIANTS.items() if row.fixture != f"converse_each_{name}"] == []
    assert [row.fixture for row in SAMPLES.values() if row.fixture.startswith("converse_each_")] == []


@pytest.mark.parametrize("row", [*SAMPLES.values(), *VARIANTS.values()], ids=lambda row: row.fixture)
def test_a_row_says_in_one_line_what_it_is(row: Any) -> None:
    assert row.doc.endswith(".")
    assert len(row.doc) < 80


@pytest.mark.parametrize("name", WITH_SHAPE)
def test_aws_could_have_sent_it(name: str) -> None:
    shape = WITH_SHAPE[name]
    if not (bedrock.has_shape(shape) and (name not in NEWER_MEMBERS or bedrock.has_member(shape, NEWER_MEMBERS[name]))):
        with pytest.raises(ReplyError, match="botocore"):
            bedrock.check(shape, samples.sample(name))
    else:
        bedrock.check(shape, samples.sample(name), root=name)


@pytest.mark.parametrize("name", SHAPES)
def test_aws_could_have_sent_every_variant(name: str) -> None:
    for path, value in samples.variants(name).items():
        bedrock.check(SHAPES[name], value, root=path)


@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_new_each_time(name: str) -> None:
    one, other = samples.sample(name), samples.sample(name)
    if isinstance(one, dict | list):
        assert one == other
    assert {id(each) for each in containers(one)} & {id(each) for each in containers(other)} == set()


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_new_each_time(name: str) -> None:
    one, other = samples.variants(name), samples.variants(name)
    assert one == other
    assert {id(each) for each in containers(one)} & {id(each) for each in containers(other)} == set()


def containers(value: Any) -> Iterator[Any]:
    """All that can be changed in a value."""
    match value:
        case dict():
            yield value
            for each in value.values():
                yield from containers(each)
        case list():
            yield value
            for each in value:
                yield from containers(each)
        case BaseException() | str() | bytes() | int() | float() | None:
            pass
        case _ if hasattr(value, "__dict__") and type(value).__module__.startswith("converse_harness.types"):
            yield value
            yield from containers(vars(value))
        case _:
            pass


ALL_OF_THEM: Final = """
import json, re, sys
from converse_harness import samples
names = sorted(samples.NAMES, reverse=sys.argv[1] == "reverse")
said = {name: re.sub("0x[0-9a-f]+", "0x", repr(samples.sample(name))) for name in names}
said |= {kind: repr(samples.pii(kind)) for kind in json.loads(sys.argv[2])}
print(json.dumps(said, sort_keys=True))
"""


@pytest.mark.needs_os
def test_it_is_the_same_in_every_process() -> None:
    kinds = list(PII)
    run = partial(subprocess.run, capture_output=True, text=True, check=True, timeout=60)
    one, other = (
        run([sys.executable, "-c", ALL_OF_THEM, order, json.dumps(asked)], env={**os.environ, "PYTHONHASHSEED": seed})
        for order, asked, seed in (("", kinds, "1"), ("reverse", kinds[::-1], "2"))
    )
    assert json.loads(one.stdout) == json.loads(other.stdout)
    assert len(json.loads(one.stdout)) == len(SAMPLES) + len(PII)


def test_the_message_streams() -> None:
    events = samples.sample("ConverseStreamOutput")
    check_order(events)
    assert assemble(events).message == samples.sample("Message")


def test_the_events_are_those_of_the_response() -> None:
    assembled, response = assemble(samples.sample("ConverseStreamOutput")), samples.sample("ConverseResponse")
    assert {"message": assembled.message} == response["output"]
    assert (assembled.stop_reason, assembled.usage, assembled.metrics) == (
        response["stopReason"],
        response["usage"],
        response["metrics"],
    )


def test_blocks_that_can_be_streamed_are_streamed() -> None:
    content = [samples.variants("content_block")["text"], {"citationsContent": samples.sample("CitationsContentBlock")}]
    message = {"role": "assistant", "content": content}
    assert assemble(chunk(message)).message == message


def test_the_story_fits_together() -> None:
    use, result = samples.sample("ToolUse"), samples.sample("ToolResult")
    question, looked, answered, answer = samples.sample("Messages")
    assert use["toolUseId"] == result["toolUseId"] == samples.sample("ContentBlockStartToolUse")["toolUseId"]
    assert use["name"] == samples.sample("ToolSpec")["name"] == samples.sample("ToolChoiceTool")["name"]
    assert looked == samples.sample("Message")
    assert {"toolUse": use} in looked["content"]
    assert answered["content"] == [{"toolResult": result}]
    assert [each["role"] for each in (question, looked, answered, answer)] == ["user", "assistant"] * 2
    assert samples.sample("ConverseRequest")["messages"] == [question]


def test_the_citation_quotes_the_document() -> None:
    text = samples.sample("DocumentContent")["source"]["bytes"].decode()
    citation = samples.sample("Citation")
    place = citation["location"]["documentChar"]
    assert text[place["start"] : place["end"]] == citation["sourceContent"][0]["text"]
    assert citation["title"] == samples.sample("DocumentContent")["name"]
    assert citation["sourceContent"][0] in samples.sample("SearchResultBlock")["content"]


@pytest.mark.parametrize("name", ["event_loop.Usage", "TokenUsage"])
def test_tokens_add_up(name: str) -> None:
    usage = samples.sample(name)
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    assert usage["totalTokens"] == sum(usage[part] for part in parts)


def test_bytes_are_of_their_format() -> None:
    assert samples.sample("ImageSource")["bytes"].startswith(b"\x89PNG\r\n\x1a\n")
    assert samples.sample("VideoSource")["bytes"][4:12] == b"ftypisom"
    with wave.open(BytesIO(samples.sample("AudioBlock")["source"]["bytes"])) as audio:
        assert (audio.getnframes(), audio.getframerate()) == (80, 8000)


def test_kept_bytes_come_back() -> None:
    from converse_harness.types.session import decode_bytes_values, encode_bytes_values

    message, kept = samples.sample("encode_bytes_values"), samples.sample("decode_bytes_values")
    assert encode_bytes_values(message) == kept == json.loads(json.dumps(kept))
    assert decode_bytes_values(kept) == message


async def last_of(events: AsyncIterator[Any]) -> Any:
    return [each async for each in events][-1]


def test_the_tools_run() -> None:
    use, result = samples.sample("ToolUse"), samples.sample("ToolResult")
    assert samples.sample("ToolFunc")(use) == result
    assert samples.sample("AgentTool").tool_spec == samples.sample("ToolSpec")
    for events in (
        samples.sample("AgentTool").stream(use, {}),
        samples.sample("ToolGenerator"),
        samples.sample("RunToolHandler")(use),
    ):
        assert asyncio.run(last_of(events)) == result
    assert samples.sample("ToolContext").tool_use == use
    with pytest.raises(InterruptException):
        samples.sample("_Interruptible").interrupt("sure")


def test_the_memory_works() -> None:
    store, entry = samples.sample("MemoryStore"), samples.sample("MemoryEntry")
    assert asyncio.run(store.search("bag", samples.sample("SearchOptions"))) == [entry]
    query = samples.sample("InjectionQueryCallback")(samples.sample("InjectionQueryContext"))
    assert query == samples.sample("Messages")[0]["content"][0]["text"]
    text = samples.sample("InjectionFormatCallback")(samples.sample("InjectionFormatContext"))
    assert text == f"- {entry.content}"
    assert samples.sample("MemoryManagerConfig")["stores"] == [store]


# Variants.


def members(shape: str) -> Iterator[str]:
    """Every path of a union of AWS's API model, through the unions in it."""
    for name, member in getattr(bedrock.shape(shape), "members", {}).items():
        deeper = [f"{name}.{path}" for path in members(member.name)] if bedrock.is_union(member) else []
        yield from deeper or [name]


@pytest.mark.parametrize("name", ["content_block", "delta", "tool_choice", "citation_location"])
def test_every_member_of_the_union_is_a_variant(name: str) -> None:
    assert set(samples.variants(name)) == set(members(SHAPES[name]))


def test_every_event_of_the_grammar_is_a_variant() -> None:
    known = {symbol for symbols in ORDER.values() for symbol in symbols} | set(bedrock.stream_exceptions())
    # An older botocore lacks some events of the grammar.
    lacking = (
        set() if bedrock.has_member("ContentBlockStart", "image") else known - set(samples.variants("stream_event"))
    )
    assert set(samples.variants("stream_event")) == known - lacking
    assert {each.partition(".")[2] for each in lacking} <= {"toolResult", "image"}


def test_every_stop_reason_is_a_variant() -> None:
    assert list(samples.variants("stop_reason")) == list(bedrock.enum("StopReason"))
    assert all(path == value for path, value in samples.variants("stop_reason").items())


def test_every_kind_of_personal_data_is_a_variant() -> None:
    assert list(samples.variants("pii_kind")) == list(bedrock.enum("GuardrailPiiEntityType"))
    for kind, entity in samples.variants("pii_kind").items():
        assert entity == {"type": kind, "match": samples.pii(kind), "action": "ANONYMIZED"}


def test_a_variant_that_the_model_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    has = bedrock.has_member
    monkeypatch.setattr(bedrock, "has_member", lambda shape, name: name not in ("video", "image") and has(shape, name))
    paths = set(samples.variants("content_block"))
    events = set(samples.variants("stream_event"))
    assert paths & {"video", "image", "guardContent.image"} == set()
    assert "guardContent.text" in paths
    assert {each for each in events if each.endswith(".image")} == set()


# Personal data.


def digits_of(text: str) -> list[int]:
    return [int(each) for each in text if each.isdigit()]


def passes_luhn(text: str) -> bool:
    doubled = [2 * digit if place % 2 else digit for place, digit in enumerate(reversed(digits_of(text)))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def passes_iban(text: str) -> bool:
    return int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) % 97 == 1


def passes_vin(text: str) -> bool:
    values = {letter: 1 + place % 9 for place, letter in enumerate("ABCDEFGHIJKLMNOPQR")}
    values |= {letter: place for place, letter in enumerate("STUVWXYZ", 2)} | {str(digit): digit for digit in range(10)}
    weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    rest = sum(values[each] * weight for each, weight in zip(text, weights, strict=True)) % 11
    return text[8] == ("X" if rest == 10 else str(rest)) and not set(text) & set("IOQ")


def passes_modulo_11(text: str) -> bool:
    return sum(digit * weight for digit, weight in zip(digits_of(text), range(10, 0, -1), strict=True)) % 11 == 0


def passes_utr(text: str) -> bool:
    check, *rest = digits_of(text)
    weighed = sum(digit * weight for digit, weight in zip(rest, (6, 7, 8, 9, 10, 5, 4, 3, 2), strict=True))
    return check == (11 - weighed % 11 if weighed % 11 > 1 else (2, 1)[weighed % 11])


def passes_routing(text: str) -> bool:
    return sum(digit * weight for digit, weight in zip(digits_of(text), (3, 7, 1) * 3, strict=True)) % 10 == 0


def is_documentation_address(text: str) -> bool:
    return ipaddress.ip_address(text) in ipaddress.ip_network("192.0.2.0/24")


FORMS: Final[Mapping[str, str]] = {
    "ADDRESS": r"\d+ .+, .+, [A-Z]{2} \d{5}",
    "AGE": r"[1-9]\d years",
    "AWS_ACCESS_KEY": r"AKIA[A-Z0-9]{9}EXAMPLE",
    "AWS_SECRET_KEY": r"[A-Za-z0-9/+]{30}EXAMPLEKEY",
    "CA_HEALTH_NUMBER": r"\d{4}-\d{3}-\d{3}",
    "CA_SOCIAL_INSURANCE_NUMBER": r"0\d\d \d{3} \d{3}",
    "CREDIT_DEBIT_CARD_CVV": r"\d{3}",
    "CREDIT_DEBIT_CARD_EXPIRY": r"(0[1-9]|1[0-2])/\d\d",
    "CREDIT_DEBIT_CARD_NUMBER": r"\d{4} \d{4} \d{4} \d{4}",
    "DRIVER_ID": r"[A-Z]\d{7}",
    "EMAIL": r"[\w.]+@example\.com",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": r"GB\d\d[A-Z]{4}\d{14}",
    "IP_ADDRESS": r"[\d.]+",
    "LICENSE_PLATE": r"[A-Z0-9 -]{5,9}",
    "MAC_ADDRESS": r"00:00:5E:00:53:[0-9A-F]{2}",
    "NAME": r"[A-Z][a-z]+\.? [A-Z].+",
    "PASSWORD": r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])\S{14}",
    "PHONE": r"\(\d{3}\) 555-01\d\d",
    "PIN": r"\d{4}",
    "SWIFT_CODE": r"[A-Z]{6}[A-Z0-9]{2}",
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": r"999 \d{3} \d{4}",
    "UK_NATIONAL_INSURANCE_NUMBER": r"QQ \d\d \d\d \d\d [A-D]",
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": r"\d{10}",
    "URL": r"https://www\.example\.com/\S+",
    "USERNAME": r"\w+",
    "US_BANK_ACCOUNT_NUMBER": r"\d{10,12}",
    "US_BANK_ROUTING_NUMBER": r"\d{9}",
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": r"9\d\d-(5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])-\d{4}",
    "US_PASSPORT_NUMBER": r"[A-Z]\d{8}",
    "US_SOCIAL_SECURITY_NUMBER": r"987-65-432\d",
    "VEHICLE_IDENTIFICATION_NUMBER": r"[A-HJ-NPR-Z0-9]{17}",
}

CHECKS: Final = {
    "CA_HEALTH_NUMBER": passes_luhn,
    "CA_SOCIAL_INSURANCE_NUMBER": passes_luhn,
    "CREDIT_DEBIT_CARD_NUMBER": passes_luhn,
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": passes_iban,
    "IP_ADDRESS": is_documentation_address,
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": passes_modulo_11,
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": passes_utr,
    "US_BANK_ROUTING_NUMBER": passes_routing,
    "VEHICLE_IDENTIFICATION_NUMBER": passes_vin,
}


@pytest.mark.parametrize("kind", PII)
def test_personal_data_looks_right(kind: str) -> None:
    value = samples.pii(kind)
    assert re.fullmatch(FORMS[kind], value, re.ASCII), value
    assert CHECKS.get(kind, bool)(value), value


@pytest.mark.parametrize(
    ("passes", "published"),
    [
        (passes_luhn, "79927398713"),
        (passes_modulo_11, "9434765919"),
        (passes_utr, "1123456789"),
        (passes_vin, "1M8GDM9AXKP042788"),
    ],
)
def test_the_checks_pass_published_examples_and_no_others(passes: Any, published: str) -> None:
    assert passes(published)
    assert not passes(f"{published[:-1]}{(int(published[-1]) + 1) % 10}")


# Asking for what is not there.


@pytest.mark.parametrize("name", ["Message", "content.Message"])
def test_the_module_may_be_left_out(name: str) -> None:
    assert samples.sample(name)["role"] == "assistant"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (partial(samples.sample, "ToolUes"), "there is no sample 'ToolUes'. Did you mean 'tools.ToolUse'? All: "),
        (
            partial(samples.sample, "ContentBlockDelta"),
            "'ContentBlockDelta' is the name of several samples: content.ContentBlockDelta, streaming.",
        ),
        (
            partial(samples.pii, "E-MAIL"),
            "there is no kind of personal data 'E-MAIL'. Did you mean 'EMAIL'? One of: ADD",
        ),
        (partial(samples.variants, "block"), "there is no set of variants 'block'."),
    ],
)
def test_an_unknown_name_says_what_there_is(ask: Any, message: str) -> None:
    with pytest.raises(samples.UnknownSample, match=re.escape(message)):
        ask()


def test_the_package_has_its_names_and_no_others() -> None:
    assert set(samples.__all__) <= set(dir(samples))
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        getattr(samples, "smaple")  # noqa: B009  (a checker knows that the name is wrong)
