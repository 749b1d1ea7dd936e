"""The name of a test, and of its recording, has no secret in it, however the secret got into the id of a parameter."""

from __future__ import annotations

import base64
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from converse_harness.cli import main
from converse_harness.plugin.names import mask_ids
from tests.plugin.upstream import Upstream

TOKEN = "gh" + "p_" + "a1B2" * 9
OTHER = "gh" + "p_" + "c3D4" * 9
KEY = "AK" + "IAQ7EXAMPLEKEYABCD"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYNobodysKey"
OWN = "correct-hörse-of-this-process"
ACCOUNT = "210987654321"
ENCODED = base64.b64encode(KEY.encode()).decode()

SECRETS = (TOKEN, OTHER, KEY, SECRET_KEY, OWN, OWN.encode("unicode_escape").decode(), ACCOUNT, ENCODED)

VARIANTS = """
    import os
    from base64 import b64encode

    import pytest
    from agent import ask
    from converse_harness import fake_converse

    TOKEN, OTHER, KEY = "gh" "p_" + "a1B2" * 9, "gh" "p_" + "c3D4" * 9, "AK" "IAQ7EXAMPLEKEYABCD"
    both = pytest.mark.parametrize("token", [TOKEN, OTHER])
    recorded = pytest.mark.converse_recording
    parametrize = pytest.mark.parametrize

    @recorded
    @both
    def test_recorded(token):
        ask(f"q {token}")

    @recorded
    @parametrize("city", ["Bern", "Chur"])
    @both
    def test_two(city, token):
        ask(f"{city} {token}")

    @recorded
    class TestClass:
        pytestmark = both

        def test_of_class(self, token):
            ask(token)

    @recorded
    @parametrize("own", [os.environ["MY_PASSWORD"]])
    def test_own(own):
        ask(own)

    @pytest.fixture(params=[KEY])
    def key(request):
        return request.param

    def test_fixture(converse, key):
        assert not key

    @pytest.fixture
    def opened(request):
        with fake_converse():
            yield request.param

    @parametrize("opened", [TOKEN], indirect=True)
    def test_indirect(opened):
        pass

    @parametrize("value", [TOKEN.encode(), "x" + TOKEN[3:] + " beside " + TOKEN, b64encode(KEY.encode()).decode()])
    def test_forms(converse, value):
        pass

    @parametrize("value", [1, 2], ids=[TOKEN, OTHER])
    def test_list(converse, value):
        pass

    @parametrize("value", [pytest.param(1, id=TOKEN), pytest.param(2, marks=pytest.mark.xfail(reason="so"), id=OTHER)])
    def test_param(converse, value):
        assert value == 1

    @parametrize("value", [1, 2], ids=lambda value: f"{value} {TOKEN}")
    def test_function(value):
        with fake_converse():
            pass

    @parametrize("aws_secret_access_key", ["wJalrXUtnFEMI/K7MDENG/" "bPxRfiCYNobodysKey"])
    def test_by_name(converse, aws_secret_access_key):
        pass

    # pytest adds a digit to equal ids, after which the key is none of the known kind
    @parametrize("value", [KEY, KEY])
    def test_twice(converse, value):
        pass

    @parametrize("arn", ["arn:aws:bedrock:us-east-1:2109" "87654321:inference-profile/x"])
    def test_account(converse, arn):
        pass

    @parametrize("value", [TOKEN, "***-2", "***", "plain"])
    def test_taken(converse, value):
        pytest.skip(value)
"""

NAMES = [
    "TestClass::test_of_class[***-2]",
    "TestClass::test_of_class[***]",
    "test_account[arn:aws:bedrock:us-east-1:***:inference-profile/x]",
    "test_by_name[***]",
    "test_fixture[***]",
    "test_forms[***]",
    "test_function[1 ***]",
    "test_function[2 ***]",
    "test_indirect[***]",
    "test_list[***-2]",
    "test_list[***]",
    "test_own[***]",
    "test_param[***-2]",
    "test_param[***]",
    "test_recorded[***-2]",
    "test_recorded[***]",
    "test_taken[***-2]",
    "test_taken[***-3]",
    "test_taken[***]",
    "test_taken[plain]",
    "test_twice[***0]",
    "test_two[***-Bern-2]",
]

RECORDINGS = {
    "test_variants/TestClass.test_of_class[___-2]",
    "test_variants/TestClass.test_of_class[___]",
    "test_variants/test_own[___]",
    "test_variants/test_recorded[___-2]",
    "test_variants/test_recorded[___]",
    "test_variants/test_two[___-Bern-2]",
    "test_variants/test_two[___-Bern]",
    "test_variants/test_two[___-Chur-2]",
    "test_variants/test_two[___-Chur]",
}

SHOWN = ("-v", "-rA", "-l", "--durations=0", "--durations-min=0", "--junitxml=junit.xml")
JUNIT = ("-o", "junit_logging=all", "-o", "junit_family=xunit1")


def _written(project: pytest.Pytester) -> dict[str, str]:
    """What the runs left in the project: the text of each file and of its path, by path."""
    files = [each for each in project.path.rglob("*") if each.is_file() and each.suffix not in (".py", ".pyc")]
    paths = [str(each.relative_to(project.path)) for each in files]
    return {path: f"{path}\n{each.read_text('utf-8')}" for path, each in zip(paths, files, strict=True)}


def _seen(project: pytest.Pytester, result: pytest.RunResult) -> list[tuple[str, str]]:
    shown = {"output": str(result.stdout), "errors": str(result.stderr), **_written(project)}
    return [(where, secret) for where, text in shown.items() for secret in SECRETS if secret in text]


@pytest.fixture
def variants(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    monkeypatch.setenv("MY_PASSWORD", OWN)
    upstream.project.makepyfile(test_variants=VARIANTS)
    return upstream


@pytest.mark.parametrize("more", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=" ".join)
def test_no_name_has_a_secret(more: tuple[str, ...], variants: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    project = variants.project
    result = variants.record(*SHOWN, *JUNIT, *more)
    assert result.parseoutcomes()["failed"] == 1  # which shows its name in more places
    assert _seen(project, result) == []
    for name in NAMES:
        assert f"test_variants.py::{name} " in str(result.stdout)
        assert f'name="{name.rpartition("::")[2]}"' in _written(project)["junit.xml"]
    result.stdout.fnmatch_lines_random(["*test_recorded[[]___[]]~*.jsonl:3: *: a GitHub token"])
    assert {file.partition("~")[0] for file in variants.files} == RECORDINGS
    assert len(variants.files) == len(RECORDINGS)

    # another machine has other secrets, of another length: see test_recording_story.py about compiled files
    monkeypatch.setenv("MY_PASSWORD", "another-secret-of-another-machine")
    source = project.path / "test_variants.py"
    source.write_text(source.read_text("utf-8").replace('"c3D4"', '"e5F6g7"'), "utf-8")
    replayed = variants.replay("-k", "recorded or own or two or of_class", *more)
    assert replayed.parseoutcomes()["passed"] == len(RECORDINGS)
    assert not {"failed", "errors"} & replayed.parseoutcomes().keys()


def test_the_printed_name_selects_the_test(variants: Upstream) -> None:
    project, file = variants.project, "test_variants.py"
    ran = project.runpytest("-v", f"{file}::test_list[***-2]", f"{file}::test_param[***]", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2)
    # Not even the name of a test that is left out becomes another one.
    listed = project.runpytest("--collect-only", "-q", "--deselect", f"{file}::test_list[***]", "-k", "list or taken")
    assert [line for line in listed.outlines if "::" in line] == [
        f"{file}::test_list[***-2]",
        *(f"{file}::test_taken[{each}]" for each in ("***-3", "***-2", "***", "plain")),
    ]
    assert _seen(project, listed) == []


def test_a_test_that_can_open_no_fake_keeps_its_name(project: pytest.Pytester) -> None:
    """A module in a zip cannot be read as a file, so it may open one."""
    test = """
        import pytest
        {}
        @pytest.mark.parametrize("token", ["gh" "p_" + "a1B2" * 9])
        def test_it({}token):
            pass
    """
    with zipfile.ZipFile(project.path / "zipped.zip", "w") as zipped:
        zipped.writestr("inside.py", "def ask(): pass")
    project.makeconftest("""
        import sys
        from pathlib import Path

        import pytest
        from converse_harness import fake_converse

        sys.path.insert(0, str(Path(__file__).with_name("zipped.zip")))

        @pytest.fixture
        def opened():
            with fake_converse():
                yield
    """)
    project.makepyfile(
        helpers="import converse_harness\nvalue = 1",
        between="from helpers import value\ndef ask(): pass",
        bases="import converse_harness\nclass Base:\n    pass",
        test_alone=test.format("import agent, pathlib", ""),
        test_asks=test.format("def later(request): request.getfixturevalue('converse')", ""),
        test_base="import bases, pytest\nclass TestIt(bases.Base):" + test.format("", "self, "),
        test_fixture=test.format("", "opened, "),
        test_imports=test.format("from between import (\n    ask,\n)".replace("\n", "\n        "), ""),
        test_names=test.format("def later(): from converse_harness import fake_converse", ""),
        test_zipped=test.format("import inside", ""),
    )
    result = project.runpytest("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == [
        f"test_alone.py::test_it[{TOKEN}]",
        "test_asks.py::test_it[***]",
        "test_base.py::TestIt::test_it[***]",
        "test_fixture.py::test_it[***]",
        "test_imports.py::test_it[***]",
        "test_names.py::test_it[***]",
        "test_zipped.py::test_it[***]",
    ]


def test_a_pytest_that_keeps_its_ids_elsewhere_is_named() -> None:
    test: Any = SimpleNamespace(fixturenames=["converse"], definition=SimpleNamespace(name="test_it"))
    mask_ids(test, [SimpleNamespace(id="a name without a secret", params={})])
    with pytest.raises(
        pytest.UsageError, match=r"test_it: a parameter's id has a secret, and .* cannot mask it"
    ) as raised:
        mask_ids(test, [SimpleNamespace(id=f"q {TOKEN}", params={})])
    assert TOKEN not in str(raised.value)


def test_a_recording_whose_name_has_a_secret(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not shown, whoever made it, and `check` finds it."""
    folder = project.path / "recordings" / "test_it"
    folder.mkdir(parents=True)
    (folder / f"test_n[{TOKEN}].jsonl").write_text('{"format": "converse-recording", "version": 2}\n')
    project.makepyfile(
        """
        import pytest

        @pytest.mark.converse_recording("trips/" "gh" "p_" + "a1B2" * 9)
        def test_it():
            pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*converse_recording('trips/[*][*][*]'): [*][*][*] stands for a secret*",
            "*test_it/test_n[[][*][*][*][]].jsonl",
        ]
    )
    assert TOKEN not in str(result.stdout)
    capsys.readouterr()
    for options in ([], ["--json"]):
        assert main(["check", str(Path("recordings")), *options]) == 1
        out = capsys.readouterr().out
        assert "test_n[***].jsonl" in out
        assert "*** in its path stands for a GitHub token. Rename it" in out
        assert TOKEN not in out
