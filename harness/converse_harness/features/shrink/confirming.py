"""Run one test in a fresh process with a printed script, to see whether it fails in the same way there.

`python -m converse_harness.features.shrink.confirming TASK` is this process. TASK is a file of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.features.shrink.scripts import replies_of
from converse_harness.plugin.reruns.failure import HANGS, Failure
from converse_harness.plugin.reruns.finished import finished_tests
from converse_harness.plugin.reruns.other_script import OtherScript
from converse_harness.settings import SETTINGS
from converse_harness.user_lines import UserLine

_PATIENCE: Final = 20.0
"""The number of seconds that a fresh process has in addition to the duration of the test."""

_TIMED_OUT: Final = Failure("", None, "", HANGS)


def failure_with(item: pytest.Item, script: str, patience: int, seconds: float) -> Failure | None:
    """Return how the test fails in a fresh process in which its script is this line of code; None if it passes there.

    `seconds` is the duration of the test in this process. Raises OSError if no process can be started, and ValueError
    if the process does not run the test.
    """
    with tempfile.TemporaryDirectory() as folder:
        task, out = Path(folder, "task.json"), Path(folder, "failure.json")
        arguments = [*_options(item.config), f"{item.path}::{item.nodeid.partition('::')[2]}"]
        given = {"arguments": arguments, "script": script, "patience": patience, "out": str(out)}
        task.write_text(json.dumps(given), encoding="utf-8", newline="\n")
        command = [sys.executable, "-m", __name__, str(task)]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_XDIST", "COV_"))}
        environ.pop("PYTEST_ADDOPTS", None)
        # what pytest or the tests put on the path of this process is there too
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        with tempfile.TemporaryFile() as said:
            try:
                subprocess.run(
                    command,
                    cwd=item.config.invocation_params.dir,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    timeout=_PATIENCE + seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return _TIMED_OUT
            if not out.exists():
                said.seek(0)
                last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
                raise ValueError(last or "it ended without a word")
        told = json.loads(out.read_text(encoding="utf-8"))
        if told is None:
            return None
        kind, line, when, hang, text = told
        return Failure(kind, None if line is None else UserLine(*line), when, hang, text)


def _options(config: pytest.Config) -> Iterator[str]:
    """Yield the options of this run that matter for one test: the settings, and no option that writes a file."""
    yield from ("-q", "-p", "no:cacheprovider", "-o", "addopts=", f"--rootdir={config.rootpath}")
    if config.inipath is not None:
        yield f"--config-file={config.inipath}"
    for plugin in config.option.plugins:
        yield from ("-p", plugin)
    for setting in config.option.override_ini or ():
        yield from ("-o", setting)
    yield f"--import-mode={config.getoption('importmode')}"
    for name, setting in SETTINGS.items():
        given = config.getoption(f"converse_{name}", None) if "option" in setting.where else None
        if given is not None:
            yield f"--converse-{name.replace('_', '-')}={given}"


class _Outcome:
    """A plugin of the fresh process: answers the tests from the script, and writes how the first one fails."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._until = ExitStack()

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        finished_tests(config).patience = self._given["patience"]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        finished = finished_tests(item.config)
        with finished.answered_from(OtherScript(replies_of(self._given["script"]))):
            result = yield
        failure = finished.failures.get(item.nodeid)
        Path(self._given["out"]).write_text(json.dumps(failure), encoding="utf-8", newline="\n")
        return result


def main(path: str) -> int:
    """Run the task in the file; return pytest's exit code."""
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    return int(pytest.main(given["arguments"], plugins=[_Outcome(given)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
