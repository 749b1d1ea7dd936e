"""Find the places where two requests differ: only those that a matching rule compares, or all places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from converse_harness.json_values import Steps, canonical, is_array, is_object, member_of, objects_of
from converse_harness.recordings.chance import numbered
from converse_harness.recordings.differences import ABSENT, Difference, differ, differences
from converse_harness.recordings.play.matching import (
    Match,
    MatchKey,
    kind_of_block,
    masks,
    name_of_tool,
    parts,
    with_accounts_equal,
)
from converse_harness.secrets.mask import MASK, STAND_IN

_TOO_DEEP: Final = Difference(("request",), "what was recorded", "another one, or one nested too deeply", ("request",))

_NOT_IN_THE_BODY: Final = ("operation", "path", "query", "headers")
"""The parts of a request that are not in its body. The first step of a path to such a part is the part's name."""


def that_count(rule: Match, recorded: MatchKey, asked: MatchKey) -> list[Difference]:
    """Return the differences between `recorded` and `asked` because of which `rule` does not match them."""
    try:
        old, new = (_with_accounts_equal(each) for each in (recorded, asked))
        if rule == "shape":
            return [*_of_shape(old, new)]
        return [_named(each) for each in differences(parts(rule, old), parts(rule, new))]
    except RecursionError:
        return [_TOO_DEEP]


def in_words(recorded: MatchKey, asked: MatchKey) -> list[Difference]:
    """Return the differences between two requests in the path and the body, except those in ids and secrets.

    The values left out are ids, account ids and masked secrets, because they differ in each session.
    """
    try:
        old, new = ({"path": dict(each.labels), "request": each.request} for each in (recorded, asked))
        found = _apart(*(with_accounts_equal({**each, "request": numbered(each["request"])}) for each in (old, new)))
        return [_named(_with_texts(each, old, new)) for each in found if not _was_masked(each)]
    except RecursionError:
        return [_TOO_DEEP]


def _was_masked(difference: Difference) -> bool:
    """Whether the values differ only because the recorder masked a secret or replaced an account id."""
    if ABSENT in (difference.old, difference.new):
        return False
    old = canonical(difference.old)
    return (MASK in old or STAND_IN in old) and masks(old, canonical(difference.new), secrets=True)


def _apart(old: Any, new: Any, path: Steps = ()) -> Iterator[Difference]:
    """Yield the places where two JSON values differ. For values of the same shape, this is much faster than
    `differences`.

    Two lists of equal length are compared item by item. Lists of tools are not, because their order may differ.
    """
    if old == new:
        return
    if is_object(old) and is_object(new) and old.keys() == new.keys():
        for name in old:
            yield from _apart(old[name], new[name], (*path, name))
    elif is_array(old) and is_array(new) and len(old) == len(new) and path[-1:] != ("tools",):
        for index, items in enumerate(zip(old, new, strict=True)):
            yield from _apart(*items, (*path, index))
    else:
        yield from differences(old, new, path, path)


def _with_accounts_equal(asked: MatchKey) -> MatchKey:
    made = with_accounts_equal({"labels": dict(asked.labels), "headers": dict(asked.headers), "request": asked.request})
    return replace(asked, **made)


def _named(difference: Difference) -> Difference:
    """Return a difference with its path in the form for users: a first step `request`, `path` or `body` is removed."""
    first, *rest = difference.path
    if not rest or first in ("operation", "query", "headers"):
        return difference
    return difference._replace(path=tuple(rest), was=difference.was[1:])


def _with_texts(difference: Difference, recorded: Any, arrived: Any) -> Difference:
    """Return a difference with the original values of both requests, instead of the forms of the values that were
    compared.

    If the original values do not differ, return the difference unchanged.
    """
    old = _at(recorded, difference.was, difference.old)
    new = _at(arrived, difference.path, difference.new)
    return difference._replace(old=old, new=new) if differ(old, new) else difference


def _at(value: Any, path: Sequence[str | int], otherwise: Any) -> Any:
    """Return the value at a path, or `otherwise` if there is no such path. If `otherwise` is ABSENT, always return
    ABSENT.
    """
    if otherwise is ABSENT:
        return ABSENT
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return otherwise
    return value


# Comparison by the rule "shape". The rule compares sorted or counted values, so each difference must be located in the
# requests afterwards.


def _of_shape(recorded: MatchKey, asked: MatchKey) -> Iterator[Difference]:
    before, after = (parts("shape", each) for each in (recorded, asked))
    old, new = recorded.conversation, asked.conversation
    for name in before:
        if not differ(before[name], after[name]):
            continue
        steps = tuple(name.split("."))
        found = _SORTED[name](old, new) if name in _SORTED else differences(before[name], after[name], steps, steps)
        for each in found:
            if name == "body" or name in _NOT_IN_THE_BODY:
                yield _named(each)
            else:
                place = _with_texts(each, old, new) if name == "messages" else each
                yield place._replace(path=(*asked.steps, *place.path), was=(*asked.steps, *place.was))


def _items(
    old: Sequence[Any], new: Sequence[Any], name: Callable[[Any], str], path: Steps, *, once: bool = False
) -> Iterator[Difference]:
    """Yield a difference for each item of one list without a partner of the same name in the other list.

    `name` returns the name of an item. If `once` is true, one item may be the partner of several items.
    """
    before, after = [name(each) for each in old], [name(each) for each in new]
    for names, others, is_old in (before, after, True), (after, before, False):
        left = Counter(others)
        seen = set[str]()
        for index, each in enumerate(names):
            left[each] -= 1
            if (each not in others and each not in seen) if once else left[each] < 0:
                seen.add(each)
                at = (*path, index)
                yield Difference(at, each, ABSENT, at) if is_old else Difference(at, ABSENT, each, at)


def _members(old: Mapping[str, Any], new: Mapping[str, Any], path: Steps) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        if (name in old) != (name in new):
            yield Difference((*path, name), old.get(name, ABSENT), new.get(name, ABSENT), (*path, name))


_Pair = Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[Difference]]

_SORTED: Final[Mapping[str, _Pair]] = {
    "system": lambda old, new: _items(
        objects_of(old.get("system")), objects_of(new.get("system")), kind_of_block, ("system",), once=True
    ),
    "toolConfig.tools": lambda old, new: _items(
        objects_of(member_of(old, "toolConfig", "tools")),
        objects_of(member_of(new, "toolConfig", "tools")),
        name_of_tool,
        ("toolConfig", "tools"),
    ),
    "promptVariables": lambda old, new: _members(
        old.get("promptVariables") or {}, new.get("promptVariables") or {}, ("promptVariables",)
    ),
}
"""The parts of a request in which the order does not count, each with the function that finds the differences in it."""
