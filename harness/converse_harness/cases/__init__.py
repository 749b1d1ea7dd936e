"""The catalogue of Cases: named situations that a consumer of Bedrock's answers must survive.

Many cases are generated from AWS's API model and from the tables of errors, wordings, faults and policies: a new row
adds a case. Cases that the installed botocore cannot parse are left out. The catalogue is built at first access. The
stub `__init__.pyi` declares the name of each case for type checkers.

>>> from converse_harness import cases
>>> from converse_harness.cases import CASES
>>> cases.overflow_pre.reply
<Reply ValidationException (400) "Input is too long for requested model.">
>>> CASES["tool_truncated_json_max_tokens"].required
'Never run the tool; give the model more tokens, or fail.'
"""

from __future__ import annotations

from converse_harness.cases.case import Case as Case
from converse_harness.cases.catalogue import CASES as CASES
from converse_harness.cases.catalogue import UnknownCase as UnknownCase
from converse_harness.imports import no_such_name

__all__ = ["CASES", "Case", "UnknownCase"]


def __dir__() -> list[str]:
    return [*__all__, *CASES]


def __getattr__(name: str) -> Case:
    """Return the case of this name. Raises AttributeError for an unknown name; the message suggests similar names."""
    if name.startswith("_") or name not in CASES:
        raise no_such_name(__name__, name, __dir__)
    return CASES[name]
