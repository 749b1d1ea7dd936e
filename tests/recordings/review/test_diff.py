"""What differs between two JSON values, and `converse-harness diff` of two recordings as a person sees it."""

import base64
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.cli import main
from converse_harness.json_values import canonical, path_text
from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences, shown
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import session_of
from converse_harness.recordings.review.compare import Compared, compare
from converse_harness.stream.frames import Frame, encode
from tests.recordings.asking import body, exchange, streamed, throttled, user, write

COMMAND = Path(sys.executable).parent / "converse-harness"

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4)
)


# JSON


@given(VALUES, VALUES)
def test_nothing_differs_exactly_where_the_json_is_the_same(old: Any, new: Any) -> None:
    assert (not list(differences(old, new))) == (canonical(old) == canonical(new))
    assert not list(differences(old, deepcopy(old)))


def put(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return new
    made = deepcopy(value)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return made


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where there is a value that holds no others."""
    if isinstance(value, dict):
        return [each for key, inner in value.items() for each in paths(inner, (*path, key))]
    if isinstance(value, list):
        return [each for number, inner in enumerate(value) for each in paths(inner, (*path, number))]
    return [path]


@given(VALUES, st.data())
def test_one_change_is_one_difference_where_it_is(old: Any, data: st.DataObject) -> None:
    known = paths(old)
    if not known:
        return
    path = data.draw(st.sampled_from(known))
    new = put(old, path, "changed to this")
    (found,) = differences(old, new)
    assert (found.path, found.new) == (path, "changed to this")


@given(st.lists(LEAVES, max_size=12), st.lists(LEAVES, max_size=12), st.booleans())
def test_every_item_is_in_one_pair_and_in_its_order(old: list[Any], new: list[Any], leftovers: bool) -> None:
    pairs = aligned(old, new, leftovers=leftovers)
    assert [pair.old for pair in pairs if pair.old is not None] == list(range(len(old)))
    assert [pair.new for pair in pairs if pair.new is not None] == list(range(len(new)))
    assert all(pair != (None, None) for pair in pairs)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1.0}, [(("a",), 1, 1.0)]),
        ({"a": 1}, {"a": True}, [(("a",), 1, True)]),
        ({"a": None}, {}, [(("a",), None, ABSENT)]),
        ({"a": {}}, {"a": []}, [(("a",), {}, [])]),
        ([1, 2, 3], [2, 3], [((0,), 1, ABSENT)]),
        ([2, 3], [1, 2, 3], [((0,), ABSENT, 1)]),
        ([{"t": "a"}, {"t": "b"}], [{"t": "x"}, {"t": "b"}], [((0, "t"), "a", "x")]),
        ([{"x": 1}, {"t": "b"}], [{"t": "c"}], [((0,), {"x": 1}, ABSENT), ((0, "t"), "b", "c")]),
    ],
)
def test_differences(old: Any, new: Any, found: list[tuple[Any, ...]]) -> None:
    assert [(each.path, each.old, each.new) for each in differences(old, new)] == found


def test_what_is_gone_has_the_place_that_it_had() -> None:
    (gone, changed) = differences([{"x": 1}, {"t": "b"}], [{"t": "c"}])
    assert (gone.was, changed.was, changed.path) == ((0,), (1, "t"), (0, "t"))


def test_a_path_is_written_as_in_code() -> None:
    assert path_text((0, "a", 1, "b c")) == "[0].a[1].b c"


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ("a", "b", ('"a"', '"b"')),
        (ABSENT, {"a": "ü"}, ("", '{"a": "ü"}')),
        (None, "null", ("null", '"null"')),
        ("x" * 100, ABSENT, ('"' + "x" * 30 + '..."', "")),
        ("x" * 100 + "a", "x" * 100 + "b", ('"...' + "x" * 10 + 'a"', '"...' + "x" * 10 + 'b"')),
        ("a\nb", "a\tb", ('"a\\nb"', '"a\\tb"')),
    ],
)
def test_a_difference_is_shown_on_one_line(old: Any, new: Any, texts: tuple[str, str]) -> None:
    assert shown(old, new, 30) == texts


@given(VALUES, VALUES)
def test_whatever_differs_can_be_shown(old: Any, new: Any) -> None:
    for text in shown(old, new):
        assert text.isprintable()
        assert len(text) < 500


# Two recordings


FRAMES = [base64.b64encode(encode(Frame((), payload))).decode() for payload in (b"a", b"b")]
"""Frames that are no event."""

FIRST = streamed(body(user("Chur to Tirano?")), "From Chur", " by", " Bernina", " Express.")
SECOND = exchange(body(user("And back?")), "The same way.")


Exchanges = Sequence[list[Line]]


def diff(capsys: pytest.CaptureFixture[str], old: Exchanges, new: Exchanges, *options: str) -> tuple[int, str]:
    """The exit code, and what is printed; the files are `a.jsonl` and `b.jsonl`."""
    write(Path("a.jsonl"), *old)
    write(Path("b.jsonl"), *new)
    code = main(["diff", *options, "a.jsonl", "b.jsonl"])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_edited_word_shows_as_that_word(capsys: pytest.CaptureFixture[str]) -> None:
    other = streamed(body(user("Chur to Tirano?")), "From Chur", " by", " Glacier", " Express.")
    assert diff(capsys, [FIRST, SECOND], [other, SECOND]) == (
        1,
        """\
a.jsonl:2  b.jsonl:2  ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: text "Chur to Tirano?"
  - events[3].contentBlockDelta.delta.text  " Bernina"
  + events[3].contentBlockDelta.delta.text  " Glacier"

2 exchanges: 1 equal, 1 different
""",
    )


def test_everything_that_can_differ(capsys: pytest.CaptureFixture[str]) -> None:
    call, head, *events = deepcopy(FIRST)
    call["request"]["system"] = [{"text": "Be brief."}]
    call["faults"] = ["no stop"]
    head["headers"] = {"retry-after": "1"}
    del events[2], events[-1]
    events.append({"t": 900, "end": "connection reset"})
    assert diff(capsys, [FIRST], [[call, head, *events]]) == (
        1,
        """\
a.jsonl:2  b.jsonl:2  ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: text "Chur to Tirano?"
  + request.system  [{"text": "Be brief."}]
  + faults  ["no stop"]
  + answer.headers  {"retry-after": "1"}
  - events[2]  {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": " by"}}...
  - events[7]  {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalToken...
  + answer  {"end": "connection reset"}

1 exchange: 1 different
""",
    )


def test_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(capsys, [FIRST, SECOND], [FIRST, SECOND]) == (0, "2 exchanges: 2 equal\n")
    assert diff(capsys, [], []) == (0, "0 exchanges\n")


def test_exchanges_that_are_in_one_file_only(capsys: pytest.CaptureFixture[str]) -> None:
    third = exchange(body(user("a")), model="another")
    assert diff(capsys, [third, FIRST], [FIRST, SECOND]) == (
        1,
        """\
- a.jsonl:2  Converse another, 1 message, last: text "a"

+ b.jsonl:12  Converse us.amazon.nova-lite-v1:0, 1 message, last: text "And back?"

3 exchanges: 1 equal, 1 only in the first, 1 only in the second
""",
    )


def test_a_failed_attempt_is_not_compared_with_a_successful_one(capsys: pytest.CaptureFixture[str]) -> None:
    asked = body(user("And back?"))
    code, out = diff(capsys, [throttled(asked), SECOND], [SECOND])
    assert code == 1
    assert out.startswith("- a.jsonl:2  Converse ")
    assert out.endswith("\n\n2 exchanges: 1 equal, 1 only in the first\n")


def test_times_and_values_that_differ_in_each_run_are_compared_only_by_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = deepcopy(FIRST)
    other[1] |= {"t": 7, "requestId": "77aa"}
    other[2]["t"] = 9
    other[3] |= {"p": 30, "joined": True}

    assert diff(capsys, [FIRST], [other]) == (
        0,
        "1 exchange: 1 equal\nThey differ in what --times and --bytes would compare.\n",
    )
    code, out = diff(capsys, [FIRST], [other], "--times")
    assert (code, out.splitlines()[1:5]) == (
        1,
        ["  - answer.t  5", "  + answer.t  7", "  - events[0].t  10", "  + events[0].t  9"],
    )
    code, out = diff(capsys, [FIRST], [other], "--bytes")
    assert (code, out.splitlines()[1:6]) == (
        1,
        [
            '  - answer.requestId  "5d4c"',
            '  + answer.requestId  "77aa"',
            "  - events[1].p  3",
            "  + events[1].p  30",
            "  + events[1].joined  true",
        ],
    )


def test_an_event_that_came_between_does_not_move_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    other = streamed(body(user("Chur to Tirano?")), "From Thun", " by", " Bernina", " Express.")
    start = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "n"}}}
    other.insert(3, {"t": 10, "contentBlockStart": start})
    for lines in (first := deepcopy(FIRST), other):
        lines[0]["faults"] = ["text in the block of a tool"]
    _, out = diff(capsys, [first], [other])
    assert out.splitlines()[1:4] == [
        '  + events[1]  {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"to...',
        '  - events[2].contentBlockDelta.delta.text  "From Chur"',
        '  + events[2].contentBlockDelta.delta.text  "From Thun"',
    ]


def compared(old: list[Line], new: list[Line], *, chance: bool = False) -> list[Compared]:
    old_session, new_session = (session_of([{"format": "converse-recording"}, *lines]) for lines in (old, new))
    return compare(old_session, new_session, chance=chance)


def test_exchanges_with_other_models_are_no_pair() -> None:
    other = exchange(body(user("And back?")), "The same way.", model="us.amazon.nova-pro-v1:0")
    assert [(each.old is None, each.new is None) for each in compared(SECOND, other)] == [(False, True), (True, False)]


def test_a_frame_beside_its_event_is_chance() -> None:
    old, new = ([*FIRST[:-1], {**FIRST[-1], "frame": frame}] for frame in FRAMES)
    assert all(each.equal for each in compared(old, new))
    assert not any(each.equal for each in compared(old, new, chance=True))


@pytest.mark.parametrize("key", ["bytes", "frame"])
def test_what_no_event_stands_for_is_compared(capsys: pytest.CaptureFixture[str], key: str) -> None:
    old, new = deepcopy(FIRST), deepcopy(FIRST)
    for lines, frame in ((old, FRAMES[0]), (new, FRAMES[1])):
        lines[0]["faults"] = ["what is no event"]
        lines.append({"t": 30, key: frame})
    code, out = diff(capsys, [old], [new])
    assert code == 1
    assert out.splitlines()[1:3] == [f'  - events[8].{key}  "{FRAMES[0]}"', f'  + events[8].{key}  "{FRAMES[1]}"']


def test_no_secret_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    _, out = diff(capsys, [SECOND], [exchange(body(user(f"And back? {key}")), key)])
    assert key not in out
    assert out.count("***") == 2


@pytest.mark.parametrize("name", ["missing.jsonl", "damaged.jsonl"])
def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    write(tmp_path / "a.jsonl", FIRST)
    (tmp_path / "damaged.jsonl").write_text("{}\n")
    assert main(["diff", str(tmp_path / "a.jsonl"), str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"converse-harness diff: {tmp_path / name}:")


@pytest.mark.parametrize("arguments", [[], ["a.jsonl"], ["a.jsonl", "b.jsonl", "c.jsonl"], ["--time"]])
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diff", *arguments])
    assert stopped.value.code == 2
    assert "usage: converse-harness " in capsys.readouterr().err


def in_a_terminal(*arguments: str, **environ: str) -> str:
    """What the command prints on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([COMMAND, *arguments], stdout=theirs, env={**os.environ, **environ}) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # how Linux says that nobody writes any more
            pass
        process.wait(timeout=60)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_colour_is_for_terminals(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", FIRST)
    write(tmp_path / "b.jsonl", streamed(body(user("Chur to Tirano?")), "From Chur", " by", " bus."))
    arguments = ("diff", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    plain = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert plain.returncode == 1
    assert "\033" not in plain.stdout
    coloured = in_a_terminal(*arguments, NO_COLOR="")
    assert re.search(
        r'\033\[31m  - events\[1\]\.contentBlockDelta\.delta\.text  "From Chur .*Bernina.*"\033\[0m\n', coloured
    )
    assert '\033[32m  + events[1].contentBlockDelta.delta.text  "From Chur by bus."\033[0m\n' in coloured
    assert in_a_terminal(*arguments, NO_COLOR="1") == plain.stdout


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    many = streamed(body(user("a")), *(f"word {number} " for number in range(5000)))
    write(tmp_path / "a.jsonl", many)
    write(tmp_path / "b.jsonl", streamed(body(user("a")), *(f"term {number} " for number in range(5000))))
    with subprocess.Popen(
        [COMMAND, "diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert errors == ""


def test_each_recording_of_the_project_equals_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = sorted((Path(__file__).resolve().parents[3] / "recordings").glob("*.jsonl"))
    for path in found:
        assert main(["diff", "--times", "--bytes", str(path), str(path)]) == 0
        assert " equal\n" in capsys.readouterr().out


def test_a_difference_is_a_line_of_json_that_can_be_read_again() -> None:
    old, new = shown({"a": [1, None]}, {"a": [1, "x"]})
    assert (json.loads(old), json.loads(new)) == ({"a": [1, None]}, {"a": [1, "x"]})
    assert Difference(("a",), 1, 2, ("a",)).path == ("a",)


def test_latency_is_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = [exchange(body(user("hi")))], [exchange(body(user("hi")))]
    new[0][1]["body"] = {**new[0][1]["body"], "metrics": {"latencyMs": 7}}
    code, out = diff(capsys, old, new)
    assert (code, out.splitlines()[0]) == (0, "1 exchange: 1 equal")
    assert diff(capsys, old, new, "--times")[0] == 1
    changed = deepcopy(FIRST)
    changed[-1]["metadata"] = {**changed[-1]["metadata"], "metrics": {"latencyMs": 7}}
    assert diff(capsys, [FIRST], [changed])[0] == 0


def test_where_texts_are_cut_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """One changed word of an answer that was cut elsewhere is one place."""
    asked = body(user("Chur to Tirano?"))
    old = [streamed(asked, "From ", "Chur by ", "Bernina ", "Express.")]
    code, out = diff(capsys, old, [streamed(asked, "Fr", "om Chur by Bern", "ina Express.")])
    assert (code, out.splitlines()[0]) == (0, "1 exchange: 1 equal")
    new = [streamed(asked, "Fr", "om Chur by Albu", "la Express.")]
    code, out = diff(capsys, old, new)
    assert (code, out.splitlines()[1:3]) == (
        1,
        [
            '  - events[1].contentBlockDelta.delta.text  "From Chur by Bernina Express."',
            '  + events[1].contentBlockDelta.delta.text  "From Chur by Albula Express."',
        ],
    )
    assert len(diff(capsys, old, new, "--bytes")[1].splitlines()) > 6
