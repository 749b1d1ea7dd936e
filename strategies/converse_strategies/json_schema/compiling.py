"""Compile a JSON Schema into a plan from which values are drawn.

The unit of compiling is a conjunction: a set of schema nodes that a value must satisfy together. `$ref` and `allOf` add
nodes to a conjunction; `anyOf` and `oneOf` split a conjunction into alternatives. The result is one flat set of
keywords per alternative. Each kind of value (number, string, ...) uses only the keywords that apply to this kind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis.errors import InvalidArgument

from converse_harness.json_schema.checking import holds as is_valid
from converse_harness.json_schema.checking import kinds as types
from converse_harness.json_schema.parts import KINDS, TYPES, key
from converse_strategies import basics
from converse_strategies.basics import cached
from converse_strategies.json_schema import scalars
from converse_strategies.json_schema.plans import Alternative, Choice, Items, Members, Scalar
from converse_strategies.json_schema.reading import KEYWORDS, NUMERAL, OBJECT, STRING, Node
from converse_strategies.json_schema.scalars import Contradiction, holds, said

if TYPE_CHECKING:
    from hypothesis import strategies as st

_MOST: Final = 256
"""The largest supported number of combinations of `anyOf` and `oneOf` branches for one value."""


class Plain(NamedTuple):
    """One combination of the `anyOf` and `oneOf` branches of a schema.

    A value must satisfy every node in `nodes`, and no node in `wrong`. In `nodes`, the keywords `$ref`, `allOf`,
    `anyOf`, `oneOf` and `not` are ignored, because the Compiler has already resolved them.
    """

    nodes: tuple[Node, ...] = ()
    wrong: tuple[Node, ...] = ()

    def merged(self, other: Plain) -> Plain:
        """Return a Plain with the nodes of `self` and of `other`, without duplicates."""
        return Plain(*(tuple(dict.fromkeys((*mine, *theirs))) for mine, theirs in zip(self, other, strict=True)))


class Compiler:
    """Compiles one schema into Choices, from which values are drawn. There is one Choice for each set of nodes.

    `texts` is a strategy for strings that have neither a pattern nor a format.
    """

    def __init__(self, schema: Any, texts: st.SearchStrategy[str] | None) -> None:
        self.root = Node("#", schema)
        self.texts = texts
        self._choices: dict[tuple[Node, ...], Choice] = {}
        self._forms: dict[Node, list[Plain] | None] = {}

    def choice(self, *nodes: Node) -> Choice:
        """Return the Choice for values that satisfy all of `nodes`. If there is no such value, its `height` is
        infinite.
        """
        known = len(self._choices)
        try:
            found = self._choice(nodes)
        except InvalidArgument:
            self._choices.clear()  # some of the stored Choices may be incomplete after the error
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
            plains = _product(node, plains, self._forms_of(node))
        for plain in plains:
            try:
                choice.alternatives += self._alternatives(plain)
            except Contradiction as reason:
                choice.reasons.append(str(reason))
        return choice

    def _settle(self) -> None:
        """Compute the heights of all Choices, and mark the Choices that contain themselves as recursive."""
        before: list[float] = []
        while before != (heights := [choice.height for choice in self._choices.values()]):
            before = heights
            for choice in self._choices.values():
                choice.settle()
        for choice in self._choices.values():
            choice.find_recursion()

    def _forms_of(self, node: Node) -> list[Plain]:
        """Reduce a node to a list of Plains, one for each combination of the node's `anyOf` and `oneOf` branches.

        Raises InvalidArgument for a node that refers only to itself.
        """
        if node in self._forms:
            known = self._forms[node]
            if known is None:
                raise InvalidArgument(f"{node.path} refers to itself and says nothing: no value can be told from it.")
            return known
        self._forms[node] = None
        forms = [Plain((node,), (node.child("not"),) if "not" in node.keywords else ())]
        for each in [*node.targets(), *node.children("allOf")]:
            forms = _product(node, forms, self._forms_of(each))
        if "anyOf" in node.keywords:
            branches = node.children("anyOf")
            # pydantic describes a Decimal as "a number or any string", but it accepts only strings that represent a
            # number. So a string that represents a number is drawn.
            as_text = self.texts is None and any(each.keywords.get("type") == "number" for each in branches)
            either = [
                form.merged(Plain((NUMERAL,))) if as_text and each.keywords == {"type": "string"} else form
                for each in branches
                for form in self._forms_of(each)
            ]
            forms = _product(node, forms, either)
        if "oneOf" in node.keywords:
            branches = node.children("oneOf")
            found: list[Plain] = []
            for branch in branches:
                others = Plain((), tuple(_target(each) for each in branches if each is not branch))
                found += [form.merged(others) for form in self._forms_of(branch)]
            forms = _product(node, forms, found)
        self._forms[node] = forms
        return forms

    def _alternatives(self, plain: Plain) -> list[Alternative]:
        nodes = tuple(node for node in plain.nodes if node.keywords or node.never)
        never = [node.path for node in nodes if node.never]
        if never:
            raise Contradiction(f"{never[0]} is false, which allows no value")
        both = [node.path for node in plain.nodes if node in plain.wrong]
        if both:
            raise Contradiction(f"{both[0]} has to hold and must not hold")
        if not nodes and not plain.wrong:
            return [Scalar(basics.json_values())]
        kinds = _kinds(nodes, plain.wrong)
        constants = {**said(nodes, "const"), **said(nodes, "enum")}
        if constants:
            where, value = next(iter(constants.items()))
            return [_constants(where, value, nodes, plain.wrong)]
        found: list[Alternative] = []
        reasons: list[str] = []
        for name, make in _MAKERS.items():
            if kinds & TYPES[name]:
                try:
                    found.append(make(self, nodes, kinds & TYPES[name]))
                except Contradiction as reason:
                    reasons.append(str(reason))
        if not found:
            raise Contradiction("; ".join(reasons))
        if plain.wrong or any(said(nodes, "uniqueItems").values()):
            for each in found:
                each.is_right = partial(_is_right, nodes, plain.wrong)
        return found

    def array(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        """Return the Alternative for arrays that satisfy the nodes. Raises Contradiction if `minItems` is above
        `maxItems`.
        """
        low, high = scalars.sizes(nodes, "minItems", "maxItems")
        first = max((node.count_of_tuple() for node in nodes), default=0)
        rest = [node for each in nodes for node in each.at_item(first)]
        return Items(
            prefix=[self._choice(node for each in nodes for node in each.at_item(at)) for at in range(first)],
            rest=self._choice(rest),
            contains=[self._choice([*rest, each]) for each in _below(nodes, "contains")],
            low=low,
            high=math.inf if high is None else high,
            unique=any(said(nodes, "uniqueItems").values()),
        )

    def object(self, nodes: Sequence[Node], kinds: frozenset[str]) -> Alternative:
        """Return the Alternative for objects that satisfy the nodes.

        Raises Contradiction if `minProperties` is above `maxProperties`, if more members are required than allowed, or
        if `propertyNames` does not allow a required name.
        """
        low, high = scalars.sizes(nodes, "minProperties", "maxProperties")
        required = dict.fromkeys(name for several in said(nodes, "required").values() for name in several)
        if high is not None and len(required) > high:
            raise Contradiction(f"{nodes[0].path}: maxProperties is {high}, and {', '.join(required)} are required")
        naming = _below(nodes, "propertyNames")

        def is_name(name: str) -> bool:
            return all(is_valid(node, name) for node in naming)

        for name in required:
            if not is_name(name):
                raise Contradiction(f"{nodes[0].path}: {name!r} is required, and propertyNames does not allow it")
        known = dict.fromkeys(name for properties in said(nodes, "properties").values() for name in properties)
        names: list[Alternative | Choice] = []
        rest: list[Choice] = []
        for pattern in dict.fromkeys(each for several in said(nodes, "patternProperties").values() for each in several):
            having = [node for node in nodes if pattern in node.keywords.get("patternProperties", ())]
            names.append(Scalar(scalars.of_pattern(pattern).filter(is_name)))
            rest.append(self._choice(node.child("patternProperties", pattern) for node in having))
        has_patterns = bool(names)
        more = self._choice(_below(nodes, "additionalProperties"))
        asks = any(each is not False for each in said(nodes, "additionalProperties").values())
        if more.alternatives and (asks or not has_patterns):
            names.append(self._choice([STRING, *naming]) if naming else Scalar(basics.texts()))
            rest.append(more)
        return Members(
            members={name: self._choice(_members(nodes, name)) for name in (*known, *required) if is_name(name)},
            required=frozenset(required),
            low=low,
            high=2**31 if high is None else high,
            names=names,
            others=lambda name: self.choice(*_members(nodes, name)),
            rest=rest,
            asked=asks or has_patterns or not said(nodes, "properties"),
        )


_MAKERS: Final[Mapping[str, Callable[[Compiler, Sequence[Node], frozenset[str]], Alternative]]] = {
    "null": lambda compiler, nodes, kinds: Scalar(values=(None,)),
    "boolean": lambda compiler, nodes, kinds: Scalar(values=(False, True)),
    "number": lambda compiler, nodes, kinds: Scalar(scalars.numbers(nodes, kinds)),
    "string": lambda compiler, nodes, kinds: Scalar(scalars.texts(nodes, compiler.texts)),
    "array": Compiler.array,
    "object": Compiler.object,
}
"""Maps each JSON type to the function that makes the Alternative for values of this type."""


def plan(
    function: str, schema: object, texts: st.SearchStrategy[str] | None = None, *, objects: bool = False
) -> tuple[Node, Choice]:
    """Compile a schema. Return its root node, and the Choice from which its values are drawn.

    If `objects` is true, only objects are drawn. Raises InvalidArgument for a schema that is not JSON, is not
    supported, or allows no value. The error message begins with `function`, the name of the public strategy.
    """
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{function}: a JSON Schema consists of JSON values alone: {error}. It came as {schema!r}."
        ) from error
    try:
        compiler = _compiler(text, texts)
        choice = compiler.choice(compiler.root, *([OBJECT] if objects else []))
    except InvalidArgument as error:
        raise InvalidArgument(f"{function}: {error}") from error
    if choice.height == math.inf:
        raise InvalidArgument(
            f"{function}: no value satisfies the schema: {choice.lack()}. Change one of the keywords named here."
        )
    return compiler.root, choice


@cached
def _compiler(text: str, texts: st.SearchStrategy[str] | None) -> Compiler:
    return Compiler(json.loads(text), texts)


def _product(node: Node, some: list[Plain], others: list[Plain]) -> list[Plain]:
    if len(some) * len(others) > _MOST:
        raise InvalidArgument(
            f"{node.path} has {len(some) * len(others)} combinations of anyOf and oneOf; values are made for up to "
            f"{_MOST}. Split the schema, or leave alternatives out."
        )
    return [one.merged(other) for one in some for other in others]


def _target(node: Node) -> Node:
    """Follow `$ref` as long as a node has no other keyword, and return the last node."""
    seen = {node}
    while set(node.keywords) == {"$ref"}:
        (node,) = node.targets()
        if node in seen:
            break
        seen.add(node)
    return node


def _kinds(nodes: Sequence[Node], wrong: Sequence[Node]) -> frozenset[str]:
    """Return the kinds of values, as names in KINDS, that satisfy `nodes` and not `wrong`.

    If a node has the keyword `type`, only the kinds named there are possible. If no node has `type`, `enum` or `const`,
    the kinds are those to which the other keywords apply. Raises Contradiction if no kind is possible.
    """
    kinds = frozenset(KINDS)
    said_types = said(nodes, "type")
    for allowed in said_types.values():
        kinds &= types(allowed)
    if not said_types and not any(keyword in node.keywords for node in nodes for keyword in ("enum", "const")):
        about = {KEYWORDS[keyword].about for node in nodes for keyword in node.keywords} - {""}
        kinds = types([*about]) or kinds
    unless = [node for node in wrong if not node.never and set(node.keywords) <= {"type"}]
    for node in unless:
        kinds -= types(node.keywords.get("type", [*TYPES]))
    if not kinds:
        rules = ", ".join(f"{where} is {allowed!r}" for where, allowed in said_types.items()) or "any type"
        nots = f" and not what is at {', '.join(node.path for node in unless)}" if unless else ""
        raise Contradiction(f"{rules}{nots}: no type is left")
    return kinds


def _constants(where: str, given: Any, nodes: Sequence[Node], wrong: Sequence[Node]) -> Alternative:
    allowed: dict[object, Any] = {}
    for value in given if where.endswith("/enum") else [given]:
        if _is_right(nodes, wrong, value):
            allowed.setdefault(key(value), value)
    if not allowed:
        others = ", ".join(dict.fromkeys(node.path for node in (*nodes, *wrong)))
        raise Contradiction(f"{where} is {given!r}, and none of it is allowed by all of {others}")
    return Scalar(values=tuple(allowed.values()))


def _is_right(nodes: Sequence[Node], wrong: Sequence[Node], value: Any) -> bool:
    return holds(nodes, value) and not any(is_valid(node, value) for node in wrong)


def _members(nodes: Sequence[Node], name: str) -> list[Node]:
    return [child for node in nodes for child in node.at_member(name)]


def _below(nodes: Sequence[Node], keyword: str) -> list[Node]:
    """Return the subschemas under `keyword`, one for each of the nodes that have this keyword."""
    return [node.child(keyword) for node in nodes if keyword in node.keywords]
