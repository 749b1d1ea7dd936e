"""The tiers of this suite: what runs when nobody asks for more, and what is too slow for that."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.tiers import AGAIN

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = """
import pytest

def test_plain():
    pass

@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_slow(n):
    pass

@pytest.mark.nightly
@pytest.mark.slow
def test_nightly():
    pass
"""


@pytest.fixture(autouse=True)
def _project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    # Of what runs this test: its CI, its second run, and coverage, which stops the clock.
    for name in ("CI", AGAIN, "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest("pytest_plugins = ['tests.tiers']")
    pytester.makepyfile(test_it=TESTS)


@pytest.mark.parametrize(
    ("arguments", "passed", "left_out"),
    [
        ((), 1, "2 slow and 1 nightly"),
        (("--tier", "slow"), 3, "1 nightly"),
        (("--tier", "nightly"), 4, ""),
        (("-m", "slow"), 3, ""),
        (("test_it.py",), 1, "2 slow and 1 nightly"),
        (("test_it.py::test_slow",), 2, ""),
        (("test_it.py::test_slow[2]", "test_it.py::test_plain"), 2, ""),
        pytest.param(("-n", "2", "-p", "xdist"), 1, "2 slow and 1 nightly", marks=pytest.mark.slow),
    ],
)
def test_what_runs_and_what_is_left_out(
    arguments: tuple[str, ...], passed: int, left_out: str, pytester: pytest.Pytester
) -> None:
    result = pytester.runpytest_inprocess(*arguments)
    result.assert_outcomes(passed=passed, deselected=4 - passed if left_out or "-m" in arguments else 0)
    assert (f"Left out: {left_out} (--tier" in result.stdout.str()) is bool(left_out)
    assert ("Left out" in result.stdout.str()) is bool(left_out)


@pytest.mark.slow
def test_under_ci_a_test_that_is_too_slow_twice_fails_the_run_by_name(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(
        """
        from tests import tiers

        tiers.MOST_CPU = 0.2
        tiers._warm = lambda: None
        pytest_plugins = ['tests.tiers']
        """
    )
    pytester.makepyfile(
        test_it="""
        import subprocess, sys, time
        from pathlib import Path
        import pytest

        def compute():
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass

        def test_always():
            compute()

        def test_by_a_child():
            subprocess.run([sys.executable, "-c", "import test_it; test_it.compute()"], check=True)

        def test_once():
            if not Path("ran").exists():
                Path("ran").touch()
                compute()

        @pytest.mark.slow
        def test_slow():
            compute()
        """
    )
    arguments = ("-p", "no:cacheprovider", "-o", "pythonpath=.", "-m", "slow or not slow")
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.OK
    Path("ran").unlink()
    monkeypatch.setenv("CI", "true")
    result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=4)
    told = [line for line in result.outlines if line.startswith("TOO SLOW")]
    assert [line.partition(": ")[0] for line in told] == [
        "TOO SLOW test_it.py::test_always",
        "TOO SLOW test_it.py::test_by_a_child",
    ]
