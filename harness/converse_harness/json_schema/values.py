"""Make the least value that satisfies a schema.

Candidates are made for a conjunction, a list of schemas that must all be satisfied. `$ref` and `allOf` add schemas to
it; the branches of `anyOf`, `oneOf` and `if` are added one at a time. Each candidate is checked against every schema of
the conjunction. Keywords that only exclude values (`not`, the other branches of `oneOf`) therefore need no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import shake_256
from itertools import chain, islice, product
from typing import Any, Final

from converse_harness.json_schema.checking import broken
from converse_harness.json_schema.choices import given_values, is_closed, types_to_try
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied, is_schema, key
from converse_harness.json_schema.scalars import numbers, texts, words
from converse_harness.json_values import is_array

_SOME: Final = 6
"""The usual number of values that are made for one conjunction of schemas; more are made if an array needs them."""

_LARGEST: Final = 1_000
"""The maximum number of items of an array, and of members of an object, that are made. A schema that requires more
fails.
"""

_MOST_FORMS: Final = 48
"""The maximum number of ways to choose branches (of `anyOf`, `oneOf`, `if`, ...) that are tried for one conjunction."""

_MOST_STEPS: Final = 20_000
"""The maximum number of candidates that are checked for one schema."""

Parts = tuple[SchemaPart, ...]


def least_value(schema: object, *, seed: int = 0, objects: bool = False) -> Any:
    """Return the least value that satisfies a schema.

    This is a value in `const`, `default`, `examples` or `enum`. If the schema lists none, the value is made from the
    other keywords.

    A made object has only its required members, and a made array the minimum number of items. A made text has one
    character, and numbers are as near to 0 as possible. With another `seed`, the values differ, and objects also have
    some members that are not required. If `objects` is true, only an object is returned. Raises Unsatisfied, with the
    path of a keyword, if no value is found.

    >>> least_value({"properties": {"city": {}, "days": {"minimum": 2}}, "required": ["days"]})
    {'days': 2}
    """
    if not is_schema(schema):
        raise Unsatisfied("#", f"is {schema!r}, and a schema is an object, true or false")
    maker = _ValueMaker(seed)
    parts = [SchemaPart("#", schema, schema), *([_OBJECT] if objects else [])]
    try:
        found = maker.values(tuple(parts), 1)
    except RecursionError:
        raise Unsatisfied("#", "is nested too deeply, or refers to itself") from None
    if not found:
        raise maker.reason or Unsatisfied("#", "allows no value that is found")
    return found[0]


_OBJECT: Final = SchemaPart("#(an object)", {"type": "object"}, None)
_ANYTHING: Final = SchemaPart("#(any value)", True, None)


class _ValueMaker:
    """Makes the values of one schema.

    `reason` is the reason why no candidate was valid: the first failure, or a later failure that explains more.
    """

    def __init__(self, seed: int) -> None:
        self.reason: Unsatisfied | None = None
        self._seed = seed
        self._is_strong = False
        self._steps = 0
        self._under_way: list[frozenset[SchemaPart]] = []
        self._met: set[frozenset[SchemaPart]] = set()
        self._known: dict[tuple[frozenset[SchemaPart], int], list[Any]] = {}

    def values(self, parts: Parts, count: int) -> list[Any]:
        """Return up to `count` different values that satisfy all `parts`, the preferred value first."""
        parts = parts or (_ANYTHING,)
        same = frozenset(parts)
        if (same, count) in self._known:
            return self._known[same, count]
        if same in self._under_way:
            # A schema that contains itself gets no value here, because the least value never contains a value of the
            # same schema.
            self._met.add(same)
            self._fail(Unsatisfied(_path(parts), "refers to itself, and every value would have to go on for ever"))
            return []
        self._under_way.append(same)
        different: dict[object, Any] = {}
        with self._noting_failure():
            forms = islice(self._forms(parts), _MOST_FORMS)
            for value in (value for form in forms for value in self._candidates(form, count)):
                if self._is_right(parts, value):
                    different.setdefault(key(value), value)
                if len(different) == count:
                    break
        found = [*different.values()]
        self._under_way.pop()
        self._met.discard(same)
        if not found:
            self._fail(Unsatisfied(_path(parts), "allows no value that is found"))
        if not self._met:
            self._known[same, count] = found
        return found

    def number(self, where: str, below: int) -> int:
        """Return a number from 0 to `below - 1` that depends on the seed and on the place `where`. With the seed 0, it
        is 0.
        """
        if not self._seed or below < 2:
            return 0
        return int.from_bytes(shake_256(f"{self._seed}|{where}".encode()).digest(6)) % below

    def _turned(self, where: str, several: Sequence[Any]) -> Sequence[Any]:
        """Return the items rotated. The seed and the place `where` decide which item comes first."""
        first = self.number(where, len(several))
        return [*several[first:], *several[:first]]

    def _fail(self, reason: Unsatisfied, *, strong: bool = False) -> None:
        if self.reason is None or (strong and not self._is_strong):
            self.reason, self._is_strong = reason, strong

    @contextmanager
    def _noting_failure(self) -> Generator[None, None, None]:
        """If the `with` block raises Unsatisfied, store the exception in `reason` and leave the block without an
        exception.
        """
        try:
            yield
        except Unsatisfied as reason:
            self._fail(reason, strong=True)

    def _is_right(self, parts: Parts, value: Any) -> bool:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Unsatisfied(_path(parts), f"allows no value among the first {_MOST_STEPS:,} that were tried")
        for part in parts:
            try:
                wrong = broken(part, value)
            except Unsatisfied as reason:
                self._fail(reason, strong=True)
                return False
            if wrong is not None:
                self._fail(Unsatisfied(wrong, "no value is found that satisfies it and the other keywords"))
                return False
        return True

    def _forms(self, parts: Parts, done: Parts = ()) -> Iterator[Parts]:
        """Yield a conjunction for each choice of branches: the given parts, and the schemas that this choice adds."""
        if not parts:
            yield done
            return
        part, *rest = parts
        if part in done:
            yield from self._forms(tuple(rest), done)
            return
        if part.schema is False:
            self._fail(Unsatisfied(part.path, "is false, which allows no value"))
            return
        with self._noting_failure():
            added = [*part.targets(), *part.children("allOf")]
            branches: list[Sequence[Parts]] = []
            for keyword in ("anyOf", "oneOf"):
                children = part.children(keyword)
                if children:
                    branches.append([(each,) for each in self._turned(f"{part.path}/{keyword}", children)])
            if part.get("if") is not None:
                below = {each: (part.child(each),) for each in ("if", "then", "else") if part.get(each) is not None}
                branches.append([below.get("else", ()), below["if"] + below.get("then", ())])
            for keyword in ("dependentSchemas", "dependencies"):
                conditional = part.get(keyword, {}).items()
                branches += [[(), (part.child(keyword, name),)] for name, then in conditional if not is_array(then)]
            for chosen in product(*branches):
                yield from self._forms((*added, *chain.from_iterable(chosen), *rest), (*done, part))

    def _candidates(self, form: Parts, count: int) -> Iterator[Any]:
        with self._noting_failure():
            yield from given_values(form, self._turned)
            for name in () if is_closed(form) else types_to_try(form, self._turned):
                with self._noting_failure():
                    yield from _MAKERS[name](self, form, count)

    def array(self, form: Parts, count: int) -> Iterator[list[Any]]:
        """Yield arrays of the least length, then longer arrays. With a seed other than 0, a longer array may come
        first.
        """
        low = max(part.get("minItems", 0) for part in form)
        high = min((part.get("maxItems", low + _SOME) for part in form), default=low)
        self._check_size(form, "minItems", "minContains")
        inside = [part for part in form for _ in range(part.get("minContains", 1)) if part.get("contains") is not None]
        low = max(low, len(inside))
        unique = any(part.get("uniqueItems", False) for part in form)
        start = low + self.number(f"{_path(form)}|items", min(3, high - low + 1))
        for length in dict.fromkeys([start, low, *range(start, min(high, start + 3) + 1)]):
            for other in range(count if length else 1):
                made = self._items(form, length, inside, other if unique or length == low else 0)
                if made is not None:
                    yield made
                if not unique and length != low:
                    break

    def _check_size(self, form: Parts, *keywords: str) -> None:
        """Raise Unsatisfied if one of these keywords requires more than _LARGEST items or members."""
        for part in form:
            for keyword in keywords:
                if part.get(keyword, 0) > _LARGEST:
                    raise Unsatisfied(
                        f"{part.path}/{keyword}", f"is {part.get(keyword)}, and {_LARGEST:,} are made at most"
                    )

    def _items(self, form: Parts, length: int, inside: Sequence[SchemaPart], other: int) -> list[Any] | None:
        """Return an array of this length; None if none is found.

        The first items must satisfy `contains` of the schemas in `inside`, one item for each schema. `other` is the
        index of the value that is used for the first item, among the values made for it.
        """
        made: list[Any] = []
        used: set[object] = set()
        unique = any(part.get("uniqueItems", False) for part in form)
        for index in range(length):
            parts = [each for part in form for each in part.at_item(index)]
            parts += [inside[index].child("contains")] if index < len(inside) else []
            several = self.values(tuple(parts), length + 2 if unique else _SOME if other else 1)
            if index == 0 and other:
                if other >= len(several):
                    return None
                several = several[other:]
            fitting = list(islice((each for each in several if not unique or key(each) not in used), 1))
            if not fitting:
                if several:
                    reason = f"is true, and only {len(several)} different items are found for {length}"
                    self._fail(Unsatisfied(f"{_path(form)}/uniqueItems", reason), strong=True)
                return None
            made += fitting
            used.add(key(fitting[0]))
        return made

    def object(self, form: Parts, count: int) -> Iterator[dict[str, Any]]:
        """Yield objects with only the required members, then with more members, then with other values."""
        required = dict.fromkeys(name for part in form for name in part.get("required", ()))
        known = dict.fromkeys(name for part in form for name in part.get("properties", ()))
        self._check_size(form, "minProperties")
        low = max(part.get("minProperties", 0) for part in form)
        high = min((part.get("maxProperties", 10**6) for part in form), default=10**6)
        if len(self._with_dependents(form, required)) > high:
            raise Unsatisfied(f"{_path(form)}/maxProperties", f"is {high}, and more are required")
        optional = [name for name in known if name not in required]
        wanted = [name for name in optional if self.number(f"{_path(form)}|{name}", 2)]
        others = [name for name in optional if name not in wanted]
        fuller = [[*required, each] for each in optional]
        for several in (1, _SOME):  # making only the first value of each member usually suffices, and is faster
            for names in ([*required, *wanted], [*required], *fuller, [*required, *optional]):
                more = [*others, *self._new_names(form, low)]
                members = self._members(form, names, required, low, more, several)
                if members is None:
                    break
                yield {name: values[0] for name, values in members.items()}
                for name, values in members.items():
                    for value in values[1:]:
                        yield {each: value if each == name else its[0] for each, its in members.items()}

    def _members(
        self, form: Parts, names: Iterable[str], required: Mapping[str, None], low: int, more: Iterable[str], count: int
    ) -> dict[str, list[Any]] | None:
        """Return up to `count` values of each member in `names`; None if no value can be made for a required member.

        If there are fewer than `low` members, members with the names in `more` are added.
        """
        members: dict[str, list[Any]] = {}
        for name in self._with_dependents(form, names):
            members[name] = self._member(form, name, count)
            if not members[name]:
                del members[name]
                if name in required:
                    return None
        for name in more:
            if len(members) >= low:
                break
            if name not in members and (several := self._member(form, name, count)):
                members[name] = several
        return members

    def _member(self, form: Parts, name: str, count: int) -> list[Any]:
        return self.values(tuple(each for part in form for each in part.at_member(name)), count)

    def _with_dependents(self, form: Parts, names: Iterable[str]) -> list[str]:
        """Return these names, and the names that `dependentRequired` or `dependencies` require for them."""
        found = dict.fromkeys(names)
        todo = [*found]
        for name in todo:
            for part in form:
                for keyword in ("dependentRequired", "dependencies"):
                    then = part.get(keyword, {}).get(name, ())
                    if is_array(then):
                        new = [each for each in then if each not in found]
                        found.update(dict.fromkeys(new))
                        todo += new
        return [*found]

    def _new_names(self, form: Parts, low: int) -> Iterator[str]:
        """Yield names of additional members, for an object that needs at least `low` members."""
        if not low:
            return
        naming = tuple(part.child("propertyNames") for part in form if part.get("propertyNames") is not None)
        if naming:
            yield from self.values((*naming, _STRING), low + _SOME)
        for part in form:
            for pattern in part.get("patternProperties", ()):
                yield from self.values((SchemaPart("#(a name)", {"pattern": pattern}, None), _STRING), low + _SOME)
        yield from islice(words(1), low + _SOME)


_STRING: Final = SchemaPart("#(a text)", {"type": "string"}, None)


def _path(parts: Iterable[SchemaPart]) -> str:
    return next((part.path for part in parts), "#")


_Maker = Callable[[_ValueMaker, Parts, int], Iterator[Any]]

_MAKERS: Final[Mapping[str, _Maker]] = {
    "string": lambda maker, form, count: texts(form, count, maker.number(f"{_path(form)}|text", 1000)),
    "integer": lambda maker, form, count: numbers(form, count, maker.number(f"{_path(form)}|number", 10), whole=True),
    "number": lambda maker, form, count: numbers(form, count, maker.number(f"{_path(form)}|number", 10), whole=False),
    "boolean": lambda maker, form, count: iter([(False, True), (True, False)][maker.number(f"{_path(form)}|flag", 2)]),
    "array": _ValueMaker.array,
    "object": _ValueMaker.object,
    "null": lambda maker, form, count: iter([None]),
}
"""Maps each type to the function that makes candidates of this type, the preferred ones first."""
