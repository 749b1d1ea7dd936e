"""Register the hooks that only some options of the command line need. They are imported only for these options."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def attach(config: pytest.Config, stack: ExitStack) -> None:
    """Register the hooks of the options that are given, until `stack` is closed.

    Raises UsageError for an option with an invalid value.
    """
    if (chaos := config.getoption("converse_chaos")) is not None:
        from converse_harness.plugin.chaos import Chaos

        config.pluginmanager.register(Chaos(config, chaos), "converse_chaos")
    if any(config.getoption(f"converse_{name}") for name in ("as", "as_strict")):
        from converse_harness.plugin.rehearsal import rehearse

        stack.enter_context(rehearse(config))
    if (file := config.getoption("converse_report")) is not None:
        from converse_harness.plugin.html_report import report_to

        stack.enter_context(report_to(config, file))
