"""The kinds of members that AWS's protocol tests are about and Converse has not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from converse_harness import bedrock

IsOne = Callable[[bedrock.Shape, bedrock.Shape], bool]
"""Whether a shape that another one holds is of a kind."""

NO_LOCATION: Final = "no member in a header or the query, and in the path a text alone"
NO_SMALL_NUMBERS: Final = "no byte, short, long or double"
NO_TIMESTAMP: Final = "no timestamp"
NO_LIST_OF_PATTERNS: Final = "no list of texts with a pattern"
NO_MAP_OF_ENUMS: Final = "no map whose keys or values are of an enum"
NO_MOST: Final = "no integer with an upper limit"
NO_SINGLE_LIMIT: Final = "no float with one limit alone"

CANNOT: Final[Mapping[str, tuple[str, ...]]] = {
    NO_LOCATION: (
        *("RestJsonPathBooleanStringCoercion", "RestJsonQueryBooleanStringCoercion"),
        "RestJsonHeaderBooleanStringCoercion",
        *("RestJsonPathByteUnderflowOverflow", "RestJsonQueryByteUnderflowOverflow"),
        *("RestJsonHeaderByteUnderflowOverflow", "RestJsonPathByteMalformedValueRejected"),
        *("RestJsonQueryByteMalformedValueRejected", "RestJsonHeaderByteMalformedValueRejected"),
        *("RestJsonPathShortUnderflowOverflow", "RestJsonQueryShortUnderflowOverflow"),
        *("RestJsonHeaderShortUnderflowOverflow", "RestJsonPathShortMalformedValueRejected"),
        *("RestJsonQueryShortMalformedValueRejected", "RestJsonHeaderShortMalformedValueRejected"),
        *("RestJsonPathIntegerUnderflowOverflow", "RestJsonQueryIntegerUnderflowOverflow"),
        *("RestJsonHeaderIntegerUnderflowOverflow", "RestJsonPathIntegerMalformedValueRejected"),
        *("RestJsonQueryIntegerMalformedValueRejected", "RestJsonHeaderIntegerMalformedValueRejected"),
        *("RestJsonPathLongUnderflowOverflow", "RestJsonQueryLongUnderflowOverflow"),
        *("RestJsonHeaderLongUnderflowOverflow", "RestJsonPathLongMalformedValueRejected"),
        *("RestJsonQueryLongMalformedValueRejected", "RestJsonHeaderLongMalformedValueRejected"),
        *("RestJsonPathDoubleMalformedValueRejected", "RestJsonQueryDoubleMalformedValueRejected"),
        *("RestJsonHeaderDoubleMalformedValueRejected", "RestJsonPathFloatMalformedValueRejected"),
        *("RestJsonQueryFloatMalformedValueRejected", "RestJsonHeaderFloatMalformedValueRejected"),
        "RestJsonHeaderMalformedStringInvalidBase64MediaType",
        *("RestJsonHeaderTimestampDefaultRejectsDateTime", "RestJsonHeaderTimestampDefaultRejectsEpochSeconds"),
        *("RestJsonHeaderTimestampDateTimeRejectsHttpDate", "RestJsonHeaderTimestampDateTimeRejectsEpochSeconds"),
        "RestJsonHeaderTimestampDateTimeRejectsDifferent8601Formats",
        *("RestJsonHeaderTimestampEpochRejectsDateTime", "RestJsonHeaderTimestampEpochRejectsHttpDate"),
        "RestJsonHeaderTimestampEpochRejectsMalformedValues",
        *("RestJsonPathTimestampDefaultRejectsHttpDate", "RestJsonPathTimestampDefaultRejectsEpochSeconds"),
        "RestJsonPathTimestampDefaultRejectsUTCOffsets",
        "RestJsonPathTimestampDefaultRejectsDifferent8601Formats",
        *("RestJsonPathTimestampHttpDateRejectsDateTime", "RestJsonPathTimestampHttpDateRejectsEpochSeconds"),
        *("RestJsonPathTimestampEpochRejectsDateTime", "RestJsonPathTimestampEpochRejectsHttpDate"),
        "RestJsonPathTimestampEpochRejectsMalformedValues",
        *("RestJsonQueryTimestampDefaultRejectsHttpDate", "RestJsonQueryTimestampDefaultRejectsEpochSeconds"),
        "RestJsonQueryTimestampDefaultRejectsUTCOffsets",
        "RestJsonQueryTimestampDefaultRejectsDifferent8601Formats",
        *("RestJsonQueryTimestampHttpDateRejectsDateTime", "RestJsonQueryTimestampHttpDateRejectsEpochSeconds"),
        *("RestJsonQueryTimestampEpochRejectsDateTime", "RestJsonQueryTimestampEpochRejectsHttpDate"),
        "RestJsonQueryTimestampEpochRejectsMalformedValues",
        *("RestJsonMalformedLengthQueryStringNoValue", "RestJsonMalformedRequiredHeaderUnset"),
    ),
    NO_SMALL_NUMBERS: (
        *("RestJsonBodyByteUnderflowOverflow", "RestJsonBodyByteMalformedValueRejected"),
        *("RestJsonBodyShortUnderflowOverflow", "RestJsonBodyShortMalformedValueRejected"),
        *("RestJsonBodyLongUnderflowOverflow", "RestJsonBodyLongMalformedValueRejected"),
        "RestJsonBodyDoubleMalformedValueRejected",
        *("RestJsonMalformedRangeByte", "RestJsonMalformedRangeMinByte", "RestJsonMalformedRangeMaxByte"),
        *("RestJsonMalformedRangeShort", "RestJsonMalformedRangeMinShort", "RestJsonMalformedRangeMaxShort"),
        *("RestJsonMalformedRangeLong", "RestJsonMalformedRangeMinLong", "RestJsonMalformedRangeMaxLong"),
    ),
    NO_TIMESTAMP: (
        "RestJsonBodyTimestampDefaultRejectsDateTime",
        "RestJsonBodyTimestampDefaultRejectsStringifiedEpochSeconds",
        "RestJsonBodyTimestampDefaultRejectsMalformedEpochSeconds",
        *("RestJsonBodyTimestampDefaultRejectsHttpDate", "RestJsonBodyTimestampDateTimeRejectsHttpDate"),
        *("RestJsonBodyTimestampDateTimeRejectsEpochSeconds", "RestJsonBodyTimestampDateTimeRejectsUTCOffsets"),
        "RestJsonBodyTimestampDateTimeRejectsDifferent8601Formats",
        *("RestJsonBodyTimestampHttpDateRejectsDateTime", "RestJsonBodyTimestampHttpDateRejectsEpoch"),
    ),
    "no payload of another type than JSON": (
        *("RestJsonWithPayloadExpectsModeledAccept", "RestJsonWithPayloadExpectsImpliedAccept"),
        *("RestJsonWithPayloadExpectsModeledContentType", "RestJsonWithPayloadExpectsImpliedContentType"),
    ),
    "no operation without a body": (
        "RestJsonWithoutBodyExpectsEmptyContentType",
        "RestJsonWithoutBodyEmptyInputExpectsEmptyContentType",
    ),
    NO_LIST_OF_PATTERNS: ("RestJsonMalformedPatternList",),
    NO_MAP_OF_ENUMS: ("RestJsonMalformedEnumMapKey", "RestJsonMalformedEnumMapValue"),
    NO_MOST: ("RestJsonMalformedRangeInteger", "RestJsonMalformedRangeMaxInteger"),
    NO_SINGLE_LIMIT: ("RestJsonMalformedRangeMinFloat", "RestJsonMalformedRangeMaxFloat"),
    "no constraint on a member beside its shape's: the model that botocore has gives each a shape of its own": (
        *("RestJsonMalformedLengthBlobOverride", "RestJsonMalformedLengthStringOverride"),
        *("RestJsonMalformedLengthMinStringOverride", "RestJsonMalformedLengthMaxStringOverride"),
        *("RestJsonMalformedLengthListOverride", "RestJsonMalformedLengthMapOverride"),
        *("RestJsonMalformedPatternStringOverride", "RestJsonMalformedPatternListOverride"),
        *("RestJsonMalformedPatternMapKeyOverride", "RestJsonMalformedPatternMapValueOverride"),
        "RestJsonMalformedPatternUnionOverride",
        *("RestJsonMalformedRangeByteOverride", "RestJsonMalformedRangeMinByteOverride"),
        *("RestJsonMalformedRangeMaxByteOverride", "RestJsonMalformedRangeFloatOverride"),
        *("RestJsonMalformedRangeMinFloatOverride", "RestJsonMalformedRangeMaxFloatOverride"),
        *("RestJsonMalformedRangeShortOverride", "RestJsonMalformedRangeMinShortOverride"),
        *("RestJsonMalformedRangeMaxShortOverride", "RestJsonMalformedRangeIntegerOverride"),
        *("RestJsonMalformedRangeMinIntegerOverride", "RestJsonMalformedRangeMaxIntegerOverride"),
        *("RestJsonMalformedRangeLongOverride", "RestJsonMalformedRangeMinLongOverride"),
        "RestJsonMalformedRangeMaxLongOverride",
    ),
    "no list whose items must differ: the model that botocore has cannot say so": (
        *("RestJsonMalformedUniqueItemsBlobList", "RestJsonMalformedUniqueItemsBooleanList"),
        *("RestJsonMalformedUniqueItemsStringList", "RestJsonMalformedUniqueItemsByteList"),
        *("RestJsonMalformedUniqueItemsShortList", "RestJsonMalformedUniqueItemsIntegerList"),
        *("RestJsonMalformedUniqueItemsLongList", "RestJsonMalformedUniqueItemsTimestampList"),
        *("RestJsonMalformedUniqueItemsDateTimeList", "RestJsonMalformedUniqueItemsHttpDateList"),
        *("RestJsonMalformedUniqueItemsEnumList", "RestJsonMalformedUniqueItemsIntEnumList"),
        *("RestJsonMalformedUniqueItemsListList", "RestJsonMalformedUniqueItemsStructureList"),
        "RestJsonMalformedUniqueItemsUnionList",
    ),
}
"""What Converse, ConverseStream and CountTokens have not -> the tests that are about it."""


def _limits(shape: bedrock.Shape) -> frozenset[str]:
    return frozenset({"min", "max"} & shape.metadata.keys())


LACKING: Final[Mapping[str, IsOne]] = {
    NO_LOCATION: lambda _, shape: (
        shape.serialization.get("location") in ("header", "headers", "querystring")
        or (shape.serialization.get("location") == "uri" and shape.type_name != "string")
    ),
    NO_SMALL_NUMBERS: lambda _, shape: shape.type_name in ("byte", "short", "long", "double"),
    NO_TIMESTAMP: lambda _, shape: shape.type_name == "timestamp",
    NO_LIST_OF_PATTERNS: lambda holder, shape: holder.type_name == "list" and "pattern" in shape.metadata,
    NO_MAP_OF_ENUMS: lambda holder, shape: holder.type_name == "map" and "enum" in shape.metadata,
    NO_MOST: lambda _, shape: shape.type_name == "integer" and "max" in shape.metadata,
    NO_SINGLE_LIMIT: lambda _, shape: shape.type_name == "float" and len(_limits(shape)) == 1,
}
"""The reasons that the installed model can tell of -> whether a member speaks against it."""
