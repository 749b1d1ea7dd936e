"""What pytest shows and writes of a test in which a fake or a recording was open has no secret in it."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence
from itertools import product

import pytest

from tests.nested import XDIST
from tests.products import covering
from tests.secrets.planted import LONG, in_zip
from tests.secrets.terminals import SHAPES

KEY = "AK" + "IAQ7EXAMPLEKEYABCD"
OWN = "correct-horse-battery-staple-of-this-process"
ACCOUNT = "210987654321"
PRIVATE = "\n".join([*[LONG[:32] * 2] * 5, LONG[:20]])
PEM = "-----BEGIN RSA PRIV" + f"ATE KEY-----\n{PRIVATE}\n-----END RSA PRIV" + "ATE KEY-----"
ZIPPED = base64.b64encode(in_zip(KEY)).decode()

ON_TERMINALS = ("grep --color", "jq -C", "a link", "tags")

SECRETS = {
    "key": KEY,
    "own": OWN,
    "pem": PEM,
    "in_base64": base64.b64encode(KEY.encode()).decode(),
    "in_a_zip": ZIPPED,
    "quoted": "".join(f"%{ord(each):02x}" for each in KEY),
    "on a terminal": "\n".join(SHAPES[shape](each, 9) for each in (KEY, OWN) for shape in ON_TERMINALS),
}
PARTS = {
    **SECRETS,
    "pem": PRIVATE,
    "line of pem": LONG[:32] * 2,
    "beginning": OWN[:9],
    "end": OWN[-12:],
    "half": KEY[:9],
    "other half": KEY[9:],
}
"""What must not be seen."""

PLACES = """
    import logging
    import sys
    import warnings

    import pytest
    from converse_harness import fake_converse
    from secret import ACCOUNT, PLACED, SECRETS

    def pytest_generate_tests(metafunc):
        names = [name for test, name in PLACED if test == metafunc.function.__name__]
        metafunc.parametrize("secret", [SECRETS[name] for name in names], ids=names)

    def test_assertion(converse, secret):
        assert secret == "a"

    def test_list(converse, secret):
        assert [secret, secret] == ["a"], f"not {secret}"

    @pytest.mark.filterwarnings("default")
    def test_error(converse, secret, record_property):
        print("out", secret)
        print("err", secret, file=sys.stderr)
        logging.getLogger("agent").warning("log %s", secret)
        warnings.warn(f"warned of {secret}")
        record_property("arn", secret)
        record_property("account_id", ACCOUNT)
        record_property("number", 5)
        try:
            raise ValueError(secret)
        except ValueError:
            raise ExceptionGroup("several", [KeyError(secret), ValueError("before\\n", secret)])

    def test_passes(secret):
        with fake_converse():
            print(secret)

    @pytest.fixture
    def broken(converse, secret):
        yield
        raise ValueError(secret)

    def test_fixture(broken, secret):
        pass

    def test_skips(converse, secret):
        pytest.skip(secret)

    def test_is_expected_to_fail(converse, secret):
        pytest.xfail(secret)

    def test_parts(converse, secret, subtests):
        with subtests.test(secret, key=secret):
            raise ValueError(secret)
"""


TESTS = re.findall(r"def (test_\w+)", PLACES)
EVERY = [*product(TESTS, SECRETS)]
SOME = sorted({*covering(TESTS, SECRETS), *product(["test_error"], SECRETS)})
"""Each place with a secret, each secret in a place, and all where a test says it in the most ways."""


def _project(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, placed: Sequence[tuple[str, ...]]) -> None:
    monkeypatch.setenv("MY_PASSWORD", OWN)
    packed = base64.b85encode(zlib.compress(repr(SECRETS).encode())).decode()
    project.makepyfile(
        secret=f"""
        import ast, base64, zlib
        SECRETS = ast.literal_eval(zlib.decompress(base64.b85decode({packed!r})).decode())
        ACCOUNT = "2109" "87654321"
        PLACED = {placed!r}
        """,
        test_places=PLACES,
    )


def _seen(project: pytest.Pytester, result: pytest.RunResult) -> list[tuple[str, str]]:
    """The secrets that can be read, and where."""
    junit = (project.path / "junit.xml").read_text()
    shown = {"output": str(result.stdout), "errors": str(result.stderr), "junit.xml": junit}
    parts = {**PARTS, "account": ACCOUNT}
    return [(where, name) for where, text in shown.items() for name, part in parts.items() if part in text]


JUNIT = ("--junitxml=junit.xml", "-o", "junit_logging=all", "-o", "junit_family=xunit1")
STYLES = [
    pytest.param(SOME, ("-v", "-rA", "-l"), id="some -v -rA -l"),
    *(
        pytest.param(EVERY, each, marks=pytest.mark.slow, id=" ".join(each))
        for each in (
            ("-v", "-rA", "-l"),
            ("-rA", "-vv", "--tb=short"),
            ("-rA", "--tb=line"),
            (*XDIST, "-n", "1", "-v", "-rA"),
        )
    ),
    *(
        pytest.param(placed, each, marks=tier, id=" ".join((said, *each)))
        for each in (("-rA", "--tb=native"), ("-rA", "--full-trace"))  # all have long tracebacks
        for placed, said, tier in ((SOME, "some", pytest.mark.slow), (EVERY, "every", pytest.mark.nightly))
    ),
]


@pytest.mark.parametrize(("placed", "style"), STYLES)
def test_no_secret_is_shown(
    placed: Sequence[tuple[str, ...]],
    style: tuple[str, ...],
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _project(project, monkeypatch, placed)
    result = project.runpytest(*style, *JUNIT)
    passing = [test for test, _ in placed if test in ("test_passes", "test_fixture")]  # the second has an error then
    assert result.parseoutcomes()["passed"] == len(passing) >= 2
    assert _seen(project, result) == []
    result.stdout.fnmatch_lines_random(["[*][*][*] stands for: a secret of this process", "*warned of [*][*][*]*"])
    assert '<property name="account_id" value="***" />' in (project.path / "junit.xml").read_text()


def test_a_value_of_the_environment_is_masked_after_the_test_took_it_away(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import os

        def test_it(converse, monkeypatch):
            monkeypatch.setenv("MY_PASSWORD", "-".join(["correct", "horse", "battery"]))
            print(os.environ["MY_PASSWORD"])
        """
    )
    project.runpytest(*JUNIT)
    assert "<system-out>" in (junit := (project.path / "junit.xml").read_text())
    assert "correct-horse-battery" not in junit


def test_a_value_of_the_environment_is_masked_if_it_is_there_for_a_call_only(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import boto3
        import pytest
        from converse_harness import fake_converse, reply

        VALUE = "-".join(["correct", "horse", "battery"])

        def test_during(converse):
            converse.script(reply.text("hi"))
            client = boto3.client("bedrock-runtime", region_name="us-east-1")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MY_PASSWORD", VALUE)
                client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": VALUE}]}])
            assert not VALUE

        def test_after(converse):
            assert VALUE == "spoken of in the next test"
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=2)
    during, _, after = result.stdout.str().partition("_ test_after _")
    assert 'last: text "***"' in during
    assert "correct-horse-battery" not in during
    assert "correct-horse-battery" in after


@pytest.mark.parametrize(
    ("fixtures", "body", "is_masked"),
    [
        ("", "", False),
        ("", "with fake_converse(): pass", True),
        ("", "with converse_server() as server, server.script(): pass", True),
        ("converse", "", True),
        ("converse_httpx", "", True),
        ("of_the_module", "", True),
    ],
)
def test_tests_without_a_fake_are_left_alone(
    fixtures: str, body: str, is_masked: bool, project: pytest.Pytester
) -> None:
    project.makepyfile(
        f"""
        import pytest
        from converse_harness import ConverseServer as converse_server, fake_converse

        @pytest.fixture(scope="module")
        def of_the_module():
            with fake_converse() as fake:
                yield fake

        def test_first({"of_the_module" if "module" in fixtures else ""}):
            pass

        def test_it({fixtures}):
            {body}
            assert "AKIA" "Q7EXAMPLEKEYABCD" == ""
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    assert (KEY in str(result.stdout)) is not is_masked


LOGGING = """
    import logging

    def test_before():
        logging.getLogger("agent").warning("without a fake, %s", "AKIA" "Q7EXAMPLEKEYABCD")

    def test_it(converse):
        logging.getLogger("agent").warning("in a test, %s and more", "AKIA" "Q7EXAMPLEKEYABCD")
        try:
            raise ValueError("AKIA" "Q7EXAMPLEKEYABCD")
        except ValueError:
            logging.getLogger("agent").exception("an error")
"""


@pytest.mark.parametrize("style", [(), ("--color=yes",), ("-s", "--log-cli-format=%(message)s")], ids=" ".join)
def test_logs_that_are_written_at_once_are_masked(project: pytest.Pytester, style: tuple[str, ...]) -> None:
    project.makepyfile(LOGGING)
    result = project.runpytest("-o", "log_cli=true", "--log-file=x.log", *style)
    result.assert_outcomes(passed=2)
    for log in (result.stdout.str(), (project.path / "x.log").read_text()):
        assert [line for line in log.splitlines() if KEY in line and "without a fake" not in line] == []
        assert f"without a fake, {KEY}" in log
        assert "in a test, *** and more" in log
        assert "ValueError: ***" in log


def test_a_run_without_such_logs_has_the_formatters_of_pytest(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_it(request):
            plugin = request.config.pluginmanager.get_plugin("logging-plugin")
            for handler in (plugin.log_file_handler, plugin.log_cli_handler, plugin.caplog_handler):
                assert "pytest" in type(handler.formatter).__module__
        """
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("option", ["no:logging", "no:terminal"])
def test_a_run_without_pytests_logging_runs(project: pytest.Pytester, option: str) -> None:
    project.makepyfile("def test_it(converse): pass")
    assert project.runpytest("-p", option, "-o", "log_cli=true").ret == 0


def test_a_secret_in_pieces_that_are_longer_than_what_is_shown(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"""
        import boto3
        import pytest
        from converse_harness import reply

        @pytest.mark.converse(rules="off")
        def test_it(converse):
            texts = [{KEY[8::-1]!r}[::-1], {KEY[:8:-1]!r}[::-1] + " and more" * 40]
            deltas = [{{"contentBlockDelta": {{"delta": {{"text": each}}, "contentBlockIndex": 0}}}} for each in texts]
            stop = [{{"contentBlockStop": {{"contentBlockIndex": 0}}}}, {{"messageStop": {{"stopReason": "end_turn"}}}}]
            converse.script(reply.events([{{"messageStart": {{"role": "assistant"}}}}, *deltas, *stop], strict=False))
            client = boto3.client("bedrock-runtime", region_name="us-east-1")
            list(client.converse_stream(modelId="m", messages=[])["stream"])
            raise ValueError
        """
    )
    result = project.runpytest()
    result.stdout.fnmatch_lines(["* ms  [*][*][*]"])
    assert not re.search(f"{KEY[:9]}|{KEY[9:]}", str(result.stdout))


def test_what_pytest_leaves_of_an_encoded_secret(project: pytest.Pytester) -> None:
    encoded = SECRETS["in_base64"]
    project.makepyfile(
        f"""
        def test_it(converse):
            texts = [{encoded[::-1]!r}[::-1]]
            assert texts == [], texts[0]
        """
    )
    result = project.runpytest()
    result.stdout.fnmatch_lines(["*assert [[]'[*][*][*]...[*][*][*]'] == [[]]"])
    assert encoded[-8:] not in str(result.stdout)


def test_base64_in_lines_in_a_difference_that_pytest_shows(project: pytest.Pytester) -> None:
    shown = base64.encodebytes(b"x " * 24 + KEY.encode()).decode()
    project.makepyfile(
        f"""
        def test_it(converse):
            texts = [{shown[::-1]!r}[::-1]]
            assert texts == []
        """
    )
    result = project.runpytest("-vv")
    result.stdout.fnmatch_lines(["*stands for: an AWS access key id"])
    assert shown.splitlines()[-1] not in str(result.stdout)
