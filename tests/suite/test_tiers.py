"""The tiers of this suite: what runs when nobody asks for more, and what is too slow for that."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests import seconds
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
    # Of what runs this test: its CI, its second run, what it takes, and coverage, which stops the clock.
    for name in ("CI", AGAIN, seconds.FILE, "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
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


@pytest.mark.needs_os
@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2", "-p", "xdist"), marks=pytest.mark.slow)])
def test_a_run_writes_what_its_tests_took_by_tier_and_file(
    workers: tuple[str, ...], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(seconds.FILE, "took.json")
    # By the clock that measures it: another one, as time.process_time, may differ by a tick at either end.
    pytester.makepyfile(
        test_other="""
        import os, pytest

        @pytest.mark.slow
        def test_it():
            end = sum(os.times()[:4]) + 0.1
            while sum(os.times()[:4]) < end:
                pass
        """
    )
    assert pytester.runpytest_inprocess("--tier", "slow", *workers).ret == pytest.ExitCode.OK
    took = seconds.read([Path("took.json")])
    assert {tier: sorted(files) for tier, files in took.items()} == {
        "default": ["test_it.py"],
        "slow": ["test_it.py", "test_other.py"],
    }
    assert took["slow"]["test_other.py"] > 0.09


def test_a_folder_beyond_its_budget_is_named() -> None:
    budget = seconds.BUDGETS["tests/stream"]
    files = {"tests/stream/a.py": budget - 1.0, "tests/stream/b.py": 0.5, "tests/new/c.py": 0.5}
    assert seconds.over({"default": files}) == ["tests/new took 0 s of CPU; its budget is 0 s"]
    assert seconds.over({"default": {**files, "tests/stream/d.py": 1.0}})[1:] == [
        f"tests/stream took {budget + 0.5:.0f} s of CPU; its budget is {budget} s"
    ]
    assert seconds.over({"slow": {"tests/stream/a.py": budget + 1.0}}) == []


def test_a_file_runs_in_one_half_and_what_may_differ_by_python_in_both(pytester: pytest.Pytester) -> None:
    names = [f"test_{number}.py" for number in range(40)]
    for folder in ("tests/server", "tests/other"):
        Path(folder).mkdir(parents=True)
        for name in names:
            Path(folder, name).write_text("def test_it():\n    pass\n", encoding="utf-8")
    pytester.makeconftest("pytest_plugins = ['tests.halves']")
    ran = {}
    for half in "12":
        result = pytester.inline_run("--half", half, "tests", "--import-mode=importlib")
        ran[half] = {report.nodeid.partition("::")[0] for report in result.getreports("pytest_runtest_logreport")}
    assert ran["1"] & ran["2"] == {f"tests/server/{name}" for name in names}
    assert ran["1"] | ran["2"] == {f"tests/{folder}/{name}" for folder in ("server", "other") for name in names}
    assert min(map(len, ran.values())) > 50
