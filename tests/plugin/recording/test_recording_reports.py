"""The report about recordings at the end of a run, and the recordings of tests that did not pass."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.upstream import ACCOUNT, Upstream

ENDS = """
import pytest
from agent import ask

pytestmark = pytest.mark.converse_recording

def test_passes():
    ask("a")

def test_fails():
    ask("a")
    assert False

def test_skips():
    ask("a")
    pytest.skip("not here")

@pytest.mark.xfail
def test_expected():
    ask("a")
    assert False

@pytest.mark.xfail(strict=True)
def test_unexpected():
    ask("a")

@pytest.fixture
def broken():
    ask("a")
    raise ValueError("setup")

def test_setup(broken):
    pass

@pytest.fixture
def falls_apart():
    yield
    ask("b")
    raise ValueError("teardown")

def test_teardown(falls_apart):
    ask("a")

def test_silent():
    pass
"""

FAILED = ["test_fails", "test_setup", "test_skips", "test_teardown", "test_unexpected"]


def test_what_did_not_pass_goes_aside(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=ENDS)
    result = upstream.record()
    result.assert_outcomes(passed=3, failed=2, skipped=1, xfailed=1, errors=2)
    assert upstream.files == sorted(
        [f"test_a/{name}.failed.jsonl" for name in FAILED] + ["test_a/test_expected.jsonl", "test_a/test_passes.jsonl"]
    )
    assert upstream.questions("test_a/test_teardown.failed.jsonl") == ["a", "b"]
    result.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/test_a/test_expected.jsonl (1 exchange)",
            "converse-harness: wrote recordings/test_a/test_fails.failed.jsonl (1 exchange): *::test_fails did not *",
            "converse-harness: wrote recordings/test_a/test_passes.jsonl (1 exchange)",
            "converse-harness: wrote recordings/test_a/test_setup.failed.jsonl (1 exchange): *",
            "converse-harness: wrote recordings/test_a/test_skips.failed.jsonl (1 exchange): *",
            "converse-harness: wrote recordings/test_a/test_teardown.failed.jsonl (2 exchanges): *",
            "converse-harness: wrote recordings/test_a/test_unexpected.failed.jsonl (1 exchange): *",
        ]
    )
    replayed = upstream.replay("-k", "fails or expected")
    replayed.assert_outcomes(failed=1, xfailed=2, deselected=5)
    replayed.stdout.fnmatch_lines(
        ["E*recordings/test_a/test_fails.failed.jsonl: a test that did not pass recorded it. Rename it if *"]
    )


def test_or_is_written_all_the_same_or_dropped(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=ENDS)
    written = upstream.record("--converse-record-failed=write", "-k", "fails")
    assert upstream.files == ["test_a/test_fails.jsonl"]
    written.stdout.fnmatch_lines(
        ["converse-harness: wrote recordings/test_a/test_fails.jsonl (1 exchange): test_a.py::test_fails did not pass"]
    )
    (upstream.project.path / "recordings/test_a/test_fails.jsonl").unlink()
    upstream.project.makeini("[pytest]\nconverse_record_failed = drop\n")
    dropped = upstream.record("-k", "fails")
    assert upstream.files == []
    dropped.stdout.fnmatch_lines(["converse-harness: dropped 1 exchange of test_a.py::test_fails, which did not pass"])


def test_a_failure_leaves_what_was_there(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a=ENDS.replace("def test_fails():\n    ask(", "def test_fails():\n    ask(ANSWER, ")
    )
    path = upstream.project.path / "test_a.py"
    path.write_text(ENDS.replace("assert False", "assert True"))
    upstream.record("-k", "fails").assert_outcomes(passed=1, deselected=7)
    path.write_text(ENDS.replace('ask("a")', 'ask("new")'))
    upstream.record("-k", "fails", mode="all").assert_outcomes(failed=1, deselected=7)
    assert upstream.questions("test_a/test_fails.jsonl") == ["a"]
    assert upstream.questions("test_a/test_fails.failed.jsonl") == ["new"]


INTERRUPTED = """
import pytest
from agent import ask

pytestmark = pytest.mark.converse_recording

def test_first():
    ask("a")

def test_second():
    ask("b")
    raise KeyboardInterrupt

def test_third():
    ask("c")
"""


@pytest.mark.parametrize("how", ["KeyboardInterrupt", pytest.param("pytest.exit('enough')", marks=pytest.mark.slow)])
def test_an_interrupt_keeps_what_was_recorded(upstream: Upstream, how: str) -> None:
    upstream.project.makepyfile(
        test_a=INTERRUPTED.replace("raise KeyboardInterrupt", how if "(" in how else f"raise {how}")
    )
    result = upstream.record(no_reraise_ctrlc=True)
    assert upstream.files == ["test_a/test_first.jsonl", "test_a/test_second.failed.jsonl"]
    result.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/test_a/test_first.jsonl (1 exchange)",
            "converse-harness: wrote recordings/test_a/test_second.failed.jsonl (1 exchange): * did not pass",
        ]
    )


@pytest.mark.slow
def test_an_interrupted_worker_of_xdist_tells_it_once(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=INTERRUPTED)
    result = upstream.record("-n", "1", apart=True)
    said = [line for line in result.outlines if line.startswith("converse-harness: wrote")]
    assert len(said) == len(set(said)) == len(upstream.files)
    assert "test_a/test_second.failed.jsonl" in upstream.files


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_a_killed_run_keeps_what_finished_tests_recorded(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a=INTERRUPTED.replace("raise KeyboardInterrupt", "import os; os.kill(os.getpid(), 9)")
    )
    environ = {
        **os.environ,
        **ACCOUNT,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": upstream.service.url,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    command = [sys.executable, "-m", "pytest", "-p", "converse_harness.plugin", "--converse-record=once"]
    killed = subprocess.run(command, cwd=upstream.project.path, env=environ, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert upstream.files == ["test_a/test_first.jsonl", "test_a/test_second.unfinished.jsonl"]
    assert upstream.questions("test_a/test_first.jsonl") == ["a"]
    assert upstream.questions("test_a/test_second.unfinished.jsonl") == ["b"]
    played = upstream.project.runpytest("-k", "second")
    played.assert_outcomes(failed=1, deselected=2)
    played.stdout.fnmatch_lines(["E*recordings/test_a/test_second.unfinished.jsonl: a recorder that was killed left *"])
    upstream.project.makepyfile(test_a=INTERRUPTED.replace("raise KeyboardInterrupt", "pass"))
    again = upstream.record("-k", "second")
    again.assert_outcomes(passed=1, deselected=2)
    again.stdout.fnmatch_lines(
        ["converse-harness: recordings/test_a/test_second.unfinished.jsonl is what a recorder left *: 1 call, not in *"]
    )
    assert upstream.questions("test_a/test_second.unfinished.jsonl") == ["b"]


@pytest.mark.skipif(os.name != "posix", reason="files are locked in another way")
def test_a_test_that_another_process_records_is_told_before_it_asks(upstream: Upstream) -> None:
    import fcntl

    upstream.project.makepyfile(test_a=INTERRUPTED.replace("raise KeyboardInterrupt", "pass"))
    journal = upstream.project.path / "recordings" / "test_a" / "test_second.unfinished.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('{"by": "converse-harness 0.1.0, process 4711"}\n')
    with journal.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = upstream.record("-k", "second")
    result.assert_outcomes(errors=1, deselected=2)
    result.stdout.fnmatch_lines(["*test_second.jsonl is being recorded by process 4711; *"])
    assert upstream.service.calls == []


def test_where_it_cannot_be_written_the_test_has_an_error(upstream: Upstream, tmp_path: Path) -> None:
    upstream.project.makepyfile(test_a=ENDS)
    (upstream.project.path / "recordings").write_text("mine")
    result = upstream.record("-k", "passes or teardown")
    result.assert_outcomes(passed=2, errors=2, deselected=6)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_passes*",
            "recordings/test_a/test_passes.jsonl could not be written (*); what was there is as it was. *",
            "converse-harness: recordings/test_a/test_teardown.failed.jsonl could not be written (*",
        ]
    )


USED = """
import pytest
from agent import ask
from converse_harness import fake_converse, recording

@pytest.mark.converse_recording
def test_marked():
    ask("a")

@pytest.mark.parametrize("number", range(4))
@pytest.mark.converse_recording
def test_many(number):
    ask(f"{number}")

def test_opens():
    with fake_converse(recording("recordings/opened.jsonl")):
        ask("a")

def test_unmarked():
    pass
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs the recordings keeps them for the others."""
    return tmp_path_factory.mktemp("kept") / "recordings"


@pytest.fixture
def recorded(upstream: Upstream, kept: Path) -> Upstream:
    """A project with recordings that are used, and three that are not."""
    upstream.project.makepyfile(test_a=USED, test_b="def test_b(): pass")
    upstream.project.makeini("[pytest]")
    root = upstream.project.path / "recordings"
    if not kept.exists():
        upstream.record("-k", "marked or many").assert_outcomes(passed=6, deselected=2)
        shutil.copytree(root, kept)
    shutil.copytree(kept, root, dirs_exist_ok=True)
    text = (root / "test_a" / "test_marked.jsonl").read_text(encoding="utf-8")
    for name in ("opened", "test_a/old", "test_a/test_marked.failed"):
        (root / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (root / "notes.jsonl").write_text('{"not": "a recording"}\n')
    return upstream


REPORT = """
converse-harness: 2 recordings are not used by any test:
    recordings/test_a/old.jsonl
    recordings/test_a/test_marked.failed.jsonl (a test that did not pass recorded it)
""".strip().splitlines()


@pytest.mark.parametrize(
    "workers",
    [
        (),
        ("-n", "1"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (("-n", "4"), ("-n", "2", "--dist=loadfile"))),
    ],
)
def test_unused_recordings_are_reported_once(recorded: Upstream, workers: tuple[str, ...]) -> None:
    result = recorded.replay(*workers)
    result.assert_outcomes(passed=8)
    said = [line for line in result.outlines if "recordings/" in line or "converse-harness:" in line]
    assert said == REPORT


@pytest.mark.parametrize(
    "args",
    [
        ("-k", "test"),
        ("-m", "not slow"),
        ("--lf",),
        ("--deselect", "test_a.py::test_unmarked"),
        ("--ignore", "test_b.py"),
        ("test_a.py",),
        ("test_a.py::test_marked", "test_b.py"),
        ("--stepwise",),
    ],
    ids=" ".join,
)
def test_nothing_is_said_where_it_cannot_be_known(recorded: Upstream, args: tuple[str, ...]) -> None:
    recorded.replay(*args).stdout.no_fnmatch_line("*not used by any test*")


@pytest.mark.parametrize("args", [(), (".",), ("--ff",), ("test_a.py", "test_b.py")], ids=" ".join)
def test_all_that_testpaths_name_is_all(recorded: Upstream, args: tuple[str, ...]) -> None:
    recorded.project.makeini("[pytest]\ntestpaths = test_*.py")
    recorded.replay(*args).stdout.fnmatch_lines(REPORT)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("import no_such_module", ("--continue-on-collection-errors",)),
        ("import pytest\npytest.importorskip('no_such_module')", ()),
        ("def test_x(): assert 0", ("-x",)),
    ],
    ids=["error", "skipped module", "-x"],
)
@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["", "xdist"])
def test_nor_where_tests_could_not_be_collected_or_run(
    recorded: Upstream, text: str, args: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    recorded.project.makepyfile(test_0=text)
    recorded.replay(*args, *workers).stdout.no_fnmatch_line("*not used by any test*")


def test_nor_where_a_plugin_takes_tests_away(recorded: Upstream) -> None:
    recorded.project.makeconftest("def pytest_collection_modifyitems(items): del items[0]")
    result = recorded.replay()
    result.assert_outcomes(passed=7)
    result.stdout.no_fnmatch_line("*not used by any test*")


@pytest.mark.slow
def test_nor_where_a_worker_crashed(recorded: Upstream) -> None:
    recorded.project.makepyfile(test_0="import os\ndef test_x(): os._exit(1)")
    result = recorded.replay("-n", "2", "--max-worker-restart=0")
    result.stdout.no_fnmatch_line("*not used by any test*")


@pytest.mark.parametrize("workers", ["1", pytest.param("4", marks=pytest.mark.slow)])
def test_recording_under_xdist(upstream: Upstream, workers: str) -> None:
    upstream.project.makepyfile(test_a=USED, test_b=USED)
    result = upstream.record("-n", workers, "-k", "marked or many")
    result.assert_outcomes(passed=12)
    said = [line for line in result.outlines if line.startswith("converse-harness: wrote")]
    files = [
        f"test_{module}/{test}.jsonl"
        for module in "ab"
        for test in [*(f"test_many[{n}]" for n in range(4)), "test_marked"]
    ]
    assert said == [f"converse-harness: wrote recordings/{file} (1 exchange)" for file in files]
    assert upstream.files == files
    assert [upstream.questions(f"test_a/test_many[{number}].jsonl") for number in range(4)] == [
        [str(number)] for number in range(4)
    ]
    if workers != "1":
        upstream.replay("-n", workers, "-k", "marked or many").assert_outcomes(passed=12)


@pytest.mark.parametrize("args", [(), ("-k", "trip"), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_unplayed_exchanges_are_reported_for_a_test_that_passed(upstream: Upstream, args: tuple[str, ...]) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording
        def test_trip():
            for question in QUESTIONS:
                ask(question)

        QUESTIONS = "abc"
        """
    )
    upstream.record().assert_outcomes(passed=1)
    path = upstream.project.path / "test_a.py"
    path.write_text(path.read_text().replace('"abc"', '"b"'))
    result = upstream.replay(*args)
    result.assert_outcomes(passed=1)
    file = "recordings/test_a/test_trip.jsonl"
    said = [line for line in result.outlines if line.startswith("converse-harness")]
    assert said == [
        f"converse-harness: test_a.py::test_trip left 2 of 3 recorded exchanges unplayed: {file}:3, {file}:9"
    ]
    path.write_text(path.read_text().replace("ask(question)", "raise ValueError"))
    upstream.replay().stdout.no_fnmatch_line("*exchanges unplayed*")


def test_what_a_failed_test_recorded_is_removed_when_it_passes(upstream: Upstream) -> None:
    text = """
    import pytest
    from agent import ask

    @pytest.mark.converse_recording
    def test_trip():
        assert ask("a") == ANSWER
    """
    name = "test_a/test_trip"
    for answer, files in ("'b'", [f"{name}.failed.jsonl"]), ("'a!'", [f"{name}.jsonl"]):
        upstream.project.makepyfile(test_a=text.replace("ANSWER", answer))
        upstream.record()
        assert upstream.files == files
    upstream.project.makepyfile(test_a=text.replace("ANSWER", "'b'"))
    upstream.record(mode="all")
    assert upstream.files == [f"{name}.failed.jsonl", f"{name}.jsonl"]


def test_the_end_of_the_run_names_the_line_of_gitignore(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording
        def test_fails():
            ask("a")
            assert 0
        """
    )
    line = "converse-harness: a line *.failed.jsonl in .gitignore keeps what failed tests recorded out of commits"
    assert line in upstream.record().outlines
    (upstream.project.path / ".gitignore").write_text("*.failed.jsonl\n")
    assert line not in upstream.record().outlines
