"""The argument `ignore`: the paths of the parts of requests that are ignored when a call is compared with a recording.

A path leads to a part of a Converse request: `system`, `messages[0].content`, `toolConfig.tools[*]`. A path may omit
the name of a union's member: `tools[*].description` means `tools[*].toolSpec.description`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.endpoint.call import CONVERSATIONS
from converse_harness.errors import ReplyError
from converse_harness.json_values import is_array, is_object
from converse_harness.recordings.play.matching import MatchKey
from converse_harness.words import nearest

_Path = tuple[str | int | None, ...]
"""The steps of a path. Each step is the name of a member, the index of a list item, or None for all items of a list."""

_STEP: Final = re.compile(r"([A-Za-z_][\w-]*)((?:\[(?:\*|-?\d{1,9})\])*)")
_INDEX: Final = re.compile(r"\[(\*|-?\d+)\]")

_EXAMPLE: Final = 'ignore=["system", "toolConfig.tools[*].description"]'


@dataclass(frozen=True, slots=True)
class IgnoredParts:
    """The ignored parts of requests: `labels` are members in the URL, such as `modelId`; `paths` lead into the body."""

    labels: frozenset[str] = frozenset()
    paths: tuple[_Path, ...] = ()

    @classmethod
    def of(cls, ignore: object) -> IgnoredParts:
        """Parse the argument `ignore`, a list of paths. Raises ReplyError for a path that Converse does not have."""
        if isinstance(ignore, str) or not isinstance(ignore, Collection):
            raise ReplyError(f"ignore={ignore!r}: it is a list of paths in the request. For instance {_EXAMPLE}.")
        labels, paths = set[str](), list[_Path]()
        for path in cast("Collection[object]", ignore):
            if not isinstance(path, str):
                raise _no_path(path)
            for steps in _paths(path):
                if steps[0] in _labels():
                    labels.add(str(steps[0]))
                else:
                    paths.append(steps)
        return cls(frozenset(labels), tuple(paths))

    def __bool__(self) -> bool:
        return bool(self.labels or self.paths)

    def left_out_of(self, asked: MatchKey) -> MatchKey:
        """Return a match key without the ignored parts."""
        if self.labels:
            kept = {name: each for name, each in asked.labels.items() if name not in self.labels}
            asked = replace(asked, labels=kept)
        if asked.operation not in CONVERSATIONS or not self.paths:
            return asked
        conversation: Any = asked.conversation
        for path in self.paths:
            conversation = _without(conversation, path)
        return asked.with_conversation(conversation)


def _without(value: Any, path: _Path) -> Any:
    """Return a JSON value without the parts at a path. Objects within the value that become empty are removed, too."""
    step, rest = path[0], path[1:]
    if is_object(value) and isinstance(step, str) and step in value:
        left = _without(value[step], rest) if rest else None
        others = {name: each for name, each in value.items() if name != step}
        return others if not rest or (left == {} and value[step] != {}) else {**value, step: left}
    if is_array(value) and step is None:
        return [_without(each, rest) for each in value]
    if is_array(value) and isinstance(step, int) and -len(value) <= step < len(value):
        items: list[Any] = [*value]
        # None replaces the item, so that the other items keep their indexes.
        items[step] = _without(items[step], rest) if rest else None
        while items and items[-1] is None:
            items.pop()
        return items
    return value


# The code below checks paths against AWS's API model.


def _labels() -> frozenset[str]:
    """Return the names of the members of a Converse request that are sent in the URL, not in the body."""
    members = bedrock.operation("Converse").input_shape.members
    return frozenset(name for name, each in members.items() if each.serialization.get("location") == "uri")


@lru_cache
def _paths(text: str) -> Sequence[_Path]:
    """Return the complete paths for a user's path. They may be several if it omits the name of a union's member."""
    paths = _resolved(text, bedrock.operation("Converse").input_shape, [*_steps(text)])
    return list(dict.fromkeys(path[:-1] if path[-1] is None else path for path in paths))


def _no_path(text: object) -> ReplyError:
    return ReplyError(
        f"ignore=[{text!r}]: this is no path. It is names with a dot between them, [0] or [*] after the name of a "
        f"list. For instance {_EXAMPLE}."
    )


def _steps(text: str) -> Iterator[str | int | None]:
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise _no_path(text)
        yield found[1]
        yield from (None if each[1] == "*" else int(each[1]) for each in _INDEX.finditer(found[2]))


def _resolved(text: str, shape: Any, steps: list[str | int | None], at: str = "") -> Iterator[_Path]:
    """Yield the complete paths for `steps`, which begin at `shape`. Raises ReplyError if there is no such path.

    For error messages, `text` is the user's whole path, and `at` is the path to `shape`.
    """
    if not steps:
        yield ()
        return
    step, *rest = steps
    if bedrock.is_document(shape):
        yield tuple(steps)  # AWS's API model allows any JSON here
    elif not isinstance(step, str):
        index = f"[{'*' if step is None else step}]"
        if shape.type_name != "list":
            raise ReplyError(f'ignore=[{text!r}]: "{at}" is no list, so it has no {index}.')
        yield from ((step, *path) for path in _resolved(text, shape.member, rest, at + index))
    elif shape.type_name == "list":
        raise ReplyError(f'ignore=[{text!r}]: "{at}" is a list. Write {at}[*] for all its items, or {at}[0] for one.')
    elif shape.type_name == "map":
        yield from ((step, *path) for path in _resolved(text, shape.value, rest, f"{at}.{step}"))
    else:
        yield from _of_member(text, shape, step, rest, at)


def _of_member(text: str, shape: Any, step: str, rest: list[str | int | None], at: str) -> Iterator[_Path]:
    members: Mapping[str, Any] = getattr(shape, "members", {})
    if step in members:
        yield from ((step, *path) for path in _resolved(text, members[step], rest, f"{at}.{step}".lstrip(".")))
        return
    unions = members if bedrock.is_union(shape) else {}
    within = {name: getattr(each, "members", {}) for name, each in unions.items()}
    having = [name for name, each in within.items() if step in each]
    for name in having:
        yield from ((name, *path) for path in _of_member(text, members[name], step, rest, f"{at}.{name}"))
    if not having:
        known = [*members, *(inner for each in within.values() for inner in each)]
        close = nearest(step, known)
        where = f'"{at}"' if at else "the request of Converse"
        has = f"It has {', '.join(dict.fromkeys(known))}" if known else "It has no members"
        did = f'Did you mean "{close}"? ' if close else ""
        raise ReplyError(
            f'ignore=[{text!r}]: {where} has no member "{step}". {did}{has} (botocore {bedrock.botocore_version()}).'
        )
