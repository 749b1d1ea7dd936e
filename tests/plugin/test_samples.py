"""The fixtures of samples and variants: scopes, ids, overrides; with @given, under xdist, lazily, in a list."""

from itertools import pairwise

import pytest

from converse_harness.samples import variants
from converse_harness.samples.table import SAMPLES, VARIANTS
from tests.nested import HYPOTHESIS, XDIST


def test_every_sample_has_its_fixture(project: pytest.Pytester) -> None:
    pairs = {name: row.fixture for name, row in SAMPLES.items()}
    project.makepyfile(
        f"""
        import pytest
        from converse_harness import samples

        @pytest.mark.parametrize(("name", "fixture"), {list(pairs.items())!r})
        def test_it(name, fixture, request):
            value, sample = request.getfixturevalue(fixture), samples.sample(name)
            assert type(value) is type(sample)
            if isinstance(value, (dict, list)):
                assert repr(value) == repr(sample)
        """
    )
    project.runpytest().assert_outcomes(passed=len(SAMPLES))


def test_a_change_stays_in_its_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def changed(converse_message):
            converse_message["content"].clear()

        @pytest.mark.parametrize("time", [1, 2])
        def test_in_a_test(converse_message, converse_each_tool_choice, time):
            assert len(converse_message["content"]) == 2
            assert len(converse_each_tool_choice) == 1
            converse_message["content"].clear()
            converse_each_tool_choice.clear()

        @pytest.mark.parametrize("time", [1, 2])
        def test_in_a_fixture(converse_message, changed, time):
            assert converse_message["content"] == []  # in one test it is one value

        def test_after_both(converse_message):
            assert len(converse_message["content"]) == 2

        @pytest.mark.parametrize("time", [1, 2])
        def test_asked_for_by_name(request, time):
            message = request.getfixturevalue("converse_message")
            assert message["content"]
            message.clear()
        """
    )
    project.runpytest().assert_outcomes(passed=11)


def test_inside_given(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from hypothesis import given, strategies as st

        @given(st.text())
        def test_sample(converse_tool_result, text):
            assert converse_tool_result["status"] == "success"

        @given(text=st.text())
        def test_variants(converse_each_content_block, text):
            assert len(converse_each_content_block) == 1
        """
    )
    result = project.runpytest(*HYPOTHESIS, "-p", "no:cacheprovider", "-k", "sample or cachePoint")
    result.assert_outcomes(passed=2, deselected=len(variants("content_block")) - 1)


@pytest.mark.parametrize("scope", ["class", "module", "package", "session"])
def test_fixtures_of_any_scope_can_ask(project: pytest.Pytester, scope: str) -> None:
    project.makepyfile(
        f"""
        import pytest

        made = []

        @pytest.fixture(scope={scope!r})
        def store(converse_message, converse_each_tool_choice):
            made.append(converse_each_tool_choice)
            return [converse_message, converse_each_tool_choice]

        class TestStore:
            def test_first(self, store):
                store[0]["content"].pop()

            def test_second(self, store, converse_message):
                assert len(store[0]["content"]) == 1  # it keeps the one that it got
                assert len(converse_message["content"]) == 2

        def test_last():
            assert [list(each) for each in made] == [["auto"], ["any"], ["tool"]]
        """
    )
    result = project.runpytest("-v")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["*test_first[[]auto] *", "*test_second[[]auto] *", "*test_first[[]any] *"])


def test_tests_stay_in_their_order(project: pytest.Pytester) -> None:
    for name in ("test_a", "test_b"):
        project.makepyfile(**{name: "def test_one(converse_each_tool_choice): pass\ndef test_two(): pass\n"})
    result = project.runpytest("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == [
        f"{module}.py::{test}"
        for module in ("test_a", "test_b")
        for test in ("test_one[auto]", "test_one[any]", "test_one[tool]", "test_two")
    ]


def test_ids_are_paths_of_the_model(project: pytest.Pytester) -> None:
    tests = [f"def test_{number}({row.fixture}): pass" for number, row in enumerate(VARIANTS.values())]
    project.makepyfile("\n".join(tests))
    result = project.runpytest("--collect-only", "-q")
    for each in (
        "test_0[[]guardContent.text]",
        "test_1[[]reasoningContent.signature]",
        "test_2[[]contentBlockDelta.reasoningContent.signature]",
        "test_2[[]throttlingException]",
        "test_3[[]end_turn]",
        "test_4[[]any]",
        "test_5[[]documentChar]",
        "test_6[[]EMAIL]",
    ):
        result.stdout.fnmatch_lines([f"*::{each}"])
    chosen = project.runpytest("-k", "EMAIL or throttlingException")
    chosen.assert_outcomes(passed=2, deselected=len([line for line in result.outlines if "::" in line]) - 2)


def test_what_the_user_has_comes_first(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def converse_message():
            return "mine"

        @pytest.fixture
        def converse_each_delta():
            return "mine"

        def test_fixtures(converse_message, converse_each_delta):
            assert (converse_message, converse_each_delta) == ("mine", "mine")

        @pytest.mark.parametrize("converse_tool_use", [1])
        @pytest.mark.parametrize("converse_each_stop_reason, other", [(2, 3)])
        def test_parameters(converse_tool_use, converse_each_stop_reason, other):
            assert (converse_tool_use, converse_each_stop_reason, other) == (1, 2, 3)

        @pytest.mark.parametrize("converse_each_content_block", ["text", "toolUse"], indirect=True)
        def test_some(converse_each_content_block):
            assert converse_each_content_block.keys() & {"text", "toolUse"}

        class TestBuiltOn:
            @pytest.fixture
            def converse_tool_use(self, converse_tool_use):
                return {**converse_tool_use, "name": "mine"}

            @pytest.fixture
            def converse_each_tool_choice(self, converse_each_tool_choice):
                return [converse_each_tool_choice]

            def test_it(self, converse_tool_use, converse_each_tool_choice):
                assert converse_tool_use["name"] == "mine"
                assert len(converse_each_tool_choice[0]) == 1
        """
    )
    project.runpytest().assert_outcomes(passed=7)


def test_a_wrong_use_says_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        def test_too_late(request):
            request.getfixturevalue("converse_each_delta")

        @pytest.mark.parametrize("converse_each_tool_choice", ["some"], indirect=True)
        def test_unknown(converse_each_tool_choice):
            pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "`converse_each_tool_choice` has no variant 'some'. Its variants: auto, any, tool.",
            "`converse_each_delta` was asked for while the test was running already.",
            "The values alone: converse_harness.samples.variants('delta')",
        ]
    )


def test_in_unittest(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import unittest
        import pytest

        class TestStore(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _samples(self, converse_tool_use):
                self.tool_use = converse_tool_use

            def test_it(self):
                self.assertEqual(self.tool_use["name"], "get_weather")
        """
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.slow
def test_under_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_variants(converse_each_pii_kind):
            assert converse_each_pii_kind["match"]

        def test_sample(converse_session):
            assert converse_session.session_id
        """
    )
    project.runpytest(*XDIST, "-n", "2").assert_outcomes(passed=32)


LOADED = """
import sys

def pytest_collection_finish():
    print("loaded:", *sorted({"botocore", "converse_harness.samples.values"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("test", "loaded"),
    [
        ("def test_it(converse_message, converse_pii_entity): pass", "loaded:"),
        ("def test_it(converse_each_pii_kind): pass", "loaded: botocore converse_harness.samples.values"),
    ],
)
def test_values_come_when_a_test_runs(project: pytest.Pytester, test: str, loaded: str) -> None:
    project.makeconftest(LOADED)
    project.makepyfile(test)
    result = project.runpytest_subprocess("-s", "--collect-only")
    assert loaded in result.outlines


def test_plans_and_shows(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(converse_message, converse_each_tool_choice): pass")
    plan = project.runpytest("--setup-plan")
    plan.stdout.fnmatch_lines(["SETUP    S converse_message", "*converse_each_tool_choice[[]'auto']*", "TEARDOWN S*"])
    project.runpytest("--setup-show").assert_outcomes(passed=3)
    shown = project.runpytest("--fixtures-per-test", "-k", "auto").stdout
    shown.fnmatch_lines(["converse_message -- *", "    An assistant's message *"])


def test_the_list_of_fixtures_reads_well(project: pytest.Pytester) -> None:
    lines = project.runpytest("--fixtures", "-v").outlines
    ours = [number for number, line in enumerate(lines) if "fixtures defined from converse_harness" in line]
    fakes, listed = (lines[start + 1 : end] for start, end in pairwise([*ours, len(lines)]))
    assert any(line.startswith("converse -- ") for line in fakes)
    assert any(line.startswith("converse_each_case -- ") for line in fakes)
    assert "plugin.parameters" in lines[ours[1]]
    names = [line.partition(" ")[0] for line in listed if line.startswith("converse_")]
    assert names == [
        fixture for table in (SAMPLES, VARIANTS) for fixture in sorted(row.fixture for row in table.values())
    ]
    docs = {row.fixture: row.doc for row in (*SAMPLES.values(), *VARIANTS.values())}
    for number, line in enumerate(listed):
        if line.startswith("converse_"):
            assert listed[number + 1].strip() == docs[line.partition(" ")[0]]


def test_the_short_list_of_fixtures_has_those_that_are_used_most(project: pytest.Pytester) -> None:
    lines = project.runpytest("--fixtures").outlines
    names = [line.partition(" ")[0] for line in lines if line.startswith(("converse_", "converse "))]
    most = ["converse", "converse_client", "converse_each_case", "converse_httpx", "converse_model", "converse_server"]
    # pytest 8.2 sorts them by file and line as one text, in which :100 comes before :32.
    assert sorted(names) == most
    assert f"converse-harness has {len(SAMPLES) + len(VARIANTS)} more fixtures with sample values" in "\n".join(lines)


def test_they_can_be_turned_off(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(converse_message): pass")
    project.runpytest("-p", "no:converse_samples").assert_outcomes(errors=1)


def test_they_come_in_with_the_first_that_is_looked_up(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest

        def pytest_collection_finish(session):
            print("registered:", session.config.pluginmanager.hasplugin("converse_samples"))
        """
    )
    project.makepyfile(test_a="def test_it(converse): pass", test_b="def test_it(request): pass")
    project.runpytest("-s").stdout.fnmatch_lines(["registered: False*"])
    project.makepyfile(test_b="def test_it(request): assert request.getfixturevalue('converse_role') == 'user'")
    result = project.runpytest("-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["registered: False*"])
    project.makepyfile(test_b="def test_it(converse_mesage): pass")
    project.runpytest().stdout.fnmatch_lines(["*fixture 'converse_mesage' not found", "*converse_message, *"])
