"""The setting `environ`: dummy keys and a region in the environment of a test that has a fake."""

from __future__ import annotations

import pytest

from converse_harness.intercept.clients import KEYS

TESTS = """
import os
import pytest

KEYS = "AWS_ACCESS_KEY_ID", "AWS_REGION"

def keys():
    return [os.environ.get(name) for name in KEYS]

def test_with_a_fake(converse):
    assert keys() == DUMMIES

def test_over_httpx(converse_httpx):
    assert keys() == DUMMIES

def test_without_a_fake():
    assert keys() == ["mine", None]

@pytest.mark.converse(environ=False)
def test_off(converse):
    assert keys() == ["mine", None]

@pytest.mark.converse(environ=True)
def test_on(converse):
    assert keys() == DUMMIES
"""
DUMMIES = [KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_REGION"]]


@pytest.fixture(autouse=True)
def mine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")


@pytest.mark.parametrize(
    ("ini", "failed"),
    [
        ("", {"test_with_a_fake", "test_over_httpx"}),
        ("converse_environ = true", set()),
        ("converse_environ = false", {"test_with_a_fake", "test_over_httpx"}),
    ],
)
def test_which_tests_have_them(pytester: pytest.Pytester, ini: str, failed: set[str]) -> None:
    pytester.makepyfile(TESTS.replace("DUMMIES", repr(DUMMIES)))
    pytester.makeini(f"[pytest]\n{ini}")
    result = pytester.inline_run("-p", "no:asyncio", "-p", "no:randomly")
    assert {report.nodeid.rpartition("::")[2] for report in result.getfailures()} == failed


def test_a_test_that_plays_a_recording_has_them_and_one_that_records_has_not(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import os, pytest

        @pytest.mark.converse_recording
        @pytest.mark.converse(environ=True)
        def test_it():
            assert os.environ["AWS_ACCESS_KEY_ID"] == {{True: "mine", False: {DUMMIES[0]!r}}}["RECORDS" in os.environ]
        """
    )
    pytester.mkdir("recordings")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDS", "yes")
        pytester.inline_run("-p", "no:asyncio", "--converse-record", "all").assertoutcome(passed=1)
    pytester.inline_run("-p", "no:asyncio").assertoutcome(passed=1)
