"""Type guards and accessors for values parsed from JSON: requests, answers and schemas.

For values that a test creates in Python, the module `bedrock.api.checks` has type guards that accept any mapping as
an object.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast

Steps = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Unsearched(str):
    """A text in JSON that stands for another value, such as the digest of a file.

    It is not searched for secrets, and no replacement changes it.
    """

    __slots__ = ()


def is_text(value: object) -> TypeGuard[str]:
    """Whether a JSON value is a text that may be searched and changed."""
    return isinstance(value, str) and not isinstance(value, Unsearched)


def object_of(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, otherwise an empty object.

    It is used for requests and edited files, which may contain a value of another type.
    """
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> Sequence[Mapping[str, Any]]:
    """Return `object_of` of each item of an array; an empty list if the value is not an array."""
    return [object_of(each) for each in value] if is_array(value) else []


def member_of(value: object, *path: str) -> Any:
    """Return the value at a path of nested members; None if a member of the path is missing.

    >>> member_of({"toolUse": {"name": "get_weather"}}, "toolUse", "name")
    'get_weather'
    """
    for step in path:
        value = value.get(step) if is_object(value) else None
    return value


def mapped(value: Any, change: Callable[[str, Any], Any]) -> Any:
    """Return a copy of an object with `change(name, member)` for each member, or of an array with `change("", item)`.

    Any other value is returned unchanged.

    >>> mapped({"a": 1, "b": 2}, lambda name, each: 10 * each)
    {'a': 10, 'b': 20}
    """
    if is_object(value):
        return {name: change(name, each) for name, each in value.items()}
    return [change("", each) for each in value] if is_array(value) else value


def parsed_json(text: str | bytes, otherwise: Any = None) -> Any:
    """Return the value of a JSON text; `otherwise` if the text is not JSON, or is nested too deeply.

    >>> parsed_json("[1]"), parsed_json("[1")
    ([1], None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def leaves(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield (path, leaf) for each leaf of a JSON value, in order. A leaf is neither an object nor an array.

    >>> list(leaves({"a": [1, {"b": "x"}]}))
    [(('a', 0), 1), (('a', 1, 'b'), 'x')]
    """
    waiting = [(path, value)]
    while waiting:  # without recursion, because a request may be nested very deeply
        path, value = waiting.pop()
        if is_object(value):
            waiting += reversed([((*path, name), each) for name, each in value.items()])
        elif is_array(value):
            waiting += reversed([((*path, index), each) for index, each in enumerate(value)])
        else:
            yield path, value


def columns(items: Sequence[Any]) -> Iterator[list[tuple[int, str, str]]]:
    """Yield the texts of an array that may be the lines of one text.

    These are all items that are texts, and the members of the same name in items that are objects; texts with more than
    1,000 characters are no lines. Each text stands after its index in the array and its name, which is "" for an item
    that is a text.

    >>> list(columns(["a", {"text": "b"}, {"text": "c"}]))
    [[(1, 'text', 'b'), (2, 'text', 'c')]]
    """
    found: dict[str, list[tuple[int, str, str]]] = {}
    for index, item in enumerate(items):
        for name, text in {"": item}.items() if is_text(item) else object_of(item).items():
            if is_text(text) and len(text) <= _LONGEST_LINE:
                found.setdefault(name, []).append((index, name, text))
    yield from (texts for texts in found.values() if len(texts) > 1)


_LONGEST_LINE: Final = 1000


def path_text(path: Sequence[str | int]) -> str:
    """A path in dotted notation, with indexes in brackets.

    >>> path_text(("messages", 2, "content", 0, "text"))
    'messages[2].content[0].text'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def is_deeper(value: Any, deepest: int) -> bool:
    """Whether a JSON value has more than `deepest` nested levels.

    >>> is_deeper([{"a": []}], 2), is_deeper([{"a": []}], 3)
    (True, False)
    """
    level: list[Any] = [value]
    for _ in range(deepest):
        if not level:
            return False
        level = [inner for outer in level for inner in _inside(outer)]
    return any(is_object(each) or is_array(each) for each in level)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if is_object(value) else value if is_array(value) else ()


def repeated(pairs: Sequence[tuple[str, Any]]) -> list[str]:
    """Return the keys that occur more than once in `pairs`, the argument of an `object_pairs_hook` of `json.loads`."""
    if len(dict(pairs)) == len(pairs):
        return []
    return [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]


def equal(one: Any, other: Any, *, whole: bool = False) -> bool:
    """Whether two JSON values are equal, with the same types: true is not 1, and 1 is not 1.0.

    Objects may be any mappings, and arrays lists or tuples. If `whole` is true, `other` may have an integer in place of
    a float without a fraction: JavaScript has one type for all numbers, and writes 1.0 as 1.

    >>> equal({"a": [1]}, {"a": (1,)}), equal(1, True), equal(1, 1.0), equal(1.0, 1, whole=True)
    (True, False, False, True)
    """
    if isinstance(one, Mapping):
        if not isinstance(other, Mapping):
            return False
        mine, theirs = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        names = mine.keys() == theirs.keys()
        return names and all(equal(each, theirs[name], whole=whole) for name, each in mine.items())
    if isinstance(one, list | tuple):
        if not isinstance(other, list | tuple):
            return False
        items, others = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(items) == len(others) and all(
            equal(each, its, whole=whole) for each, its in zip(items, others, strict=True)
        )
    narrowed = whole and isinstance(one, float) and type(other) is int
    return one == other and (narrowed or _type_of(one) is _type_of(other))


def _type_of(value: object) -> type:
    """Return the type by which `equal` tells values apart: a subclass, such as an enum of texts, counts as its base."""
    kinds = (bool, int, float, str, (bytes, bytearray))
    found = next((each for each in kinds if isinstance(value, each)), None)
    return found if isinstance(found, type) else bytes if found else type(value)


TOO_DEEP: Final = "nested too deeply to be compared"


def canonical(value: object) -> str:
    """Return JSON text that is equal for equal JSON values. The order of keys does not matter; 1 and 1.0 differ."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return TOO_DEEP


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Return the JSON text of a value. Objects that JSON does not know are written as `str` writes them."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (ValueError, RecursionError):
        return "(nested too deeply to be shown)"


def print_whole(printer: Any, value: object) -> None:
    """Print a value with a printer of hypothesis or IPython: also lists that are longer than the 1,000 items after
    which these printers write `...`, which would be code for something else.
    """
    limit, printer.max_seq_length = printer.max_seq_length, 0
    try:
        printer.pretty(value)
    finally:
        printer.max_seq_length = limit
