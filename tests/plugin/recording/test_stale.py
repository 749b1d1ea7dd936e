"""Requests that differ in words from what was recorded: a line at the end of the run, or a failure, or nothing."""

import pytest

from tests.plugin.upstream import Upstream

TEST = """
import os
import pytest
from agent import client

def loop(system):
    asked = client()
    for question in "abcd":
        asked.converse(
            modelId="m", system=[{"text": system}], messages=[{"role": "user", "content": [{"text": question}]}]
        )

@pytest.mark.converse_recording
def test_trip():
    loop(SYSTEM)

@pytest.mark.converse_recording
def test_same():
    loop("You are the same.")

SYSTEM = "You are a guide."
"""


@pytest.fixture
def changed(upstream: Upstream) -> Upstream:
    """A project of which one test's prompt was changed after it was recorded."""
    upstream.project.makepyfile(test_a=TEST)
    upstream.record().assert_outcomes(passed=2)
    path = upstream.project.path / "test_a.py"
    path.write_text(TEST.replace("a guide", "a good guide"))
    return upstream


def said(result: pytest.RunResult) -> list[str]:
    begins = ("converse-harness: 1 test", "converse-harness: 2 tests", "    test_a.py")
    return [line for line in result.outlines if line.startswith(begins)]


LINES = """
converse-harness: 1 test sends requests that differ from its recording:
    test_a.py::test_trip: 4 of 4 requests differ: system[0].text "You are a guide." -> "You are a good guide."
""".strip().splitlines()


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_a_changed_prompt_is_told_in_one_line(changed: Upstream, workers: tuple[str, ...]) -> None:
    result = changed.replay(*workers)
    result.assert_outcomes(passed=2)
    assert said(result) == LINES
    assert '    If that is meant: pytest --converse-record=all "test_a.py::test_trip"' in result.outlines


def test_nothing_is_told_where_nothing_differs(changed: Upstream) -> None:
    (changed.project.path / "test_a.py").write_text(TEST)
    assert said(changed.replay()) == []


def test_or_it_fails_the_test(changed: Upstream) -> None:
    result = changed.replay("--converse-stale=fail")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*frames.py*")
    result.stdout.fnmatch_lines(
        [
            "*_ test_trip _*",
            "",
            ">*def test_trip():",
            "E*StaleRequests: 4 of 4 requests differ from recordings/test_a/test_trip.jsonl, which answered them.",
            "E*",
            "E*differs   - recorded, + arrived",
            "E*          calls 1, 2, 3, 4",
            'E*          - system[[]0[]].text  "You are a guide."',
            'E*          + system[[]0[]].text  "You are a good guide."',
            "E*",
            "E*If that is meant, record it again:",
            'E*pytest --converse-record=all "test_a.py::test_trip"',
            "E*or leave out what need not be equal: ignore=[[]'system[[][*][]].text'[]]",
        ]
    )
    assert said(result) == []


@pytest.mark.parametrize("way", ["option", "ini"])
def test_or_nothing_is_told(changed: Upstream, way: str) -> None:
    if way == "ini":
        changed.project.makeini("[pytest]\nconverse_stale = off")
    assert said(changed.replay(*["--converse-stale=off"] * (way == "option"))) == []


def test_another_choice_is_refused(changed: Upstream) -> None:
    changed.project.makeini("[pytest]\nconverse_stale = loud")
    changed.replay().stderr.fnmatch_lines(["*converse_stale = loud: one of note, fail, off.*"])


def test_a_test_that_failed_has_its_line_and_its_own_failure(changed: Upstream) -> None:
    path = changed.project.path / "test_a.py"
    path.write_text(path.read_text().replace("loop(SYSTEM)", "loop(SYSTEM)\n    assert 1 == 2"))
    for option in ("--converse-stale=note", "--converse-stale=fail"):
        result = changed.replay(option)
        result.assert_outcomes(passed=1, failed=1)
        assert said(result) == LINES
        result.stdout.fnmatch_lines(["E*assert 1 == 2"])
        result.stdout.no_fnmatch_line("*StaleRequests*")


def test_ignored_parts_are_not_told(changed: Upstream) -> None:
    path = changed.project.path / "test_a.py"
    path.write_text(path.read_text().replace("recording\ndef test_trip", 'recording(ignore=["system"])\ndef test_trip'))
    assert said(changed.replay()) == []


def test_recordings_that_a_test_opens_itself(changed: Upstream) -> None:
    """In fakes of this process and on the server; what several fakes of one test play counts together."""
    changed.project.makepyfile(
        test_a="""
        import boto3
        from agent import client
        from converse_harness import fake_converse, recording

        FILE = "recordings/test_a/test_trip.jsonl"
        ASKED = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "a"}]}]}

        def ask(system, **where):
            boto3.client("bedrock-runtime", **where).converse(system=[{"text": system}], **ASKED)

        def test_fakes():
            for system in ("You are a guide.", "You are a cook."):
                with fake_converse(recording(FILE), unused="allow"):
                    ask(system)

        def test_server(converse_server, monkeypatch):
            with converse_server.script(recording(FILE), unused="allow") as fake:
                for name, value in fake.environ.items():
                    monkeypatch.setenv(name, value)
                ask("You are a cook.")
        """
    )
    result = changed.replay()
    result.assert_outcomes(passed=2)
    differ, change = "differ from", 'system[0].text "You are a guide." -> "You are a cook."'
    assert said(result) == [
        f"converse-harness: 2 tests send requests that {differ} their recordings; record them again if that is meant:",
        f"    test_a.py::test_fakes: recordings/test_a/test_trip.jsonl: 1 of 2 requests differs: {change}",
        f"    test_a.py::test_server: recordings/test_a/test_trip.jsonl: 1 of 1 request differs: {change}",
    ]


def test_a_long_list_is_cut(upstream: Upstream) -> None:
    text = """
    import pytest
    from agent import ask

    @pytest.mark.parametrize("number", range(12))
    @pytest.mark.converse_recording
    def test_x(number):
        ask("a")
    """
    upstream.project.makepyfile(test_a=text)
    upstream.record().assert_outcomes(passed=12)
    upstream.project.makepyfile(test_a=text.replace('"a"', '"b"'))
    lines = upstream.replay().outlines
    start = next(index for index, line in enumerate(lines) if line.startswith("converse-harness: 12 tests send"))
    assert [line.partition(":")[0] for line in lines[start + 1 : start + 12]] == [
        *("    test_a.py" for _ in range(10)),
        "    and 2 more (-v lists all)",
    ]
    assert lines[start + 12] == "    If that is meant: pytest --converse-record=all test_a.py"
    assert sum("1 of 1 request differs" in line for line in upstream.replay("-v").outlines) == 12


def test_ids_and_masked_secrets_are_no_difference(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import os
        import uuid
        import pytest
        from agent import client

        @pytest.mark.filterwarnings("ignore")
        @pytest.mark.converse_recording
        def test_x():
            id = f"tooluse_{uuid.uuid4().hex}"
            arn = "arn:aws:bedrock:us-east-1:210987654321:prompt/X of 210987654321"
            client().converse(
                modelId="m",
                system=[{"text": f"my key is {os.environ.get('MINE', 'AKIA' + 'Z7Q2M4N5P6R3T8W9')}, {arn}"}],
                messages=[
                    {"role": "user", "content": [{"text": "a"}]},
                    {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "t", "input": {}}}]},
                    {"role": "user", "content": [{"toolResult": {"toolUseId": id, "content": [{"text": "b"}]}}]},
                ],
                toolConfig={"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}}]},
            )
        """
    )
    upstream.record().assert_outcomes(passed=1)
    result = upstream.replay()
    result.assert_outcomes(passed=1)
    assert said(result) == []


def test_the_line_shows_what_differs_in_a_long_text(upstream: Upstream) -> None:
    text = TEST.replace("You are a guide.", f"{'You are a guide. ' * 50}Today is Monday, the 3rd.")
    upstream.project.makepyfile(test_a=text)
    upstream.record().assert_outcomes(passed=2)
    upstream.project.makepyfile(test_a=text.replace("Monday", "Tuesday"))
    change = '"... Today is Monday, the 3rd." -> "... Today is Tuesday, the 3rd."'
    assert said(upstream.replay()) == [
        LINES[0],
        f"    test_a.py::test_trip: 4 of 4 requests differ: system[0].text {change}",
    ]
