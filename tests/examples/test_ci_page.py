"""The pipelines on the pages are YAML, and their commands have the options that they name."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from converse_harness.cli import main
from tests.examples.pages import PAGES_READ
from tests.nested import HYPOTHESIS, OURS, XDIST, load

PIPELINES: Final = {
    str(block): block.code
    for page in PAGES_READ
    for block in page.blocks
    if block.language == "yaml" and re.search(r"^ +(?:steps|script):", block.code, re.MULTILINE)
}
"""The text of each block that is a pipeline of GitHub or GitLab, by the place of the block."""

OF_JOBS: Final = ("run", "script", "before_script", "after_script")
"""The members of a job or a step that hold commands."""

RECORDING: Final = """\
{"format": "converse-recording", "version": 2}
{"call": 1, "operation": "Converse", "modelId": "m", "request": {"messages": [{"role": "user", "content": [{"text": "?"}]}]}}
{"t": 1, "status": 200, "body": {"output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}}, "stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}}
"""  # noqa: E501 - a recording has a line for each answer


def lines(part: Any) -> Iterator[str]:
    """Every line of a shell in a pipeline, without its indentation."""
    match part:
        case dict():
            for name, value in part.items():
                if name in OF_JOBS:
                    for command in [value] if isinstance(value, str) else value:
                        yield from map(str.strip, command.splitlines())
                else:
                    yield from lines(value)
        case list():
            for each in part:
                yield from lines(each)
        case _:
            pass


def commands(place: str, program: str) -> list[list[str]]:
    """The arguments of each call of a program in a pipeline, also of one in quotes, such as a textconv of git."""
    calls = (
        re.findall(rf"(?:^|(?<=[' ;(])){program}(?= |$)[^'|;>&)]*", line)
        for line in lines(yaml.safe_load(PIPELINES[place]))
        if not line.startswith("pip ")
    )
    return [shlex.split(call)[1:] for found in calls for call in found]


@pytest.fixture
def parse(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.Config]:
    """A function that reads arguments of pytest as a run would, without running anything."""
    load()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda *arguments: pytester.parseconfig(*OURS, *XDIST, *HYPOTHESIS, *arguments)


def test_the_page_has_its_pipelines() -> None:
    assert sum(place.startswith("docs/ci.md:") for place in PIPELINES) == 3


@pytest.mark.parametrize("place", PIPELINES)
def test_pytest_has_the_options(place: str, parse: Callable[..., pytest.Config]) -> None:
    calls = commands(place, "pytest")
    assert calls, f"{place} runs no pytest"
    for arguments in calls:
        parse(*arguments)


@pytest.mark.parametrize("place", [place for place in PIPELINES if commands(place, "converse-harness")])
def test_the_commands_run(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tmp_path / "recordings" / "trip.jsonl"
    recording.parent.mkdir()
    recording.write_text(RECORDING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, *arguments in commands(place, "converse-harness"):
        files = ["recordings/trip.jsonl"] if name == "show" else []  # git appends the file
        assert main([name, *arguments, *files]) == 0


@pytest.mark.parametrize("wrong", ["--converse-staled=fail", "--converse-stale=never"])
def test_a_wrong_option_is_seen(wrong: str, parse: Callable[..., pytest.Config]) -> None:
    with pytest.raises(pytest.UsageError, match="--converse-stale"):
        parse(wrong)
