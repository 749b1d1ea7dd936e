"""What pytest shows and writes of a test in which a fake or a recording was open has no secret in it."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from tests.nested import XDIST
from tests.recordings.planted import LONG, in_zip

KEY = "AK" + "IAIOSFODNN7EXAMPLE"
OWN = "correct-horse-battery-staple-of-this-process"
ACCOUNT = "210987654321"
PRIVATE = "\n".join([*[LONG[:32] * 2] * 5, LONG[:20]])
PEM = "-----BEGIN RSA PRIV" + f"ATE KEY-----\n{PRIVATE}\n-----END RSA PRIV" + "ATE KEY-----"
ZIPPED = base64.b64encode(in_zip(KEY)).decode()

SECRETS = {
    "key": KEY,
    "own": OWN,
    "pem": PEM,
    "in_base64": base64.b64encode(KEY.encode()).decode(),
    "in_a_zip": ZIPPED,
    "quoted": "".join(f"%{ord(each):02x}" for each in KEY),
}
PARTS = {**SECRETS, "pem": PRIVATE, "line of pem": LONG[:32] * 2, "beginning": OWN[:10], "end": OWN[-12:]}
"""What must not be seen."""

PLACES = """
    import logging
    import sys
    import warnings

    import pytest
    from converse_harness import fake_converse
    from secret import ACCOUNT, SECRETS

    secret = pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))

    @secret
    def test_assertion(converse, secret):
        assert secret == "a"

    @secret
    def test_list(converse, secret):
        assert [secret, secret] == ["a"], f"not {secret}"

    @secret
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

    @secret
    def test_passes(secret):
        with fake_converse():
            print(secret)

    @pytest.fixture
    def broken(converse, secret):
        yield
        raise ValueError(secret)

    @secret
    def test_fixture(broken, secret):
        pass

    @secret
    def test_skips(converse, secret):
        pytest.skip(secret)

    @secret
    def test_is_expected_to_fail(converse, secret):
        pytest.xfail(secret)

    @secret
    def test_parts(converse, secret, subtests):
        with subtests.test(secret, key=secret):
            raise ValueError(secret)
"""


def _project(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # The test that sets it forgets it before its report is written.
    monkeypatch.setenv("MY_PASSWORD", OWN)
    packed = base64.b85encode(zlib.compress(repr(SECRETS).encode())).decode()
    project.makepyfile(
        secret=f"""
        import ast, base64, zlib
        SECRETS = ast.literal_eval(zlib.decompress(base64.b85decode({packed!r})).decode())
        ACCOUNT = "2109" "87654321"
        """,
        test_places=PLACES,
    )


def _seen(result: pytest.RunResult, junit: Path) -> list[tuple[str, str]]:
    """The secrets that can be read, and where."""
    shown = {"output": str(result.stdout), "errors": str(result.stderr), "junit.xml": junit.read_text()}
    parts = {**PARTS, "account": ACCOUNT}
    return [(where, name) for where, text in shown.items() for name, part in parts.items() if part in text]


STYLES = [("-v", "-rA", "-l"), ("--tb=short", "-vv"), ("--tb=native", "-rA"), ("--tb=line", "-rA"), ("-q", "--tb=long")]


@pytest.mark.parametrize("style", STYLES, ids=" ".join)
def test_no_secret_is_shown(style: tuple[str, ...], project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(project, monkeypatch)
    result = project.runpytest(*style, "--junitxml=junit.xml", "-o", "junit_logging=all")
    assert result.parseoutcomes()["passed"] > len(SECRETS)
    assert _seen(result, project.path / "junit.xml") == []
    assert "*** stands for: a secret of this process" in (project.path / "junit.xml").read_text()
