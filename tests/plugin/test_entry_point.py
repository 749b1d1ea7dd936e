"""What is installed is found: the fixtures by pytest; `st.from_type` and `hypothesis write` by hypothesis."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import boto3
import pytest

import converse_harness.types
from converse_harness import Fake, reply

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., str]

EVERYTHING = """
    from importlib import import_module

    from hypothesis import Phase, find, settings, strategies as st

    once = settings(phases=[Phase.generate], database=None)
    drawn = failed = 0
    for subject in SUBJECTS:
        module = import_module(f"converse_harness.types.{subject}")
        for name, kind in list(vars(module).items()):
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                value = find(st.from_type(kind), lambda value: True, settings=once)
                # A TypedDict has no instances; everything else that is drawn is one.
                is_one = isinstance(value, dict) if hasattr(kind, "__required_keys__") else (
                    getattr(kind, "_is_protocol", False) or isinstance(value, kind))
                drawn += 1
                assert is_one, (name, value)

    from converse_harness import Call, Reply, Response
    for kind in (Call, Reply, Response):
        assert isinstance(find(st.from_type(kind), lambda value: True, settings=once), kind)
    print(drawn)
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run Python in a folder of its own, where the project's entry point is as if it were installed from a wheel."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    installed = tmp_path / "site" / "as_if-1.dist-info"
    installed.mkdir(parents=True)
    installed.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: as-if\nVersion: 1\n", encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in entry_points["hypothesis"].items()]
    installed.joinpath("entry_points.txt").write_text("\n".join(["[hypothesis]", *lines, ""]), encoding="utf-8")
    paths = [str(tmp_path / "site"), str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONIOENCODING": "utf-8",
                "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),
            },
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


ALL = tuple(module.name for module in iter_modules(converse_harness.types.__path__))


def code(first: str, then: str = EVERYTHING) -> str:
    return "\n".join([first, *(line.removeprefix("    ") for line in then.splitlines())])


@pytest.mark.parametrize(
    "first", ["import hypothesis", "import converse_harness.types.content, converse_harness.reply.reply"]
)
@pytest.mark.parametrize(("subjects", "classes"), [(("session",), 2), pytest.param(ALL, 100, marks=pytest.mark.slow)])
def test_every_class_is_known_in_either_import_order(
    run: Run, first: str, subjects: tuple[str, ...], classes: int
) -> None:
    assert int(run("-W", "error", "-c", code(f"{first}\nSUBJECTS = {subjects!r}"))) > classes


def test_importing_hypothesis_imports_nothing_of_ours_but_the_entry_and_its_hook(run: Run) -> None:
    """And registering again changes nothing."""
    script = """
    import json, sys
    print(json.dumps(sorted(sys.modules)))
    before = list(sys.meta_path)
    from converse_strategies.entry import register
    register()
    assert sys.meta_path == before
    from converse_harness.types import content
    assert type(content.__loader__).__module__.startswith("_frozen_importlib"), content.__loader__
    assert content.__spec__.loader is content.__loader__
    """
    loaded = json.loads(run("-c", code("import hypothesis", script)))
    ours = [name for name in loaded if name.split(".")[0] in ("converse_harness", "converse_strategies")]
    assert ours == ["converse_harness", "converse_harness.imports", "converse_strategies", "converse_strategies.entry"]
    assert not {"faker", "botocore", "httpx", "respx", "h11", "h2"} & set(loaded)


def test_types_are_drawn_as_the_strategies_say(run: Run) -> None:
    script = """
    import typing
    from hypothesis import given, settings, strategies as st
    from converse_harness.types.content import ContentBlock
    from converse_harness.types.event_loop import Usage

    class Turn(typing.NamedTuple):
        block: ContentBlock
        usage: Usage | None

    @settings(max_examples=5)
    @given(st.from_type(Turn))
    def check(turn):
        assert turn.usage is None or turn.usage["totalTokens"] >= turn.usage["inputTokens"] >= 0
        assert len(turn.block) == 1

    check()
    """
    run("-W", "error", "-c", code("", script))


@pytest.mark.slow
def test_hypothesis_write_makes_a_test_that_passes(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("click", reason="the command line of hypothesis needs it")
    consumer = '''
from converse_harness.types.content import Message
from converse_harness.types.event_loop import Usage


def total(message: Message, usage: Usage) -> int:
    """Tokens of a message."""
    assert message["role"] in ("user", "assistant")
    return usage["inputTokens"] + usage["outputTokens"]
'''
    tmp_path.joinpath("consumer.py").write_text(consumer, encoding="utf-8")
    if find_spec("black") is None:
        # It only formats what hypothesis wrote, which needs it to be there.
        black = "InvalidInput = ValueError\nFileMode = Mode = dict\n\n\ndef format_str(text, mode):\n    return text\n"
        tmp_path.joinpath("black.py").write_text(black, encoding="utf-8")
    written = run("-c", "from hypothesis.extra.cli import main; main()", "write", "consumer.total")
    assert "message=st.from_type(Message), usage=st.from_type(Usage)" in written
    tmp_path.joinpath("test_written.py").write_text(written, encoding="utf-8")
    assert "1 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_written.py")


def test_pytest_loads_the_fixtures_beside_all_plugins_that_are_installed(
    converse: Fake, pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.pluginmanager.has_plugin("respx")
    converse.script(reply.text("hi"))
    messages = [{"role": "user", "content": [{"text": "?"}]}]
    assert boto3.client("bedrock-runtime").converse(modelId="m", messages=messages)["stopReason"] == "end_turn"


def test_the_lines_that_leave_plugins_out_do(tmp_path: Path) -> None:
    page = (ROOT / "docs/fixtures.md").read_text(encoding="utf-8")
    (ini,) = re.findall(r"```ini\n(\[pytest\]\naddopts = -p no:.*?)```", page, re.DOTALL)
    left_out = set(re.findall(r"-p no:(\w+)", ini))
    named = set(re.findall(r"^\| `-p no:(\w+)`", page, re.MULTILINE))
    plugins = {entry.name: entry.value.partition(":")[0] for entry in entry_points(group="pytest11")}
    assert left_out < named <= set(plugins)
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    modules = [plugins[name] for name in left_out]
    test = f"import sys\n\n\ndef test_it(converse):\n    assert not sys.modules.keys() & {modules}\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    others = ("cacheprovider", "pytest_httpserver", "asyncio", "randomly")  # the last loads faker's plugin
    options = ("-q", *(f"-pno:{name}" for name in others), "-W", "ignore")
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
