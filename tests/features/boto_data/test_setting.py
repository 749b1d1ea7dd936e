"""The ini setting `converse_boto_data`: what a run keeps, prints and restores, and what it does not import."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.nested import OURS, XDIST

WATCH = """
import atexit
import sys

LATE = "botocore" not in sys.modules


def is_original():
    import botocore.loaders as loaders
    read, listed = loaders.JSONFileLoader.load_file, loaders.Loader.list_available_services
    # botocore caches the list with a decorator that hides the function
    codes = read.__code__, listed.__closure__[0].cell_contents.__code__
    return [code.co_filename for code in codes] == [loaders.__file__] * 2


@atexit.register
def at_the_end():
    imported = sorted(name for name in sys.modules if name == "botocore" or ".boto_data" in name)
    print("imported:", *imported)
    if imported:
        print("restored:", is_original())
"""


@pytest.fixture
def watched(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose runs print in the end what was imported, and whether botocore is as it was."""
    project.makeconftest(WATCH)
    return project


def test_a_run_without_botocore_imports_nothing(watched: pytest.Pytester) -> None:
    watched.makepyfile("def test_it(): pass")
    result = watched.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["imported:"])


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(("setting", "parsed"), [("", 1), ("session", 1), ("off", 2)])
def test_data_are_kept_to_the_end_of_the_run(watched: pytest.Pytester, setting: str, parsed: int, early: bool) -> None:
    """Whether pytest has imported botocore before it knows the settings, or a test imports it."""
    watched.makepyfile(
        early="import botocore.loaders",
        test_it=f"""
        def test_it(monkeypatch):
            from botocore import loaders
            read = []

            def opened(path, mode):
                read.append(path)
                return open(path, mode)

            monkeypatch.setitem(loaders._JSON_OPEN_METHODS, ".json", opened)
            assert loaders.Loader().load_data("_retry") == loaders.Loader().load_data("_retry")
            assert len(read) == {parsed}
        """,
    )
    watched.makeini(f"[pytest]\nconverse_boto_data = {setting}" if setting else "[pytest]")
    result = watched.runpytest_subprocess(*(("-p", "early") if early else ()))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["imported: *botocore*", "restored: True"])


def test_an_inner_run_leaves_the_data_to_the_outer_run(watched: pytest.Pytester) -> None:
    watched.makepyfile(
        """
        import botocore.loaders

        def test_outer(pytester):
            botocore.outer = botocore.loaders.JSONFileLoader.load_file
            pytester.makepyfile(
                "import botocore.loaders\\n"
                "def test_inner(): assert botocore.loaders.JSONFileLoader.load_file is botocore.outer"
            )
            pytester.runpytest_inprocess("-p", "converse_harness.plugin").assert_outcomes(passed=1)
            assert botocore.loaders.JSONFileLoader.load_file is botocore.outer
        """
    )
    result = watched.runpytest_subprocess("-p", "pytester")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["restored: True"])


@pytest.fixture
def timed(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with three tests that read data, in which a file takes a second of CPU."""
    monkeypatch.setattr(time, "thread_time", itertools.count().__next__)
    project.makeini("[pytest]\nconverse_boto_data = off")
    project.makepyfile(
        """
        import pytest
        from botocore.loaders import Loader

        Loader().load_data("_retry")

        @pytest.fixture
        def loader(): return Loader()

        def test_none(): pass
        def test_one(loader): loader.load_data("_retry")
        def test_two(loader): [loader.load_data("_retry") for _ in range(2)]
        def test_three():
            Loader().load_data("_retry")
            Loader().load_data("_retry")
            assert False
        """
    )
    return project


LINE = "converse-harness: in * test*, new sessions of botocore read its data files: *"
SAID = (
    "converse-harness: in 3 tests, new sessions of botocore read its data files: 4.0 s of CPU. With "
    "`converse_boto_data = session`, they are read once in a run."
)


def test_the_summary_states_the_cost(timed: pytest.Pytester) -> None:
    result = timed.runpytest()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([SAID])


@pytest.mark.parametrize(
    "arguments",
    [("-q",), ("-k", "test_none or test_three"), ("-o", "converse_boto_data=session")],
    ids=["quiet", "one test", "kept"],
)
def test_the_summary_states_no_cost(timed: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    """For `-q`, or if the others read nothing, or if nothing is read again."""
    timed.runpytest(*arguments).stdout.no_fnmatch_line(LINE)


def test_the_summary_is_for_more_than_a_second(timed: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "thread_time", itertools.count(step=0.2).__next__)
    timed.runpytest().stdout.no_fnmatch_line(LINE)


def test_the_summary_of_workers(timed: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join([*OURS, *XDIST]))
    timed.makeconftest("import itertools, time\ntime.thread_time = itertools.count().__next__")
    result = timed.runpytest("-n", "2")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([SAID])


def test_a_setting_that_is_none(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nconverse_boto_data = on")
    result = project.runpytest()
    result.stderr.fnmatch_lines(["*converse_boto_data = on: one of session, off.*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
