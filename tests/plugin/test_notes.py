"""What fakes note in a project's tests: where it stands, how often, and what the setting makes of it."""

from __future__ import annotations

import pytest

from tests.nested import XDIST

AGENT = """
from converse_harness.intercept.clients import create_client

HAIKU = "anthropic.claude-3-haiku-20240307-v1:0"


def greet(model_id=HAIKU, times=2):
    messages = [{"role": "user", "content": [{"text": "hi"}]}] * times
    return create_client().converse(modelId=model_id, messages=messages)
"""

TESTS = """
import pytest
from agent import greet
from converse_harness import fake_converse, reply


@pytest.fixture
def greeted_late(converse):
    converse.always(reply.text("hi"))
    yield
    greet()


def test_twice(converse):
    converse.always(reply.text("hi"))
    greet()
    greet()


def test_many_fakes():
    for _ in range(3):
        with fake_converse(reply.text("hi")):
            greet()


def test_in_a_fixture(greeted_late):
    pass


def test_nothing_to_say(converse):
    converse.always(reply.text("hi"))
    greet(times=1)
    greet("a-made-up-model")
"""

SUMMARY = [
    "*= converse notes =*",
    "roles_alternate, in 3 tests",
    "  test_it.py::test_twice",
    "  test_it.py::test_many_fakes",
    "  test_it.py::test_in_a_fixture",
    "    Bedrock may refuse call 1: A conversation must alternate between user and assistant roles.*",
    "    rule *roles_alternate: *",
    "*converse-harness docs rules notes",
]


@pytest.fixture
def noting(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose tests ask Claude 3 in a way that it may refuse."""
    project.makepyfile(agent=AGENT, test_it=TESTS)
    return project


def test_notes_stand_in_the_summary_once_for_each_test(noting: pytest.Pytester) -> None:
    """Also where warnings are errors."""
    result = noting.runpytest("-W", "error")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(SUMMARY, consecutive=False)
    result.stdout.no_fnmatch_line("*::test_nothing_to_say")
    assert result.stdout.str().count("Bedrock may refuse") == 1


@pytest.mark.slow
def test_notes_of_workers(noting: pytest.Pytester) -> None:
    result = noting.runpytest_subprocess(*XDIST, "-n", "2")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*= converse notes =*", "roles_alternate, in 3 tests"])


@pytest.mark.parametrize("way", ["option", "ini"])
def test_a_note_can_be_a_warning(noting: pytest.Pytester, way: str) -> None:
    if way == "ini":
        noting.makeini("[pytest]\nconverse_notes = warning\n")
    chosen = ["--converse-notes=warning"] if way == "option" else []
    result = noting.runpytest("-W", "default", *chosen)
    result.assert_outcomes(passed=4, warnings=2)
    result.stdout.fnmatch_lines(
        ["*= warnings summary =*", "*::test_twice", "*ConverseNoteWarning: Bedrock may refuse *"]
    )
    result.stdout.fnmatch_lines(["roles_alternate, in 3 tests"])
    noting.runpytest("-W", "error::converse_harness.ConverseNoteWarning", *chosen).assert_outcomes(passed=2, failed=2)


def test_a_note_can_be_a_failure(noting: pytest.Pytester) -> None:
    result = noting.runpytest("--converse-notes=fail")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["E*NotedCall: Bedrock may refuse call 1: A conversation must alternate *"])


READ = """
import pytest
from agent import greet
from converse_harness import fake_converse, reply

KINDS = ["roles_alternate"]


def test_read(converse):
    converse.always(reply.text("hi"))
    greet()
    assert [note.kind for note in converse.notes] == KINDS
    greet()
    assert [note.kind for note in converse.notes] == 2 * KINDS


def test_read_after_the_block():
    with fake_converse(reply.text("hi")) as fake:
        greet()
    assert [note.kind for note in fake.notes] == KINDS


def test_another_came_later(converse):
    converse.always(reply.text("hi"))
    assert converse.notes == []
    greet()


def test_another_fake_is_not_read():
    for _ in range(2):
        with fake_converse(reply.text("hi")) as fake:
            greet()
    assert [note.kind for note in fake.notes] == KINDS
"""


@pytest.mark.parametrize(("setting", "failed"), [("summary", 0), ("fail", 2)])
def test_a_note_that_the_test_reads_is_told_to_nobody_else(project: pytest.Pytester, setting: str, failed: int) -> None:
    project.makepyfile(agent=AGENT, test_it=READ)
    result = project.runpytest(f"--converse-notes={setting}")
    result.assert_outcomes(passed=4 - failed, failed=failed)
    result.stdout.fnmatch_lines(
        ["roles_alternate, in 2 tests", "  test_it.py::test_another_came_later", "  *::test_another_fake_is_not_read"],
        consecutive=True,
    )


BEHIND = """
import pytest
from agent import greet
from converse_harness import reply


def test_by_the_ini_file(converse):
    converse.always(reply.text("hi"))
    greet("the-cheap-one")
    assert [note.kind for note in converse.notes] == ["roles_alternate"]


@pytest.mark.converse(models={"the-*": "us.amazon.nova-lite-v1:0"})
def test_by_the_marker(converse):
    converse.always(reply.text("hi"))
    greet("the-cheap-one")
    assert converse.notes == []
"""


def test_settings_say_what_stands_behind_an_id(project: pytest.Pytester) -> None:
    project.makepyfile(agent=AGENT, test_it=BEHIND)
    project.makeini("[pytest]\nconverse_models =\n    the-cheap-one = anthropic.claude-3-haiku-20240307-v1:0\n")
    project.runpytest().assert_outcomes(passed=2)
    project.makeini("[pytest]\nconverse_models = the-cheap-one\n")
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*converse_models: 'the-cheap-one' is no line GLOB = MODEL."])


def test_a_setting_that_is_none(noting: pytest.Pytester) -> None:
    noting.makeini("[pytest]\nconverse_notes = loud\n")
    result = noting.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*converse_notes = loud: one of summary, warning, fail."])
