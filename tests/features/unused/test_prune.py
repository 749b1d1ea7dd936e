"""`converse-harness prune`: what no test uses goes, and nothing else."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from converse_harness.cli import main
from converse_harness.recordings.format.read import read
from converse_harness.recordings.record.write import header, store
from tests.nested import OURS, XDIST
from tests.plugin.upstream import Upstream
from tests.recordings.asking import body, exchange, user, write
from tests.recordings.review.test_show import check_usage

TESTS = """
    import pytest
    from agent import ask
    from converse_harness import recording

    @pytest.mark.converse_recording
    def test_trip():
        assert ask("Chur") == "Chur!"

    def test_scripted(converse):
        converse.script(recording("recordings/named" + ".jsonl"))
        assert ask("Bern") == "Bern!"
"""


def one(path: Path, *questions: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(
        path,
        *(exchange(body(user(question)), f"{question}!", model="us.amazon.nova-lite-v1:0") for question in questions),
    )


@pytest.fixture
def folder(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two recordings in use, and two that no test uses."""
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join([*OURS, "-p", "no:cacheprovider"]))
    monkeypatch.chdir(project.path)
    project.makepyfile(test_a=TESTS)
    folder = project.path / "recordings"
    one(folder / "test_a" / "test_trip.jsonl", "Chur")
    one(folder / "named.jsonl", "Bern")
    one(folder / "test_a" / "test_gone.jsonl", "Thun")
    one(folder / "old.jsonl", "Thun")
    return folder


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


ALL = ["named.jsonl", "old.jsonl", "test_a/test_gone.jsonl", "test_a/test_trip.jsonl"]
USED = ["named.jsonl", "test_a/test_trip.jsonl"]


def prune(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[str]:
    """The lines that are printed, or the last lines of errors."""
    capsys.readouterr()  # of the runs of pytest before it
    assert main(["prune", *arguments]) == code
    out, err = capsys.readouterr()
    return out.splitlines() if code == 0 else [line for line in err.splitlines() if line.startswith("converse-harness")]


def test_what_no_test_uses_is_printed_and_removed(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    listed = ["unused  recordings/old.jsonl", "unused  recordings/test_a/test_gone.jsonl"]
    used = ("--used", "used.json")  # of a run in this process, where pytest needs none of its own
    project.runpytest("--converse-used=used.json").assert_outcomes(passed=2)
    assert prune(capsys, "--dry-run", *used) == [*listed, "Nothing was removed; --yes removes 2 recordings."]
    assert files(folder) == ALL
    assert prune(capsys, *used) == [*listed, "Nothing was removed; --yes removes 2 recordings."]  # nobody can be asked
    assert files(folder) == ALL
    assert prune(capsys, "--yes", "--pytest=--junit-xml=seen.xml") == [*listed, "Removed 2 recordings."]
    assert files(folder) == USED
    assert (project.path / "seen.xml").exists()
    assert prune(capsys, "--yes", *used) == ["Nothing to remove."]
    assert files(folder) == USED


def test_a_file_that_cannot_be_removed(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.runpytest("--converse-used=used.json").assert_outcomes(passed=2)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert prune(capsys, "--used", "used.json", "--yes", code=1)[0].endswith(
        "old.jsonl: Permission denied; what stands before it in the list above was removed. Mend this, and run the "
        "command again."
    )
    assert files(folder) == ALL


def test_the_list_of_another_run(folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester) -> None:
    project.runpytest("--converse-used=used.json").assert_outcomes(passed=2)
    assert prune(capsys, "--used", "used.json", "--yes", "recordings/test_a")[-1] == "Removed 1 recording."
    assert files(folder) == ["named.jsonl", "old.jsonl", "test_a/test_trip.jsonl"]
    assert prune(capsys, "--used", "used.json", "--yes")[-1] == "Removed 1 recording."
    assert files(folder) == USED
    assert prune(capsys, "--used", "agent.py", code=1)[0].endswith(
        "agent.py is not what `pytest --converse-used=agent.py` writes. Write it again."
    )
    assert "No such file" in prune(capsys, "--used", "nothing.json", code=1)[0]


def test_workers_of_xdist_use_recordings_too(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    project.runpytest("--converse-used=used.json", *XDIST, "-n", "2").assert_outcomes(passed=2)
    assert prune(capsys, "--used", "used.json", "--yes")[-1] == "Removed 2 recordings."
    assert files(folder) == USED


NOT_KNOWN: dict[str, tuple[str, list[str], str]] = {
    "a test fails": ("def test_b(): assert 0", [], "1 test failed (test_b.py::test_b); nothing is removed"),
    "a fixture fails": (
        "import pytest\n@pytest.fixture\ndef f():\n    yield\n    assert 0\ndef test_b(f): pass",
        [],
        "1 test failed (test_b.py::test_b)",
    ),
    "a test is skipped": (
        "import pytest\n@pytest.mark.skip\ndef test_b(): pass",
        [],
        "1 test skipped or expected to fail (test_b.py::test_b)",
    ),
    "a test is expected to fail": (
        "import pytest\n@pytest.mark.xfail\ndef test_b(): assert 0",
        [],
        "1 test skipped or expected to fail (test_b.py::test_b)",
    ),
    "a module is skipped": ("import pytest\npytest.skip('x', allow_module_level=True)", [], "a module was skipped"),
    "a module is broken": ("import nothing", [], "a module was skipped or could not be imported"),
    "a test is deselected": ("def test_b(): pass", ["-k", "trip"], "an option left out tests: -k"),
    "a file is asked for": ("def test_b(): pass", ["test_b.py"], "only some of the tests were asked for"),
    "a run stops": ("def test_b(): assert 0\ndef test_c(): pass", ["-x"], "3 of 4 tests ran"),
}


@pytest.mark.parametrize(("code", "arguments", "told"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_nothing_is_removed_if_a_test_is_not_known(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    project: pytest.Pytester,
    code: str,
    arguments: list[str],
    told: str,
) -> None:
    project.makepyfile(test_b=code)
    project.runpytest("--converse-used=used.json", *arguments)
    (line,) = prune(capsys, "--used", "used.json", "--yes", code=1)
    assert told in line
    assert files(folder) == ALL


def test_nothing_is_removed_without_tests(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    (project.path / "test_a.py").unlink()
    (line,) = prune(capsys, "--yes", code=1)
    assert "prune: no test ran; nothing is removed" in line
    assert files(folder) == ALL


def test_skips_may_be_left_alone(folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester) -> None:
    project.makepyfile(
        test_b="""
        import pytest

        @pytest.mark.skip
        @pytest.mark.converse_recording("old")
        def test_b(): pass
        """
    )
    project.runpytest("--converse-used=used.json")
    assert prune(capsys, "--used", "used.json", "--yes", "--despite-skips")[-1] == "Removed 1 recording."
    assert files(folder) == ["named.jsonl", "old.jsonl", "test_a/test_trip.jsonl"]


def test_a_recording_that_a_source_names_is_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    (project.path / "web").mkdir()
    (project.path / "web" / "chat.test.ts").write_text('//\nserve("recordings/old.jsonl")\n')
    (project.path / ".git").mkdir()
    (project.path / ".git" / "x.py").write_text("test_gone.jsonl")
    project.runpytest("--converse-used=used.json")
    out = prune(capsys, "--used", "used.json", "--yes")
    assert out[0] == "kept    recordings/old.jsonl: web/chat.test.ts:2 names it"
    assert files(folder) == ["named.jsonl", "old.jsonl", "test_a/test_trip.jsonl"]


def test_what_a_failed_test_recorded_is_its_test_s(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    one(folder / "test_a" / "test_trip.failed.jsonl", "Chur")
    one(folder / "test_a" / "test_gone.failed.jsonl", "Chur")
    one(folder / "test_a" / "test_trip~2.unfinished.jsonl", "Chur")
    one(folder / "test_a" / "test_gone.unfinished.jsonl", "Chur")
    project.runpytest("--converse-used=used.json")
    out = prune(capsys, "--used", "used.json", "--yes")
    assert out[0] == (
        "kept    recordings/test_a/test_trip.failed.jsonl: a test that did not pass recorded it, and test_trip.jsonl "
        "is in use"
    )
    assert out[1] == (
        "kept    recordings/test_a/test_trip~2.unfinished.jsonl: a recorder that was killed left it, or one is still "
        "writing it, and test_trip.jsonl is in use"
    )
    kept = ["test_trip.failed.jsonl", "test_trip.jsonl", "test_trip~2.unfinished.jsonl"]
    assert files(folder) == ["named.jsonl", *(f"test_a/{name}" for name in kept)]


def test_exchanges_that_no_test_plays(
    upstream: Upstream, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(upstream.project.path)

    def record(question: str) -> None:
        source = f"""
            import pytest
            from agent import client

            @pytest.mark.converse_recording(match="exact")
            def test_trip():
                for text in {question!r}.split():
                    client().converse(
                        modelId="us.amazon.nova-lite-v1:0",
                        messages=[{{"role": "user", "content": [{{"text": text}}]}}],
                    )
        """
        upstream.project.makepyfile(test_a=source)
        upstream.record(mode="new_episodes").assert_outcomes(passed=1)

    record("Chur Bern")
    record("Bern Thun")
    name = "test_a/test_trip.jsonl"
    assert upstream.questions(name) == ["Chur", "Bern", "Thun"]
    upstream.replay("--converse-used=used.json").assert_outcomes(passed=1)
    assert prune(capsys, "--used", "used.json", "--yes") == [
        "unused  recordings/test_a/test_trip.jsonl: 1 exchange (line 3)",
        "Removed 1 exchange.",
    ]
    assert upstream.questions(name) == ["Bern", "Thun"]
    upstream.replay().assert_outcomes(passed=1)


def test_an_exchange_that_another_test_may_play_stays(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    path = one(project.path / "recordings" / "shared.jsonl", "Chur", "Bern", "Thun")
    marked = '@pytest.mark.converse_recording("shared", match="exact")\ndef test_{0}(): assert ask("{0}") == "{0}!"\n'
    both = "import pytest\nfrom agent import ask\n" + marked.format("Chur") + marked.format("Bern")
    project.makepyfile(test_a=both)
    project.runpytest("--converse-used=used.json").assert_outcomes(passed=2)
    lines = json.loads(Path("used.json").read_text())["left"]
    (left,) = lines.values()
    assert left == [read(path).exchanges[2].at]
    third = (
        "from converse_harness import recording\ndef test_third(converse):\n"
        '    converse.script(recording("recordings/shared.jsonl"))\n    for each in "abc": ask(each)\n'
    )
    project.makepyfile(test_a=both + third)
    project.runpytest("--converse-used=used.json").assert_outcomes(passed=3)
    assert json.loads(Path("used.json").read_text())["left"] == {}
    assert prune(capsys, "--used", "used.json", "--yes") == ["Nothing to remove."]


def test_media_go_with_their_recording(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    image = {"image": {"format": "png", "source": {"bytes": "QUFB" * 9999}}}
    call, *answer = exchange(body(user("?", image)))
    store(folder / "old.jsonl", [header(), {**call, "call": 1}, *answer])
    assert len(files(folder)) == 5
    project.runpytest("--converse-used=used.json")
    prune(capsys, "--used", "used.json", "--yes")
    assert files(folder) == USED
    assert not (folder / "old.media").exists()


def test_media_that_no_line_names_go(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    """They are left when a session with files is recorded again without them. Other files are nobody's business."""
    image = {"image": {"format": "png", "source": {"bytes": "QUFB" * 9999}}}
    path = folder / "named.jsonl"
    call, answer = exchange(body(user("Bern")), "Bern!", model="us.amazon.nova-lite-v1:0")
    answer["body"]["output"]["message"]["content"].append(image)
    store(path, [header(), {**call, "call": 1}, answer])
    (kept,) = folder.glob("named.media/*.png")
    text = path.read_text()
    lost = [kept.with_name("0" * 16 + ".pdf"), folder / "test_a" / "test_trip.media" / ("1" * 16 + ".png")]
    for each in lost:
        each.parent.mkdir(exist_ok=True)
        each.write_bytes(b"")
    (kept.parent / "notes.txt").write_text("mine")
    project.runpytest("--converse-used=used.json")
    shown = prune(capsys, "--used", "used.json", "--yes")
    for each in lost:
        assert f"unused  {each.relative_to(folder.parent)}: no line of its recording names it" in shown
    assert shown[-1] == "Removed 2 recordings and 2 media files."
    assert files(folder) == sorted([*USED, f"named.media/{kept.name}", "named.media/notes.txt"])
    assert not lost[1].parent.exists()
    assert path.read_text() == text


def test_a_folder_that_is_not_the_tests(
    folder: Path, capsys: pytest.CaptureFixture[str], project: pytest.Pytester
) -> None:
    project.runpytest("--converse-used=used.json")
    with pytest.raises(SystemExit) as error:
        main(["prune", "--used", "used.json", ".."])
    assert error.value.code == 2
    assert "prune removes no others" in capsys.readouterr().err


def test_wrong_arguments_print_the_usage_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    check_usage(capsys, ["prune", "nodir"], " prune", "the folder nodir does not exist")
