"""`converse-harness new-test`: the file that is written."""

import subprocess
import sys
from pathlib import Path

import pytest

from converse_harness.cli import main
from converse_harness.features.as_python.script import name_of_test
from tests.nested import OURS
from tests.recordings.asking import NOVA, body, exchange, throttled, user, write
from tests.recordings.format.test_files import shown, with_digests
from tests.untraced import untraced

SCRIPT = (
    "    converse.script(\n"
    '        reply.throttled("Too many requests").times(2),\n'
    '        reply.text("hi"),\n'
    "    )\n"
    "    # Call the code under test here. When this was recorded, it asked:\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked = body(user("one"))
    write(tmp_path / "trip.jsonl", throttled(asked), throttled(asked), exchange(asked))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["new-test", *arguments]) == code
    out, err = capsys.readouterr()
    return out, err


def test_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "trip.jsonl", "--short")
    assert err == ""
    assert out == (
        '"""Replies of trip.jsonl."""\n\n'
        "from converse_harness import reply\n\n\n"
        "def test_trip(converse):\n"
        f"{SCRIPT}"
        f'    #   1. Converse {NOVA}, 1 message, last: text "one"\n'
        f'    #   2. Converse {NOVA}, 1 message, last: text "one"\n'
        f'    #   3. Converse {NOVA}, 1 message, last: text "one"\n'
        "    assert len(converse.calls) == 3\n"
    )


def test_the_output_is_utf8_whatever_the_terminal_is(folder: Path) -> None:
    write(folder / "zürich.jsonl", exchange(body(user("one"))))
    command = [str(Path(sys.executable).parent / "converse-harness"), "new-test", "zürich.jsonl"]
    done = subprocess.run(command, env={**untraced(), "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().startswith('"""Replies of zürich.jsonl."""')


def test_with_its_usage(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "trip.jsonl")
    assert 'usage={"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}' in out


def test_the_written_test_runs(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(folder)
    out, _ = run(capsys, "trip.jsonl", "--short", "-o", "tests/test_trip.py")
    assert out == "trip.jsonl -> tests/test_trip.py::test_trip: 3 replies\n"
    path = folder / "tests" / "test_trip.py"
    ask = 'converse_client.converse(modelId="us.amazon.nova-lite-v1:0", messages=[])'
    code = path.read_text().replace("(converse)", "(converse, converse_client)")
    path.write_text(code.replace("    assert len", f"    {ask}\n    assert len"))
    result = pytester.runpytest_inprocess(*OURS, "-p", "no:cacheprovider", str(path), "--converse-rules=off")
    result.assert_outcomes(passed=1)


def test_a_file_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("test_trip.py").write_text("mine\n")
    _, err = run(capsys, "trip.jsonl", "-o", "test_trip.py", code=1)
    assert err == ("converse-harness new-test: test_trip.py is there already. --force overwrites it.\n")
    assert Path("test_trip.py").read_text() == "mine\n"
    run(capsys, "trip.jsonl", "-o", "test_trip.py", "--force")
    assert "def test_trip(" in Path("test_trip.py").read_text()


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").write_text("")
    _, err = run(capsys, "trip.jsonl", "-o", "mine/test_trip.py", code=1)
    assert err == "converse-harness new-test: mine: File exists\n"


FORMATTER = """
import pathlib, sys
arguments, source = sys.argv[1:], sys.stdin.read()
if "--fail" in pathlib.Path(__file__).read_text().splitlines()[-1]: sys.exit(1)
print("#", *arguments, len(source))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the formatter is a script with #!")
@pytest.mark.parametrize(
    ("there", "first"),
    [
        (["ruff", "black"], "# format --quiet --stdin-filename {folder}/test_trip.py - "),
        (["black"], "# --quiet --stdin-filename {folder}/test_trip.py - "),
        (["ruff that fails", "black"], "# --quiet --stdin-filename "),
        (["ruff that fails"], '"""Replies of trip.jsonl."""'),
        ([], '"""Replies of trip.jsonl."""'),
    ],
)
def test_a_formatter_that_is_installed_formats_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, there: list[str], first: str
) -> None:
    programs = folder / "bin"
    programs.mkdir()
    for each in there:
        name, _, fails = each.partition(" that ")
        path = programs / name
        path.write_text(f"#!{sys.executable}{FORMATTER}# {'--fail' if fails else ''}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    out, _ = run(capsys, "trip.jsonl")
    assert out.startswith(first.format(folder=folder))


@pytest.mark.parametrize("name", ["a\\b.jsonl", 'say "hi".jsonl', "it's.jsonl", "both '\"'.jsonl"])
def test_any_name_of_a_recording_makes_valid_python(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (folder / "trip.jsonl").rename(folder / name)
    out, _ = run(capsys, name)
    scope: dict[str, object] = {}
    exec(out, scope)
    assert scope["__doc__"] == f"Replies of {name}."


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["trip.jsonl", "--name", "a b"], "a Python identifier"),
        (["trip.jsonl", "--name", "weather"], "begins with test"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    with pytest.raises(SystemExit) as error:
        main(["new-test", *arguments])
    assert error.value.code == 2
    assert told in capsys.readouterr().err


def test_a_file_that_is_no_recording(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text("hello\n")
    _, err = run(capsys, "x.jsonl", code=1)
    assert "x.jsonl:1: this line is not JSON" in err


def test_what_no_reply_sends_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    invoked = [
        {"call": 0, "operation": "InvokeModel", "modelId": "m", "request": {}},
        {"t": 1, "status": 200, "body": {}},
    ]
    page = [exchange(body(user("x")))[0], {"t": 1, "status": 503, "bodyText": "<html>"}]
    write(Path("x.jsonl"), invoked, page, exchange(body(user("one"))))
    out, err = run(capsys, "x.jsonl", "--short", code=1)
    assert 'converse.script(reply.text("hi"))' in out
    assert err == (
        "converse-harness new-test: left out call 1 (line 2, InvokeModel): `reply` answers Converse and "
        "ConverseStream; for another operation see converse.on_operation.\n"
        "converse-harness new-test: left out call 2 (line 4, Converse): no function of `reply` sends this answer; "
        "only its recording does.\n"
    )
    assert "    # Left out: call 1 (line 2, InvokeModel)" in out
    assert "see converse.on_operation." in " ".join(out.replace("#", "").split())  # the reason, over several lines
    write(Path("x.jsonl"), invoked)
    out, err = run(capsys, "x.jsonl", code=1)
    assert out == ""
    assert "x.jsonl: call 1" in err


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("weather.jsonl", "test_weather"),
        ("TestTrain.test_trip[Chur-True]~34337ef6.jsonl", "test_testtrain_test_trip_chur_true"),
        ("été 2.jsonl", "test_t_2"),
        ("...jsonl", "test_recorded"),
    ],
)
def test_names(name: str, made: str) -> None:
    assert name_of_test(Path(name)) == made


def test_a_recording_with_digests_becomes_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 message" in shown(capsys, "new-test", with_digests(tmp_path), "--short")
