"""What `--converse-shrink` shrinks, what it leaves alone, and what it prints."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from converse_harness.features import FEATURES
from converse_harness.features.shrink import hooks
from tests.features.shrink.conftest import HEAD, Shrinking, lines_of
from tests.nested import XDIST

RECORDINGS = Path(__file__).parents[3] / "recordings"

PASTE = re.compile(r"^    (converse\.script\(.*\))$")

BUG = """
def test_a(converse):
    converse.script(*(reply.text(f"Stop {n}.") for n in range(5)), reply.tool_use("book", {"seat": 7}), reply.text("!"))
    while True:
        ask()["text"]
"""


def scripts(lines: list[str]) -> list[str]:
    return [found[1] for found in map(PASTE.match, lines) if found]


def test_the_summary_of_a_failing_test(shrinking: Shrinking, confirmed: list[str]) -> None:
    assert shrinking(BUG) == [
        (
            "test_it.py::test_a: 6 calls -> 1 call, 6 blocks -> 1, 39 characters -> 4, same failure (KeyError: 'text' "
            "at test_it.py:26), * s. Paste:"
        ),
        '    converse.script(reply.tool_use("book", {}))',
    ]
    assert confirmed == ['converse.script(reply.tool_use("book", {}))']


def test_the_same_run_gives_the_same_script(shrinking: Shrinking) -> None:
    assert shrinking(BUG) == shrinking(BUG)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("def test_a():\n    assert [] == [1]", "not shrunk: it got no scripted or recorded reply of a fake."),
        (
            (
                "RUNS = []\ndef test_a(converse):\n    converse.script(reply.text('hi'))\n    RUNS.append(ask())\n"
                "    assert len(RUNS) > 1"
            ),
            "not shrunk: run again without a change, the test passes. Is it repeatable?",
        ),
        (
            (
                "RUNS = []\ndef test_a(converse):\n    converse.script(reply.text('hi'))\n    RUNS.append(ask())\n"
                "    assert len(RUNS) > 1\n    [][1]"
            ),
            (
                "not shrunk: run again without a change, the test fails otherwise (IndexError: list index out of range "
                "at test_it.py:27). Is it repeatable?"
            ),
        ),
        (
            (
                "def test_a():\n    with fake_converse(reply.text('hi')):\n        ask()\n"
                "    with fake_converse(reply.text('hi')):\n        ask()\n    assert [] == [1]"
            ),
            "not shrunk: it asks 2 fakes, and one script has the replies of one.",
        ),
        (
            (
                "@pytest.mark.converse(rerun=False)\n"
                "def test_a(converse):\n    converse.script(reply.text('hi'))\n    assert ask() == 1"
            ),
            "not shrunk: a test with rerun=False does not run again.",
        ),
    ],
    ids=["no fake", "passes", "fails otherwise", "two fakes", "rerun=False"],
)
def test_what_is_not_shrunk(test: str, told: str, shrinking: Shrinking, confirmed: list[str]) -> None:
    assert shrinking(test) == [f"test_it.py::test_a: {told}"]
    assert confirmed == []


def test_a_run_without_failures_says_so(shrinking: Shrinking) -> None:
    lines = shrinking("def test_a(converse):\n    converse.script(reply.text('hi'))\n    ask()", code=0)
    assert lines == ["Nothing was shrunk: no test failed with an exception."]


def test_the_first_three_are_shrunk(shrinking: Shrinking) -> None:
    without = "".join(f"\ndef test_0{n}():\n    assert [] == [1]\n" for n in range(4))
    tests = without + "\n".join(BUG.replace("test_a", f"test_{n}") for n in range(5))
    lines = shrinking(tests)
    assert scripts(lines) == ['converse.script(reply.tool_use("book", {}))'] * 3
    assert lines[-1] == "2 more were not shrunk: name a test, as in pytest --converse-shrink FILE::TEST"


def test_a_test_that_ends_the_run_is_shrunk(shrinking: Shrinking) -> None:
    assert scripts(shrinking(BUG, "-x", code=1)) == ['converse.script(reply.tool_use("book", {}))']


def test_a_word_after_the_option_is_a_test(project: pytest.Pytester, confirmed: list[str]) -> None:
    project.makepyfile(test_it=HEAD + BUG + BUG.replace("test_a", "test_b"))
    result = project.runpytest("-q", "--tb=line", "--converse-shrink", "test_it.py::test_b")
    result.assert_outcomes(failed=1)
    assert lines_of(result)[0].startswith("test_it.py::test_b: 6 calls -> 1 call")


def test_conditions_functions_and_always_become_one_script(shrinking: Shrinking) -> None:
    tests = """
def test_a(converse):
    converse.when(last_user_text="book").always(reply.tool_use("book", {"seat": 7}))
    converse.when(last_user_text="call").script(lambda call: reply.text(call.last_user_text))
    converse.always(reply.text("Always the same."))
    with converse.script(reply.text("In a block.")):
        ask()
    for text in ("one", "call", "book"):
        assert "text" in ask(text)
"""
    assert scripts(shrinking(tests)) == ['converse.script(reply.text("."), reply.tool_use("book", {}))']


def test_a_fake_of_a_module_has_its_script_again(shrinking: Shrinking) -> None:
    tests = """
@pytest.fixture(scope="module")
def fake():
    with fake_converse() as fake:
        fake.always(reply.text("Always."))
        ask("from the fixture")
        yield fake

def test_a(fake):
    assert "text" not in ask()

def test_b(fake):
    assert ask() == {"text": "Another."}
"""
    assert scripts(shrinking(tests)) == ['converse.script(reply.text("."))'] * 2


def test_replies_that_stay_unused_are_the_failure(shrinking: Shrinking) -> None:
    lines = shrinking(
        "def test_a(converse):\n    converse.script(reply.text('One.').times(3), reply.text('Two').times(2))\n    ask()"
    )
    assert "5 calls -> 2 calls" in lines[0]
    assert "same failure (UnusedReplies: " in lines[0]
    assert scripts(lines) == ['converse.script(reply.text(".").times(2))']


def test_one_call_too_many_keeps_a_reply(shrinking: Shrinking) -> None:
    tests = "def test_a(converse):\n    converse.script(reply.text('One.').times(3))\n    while True:\n        ask()"
    lines = shrinking(tests)
    assert "same failure (UnexpectedCall: " in lines[0]
    assert scripts(lines) == ['converse.script(reply.text("."))']


def test_code_that_asks_without_end_is_ended(shrinking: Shrinking) -> None:
    tests = """
def test_a(converse):
    converse.script(*(reply.text(f"Stop {n}.") for n in range(4)))
    while True:
        try:
            ask()
        except Exception:
            pass
"""
    lines = shrinking(tests)
    assert "4 calls -> 1 call" in lines[0]
    assert "same failure (the test asks without end)" in lines[0]
    assert scripts(lines) == ['converse.script(reply.text("."))']


@pytest.mark.parametrize(
    ("replies", "script"),
    [
        (
            'reply.text("One two three.").fails_after(2, "throttlingException", "Slow down.")',
            'reply.text(".").fails_after(0, "throttlingException", "Slow down.")',
        ),
        (
            'reply.events([*reply.text("One two.").events()][:3], strict=False)',
            (
                'reply.events([{"messageStart": {"role": "assistant"}}, '
                '{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": ""}}}], strict=False)'
            ),
        ),
        (
            'reply.text("One two three.").broken(faults.no_message_stop)',
            'reply.text(".").broken(faults.no_message_stop, after=3)',
        ),
    ],
    ids=["an exception", "events in a wrong order", "a fault"],
)
def test_the_fault_of_a_reply_stays_whole(replies: str, script: str, shrinking: Shrinking) -> None:
    tests = f"""
def test_a(converse):
    converse.script(reply.text("Before."), {replies})
    ask()
    stream = client().converse_stream(**asked())["stream"]
    events = [next(iter(event)) for event in stream]
    assert "messageStop" in events
"""
    assert scripts(shrinking(tests)) == [f'converse.script(reply.text("."), {script})']


def test_the_time_may_be_over(shrinking: Shrinking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", iter(range(10**9)).__next__)
    lines = shrinking(BUG, option="--converse-shrink=20")
    assert lines[-1].startswith("    not finished: the time was over after ")
    assert lines[-1].endswith("; --converse-shrink=SECONDS gives more")


def test_the_best_is_printed_after_an_interrupt(shrinking: Shrinking) -> None:
    tests = BUG.replace(
        "    while", "    RUNS.append(1)\n    if len(RUNS) == 6:\n        raise KeyboardInterrupt\n    while"
    )
    lines = shrinking("RUNS = []\n" + tests, code=2)
    assert lines[0].startswith("test_it.py::test_a: 6 calls -> ")
    assert lines[-1] == "    not finished: interrupted after this script, which is not confirmed"
    assert len(scripts(lines)) == 1


def test_what_a_fresh_process_does_not_confirm_is_said(shrinking: Shrinking, monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(*_: object) -> None:
        """The fresh process in which the test passes."""

    monkeypatch.setattr(hooks, "failure_with", passes)
    assert (
        shrinking(BUG)[-1] == "    not confirmed: in a fresh process, the test passes. No smaller script is confirmed."
    )


def test_the_budget_of_a_test_is_a_failure_too(shrinking: Shrinking) -> None:
    tests = """
@pytest.mark.converse(budget={"tool_calls": 0})
def test_a(converse):
    use = reply.tool_use("book", {"seat": 7})
    converse.script(*(reply.text(f"Stop {n}.") for n in range(5)), use, reply.text("!"))
    history = []
    while True:
        history.append({"role": "user", "content": [{"text": "?"}]})
        message = client().converse(modelId="us.amazon.nova-lite-v1:0", messages=history, toolConfig=CONFIG)["output"]
        content = message["message"]["content"]
        history.append(message["message"])
        if "toolUse" in content[0]:
            result = {"toolUseId": content[0]["toolUse"]["toolUseId"], "content": [{"text": "."}]}
            history.append({"role": "user", "content": [{"toolResult": result}]})
            client().converse(modelId="us.amazon.nova-lite-v1:0", messages=history, toolConfig=CONFIG)
            break
"""
    if "budgets" in FEATURES:
        assert scripts(shrinking(tests)) == ['converse.script(reply.tool_use("book", {}), reply.text("."))']


def test_a_secret_is_to_be_put_back(shrinking: Shrinking) -> None:
    lines = shrinking(
        """
def test_a(converse):
    key = "AK" + "IAQ7EXAMPLEKEYABCD"
    converse.script(reply.text("Stop."), reply.text(f"It is {key}."))
    while True:
        assert key not in ask()["text"]
"""
    )
    assert scripts(lines) == ['converse.script(reply.text("***"))']
    assert lines[-1] == "    *** stands for a secret of the script: put it back before you run the line"


def test_an_exception_that_was_scripted_stays(shrinking: Shrinking) -> None:
    tests = """
def test_a(converse):
    ended = {"modelStreamErrorException": {"message": "The model stopped.", "originalStatusCode": 500}}
    delta = {"contentBlockDelta": {"delta": {"text": "On"}, "contentBlockIndex": 0}}
    converse.script(reply.events([{"messageStart": {"role": "assistant"}}, delta, ended]))
    for event in client().converse_stream(**asked())["stream"]:
        pass
"""
    (script,) = scripts(shrinking(tests))
    assert '{"modelStreamErrorException": {"message": "The model stopped.", "originalStatusCode": 500}}' in script


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (
            "--converse-shrink=abc",
            "--converse-shrink=abc: give a number of seconds, as 60, or a file or folder *",
        ),
        ("--converse-shrink=0", "--converse-shrink=0: give a number of seconds above 0, as 60."),
        ("--converse-shrink-from=there.jsonl", "--converse-shrink-from=there.jsonl: *No such file*"),
        ("--converse-shrink-from=test_it.py", "--converse-shrink-from=test_it.py: the line of code raised *"),
    ],
)
def test_wrong_values(option: str, told: str, project: pytest.Pytester) -> None:
    project.makepyfile(test_it="import no_such_module")
    result = project.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {told}"])


ASK_AGAIN = """
from pathlib import Path
from converse_harness.recordings.format.read import read

def again(path):
    said = ""
    for exchange in read(Path(path)).exchanges:
        for event in client().converse_stream(modelId=exchange.model_id, **exchange.request)["stream"]:
            if "contentBlockDelta" in event:
                said += event["contentBlockDelta"]["delta"]["text"]
    return said

"""


def test_a_recording_of_the_marker_becomes_a_script(shrinking: Shrinking, project: pytest.Pytester) -> None:
    folder = project.mkdir("recordings")
    (folder / "it.jsonl").write_bytes((RECORDINGS / "reasoning.jsonl").read_bytes())
    tests = '@pytest.mark.converse_recording("it")\ndef test_a():\n    again("recordings/it.jsonl")'
    lines = shrinking(ASK_AGAIN + tests)
    assert "1 call -> 1 call, 2 blocks -> 1" in lines[0]
    assert scripts(lines) == ['converse.script(reply.reasoning(""))']


def test_a_recording_takes_the_place_of_a_script(shrinking: Shrinking) -> None:
    path = RECORDINGS / "reasoning.jsonl"
    tests = f"def test_a(converse):\n    converse.script(reply.text('Another.'))\n    again({str(path)!r})"
    lines = shrinking(ASK_AGAIN + tests, f"--converse-shrink-from={path}")
    assert "same failure (KeyError: 'text' at " in lines[0]
    assert scripts(lines) == ['converse.script(reply.reasoning(""))']


@pytest.mark.skipif("chaos" not in FEATURES, reason="the feature is removed")
def test_a_find_of_chaos_becomes_small(shrinking: Shrinking) -> None:
    tests = """
def test_a(converse):
    converse.script(reply.text("First of all."), reply.text("From Chur by Bernina Express."))
    said = ""
    for _ in range(1 if not converse.calls else 2):
        ask()
        for event in client().converse_stream(**asked())["stream"]:
            said += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
    assert said
"""
    lines = shrinking(tests, "--converse-chaos=no_message_stop", code=0)
    assert "still not noticed: no_message_stop in reply 2" in lines[0]
    (script,) = scripts(lines)
    assert script.startswith('converse.script(reply.text("."), reply.text(".").broken(faults.no_message_stop')


@pytest.mark.slow
def test_workers_shrink_their_own_tests(shrinking: Shrinking) -> None:
    tests = BUG + BUG.replace("test_a", "test_b")
    assert scripts(shrinking(tests, *XDIST, "-n2")) == ['converse.script(reply.tool_use("book", {}))'] * 2


@pytest.mark.slow
def test_the_command_runs_pytest_with_a_recording(project: pytest.Pytester) -> None:
    path = RECORDINGS / "reasoning.jsonl"
    project.makepyfile(test_it=HEAD + ASK_AGAIN + f"def test_a(converse):\n    again({str(path)!r})")
    result = project.run("converse-harness", "shrink", path, "--", "python", "-m", "pytest", "-q", "test_it.py::test_a")
    assert result.ret == 1
    assert scripts(lines_of(result)) == ['converse.script(reply.reasoning(""))']
    assert "not confirmed" not in result.stdout.str()


@pytest.mark.slow
def test_a_fresh_process_tells_what_it_sees(project: pytest.Pytester) -> None:
    """The test behaves otherwise in the process that the leaf starts."""
    project.makepyfile(test_it=HEAD + BUG.replace("ask()[", "(ask() if RAN else {'text': 1})["))
    project.makeconftest("import builtins, sys\nbuiltins.RAN = 'confirming' not in ' '.join(sys.argv)")
    result = project.runpytest("-q", "--tb=line", "--converse-shrink")
    assert lines_of(result)[-1].startswith("    not confirmed: in a fresh process, the test fails otherwise (")


def test_the_command_wants_pytest(capsys: pytest.CaptureFixture[str]) -> None:
    from converse_harness.cli import main

    with pytest.raises(SystemExit, match="2"):
        main(["shrink", "incident.jsonl", "--", "make", "test"])
    assert "the command must be pytest" in capsys.readouterr().err
