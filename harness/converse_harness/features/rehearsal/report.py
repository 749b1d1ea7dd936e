"""The result of a rehearsal: the requests of each test or recording, and the lines of the report about refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from converse_harness.bedrock.rules.rule import MODEL
from converse_harness.features.rehearsal.targets import ALL, RehearsalTarget, unknown_target, witness_of
from converse_harness.words import and_more, counted, first_few, one_line, plural

_NOT_REHEARSED: Final = (
    "signatures, contents of files, token limits; what your framework sends differently for another id"
    "   More: converse-harness docs upgrade what-a-rehearsal-cannot-find"
)

LeftOut = Literal["", "refused", "off", "stale"]
"""The reason why a test or recording is left out, as a key of `_REASONS`; "" if it is not left out."""

_REASONS: Final[Mapping[LeftOut, str]] = {
    "refused": "{} with a request that is refused as it is",
    "off": '{} with rules="off"',
    "stale": "{} with a request that the installed botocore's model does not know",
}

_ROWS: Final = 50
"""The maximum number of rows for a model, unless the user wants all rows."""

_MESSAGE: Final = 64
"""The maximum number of characters of Bedrock's message in a row; the list of rules has the whole message."""

_NUMBERS: Final = 3
_IDS: Final = 3
_FIELDS: Final = 5
"""The maximum numbers of calls in one row (_NUMBERS), of model ids (_IDS) and of fields (_FIELDS) in one line."""


class RefusedCall(NamedTuple):
    """One rule by which a target refuses a request; `line` is the line of the user's code that made the call.

    `target` is the index of the target. `number` is the number of the call in its fake or recording, counted from 1.
    """

    target: int
    number: int
    operation: str
    rule: str
    message: str
    line: str = ""


@dataclass(slots=True)
class Asked:
    """The requests of one test or recording to one model id.

    `targets` are the indexes of the targets that match this id. `unjudged` are the additional model request fields that
    no rule reads, as pairs of a target's index and a field's name.
    """

    requests: int = 0
    targets: Sequence[int] = ()
    refused: list[RefusedCall] = field(default_factory=list[RefusedCall])
    unjudged: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])


class ReportLine(NamedTuple):
    """A line of the report. `accepted` is None, except in the line with the result for a target.

    There, `accepted` is whether the target accepts all requests.
    """

    text: str
    accepted: bool | None = None


class _Result(NamedTuple):
    """The result for one target.

    `ids` maps each replaced model id to its number of requests, `tests` is the number of tests. `refused` maps each
    test with a refused call to its refused calls.
    """

    ids: Mapping[str, int]
    tests: int
    refused: Mapping[str, Sequence[RefusedCall]]


@dataclass
class RehearsalReport:
    """The requests so far, by the name of a test or recording and by model id.

    `unit` is the noun for what has a name in the report: "test" or "recording". `part` is the noun for what may be left
    out: "test" or "exchange".
    """

    targets: Sequence[RehearsalTarget]
    unit: str = "test"
    part: str = "test"
    asked: dict[str, Mapping[str, Asked]] = field(default_factory=dict[str, Mapping[str, Asked]])
    left_out: dict[str, LeftOut] = field(default_factory=dict[str, LeftOut])

    def add(self, name: str, asked: Mapping[str, Asked], left_out: LeftOut = "") -> None:
        """Add a test or recording. It replaces an earlier one with the same name."""
        self.asked.pop(name, None)
        self.left_out.pop(name, None)
        if left_out:
            self.left_out[name] = left_out
        elif asked:
            self.asked[name] = asked

    @property
    def refuses(self) -> bool:
        """Whether any target would refuse a request."""
        return any(self._result(index, target).refused for index, target in enumerate(self.targets))

    def replaced(self, index: int) -> Collection[str]:
        """Return the model ids that the target with this index replaces."""
        return self._result(index, self.targets[index]).ids.keys()

    def lines(self, *, full: bool = False) -> Iterator[ReportLine]:
        """Yield the lines of the report; if `full` is true, without a limit on the rows."""
        rules: dict[str, str] = {}
        patterns: set[str] = set()
        """The patterns of all targets with `of_all` whose lines were already yielded."""
        for index, target in enumerate(self.targets):
            result = self._result(index, target)
            if not target.of_all:
                yield from self._of_one(target, result, full=full)
            else:
                if target.pattern not in patterns:
                    patterns.add(target.pattern)
                    yield ReportLine(f"rehearsed as the newest model of each line of models ({ALL})")
                    yield from self._replaced(target, result)
                yield self._summary(target, result)
            for call in (each for calls in result.refused.values() for each in calls):
                rules.setdefault(call.rule, call.message)
        if rules:
            yield ReportLine("Bedrock's words, and who saw them last:")
        for rule, message in sorted(rules.items()):
            yield ReportLine(f"  {rule}: {one_line(message)}   ({witness_of(rule)})")
        counts = Counter(self.left_out.values())
        if counts:
            reasons = [text.format(counted(counts[why], self.part)) for why, text in _REASONS.items() if counts[why]]
            yield ReportLine(f"left out: {', '.join(reasons)}")
        yield ReportLine(f"not rehearsed: {self._unjudged()}{_NOT_REHEARSED}")

    def _unjudged(self) -> str:
        """Return text about the additional model request fields that no rule reads; empty if there are none."""
        names: set[str] = set()
        for index, target in enumerate(self.targets):
            ids = self.replaced(index) if target.known else ()
            unjudged = [asked[each].unjudged for asked in self.asked.values() for each in ids if each in asked]
            names |= {name for pairs in unjudged for of, name in pairs if of == index}
        return f"additional model request fields ({_first(sorted(names), _FIELDS)}), " if names else ""

    def _of_one(self, target: RehearsalTarget, result: _Result, *, full: bool) -> Iterator[ReportLine]:
        if not target.known:
            yield ReportLine(unknown_target(target), accepted=False)
            return
        yield self._summary(target, result)
        yield from self._replaced(target, result)
        rows = [row for name, calls in result.refused.items() for row in _rows(name, calls)]
        shown = rows if full else rows[:_ROWS]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for row in shown:
            line = "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True))
            yield ReportLine(f"  {line.rstrip()}")
        if len(rows) > len(shown):
            yield ReportLine(f"  ... and {len(rows) - len(shown)} more, which -v shows")

    def _summary(self, target: RehearsalTarget, result: _Result) -> ReportLine:
        """Return the line with the number of tests whose requests a target accepts.

        If the user wrote `all`, the line also lists the rules that refuse.
        """
        title = f"{'  ' if target.of_all else 'rehearsed as '}{target.model}{target.about}: "
        if not result.tests:
            return ReportLine(f"{title}nothing was asked")
        text = f"{result.tests - len(result.refused)} of {counted(result.tests, self.unit)} would be accepted"
        if target.of_all:
            tests = Counter(rule for calls in result.refused.values() for rule in {call.rule for call in calls})
            rules = ", ".join(f"{rule} ({count})" for rule, count in _most_first(tests).items())
            text += f"   {rules}" if rules else ""
        return ReportLine(f"{title}{text}", accepted=not result.refused)

    def _replaced(self, target: RehearsalTarget, result: _Result) -> Iterator[ReportLine]:
        """Yield a line with the model ids that a target replaces, or with the reason why it replaces none.

        For a target without a pattern, the line also lists the ids that it does not replace.
        """
        others = {name: count for name, count in self._ids().items() if name not in result.ids}
        if result.ids:
            why = "" if target.pattern else ", the id asked most often"
            line = f"in place of {_listed(result.ids)}{why}"
            if others and not target.pattern:
                line += f"; not of {_listed(others)} ('*={ALL if target.of_all else target.model}' is for every id)"
            yield ReportLine(f"  {line}")
        elif others:
            listed = _listed(others)
            yield ReportLine(f"  no model id matches {target.pattern!r}; asked were {listed}. Correct the pattern.")
        else:
            which = "one that is not left out" if self.left_out else "one"
            yield ReportLine(f"  requests of Converse and ConverseStream are rehearsed; no {self.unit} made {which}")

    def _result(self, index: int, target: RehearsalTarget) -> _Result:
        ids = self._ids(index) if target.pattern else dict([*self._ids().items()][:1])
        refused: dict[str, Sequence[RefusedCall]] = {}
        tests = 0
        for name, asked in sorted(self.asked.items()):  # sorted, because the workers of xdist report in any order
            of_ids = [asked[each] for each in ids if each in asked]
            tests += bool(of_ids)
            if calls := [call for each in of_ids for call in each.refused if call.target == index]:
                refused[name] = calls
        return _Result(ids, tests, refused)

    def _ids(self, index: int | None = None) -> Mapping[str, int]:
        """Return the number of requests for each model id, the largest number first.

        If `index` is given, only the ids that the target with this index matches are counted. They were matched before
        secrets in them were masked.
        """
        counts: Counter[str] = Counter()
        for name, asked in (item for each in self.asked.values() for item in each.items()):
            if index is None or index in asked.targets:
                counts[name] += asked.requests
        return _most_first(counts)


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _listed(ids: Mapping[str, int]) -> str:
    """Return the first model ids with their numbers of requests, and the number of further ids, as text."""
    return _first([f"{name} ({counted(count, 'request')})" for name, count in ids.items()], _IDS)


def _first(texts: Sequence[str], most: int) -> str:
    """Join the first `most` texts by commas. If there are further texts, add their number."""
    return ", ".join(and_more(texts, most, "{} more"))


def _rows(name: str, calls: Sequence[RefusedCall]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each rule and line of code: test, calls, rule, beginning of Bedrock's message, line."""
    groups: dict[tuple[str, str], list[RefusedCall]] = {}
    for call in sorted(calls, key=lambda each: each.number):
        groups.setdefault((call.rule, call.line), []).append(call)
    for (rule, line), same in groups.items():
        numbers = [*dict.fromkeys(call.number for call in same)]
        shown = first_few([*map(str, numbers)], _NUMBERS)
        message = one_line(same[0].message.removeprefix(MODEL))
        message = message if len(message) <= _MESSAGE else f"{message[:_MESSAGE].rstrip()}..."
        yield name, f"{plural(len(numbers), 'call')} {shown}", rule, message, line
