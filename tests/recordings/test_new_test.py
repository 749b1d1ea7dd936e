"""`converse-harness new-test`: the file that is written, and what of another file stays as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from converse_harness.cli import main
from converse_harness.recordings.edits import CannotEdit, line_length, with_imports, with_test
from converse_harness.recordings.script_source import name_of_test
from tests.nested import OURS
from tests.recordings.asking import NOVA, body, exchange, throttled, user, write
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
    assert err == (
        "converse-harness new-test: test_trip.py is there already. --force overwrites it, --into adds a test to it.\n"
    )
    assert Path("test_trip.py").read_text() == "mine\n"
    run(capsys, "trip.jsonl", "-o", "test_trip.py", "--force")
    assert "def test_trip(" in Path("test_trip.py").read_text()


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").write_text("")
    _, err = run(capsys, "trip.jsonl", "-o", "mine/test_trip.py", code=1)
    assert err == "converse-harness new-test: mine: File exists\n"


def test_into_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("test_all.py")
    path.write_bytes(b'# mine\r\nimport os\r\n\r\n\r\ndef test_a():\r\n    """\xc3\xa9"""\r\n    assert  os\r\n')
    before = path.read_bytes()
    run(capsys, "trip.jsonl", "--into", "test_all.py", "--name", "test_two")
    after = path.read_bytes()
    assert after.startswith(b"# mine\r\nimport os\r\nfrom converse_harness import reply\r\n\r\n\r\ndef test_a():\r\n")
    assert before.partition(b"import os\r\n")[2] in after
    assert b"\r\n\r\n\r\ndef test_two(converse):\r\n" in after
    assert b"\n" not in after.replace(b"\r\n", b"")
    _, err = run(capsys, "trip.jsonl", "--into", "test_all.py", "--name", "test_two", code=1)
    assert err == "converse-harness new-test: test_all.py: test_two is there already; --name gives another name.\n"
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["trip.jsonl", "-o", "a.py", "--into", "b.py"], "give one of them"),
        (["trip.jsonl", "--into", "b.py"], "it is not there; -o writes a new file"),
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


IMPORTS = {
    "an empty file": ("", "from converse_harness import reply\n"),
    "a docstring": ('"""x"""\n', '"""x"""\n\nfrom converse_harness import reply\n'),
    "a docstring and code": ('"""x"""\na = 1\n', '"""x"""\n\nfrom converse_harness import reply\n\na = 1\n'),
    "no end of line": ("import os", "import os\nfrom converse_harness import reply\n"),
    "future": (
        "from __future__ import annotations\n\nx = 1\n",
        "from __future__ import annotations\n\nfrom converse_harness import reply\n\nx = 1\n",
    ),
    "others": (
        "import os\n\nimport boto3\nfrom zoo import a\n",
        "import os\n\nimport boto3\nfrom converse_harness import reply\nfrom zoo import a\n",
    ),
    "ours": (
        "from converse_harness import fake_converse  \n",
        "from converse_harness import fake_converse, reply  \n",
    ),
    "ours, in order": (
        "from converse_harness import Call, x as y\n",
        "from converse_harness import Call, reply, x as y\n",
    ),
    "ours, with a comment": (
        "from converse_harness import faults  # a\n",
        "from converse_harness import faults  # a\nfrom converse_harness import reply\n",
    ),
    "there": ("from converse_harness import (\n    reply,\n)\n", "from converse_harness import (\n    reply,\n)\n"),
    "only for types": (
        "if True:\n    from converse_harness import Call\n",
        "from converse_harness import reply\n\nif True:\n    from converse_harness import Call\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), IMPORTS.values(), ids=IMPORTS)
def test_imports(before: str, after: str) -> None:
    assert with_imports(before, ["reply"]) == after
    assert with_imports(after, ["reply"]) == after
    compile(after, "x.py", "exec")


@pytest.mark.parametrize(
    "source",
    ["reply = 1\n", "def reply(): ...\n", "import reply\n", "from x import y as reply\n", "for reply in (): ...\n"],
)
def test_a_name_that_is_taken(source: str) -> None:
    with pytest.raises(CannotEdit, match="the module uses the name 'reply' for something else"):
        with_imports(source, ["reply"])


def test_a_file_that_is_no_python() -> None:
    with pytest.raises(CannotEdit, match="line 1: it is not valid Python"):
        with_test("def (\n", "", "test_a", ())


@pytest.mark.parametrize(
    ("file", "text", "width"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.black]\nline-length = 79\n", 79),
        ("pyproject.toml", "[project]\nname = 'x'\n", 88),
        ("pyproject.toml", "no toml", 88),
        ("ruff.toml", "line-length = 120\n", 120),
        ("pyproject.toml", '[project]\nname = "trips"\n\n[tool.black]\nline-length = 110\n', 110),
    ],
)
def test_the_line_length_of_a_project(folder: Path, file: str, text: str, width: int) -> None:
    (folder / file).write_text(text)
    (folder / "tests").mkdir()
    assert line_length(folder / "tests" / "test_a.py") == width
