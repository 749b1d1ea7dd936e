"""How the fenced code blocks of a page run; CONTRIBUTING.md lists the directives."""

import ast
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

from converse_harness import cli
from converse_harness.bedrock.fit import BY_NAME
from tests.nested import ASYNCIO, HYPOTHESIS, OURS, load
from tests.untraced import untraced

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

DIRECTIVES: Final[Mapping[str, str]] = {
    "file": r"file=([\w./-]+)",
    "fails": "(fails)",
    "output": "(output)",
    "run": "(run)",
    "slow": "(slow)",
    "with": r"with=([\w-]+)",
    "not run": r"not run: (\S.*)",
}
"""What may stand in `<!-- example: ... -->` right before a block, as patterns whose group is the value."""

_DIRECTIVE: Final = re.compile(r"\s*<!-- example: (.*?) -->\s*")
_FENCE: Final = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>[\w-]*)")


class Way(Enum):
    """What is done with a block."""

    TEST = "a test file, run by pytest"
    EXEC = "run in the page's namespace"
    DOCTEST = "run by doctest in the page's namespace"
    COMMANDS = "its `$` lines run in a shell"
    FILE = "written for the blocks below it"
    OUTPUT = "must appear in the output of the block above it"
    LEFT = "only read"


@dataclass(slots=True)
class Block:
    """One fenced block: the line of its first line of code, and the directives right before it."""

    page: Path
    line: int
    language: str
    code: str
    directives: Mapping[str, str]
    output: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page.name}:{self.line}"

    @property
    def way(self) -> Way:
        match self.language:
            case _ if "not run" in self.directives:
                return Way.LEFT
            case _ if "output" in self.directives:
                return Way.OUTPUT
            case _ if "run" in self.directives:
                return Way.COMMANDS
            case "python" if defines_tests(self.code):
                return Way.TEST
            case _ if "file" in self.directives:
                return Way.FILE
            case "python":
                return Way.EXEC
            case "pycon":
                return Way.DOCTEST
            case _:
                return Way.LEFT

    @property
    def runs(self) -> bool:
        """Whether it is a test of its own."""
        return self.way in (Way.TEST, Way.EXEC, Way.DOCTEST, Way.COMMANDS)

    @property
    def file(self) -> str:
        """The name under which the block is written into the page's project."""
        return self.directives.get("file", f"test_line_{self.line}.py")


def defines_tests(code: str) -> bool:
    """Whether pytest finds a test in this code."""
    names: list[str] = []
    for node in ast.parse(code).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr="TestCase")):  # of a state machine
                names.append(name)
            case _:
                pass
    return any(name.lower().startswith("test") for name in names)


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    directives: dict[str, str] = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if found := _DIRECTIVE.fullmatch(line):
            directives |= directive(found[1], f"{page.name}:{number}")
        elif fence := _FENCE.match(line):
            code = []
            for _, inner in lines:
                if inner.strip() == fence["fence"]:
                    break
                code.append(inner)
            else:
                raise ValueError(f"{page.name}:{number}: the code block is never closed.")
            yield Block(page, number + 1, fence["language"], textwrap.dedent("\n".join(code)) + "\n", directives)
            directives = {}
        elif line.strip() and directives:
            raise ValueError(f"{page.name}:{number}: a directive stands right before its code block; this is text.")


def directive(text: str, where: str) -> dict[str, str]:
    """Read one directive."""
    for name, pattern in DIRECTIVES.items():
        if found := re.fullmatch(pattern, text):
            return {name: found[1]}
    allowed = ", ".join(f"`{name}`" for name in DIRECTIVES)
    raise ValueError(f"{where}: there is no directive `{text}`. Allowed: {allowed}; see CONTRIBUTING.md.")


@dataclass(slots=True)
class Page:
    """A page and the namespace that its plain blocks share; each of them runs once, after those above it."""

    blocks: list[Block]
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    results: dict[int, BaseException | None] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, text: str) -> "Page":
        """Read a page, and hand each block of output to the block above it that gives it."""
        blocks = list(blocks_of(path, text))
        for number, block in enumerate(blocks):
            if block.way is Way.OUTPUT:
                giver = next((b for b in reversed(blocks[:number]) if b.way in (Way.TEST, Way.COMMANDS)), None)
                if giver is None:
                    raise ValueError(f"{block}: no block above this output is a test or a command that runs.")
                giver.output += block.code
        return cls(blocks)

    def reach(self, block: Block) -> None:
        """Run the plain blocks down to this one, as far as they did not run before."""
        last = self.blocks.index(block)
        for number, above in enumerate(self.blocks[: last + 1]):
            if above.way in (Way.EXEC, Way.DOCTEST) and number not in self.results:
                try:
                    run_plain(above, self.namespace)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  (raised again, at its own block)
                    self.results[number] = error
                else:
                    self.results[number] = None
            if (failure := self.results.get(number)) is not None:
                if above is not block:
                    pytest.fail(f"{block} builds on {above}, which fails: {failure}", pytrace=False)
                raise failure

    def files_above(self, block: Block) -> Iterator[Block]:
        """The blocks above this one that are files of the page's project."""
        for above in self.blocks[: self.blocks.index(block)]:
            if "file" in above.directives:
                yield above


def missing_lines(shown: str, output: str) -> list[str]:
    """The lines of `shown` that do not come in `output` in this order.

    `...` and `*` stand for anything; how far a line is indented, and pytest's `E` and rulers beside it, do not count.
    """
    rest = iter([_bare(line) for line in output.splitlines()])
    wanted = [_bare(line) for line in shown.splitlines() if _bare(line) and not line.startswith("$ ")]
    for number, line in enumerate(wanted):
        glob = line.replace("[", "[[]").replace("...", "*")
        if not any(fnmatchcase(candidate, glob) for candidate in rest):
            return wanted[number:]
    return []


def _bare(line: str) -> str:
    return line.removeprefix("E ").strip(" =")


PAGES_READ: Final = [Page.read(path, path.read_text(encoding="utf-8")) for path in PAGES if path.exists()]


def examples(package: str = "") -> list[Any]:
    """The blocks of all pages that run with this package, as parameters of a test."""
    return [
        pytest.param(page, block, id=str(block), marks=[pytest.mark.slow] if "slow" in block.directives else [])
        for page in PAGES_READ
        for block in page.blocks
        if block.runs and block.directives.get("with", "") == package
    ]


# A person's own run is neither faster nor slower for what this one remembers.
PROFILE: Final = settings(settings.get_profile("default"), deadline=None, database=None, derandomize="CI" in os.environ)
OPTIONS: Final = (
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-W", "error"),
    # What is left of the tests before it is none of its business.
    *("-p", "no:unraisableexception", "-p", "no:threadexception"),
    *OURS,
    *ASYNCIO,
    *HYPOTHESIS,
)


def run_block(page: Page, block: Block, folder: Path) -> None:
    """Run one block in its way; files are written into the folder, where this process is."""
    if block.way in (Way.EXEC, Way.DOCTEST):
        page.reach(block)
        return
    for file in (*page.files_above(block), block):
        if file.language == "python" or "file" in file.directives:
            target = folder / file.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.code, encoding="utf-8")
    status, output = run_tests(block.file, folder) if block.way is Way.TEST else run_commands(block.code, folder)
    print(output)
    assert status == int("fails" in block.directives), f"{block} ended with status {status}"
    shown = block.output + (block.code if block.way is Way.COMMANDS else "")
    noted = [name for name in BY_NAME if f"\n{name}, in " in output and f"{name}, in " not in shown]
    assert noted == [], f"{block} scripts answers that do not fit their requests"
    assert missing_lines(shown, output) == [], f"{block} does not print what the page shows"


def run_plain(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block that has no tests."""
    if block.way is Way.EXEC:
        exec(compile("\n" * (block.line - 1) + block.code, str(block.page), "exec"), namespace)
    else:
        test = doctest.DocTestParser().get_doctest(block.code, namespace, str(block), str(block.page), block.line - 1)
        test.globs = namespace  # the parser took a copy; what the example defines is there for the blocks below
        run_doctest(test)


def run_tests(file: str, folder: Path) -> tuple[int, str]:
    """Run a test file of a page in this process."""
    return run_here(lambda: pytest.main([*OPTIONS, "--rootdir", str(folder), file]), folder)


def run_here(main: Callable[[], int], folder: Path) -> tuple[int, str]:
    """Run a program of a page in this process, and forget the modules of the page's project."""
    output = io.TextIOWrapper(raw := io.BytesIO(), encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "dont_write_bytecode", True)
        settings.register_profile("page", PROFILE)
        before, _ = settings.get_current_profile_name(), settings.load_profile("page")
        try:
            status = main()
        except SystemExit as ended:  # of argparse
            status = int(ended.code or 0)
        finally:
            settings.load_profile(before)
            for name, module in [*sys.modules.items()]:
                if str(folder) in str(getattr(module, "__file__", "")):
                    del sys.modules[name]
    return int(status), raw.getvalue().decode()


PROGRAMS: Final[Mapping[str, Callable[[list[str]], int]]] = {
    "converse-harness": cli.main,
    "pytest": lambda arguments: pytest.main([*OURS, "-p", "no:unraisableexception", *arguments]),
}
"""What runs in this process, because a process takes ten times as long; tests/plugin has a process of each."""
_SHELL: Final = re.compile(r"[|&;<>$`*?#]|^\w+=")


def run_commands(code: str, folder: Path) -> tuple[int, str]:
    """Run commands, the next if the one before ends with 0; their output and errors are one text."""
    output, status = "", 0
    for line in code.splitlines():
        if line.startswith("$ ") and status == 0:
            status, more = run_command(line.removeprefix("$ "), folder)
            output += more
    return status, output


def run_command(line: str, folder: Path) -> tuple[int, str]:
    """Run a command, in this process if it is one of PROGRAMS and needs no shell."""
    name, *arguments = shlex.split(line)
    if name in PROGRAMS and not _SHELL.search(re.sub(r"'[^']*'", "", line)):
        return run_here(lambda: PROGRAMS[name](arguments), folder)
    done = subprocess.run(
        line,
        cwd=folder,
        shell=True,
        env={
            # An example shows a use; what measures coverage would double the time that it takes.
            **untraced(),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": " ".join(OURS),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


RunBlock = Callable[[Page, Block], None]
_load_once: Final = cache(load)


@pytest.fixture
def run_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunBlock:
    """Run a block in a folder of the test's own."""
    _load_once()
    monkeypatch.chdir(tmp_path)
    for name, value in {"HOME": str(tmp_path), "COLUMNS": "120", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return lambda page, block: run_block(page, block, tmp_path)


# A page shows `ReplyError: ...`; Python writes the module before the name, and "Traceback" above it.
_EXCEPTION: Final = re.compile(r"\A(?:\w+\.)*(?=[A-Z]\w*(?::|$))")


class _Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or super().check_output(
            _EXCEPTION.sub("", want, count=1), _EXCEPTION.sub("", got, count=1), optionflags
        )


def run_doctest(test: doctest.DocTest) -> None:
    """Run one DocTest and fail with doctest's own report."""
    for example in test.examples:
        if example.exc_msg is None and _EXCEPTION.match(example.want):
            example.exc_msg = example.want
    report: list[str] = []
    runner = doctest.DocTestRunner(checker=_Checker(), optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    if report:
        pytest.fail("".join(report), pytrace=False)
