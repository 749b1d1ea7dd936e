"""What users had to find in production: each bug shows in a test, and the mended consumer passes it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.contract.projects import outcomes, run, told
from tests.public_threads.lessons import ContractLesson, ScriptLesson
from tests.public_threads.threads import LESSONS

pytestmark = pytest.mark.any_answer

JUDGED: Final = {cause: lesson for cause, lesson in LESSONS.items() if isinstance(lesson, ContractLesson)}
SCRIPTED: Final = {cause: lesson for cause, lesson in LESSONS.items() if isinstance(lesson, ScriptLesson)}

CONTRACTS: Final = """
from converse_harness.contract import consumer_contract
from tests.public_threads.threads import LESSONS

lesson = LESSONS[{cause!r}]
TestBug = consumer_contract(lesson.consumer(mended=False), **lesson.settings)
TestMended = consumer_contract(lesson.consumer(mended=True), **lesson.settings)
TestBug.cases = TestMended.cases = classmethod(lambda cls: ["text_basic", *lesson.flaws])
TestBug.test_property = TestMended.test_property = None  # the other tests of a contract say nothing of this bug
"""


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(cause, marks=[pytest.mark.slow] if lesson.slow else [], id=cause)
        for cause, lesson in JUDGED.items()
    ],
)
def test_the_contract_finds_the_bug_and_nothing_in_the_mended_one(cause: str, pytester: pytest.Pytester) -> None:
    lesson = JUDGED[cause]
    pytester.makepyfile(test_consumer=CONTRACTS.format(cause=cause))
    run(pytester, "--tb=no")
    assert len(told(pytester)) == 2 * (1 + len(lesson.flaws))
    assert outcomes(pytester) == {f"TestBug.{case}": "failure" for case in lesson.flaws}
    assert {case: told(pytester)[f"TestBug.{case}"]["flaw"] for case in lesson.flaws} == lesson.flaws


@pytest.mark.parametrize("cause", SCRIPTED)
def test_the_bug_fails_its_test(cause: str) -> None:
    check_bug(SCRIPTED[cause])


def check_bug(lesson: ScriptLesson) -> None:
    """Fail unless the lesson's test fails for the consumer with the bug, in the way that the lesson states."""
    error, says = lesson.failure
    with pytest.raises(error, match=says):
        lesson.test(lesson.consumer(mended=False))


@pytest.mark.parametrize("cause", SCRIPTED)
def test_the_mended_consumer_passes_it(cause: str) -> None:
    lesson = SCRIPTED[cause]
    lesson.test(lesson.consumer(mended=True))
