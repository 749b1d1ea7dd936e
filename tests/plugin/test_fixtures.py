"""The fixtures and how pytest speaks of them; under xdist, unittest, asyncio, anyio, hypothesis, importlib mode."""

import pytest

from tests.nested import ANYIO, ASYNCIO, HYPOTHESIS, XDIST


def test_pytest_lists_fixtures_marker_and_options(project: pytest.Pytester) -> None:
    fixtures = project.runpytest("--fixtures").stdout
    fixtures.fnmatch_lines(
        [
            "converse -- *converse_harness/plugin/__init__.py:*",
            "    A fake Bedrock that already answers every client of the process that asks Bedrock, *",
        ]
    )
    fixtures.fnmatch_lines(
        [
            "converse_client -- *",
            "    A ready boto client for bedrock-runtime, on the fake of the fixture `converse`.",
        ]
    )
    project.runpytest("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.converse(unused=, *rules=, *models=, guard=, rerun=, environ=*): settings of the fixture *"]
    )
    project.runpytest("--help").stdout.fnmatch_lines(
        [
            "fake Amazon Bedrock Converse endpoint (converse-harness):",
            "*--converse-unused=UNUSED",
            "*converse_seed (string):*",
        ]
    )


def test_the_help_describes_a_setting_once(project: pytest.Pytester) -> None:
    told = " ".join(project.runpytest("--help").stdout.str().split())
    assert told.count("whether a test that leaves replies unused fails: fail or allow (default: fail)") == 1
    assert told.count("whether a host of Bedrock is reached without a fake or a recording") == 1
    assert "converse_unused (string): the default of --converse-unused" in told
    assert "converse_guard (string): the default of --converse-guard" in told


def test_a_ready_client(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from converse_harness import reply

        def test_it(converse, converse_client):
            converse.script(reply.text("hi"))
            answer = converse_client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
            assert answer["output"]["message"]["content"] == [{"text": "hi"}]
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_inside_given_a_message_names_the_right_transport(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from hypothesis import HealthCheck, given, settings, strategies as st
        from agent import ask
        from converse_harness import fake_converse
        from converse_harness import reply

        @given(st.integers())
        def test_wrong(converse, number):
            pass

        @given(st.text())
        def test_right(text):
            with fake_converse(reply.text(text)):
                assert ask("hi") == text

        @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.text())
        def test_knowingly(converse, text):
            with converse.script(reply.text(text)):
                assert ask("hi") == text
        """
    )
    result = project.runpytest(*HYPOTHESIS)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_wrong uses @given, and the fixture `converse` would give all its examples one script*",
            "*with fake_converse(answer) as fake:",
        ]
    )


@pytest.mark.slow
def test_under_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import ask
        from converse_harness import reply

        @pytest.mark.parametrize("number", range(24))
        def test_it(converse, number):
            converse.script(reply.text(str(number)))
            assert ask("hi") == str(number)

        def test_unused(converse):
            converse.script(reply.text("a"))
        """
    )
    result = project.runpytest(*XDIST, "-n", "2")
    result.assert_outcomes(passed=24, failed=1)
    result.stdout.fnmatch_lines(["*UnusedReplies: 1 scripted reply was not used."])


def test_half_of_a_surrogate_pair_in_a_request_does_not_end_a_run_of_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(
        r"""
        from agent import ask

        def test_half(converse):
            ask("an emoji was cut: \ud83d")

        def test_other():
            pass
        """
    )
    result = project.runpytest(*XDIST, "-n", "1")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([r'call 1  *last: text "an emoji was cut: \ud83d"', "    answer   400  refused: *"])


def test_in_importlib_mode_and_with_folders_of_the_same_names(project: pytest.Pytester) -> None:
    for folder in ("harness", "strategies"):
        package = project.mkpydir(folder)
        (package / "mine.py").write_text("VALUE = 1\n")
    project.makepyfile(
        """
        import harness.mine, strategies.mine
        from agent import ask
        from converse_harness import reply
        import converse_strategies

        def test_it(converse):
            converse.script(reply.text("a"))
            assert ask("hi") == "a"
            assert harness.mine.VALUE == strategies.mine.VALUE == 1
        """
    )
    project.runpytest("--import-mode=importlib", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_in_unittest(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import unittest
        import pytest
        from agent import ask
        from converse_harness import fake_converse
        from converse_harness import reply

        class TestAgent(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _converse(self, converse):
                self.converse = converse

            def test_fixture(self):
                self.converse.script(reply.text("a"))
                self.assertEqual(ask("hi"), "a")

            def test_unused(self):
                self.converse.script(reply.text("a"))

            @fake_converse(reply.text("b"))
            def test_decorator(self):
                self.assertEqual(ask("hi"), "b")

        class TestWithoutPytest(unittest.TestCase):
            def setUp(self):
                self.converse = self.enterContext(fake_converse(reply.text("c")))

            def test_context(self):
                self.assertEqual(ask("hi"), "c")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*UnusedReplies: 1 scripted reply was not used."])


def test_a_unittest_method_that_fails_or_is_skipped_does_not_hide_a_problem(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import unittest
        import pytest
        from agent import ask, weather
        from converse_harness import reply

        class TestAgent(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _converse(self, converse):
                self.converse = converse

            def tearDown(self):
                if self.id().endswith("failed"):
                    raise OSError("in tearDown")

            def test_asked(self):
                ask("hi")

            def test_failed(self):
                self.assertEqual(weather("Bern"), "18 °C")

            def test_skipped(self):
                weather("Bern")
                self.skipTest("no answer")

            def test_skipped_before_it_asks(self):
                self.converse.script(reply.text("a"))
                self.skipTest("not now")

            @unittest.expectedFailure
            def test_expected(self):
                ask("hi")
        """
    )
    result = project.runpytest("-rA")
    result.assert_outcomes(failed=2, skipped=2, xfailed=1, errors=2)
    unexpected = "E * converse_harness.UnexpectedCall: call 1 has no reply: nothing is scripted."
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of TestAgent.test_failed*",
            "E * OSError: in tearDown",
            "*ERROR at teardown of TestAgent.test_skipped*",
            unexpected,
            "*_ TestAgent.test_asked _*",
            unexpected,
            "*_ TestAgent.test_failed _*",
            "E * AssertionError: 'sorry' != '18 °C'",
            unexpected,
        ]
    )


def test_with_pytest_asyncio_and_anyio(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import asyncio
        import anyio.to_thread
        import pytest
        from agent import ask, weather
        from converse_harness import fake_converse
        from converse_harness import reply

        @pytest.mark.asyncio
        async def test_asyncio(converse):
            converse.always(reply.text("a"))
            assert await asyncio.gather(*[asyncio.to_thread(ask, "hi") for _ in range(8)]) == ["a"] * 8
            assert len(converse.calls) == 8

        @pytest.mark.anyio
        async def test_anyio(converse):
            converse.script(reply.text("a"))
            assert await anyio.to_thread.run_sync(ask, "hi") == "a"

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.asyncio
        async def test_unexpected(converse):
            assert await asyncio.to_thread(weather, "Bern") == "sorry"

        @pytest.mark.asyncio
        async def test_async_with():
            async with fake_converse(reply.text("b")) as fake:
                assert await asyncio.to_thread(ask, "hi") == "b"
            assert fake.calls[0].last_user_text == "hi"

        @pytest.mark.asyncio
        @fake_converse(reply.text("c"))
        async def test_decorated():
            assert await asyncio.to_thread(ask, "hi") == "c"
        """
    )
    result = project.runpytest(*ASYNCIO, *ANYIO)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*UnexpectedCall: call 1 has no reply: nothing is scripted."])


def test_a_module_scoped_fake_of_the_users_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import ask
        from converse_harness import fake_converse
        from converse_harness import reply

        @pytest.fixture(scope="module")
        def model():
            with fake_converse() as fake:
                fake.always(reply.text("always"))
                yield fake

        def test_one(model):
            assert ask("hi") == "always"

        def test_newest_wins_and_restores(model, converse):
            converse.script(reply.text("newest"))
            assert ask("hi") == "newest"

        def test_two(model):
            with model.script(reply.text("scripted")) as scripted:
                assert ask("hi") == "scripted"
            assert ask("hi") == "always"
            assert [call.number for call in scripted.calls] == [2]
            assert len(model.calls) == 3
        """
    )
    project.runpytest().assert_outcomes(passed=3)
