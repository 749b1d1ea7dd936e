"""Search for secrets and account ids in the texts of a recording, and in the texts that are encoded within them."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

from converse_harness.json_values import Steps, leaves, object_of, path_text
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.secrets.kinds import ACCOUNTS
from converse_harness.secrets.mask import MASK, STAND_IN, matches, own_spans
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.readable import readings
from converse_harness.secrets.views import TOGETHER, Joined, View, in_pieces, levels, views_of

OWN_SECRET: Final = "a secret of this process"
"""The `kind` of a Leak if the secret is in the environment of this process, or if this process signed a request with
it.
"""

_NO_EVENT: Final = frozenset({"part", "status", "failed", "end", "bytes", "format"})
"""Keys of lines without an event. The line of an event contains none of them."""

_AND_AFTER: Final = " (with the lines after it)"
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


def scan(lines: Sequence[Line], own: Collection[str] | None = None) -> list[Leak]:
    """Return the secrets in the lines of a recording. Secrets of one kind at one path of one line are returned once.

    Besides known kinds of secrets, the texts in `own` are searched for: the secrets of this process, by default
    `own_secrets()`.

    >>> scan([{"call": 1, "request": {"text": "my key is AKIAIOSFODNN7EXAMPLE"}}])
    [Leak(line=1, path='request.text', kind='an AWS access key id', form=())]
    """
    return leaks_in(levels(all_views(lines)), own_secrets() if own is None else frozenset(own))


def leaks_in(texts: Iterable[Joined], own: Collection[str]) -> list[Leak]:
    """Return the secrets in `texts`, which `levels` yields for a recording. They are in the order of the lines.

    Of several secrets with the same line, path and kind, only one with the fewest encodings is returned. A secret in a
    text that was joined from several lines is left out if a secret of the same kind is at this path on one line. A
    secret in the joined items of a list is left out if a secret of the same kind is in this list.
    """
    shown = cache(partial(_shown, own=own))  # many secrets may be at one path, whose keys are searched too
    leaks = [
        Leak(view.line, shown(view.path), kind, view.form) for group in texts for view, kind in _secrets_in(group, own)
    ]
    best: dict[tuple[int, str, str], Leak] = {}
    for leak in sorted(leaks, key=lambda leak: (leak.line, len(leak.form))):
        best.setdefault((leak.line, leak.path, leak.kind), leak)
    alone = {(leak.path + _AND_AFTER, leak.kind) for leak in best.values()}
    found = [leak for leak in best.values() if (leak.path, leak.kind) not in alone]
    alike: dict[tuple[int, str], list[str]] = {}
    for leak in found:
        alike.setdefault((leak.line, leak.kind), []).append(leak.path)
    return [leak for leak in found if not _is_in_same_list(leak.path, alike[leak.line, leak.kind])]


def _is_in_same_list(joined: str, paths: Iterable[str]) -> bool:
    """Whether `joined` is the path of the joined items of a list, and another of the paths is in this list."""
    before, together, _ = joined.partition(TOGETHER)
    return bool(together) and any(path != joined and path.startswith(before) for path in paths)


def all_views(lines: Sequence[Line]) -> Iterator[View]:
    """Yield the texts of all lines, without decoding them. Then join and yield the texts split over several lines."""
    for number, line in enumerate(lines, 1):
        yield from views_of(line, number)
    for (number, path, text), *others in streamed(lines):
        pieces = [text, *(each for _, _, each in others)]
        if others and path == ("bytes",):
            raw = b"".join(map(base64.b64decode, pieces))
            yield View(raw.decode("latin-1"), number, (*path, _AND_AFTER), ("base64",))
        elif others:
            yield View("".join(pieces), number, (*path, _AND_AFTER))
    for number, events in _other_events(lines):
        for path, text in in_pieces(events):
            yield View(text, number, (*path, _AND_AFTER))


def _other_events(lines: Sequence[Line]) -> Iterator[tuple[int, list[Any]]]:
    """For each stream, yield a list of its events except contentBlockDeltas, after the line number of the first."""
    for group in _by_call(lines):
        pairs = [(number, event_of(line)) for number, line in group if not line.keys() & _NO_EVENT]
        events = [(number, dict([event])) for number, event in pairs if event and event[0] != "contentBlockDelta"]
        if events:
            yield events[0][0], [event for _, event in events]


def _by_call(lines: Sequence[Line]) -> Iterator[Sequence[tuple[int, Line]]]:
    """Yield the lines below each call's own line, up to the next call; each line stands after its number, from 1.

    The lines above the first call are yielded first.
    """
    numbered = list(enumerate(lines, 1))
    calls = [index for index, line in enumerate(lines) if "call" in line]
    for before, end in pairwise([-1, *calls, len(lines)]):
        yield numbered[before + 1 : end]


def streamed(lines: Sequence[Line]) -> Iterator[list[tuple[int, Steps, str]]]:
    """Yield the texts that arrived in pieces, each as the list of its pieces: (line number, path, piece).

    The pieces of a text are in the deltas of one content block, or in an answer's lines with bytes that are not a whole
    frame.
    """
    for group in _by_call(lines):
        texts: dict[object, list[tuple[int, Steps, str]]] = {}
        for number, line in group:
            if "bytes" in line:
                texts.setdefault("bytes", []).append((number, ("bytes",), line["bytes"]))
            elif "contentBlockDelta" in line:
                members = object_of(line["contentBlockDelta"])
                for path, text in leaves(members.get("delta"), ("contentBlockDelta", "delta")):
                    if type(text) is str:
                        texts.setdefault((members.get("contentBlockIndex"), path), []).append((number, path, text))
        yield from texts.values()


def _secrets_in(group: Joined, own: Collection[str]) -> Iterator[tuple[View, str]]:
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
    return path_text(steps).replace(f".{_AND_AFTER}", _AND_AFTER).replace(f".{TOGETHER}", TOGETHER)


Change = tuple[int, int, str]
"""A change of a text: the start and the end of the part to be replaced, and the replacement."""

_IS_STAND_IN: Final = re.compile(rf"(?<!\d){STAND_IN}\d{{6}}(?!\d)")
_RESOURCE: Final = re.compile(r"""[^\s"'<>,;()\[\]{}\\]*""")

# A digit after a digit cannot begin an account id, unless the first digit is the end of an escape such as %20 or
# \u0020.
_BEFORE: Final = r"(?:(?<!\d)|(?<=%[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4}))"


def stand_in(number: int) -> str:
    """Return the invented account id (stand-in) that replaces a real one.

    `number` is the place of the real account id in order of appearance, from 1.

    >>> stand_in(1)
    '111122000001'
    """
    return f"{STAND_IN}{number:06}"


_BEYOND_RECORDED: Final = 500_001
"""The number of the first stand-in in a request that is compared. Recorders number stand-ins from 1 on."""


class Accounts:
    """The account ids of a recording, each with a stand-in: the invented account id that is recorded in its place."""

    def __init__(self, stand_ins: Mapping[str, str]) -> None:
        self.stand_ins = stand_ins
        dashed = {_dashed(each): _dashed(new) for each, new in stand_ins.items()}
        self._all = {each: new for each, new in {**stand_ins, **dashed}.items() if each != new}
        self._pattern = re.compile(rf"{_BEFORE}(?:{'|'.join(self._all) or '(?!)'})(?!\d)")

    @classmethod
    def of_recording(cls, texts: Sequence[Joined], kept: int = 0) -> Accounts:
        """Return the account ids in the texts of a recording, each with its stand-in, an invented id.

        The first `kept` lines may already contain stand-ins, which stay unchanged. If an ARN below these lines differs
        from one of their ARNs only in its account id, the account id gets the stand-in of that ARN. A stand-in is given
        to only one account id.
        """
        stand_ins: dict[str, str] = {}
        arns: dict[tuple[str, str], str] = {}
        later: list[tuple[str, tuple[str, str]]] = []
        for group in texts:
            for _, found in matches(group.searched, ACCOUNTS):
                account, resource = found.value, _RESOURCE.match(group.searched, found.end)
                arn = found.before, resource[0] if resource else ""
                if group.view_at(found.start).line <= kept and _IS_STAND_IN.fullmatch(account):
                    stand_ins[account] = account
                    arns.setdefault(arn, account)
                else:
                    later.append((account, arn))
        kept_texts = [view.text for group in texts for view in group.views if view.line <= kept]
        taken = {account for text in kept_texts for account in _IS_STAND_IN.findall(text)}
        free = (each for each in map(stand_in, range(1, 10**6)) if each not in taken)
        unclaimed = set(arns.values())
        for account, arn in later:
            if account not in stand_ins:
                known = arns.get(arn, "")
                stand_ins[account] = known if known in unclaimed else next(free)
                unclaimed.discard(known)
        return cls(stand_ins)

    @classmethod
    def of_request(cls, texts: Iterable[str]) -> Accounts:
        """Return the account ids in the texts of one request. Their stand-ins are numbered in order of appearance.

        Stand-ins that are already in the request count as account ids, too.
        """
        order: dict[str, None] = {}
        for text in texts:
            ids = [(found.start, found.value) for _, found in matches(text, ACCOUNTS)]
            ids += [(found.start(), found[0]) for found in _IS_STAND_IN.finditer(text)]
            order |= dict.fromkeys(account for _, account in sorted(ids))
        # Items of a list are searched twice: together, as lines of one text, and each alone. So no new stand-in may be
        # one that a recorder wrote, which the second search would replace again.
        return cls({account: stand_in(number) for number, account in enumerate(order, _BEYOND_RECORDED)})

    def __bool__(self) -> bool:
        return bool(self._all)

    def changes(self, text: str) -> list[Change]:
        """Return the changes that replace each account id in a text with its stand-in."""
        changes = {
            reading.span(*found.span()): self._all[found[0]]
            for reading in readings(text)
            for found in self._pattern.finditer(reading.text)
        }
        return [(*span, new) for span, new in sorted(changes.items())]

    def number(self, value: int) -> int:
        """Return the stand-in of `value` as a number if `value` is an account id; otherwise return `value`."""
        return int(self.stand_ins.get(f"{value:012}", value)) if value > 0 else value


def _dashed(account: str) -> str:
    """Return an account id with dashes, as the AWS console shows it."""
    return f"{account[:4]}-{account[4:8]}-{account[8:]}"
