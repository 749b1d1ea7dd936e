"""The evidence for a rule: its witnesses, the evidence against it, and the verdict that people drew from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

WitnessKind = Literal["recording", "report", "page", "code"]
"""What saw a message; `WITNESS_KINDS` says it in words."""

WITNESS_KINDS: Final[Mapping[WitnessKind, str]] = {
    "recording": "an answer of the service that a public repository keeps",
    "report": "a public thread",
    "page": "AWS's page or AWS's model of the API; the date is when it was read",
    "code": "public source code that tried it, or says so",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """One observation of a rule: `where` is a thread, test or page, `date` a day or month, `of` the models observed."""

    kind: WitnessKind
    where: str
    date: str
    of: str = ""

    def __str__(self) -> str:
        told = ", ".join(each for each in (self.date, self.of) if each)
        return f"{'' if self.kind == 'report' else f'{self.kind} '}{self.where}{f' ({told})' if told else ''}"


reported: Final = partial(Witness, "report")
"""A report in a public thread."""

recorded: Final = partial(Witness, "recording")
"""A recorded answer in a public repository."""

documented: Final = partial(Witness, "page")
"""AWS's page or model, as read on that date."""

coded: Final = partial(Witness, "code")
"""The source code of a public client."""


MULTIMODAL: Final = "pydantic-ai, test_multimodal_tool_returns"
"""The recorded tests that show many kinds of files to several models. They are not older than the youngest of these."""

PROBED: Final = coded("a probe of some 70 models", "2026-10-10")
"""What a public repository's own probe of all models found."""

CLIENTS_KNOW: Final = coded("several clients", "2026-11")
"""What the source code of several clients says of a model, as read in that month."""


Verdict = Literal["refuse", "note", "strict"]
"""What becomes of a request that breaks a rule; `VERDICTS` says it in words."""

VERDICTS: Final[Mapping[Verdict, str]] = {
    "refuse": "Bedrock is known to refuse it, and nothing newer was accepted of these models",
    "note": "Bedrock was seen to refuse it, but something newer speaks against that, or nobody knows when: it is noted",
    "strict": "it is refused at the strict level only",
}
