"""Where Converse has the kinds of members that AWS's protocol tests are about, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock.rules import BY_NAME


class MalformedPlace(NamedTuple):
    """A request with VALUE where a value of the kind stands, and a value that can be read there."""

    place: str
    good: str


def block(text: str) -> str:
    """A request with one content block."""
    return f'{{"messages":[{{"role":"user","content":[{text}]}}]}}'


def media(kind: str, text: str) -> str:
    """A request with a block of media, whose members these are beside its format."""
    return block(f'{{"{kind}":{{"format":"{"txt" if kind == "document" else "png"}",{text}}}}}')


BLOCK: Final = block("VALUE")
ORDINARY: Final = block('{"text":"hi"}')
_BOOLEAN: Final = MalformedPlace(
    media("document", '"name":"a","source":{"text":"a"},"citations":{"enabled":VALUE}'),
    "true",
)
_INTEGER: Final = MalformedPlace('{"inferenceConfig":{"maxTokens":VALUE}}', "2147483647")
_MAP: Final = MalformedPlace('{"requestMetadata":VALUE}', '{"abc":"def"}')
_LIST: Final = MalformedPlace('{"inferenceConfig":{"stopSequences":VALUE}}', '["a","b"]')

MALFORMED: Final[Mapping[str, MalformedPlace]] = {
    "RestJsonBodyMalformedBlobInvalidBase64": MalformedPlace(media("image", '"source":{"bytes":VALUE}'), '"YmxvYg=="'),
    "RestJsonBodyBooleanStringCoercion": _BOOLEAN,
    "RestJsonBodyBooleanBadLiteral": _BOOLEAN,
    "RestJsonBodyIntegerUnderflowOverflow": _INTEGER,
    "RestJsonBodyIntegerMalformedValueRejected": _INTEGER,
    "RestJsonBodyFloatMalformedValueRejected": MalformedPlace('{"inferenceConfig":{"temperature":VALUE}}', "0.5"),
    "RestJsonBodyMalformedListNullItem": _LIST,
    "RestJsonBodyMalformedListUnclosed": _LIST,
    "RestJsonBodyMalformedMapNullKey": _MAP,
    "RestJsonBodyMalformedMapNullValue": _MAP,
    "RestJsonMalformedUnionValueIsArray": MalformedPlace(BLOCK, '{"text":"hi"}'),
}

WHOLE_BODIES: Final = ("RestJsonInvalidJsonBody", "RestJsonTechnicallyValidJsonBody")


class UnionPlace(NamedTuple):
    """What stands for the members of AWS's union in a content block, and what is told."""

    renamed: Mapping[str, str]
    told: str


_UNSET: Final = (
    "ContentBlock object at messages.0.content.0 must set one of the following keys: text, image, toolUse, toolResult, "
    "document, video, cachePoint, reasoningContent, citationsContent, searchResult."
)

UNIONS: Final[Mapping[str, UnionPlace]] = {
    "RestJsonMalformedUnionMultipleFieldsSet": UnionPlace(
        {'"int": 2': '"text": "two"', '"string": "three"': '"cachePoint": {"type": "default"}'},
        _UNSET.replace("must set", "can only set"),
    ),
    "RestJsonMalformedUnionKnownAndUnknownFieldsSet": UnionPlace(
        {'"int": 2': '"text": "two"'}, _UNSET.replace("must set", "can only set")
    ),
    "RestJsonMalformedUnionNoFieldsSet": UnionPlace({'"int": null': '"text": null'}, _UNSET),
    "RestJsonMalformedUnionEmptyObjectNoFieldsSet": UnionPlace({}, _UNSET),
    "RestJsonMalformedUnionUnknownMember": UnionPlace({}, _UNSET),
}
"""Bedrock differs: it is reported to answer a union that is not set with ValidationException (rule `unions_are_set`),
so its gateway does not read unions as these tests want; and so it does one with several members (rule
`unions_have_one_member`)."""

MEDIA_TYPES: Final[Mapping[str, tuple[int, str]]] = {
    "RestJsonWithBodyExpectsApplicationJsonContentType": (415, "UnsupportedMediaTypeException"),
    "RestJsonWithBodyExpectsApplicationJsonContentTypeNoHeaders": (415, "UnsupportedMediaTypeException"),
    "RestJsonWithBodyExpectsApplicationJsonAccept": (406, "NotAcceptableException"),
}
"""Here we differ: the endpoint reads a body whatever it is called, and answers whatever is accepted. That is no member
of Converse; what Bedrock says is not recorded, and AWS's API model of it has neither error."""


class ConstraintPlace(NamedTuple):
    """A request with VALUE where a constraint holds, where that is told, and the words for each value.

    Without `values` they are AWS's own.
    """

    place: str
    at: str
    said: tuple[str, ...]
    values: tuple[str, ...] = ()


def _one_of(shape: str) -> str:
    return f"Member must satisfy enum value set: [{', '.join(bedrock.enum(shape))}]"


def _pattern_of(shape: str) -> str:
    return f"Member must satisfy regular expression pattern: {bedrock.shape(shape).metadata['pattern']}"


def _longer(low: int) -> str:
    return f"Member must have length greater than or equal to {low}"


def _shorter(high: int) -> str:
    return f"Member must have length less than or equal to {high}"


_CONTENT: Final = "Value at 'messages.1.member.content.1.member"
_URI: Final = media("image", '"source":{"s3Location":{"uri":VALUE}}')
_QUALIFIER: Final = "GuardrailConverseContentQualifier"
_PATH_LENGTHS: Final = f"Member must satisfy constraint: [{_shorter(256)}, {_longer(1)}]"
_METADATA_KEYS: Final = (
    f"Map keys must satisfy constraint: [{_shorter(256)}, {_longer(1)}, {_pattern_of('RequestMetadataKeyString')}]"
)
_METADATA_VALUES: Final = (
    f"Map value must satisfy constraint: [{_shorter(256)}, {_longer(0)}, {_pattern_of('RequestMetadataValueString')}]"
)


def _metadata(text: str = "VALUE") -> str:
    return f'{ORDINARY[:-1]},"requestMetadata":{text}}}'


def _beside(text: str) -> str:
    """An ordinary request with one more member."""
    return f"{ORDINARY[:-1]},{text}}}"


def _texts(character: str, *counts: int) -> tuple[str, ...]:
    return tuple(f'"{character * count}"' for count in counts)


CONSTRAINTS: Final[Mapping[str, ConstraintPlace]] = {
    "RestJsonMalformedEnumString": ConstraintPlace(
        _beside('"performanceConfig":{"latency":VALUE}'),
        "Value 'VALUE' at 'performanceConfig.latency'",
        ("Member must satisfy enum value set: [optimized, standard]",),
    ),
    "RestJsonMalformedEnumTraitString": ConstraintPlace(
        '{"messages":[{"role":VALUE,"content":[{"text":"hi"}]}]}',
        "Value 'VALUE' at 'messages.1.member.role'",
        (_one_of("ConversationRole"),),
    ),
    "RestJsonMalformedEnumList": ConstraintPlace(
        block('{"guardContent":{"text":{"text":"hi","qualifiers":[VALUE]}}}'),
        f"{_CONTENT}.guardContent.text.qualifiers'",
        (f"Member must satisfy constraint: [{_one_of(_QUALIFIER)}]",),
    ),
    "RestJsonMalformedEnumUnion": ConstraintPlace(
        block('{"cachePoint":{"type":VALUE}}'), f"{_CONTENT}.cachePoint.type'", (_one_of("CachePointType"),)
    ),
    "RestJsonMalformedLengthBlob": ConstraintPlace(
        media("image", '"source":{"bytes":VALUE}'), f"{_CONTENT}.image.source.bytes'", (_longer(1),), ('""',)
    ),
    "RestJsonMalformedLengthString": ConstraintPlace(
        media("document", '"source":{"text":"a"},"name":VALUE'),
        f"{_CONTENT}.document.name'",
        (_longer(1), _shorter(200), _shorter(200)),
        ('""', *_texts("a", 201), *_texts("👍", 201)),
    ),
    "RestJsonMalformedLengthMinString": ConstraintPlace(
        _beside('"system":[{"text":VALUE}]'), "Value at 'system.1.member.text'", (_longer(1),), ('""',)
    ),
    "RestJsonMalformedLengthMaxString": ConstraintPlace(
        _beside('"guardrailConfig":{"guardrailIdentifier":VALUE}'),
        "Value 'VALUE' at 'guardrailConfig.guardrailIdentifier'",
        (_shorter(2048),),
        _texts("a", 2049),
    ),
    "RestJsonMalformedLengthList": ConstraintPlace(
        _beside('"additionalModelResponseFieldPaths":[VALUE]'),
        f"Value '[{', '.join(['/a'] * 11)}]' at 'additionalModelResponseFieldPaths'",
        (_shorter(10),),
        (", ".join(['"/a"'] * 11),),
    ),
    "RestJsonMalformedLengthListValue": ConstraintPlace(
        _beside('"additionalModelResponseFieldPaths":[VALUE]'),
        "Value '[VALUE]' at 'additionalModelResponseFieldPaths'",
        (_PATH_LENGTHS, _PATH_LENGTHS),
        _texts("a", 0, 257),
    ),
    "RestJsonMalformedLengthMap": ConstraintPlace(
        _metadata(),
        "Value at 'requestMetadata'",
        (_longer(1), _shorter(16)),
        ("{}", "{" + ",".join(f'"{number}":"a"' for number in range(17)) + "}"),
    ),
    "RestJsonMalformedLengthMapKey": ConstraintPlace(
        _metadata('{VALUE:"a"}'), "Value at 'requestMetadata'", (_METADATA_KEYS,), _texts("a", 0, 257)
    ),
    "RestJsonMalformedLengthMapValue": ConstraintPlace(
        _metadata('{"abc":VALUE}'), "Value at 'requestMetadata'", (_METADATA_VALUES,), _texts("a", 257)
    ),
    "RestJsonMalformedPatternString": ConstraintPlace(
        _beside('"guardrailConfig":{"guardrailVersion":VALUE}'),
        "Value 'VALUE' at 'guardrailConfig.guardrailVersion'",
        (_pattern_of("GuardrailVersion"),),
    ),
    "RestJsonMalformedPatternReDOSString": ConstraintPlace(
        _beside('"guardrailConfig":{"guardrailIdentifier":VALUE}'),
        "Value 'VALUE' at 'guardrailConfig.guardrailIdentifier'",
        (_pattern_of("GuardrailIdentifier"),),
    ),
    "RestJsonMalformedPatternMapKey": ConstraintPlace(
        _metadata('{VALUE:"abc"}'), "Value at 'requestMetadata'", (_METADATA_KEYS,), ('"{"', '"ABC!"')
    ),
    "RestJsonMalformedPatternMapValue": ConstraintPlace(
        _metadata('{"abc":VALUE}'), "Value at 'requestMetadata'", (_METADATA_VALUES,), ('"}"', '"ABC!"')
    ),
    "RestJsonMalformedPatternUnion": ConstraintPlace(
        _URI, f"{_CONTENT}.image.source.s3Location.uri'", (_pattern_of("S3Uri"),)
    ),
    "RestJsonMalformedRangeFloat": ConstraintPlace(
        _beside('"inferenceConfig":{"temperature":VALUE}'),
        "Value 'VALUE' at 'inferenceConfig.temperature'",
        ("Member must have value greater than or equal to 0", "Member must have value less than or equal to 1"),
        ("-0.1", "1.1"),
    ),
    "RestJsonMalformedRangeMinInteger": ConstraintPlace(
        _beside('"inferenceConfig":{"maxTokens":VALUE}'),
        "Value 'VALUE' at 'inferenceConfig.maxTokens'",
        ("Member must have value greater than or equal to 1",),
        ("0",),
    ),
    "RestJsonMalformedRequiredBodyUnset": ConstraintPlace(
        _beside('"serviceTier":VALUE'), "Value null at 'serviceTier.type'", ("Member must not be null",), ("{}",)
    ),
    "RestJsonMalformedRequiredBodyExplicitNull": ConstraintPlace(
        _beside('"serviceTier":VALUE'),
        "Value null at 'serviceTier.type'",
        ("Member must not be null",),
        ('{"type":null}',),
    ),
    "RestJsonMalformedUniqueItemsStructureMissingKeyList": ConstraintPlace(
        '{"messages":[VALUE]}',
        "Value null at 'messages.1.member.role'",
        ("Member must not be null",),
        ('{"content":[{"text":"hi"}]}',),
    ),
    "RestJsonMalformedRecursiveStructures": ConstraintPlace(
        block('{"toolResult":{"toolUseId":"a","content":[{"image":{"format":VALUE,"source":{"bytes":"aGk="}}}]}}'),
        f"{_CONTENT}.toolResult.content.1.member.image.format'",
        (_one_of("ImageFormat"),),
        ('"XYZ"',),
    ),
    "RestJsonMalformedPatternSensitiveString": ConstraintPlace(
        _URI, f"{_CONTENT}.image.source.s3Location.uri'", (_pattern_of("S3Uri"),)
    ),
}

ENVELOPE: Final = (
    r"1 validation error detected\. Value(?: with length \d+)? at '/[^']*' failed to satisfy constraint: (.*)"
)
"""What AWS's tests want around a constraint. Bedrock differs: it is reported to have a colon for the full stop, to
repeat the value and not its length, to write `a.1.member.b` for `/a/0/b`, and to send no `fieldList` beside that."""


class ConstraintWords(NamedTuple):
    """What stands for AWS's words, and why where that differs."""

    ours: str
    why: str = ""


_BEDROCK: Final = f"as Bedrock is reported to say it: {BY_NAME['constraints_hold'].source}"
_ONE_SIDE: Final = f"the limit that is broken, {_BEDROCK}"

WORDS: Final[Mapping[str, ConstraintWords]] = {
    r"Member must satisfy enum value set: \[.*\]": ConstraintWords(r"Member must satisfy enum value set: \[.*\]"),
    r"Member must satisfy regular expression pattern: .*": ConstraintWords(
        "Member must satisfy regular expression pattern: "
    ),
    r"Member must have length greater than or equal to \d+": ConstraintWords(
        r"Member must have length greater than or equal to \d+"
    ),
    r"Member must have length less than or equal to \d+": ConstraintWords(
        r"Member must have length less than or equal to \d+"
    ),
    "Member must not be null": ConstraintWords("^Member must not be null$"),
    r"Member must have length between \d+ and \d+, inclusive": ConstraintWords(
        r"Member must have length (greater|less) than or equal to \d+", _ONE_SIDE
    ),
    r"Member must be between [\d.]+ and [\d.]+, inclusive": ConstraintWords(
        r"Member must have value (greater|less) than or equal to \d+", _ONE_SIDE
    ),
    r"Member must be greater than or equal to [\d.]+": ConstraintWords(
        r"Member must have value greater than or equal to \d+", _BEDROCK
    ),
}
"""AWS's words for a constraint -> ours. Of what is in a list or map of plain values Bedrock tells as other services of
AWS do: of the whole, all constraints in brackets."""

_USE: Final = '{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"look","input":{}}}]}'
_RESULT: Final = (
    '{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":'
    '[{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}]}}]}'
)
_TOOLS: Final = '{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{"type":"object"}}}}]}'

ACCEPTED: Final[Mapping[str, str]] = {
    "RestJsonRecursiveStructuresValidate": (
        f'{{"messages":[{{"role":"user","content":[{{"text":"hi"}}]}},{_USE},{_RESULT}],"toolConfig":{_TOOLS}}}'
    ),
}
"""What keeps all constraints: a union in a union in a union."""
