"""Where the recording of a test is: names that every file system has, and no two tests by accident."""

import re
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import ReplyError
from converse_harness.recordings.names import LONGEST, failed_path, given_path, path_of_test
from tests.house.file_names import DEVICE, wrong

SAFE = re.compile(r"[A-Za-z0-9_,+=@()\[\]~-]([A-Za-z0-9_.,+=@()\[\]~-]*[A-Za-z0-9_,+=@()\[\]~-])?")


def name_of(name: str, *classes: str, has_twin: bool = False) -> str:
    return path_of_test(["test_trips.py"], classes, name, has_twin=has_twin).name


def test_what_every_file_system_has_stays_as_it_is() -> None:
    assert (
        str(path_of_test(["tests", "unit", "test_trips.py"], [], "test_trip"))
        == "tests/unit/test_trips/test_trip.jsonl"
    )
    assert name_of("test_trip", "TestTrain", "TestNight") == "TestTrain.TestNight.test_trip.jsonl"
    assert name_of("test_trip[a-1.5-True-None]") == "test_trip[a-1.5-True-None].jsonl"
    assert name_of("test_trip[Bern]") == "test_trip[Bern].jsonl"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("test_trip[us.amazon.nova-lite-v1:0]", "test_trip[us.amazon.nova-lite-v1_0]~"),
        ("test_trip[a/b]", "test_trip[a_b]~"),
        ("test_trip[a\\b]", "test_trip[a_b]~"),
        ("test_trip[../../x]", "test_trip[.._.._x]~"),
        ("test_zürich", "test_z_rich~"),
        ("con", "con_~"),
        ("test_" + "x" * 300, "test_xxx"),
    ],
)
def test_what_is_changed_or_cut_has_a_hash(name: str, file: str) -> None:
    made = name_of(name)
    assert made.startswith(file)
    assert re.search(r"~[0-9a-f]{8}\.jsonl$", made)


def test_folders_outside_the_root_stay_inside_the_recordings() -> None:
    parts = path_of_test(["..", "..", "elsewhere", "test_a.py"], [], "test_x").parts
    assert ".." not in parts
    assert parts[2:] == ("elsewhere", "test_a", "test_x.jsonl")


PARTS = st.text(min_size=1) | st.from_regex(DEVICE, fullmatch=True) | st.from_regex(r"[^/]*[. ]", fullmatch=True)


@given(st.lists(PARTS, min_size=1, max_size=3), PARTS)
def test_every_name_is_safe(module: list[str], name: str) -> None:
    for part in path_of_test(module, [], name).parts:
        assert SAFE.fullmatch(part)
        assert len(part.encode()) <= LONGEST
        assert not wrong(part)


@given(st.text("aAbB[]-:/ ", min_size=1), st.text("aAbB[]-:/ ", min_size=1))
def test_two_tests_have_two_files_where_capitals_do_not_count(one: str, two: str) -> None:
    has_twin = one != two and one.lower() == two.lower()
    files = [name_of(each, has_twin=has_twin).lower() for each in (one, two)]
    assert (files[0] == files[1]) == (one == two)


def test_a_given_name_is_a_path_below_the_folder() -> None:
    assert given_path("trip") == given_path("trip.jsonl") == PurePosixPath("trip.jsonl")
    assert given_path("alps/day 1".replace(" ", "_")) == PurePosixPath("alps/day_1.jsonl")
    assert failed_path(Path("a/trip.jsonl")) == Path("a/trip.failed.jsonl")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (7, "the name of a recording is a string"),
        ("", "it has an empty part"),
        ("/etc/passwd", "it has an empty part"),
        ("a//b", "it has an empty part"),
        ("a/", "it has an empty part"),
        ("../secrets", '".." would leave its place'),
        ("a/../../b", '".." would leave its place'),
        ("./a", '"." would leave its place'),
        ("a\\b", r"'\\' is not allowed"),
        ("C:/trip", "':' is not allowed"),
        ("zürich", "'ü' is not allowed"),
        ("a\0b", r"'\x00' is not allowed"),
        ("a b", "' ' is not allowed"),
        (".hidden", "'.hidden' is not allowed"),
        ("a./b", "'a.' is not allowed"),
        ("nul", "'nul' is not allowed"),
        ("x" * 195, "'xxxxxxxxxxxxxxxxxxxx'... has 201 bytes with its suffix"),
        ("trip.failed", "so ends a file that no test plays"),
        ("trip.failed.jsonl", "so ends a file that no test plays"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: object, problem: str) -> None:
    with pytest.raises(ReplyError) as raised:
        given_path(name)
    assert str(raised.value).startswith(f"converse_recording({name!r}): {problem}")
    assert "A name is a path below the folder of recordings: parts of A-Z a-z 0-9 _ - . , + = @ ( ) [ ]" in str(
        raised.value
    )
