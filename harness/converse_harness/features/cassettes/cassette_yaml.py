"""Read YAML as plain data.

PyYAML parses the text to nodes. This module converts the nodes to values, and refuses every tag that is not in
`_TAKEN`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_MAX_DEPTH: Final = 200
_TOO_DEEP: Final = f"this is nested more than {_MAX_DEPTH} deep."
_MAX_REPEATED: Final = 1_000_000
"""Maximum number of values that aliases may repeat in one file; a few lines of YAML could repeat billions of values."""

_LONGEST_NUMBER: Final = 100
"""Maximum length of a number in characters. Python may fail to print a longer number, or need minutes to parse it."""

_SAFE: Final = SafeConstructor()


class BadYaml(ValueError):
    """Raised for a text that is not YAML or not plain data. Its `args` are the line number, from 1, and the problem."""


class _Mapped(dict[Any, Any]):
    """A dict made from a YAML mapping. `line` is the number of the mapping's first line, from 1."""

    line = 1


class Shallow(Resolver):
    """Limits the nesting depth of YAML, because PyYAML's recursive composer could overflow the stack."""

    depth = 0

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Enter one level of nesting. Raises BadYaml if the level is too deep."""
        self.depth += 1
        if self.depth > _MAX_DEPTH + 1:
            raise _bad(current_node, _TOO_DEEP)

    def ascend_resolver(self) -> None:
        """Leave one level of nesting."""
        self.depth -= 1


LOADER: Final[Any] = type("LOADER", (Shallow, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})


def _same(value: Any) -> Any:
    return value


def _number(text: str, construct: Callable[[yaml.ScalarNode], float]) -> float:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} characters")
    return construct(yaml.ScalarNode("", text))


def _binary(text: str) -> bytes:
    return base64.b64decode("".join(text.split()), validate=True)


_MULTIDICT: Final = tuple(f"!!python/object/apply:multidict._multidict{python}.istr" for python in ("", "_py"))

_TAKEN: Final[Mapping[type, Mapping[str, Callable[[Any], Any]]]] = {
    yaml.ScalarNode: {
        # Dates stay texts, because the values are used as JSON, which has no dates.
        **dict.fromkeys(("!!str", "!!timestamp", "!!value", "!!python/str", "!!python/unicode"), _same),
        **dict.fromkeys(("!!binary", "!!python/bytes"), _binary),
        "!!null": lambda text: None,
        "!!bool": lambda text: SafeConstructor.bool_values[text.lower()],
        "!!int": lambda text: _number(text, _SAFE.construct_yaml_int),
        "!!float": lambda text: _number(text, _SAFE.construct_yaml_float),
    },
    yaml.SequenceNode: {
        **dict.fromkeys(("!!seq", "!!python/list", "!!python/tuple"), _same),
        # The names of headers, if a server of aiohttp recorded what it passed on.
        **dict.fromkeys(_MULTIDICT, "".join),
    },
    yaml.MappingNode: {
        **dict.fromkeys(("!!map", "!!python/dict"), _same),
        # vcrpy writes these two tags for bodies that are files or iterators. The data is taken, but no object is
        # created.
        "!!python/object/new:_io.BytesIO": lambda made: made["state"][0],
        "!!python/object/apply:builtins.iter": lambda made: made["args"][0],
    },
}
"""Maps each type of node to a map of its allowed tags. Each tag is mapped to a function that converts the node's
content.
"""


def load(text: str) -> Any:
    """Return the value of a YAML text with one document; None if the text is empty. Mappings become `_Mapped` dicts.

    Raises BadYaml if the text is not plain data.
    """
    try:
        node = yaml.compose(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(filter(None, (error.context, error.problem)))
        # libyaml has its own limit of 1,000 levels. It may reach this limit before the check in Shallow, because it
        # parses ahead.
        reason = _TOO_DEEP if "maximum nesting depth" in problem else f"this is not YAML ({problem})."
        raise BadYaml(mark.line + 1 if mark else 1, reason) from error
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise BadYaml(line, f"this is not YAML ({error.reason}).") from error
    return None if node is None else _Values().of(node)


class _Values:
    """Converts YAML nodes to values, each node once, and counts the values.

    An alias refers to an earlier node. All values of this node are then counted again, up to _MAX_REPEATED in one file.
    """

    def __init__(self) -> None:
        self._made: dict[yaml.Node, tuple[Any, float]] = {}
        self._count: float = 0

    def of(self, node: Any) -> Any:
        before = self._count
        if node in self._made:
            self._count += self._made[node][1]
            if self._count - len(self._made) > _MAX_REPEATED:
                problem = f"aliases repeat what begins here within itself, or more than {_MAX_REPEATED} values in all."
                raise _bad(node, problem)
        else:
            self._made[node], self._count = (None, inf), before + 1
            self._made[node] = self._new(node), self._count - before
        return self._made[node][0]

    def _new(self, node: Any) -> Any:
        tag = node.tag.replace("tag:yaml.org,2002:", "!!", 1)
        take = _TAKEN[type(node)].get(tag)
        if take is None:
            raise _bad(node, f"the tag {tag} is refused: it is not plain data, and nothing of it was run.")
        value = node.value
        if isinstance(node, yaml.SequenceNode):
            value = [self.of(each) for each in value]
        elif isinstance(node, yaml.MappingNode):
            value = self._mapping(node)
        try:
            return take(value)
        except (LookupError, TypeError, ValueError) as error:
            raise _bad(node, f"a value with the tag {tag} is none.") from error

    def _mapping(self, node: yaml.MappingNode) -> _Mapped:
        made = _Mapped()
        made.line = node.start_mark.line + 1
        for key_node, value_node in node.value:
            key = self.of(key_node)
            if isinstance(key, list | dict):
                raise _bad(node, "a key of this mapping is a list or a mapping; keys are scalars.")
            if key in made:
                raise _bad(node, f"this mapping has the key {str(key)[:40]!r} twice.")
            made[key] = self.of(value_node)
        return made


def _bad(node: Any, problem: str) -> BadYaml:
    return BadYaml(node.start_mark.line + 1, problem)
