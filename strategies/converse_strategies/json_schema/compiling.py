"""Compile a JSON Schema into a plan from which values are drawn.

The unit is a conjunction: a set of nodes that a value must satisfy together. References and `allOf` enlarge it, `anyOf`
and `oneOf` split it into alternatives. The result is one plain set of keywords per alternative, from which each kind of
value uses its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from hypothesis.errors import InvalidArgument

from converse_strategies import leaves
from converse_strategies.json_schema import scalars
from converse_strategies.json_schema.containers import Items, Members, Name, Others, any_name, name_of
from converse_strategies.json_schema.plans import (
    Alternative,
    Choice,
    Constants,
    Drawn,
    Texts,
    Unless,
)
from converse_strategies.json_schema.reading import KEYWORDS, KINDS, STRING, TYPES, Node, Schema, key
from converse_strategies.json_schema.scalars import Contradiction, said
from converse_strategies.json_schema.validation import is_valid, names, satisfies, schemas_at, schemas_of

_MOST: Final = 256
"""How many combinations of `anyOf` and `oneOf` one value may have."""

_APPLICATORS: Final = ("$ref", "allOf", "anyOf", "oneOf", "not")


@dataclass(frozen=True, slots=True)
class Plain:
    """Nodes whose own keywords a value must satisfy, and nodes that it must not satisfy."""

    nodes: tuple[Node, ...] = ()
    wrong: tuple[Node, ...] = ()

    def __add__(self, other: Plain) -> Plain:
        return Plain(
            tuple(dict.fromkeys((*self.nodes, *other.nodes))), tuple(dict.fromkeys((*self.wrong, *other.wrong)))
        )


class Compiler:
    """Compiles one schema into Choices; each Choice is made only once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._choices: dict[tuple[Node, ...], Choice] = {}
        self._forms: dict[Node, list[Plain] | None] = {}

    def choice(self, *nodes: Node) -> Choice:
        """The Choice for values that satisfy all of some nodes; its height is infinite if there are none."""
        known = len(self._choices)
        try:
            found = self._choice(nodes)
        except InvalidArgument:
            self._choices.clear()  # what was begun is not whole
            self._forms.clear()
            raise
        if len(self._choices) > known:
            self._settle()
        return found

    def _choice(self, nodes: Iterable[Node]) -> Choice:
        group = tuple(dict.fromkeys(nodes))
        if group in self._choices:
            return self._choices[group]
        choice = self._choices[group] = Choice(" and ".join(node.path for node in group) or "any value")
        plains = [Plain()]
        for node in group:
            plains = self._product(node, plains, self._forms_of(node))
        for plain in plains:
            try:
                choice.alternatives += self._alternatives(plain)
            except Contradiction as reason:
                choice.reasons.append(str(reason))
        return choice

    def _settle(self) -> None:
        """Compute the heights of all Choices, and find those that lead back to themselves."""
        changed = True
        while changed:
            before = [choice.height for choice in self._choices.values()]
            for choice in self._choices.values():
                choice.settle()
            changed = before != [choice.height for choice in self._choices.values()]
        for choice in self._choices.values():
            choice.is_recursive = _leads_back(choice)

    def _forms_of(self, node: Node) -> list[Plain]:
        """The plain sets of keywords to which a node reduces."""
        if node in self._forms:
            forms = self._forms[node]
            if forms is None:
                raise InvalidArgument(f"{node.path} refers to itself and says nothing: no value can be told from it.")
            return forms
        self._forms[node] = None
        schema = self.schema
        forms = [Plain((node,), (schema.child(node, "not"),) if "not" in node.keywords else ())]
        if "$ref" in node.keywords:
            forms = self._product(node, forms, self._forms_of(schema.target(node)))
        for child in schema.children(node, "allOf"):
            forms = self._product(node, forms, self._forms_of(child))
        for keyword in ("anyOf", "oneOf"):
            branches = schema.children(node, keyword)
            if not branches:
                continue
            found: list[Plain] = []
            for branch in branches:
                forms_of_branch = self._forms_of(branch)
                if keyword == "oneOf":
                    others = Plain((), tuple(self._target(each) for each in branches if each is not branch))
                    forms_of_branch = [form + others for form in forms_of_branch]
                found += forms_of_branch
            forms = self._product(node, forms, found)
        self._forms[node] = forms
        return forms

    def _target(self, node: Node) -> Node:
        """The target of a node that consists only of a reference."""
        seen = {node}
        while set(node.keywords) == {"$ref"}:
            node = self.schema.target(node)
            if node in seen:
                break
            seen.add(node)
        return node

    def _product(self, node: Node, some: list[Plain], others: list[Plain]) -> list[Plain]:
        if len(some) * len(others) > _MOST:
            raise InvalidArgument(
                f"{node.path} has {len(some) * len(others)} combinations of anyOf and oneOf; values are made for up to "
                f"{_MOST}. Split the schema, or leave alternatives out."
            )
        return [one + other for one in some for other in others]

    def _alternatives(self, plain: Plain) -> list[Alternative]:
        nodes = tuple(node for node in plain.nodes if node.keywords or node.never)
        never = [node.path for node in nodes if node.never]
        if never:
            raise Contradiction(f"{never[0]} is false, which allows no value")
        both = [node.path for node in plain.nodes if node in plain.wrong]
        if both:
            raise Contradiction(f"{both[0]} has to hold and must not hold")
        if not nodes and not plain.wrong:
            return [Drawn(leaves.json_values())]
        kinds = self._kinds(nodes, plain.wrong)
        constants = [(where, values) for keyword in ("const", "enum") for where, values in said(nodes, keyword)]
        if constants:
            where, values = constants[0]
            return [self._constants(where, values, nodes, plain.wrong)]
        found: list[Alternative] = []
        reasons: list[str] = []
        for name, members in _PLANS.items():
            if kinds & members:
                try:
                    found.append(getattr(self, name)(nodes, kinds & members))
                except Contradiction as reason:
                    reasons.append(str(reason))
        if not found:
            raise Contradiction("; ".join(reasons))
        wrong = [node for node in plain.wrong if not (_is_type(node) or node.never)]
        return [Unless(each, partial(self._is_none_of, wrong)) for each in found] if wrong else found

    def _is_none_of(self, wrong: Sequence[Node], value: Any) -> bool:
        return not any(is_valid(self.schema, node, value) for node in wrong)

    def _kinds(self, nodes: Sequence[Node], wrong: Sequence[Node]) -> frozenset[str]:
        """The allowed kinds of values; without `type`, those that the keywords limit. Raises Contradiction."""
        kinds = frozenset(KINDS)
        types = said(nodes, "type")
        for _, allowed in types:
            kinds &= frozenset[str]().union(*(TYPES[name] for name in names(allowed)))
        if not types and not any(keyword in node.keywords for node in nodes for keyword in ("enum", "const")):
            about = {KEYWORDS[keyword].about for node in nodes for keyword in node.keywords} - {""}
            kinds = frozenset[str]().union(*(TYPES[name] for name in about)) or kinds
        for node in wrong:
            if _is_type(node):
                kinds -= frozenset[str]().union(
                    *(TYPES[name] for name in names(node.keywords.get("type", list(TYPES))))
                )
        if not kinds:
            rules = ", ".join(f"{where} is {allowed!r}" for where, allowed in types)
            unless = ", ".join(node.path for node in wrong if _is_type(node))
            raise Contradiction(
                f"{rules or 'any type'}{' and not what is at ' + unless if unless else ''}: no type is left"
            )
        return kinds

    def _constants(self, where: str, values: Any, nodes: Sequence[Node], wrong: Sequence[Node]) -> Constants:
        allowed: dict[object, Any] = {}
        for value in values if where.endswith("/enum") else [values]:
            if all(self._is_own(node, value) for node in nodes) and self._is_none_of(wrong, value):
                allowed.setdefault(key(value), value)
        if not allowed:
            others = ", ".join(dict.fromkeys(node.path for node in (*nodes, *wrong)))
            raise Contradiction(f"{where} is {values!r}, and none of it is allowed by all of {others}")
        return Constants(tuple(allowed.values()))

    def _is_own(self, node: Node, value: Any) -> bool:
        own = [keyword for keyword in node.keywords if keyword not in _APPLICATORS]
        return all(satisfies(self.schema, node, keyword, value) for keyword in own)

    def _null(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        return Constants((None,))

    def _boolean(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        return Constants((False, True))

    def _number(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        return Drawn(scalars.numbers(nodes, kinds))

    def _string(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        low, high = scalars.sizes(nodes, "minLength", "maxLength")
        texts = scalars.texts(nodes)
        return Texts(low, high) if texts is None else Drawn(texts)

    def _array(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        low, high = scalars.sizes(nodes, "minItems", "maxItems")
        first = max((len(node.keywords.get("prefixItems", ())) for node in nodes), default=0)
        rest = [node for each in nodes for node in schemas_at(self.schema, each, first)]
        return Items(
            prefix=[
                self._choice(n for each in nodes for n in schemas_at(self.schema, each, at)) for at in range(first)
            ],
            rest=self._choice(rest),
            contains=[
                self._choice([*rest, self.schema.child(n, "contains")]) for n in nodes if "contains" in n.keywords
            ],
            low=low,
            high=math.inf if high is None else high,
            unique=any(value for _, value in said(nodes, "uniqueItems")),
        )

    def _object(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        low, high = scalars.sizes(nodes, "minProperties", "maxProperties")
        required = list(dict.fromkeys(name for _, several in said(nodes, "required") for name in several))
        if high is not None and len(required) > high:
            raise Contradiction(f"{nodes[0].path}: maxProperties is {high}, and {', '.join(required)} are required")
        known = dict.fromkeys(name for _, properties in said(nodes, "properties") for name in properties)
        members = {
            name: self._member(nodes, name)
            for name in (*known, *(name for name in required if name not in known))
            if name in required or self._is_name(nodes, name)
        }
        for name in required:
            if not self._is_name(nodes, name):
                raise Contradiction(f"{nodes[0].path}: {name!r} is required, and propertyNames does not allow it")
        return Members(members, frozenset(required), low, 2**31 if high is None else high, self._others(nodes))

    def _member(self, nodes: Sequence[Node], name: str) -> Choice:
        return self._choice(child for node in nodes for child in schemas_of(self.schema, node, name))

    def _is_name(self, nodes: Sequence[Node], name: str) -> bool:
        return all(is_valid(self.schema, self.schema.child(node, "propertyNames"), name) for node in _naming(nodes))

    def _others(self, nodes: Sequence[Node]) -> Others:
        """Members that the schema does not name: with names that match a pattern, or with any names."""
        schema = self.schema
        found: list[Name] = []
        parts: list[Choice] = []
        naming = self._choice([STRING, *(schema.child(node, "propertyNames") for node in _naming(nodes))])
        more = self._choice(
            schema.child(n, "additionalProperties") for n in nodes if "additionalProperties" in n.keywords
        )
        patterns = dict.fromkeys(pattern for _, patterns in said(nodes, "patternProperties") for pattern in patterns)
        for pattern in patterns:
            texts = scalars.of_pattern(pattern).filter(partial(self._is_name, nodes))
            parts.append(self._choice(n for node in nodes for n in _of_pattern(schema, node, pattern)))
            found.append(partial(name_of, texts))
        asks = any(node.keywords.get("additionalProperties") not in (None, False) for node in nodes)
        if more.alternatives and (asks or not patterns):
            parts.append(more)
            found.append(naming.value if _naming(nodes) else any_name)
        is_free = not any("properties" in node.keywords for node in nodes)
        return Others(found, partial(self._other, tuple(nodes)), parts, asks or is_free or bool(patterns))

    def _other(self, nodes: Sequence[Node], name: str) -> Choice:
        return self.choice(*(child for node in nodes for child in schemas_of(self.schema, node, name)))


_PLANS: Final = {
    "_null": TYPES["null"],
    "_boolean": TYPES["boolean"],
    "_number": TYPES["number"],
    "_string": TYPES["string"],
    "_array": TYPES["array"],
    "_object": TYPES["object"],
}
"""The method of Compiler that makes the values of some kinds."""


@lru_cache(maxsize=512)
def _compiler(text: str) -> Compiler:
    return Compiler(Schema(json.loads(text)))


def compile_schema(schema: object) -> Compiler:
    """Compile a JSON Schema; equal schemas are compiled once. Raises InvalidArgument for a value that is not JSON."""
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"a JSON Schema consists of JSON values alone: {error}. It came as {schema!r}."
        ) from error
    return _compiler(text)


def _naming(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if "propertyNames" in node.keywords]


def _of_pattern(schema: Schema, node: Node, pattern: str) -> list[Node]:
    if pattern in node.keywords.get("patternProperties", {}):
        return [schema.child(node, "patternProperties", pattern)]
    return []


def _is_type(node: Node) -> bool:
    """Whether a schema only restricts the type, so that the excluded values are known without trying."""
    return not node.never and set(node.keywords) <= {"type"}


def _leads_back(choice: Choice) -> bool:
    seen: set[Choice] = set()
    left = [part for each in choice.alternatives for part in each.parts()]
    while left:
        part = left.pop()
        if part is choice:
            return True
        if part not in seen:
            seen.add(part)
            left += [below for each in part.alternatives for below in each.parts()]
    return False
