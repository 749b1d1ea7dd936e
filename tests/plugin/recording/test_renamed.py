"""A renamed test finds its recording, and the names of recordings are those of the tests."""

from pathlib import Path

import pytest

from converse_harness.recordings.names import USED_FILES
from tests.plugin.upstream import Upstream

TRIP = """
import pytest
from agent import ask, weather

@pytest.mark.converse_recording
def test_trip():
    ask("a")

@pytest.mark.converse_recording
def test_weather():
    weather("Bern")
"""


@pytest.fixture
def trip(upstream: Upstream) -> Path:
    """The module of two recorded tests."""
    upstream.project.makepyfile(test_a=TRIP)
    upstream.project.makeini("[pytest]")
    upstream.record().assert_outcomes(passed=2)
    USED_FILES.clear()  # the next run is in the same process
    return upstream.project.path / "test_a.py"


MOVE = "git mv recordings/test_a/test_trip.jsonl recordings/test_a/test_journey.jsonl"


@pytest.mark.parametrize(
    ("question", "what", "workers"),
    [
        ("a", "a request in it is equal", ()),
        ("b", "a request in it differs *", ("-n", "1")),
        pytest.param("b", "a request in it differs *", (), marks=pytest.mark.slow),
    ],
)
def test_a_renamed_test_is_told_its_file(
    upstream: Upstream, trip: Path, workers: tuple[str, ...], question: str, what: str
) -> None:
    trip.write_text(TRIP.replace("test_trip", "test_journey").replace('ask("a")', f'ask("{question}")'))
    result = upstream.replay(*workers)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E*UnexpectedCall: call 1 has no reply: recordings/test_a/test_journey.jsonl is not there.",
            f"E*recordings/test_a/test_trip.jsonl is used by no test, and {what}. *",
            f"E*    {MOVE}",
            "converse-harness: 1 recording is not used by any test:",
            f"*/test_trip.jsonl: it matches test_a.py::test_journey, which has none; if that was renamed: {MOVE}",
        ]
    )
    (trip.parent / "recordings/test_a/test_trip.jsonl").rename(trip.parent / "recordings/test_a/test_journey.jsonl")
    upstream.replay().assert_outcomes(passed=2)


def test_so_is_one_of_a_renamed_module(upstream: Upstream, trip: Path) -> None:
    trip.rename(trip.with_name("test_b.py"))
    result = upstream.replay("test_b.py::test_trip")
    result.stdout.fnmatch_lines(
        [
            "E*recordings/test_a/test_trip.jsonl is used by no test of this run, and a request in it is equal.*",
            "E*    git mv recordings/test_a recordings/test_b",
        ]
    )


def test_a_renamed_module_is_one_command(upstream: Upstream, trip: Path) -> None:
    trip.rename(trip.with_name("test_b.py"))
    result = upstream.replay()
    command = "git mv recordings/test_a recordings/test_b"
    result.stdout.fnmatch_lines(
        [
            f"E*    {command}",
            f"*/test_trip.jsonl: it matches test_b.py::test_trip, which has none; if that was renamed: {command}",
            "*/test_weather.jsonl: it matches test_b.py::test_weather, which has none; by the same command",
        ]
    )
    (trip.parent / "recordings/test_a").rename(trip.parent / "recordings/test_b")
    upstream.replay().assert_outcomes(passed=2)


def test_where_the_folder_is_there_each_file_moves(upstream: Upstream, trip: Path) -> None:
    trip.rename(trip.with_name("test_b.py"))
    upstream.project.mkdir("recordings/test_b")
    upstream.replay("test_b.py::test_trip").stdout.fnmatch_lines(
        ["E*    git mv recordings/test_a/test_trip.jsonl recordings/test_b/test_trip.jsonl"]
    )


@pytest.mark.parametrize("args", [("test_a.py::test_new",), ("-k", "new"), ()], ids=["one test", "by keyword", "all"])
def test_no_file_of_another_test_is_named(upstream: Upstream, trip: Path, args: tuple[str, ...]) -> None:
    """A test that asks the same is new; the recording belongs to a test that is there."""
    trip.write_text(
        TRIP + TRIP.replace("test_trip", "test_new").partition("@pytest.mark.converse_recording\ndef test_w")[0]
    )
    result = upstream.replay(*args)
    result.stdout.fnmatch_lines(["E*test_new.jsonl is not there."])
    result.stdout.no_fnmatch_line("*git mv*")


NAMES = """
import pytest
from agent import ask

@pytest.mark.converse_recording
@pytest.mark.parametrize("city", CITIES)
def test_city(city):
    ask(city)
"""


def test_parameters_keep_their_names(upstream: Upstream) -> None:
    upstream.project.makepyfile(test_a=NAMES.replace("CITIES", '["Bern", "Chur"]'))
    upstream.record().assert_outcomes(passed=2)
    assert upstream.files == ["test_a/test_city[Bern].jsonl", "test_a/test_city[Chur].jsonl"]


def test_a_recording_of_another_parameter_is_told_in_a_run_of_all_tests(upstream: Upstream) -> None:
    """An imported cassette has its name from another tool, which replaces other characters."""
    upstream.project.makepyfile(test_a=NAMES.replace("CITIES", '["a-b"]'))
    upstream.project.makeini("[pytest]")
    upstream.record().assert_outcomes(passed=1)
    USED_FILES.clear()  # the next run is in the same process
    upstream.project.makepyfile(test_a=NAMES.replace("CITIES", '["a:b"]'))
    result = upstream.replay()
    result.assert_outcomes(failed=1)
    old, new = (f'"recordings/test_a/test_city[[]{name}.jsonl"' for name in ("a-b]", "a_b]~*"))
    result.stdout.fnmatch_lines(f"E*    git mv {old} {new}")


def test_names_that_differ_in_capitals_only_are_told_apart(upstream: Upstream) -> None:
    """Also if only one of them runs: its file has the same name as in a run of all."""
    upstream.project.makepyfile(test_a=NAMES.replace("CITIES", '["Bern", "bern", "Chur"]'))
    upstream.record("test_a.py::test_city[Bern]").assert_outcomes(passed=1)
    upstream.record().assert_outcomes(passed=3)
    files = upstream.files
    assert len(upstream.service.calls) == len({file.lower() for file in files}) == len(files) == 3
    assert [file.partition("~")[0] for file in files] == [
        "test_a/test_city[Bern]",
        "test_a/test_city[Chur].jsonl",
        "test_a/test_city[bern]",
    ]
    upstream.replay("-n", "1").assert_outcomes(passed=3)


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)])
def test_a_recording_stays_when_such_a_test_comes_or_goes(upstream: Upstream, workers: tuple[str, ...]) -> None:
    project = upstream.project
    project.makepyfile(test_a=NAMES.replace("CITIES", '["Bern", "Chur"]'))
    upstream.record().assert_outcomes(passed=2)
    (project.path / "test_a.py").write_text(NAMES.replace("CITIES", '["bern", "Bern", "Chur"]'))
    upstream.record(*workers).assert_outcomes(passed=3)
    assert len(upstream.service.calls) == 3
    assert [file.partition("~")[0] for file in upstream.files] == [
        "test_a/test_city[Bern].jsonl",
        "test_a/test_city[Chur].jsonl",
        "test_a/test_city[bern]",
    ]
    upstream.record(*workers, mode="all").assert_outcomes(passed=3)
    assert len(upstream.files) == 3
    (project.path / "test_a.py").write_text(NAMES.replace("CITIES", '["bern", "Chur"]'))
    upstream.replay(*workers).assert_outcomes(passed=2)


def test_so_are_classes(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        class TestTrip:
            @pytest.mark.converse_recording
            def test_x(self):
                ask("a")

        class Testtrip:
            @pytest.mark.converse_recording
            def test_x(self):
                ask("b")
        """
    )
    upstream.record("test_a.py::TestTrip").assert_outcomes(passed=1)
    (alone,) = upstream.files
    assert "~" in alone  # as in a run of both
    upstream.record().assert_outcomes(passed=2)
    assert len(upstream.service.calls) == len({file.lower() for file in upstream.files}) == 2
