"""`pytest --converse-report=FILE`: one page with the failed tests' calls, also under xdist and after Ctrl-C."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.features.report.test_viewer import MARKUP, Parsed
from tests.nested import XDIST
from tests.plugin.recording.test_masks import KEY, OWN, PARTS, SECRETS

FILE = "out/report.html"
OPTION = f"--converse-report={FILE}"


class _Tests(HTMLParser):
    """The text below each second heading, and the rows of the table of tests."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self._title: list[str] | None = None
        self._name = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h2":
            self._title = []
        elif tag in ("tr", "article", "li", "p", "pre", "h3", "td", "script") and self._name:
            self.sections[self._name] += "\n" if tag != "td" else " | "

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2" and self._title is not None:
            self._name = "".join(self._title)
            self.sections[self._name] = ""
            self._title = None

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        elif self._name:
            self.sections[self._name] += data


def page(project: pytest.Pytester) -> str:
    return (project.path / FILE).read_text("utf-8")


def sections(project: pytest.Pytester) -> dict[str, str]:
    return _Tests(page(project)).sections


def files(project: pytest.Pytester) -> list[str]:
    return sorted(each.name for each in (project.path / FILE).parent.iterdir())


TESTS = """
    import pytest
    from agent import ask, client, weather
    from converse_harness import fake_converse, reply

    def test_passes(converse):
        converse.script(reply.text("fine"))
        ask("hi")

    def test_fails(converse):
        converse.script(reply.tool_use("get_weather", {"city": "Chur"}), reply.text("cold"))
        assert weather("Chur") == "warm"

    def test_opens_its_own():
        with fake_converse(reply.text("inside")):
            ask("hi")
        raise ValueError("afterwards")

    @pytest.fixture
    def torn_down(converse):
        yield converse
        raise ValueError("too late")

    def test_ends_badly(torn_down):
        torn_down.script(reply.text("asked before"))
        ask("hi")

    def test_without_calls():
        assert 1 == 2

    @pytest.mark.xfail
    def test_expected(converse):
        converse.script(reply.text("x"))
        assert ask("hi") == "y"
"""
ENDS = {"passed": 2, "failed": 3, "errors": 1, "xfailed": 1}


def test_failed_tests_and_their_calls(project: pytest.Pytester) -> None:
    project.makepyfile(test_them=TESTS)
    result = project.runpytest(OPTION)
    result.assert_outcomes(**ENDS)
    result.stdout.fnmatch_lines([f"converse-harness: wrote {FILE} (4 failed tests, * bytes)"])
    found = sections(project)
    assert [name.partition("::")[2] for name in found] == [
        *("test_fails", "test_opens_its_own", "test_ends_badly", "test_without_calls", "")
    ]
    fails = found["test_them.py::test_fails"]
    assert "assert 'cold' == 'warm'" in fails
    assert re.search(r"answer fromtest_them\.py:10", fails)
    assert "message 1: as in call 1" in fails
    assert "result of get_weather" in fails
    assert "inside" in found["test_them.py::test_opens_its_own"]
    assert "The teardown failed." in found["test_them.py::test_ends_badly"]
    assert "asked before" in found["test_them.py::test_ends_badly"]
    assert "No call reached a fake." in found["test_them.py::test_without_calls"]
    rows = found["All tests"].split("\n")
    assert "test_them.py::test_fails | failed | 2" in rows
    assert "test_them.py::test_passes | passed | 1" in rows
    assert "test_them.py::test_expected | xfailed | 1" in rows
    assert files(project) == ["report.html"]
    Parsed(page(project))


def test_workers_hand_over_to_one_file(project: pytest.Pytester) -> None:
    project.makepyfile(test_them=TESTS, test_others=TESTS)
    result = project.runpytest(OPTION, *XDIST, "-n", "2")
    result.assert_outcomes(**{name: 2 * count for name, count in ENDS.items()})
    result.stdout.fnmatch_lines([f"converse-harness: wrote {FILE} (8 failed tests, * bytes)"])
    found = sections(project)
    names = [name for name in found if "::" in name]
    assert len(names) == 8
    assert names == sorted(names)
    assert all("inside" in found[f"test_{each}.py::test_opens_its_own"] for each in ("them", "others"))
    assert files(project) == ["report.html"]


def test_a_run_that_passes_says_so(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import ask
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("x"))
            ask("hi")
        """
    )
    result = project.runpytest(OPTION)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"converse-harness: wrote {FILE} (0 failed tests, * bytes)"])
    text = Parsed(page(project)).text
    assert "1 test (1 passed), 1 call." in text
    assert "No test failed." in text
    assert "article" not in [name for name, _ in Parsed(page(project)).elements]


def test_a_fake_of_the_module_shows_the_calls_of_the_failed_test_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import ask
        from converse_harness import fake_converse, reply

        @pytest.fixture(scope="module")
        def shared():
            with fake_converse() as fake:
                fake.always(reply.text("x"))
                yield fake

        def test_first(shared):
            ask("the first question")

        def test_second(shared):
            ask("the second question")
            assert 0
        """
    )
    project.runpytest(OPTION).assert_outcomes(passed=1, failed=1)
    assert "the second question" in page(project)
    assert "the first question" not in page(project)


def test_the_file_is_written_after_ctrl_c(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import ask
        from converse_harness import reply

        def test_fails(converse):
            converse.script(reply.text("before the end"))
            assert ask("hi") == "y"

        def test_is_interrupted(converse):
            raise KeyboardInterrupt

        def test_never_runs():
            pass
        """
    )
    result = project.runpytest_inprocess(OPTION, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = Parsed(page(project)).text
    assert "The run was interrupted" in text
    assert "before the end" in text
    assert files(project) == ["report.html"]


def test_a_module_that_cannot_be_collected_is_no_run_that_passes(project: pytest.Pytester) -> None:
    project.makepyfile("raise ValueError")
    project.runpytest(OPTION).assert_outcomes(errors=1)
    text = Parsed(page(project)).text
    assert "The run was interrupted" in text
    assert "No test failed" not in text


def test_markup_of_a_test_stays_text(project: pytest.Pytester) -> None:
    (project.path / "markup.txt").write_text(MARKUP)
    project.makepyfile(
        """
        import pathlib
        import pytest
        from agent import client
        from converse_harness import reply

        MARKUP = pathlib.Path("markup.txt").read_text()

        @pytest.mark.parametrize("x", [MARKUP], ids=["<img src=x>"])
        @pytest.mark.converse(rules="off")
        def test_it(converse, x):
            use = {"toolUse": {"name": MARKUP, "toolUseId": MARKUP, "input": {MARKUP: MARKUP}}}
            converse.script(reply.text(MARKUP), reply.message(use, stop_reason="tool_use", strict=False))
            content = [{"text": MARKUP}]
            ask = {"modelId": MARKUP, "messages": [{"role": "user", "content": content}], "system": content}
            for _ in client().converse_stream(**ask)["stream"]:
                pass
            client().converse(**ask)
            raise ValueError(MARKUP)
        """
    )
    result = project.runpytest(OPTION)
    result.assert_outcomes(failed=1)
    names = [name for name, _ in Parsed(page(project)).elements]
    assert {"img", "iframe", "link", "form"}.isdisjoint(names)
    assert names.count("script") == names.count("style") == 1
    assert "<img src=x>" in Parsed(page(project)).text


SECRET_PLACES = """
    import pytest
    from agent import client
    from converse_harness import reply
    from secret import SECRETS

    @pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
    @pytest.mark.converse(rules="off")
    def test_it(converse, secret):
        half = len(secret) // 2
        pieces = [secret[:half], secret[half:]]
        deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": each}}} for each in pieces]
        events = [{"messageStart": {"role": "assistant"}}, *deltas, {"contentBlockStop": {"contentBlockIndex": 0}},
                  {"messageStop": {"stopReason": "end_turn"}}]
        converse.script(reply.events(events, strict=False), reply.tool_use("pay", {"with": secret, secret: 1}),
                        reply.error("ValidationException", secret))
        image = {"format": "png", "source": {"bytes": secret.encode()}}
        use = {"toolUseId": "t", "name": "pay", "input": {"api_key": secret}}
        result = {"toolUseId": "t", "content": [{"json": {"a": [secret]}}]}
        ask = {"modelId": "amazon.nova-lite-v1:0", "system": [{"text": f"use {secret} well"}], "messages": [
            {"role": "user", "content": [{"text": secret}, {"image": image}]},
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]}],
            "requestMetadata": {"x": secret}, "additionalModelRequestFields": {secret: secret}}
        for _ in client().converse_stream(**ask)["stream"]:
            pass
        client().converse(**ask)
        try:
            client().converse(**ask)
        except Exception:
            pass
        print(secret)
        raise ValueError(f"not {secret}")
"""


@pytest.mark.parametrize("more", [(), pytest.param((*XDIST, "-n", "1"), marks=pytest.mark.slow)], ids=["here", "xdist"])
def test_no_secret_is_in_the_file(
    more: tuple[str, ...], project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PASSWORD", OWN)
    planted = base64.b85encode(json.dumps(SECRETS).encode()).decode()
    project.makepyfile(
        secret=f"import base64, json\nSECRETS = json.loads(base64.b85decode({planted!r}))", test_them=SECRET_PLACES
    )
    result = project.runpytest(OPTION, *more)
    result.assert_outcomes(failed=len(SECRETS))
    written, text = page(project), Parsed(page(project)).text
    assert [name for name, part in PARTS.items() if part in written or part in text] == []
    assert base64.b64encode(KEY.encode()).decode() not in written
    assert text.count("***") > 10 * len(SECRETS)
    assert "use *** well" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "--converse-report=: it must be a file, such as report.html."),
        ("folder", "--converse-report=folder: it must be a file, such as report.html."),
        ("file/r.html", "--converse-report=file/r.html: its folder cannot be made: *. Name a file in another folder."),
    ],
    ids=["nothing", "folder", "below a file"],
)
def test_a_file_that_cannot_be_written_stops_the_run_at_its_start(
    given: str, said: str, project: pytest.Pytester
) -> None:
    (project.path / "folder").mkdir()
    (project.path / "file").touch()
    project.makepyfile("def test_it(): pass")
    result = project.runpytest(f"--converse-report={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_a_file_that_cannot_be_written_at_the_end_is_named(project: pytest.Pytester) -> None:
    project.makepyfile(f"import os\n\ndef test_it():\n    os.makedirs({FILE!r})\n")
    result = project.runpytest(OPTION)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"--converse-report={FILE}: not written: *"])
    assert files(project) == ["report.html"]


IMPORTED = """
import sys
import pytest
for options in ([], sys.argv[1:]):
    pytest.main(["-q", "-p", "no:cacheprovider", *options])
    print(sorted(name for name in sys.modules if ".features.report" in name))
"""


def test_nothing_of_it_is_imported_without_the_option(project: pytest.Pytester) -> None:
    project.makepyfile("def test_fails(converse): assert 0")
    told = project.run(sys.executable, "-c", IMPORTED, OPTION).outlines
    plain, given = (line for line in told if line == "[]" or line.startswith("['"))
    assert plain == "[]"
    assert "converse_harness.features.report.hooks" in given


@pytest.mark.slow
def test_a_report_of_200_calls_is_small(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import client
        from converse_harness import reply

        def test_it(converse):
            converse.always(lambda call: reply.text(f"answer {len(call.messages)} " + "word " * 60))
            messages = []
            for turn in range(200):
                messages.append({"role": "user", "content": [{"text": f"question {turn} " + "word " * 60}]})
                text = ""
                for event in client().converse_stream(modelId="amazon.nova-lite-v1:0", messages=messages)["stream"]:
                    text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
                messages.append({"role": "assistant", "content": [{"text": text}]})
            assert 0
        """
    )
    result = project.runpytest(OPTION, "--durations=3")
    result.assert_outcomes(failed=1)
    size = os.path.getsize(project.path / FILE)
    print(f"200 calls: {size:,} bytes")
    assert size < 2_000_000
    text = Parsed(page(project)).text
    assert all(text.count(f"question {turn} word") == 1 for turn in range(200))


def test_a_path_is_below_the_folder_where_pytest_was_started(project: pytest.Pytester) -> None:
    (Path(project.path) / "sub").mkdir()
    project.makepyfile("def test_it(): pass")
    os.chdir(project.path / "sub")
    project.runpytest("..", "--converse-report=here.html").assert_outcomes(passed=1)
    assert (project.path / "sub" / "here.html").is_file()
