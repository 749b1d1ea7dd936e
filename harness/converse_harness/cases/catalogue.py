"""The catalogue: every case by its name, in families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from converse_harness import bedrock
from converse_harness.cases import failures, guardrails, messages
from converse_harness.cases.again import again_cases
from converse_harness.cases.case import Case
from converse_harness.cases.tools import TOOL_CASES
from converse_harness.errors import ReplyError

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
    "asking again": again_cases,
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


UnknownCase.__module__ = "converse_harness.cases"  # its public import path


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
