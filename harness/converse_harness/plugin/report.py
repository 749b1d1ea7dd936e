"""Add calls and notes to reports, mask secrets in reports, and print notes and verdicts at the end of a run."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from converse_harness.endpoint.failure_texts import shortened, transcript
from converse_harness.errors import ConverseNoteWarning, NotedCall
from converse_harness.notes import Note, take
from converse_harness.plugin.settings import NOTE, STALE, UNKNOWN, VERDICT, chosen
from converse_harness.plugin.stale import check_stale, print_stale, stale_properties
from converse_harness.plugin.unknown_models import print_unknown_models, unknown_model_properties
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.removal import Cleaned, without_secrets
from converse_harness.words import and_more, counted, cut, one_line

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake

_SECTION: Final = "Masked by converse-harness"

_CALLS: Final = "Bedrock Converse calls"
"""The beginning of the titles of sections with a transcript of calls. Events in these sections are shortened, after
secrets have been masked."""

_CUT: Final = re.compile(r"""[^\s"'<>()\[\]{},.]{8,}(?=\.\.\.)|(?<=\.\.\.)[^\s"'<>()\[\]{},]{8,}""")
"""Matches the remaining part of a long word that pytest truncated with "...". A secret in this part may not be
recognisable, because it is encoded or its name is missing. Therefore the part is masked if the report contained any
secret.
"""

_SHORT_ID: Final = re.compile(r"(?:tooluse_|toolu_|call_)[A-Za-z0-9_-]{0,8}")
"""Matches the beginning of the id of a tool use, as a transcript shortens it. It is no part of a secret."""

_NOTES: Final = pytest.StashKey[dict[str, Note]]()
"""The key under which the stash of a test item holds the test's notes (remarks about calls), one of each kind."""

_TESTS: Final = 5
"""The maximum number of tests that are listed for each kind of note."""

_NARROWEST: Final = 20
"""On a terminal, the column with the reasons for cases not handled has at least this width, in characters."""

_PAIR: Final = 2
"""The length of a tuple that consists of a name and a value."""


def mask(report: Any) -> None:
    """Mask the secrets in a test's report in place."""
    masking = _Masking(own_secrets())
    masking.report(report)
    if masking.kinds:
        _Masking(frozenset(masking.values), cut=True).report(report)
        if report.failed:
            report.sections.append((_SECTION, f"*** stands for: {', '.join(masking.kinds)}"))


def masked(text: str) -> str:
    """Return a text with masked secrets."""
    return _Masking(own_secrets()).text(text)


@lru_cache(maxsize=16)
def _cleaned(text: str, own: frozenset[str]) -> Cleaned:
    """Return a text with masked secrets; pytest repeats a test's captured output in the report of each later phase."""
    return without_secrets(text, own)


class _Masking:
    """Masks all parts of a test report, and collects the secrets that it finds (`values`) and their kinds.

    `own` are known secrets, such as those of this process. If `cut` is true, the remaining parts of words that pytest
    truncated are masked as well.
    """

    def __init__(self, own: frozenset[str], *, cut: bool = False) -> None:
        self._cut = cut
        self.kinds: dict[str, None] = {}
        self.values: set[str] = set()
        self._own = own
        self._done: set[int] = set()
        """The results of `id()` for the objects that were masked already."""

    def report(self, report: Any) -> None:
        """Mask a report in place."""
        report.longrepr = self.value(report.longrepr)
        report.sections = [
            (name, shortened(self.text(text)) if name.startswith(_CALLS) else self.text(text))
            for name, text in report.sections
        ]
        report.user_properties = [
            (name, self.named(name, value) if isinstance(value, str) else value)
            for name, value in report.user_properties
        ]
        if hasattr(report, "wasxfail"):
            report.wasxfail = self.text(report.wasxfail)
        if hasattr(report, "context"):  # only in the report of a subtest
            named = {name: self.named(name, value) for name, value in report.context.kwargs.items()}
            report.context = replace(report.context, msg=self.value(report.context.msg), kwargs=named)

    def text(self, text: str) -> str:
        if not text or text.isspace():
            return text
        text = text.encode(errors="backslashreplace").decode()  # pytest-xdist cannot send a lone surrogate
        made, kinds, values = _cleaned(text, self._own)
        self.kinds |= dict.fromkeys(kinds)
        self.values |= values
        if not self._cut:
            return made
        return _CUT.sub(lambda found: found[0] if _SHORT_ID.fullmatch(found[0]) else "***", made)

    def named(self, name: str, value: str) -> str:
        """Mask a value that may be recognised as a secret only by its name."""
        before = f"{name} = "
        text = self.text(before + value)
        return text.removeprefix(before) if text.startswith(before) else self.text(value)

    def value(self, value: Any) -> Any:
        """Mask a part of pytest's representation of an exception. Objects in this part are changed in place."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return self._items(cast("list[Any]", value))
        # An object with the method `toterminal` is a part from which pytest builds the text of a failure.
        if hasattr(value, "toterminal") and hasattr(value, "__dict__") and id(value) not in self._done:
            self._done.add(id(value))
            attributes: dict[str, Any] = value.__dict__
            for name, item in attributes.items():
                setattr(value, name, self.value(item))
        return value

    def _items(self, items: list[Any] | tuple[Any, ...]) -> Any:
        texts = [item for item in items if isinstance(item, str)]
        if isinstance(items, tuple):
            is_pair = len(texts) == len(items) == _PAIR
            return (texts[0], self.named(*texts)) if is_pair else tuple(map(self.value, items))
        if not texts or len(texts) < len(items):
            return [*map(self.value, items)]
        # Several lines are masked as one text, because a secret may continue on the next line.
        if all(line.endswith("\n") for line in texts):
            return self.text("".join(texts)).splitlines(keepends=True)
        return self.text("\n".join(texts)).split("\n")


def check_notes(item: pytest.Item, error: BaseException | None) -> None:
    """Treat the new notes of a test as the setting `notes` says: raise NotedCall for "fail", warn for "warning".

    Raise StaleRequests if requests differ from what was recorded, and the setting `stale` is "fail". Neither is raised
    if the test has another failure, `error`.
    """
    check_stale(item, error)
    new, setting = _take_notes(item), chosen(item.config, "notes")
    if new and setting == "fail" and error is None:
        raise NotedCall("\n\n".join(note.text for note in new))
    for note in new if setting == "warning" else ():
        warnings.warn(note.text, ConverseNoteWarning, stacklevel=2)


def add_calls(report: pytest.TestReport, fakes: Iterable[Fake]) -> None:
    """Add the calls of fakes to a report, in a section for each fake that was called."""
    called = [fake for fake in fakes if fake.endpoint.calls]
    report.sections += [(f"{_CALLS}{fake.core.where}", transcript(fake.calls.all)) for fake in called]


def add_notes(report: pytest.TestReport, item: pytest.Item) -> None:
    """Store a test's new notes, and add all of its notes to the teardown report."""
    _take_notes(item)
    if report.when == "teardown":
        notes = item.stash.setdefault(_NOTES, {}).values()
        report.user_properties += stale_properties(item)
        report.user_properties += unknown_model_properties()
        report.user_properties += [(NOTE, json.dumps({"kind": note.kind, "text": note.text})) for note in notes]


def _take_notes(item: pytest.Item) -> list[Note]:
    """Store a test's new notes, one of each kind, and return them."""
    kept = item.stash.setdefault(_NOTES, {})
    new = [note for note in take() if note.kind not in kept]
    kept.update({note.kind: note for note in new})
    return new


def summarise(terminal: pytest.TerminalReporter, reports: Sequence[Any]) -> None:
    """Print notes, verdicts of contracts, and which requests differ from recordings, if the reports contain any."""
    notes: dict[str, tuple[str, list[str]]] = {}
    for nodeid, note in _properties(reports, NOTE, "teardown"):
        notes.setdefault(note["kind"], (note["text"], []))[1].append(nodeid)
    contracts: dict[str, list[Mapping[str, Any]]] = {}
    for _, verdict in _properties(reports, VERDICT, "call"):
        contracts.setdefault(verdict["contract"], []).append(verdict)
    if notes:
        _print_notes(terminal, notes)
    if contracts:
        _print_contracts(terminal, contracts)
    print_stale(terminal, _properties(reports, STALE, "teardown"))
    print_unknown_models(terminal, _properties(reports, UNKNOWN, "teardown"))


def _properties(reports: Iterable[Any], name: str, when: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the node id and the value, read from JSON, of each user property `name` in the reports of phase `when`."""
    for report in reports:
        for each, value in getattr(report, "user_properties", ()):
            if (each, report.when) == (name, when):
                yield report.nodeid, json.loads(value)


def _print_notes(terminal: pytest.TerminalReporter, kinds: Mapping[str, tuple[str, list[str]]]) -> None:
    """Print each kind of note once, with the tests that have a note of this kind."""
    terminal.section("converse notes")
    for kind, (text, tests) in sorted(kinds.items()):
        terminal.write_line(f"{kind}, in {counted(len(tests), 'test')}", bold=True)
        for line in (*and_more(tests, _TESTS), *(f"  {line}" for line in text.splitlines())):
            terminal.write_line(f"  {line}".rstrip())
    terminal.write_line("Notes fail nothing, unless converse_notes says so.   More: converse-harness docs rules notes")


def _print_contracts(terminal: pytest.TerminalReporter, contracts: Mapping[str, list[Mapping[str, Any]]]) -> None:
    """For each contract, print how often each verdict occurs, and then each case that was not handled, with the reason.

    A reason is shortened to the width of a terminal; in a file it is whole.
    """
    terminal.section("converse contract")
    for name, verdicts in sorted(contracts.items()):
        rows = sorted(row for each in verdicts for row in _rows(each))
        first = max((len(test) for _, test, *_ in rows), default=0)
        second = max((len(word) for _, _, word, *_ in rows), default=0)
        fine = all(known for *_, known in rows)
        terminal.write_line(f"{name}: {_counts(verdicts)}", bold=True, green=fine, red=not fine)
        for (_, sent), alike in groupby(rows, key=lambda row: row[0]):
            if sent:
                terminal.write_line(f"  {sent}:")
            for _, test, word, why, known in alike:
                line = f"    {test:{first}}  {word:{second}}  "
                room = max(terminal.config.get_terminal_writer().fullwidth - len(line) - 1, _NARROWEST)
                line += cut(why, room) if terminal.isatty else why
                terminal.write_line(line.rstrip(), yellow=known, red=not known)


def _rows(verdict: Mapping[str, Any]) -> Iterator[tuple[tuple[int, str], str, str, str, bool]]:
    """Yield the row of a test for each kind of answer that was not handled, or for a known case that is handled.

    A row is ((rank, who is known to send such an answer), test, verdict in words, reason, whether it is known).
    """
    test, handled, known = str(verdict["test"]), verdict["level"] == "handled", verdict["known"] is not None
    if handled and known:
        yield (-1, ""), test, "handled, but in `known`", "", False
    for each in () if handled else (verdict, *verdict["more"]):
        word = f"{each['flaw'] or each['level']}{', known' if known else ''}"
        yield (each["rank"], each["sent"]), test, word, one_line(each["why"]), known


def _is_known(verdict: Mapping[str, Any]) -> bool:
    return verdict["known"] is not None and verdict["level"] != "handled"


def _counts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    known = Counter(str(verdict["level"]) for verdict in verdicts if _is_known(verdict))
    levels = sorted(Counter(str(verdict["level"]) for verdict in verdicts).items())
    return ", ".join(f"{many} {level}{f' ({known[level]} known)' if known[level] else ''}" for level, many in levels)
