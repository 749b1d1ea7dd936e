"""Every fenced code block of the README and of the docs runs as the page says; CONTRIBUTING.md lists the directives."""

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

DIRECTIVES: Final[Mapping[str, str]] = {
    "file": r"file=([\w./-]+)",
    "fails": "(fails)",
    "output": "(output)",
    "run": "(run)",
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
    passed_together: bool | None = None

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

    def reach(self, block: Block, run: Callable[[Block, dict[str, Any]], None]) -> None:
        """Run the plain blocks down to this one, as far as they did not run before."""
        last = self.blocks.index(block)
        for number, above in enumerate(self.blocks[: last + 1]):
            if above.way in (Way.EXEC, Way.DOCTEST) and number not in self.results:
                try:
                    run(above, self.namespace)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  (raised again, at its own block)
                    self.results[number] = error
                else:
                    self.results[number] = None
            if (failure := self.results.get(number)) is not None:
                if above is not block:
                    pytest.fail(f"{block} builds on {above}, which fails: {failure}", pytrace=False)
                raise failure

    def tests_that_pass(self) -> list[Block]:
        """The tests that only have to pass, if they can share a folder."""
        files = [block.file for block in self.blocks if "file" in block.directives]
        if len(set(files)) < len(files):
            return []
        return [b for b in self.blocks if b.way is Way.TEST and not b.output and "fails" not in b.directives]

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
EXAMPLES: Final = [
    pytest.param(page, block, id=str(block))
    for page in PAGES_READ
    for block in page.blocks
    if block.way in (Way.TEST, Way.EXEC, Way.DOCTEST, Way.COMMANDS)
]


# pytest-asyncio warns without this setting; -W error holds everything else to account. The plugin of langsmith, which
# langchain-aws brings along, takes a second to import and does nothing here.
OPTIONS: Final = (
    *("-p", "no:cacheprovider", "-p", "no:langsmith_plugin"),
    *("-o", "asyncio_default_fixture_loop_scope=function", "-W", "error"),
)


def run_block(page: Page, block: Block, folder: Path, run_doctest: Callable[[doctest.DocTest], None]) -> None:
    """Run one block in its way; files are written into the folder."""

    def run_plain(plain: Block, namespace: dict[str, Any]) -> None:
        if plain.way is Way.DOCTEST:
            parser = doctest.DocTestParser()
            test = parser.get_doctest(plain.code, namespace, str(plain), str(plain.page), plain.line - 1)
            test.globs = namespace  # the parser took a copy; what the example defines is there for the blocks below
            run_doctest(test)
        else:
            exec(compile("\n" * (plain.line - 1) + plain.code, str(plain.page), "exec"), namespace)

    if block.way in (Way.EXEC, Way.DOCTEST):
        page.reach(block, run_plain)
        return
    if block in (tests := page.tests_that_pass()) and len(tests) > 1:
        if page.passed_together is None:  # one start of pytest for all; if one fails, each runs alone and says why
            page.passed_together = run_tests(page, tests, folder).returncode == 0
        if page.passed_together:
            return
    if block.way is Way.TEST:
        done = run_tests(page, [block], folder)
    else:
        write_files(page, block, folder)
        commands = [line.removeprefix("$ ") for line in block.code.splitlines() if line.startswith("$ ")]
        done = run(" && ".join(commands), folder)
    print(done.stdout)
    assert done.returncode == int("fails" in block.directives), f"{block} ended with status {done.returncode}"
    shown = block.output + (block.code if block.way is Way.COMMANDS else "")
    assert missing_lines(shown, done.stdout) == [], f"{block} does not print what the page shows"


def write_files(page: Page, block: Block, folder: Path) -> None:
    """Write a block and the files above it into the page's project."""
    for file in (*page.files_above(block), block):
        if file.language == "python" or "file" in file.directives:
            target = folder / file.file
            target.parent.mkdir(parents=True, exist_ok=True)
            # Python takes bytecode for that of any source of the same size and second.
            shutil.rmtree(target.parent / "__pycache__", ignore_errors=True)
            target.write_text(file.code, encoding="utf-8")


def run_tests(page: Page, blocks: list[Block], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run test files of a page by pytest."""
    for block in blocks:
        write_files(page, block, folder)
    return run([sys.executable, "-m", "pytest", *OPTIONS, *(block.file for block in blocks)], folder)


def run(command: list[str] | str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with the scripts of this environment at hand; its output and errors are one text."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    # An example shows a use; what measures coverage would double the time that it takes.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return subprocess.run(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        env={**environment, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


RUN: Final = run
RunBlock = Callable[[Page, Block], None]


@pytest.fixture
def run_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_doctest: Callable[[doctest.DocTest], None]
) -> RunBlock:
    # Not pytester: it drops the modules that a test imported, and the next would see two copies of them.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return lambda page, block: run_block(page, block, tmp_path, run_doctest)


@pytest.mark.parametrize(("page", "block"), EXAMPLES)
def test_page(page: Page, block: Block, run_one: RunBlock) -> None:
    run_one(page, block)


# What the runner itself must see.

PAGE: Final = """
<!-- example: file=agent.py -->
```python
def answer():
    return 42
```

```python
from math import sqrt
```

```pycon
>>> sqrt(4)
2.0
>>> int("x")
ValueError: invalid literal for int() with base 10: 'x'
```

```python
from agent import answer

def test_answer():
    assert answer() == 42
```

<!-- example: fails -->
```python
from agent import answer

def test_answer():
    assert answer() == 41
```

<!-- example: output -->
```text
assert 42 == 41
1 failed in ...
```

<!-- example: run -->
```console
$ python -c "print('a[0]'); print('b')"
a[0]
b
```

<!-- example: not run: needs an AWS account -->
```python
undefined
```
"""


def sample(old: str = "", new: str = "") -> Page:
    """The page above, with one thing changed."""
    assert old in PAGE
    return Page.read(Path("page.md"), PAGE.replace(old, new))


def test_each_block_runs_in_its_way(run_one: RunBlock) -> None:
    page = sample()
    assert [block.way for block in page.blocks] == [
        Way.FILE, Way.EXEC, Way.DOCTEST, Way.TEST, Way.TEST, Way.OUTPUT, Way.COMMANDS, Way.LEFT
    ]  # fmt: skip
    for block in page.blocks:
        if block.way not in (Way.FILE, Way.OUTPUT, Way.LEFT):
            run_one(page, block)


def test_those_that_only_have_to_pass_share_a_run(run_one: RunBlock, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def counted(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        started.append([argument for argument in command if argument.endswith(".py")])
        return RUN(command, folder)

    monkeypatch.setitem(globals(), "run", counted)
    two = PAGE + "\n```python\ndef test_last():\n    assert __name__ == 'test_line_53'\n```\n"
    together = ["test_line_20.py", "test_line_53.py"]
    page = Page.read(Path("page.md"), two)
    run_one(page, page.blocks[3])
    run_one(page, page.blocks[-1])
    assert started == [together]
    spoilt = Page.read(Path("page.md"), two.replace("return 42", "return 41"))
    run_one(spoilt, spoilt.blocks[-1])
    assert started == [together, together, together[1:]]


def test_block_builds_on_those_above_it(run_one: RunBlock) -> None:
    page = sample()
    run_one(page, page.blocks[2])


@pytest.mark.parametrize(
    ("old", "new", "number", "message"),
    [
        ("import sqrt", "import root", 1, "cannot import name 'root'"),
        ("import sqrt", "import root", 2, r"page.md:13 builds on page.md:9, which fails: cannot import name 'root'"),
        ("2.0", "3.0", 2, r"Expected:\n    3.0\nGot:\n    2.0"),
        ("literal for", "number for", 2, "Expected"),
        ("return 42", "return 41", 3, "page.md:20 ended with status 1"),
        ("== 41", "== 42", 4, "page.md:28 ended with status 0"),
        ("1 failed", "2 failed", 4, "page.md:28 does not print what the page shows"),
        ("\na[0]\nb\n", "\nb\na[0]\n", 6, "page.md:42 does not print what the page shows"),
    ],
)
def test_what_is_wrong_is_seen(old: str, new: str, number: int, message: str, run_one: RunBlock) -> None:
    page = sample(old, new)
    with pytest.raises((Exception, pytest.fail.Exception), match=message):
        run_one(page, page.blocks[number])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("example: fails", "example: failing", "page.md:26: there is no directive `failing`. Allowed: `file`, `fails`"),
        ("-->\n```python\nundefined", "-->\ntext\n```python\nundefined", "page.md:48: a directive stands right before"),
        ("\nundefined\n```", "\nundefined\n", "page.md:48: the code block is never closed"),
        ("example: not run: needs an AWS account", "example: not run:", "there is no directive `not run:`"),
    ],
)
def test_a_damaged_page_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample(old, new)
