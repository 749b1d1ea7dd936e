"""YAML as plain data, built from the events of PyYAML's parser: no tag of a file constructs anything.

PyYAML's own loaders are not used: whatever a tag asks for is looked up in the tables below or refused, and a file that
is nested too deeply for the C stack is refused as well.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

YAML: Final = "tag:yaml.org,2002:"
MAX_DEPTH: Final = 200
MAX_REPEATED: Final = 1_000_000
"""The most values that aliases may repeat in one file: a few lines of YAML can stand for billions."""

_RESOLVER: Final[Any] = Resolver()
_NUMBERS: Final = SafeConstructor()


class BadYaml(ValueError):
    """A text that is not YAML, or not plain data: `line` (from 1) and what is wrong with it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line, self.problem = line, problem


class Mapped(dict[Any, Any]):
    """A mapping that knows the line on which it begins, from 1."""

    __slots__ = ("line",)

    def __init__(self, line: int, items: Mapping[Any, Any]) -> None:
        super().__init__(items)
        self.line = line


def _binary(text: str) -> bytes:
    return base64.b64decode("".join(text.split()), validate=True)


def _integer(text: str) -> int:
    return _NUMBERS.construct_yaml_int(yaml.ScalarNode(f"{YAML}int", text))


def _float(text: str) -> float:
    return _NUMBERS.construct_yaml_float(yaml.ScalarNode(f"{YAML}float", text))


def _nothing(text: str) -> None:
    return None


def _boolean(text: str) -> bool:
    return text.lower() in ("yes", "true", "on")


SCALARS: Final[Mapping[str, Callable[[str], Any]]] = {
    "!": str,
    f"{YAML}null": _nothing,
    f"{YAML}bool": _boolean,
    f"{YAML}int": _integer,
    f"{YAML}float": _float,
    f"{YAML}str": str,
    f"{YAML}timestamp": str,
    f"{YAML}value": str,
    f"{YAML}binary": _binary,
    f"{YAML}python/str": str,
    f"{YAML}python/unicode": str,
    f"{YAML}python/bytes": _binary,
}
"""What a scalar with each tag is. JSON has no dates: they stay the text that they were."""

SEQUENCES: Final = frozenset({None, "!", f"{YAML}seq", f"{YAML}python/list", f"{YAML}python/tuple"})
MAPPINGS: Final = frozenset({None, "!", f"{YAML}map", f"{YAML}python/dict"})


def _buffer(written: Mapping[Any, Any]) -> Any:
    """What a file-like body held: the first value of its state."""
    return _first(written.get("state"), b"")


def _iterator(written: Mapping[Any, Any]) -> Any:
    """What an iterator over the parts of a body was made of."""
    return _first(written.get("args"), [])


def _first(values: Any, otherwise: Any) -> Any:
    return cast("Sequence[Any]", values)[0] if isinstance(values, list) and values else otherwise


OBJECTS: Final[Mapping[str, Callable[[Mapping[Any, Any]], Any]]] = {
    f"{YAML}python/object/new:_io.BytesIO": _buffer,
    f"{YAML}python/object/apply:builtins.iter": _iterator,
}
"""The two objects that vcrpy writes: only the data in them is taken, no object is made."""


@dataclass(slots=True)
class _Open:
    """A sequence or mapping that is not complete yet."""

    line: int
    tag: str | None = None
    mapping: bool = False
    anchor: str | None = None
    items: list[Any] = field(default_factory=list[Any])
    size: int = 1


def load(text: str) -> Any:
    """The one document of a text; mappings are `Mapped`, None for no document. Raises BadYaml."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in cast("Any", yaml.parse(text, Loader=loader)):
            builder.feed(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise BadYaml(mark.line + 1 if mark else 1, f"this is not YAML ({problem}).") from error
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise BadYaml(line, f"this is not YAML ({error.reason}).") from error
    return builder.document


class _Builder:
    def __init__(self) -> None:
        self.document: Any = None
        self._documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._repeated = 0

    def feed(self, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise BadYaml(line, "a second document begins here; a cassette is one.")
            case yaml.ScalarEvent():
                self._add(self._scalar(event, line), 1, event.anchor)
            case yaml.AliasEvent():
                self._alias(str(event.anchor), line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                if len(self._open) == MAX_DEPTH:
                    raise BadYaml(line, f"this is nested more than {MAX_DEPTH} deep.")
                if event.anchor:
                    self._anchors[event.anchor] = None
                mapping = isinstance(event, yaml.MappingStartEvent)
                self._open.append(_Open(line, event.tag, mapping, event.anchor))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                self._add(_mapping(done) if done.mapping else _sequence(done), done.size, done.anchor)
            case _:
                pass

    def _add(self, value: Any, size: int, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = value, size
        if self._open:
            self._open[-1].items.append(value)
            self._open[-1].size += size
        else:
            self.document = value

    def _alias(self, name: str, line: int) -> None:
        found = self._anchors.get(name)
        if found is None:
            problem = "stands inside what it names" if name in self._anchors else "names nothing before it"
            raise BadYaml(line, f"the alias *{name} {problem}.")
        value, size = found
        self._repeated += size
        if self._repeated > MAX_REPEATED:
            raise BadYaml(line, f"the aliases up to here repeat more than {MAX_REPEATED} values.")
        self._add(value, size, None)

    def _scalar(self, event: Any, line: int) -> Any:
        tag: str = event.tag
        if event.tag is None:
            tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag not in SCALARS:
            raise _refused(tag, line)
        try:
            return SCALARS[tag](event.value)
        except (ValueError, IndexError) as error:
            raise BadYaml(line, f"a value with the tag {_shown(tag)} is none.") from error


def _sequence(done: _Open) -> list[Any]:
    if done.tag not in SEQUENCES:
        raise _refused(done.tag, done.line)
    return done.items


def _mapping(done: _Open) -> Any:
    tag = str(done.tag)
    if done.tag not in MAPPINGS and tag not in OBJECTS:
        raise _refused(done.tag, done.line)
    made = Mapped(done.line, {})
    for key, value in zip(done.items[::2], done.items[1::2], strict=True):
        if isinstance(key, list | dict):
            raise BadYaml(done.line, "a key of this mapping is a list or a mapping; keys are scalars.")
        if key in made:
            raise BadYaml(done.line, f"this mapping has the key {str(key)[:40]!r} twice.")
        made[key] = value
    return OBJECTS[tag](made) if tag in OBJECTS else made


def _refused(tag: str | None, line: int) -> BadYaml:
    return BadYaml(line, f"the tag {_shown(str(tag))} is refused: it is not plain data, and nothing of it was run.")


def _shown(tag: str) -> str:
    return f"!!{tag.removeprefix(YAML)}" if tag.startswith(YAML) else tag
