"""Read JSON Schemas: the table `KEYWORDS` of the supported keywords, and the class `Node` for the parts of a schema.

Source: JSON Schema 2020-12, and the tool schemas of pydantic, strands-agents and langchain.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.json_schema import patterns
from converse_harness.json_schema.parts import TYPES, SchemaPart, Unsatisfied, are_types, is_finite, is_schema
from converse_harness.json_values import is_array, is_object

_WORDS: Final = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
"""Short texts of lowercase letters and digits, which are valid parts of email addresses, URIs and host names."""

_ZONES: Final = st.sampled_from(("Z", "+00:00", "+02:00", "-05:30"))

_DOMAINS: Final = st.sampled_from(("com", "net", "org"))


def _joined(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


_POINTERS: Final = st.lists(_WORDS | st.sampled_from(("a~1b", "~0", "")), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)

FORMATS: Final[Mapping[str, st.SearchStrategy[str]]] = {
    "date": st.dates().map(dt.date.isoformat),
    "time": _joined("{}{}", st.times().map(dt.time.isoformat), _ZONES),
    "date-time": _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _ZONES),
    "duration": _joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399)),
    "email": _joined("{}@example.{}", _WORDS, _DOMAINS),
    "uri": _joined("{}://example.com/{}", st.sampled_from(("https", "http")), _WORDS),
    "uuid": st.uuids().map(str),
    "ipv4": st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number))),
    "ipv6": st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number))),
    "hostname": _joined("{}.example.{}", _WORDS, _DOMAINS),
    "json-pointer": _POINTERS,
    "relative-json-pointer": _joined("{}{}", st.integers(0, 9), _POINTERS),
}
"""Name of each supported format -> a strategy for its texts. Other formats are ignored."""


def _are_schemas(value: object) -> bool:
    return is_object(value) and all(map(is_schema, value.values()))


def _is_list(value: object) -> bool:
    return is_array(value) and bool(value) and all(map(is_schema, value))


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(compiled(value))
    except InvalidArgument:
        return False


_PATTERN: Final = "a regular expression that Python's re can read"

TAKES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "anything": ("any JSON value", lambda value: True),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "count": (
        "a whole number of 0 or more",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    ),
    "number": ("a number", is_finite),
    "positive": ("a number above 0", lambda value: is_finite(value) and value > 0),
    "pattern": (_PATTERN, _is_pattern),
    "reference": (
        "a reference into the schema itself: #/$defs/Name, #/definitions/Name, or # for all of it",
        lambda value: isinstance(value, str) and (value == "#" or value.startswith("#/")),
    ),
    "schema": ("a schema: an object, true or false", is_schema),
    "schemas": ("a list of at least one schema", _is_list),
    "schema or schemas": (
        "a schema: an object, true or false; in draft-04 to 2019-09, as `$schema` says, also a list of them: a tuple",
        lambda value: is_schema(value) or _is_list(value),
    ),
    "schemas by name": ("an object whose values are schemas", _are_schemas),
    "schemas by pattern": (
        "an object of regular expressions that Python's re can read, and schemas",
        lambda value: _are_schemas(value) and all(map(_is_pattern, value)),
    ),
    "text": ("a string", lambda value: isinstance(value, str)),
    "texts": ("a list of strings", lambda value: is_array(value) and all(isinstance(item, str) for item in value)),
    "types": (f"one of {', '.join(TYPES)}, or a list of them", are_types),
    "values": ("a list of at least one value", lambda value: is_array(value) and bool(value)),
}
"""Kind of value that a keyword takes -> (a description of this kind for messages, a function that checks a value)."""


class Keyword(NamedTuple):
    """A keyword of JSON Schema. `takes` is the kind of the keyword's value, a key of TAKES.

    `about` is the type of the values that the keyword restricts, or "" if it restricts values of every type.
    """

    takes: str
    about: str = ""


KEYWORDS: Final[Mapping[str, Keyword]] = {
    "$ref": Keyword("reference"),
    "type": Keyword("types"),
    "enum": Keyword("values"),
    "const": Keyword("anything"),
    "allOf": Keyword("schemas"),
    "anyOf": Keyword("schemas"),
    "oneOf": Keyword("schemas"),
    "not": Keyword("schema"),
    "minimum": Keyword("number", "number"),
    "exclusiveMinimum": Keyword("number", "number"),
    "maximum": Keyword("number", "number"),
    "exclusiveMaximum": Keyword("number", "number"),
    "multipleOf": Keyword("positive", "number"),
    "minLength": Keyword("count", "string"),
    "maxLength": Keyword("count", "string"),
    "pattern": Keyword("pattern", "string"),
    "format": Keyword("text", "string"),
    "items": Keyword("schema or schemas", "array"),
    "additionalItems": Keyword("schema", "array"),
    "prefixItems": Keyword("schemas", "array"),
    "contains": Keyword("schema", "array"),
    "minItems": Keyword("count", "array"),
    "maxItems": Keyword("count", "array"),
    "uniqueItems": Keyword("boolean", "array"),
    "properties": Keyword("schemas by name", "object"),
    "patternProperties": Keyword("schemas by pattern", "object"),
    "additionalProperties": Keyword("schema", "object"),
    "propertyNames": Keyword("schema", "object"),
    "required": Keyword("texts", "object"),
    "minProperties": Keyword("count", "object"),
    "maxProperties": Keyword("count", "object"),
}
"""Name of each supported keyword that restricts values -> its description. Annotations are in `ANNOTATIONS`."""

ANNOTATIONS: Final = frozenset(
    {
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "externalDocs",
        "nullable",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that are ignored because they restrict nothing. Keywords that begin with `x-` are ignored, too.

`nullable` is a keyword of OpenAPI, not of JSON Schema. No null is drawn because of it, so the drawn values are valid
under both standards.
"""

_SIMPLE: Final = frozenset({"type", "enum", "const"})
"""The keywords that a schema under `not` may have, besides annotations.

Such a schema matches few values, so a drawn value is seldom discarded because it matches.
"""


def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of JSON Schema for Python: `$` matches only the end of the text, `\d` and `\w` only ASCII.

    Raises InvalidArgument for a pattern that Python's re cannot read, for example `\p{L}`.
    """
    try:
        return patterns.compiled(pattern)
    except re.error as error:
        raise InvalidArgument(f"{pattern!r} is {error}; give {_PATTERN}.") from error


_WITH_TUPLES: Final = re.compile(r"draft-0[3467]|draft/2019-09")
"""Found in `$schema` of the drafts in which a list under `items` says what the first items are: a tuple. Libraries that
make tools from zod's schemas write draft-07.
"""


def _has_tuples(root: object) -> bool:
    """Whether the whole schema `root` is written in a draft in which `items` may be a list."""
    return is_object(root) and bool(_WITH_TUPLES.search(str(root.get("$schema", ""))))


def _keywords(path: str, schema: dict[str, Any], *, has_tuples: bool) -> Iterator[tuple[str, Any]]:
    for name, value in schema.items():
        if name in ANNOTATIONS or name.startswith("x-"):
            continue
        if name not in KEYWORDS or (name == "additionalItems" and not has_tuples):
            known = [each for each in KEYWORDS if has_tuples or each != "additionalItems"]
            raise InvalidArgument(
                f"{path} has the keyword {name!r}, and no values are made for it. Leave it out, or write what it says "
                f"with: {', '.join(known)}."
            )
        if name == "additionalItems" and not is_array(schema.get("items")):
            continue  # it says something only beside a tuple
        what, is_right = TAKES[KEYWORDS[name].takes]
        if not is_right(value):
            raise InvalidArgument(f"{path}/{name} is {value!r}, and {name} takes {what}.")
        if name == "items" and is_array(value) and not has_tuples:
            raise InvalidArgument(
                f"{path}/items is {value!r}, and items takes a schema: an object, true or false. A tuple is written "
                'with prefixItems, or the whole schema says its draft: "$schema": '
                '"http://json-schema.org/draft-07/schema#".'
            )
        if name == "not" and is_object(value) and not _SIMPLE.union(ANNOTATIONS).issuperset(value):
            raise InvalidArgument(
                f"{path}/not is {value!r}, and values are made for `not` only over {', '.join(sorted(_SIMPLE))}. "
                "Say what is allowed instead of what is not."
            )
        yield name, value


class Node(SchemaPart):
    """A SchemaPart whose keywords are all supported. For any other schema, InvalidArgument is raised, with the path of
    the part.

    `keywords` are the keywords of this part, without annotations. `never` is true for the schema `false`. `known`
    contains all nodes that were made so far for the same root schema, by path.
    """

    def __init__(self, path: str, schema: object, root: object = None, known: dict[str, Node] | None = None) -> None:
        if not is_schema(schema):
            raise InvalidArgument(f"{path} is {schema!r}, and a schema is an object, true or false.")
        super().__init__(path, schema, schema if known is None else root)
        self.never = schema is False
        self.keywords: Mapping[str, Any] = (
            dict(_keywords(path, schema, has_tuples=_has_tuples(self.root))) if is_object(schema) else {}
        )
        self.known: dict[str, Any] = {} if known is None else known
        self.known[path] = self

    def _at(self, path: str, schema: Any) -> Self:
        return self.known.get(path) or type(self)(path, schema, self.root, self.known)

    def get(self, keyword: str, default: Any = None) -> Any:
        """Return the value of a keyword, or `default` if the node does not have the keyword."""
        return self.keywords.get(keyword, default)

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield each keyword with its value, except a format that is not supported."""
        return ((name, value) for name, value in self.keywords.items() if name != "format" or value in FORMATS)

    def count_of_tuple(self) -> int:
        """Return the number of the items that have schemas of their own: in `prefixItems`, or in a list `items`."""
        items = self.keywords.get("items")
        return len(items) if is_array(items) else len(self.keywords.get("prefixItems", ()))

    def targets(self) -> Sequence[Self]:
        """Return a list: it contains the node to which `$ref` refers, or nothing if the node has no `$ref`.

        Raises InvalidArgument if `$ref` refers to a part that the schema does not have.
        """
        try:
            return super().targets()
        except Unsatisfied as error:
            defined = [f"#/{each}/{name}" for each in ("$defs", "definitions") for name in self.root.get(each, ())]
            raise InvalidArgument(
                f"{self.path}/$ref is {self.get('$ref')!r}, and the schema has nothing there. Its definitions: "
                f"{', '.join(defined) or 'none'}."
            ) from error


OBJECT: Final = Node("#(an object)", {"type": "object"})
STRING: Final = Node("#(a name)", {"type": "string"})
NUMERAL: Final = Node("#(a number as text)", {"type": "string", "pattern": r"^[1-9]\d{0,2}(\.\d{1,2})?$"})
