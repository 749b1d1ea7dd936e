"""What is kept of a public thread about Bedrock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserThread:
    """What users tell in a thread (or several of one matter), and what shows it.

    `shown_by` has the names of cases, rules, faults and helpers, the most telling first, and `how` what they do not
    say by themselves. `cause` is that of the lesson, `why_not` the reason why nothing shows it.
    """

    threads: tuple[str, ...]
    month: str
    wrong: str
    shown_by: tuple[str, ...] = ()
    cause: str = ""
    how: str = ""
    why_not: str = ""


Chapters = Mapping[str, Sequence[UserThread]]
"""Threads by what they are about."""
