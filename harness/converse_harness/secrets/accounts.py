"""Find account ids, and give each an invented one (stand-in) that takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from converse_harness.secrets.kinds import ACCOUNTS
from converse_harness.secrets.mask import STAND_IN, matches
from converse_harness.secrets.readable import readings
from converse_harness.secrets.views import Joined

Change = tuple[int, int, str]
"""A change of a text: the start and the end of the part to be replaced, and the replacement."""

IS_STAND_IN: Final = re.compile(rf"(?<!\d){STAND_IN}\d{{6}}(?!\d)")

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
    def of_recording(cls, texts: Sequence[Joined], kept: int = 0, given: dict[str, str] | None = None) -> Accounts:
        """Return the account ids in the texts of a recording, each with its stand-in, an invented id.

        The first `kept` lines may already contain stand-ins, which stay unchanged. If an ARN below these lines differs
        from one of their ARNs only in its account id, the account id gets the stand-in of that ARN. A stand-in is given
        to only one account id. `given` are the stand-ins of the account ids in the other texts of the recording, if it
        is searched in parts; those of these texts are added.
        """
        stand_ins: dict[str, str] = {} if given is None else given
        arns: dict[tuple[str, str], str] = {}
        later: list[tuple[str, tuple[str, str]]] = []
        for group in texts:
            for _, found in matches(group.searched, ACCOUNTS):
                account, resource = found.value, _RESOURCE.match(group.searched, found.end)
                arn = found.before, resource[0] if resource else ""
                if group.view_at(found.start).line <= kept and IS_STAND_IN.fullmatch(account):
                    stand_ins[account] = account
                    arns.setdefault(arn, account)
                else:
                    later.append((account, arn))
        kept_texts = [view.text for group in texts for view in group.views if view.line <= kept]
        taken = {account for text in kept_texts for account in IS_STAND_IN.findall(text)} | {*stand_ins.values()}
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
            ids += [(found.start(), found[0]) for found in IS_STAND_IN.finditer(text)]
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
