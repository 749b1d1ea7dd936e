"""The catalogue of Cases: named situations that a consumer of Bedrock's answers must survive.

Many cases are generated from AWS's API model and from the tables of errors, wordings, faults and policies: a new row
adds a case. Cases that the installed botocore cannot parse are left out. The catalogue is built at first access.

>>> from converse_harness import cases
>>> from converse_harness.cases import CASES
>>> cases.overflow_pre.reply
<Reply ValidationException (400) "Input is too long for requested model.">
>>> CASES["tool_truncated_json_max_tokens"].required
'Never run the tool; give the model more tokens, or fail.'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from converse_harness import bedrock
from converse_harness.cases import failures, guardrails, messages
from converse_harness.cases.case import Case
from converse_harness.cases.tools import TOOL_CASES
from converse_harness.errors import ReplyError
from converse_harness.imports import no_such_name

__all__ = ["CASES", "Case", "UnknownCase"]


def __dir__() -> list[str]:
    return [*__all__, *CASES]


def __getattr__(name: str) -> Case:
    """Return the case of this name. Raises AttributeError for an unknown name; the message suggests similar names."""
    if name.startswith("_") or name not in CASES:
        raise no_such_name(__name__, name, __dir__)
    return CASES[name]


FAMILIES: Final[Mapping[str, Callable[[], Iterable[Case]]]] = {
    "text and reasoning": lambda: messages.TEXT_CASES,
    "tools": lambda: TOOL_CASES,
    "citations": lambda: messages.CITATION_CASES,
    "guardrails": lambda: (*guardrails.GUARDRAIL_CASES, *guardrails.policy_cases()),
    "stop reasons": lambda: (*guardrails.stop_cases(), *guardrails.STOP_CASES),
    "metadata": lambda: messages.METADATA_CASES,
    "errors before the stream": lambda: (*failures.error_cases(), *failures.ERROR_CASES),
    "context overflow": lambda: failures.OVERFLOW_CASES,
    "errors inside the stream": lambda: (*failures.frame_cases(), *failures.FRAME_CASES),
    "the future": lambda: messages.FUTURE_CASES,
    "faults": failures.fault_cases,
}
"""For each family of cases, the function that makes the cases."""


class UnknownCase(ReplyError, KeyError):
    """Raised if no case has the requested name; the message suggests similar names.

    >>> from converse_harness import cases
    >>> cases.CASES["throtle_mid"]
    UnknownCase: ...throttle_mid...
    """

    __str__ = Exception.__str__  # KeyError.__str__ would put the message in quotes


class Catalogue(Mapping[str, Case]):
    """A mapping of names to cases. The cases are built at first access, because this loads AWS's API model."""

    @cached_property
    def _cases(self) -> Mapping[str, Case]:
        found: dict[str, Case] = {}
        for family, make in FAMILIES.items():
            for case in make():
                if case.name in found:
                    raise AssertionError(f"two cases are called {case.name}, the second in the family {family!r}")
                if case.available:
                    found[case.name] = case
        return found

    def __getitem__(self, name: str) -> Case:
        """Return the case of this name. Raises UnknownCase for an unknown name; the message suggests similar names."""
        if name in self._cases:
            return self._cases[name]
        near = get_close_matches(str(name), self, n=5, cutoff=0.4) or [each for each in self if str(name) in each]
        hint = f"Near it: {', '.join(near)}. " if near else ""
        raise UnknownCase(
            f"no case is called {name!r}. {hint}"
            f"There are {len(self)} with botocore {bedrock.botocore_version()}; `converse-harness cases` lists them."
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)

    def __repr__(self) -> str:
        return f"<Catalogue of {len(self)} cases>"


CASES: Final[Mapping[str, Case]] = Catalogue()
"""Every case by its name, in the order of FAMILIES."""
