"""AWS account ids in recordings: each has a stand-in of its own, of the same length, wherever its number stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.recordings.decoding import Joined, View, is_dict, is_list
from converse_harness.secrets import ACCOUNT_BY_NAME, ACCOUNT_IN_ARN, STAND_IN, compiled, secret_spans

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
    for kind in KINDS:
        if not any(hint in group.text for hint in kind.hints):
            continue
        for found in compiled(kind).finditer(group.text):
            account = group.text[found.end("kept") : found.end()]
            resource = _RESOURCE.match(group.text, found.end())
            yield group.view_at(found.start()), account, (found["kept"], resource[0] if resource else "")


def numbered(texts: Iterable[str]) -> Accounts:
    """The accounts of one request, numbered in the order in which they appear in it; stand-ins are accounts as well."""
    order: dict[str, None] = {}
    for text in texts:
        places = {start: text[start:end] for kind in KINDS for start, end in secret_spans(kind, text)}
        places |= {found.start(): found[0] for found in _IS_STAND_IN.finditer(text)}
        order |= dict.fromkeys(account for _, account in sorted(places.items()))
    return Accounts({account: stand_in(number) for number, account in enumerate(order, 1)})


def masked_like(live: Any, recorded: Any) -> Any:
    """A request as it would have been recorded: where the recorded one has a stand-in, so has this one.

    Only an account id, in the same place of the same text, becomes a stand-in, and each account the same one.

    >>> masked_like({"text": "of 210987654321"}, {"text": "of 111122000001"})
    {'text': 'of 111122000001'}
    >>> masked_like({"text": "of 21098765432"}, {"text": "of 111122000001"})
    {'text': 'of 21098765432'}
    """
    return _like(live, recorded, {})


def _like(live: Any, recorded: Any, known: dict[str, str]) -> Any:
    if isinstance(live, str) and isinstance(recorded, str):
        return _text_like(live, recorded, known)
    if type(live) is int and type(recorded) is int:
        return int(_text_like(str(live), str(recorded), known))
    if is_dict(live) and is_dict(recorded):
        return {key: _like(item, recorded.get(key), known) for key, item in live.items()}
    if is_list(live) and is_list(recorded) and len(live) == len(recorded):
        return [_like(one, other, known) for one, other in zip(live, recorded, strict=True)]
    return live


def _text_like(live: str, recorded: str, known: dict[str, str]) -> str:
    if STAND_IN not in recorded or live == recorded:
        return live
    parts = _IS_STAND_IN.split(recorded)
    found = re.fullmatch(r"(\d{12})".join(map(re.escape, parts)), live)
    if found is None:
        return live
    fits = all(
        known.setdefault(account, each) == each
        for account, each in zip(found.groups(), _IS_STAND_IN.findall(recorded), strict=True)
    )
    return recorded if fits else live


def _dashed(account: str) -> str:
    """As the AWS console shows it."""
    return f"{account[:4]}-{account[4:8]}-{account[8:]}"
