"""`--converse-record=inline`: a session is recorded into the test itself."""

import os
from pathlib import Path

import pytest

from tests.nested import ASYNCIO
from tests.plugin.upstream import Upstream

HEAD = "import pytest\nfrom agent import ask, weather\n\n\n"
TEST = "@pytest.mark.converse_recording\ndef test_trip():\n    assert ask('Chur') == 'Chur!'  # as it is\n"


def write(upstream: Upstream, code: str, name: str = "test_a.py") -> None:
    (upstream.project.path / name).write_text(code)


def read(upstream: Upstream, name: str = "test_a.py") -> str:
    return (upstream.project.path / name).read_text()


def test_a_test_with_its_replies(upstream: Upstream) -> None:
    two = "@pytest.mark.converse_recording\ndef test_two():\n    weather('Bern')\n    ask('a')\n    ask('a')\n"
    write(upstream, f"{HEAD}{TEST}\n\n{two}")
    os.chmod(upstream.project.path / "test_a.py", 0o755)
    result = upstream.record(mode="inline")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "converse-harness: wrote the replies into test_a.py::test_trip",
            "converse-harness: wrote the replies into test_a.py::test_two",
        ]
    )
    result.stdout.no_fnmatch_line("*recordings/*")
    assert [*(upstream.project.path / "recordings").iterdir()] == []
    assert read(upstream) == (
        "import pytest\nfrom agent import ask, weather\nfrom converse_harness import reply\n\n\n"
        'def test_trip(converse):\n    converse.script(reply.text("Chur!"))\n'
        "    assert ask('Chur') == 'Chur!'  # as it is\n\n\n"
        "def test_two(converse):\n    converse.script(\n"
        '        reply.text("What is it like in Bern?!"),\n        reply.text("a!").times(2),\n    )\n'
        "    weather('Bern')\n    ask('a')\n    ask('a')\n"
    )
    assert os.stat(upstream.project.path / "test_a.py").st_mode & 0o777 == 0o755
    upstream.replay().assert_outcomes(passed=2)


def test_async_tests_and_classes(upstream: Upstream) -> None:
    write(
        upstream,
        f"{HEAD}class TestTrip:\n    @pytest.mark.asyncio\n    @pytest.mark.converse_recording\n"
        "    async def test_trip(self, tmp_path):\n        assert ask('Chur') == 'Chur!'\n",
    )
    upstream.record(*ASYNCIO, mode="inline").assert_outcomes(passed=1)
    assert "    async def test_trip(self, converse, tmp_path):\n        converse.script(" in read(upstream)
    upstream.replay(*ASYNCIO).assert_outcomes(passed=1)


def test_with_workers(upstream: Upstream) -> None:
    tests = [TEST.replace("test_trip", f"test_{number}").replace("Chur", f"Chur {number}") for number in range(4)]
    write(upstream, HEAD + "\n\n".join(tests))
    write(upstream, HEAD + TEST, "test_b.py")
    upstream.record("-n", "2", mode="inline").assert_outcomes(passed=5)
    assert upstream.files == []
    for number in range(4):
        assert f"converse.script(reply.text(\"Chur {number}!\"))\n    assert ask('Chur {number}')" in read(upstream)
    upstream.replay().assert_outcomes(passed=5)


MARK = "@pytest.mark.converse_recording\n"
ASKS = "def test_trip():\n    ask('a')\n"
GENERATED = (
    "exec(compile('import pytest\\n@pytest.mark.converse_recording\\ndef test_trip(): ask(\"a\")', 'x', 'exec'))\n"
)
WRAPPER = "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(): f(); f()\n    return g\n"
BASE = f"class Base:\n    {MARK}    def test_trip(self):\n        ask('a')\n"
CASE = f"import unittest\nclass TestA(unittest.TestCase):\n    {MARK}    def test_trip(self):\n        ask('a')\n"
FIXTURE = "@pytest.fixture\ndef asked():\n    ask('a')\n"
INVOKES = "    try: client().invoke_model(modelId='m', body='{}')\n    except Exception: pass\n"

STAYS: dict[str, tuple[str, str]] = {
    "parametrized": (
        f"@pytest.mark.parametrize('city', ['Chur'])\n{MARK}def test_trip(city):\n    ask(city)\n",
        "it is parametrized*",
    ),
    "module": (f"pytestmark = pytest.mark.converse_recording\n{ASKS}", "its marker is not on*"),
    "named": (f"@pytest.mark.converse_recording('x')\n{ASKS}", "its recording has a name of its own*"),
    "generated": (GENERATED, "its function is not in the file*"),
    "wrapped": (f"{WRAPPER}{MARK}@twice\n{ASKS}", "it has the decorator @twice*"),
    "unittest": (CASE, "a unittest.TestCase has no fixtures as arguments."),
    "inherited": (
        f"{BASE}class TestA(Base): pass\nclass TestB(Base): pass\n",
        "several tests are made of its function.",
    ),
    "a fixture asks": (
        f"{FIXTURE}{MARK}def test_trip(asked):\n    ask('b')\n",
        "one of its fixtures asks before the test begins*",
    ),
    "another operation": (
        f"from agent import client\n{MARK}def test_trip():\n{INVOKES}",
        "call 1 (line 2, InvokeModel): *",
    ),
}


@pytest.mark.parametrize(("code", "why"), STAYS.values(), ids=STAYS)
def test_what_cannot_be_edited_stays_a_recording(upstream: Upstream, code: str, why: str) -> None:
    write(upstream, HEAD + code)
    result = upstream.record(mode="inline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["converse-harness: wrote recordings/*.jsonl (*", f"converse-harness: test_a.py::* stays a recording: {why}"]
    )
    assert read(upstream) == HEAD + code
    assert upstream.files != []
    assert upstream.replay().ret == 0


def test_what_is_recorded_already_is_played(upstream: Upstream) -> None:
    write(upstream, HEAD + TEST)
    upstream.record().assert_outcomes(passed=1)
    upstream.record(mode="inline").assert_outcomes(passed=1)
    assert read(upstream) == HEAD + TEST
    assert upstream.files == ["test_a/test_trip.jsonl"]
    assert len(upstream.service.calls) == 1


def test_a_test_that_fails_is_not_edited(upstream: Upstream) -> None:
    code = HEAD + TEST.replace("Chur!", "Bern!")
    write(upstream, code)
    upstream.record(mode="inline").assert_outcomes(failed=1)
    assert read(upstream) == code
    assert upstream.files == ["test_a/test_trip.failed.jsonl"]


def test_a_file_that_was_changed_meanwhile_is_not_edited(upstream: Upstream) -> None:
    code = f"{HEAD}{TEST}\ndef test_z():\n    with open(__file__, 'a') as file:\n        file.write('# changed\\n')\n"
    write(upstream, code)
    result = upstream.record(mode="inline")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/test_a/test_trip.jsonl (1 exchange)",
            "converse-harness: test_a.py::test_trip stays a recording: the file was changed while the tests ran.",
        ]
    )
    assert read(upstream) == f"{code}# changed\n"
    assert upstream.files == ["test_a/test_trip.jsonl"]


def test_a_recording_that_cannot_be_removed_is_named(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlink(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    write(upstream, HEAD + TEST)
    result = upstream.record(mode="inline")
    result.stdout.fnmatch_lines(
        ["converse-harness: test_a.py::test_trip stays a recording: *cannot be removed (Permission denied). Remove it*"]
    )
    assert "converse.script(" in read(upstream)
    assert upstream.files == ["test_a/test_trip.jsonl"]


def test_a_run_that_is_interrupted_loses_nothing(upstream: Upstream) -> None:
    write(upstream, f"{HEAD}{TEST}\ndef test_z():\n    import os\n    os._exit(9)\n")
    upstream.record(mode="inline", apart=True)
    assert upstream.files == ["test_a/test_trip.jsonl"]
    assert TEST in read(upstream)


def test_what_is_asked_over_httpx_stays_a_recording(upstream: Upstream) -> None:
    code = (
        "import json, os, httpx\n"
        f"{MARK}def test_trip():\n"
        "    url = os.environ.get('AWS_ENDPOINT_URL_BEDROCK_RUNTIME', 'https://bedrock-runtime.us-east-1.amazonaws.com')\n"
        "    with converse_httpx_client() as client:\n"
        "        client.post(f'{url}/model/m/converse', json={'messages': []})\n"
    )
    helper = (
        "from converse_harness import record\nimport contextlib, httpx\n"
        "def converse_httpx_client():\n    return httpx.Client()\n"
    )
    write(upstream, f"{HEAD}{helper}{code}")
    result = upstream.record(mode="inline")
    result.stdout.fnmatch_lines(
        ["converse-harness: test_a.py::test_trip stays a recording: it asks with another client*"]
    )
    assert f"{HEAD}{helper}{code}" == read(upstream)
