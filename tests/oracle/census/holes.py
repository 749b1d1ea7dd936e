"""Compare what is recorded with what the fake sends, and what cases and strategies have; explain the differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, NamedTuple

from converse_harness import bedrock
from converse_harness.stream.events import from_wire
from tests.oracle.census.reading import NO_FAMILY, CensusAnswer, Observation, Seen, census, observations
from tests.oracle.census.sources import Asked, What, drawn, of_cases, recorded, sent, unpadded

Hole = Literal["nowhere", "usual but not sent", "refused"]
"""`nowhere`: recorded, but not sent, in no case and drawn by no strategy. `usual but not sent`: more than half of a
family's answers have it, of those with the member that it is in; the fake sends this member, but not it. `refused`: the
validator does not accept it.
"""

ENOUGH: Final = 3
"""What fewer answers of a family have is not called usual."""


class Explained(NamedTuple):
    """A row of EXPLAINED: holes of the `kind`, with patterns (fnmatch) for their families and contents."""

    kind: Hole
    family: str
    what: str
    why: str


EXPLAINED: Final = (
    Explained(
        "nowhere",
        "anthropic",
        "*transfer-encoding*",
        "bodies of Claude Sonnet 4.5 and 4.6 without a length: six of one recorder, perhaps behind a gateway",
    ),
    Explained("nowhere", "nova", "openai-organization", "a header that a recorder's filter wrote, not AWS"),
    Explained(
        "refused",
        "gpt-oss",
        "*toolUse.name*",
        "a name that no request may repeat, `json<|channel|>commentary`; a test needs strict=False to script it",
    ),
    Explained(
        "usual but not sent",
        "nova",
        "*toolUse.type = server_tool_use",
        "a tool that Bedrock runs itself; a test scripts it, and the case is `server_tool_nova`",
    ),
    Explained("usual but not sent", "titan-text", "body.trace*", "a guardrail's trace, for which these requests ask"),
    Explained(
        "usual but not sent", "gpt", "*.reasoningContent*", "GPT 5.6 sends thoughts that nobody scripts, encrypted"
    ),
    Explained(
        "usual but not sent",
        "moonshot",
        "contentBlockDelta.delta.text = empty",
        "the empty text blocks around a tool use of Kimi K2 are not in the fake's tables",
    ),
)
"""Every known hole, with who sends it and why the fake does not. At most 20 rows; a row without a hole is removed."""


@dataclass
class Census:
    """What is recorded, and where it is here."""

    answers: list[Asked]
    recorded: dict[Observation, Seen] = field(init=False)
    sent: dict[Observation, Seen] = field(init=False)

    def __post_init__(self) -> None:
        self.recorded = census(answer for answer, _ in self.answers)
        self.sent = census(sent(self.answers))

    @classmethod
    def read(cls, shared: Path) -> Census:
        """The census of both corpora."""
        return cls(recorded(shared))

    @cached_property
    def sent_to_any(self) -> set[What]:
        """What the fake sends to a model of any family."""
        return {_what(each) for each in self.sent}

    @cached_property
    def cases(self) -> Mapping[What, str]:
        """The first case that has it, for all that cases have."""
        found: dict[What, str] = {}
        for name, answer in of_cases():
            for kind, what in observations(answer):
                found.setdefault((kind, answer.operation, what), name)
        return found

    @cached_property
    def drawn(self) -> set[What]:
        """What strategies draw. They draw until they have all that is neither sent nor in a case."""
        return drawn({_what(each) for each in self._neither_sent_nor_in_a_case if not explained("nowhere", each)})

    @cached_property
    def _neither_sent_nor_in_a_case(self) -> list[Observation]:
        return [each for each in self.recorded if not self.is_sent(each) and _what(each) not in self.cases]

    def is_sent(self, each: Observation) -> bool:
        """Whether the fake sends it to a model of the family; of answers whose model is not named, to any model."""
        return each in self.sent or (each.family == NO_FAMILY and _what(each) in self.sent_to_any)

    def holes(self) -> Iterator[tuple[Hole, Observation]]:
        """Yield every hole, also those in EXPLAINED."""
        for each in self._neither_sent_nor_in_a_case:
            if _what(each) not in self.drawn:
                yield "nowhere", each
        answered = [answer for answer, _ in self.answers if not answer.error and answer.family != NO_FAMILY]
        number = Counter((answer.family, answer.operation) for answer in answered)
        counts = census(answered)
        for each, seen in counts.items():
            holders = [holder for holder in _holders(each) if holder in counts]
            if self.is_sent(each) or seen.count < ENOUGH or not all(map(self.is_sent, holders)):
                continue
            if 2 * seen.count > min((counts[each].count for each in holders), default=number[each[1:3]]):
                yield "usual but not sent", each
        for answer in answered:
            for each in refused(answer):
                yield "refused", each


def _what(each: Observation) -> What:
    return each.kind, each.operation, each.what


def _holders(each: Observation) -> Iterator[Observation]:
    """Yield the member in which something is: an answer may do without it, and then without what is in it."""
    path, is_value, _ = each.what.partition(" = " if each.kind == "value" else ": ")
    path = path if is_value else path.rpartition(".")[0]
    for kind in ("member", "member of a union"):
        yield each._replace(kind=kind, what=path)


def refused(answer: CensusAnswer) -> Iterator[Observation]:
    """Yield what the validator finds in an answer that AWS sent."""
    for name, members in answer.events:
        if name == "body":
            found = bedrock.validate("ConverseResponse", bedrock.from_json("ConverseResponse", members))
        else:
            found = bedrock.validate("ConverseStreamOutput", {name: from_wire(name, unpadded(members))})
        for each in found:
            yield Observation("value", answer.family, answer.operation, each.message)


def explained(kind: Hole, each: Observation) -> list[Explained]:
    """Return the rows that explain a hole."""
    rows = (row for row in EXPLAINED if row.kind == kind)
    return [row for row in rows if fnmatchcase(each.family, row.family) and fnmatchcase(each.what, row.what)]


def unexplained(holes: Iterable[tuple[Hole, Observation]]) -> list[str]:
    """Return a line for each hole without a row."""
    return sorted(f"{kind}: {' | '.join(each)}" for kind, each in holes if not explained(kind, each))
