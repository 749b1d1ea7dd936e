"""The hooks of `--converse-drift`: after the tests, the requests of the recordings that they played are asked again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from converse_harness.cli.terminal import plain
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.drift.report import DriftReport, requests_of
from converse_harness.plugin.recording.owners import shown
from converse_harness.plugin.recording.tally import TALLY, Tally
from converse_harness.server.http.upstream import Upstream

_ENDPOINT: Final = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
"""The variable with which the tests of a run are recorded from another endpoint."""


class DriftHooks:
    """The hooks that list, at the end of a run, how the service has drifted from the recordings that were played."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Ask the requests again, and print what has drifted. No line fails the run."""
        terminalreporter.section("converse-harness: drift of the service")
        for line in self._lines():
            terminalreporter.write_line(plain(line))

    def _lines(self) -> Iterator[str]:
        tally: Tally | None = self._config.pluginmanager.get_plugin(TALLY)
        paths = [] if tally is None else sorted(map(Path, tally.facts().opened))
        if tally is None or not paths:
            yield "No test played a recording."
            return
        try:
            report = DriftReport(lambda: Upstream(os.environ.get(_ENDPOINT), None), tally.redaction)
            for request in requests_of([path for path in paths if path.exists()], partial(shown, self._config)):
                yield from report.ask(request)
            yield from report.summary()
        except (ConverseHarnessError, OSError) as error:
            yield f"Whether the service has drifted is not known: {error}"
