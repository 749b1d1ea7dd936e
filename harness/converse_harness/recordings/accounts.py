"""AWS account ids in recordings: each has a stand-in of its own, of the same length, wherever its number stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from converse_harness.recordings.decoding import Joined, View
from converse_harness.secrets import ACCOUNT_BY_NAME, ACCOUNT_IN_ARN, STAND_IN, matches, secret_span

Change = tuple[int, int, str]
"""Start and end of a part of a text, and what takes its place."""

KINDS: Final = (ACCOUNT_IN_ARN, ACCOUNT_BY_NAME)

_LENGTH: Final = 12
_IS_STAND_IN: Final = re.compile(rf"(?<!\d){STAND_IN}\d{{6}}(?!\d)")
_RESOURCE: Final = re.compile(r"""[^\s"'<>,;()\[\]{}\\]*""")

# After %20, \u0020 or \n a digit begins a number, whatever stands before it.
_BEFORE: Final = r"(?:(?<!\d)|(?<=%[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4}))"


def stand_in(number: int) -> str:
    """The account id that stands for the one that appears as that one, counted from 1.

    >>> stand_in(1)
    '111122000001'
    """
    return f"{STAND_IN}{number:06}"


class Accounts:
    """The account ids of a recording with their stand-ins; `changes` says what is to be replaced in a text."""

    def __init__(self, stand_ins: Mapping[str, str]) -> None:
        self.stand_ins = stand_ins
        dashed = {_dashed(each): _dashed(new) for each, new in stand_ins.items()}
        self._all = {each: new for each, new in {**stand_ins, **dashed}.items() if each != new}
        numbers = "|".join(self._all) or r"(?!)"
        self._pattern = re.compile(rf"{_BEFORE}(?:{numbers})(?!\d)")

    def __bool__(self) -> bool:
        return bool(self._all)

    def changes(self, text: str) -> list[Change]:
        """Where account ids stand in a text, and their stand-ins."""
        return [(found.start(), found.end(), self._all[found[0]]) for found in self._pattern.finditer(text)]

    def number(self, value: int) -> int:
        """A number, or the stand-in where it is an account id."""
        return int(self.stand_ins.get(f"{value:0{_LENGTH}}", value)) if self and value > 0 else value


def accounts_of(texts: Sequence[Joined], kept: int = 0) -> Accounts:
    """The accounts in the texts of a recording; `kept` of its lines were masked before, and their stand-ins stay.

    Where an ARN stands in the kept lines with a stand-in, the same ARN in a later line has the same account.
    """
    stand_ins: dict[str, str] = {}
    arns: dict[tuple[str, str], str] = {}
    later: list[tuple[str, tuple[str, str]]] = []
    for group in texts:
        for view, account, arn in _found(group):
            if view.line <= kept and _IS_STAND_IN.fullmatch(account):
                stand_ins[account] = account
                arns.setdefault(arn, account)
            else:
                later.append((account, arn))
    taken = {
        account
        for group in texts
        for view in group.views
        if view.line <= kept
        for account in _IS_STAND_IN.findall(view.text)
    }
    free = (each for each in map(stand_in, range(1, 10**6)) if each not in taken)
    given = {arns[arn] for _, arn in later if arn in arns} if arns else set[str]()
    for account, arn in later:
        if account not in stand_ins:
            known = arns.get(arn)
            if known is not None and known in given:
                given.discard(known)
                stand_ins[account] = known
            else:
                stand_ins[account] = next(free)
    return Accounts(stand_ins)


def _found(group: Joined) -> Iterator[tuple[View, str, tuple[str, str]]]:
    """Each account id in a group of texts, with what stands before and after it in its ARN."""
    for _, found in matches(group.searched, KINDS):
        account = group.searched[found.end("kept") : found.end()]
        resource = _RESOURCE.match(group.searched, found.end())
        yield group.view_at(found.start()), account, (found["kept"], resource[0] if resource else "")


def numbered(texts: Iterable[str]) -> Accounts:
    """The accounts of one request, numbered in the order in which they appear in it; stand-ins are accounts as well."""
    order: dict[str, None] = {}
    for text in texts:
        spans = (secret_span(found) for _, found in matches(text, KINDS))
        places = {start: text[start:end] for start, end in spans}
        places |= {found.start(): found[0] for found in _IS_STAND_IN.finditer(text)}
        order |= dict.fromkeys(account for _, account in sorted(places.items()))
    return Accounts({account: stand_in(number) for number, account in enumerate(order, 1)})


def _dashed(account: str) -> str:
    """As the AWS console shows it."""
    return f"{account[:4]}-{account[4:8]}-{account[8:]}"
