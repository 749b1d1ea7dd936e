"""Schemas with any keywords of JSON Schema together, also such as no value satisfies: for those who make values."""

from typing import Any, Final

from hypothesis import strategies as st

_NAMES: Final = st.sampled_from(("a", "b", "c"))
_VALUES: Final = st.sampled_from((0, 1, 2, -1, 0.5, "a", "b", "", None, True, False, [], {}, [1], {"a": 1}))
_NUMBERS: Final = st.sampled_from((0, 1, 2, 3, 5, 10, -3, 0.5, 2.5, 0.1))
_COUNTS: Final = st.integers(0, 4)
_PATTERNS: Final = st.sampled_from(
    ("^a", "b$", "^[a-c]{2,3}$", r"^\d+$", "x|y", r"^(?=.*[A-Z])(?=.*\d).{4,}$", r"^[A-Z]{3}-\d{2,}$", "^$", "[^a]",
     "^(foo|bar)+$", "^.{3,5}$", r"^\w+@\w+\.com$", r"^(a|b)\1$")
)  # fmt: skip
_FORMATS: Final = st.sampled_from(
    ("date", "time", "date-time", "email", "uuid", "uri", "ipv4", "ipv6", "hostname", "duration", "regex", "no-format")
)
_TYPES: Final = st.sampled_from(("string", "integer", "number", "boolean", "array", "object", "null"))


def _with_keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    names = st.lists(_NAMES, max_size=3, unique=True)
    keywords = {
        "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(_VALUES, min_size=1, max_size=3),
        "const": _VALUES,
        "default": _VALUES,
        "examples": st.lists(_VALUES, max_size=2),
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], several),
        **dict.fromkeys(["not", "if", "then", "else", "items", "contains", "unevaluatedItems"], inner),
        **dict.fromkeys(["additionalProperties", "propertyNames", "unevaluatedProperties"], inner),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], _NUMBERS),
        "multipleOf": st.sampled_from((1, 2, 3, 0.5, 0.1, 0.25, 7)),
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"], _COUNTS),
        **dict.fromkeys(["minProperties", "maxProperties"], _COUNTS),
        "pattern": _PATTERNS,
        "format": _FORMATS,
        "uniqueItems": st.booleans(),
        "properties": st.dictionaries(_NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(("^a", "b", "^x-")), inner, max_size=2),
        "required": names,
        "dependentRequired": st.dictionaries(_NAMES, names, max_size=2),
        "dependentSchemas": st.dictionaries(_NAMES, inner, max_size=1),
        "$ref": st.sampled_from(("#", "#/$defs/A", "#/$defs/B")),
    }
    chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))


_PARTS: Final = st.recursive(
    st.just({}) | _TYPES.map(lambda name: {"type": name}) | st.booleans(), _with_keywords, max_leaves=12
)

any_schemas: Final = st.tuples(_with_keywords(_PARTS), _PARTS, _PARTS).map(
    lambda drawn: {**drawn[0], "$defs": {"A": drawn[1], "B": drawn[2]}}
)
"""Whole schemas, with two definitions to refer to."""

small_values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 12) | st.sampled_from((0.5, "", "a", "ab", "foo", "12")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("a", "b", "x-c")), inner, max_size=3),
    max_leaves=5,
)
"""Values that such schemas often allow, and often do not."""
