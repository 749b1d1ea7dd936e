"""Optional replies, and the settings of a run and of the marker in a project's tests."""

import pytest

PASSES = """
from asking import *


def test_optional(converse):
    converse.script(reply.text("hi"), reply.text("Still there?").times(3).optional())
    converse.when(turn=2).script(reply.text("Again?").optional())
    assert ask() == "hi"


@pytest.mark.converse(attempts=1)
def test_one_attempt(converse):
    converse.script(reply.throttled(), reply.text("hi"))
    with pytest.raises(ClientError, match="Too many"):
        ask()
    assert ask() == "hi"
"""
FAILS = """
from asking import *


def test_required(converse):
    converse.script(reply.text("one").optional(), reply.text("two"))
    assert ask() == "one"
"""


def test_optional_replies_and_one_attempt(asking: pytest.Pytester) -> None:
    asking.makepyfile(PASSES)
    asking.runpytest("-p", "no:randomly").assert_outcomes(passed=2)


def test_a_reply_that_is_not_optional_must_be_used(asking: pytest.Pytester) -> None:
    asking.makepyfile(FAILS)
    result = asking.runpytest("-rf")
    result.assert_outcomes(failed=1)
    lines = [
        "*UnusedReplies: 1 scripted reply was not used.",
        '*scripted  1. text "one", optional     used by call 1',
        '*          2. text "two"               not used',
        "*write .optional() behind a reply that may stay unused*",
    ]
    result.stdout.fnmatch_lines(lines)


@pytest.mark.parametrize(
    ("ini", "options", "attempts"),
    [
        ("converse_attempts = 1", (), 1),
        ("converse_attempts = 1", ("--converse-attempts=2",), 2),
        ("converse_attempts = client", (), 4),
    ],
)
def test_attempts_of_a_run(asking: pytest.Pytester, ini: str, options: tuple[str, ...], attempts: int) -> None:
    asking.makeini(f"[pytest]\n{ini}\n")
    asking.makepyfile(
        f"""
        from asking import *
        from botocore.config import Config

        def test_it(converse):
            converse.always(reply.throttled())
            careful(HELLO, config=Config(retries={{"mode": "standard", "total_max_attempts": 4}}))
            assert len(converse.calls) == {attempts}
        """
    )
    asking.runpytest(*options).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("ini", "option", "said"),
    [
        ("converse_attempts = 0", "", "converse_attempts = 0: it is a whole number from 1, or client for what *"),
        ("", "--converse-attempts=many", "--converse-attempts=many: it is a whole number from 1, or client for *"),
        ("converse_attempts = client", "--converse-attempts=0", "--converse-attempts=0: it is a whole number from 1*"),
        ("converse_seed = x", "", "converse_seed = x: it is a whole number."),
        ("", "--converse-seed=x", "--converse-seed=x: it is a whole number."),
        ("", "--converse-cache-minimum=-1", "--converse-cache-minimum=-1: it is a whole number *, or model for each *"),
        ("", "--converse-sleeps=maybe", "--converse-sleeps=maybe: it is yes or no."),
        ("converse_sleeps = maybe", "", "converse_sleeps = maybe: it is yes or no."),
        (
            "",
            "--converse-rules=of",
            '--converse-rules=of: one of "off" (*); or with exceptions, *',
        ),
        (
            "",
            "--converse-rules=some_cite_nothin=off",
            "--converse-rules: some_cite_nothin: no rule has this name. Did you mean *",
        ),
        ("converse_rules = warn,x=off", "", "converse_rules, or --converse-rules: x: no rule has this name. *"),
        ("", "--converse-unused=alow", "--converse-unused=alow: one of 'fail', 'allow'."),
        ("converse_models = nothing", "", "converse_models: 'nothing' is no line GLOB = MODEL."),
    ],
)
def test_a_wrong_setting_of_a_run_is_named_at_its_start(
    asking: pytest.Pytester, ini: str, option: str, said: str
) -> None:
    asking.makeini(f"[pytest]\n{ini}\n")
    asking.makepyfile("def test_it(): pass")
    result = asking.runpytest(*([option] if option else []))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(f"*{said}")


def test_the_marker_is_checked_on_tests_without_the_fixture(asking: pytest.Pytester) -> None:
    wrong = {
        "guard=False": "one of 'off', 'session'.",
        "guard='of'": "one of 'off', 'session'.",
        "rerun=0": "it is True or False.",
        "rules='of'": 'one of "off" *',
        "attempts='1'": "it is a whole number from 1, or None *",
        "sleeps='no'": "it is True or False.",
        "seed='1'": "it is a whole number.",
    }
    tests = [f"@pytest.mark.converse({given})\ndef test_{n}(): pass\n" for n, given in enumerate(wrong)]
    right = "@pytest.mark.converse(guard='off', rerun=False, sleeps=True, attempts=1, rules='off')\ndef test_it(): pass"
    unknown = "@pytest.mark.converse(ruls='off')\ndef test_unknown(): pass"
    asking.makepyfile("\n".join(["import pytest", *tests, right, unknown]))
    result = asking.runpytest("-p", "no:randomly")
    result.assert_outcomes(errors=len(wrong) + 1, passed=1)
    lines = [f"*@pytest.mark.converse({given}): {said}" for given, said in wrong.items()]
    result.stdout.fnmatch_lines(
        [*lines, "*@pytest.mark.converse: ruls= is no setting. Did you mean rules=? Settings: *"]
    )


@pytest.mark.parametrize("value", ["None", "'x'", "b'x'", "[]", "{}", "object", "1.5"])
@pytest.mark.parametrize("name", ["seed", "unused", "rules", "history", "sleeps", "attempts", "models", "guard"])
def test_a_wrong_argument_of_the_marker_is_named(project: pytest.Pytester, name: str, value: str) -> None:
    from converse_harness.plugin.settings import settings_of

    right = {("attempts", "None"), ("models", "None"), ("models", "{}"), ("rules", "{}")}
    if (name, value) in right:
        return
    item = project.getitem(f"import pytest\n@pytest.mark.converse({name}={value})\ndef test_func(): pass")
    with pytest.raises(pytest.UsageError) as raised:
        settings_of(item)
    assert str(raised.value).startswith(f"@pytest.mark.converse({name}=")
