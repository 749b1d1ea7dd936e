"""The hooks of `--converse-used`, which write the file that `converse-harness prune` reads."""

from __future__ import annotations

import pytest

from converse_harness.features.unused.unused import Use, write_use
from converse_harness.plugin.recording.tally import TALLY, Tally
from converse_harness.plugin.settings import folder


class UsedHooks:
    """The hooks that write which recordings the tests of a run use."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._path = config.invocation_params.dir / str(config.getoption("converse_used"))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self) -> None:
        """Write the file, unless the project has no recordings and the run writes none."""
        tally: Tally | None = self._config.pluginmanager.get_plugin(TALLY)
        if tally is not None:
            write_use(self._path, self._use(tally))

    def _use(self, tally: Tally) -> Use:
        facts, unused = tally.facts(), tally.unused()
        # Leave out a file that other code played as well: it is unknown which exchanges that code used.
        left = {path: runs for path, runs in facts.left.items() if len(runs) == facts.opened[path]}
        failed = {test for test, outcomes in tally.outcomes.items() if "failed" in outcomes}
        skipped = {test for test, outcomes in tally.outcomes.items() if "skipped" in outcomes}
        return Use(
            self._config.rootpath,
            folder(self._config),
            unused.why_unknown() or ("" if tally.outcomes else "no test ran"),
            sorted(failed),
            sorted(skipped - failed),
            [*map(str, unused.recordings(failed=True))],
            {path: sorted(set(runs[0]).intersection(*runs)) for path, runs in left.items()},
        )
