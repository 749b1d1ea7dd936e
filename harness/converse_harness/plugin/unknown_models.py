"""Say once in a run which model ids the table of models does not have: the rules of single models were not asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from converse_harness.notes import take_unknown_models
from converse_harness.plugin.settings import UNKNOWN
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

if TYPE_CHECKING:
    import pytest

_IDS: Final = 3
"""The maximum number of ids in the line."""


def unknown_model_properties() -> list[tuple[str, object]]:
    """Return the user property about the calls since the last time; an empty list if all models were known."""
    found = take_unknown_models()
    return [(UNKNOWN, json.dumps({mask(name): count for name, count in found.items()}))] if found else []


def print_unknown_models(terminal: pytest.TerminalReporter, found: Iterable[tuple[str, Mapping[str, int]]]) -> None:
    """Print one line about all calls to unknown model ids, if there are any."""
    calls: Counter[str] = Counter()
    for _, of_test in found:
        calls.update(of_test)
    if calls:
        from converse_harness.bedrock.rules import PROFILES

        shown = [*calls][:_IDS] + ["..."] * (len(calls) > _IDS)
        terminal.write_line(
            f"converse-harness: {counted(calls.total(), 'call')} to {counted(len(calls), 'unknown model id')} "
            f"({', '.join(shown)}): {len(PROFILES)} rules of single models were not asked.   "
            "Known ids: converse-harness docs rules models"
        )
