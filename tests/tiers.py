"""A pytest plugin for the tiers of the tests: the default tier always runs, the others only on request.

A test belongs to the default tier unless it is marked `slow` (it starts a process, tries all rows of a product, or
really waits) or `nightly` (a long search). These two run only if `--tier`, `-m` or the test's node id selects them.

Under CI without `--tier`, a test of the default tier that needs more than 2 s of CPU is run a second time, without the
others; if it is too slow again, the run fails. With `CONVERSE_SECONDS=FILE`, the run writes the seconds of its tests to
this file; `tests.seconds` prints them.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import find
from hypothesis import strategies as st

from tests import seconds

TIERS: Final = {
    "default": "what a person waits for: every promise, at least once",
    "slow": "a process per test, a product, real waiting",
    "nightly": "long searches, as for the smallest example",
}
NEEDS_OS: Final = "needs sockets, threads, processes or a clock of CPU, which CPython in WebAssembly lacks"
MOST_CPU: Final = 2.0
"""Seconds of CPU that a test of the default tier may need, including its child processes."""
AGAIN: Final = "CONVERSE_SLOW_AGAIN"
"""The environment variable that is set in the second run of the tests that were too slow."""

_LEFT_OUT = pytest.StashKey[Counter[str]]()
_TOO_SLOW = pytest.StashKey[dict[str, float]]()
_TOOK = pytest.StashKey[dict[str, dict[str, float]]]()
"""Seconds of CPU by tier and file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("converse-harness's own tests").addoption(
        "--tier",
        choices=TIERS,
        help="run the tests up to this tier: "
        + "; ".join(f"{tier}: {about}" for tier, about in TIERS.items())
        + ". Without it slow and nightly are left out where neither -m nor a test's node id asks for them.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for tier, about in list(TIERS.items())[1:]:
        config.addinivalue_line("markers", f"{tier}: {about}; left out unless --tier, -m or the node id asks for it")
    config.addinivalue_line("markers", f"needs_os: {NEEDS_OS}; `nox -s pyodide` leaves it out")
    config.stash[_LEFT_OUT] = Counter()
    config.stash[_TOO_SLOW] = {}
    config.stash[_TOOK] = {tier: dict[str, float]() for tier in TIERS}


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: the last tier that one of its marks names, otherwise the default tier."""
    return next((tier for tier in reversed(TIERS) if item.get_closest_marker(tier)), "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("tier")
    if tier is None and config.option.markexpr:
        return
    order = list(TIERS)
    most = order.index(tier or "default")
    asked = [] if tier else [argument for argument in config.args if "::" in argument]
    left_out = [
        item for item in items if order.index(tier_of(item)) > most and not any(_is_named(item, name) for name in asked)
    ]
    if left_out:
        config.stash[_LEFT_OUT].update(map(tier_of, left_out))
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def _is_named(item: pytest.Item, name: str) -> bool:
    """Whether `name`, a node id on the command line, is the id of this test, with or without its parameters."""
    path, _, inside = name.partition("::")
    own = item.nodeid.partition("::")[2]
    return inside in (own, own.partition("[")[0]) and item.path.match(Path(path).name)


def pytest_collection_finish(session: pytest.Session) -> None:
    if _clock_runs(session.config):
        _warm()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    before = _cpu()
    result = yield
    needed, tier = _cpu() - before, tier_of(item)
    _took(item.config, tier, item.nodeid.partition("::")[0], needed)
    if needed > MOST_CPU and tier == "default" and _clock_runs(item.config):
        item.config.stash[_TOO_SLOW][item.nodeid] = needed
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    left_out = config.stash[_LEFT_OUT]
    if hasattr(config, "workeroutput"):  # a worker of pytest-xdist sends its results to the main process
        config.workeroutput["left_out"] = dict(left_out)
        config.workeroutput["too_slow"] = config.stash[_TOO_SLOW]
        config.workeroutput["took"] = config.stash[_TOOK]
        return
    if file := os.environ.get(seconds.FILE):
        Path(file).write_text(json.dumps(config.stash[_TOOK]), encoding="utf-8")
    if file := os.environ.get(AGAIN):
        Path(file).write_text(json.dumps(config.stash[_TOO_SLOW]), encoding="utf-8")
    elif once := config.stash[_TOO_SLOW]:
        config.stash[_TOO_SLOW] = _again(once)
        if config.stash[_TOO_SLOW]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    told = getattr(node, "workeroutput", {})  # a worker that crashed has no output
    for tier, tests in told.get("left_out", {}).items():
        node.config.stash[_LEFT_OUT][tier] = tests  # every worker leaves out the same
    node.config.stash[_TOO_SLOW].update(told.get("too_slow", {}))
    for tier, files in told.get("took", {}).items():
        for file, needed in files.items():
            _took(node.config, tier, file, needed)


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    left_out = config.stash[_LEFT_OUT]
    if missing := left_out.total() - len(terminalreporter.stats.get("deselected", [])):
        # Workers of pytest-xdist do not send their deselected tests; pytest's last line prints the length of this list.
        terminalreporter.stats.setdefault("deselected", []).extend(SimpleNamespace() for _ in range(missing))
    for test, took in config.stash[_TOO_SLOW].items():
        told = f"TOO SLOW {test}: {took:.1f} s of CPU, twice; {MOST_CPU:.0f} s are allowed, or mark it slow"
        terminalreporter.write_line(told, red=True)
    if left_out:
        what = " and ".join(f"{left_out[tier]} {tier}" for tier in TIERS if left_out[tier])
        terminalreporter.write_line(f"Left out: {what} (--tier {max(left_out, key=list(TIERS).index)} runs them).")


def _again(tests: Iterable[str]) -> dict[str, float]:
    """Run slow tests again in a separate process. Return those that are too slow again, and their seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "again.json")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        environ = {**os.environ, AGAIN: str(file), seconds.FILE: ""}
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if not file.exists():
            raise pytest.UsageError(f"The second run of {', '.join(tests)} broke off:\n{ran.stdout}{ran.stderr}")
        slow: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))
        return slow


def _clock_runs(config: pytest.Config) -> bool:
    """Whether tests have a time limit: under CI, without `--tier`, and without a tracer, which slows them down."""
    traced = sys.gettrace() is not None or sys.getprofile() is not None
    return bool(os.environ.get("CI")) and config.getoption("tier") is None and not traced


def _took(config: pytest.Config, tier: str, file: str, needed: float) -> None:
    files = config.stash[_TOOK][tier]
    files[file] = files.get(file, 0) + needed


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _warm() -> None:
    """Import and compute what many tests share, so that these seconds are not counted for the first of them."""
    for name in ("boto3", "strands.models", "respx", "aiohttp", "uvicorn", "converse_strategies"):
        with suppress(ModuleNotFoundError):  # a pinned suite has only what it needs
            importlib.import_module(name)
    session = importlib.import_module("botocore.session").get_session()
    session.create_client("bedrock-runtime", region_name="us-east-1")
    find(st.text(), lambda text: True)
