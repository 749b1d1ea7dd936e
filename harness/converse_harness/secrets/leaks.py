"""Find the secrets in texts that were joined, split or encoded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from converse_harness.json_values import Steps, path_text
from converse_harness.secrets.kinds import ACCOUNTS
from converse_harness.secrets.mask import MASK, STAND_IN, matches, own_spans
from converse_harness.secrets.views import TOGETHER, Joined, View, levels

OWN_SECRET: Final = "a secret of this process"
"""The `kind` of a Leak if the secret is in the environment of this process, or if this process signed a request with
it.
"""

AND_AFTER: Final = " (with the lines after it)"
"""The last step in the path of a text that was joined from several lines."""


@dataclass(frozen=True, slots=True)
class Leak:
    """The place of a secret (line number from 1, path in the line's JSON), its kind, and the encodings that hide it."""

    line: int
    path: str
    kind: str
    form: tuple[str, ...] = ()

    def __str__(self) -> str:
        form = f", in {' in '.join(dict.fromkeys(reversed(self.form)))} form" if self.form else ""
        return f"{self.path or 'the line'}: {self.kind}{form}"


def leaks_in(
    texts: Iterable[Joined], own: Collection[str], part_of: Callable[[int], int] = lambda line: 0
) -> list[Leak]:
    """Return the secrets in `texts`, which `levels` yields for a recording. They are in the order of the lines.

    Of several secrets with the same line, path and kind, only one with the fewest encodings is returned. A secret in a
    text that was joined from several lines is left out if a secret of the same kind is at this path on one line of the
    same part; `part_of` returns the part in which a line is, such as the exchange. A secret in the joined items of a
    list is left out if a secret of the same kind is in this list.
    """
    shown = cache(partial(_shown, own=own))  # many secrets may be at one path, whose keys are searched too
    leaks = [
        Leak(view.line, shown(view.path), kind, view.form) for group in texts for view, kind in secrets_in(group, own)
    ]
    best: dict[tuple[int, str, str], Leak] = {}
    for leak in sorted(leaks, key=lambda leak: (leak.line, len(leak.form))):
        best.setdefault((leak.line, leak.path, leak.kind), leak)
    alone = {(part_of(leak.line), leak.path + AND_AFTER, leak.kind) for leak in best.values()}
    found = [leak for leak in best.values() if (part_of(leak.line), leak.path, leak.kind) not in alone]
    alike: dict[tuple[int, str], list[str]] = {}
    for leak in found:
        alike.setdefault((leak.line, leak.kind), []).append(leak.path)
    return [leak for leak in found if not _is_in_same_list(leak.path, alike[leak.line, leak.kind])]


def _is_in_same_list(joined: str, paths: Iterable[str]) -> bool:
    """Whether `joined` is the path of the joined items of a list, and another of the paths is in this list."""
    before, together, _ = joined.partition(TOGETHER)
    return bool(together) and any(path != joined and path.startswith(before) for path in paths)


def secrets_in(group: Joined, own: Collection[str]) -> Iterator[tuple[View, str]]:
    """Yield the kind of each secret in a group of texts, after the text that contains it. `own` as in `leaks_in`."""
    for kind, found in matches(group.searched, binary=group.is_binary):
        if not (kind in ACCOUNTS and found.value.startswith(STAND_IN)):
            yield group.view_at(found.start), kind.name
    for start, _ in own_spans(group.text, own, binary=group.is_binary):
        yield group.view_at(start), OWN_SECRET


def _shown(path: Steps, own: Collection[str]) -> str:
    """Return a JSON path as text. A key that is a secret, or that contains one, is masked."""
    steps = [
        step if isinstance(step, int) else MASK if leaks_in(levels([View(step, 0, ())]), own) else step[:80]
        for step in path
    ]
    return path_text(steps).replace(f".{AND_AFTER}", AND_AFTER).replace(f".{TOGETHER}", TOGETHER)
