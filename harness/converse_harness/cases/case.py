"""The Case class, and a function that converts AWS's names to snake_case for the names of cases."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Final

from converse_harness import bedrock
from converse_harness.errors import StreamOrderError
from converse_harness.reply.answer import meant
from converse_harness.reply.body import ErrorBody, EventsBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import assemble
from converse_harness.stream.grammar import is_exception, kind

_BEFORE_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """Convert a camelCase name to snake_case.

    >>> snake("documentChar"), snake("ModelTimeoutException")
    ('document_char', 'model_timeout_exception')
    """
    return _BEFORE_CAPITAL.sub("_", name).lower()


RECORDED = "recorded answers of AWS"
RECORDED_WHOLE = "recorded answers of Converse; in streams from AWS's API model"
MODEL = "AWS's API model; not recorded"
SPECIFICATION = "the specification of event streams; not recorded"
MEASURED = "measured on clients; AWS is not known to send it"
NETWORK = "happens daily on any network, whatever AWS sends"
GUIDE = "AWS's guide; not recorded"
"""`Case.source` names the evidence for a case. Its usual values are these constants, from RECORDED to GUIDE."""


class Evidence(Enum):
    """Who is known to send what a case describes, the best known first; the value says it in words.

    >>> from converse_harness import cases
    >>> cases.no_index.evidence.value
    'AWS is not known to send it'
    """

    RECORDED = "recorded of AWS"
    REPORTED = "reported by users"
    DOCUMENTED = "documented by AWS, or possible in its API model"
    NETWORK = "happens on any network"
    UNKNOWN = "AWS is not known to send it"


_EVIDENCE: Final = (
    (re.compile("AWS is not known to|^what models do"), Evidence.UNKNOWN),
    (re.compile("network"), Evidence.NETWORK),
    (re.compile("^(?!.*not recorded).*recorded"), Evidence.RECORDED),
    (re.compile("reported by users"), Evidence.REPORTED),
    (re.compile("AWS|specification"), Evidence.DOCUMENTED),
)
"""Maps the texts of `Case.source` to their evidence: the first pattern that is found."""

Made = Reply | tuple[Reply, ...]
"""The replies of a case: one reply, or a tuple of the replies to several consecutive calls."""


@dataclass(frozen=True, slots=True)
class Case:
    """A named situation with prepared replies.

    `sentence` describes the situation, `required` describes how a correct consumer reacts. `source` names the evidence.
    `make` builds the replies on demand. `needs` lists members of AWS's API model (`Shape.member`) that the installed
    botocore must have to parse the replies. `misfits` are the rows of the table about answers and their requests by
    which the answer is meant not to fit, so that no note is made of them.

    >>> from converse_harness import cases
    >>> cases.throttle_mid.sentence
    'After part of the text comes throttlingException.'
    """

    name: str
    sentence: str
    required: str
    source: str
    make: Callable[[], Made] = field(repr=False)
    needs: tuple[str, ...] = field(default=(), repr=False)
    misfits: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"<Case {self.name}: {self.sentence}>"

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies to the situation's consecutive calls, in order; most cases have only one reply."""
        return _replies(self.make, self.misfits)

    @property
    def reply(self) -> Reply:
        """The first reply; in most cases it is the only one."""
        return self.replies[0]

    @property
    def evidence(self) -> Evidence:
        """Who is known to send such an answer, by `source`."""
        return next(evidence for pattern, evidence in _EVIDENCE if pattern.search(self.source))

    @property
    def stream_only(self) -> bool:
        """Whether the replies are possible only in a stream, since a Converse answer is one complete body."""
        return any(map(_only_streams, self.replies))

    @property
    def available(self) -> bool:
        """Whether the installed botocore has all members that the case needs."""
        needed = (need.split(".") for need in self.needs)
        return all(bedrock.has_member(shape, member) for shape, member in needed)


@cache  # a contract asks for the replies of all cases several times
def _replies(make: Callable[[], Made], misfits: tuple[str, ...]) -> tuple[Reply, ...]:
    made = make()
    replies = made if isinstance(made, tuple) else (made,)
    return tuple(meant(each, misfits) for each in replies) if misfits else replies


def _only_streams(reply: Reply) -> bool:
    if any(placement.fault.on_body is None for placement in reply.plan.placements):
        return not isinstance(reply.plan.body, ErrorBody)
    if reply.plan.failure is not None or not isinstance(reply.plan.body, EventsBody):
        return False
    events = list(reply.events())
    if events and is_exception(kind(events[-1])):
        return False
    try:
        assemble(events)
    except (StreamOrderError, LookupError, TypeError):
        return True
    return False
