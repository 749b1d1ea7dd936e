"""The marker `converse_recording`: a test is recorded once and replayed with no network and no keys."""

import pytest

from tests.nested import ASYNCIO
from tests.plugin.upstream import ACCOUNT, Upstream


def test_recorded_once_and_replayed_without_network_and_keys(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask, weather

        @pytest.mark.converse_recording
        def test_trip():
            assert ask("Chur") == "Chur!"
            assert weather("Bern") == "What is it like in Bern?!"
        """
    )
    recorded = upstream.record()
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(
        [
            "converse-harness: --converse-record=once (record if there is no file yet, otherwise play the file)",
            "converse-harness: wrote recordings/test_a/test_trip.jsonl (2 exchanges)",
        ]
    )
    name = "test_a/test_trip.jsonl"
    assert upstream.files == [name]
    assert upstream.questions(name) == ["Chur", "What is it like in Bern?"]
    text = (upstream.project.path / "recordings" / name).read_text(encoding="utf-8")
    assert not any(value in text for key, value in ACCOUNT.items() if "ACCESS" in key)
    replayed = upstream.replay()
    replayed.assert_outcomes(passed=1)
    replayed.stdout.no_fnmatch_line("converse-harness*")
    again = upstream.record()
    again.assert_outcomes(passed=1)
    assert len(upstream.service.calls) == 2
    again.stdout.no_fnmatch_line("*wrote*")


def test_a_missing_recording_says_which_command_makes_it(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        **{
            "tests/test_trips": """
            import pytest
            from agent import weather

            pytestmark = pytest.mark.converse_recording

            class TestTrain:
                @pytest.mark.parametrize("where", ["us:0", 'a"b'])
                def test_trip(self, where):
                    assert weather(where) == "sorry"

            @pytest.fixture
            def agent():
                weather("Bern")

            def test_with_fixture(agent):
                pass

            def test_that_asks_nothing_needs_none():
                pass
            """
        }
    )
    result = upstream.replay()
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E*UnexpectedCall: call 1 has no reply: recordings/tests/test_trips/TestTrain.*us_0*.jsonl is not there.",
            "E*",
            "E*arrived   ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: *",
            "E*",
            "E*tests/test_trips.py::TestTrain::test_trip[[]us:0[]] has no recording. Record it, with the credentials *",
            "E*",
            'E*    pytest --converse-record=once "tests/test_trips.py::TestTrain::test_trip[[]us:0[]]"',
            "E*    pytest --converse-record=once 'tests/test_trips.py::TestTrain::test_trip[[]a\"b[]]'",
            'E*    pytest --converse-record=once "tests/test_trips.py::test_with_fixture"',
        ]
    )
    assert upstream.files == []


def test_other_operations_need_a_recording_as_well(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import client

        @pytest.mark.converse_recording
        def test_trip():
            client().invoke_model(modelId="amazon.titan-embed-text-v2:0", body="{}")
        """
    )
    result = upstream.replay()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*UnexpectedCall: call 1 has no reply: recordings/test_a/test_trip.jsonl is not there."]
    )


def test_the_command_is_for_the_folder_where_pytest_runs(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream.project.makeini("[pytest]")
    folder = upstream.project.mkdir("sub")
    (folder / "test_trips.py").write_text(
        "import agent, pytest\n@pytest.mark.converse_recording\ndef test_trip(): agent.ask('a')\n"
    )
    monkeypatch.chdir(folder)
    result = upstream.replay()
    result.stdout.fnmatch_lines(
        [
            "E*call 1 has no reply: ../recordings/sub/test_trips/test_trip.jsonl is not there.",
            "E*sub/test_trips.py::test_trip has no recording. *",
            'E*    pytest --converse-record=once "test_trips.py::test_trip"',
        ]
    )


def test_modes(upstream: Upstream) -> None:
    """A question in another shape is one that has no exchange yet."""
    upstream.project.makepyfile(
        """
        import pytest
        from pathlib import Path
        from agent import ask

        @pytest.mark.converse_recording("trip", match="exact")
        def test_trip():
            for question in Path("questions.txt").read_text().split():
                ask(question)
        """
    )
    questions = upstream.project.path / "questions.txt"
    questions.write_text("a b")
    upstream.record(mode="none").assert_outcomes(failed=1)
    upstream.record(mode="once").assert_outcomes(passed=1)
    assert upstream.questions("trip.jsonl") == ["a", "b"]

    questions.write_text("b c")
    upstream.record(mode="none").assert_outcomes(failed=1)
    failed = upstream.record(mode="once")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*UnexpectedCall*", '*pytest --converse-record=all "test_modes.py::test_trip"'])
    assert len(upstream.service.calls) == 2
    added = upstream.record(mode="new_episodes")
    added.assert_outcomes(passed=1)
    added.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/trip.jsonl (1 exchange)",
            "converse-harness: *::test_trip left 1 of 2 recorded exchanges unplayed: recordings/trip.jsonl:3",
        ]
    )
    assert upstream.questions("trip.jsonl") == ["a", "b", "c"]
    upstream.replay().assert_outcomes(passed=1)

    anew = upstream.record(mode="all")
    anew.assert_outcomes(passed=1)
    assert upstream.questions("trip.jsonl") == ["b", "c"]
    upstream.replay().assert_outcomes(passed=1)


def test_the_mode_of_the_ini_file_and_its_spelling(upstream: Upstream) -> None:
    upstream.project.makepyfile("def test_it(): pass")
    upstream.project.makeini("[pytest]\nconverse_record = new_episodes")
    upstream.project.runpytest().stdout.fnmatch_lines(
        ["converse-harness: converse_record = new_episodes (play the calls that match, record the others, keep *)"]
    )
    upstream.project.runpytest("--converse-record=none").stdout.no_fnmatch_line("converse-harness*")
    upstream.project.makeini("[pytest]\nconverse_record = always")
    upstream.project.runpytest().stderr.fnmatch_lines(
        ["*converse_record = always: one of none, once, new_episodes, all.*"]
    )
    upstream.project.makeini("[pytest]")
    wrong = upstream.project.runpytest("--converse-record=always")
    wrong.stderr.fnmatch_lines(
        ["*--converse-record: invalid choice: 'always' (choose from *none*once*new_episodes*all*"]
    )


def test_the_folder_of_the_ini_file(upstream: Upstream) -> None:
    upstream.project.makeini("[pytest]\nconverse_recordings = data/sessions")
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("alps/trip")
        def test_trip():
            ask("a")
        """
    )
    upstream.record().stdout.fnmatch_lines(["converse-harness: wrote data/sessions/alps/trip.jsonl (1 exchange)"])
    upstream.replay().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (
            '("../trip")',
            "*converse_recording[(]'../trip'[)]: \"..\" would leave its place. A name is a path below the*",
        ),
        ('("a", "b")', "@pytest.mark.converse_recording: 'b' is none of its arguments. name: *; match: *; pace: *"),
        ('(mode="all")', "@pytest.mark.converse_recording: mode= is none of its arguments. name: *; match: *; pace: *"),
        ('(match="fuzzy")', "*match='fuzzy'*'order', 'exact', 'shape'*"),
        (
            '(ignore=["sytem"])',
            "ignore=*: the request of Converse has no member *sytem*. Did you mean *",
        ),
        (
            "(match=lambda call: True)",
            "@pytest.mark.converse_recording(match=*): *. It is a function (recorded, asked) that *",
        ),
        ('(pace="fast")', "*pace='fast'*\"recorded\", or a number*"),
    ],
)
@pytest.mark.parametrize("mode", ["none", "all"])
def test_a_marker_that_is_wrong_says_what_it_takes(upstream: Upstream, marker: str, message: str, mode: str) -> None:
    upstream.project.makepyfile(
        f"""
        import pytest

        @pytest.mark.converse_recording{marker}
        def test_trip():
            pass
        """
    )
    result = upstream.record(mode=mode)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*another exception occurred:")


def test_markers_of_module_class_and_function_add_up(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        pytestmark = pytest.mark.converse_recording(match="exact")

        class TestTrip:
            @pytest.mark.converse_recording(pace="recorded")
            def test_one(self):
                ask("a")

            @pytest.mark.converse_recording("other", match="shape")
            def test_two(self):
                import agent
                agent.ask(QUESTION)

        QUESTION = "b"
        """
    )
    upstream.record().assert_outcomes(passed=2)
    assert upstream.files == ["other.jsonl", "test_a/TestTrip.test_one.jsonl"]
    path = upstream.project.path / "test_a.py"
    path.write_text(path.read_text().replace('ask("a")', 'ask("changed")').replace('QUESTION = "b"', 'QUESTION = "c"'))
    result = upstream.replay()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_a.py::TestTrip::test_one *"])


def test_with_fixtures_of_ours_and_of_others(upstream: Upstream) -> None:
    """One recording for all fakes of a test; what fixtures call before and after belongs to it."""
    upstream.project.makepyfile(
        test_a="""
        import httpx
        import pytest
        from agent import ask

        @pytest.fixture
        def agent():
            ask("before")
            yield ask
            ask("after")

        @pytest.fixture(scope="module")
        def wider():
            with pytest.MonkeyPatch.context() as patch:
                yield

        @pytest.mark.converse_recording
        def test_trip(wider, agent, converse, converse_client):
            assert agent("during") == "during!"
            message = {"role": "user", "content": [{"text": "ready"}]}
            converse_client.converse(modelId="m", messages=[message])
            assert [call.last_user_text for call in converse.calls] == ["during", "ready"]
            assert converse.calls[0].response.message["content"] == [{"text": "during!"}]
        """
    )
    upstream.record().assert_outcomes(passed=1)
    assert upstream.questions("test_a/test_trip.jsonl") == ["before", "during", "ready", "after"]
    result = upstream.replay()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*unplayed*")


def test_boto_and_httpx_share_one_recording(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import os
        import httpx
        import pytest
        from agent import ask

        @pytest.mark.converse_recording(match="exact")
        def test_trip(converse, converse_httpx):
            assert ask("boto") == "boto!"
            transport = converse_httpx.httpx_transport
            with httpx.Client(transport=transport) as client:
                url = os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://bedrock-runtime.us-east-1.amazonaws.com")
                body = {"messages": [{"role": "user", "content": [{"text": "httpx"}]}]}
                answer = client.post(f"{url}/model/m/converse", json=body).json()
                assert answer["output"]["message"]["content"] == [{"text": "httpx!"}]
            assert [len(fake.calls) for fake in (converse, converse_httpx)] == [1, 1]
        """
    )
    upstream.record().assert_outcomes(passed=1)
    assert upstream.questions("test_a/test_trip.jsonl") == ["boto", "httpx"]
    result = upstream.replay()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*unplayed*")


def test_what_a_test_scripts_itself_comes_before_the_recording(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask
        from converse_harness import reply

        @pytest.mark.converse_recording
        def test_trip(converse):
            converse.when(last_user_text="mine").script(reply.text("scripted"))
            assert ask("mine") == "scripted"
            assert ask("theirs") == "theirs!"
        """
    )
    upstream.record().assert_outcomes(passed=1)
    assert upstream.questions("test_a/test_trip.jsonl") == ["theirs"]
    upstream.replay().assert_outcomes(passed=1)


def test_in_unittest_and_asyncio(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import asyncio
        import unittest
        import pytest
        from agent import ask

        class TestTrip(unittest.TestCase):
            def setUp(self):
                self.first = ask("setUp")

            @pytest.mark.converse_recording
            def test_one(self):
                self.assertEqual([self.first, ask("a")], ["setUp!", "a!"])

        @pytest.mark.asyncio
        @pytest.mark.converse_recording
        async def test_two():
            assert await asyncio.to_thread(ask, "b") == "b!"
        """
    )
    upstream.record(*ASYNCIO).assert_outcomes(passed=2)
    assert upstream.files == ["test_a/TestTrip.test_one.jsonl", "test_a/test_two.jsonl"]
    assert upstream.questions("test_a/TestTrip.test_one.jsonl") == ["setUp", "a"]
    upstream.replay(*ASYNCIO).assert_outcomes(passed=2)


def test_inside_given_it_says_what_to_write_instead(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        """
        import pytest
        from hypothesis import given, strategies as st

        @pytest.mark.converse_recording
        @given(st.integers())
        def test_trip(number):
            pass
        """
    )
    result = upstream.replay()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_trip uses @given, and the marker `converse_recording` would give all its examples one script*",
            '*with fake_converse(recording("recordings/...")) as fake:',
        ]
    )


def test_without_an_account_the_error_of_botocore_says_what_to_do(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        """
        import botocore.session
        import pytest

        @pytest.mark.converse_recording
        def test_trip():
            client = botocore.session.Session().create_client("bedrock-runtime", region_name="us-east-1")
            client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
        """
    )
    result = upstream.record(account=False)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*botocore.exceptions.NoCredentialsError: Unable to locate credentials",
            "E*This test is being recorded (--converse-record=once): its calls go to the real service *",
            "E*credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, *",
        ]
    )
    assert not upstream.service.calls
    assert upstream.files == []


def test_a_damaged_recording_fails_its_test_by_file_and_line(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        """
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("trip")
        def test_trip():
            ask("a")
        """
    )
    path = upstream.project.mkdir("recordings") / "trip.jsonl"
    path.write_text('{"format": "converse-recording", "version": 2}\n{"call"')
    result = upstream.replay()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*DamagedRecording: *trip.jsonl:2: this line is not JSON*"])
    path.write_text('{"format": "converse-recording", "version": 1}\n')
    result = upstream.replay()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['*trip.jsonl:1: "version" is 1; * reads version 2. Record the session again.*'])
    path.unlink()
    path.mkdir()
    upstream.replay().stdout.fnmatch_lines(["*trip.jsonl*: Is a directory*"])


SHARED = """
import pytest
from agent import ask

@pytest.mark.converse_recording("trip")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_trip(number):
    assert ask("a") == "a!"
"""


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_two_tests_with_one_file_play_it_and_one_records_it(upstream: Upstream, workers: tuple[str, ...]) -> None:
    upstream.project.makepyfile(test_a=SHARED)
    for mode in ("once", "all"):
        result = upstream.record(*workers, mode=mode)
        result.assert_outcomes(passed=1, failed=2)
        result.stdout.fnmatch_lines(
            [
                "E*UnexpectedCall: call 1 is not recorded: *::test_trip[[]1[]] is what records recordings/trip.jsonl.",
                "E*test_a.py::test_trip[[]2[]] has the same recording as test_a.py::test_trip[[]1[]]. Any number of *",
                "E*each from its beginning, but only one records it. Record it with that test:",
                f'E*    pytest --converse-record={mode} "test_a.py::test_trip[[]1[]]"',
                'E*or give this one a file of its own: @pytest.mark.converse_recording("another/name").',
            ]
        )
        assert upstream.questions("trip.jsonl") == ["a"]
        (upstream.project.path / "recordings" / "trip.jsonl").unlink()
    upstream.record("test_a.py::test_trip[2]").assert_outcomes(passed=1)
    for mode in ("none", "once", "new_episodes"):
        upstream.record(*workers, mode=mode).assert_outcomes(passed=3)
    assert upstream.questions("trip.jsonl") == ["a"]


def test_two_names_that_differ_in_capitals_count_as_one_file(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("trip")
        def test_one():
            ask("a")

        @pytest.mark.converse_recording("TRIP")
        def test_two():
            ask("a")
        """
    )
    result = upstream.record()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*test_a.py::test_two has the same recording as test_a.py::test_one. *"])


def test_the_second_test_of_a_file_records_nothing_new_and_says_so(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a=SHARED.replace('"trip")', '"trip", match="exact")').replace(
            'ask("a") == "a!"', 'ask("b" if number == 3 else "a")'
        )
    )
    upstream.record("test_a.py::test_trip[1]").assert_outcomes(passed=1)
    result = upstream.record(mode="new_episodes")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["E*Nothing is recorded for this test: *::test_trip[[]1[]] is the one that records recordings/trip.jsonl."]
    )
    assert upstream.questions("trip.jsonl") == ["a"]


def test_what_the_ini_file_replaces_is_replaced_in_file_and_match(upstream: Upstream) -> None:
    upstream.project.makeini("[pytest]\nconverse_redact =\n    customer-\\d+ => customer-1\n")
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("trip", match="exact")
        def test_trip():
            ask("for customer-4711")
        """
    )
    upstream.record().assert_outcomes(passed=1)
    assert upstream.questions("trip.jsonl") == ["for customer-1"]
    text = (upstream.project.path / "recordings" / "trip.jsonl").read_text(encoding="utf-8")
    assert "4711" not in text
    assert "for customer-1!" in text
    upstream.replay().assert_outcomes(passed=1)
    upstream.project.makeini("[pytest]\nconverse_redact = ( => x")
    upstream.replay().stderr.fnmatch_lines(["*converse_redact: '[(]' is no regular expression*"])


def test_marker_and_ini_file_decide_whether_files_are_kept(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import boto3
        import pytest

        def ask():
            image = {"image": {"format": "png", "source": {"bytes": b"\\x89PNG\\r\\n\\x1a\\n" + bytes(4999)}}}
            asked = [{"role": "user", "content": [{"text": "?"}, image]}]
            boto3.client("bedrock-runtime").converse(modelId="amazon.nova-lite-v1:0", messages=asked)

        @pytest.mark.converse_recording("as_set", match="exact")
        def test_as_set():
            ask()

        @pytest.mark.converse_recording("kept", match="exact", keep_files=True)
        def test_kept():
            ask()

        @pytest.mark.converse_recording("dropped", match="exact", keep_files=False)
        def test_dropped():
            ask()
        """
    )

    def with_files() -> set[str]:
        return {name.partition(".")[0] for name in upstream.files if name.endswith(".png")}

    result = upstream.record()
    result.assert_outcomes(passed=3)
    said = "recordings/{}.jsonl: 1 file in its requests is kept; what pictures show, *"
    result.stdout.fnmatch_lines([f"converse-harness: {said.format('kept')}"])
    result.stdout.no_fnmatch_line(f"*{said.format('as_set')}")
    assert with_files() == {"kept"}
    upstream.replay().assert_outcomes(passed=3)
    upstream.project.makeini("[pytest]\nconverse_keep_files = true\n")
    upstream.record(mode="all").assert_outcomes(passed=3)
    assert with_files() == {"as_set", "kept"}
    upstream.replay().assert_outcomes(passed=3)


def test_a_secret_is_masked_and_that_is_said(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("trip")
        def test_trip():
            ask("my key is AKIA" + "QWERTYUIOPASDFGH")
        """
    )
    result = upstream.record()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "converse-harness: wrote recordings/trip.jsonl (1 exchange)",
            "converse-harness: recordings/trip.jsonl has [*][*][*] in the place of 2 secrets:",
            "  recordings/trip.jsonl:3: request.messages[[]0].content[[]0].text: an AWS access key id",
        ]
    )
    result.stdout.no_fnmatch_line("*QWERTYUIOPASDFGH*")
    assert upstream.questions("trip.jsonl") == ["my key is ***"]
    upstream.replay().assert_outcomes(passed=1)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_conflict_of_git_ends_with_the_command_that_records_again(upstream: Upstream, at: int) -> None:
    upstream.project.makepyfile(
        test_a="""
        import pytest
        from agent import ask

        @pytest.mark.converse_recording
        @pytest.mark.parametrize("city", ["Bern"])
        def test_city(city):
            ask(city)
        """
    )
    upstream.record()
    path = upstream.project.path / "recordings/test_a/test_city[Bern].jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:at], "<<<<<<< HEAD\n", *lines[at:]]), encoding="utf-8")
    result = upstream.replay()
    assert not result.parseoutcomes().get("passed")
    result.stdout.fnmatch_lines(
        [
            "*this line is a conflict marker of git*",
            '*    pytest --converse-record=all "test_a.py::test_city[[]Bern[]]"',
        ]
    )


def test_a_name_that_begins_with_the_folder_of_recordings(upstream: Upstream) -> None:
    upstream.project.makepyfile(
        """
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("recordings/trips/bern")
        def test_trip():
            ask("a")
        """
    )
    said = "*converse_recording('recordings/trips/bern'): names are below recordings/ already; write 'trips/bern'."
    upstream.record().stdout.fnmatch_lines([said])
    assert upstream.files == []
