"""What the product does and how its files are called suits Windows too, where it was never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import pytest

from tests.house import windows
from tests.house.file_names import LONGEST, PREFIX, clashes, files, forbidden_names, long_paths, wrong
from tests.house.windows import Source, SourceRule


class Rule(NamedTuple):
    """What a rule forbids in the product and why, code that breaks it line by line, and code that does not."""

    finds: SourceRule
    forbids: str
    why: str
    bad: Sequence[str]
    good: Sequence[str] = ()


RULES: Final[Mapping[str, Rule]] = {
    "module": Rule(
        windows.lacking_modules,
        "the import of a module of POSIX without a question for the system",
        "it is an ImportError",
        (
            "import fcntl",
            "import os, termios",
            "from resource import getrlimit",
            "def f():\n    import pwd",
            "if DEBUG:\n    import pty",
        ),
        (
            "if sys.platform == 'linux':\n    import fcntl",
            "try:\n    import grp\nexcept ImportError:\n    pass",
            "with suppress(ImportError):\n    import resource",
        ),
    ),
    "name": Rule(
        windows.lacking_names,
        "a function, constant or signal that Windows lacks, without a question for it or for the system",
        "it is an AttributeError, and `kill` ends the process whatever the signal",
        (
            "os.fork()",
            "os.kill(pid, 2)",
            "signal.signal(signal.SIGALRM, stop)",
            "from signal import SIGHUP",
            "child.send_signal(signal.SIGINT)",
            "loop.add_signal_handler(2, stop)",
            "socket.socket(socket.AF_UNIX)",
            "time.clock_gettime(1)",
            "def f():\n    os.setsid()\n    if hasattr(os, 'setsid'):\n        return",
        ),
        (
            "if hasattr(os, 'fork'):\n    os.fork()",
            "wait() if sys.platform == 'win32' else os.wait()",
            "def f():\n    if os.name == 'nt':\n        return\n    os.setsid()",
            "[getattr(signal, name) for name in ('SIGHUP',) if hasattr(signal, name)]",
            "self.wait()",
        ),
    ),
    "encoding": Rule(
        windows.texts_without_encoding,
        "a text file, or a text of another process, without its encoding",
        "Windows reads and writes it in a code page, such as cp1252, and fails at many characters",
        (
            "open('a')",
            "open('a', 'w', newline='')",
            "path.open('w', newline='')",
            "path.open()",
            "path.read_text()",
            "path.write_text('a', newline='')",
            "os.fdopen(handle, 'w', newline='')",
            "tempfile.NamedTemporaryFile('w', newline='')",
            "gzip.open(path, 'rt')",
            "io.TextIOWrapper(file)",
            "subprocess.run(command, text=True)",
            "subprocess.Popen(command, universal_newlines=True)",
        ),
        (
            "open('a', encoding='utf-8')",
            "open('a', 'rb')",
            "path.open('rb')",
            "path.read_text('utf-8')",
            "fake.open()",
            "subprocess.run(command)",
            "tempfile.TemporaryFile()",
            "subprocess.run(command, encoding='utf-8')",
        ),
    ),
    "newline": Rule(
        windows.texts_without_newline,
        "a text file that is written without `newline`",
        'each "\\n" becomes "\\r\\n": a recording or a generated file must have the same bytes everywhere',
        (
            "open('a', 'w', encoding='utf-8')",
            "path.open('a', encoding='utf-8')",
            "path.open(mode='r+', encoding='utf-8')",
            "path.write_text('a', encoding='utf-8')",
            "os.fdopen(handle, 'x', encoding='utf-8')",
            "NamedTemporaryFile(mode='w', encoding='utf-8', delete=False)",
        ),
        ("path.write_text('a', 'utf-8', newline='')", "path.write_bytes(b'a')", "open('a', 'wb')", "open('a')"),
    ),
    "descriptor": Rule(
        windows.descriptors_of_text,
        "os.open of a file without O_BINARY",
        'os.write then turns "\\n" into "\\r\\n", and os.read ends at a Ctrl-Z',
        ("os.open(name, os.O_RDWR)", "os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT), 'wb')"),
        ("os.open(os.devnull, os.O_RDWR)", "os.open(name, os.O_RDWR | getattr(os, 'O_BINARY', 0))", "fake.open()"),
    ),
    "open file": Rule(
        windows.moved_while_open,
        "to move, replace or remove a file inside the `with` that opens it, or to open a temporary file again",
        "it is a PermissionError",
        (
            "with open(name) as file:\n    os.unlink(name)",
            "with path.open('wb') as file:\n    path.replace(other)",
            "with other.open('wb') as file, open('b'):\n    path.rename(other)",
            "handle = os.open(name, flags)\nwith os.fdopen(handle, 'wb') as file:\n    os.replace(name, path)",
            "with os.fdopen(os.open(name, flags), 'wb'):\n    for each in '12':\n        os.remove(name)",
            "with NamedTemporaryFile() as file:\n    read(file.name)",
        ),
        (
            "with open(name) as file:\n    pass\nos.unlink(name)",
            "with open(name) as file:\n    os.unlink(other)",
            "with path.open() as file:\n    path.name.replace('a', 'b')",
            "with NamedTemporaryFile(delete=False) as file:\n    read(file.name)",
        ),
    ),
    "shell": Rule(
        windows.shells_of_posix,
        "shlex, without a question for the system",
        "cmd takes ' for a part of the word, and a \\ of a path is gone; converse_harness.shell knows all shells",
        ("shlex.quote(path)", "shlex.split(command)", "from shlex import join"),
        ("def f():\n    if os.name == 'nt':\n        return\n    shlex.quote(path)",),
    ),
    "path": Rule(
        windows.paths_as_texts,
        'the text of a relative path without as_posix(), and "/" looked for in the text of a path',
        "the separator is \\ there, so that keys, files and texts differ",
        (
            "str(path.relative_to(root))",
            "f'{path.relative_to(root)}: line 1'",
            "str(path).split('/')",
            "os.path.relpath(path).startswith('../')",
            "'/' in str(path)",
        ),
        ("path.relative_to(root).as_posix()", "f'{path.relative_to(root).as_posix()}'", "url.split('/')"),
    ),
    "file name": Rule(
        windows.names_of_files,
        'a literal name of a file with <, >, :, ", | , ? or *, at whose end is a dot or space, or that is a device',
        "such a file cannot be made, and a checkout that has one cannot be cloned",
        (
            "folder / 'a:b.jsonl'",
            "path.with_name(f'{path.name}|{number}')",
            "Path(folder, 'nul.txt')",
            "folder / 'con'",
            "os.path.join(folder, 'what?')",
            "folder / 'ends.'",
            "folder / f'{now:%H:%M}.log'",
        ),
        ("folder / 'a-b.jsonl'", "folder / '..' / 'a'", "folder / f'{now:%H%M}.log'", "1 / 2", "Path('/tmp')"),
    ),
    "time": Rule(
        windows.times_of_posix,
        "a format of a time that only the C library of POSIX knows",
        "it is a ValueError",
        ("now.strftime('%-d')", "time.strftime('%s')", "f'{now:%e %B}'"),
        ("now.strftime('%d')", "f'{part:.0%}'"),
    ),
}

EXCEPTIONS: Final[Mapping[tuple[str, str, str], str]] = {
    (
        "newline",
        "converse_harness/cli/__init__.py",
        "os.fdopen(os.open(os.devnull, os.O_WRONLY), 'w', encoding='utf-8')",
    ): "it is the null device",
    ("shell", "converse_harness/shell.py", "shlex.quote"): "it is where the system is asked",
    ("shell", "converse_harness/shell.py", "shlex.shlex"): "the same",
}
"""Rule, file and code of what may break a rule, with the reason."""


FOLDERS: Final = windows.folders()


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_product_keeps_the_rules(folder: str) -> None:
    left = {key for key in EXCEPTIONS if key[1].rpartition("/")[0] == folder}
    new = dict[str, str]()
    for file, source in windows.sources(folder):
        for name, rule in RULES.items():
            for line, code in rule.finds(source):
                if (name, file, code) in EXCEPTIONS:
                    left.discard((name, file, code))
                else:
                    new[f"{file}:{line}: {code}"] = f"forbidden is {rule.forbids}: {rule.why}"
    assert new == {}
    assert left == set(), "an exception is not needed any more"


def test_an_exception_is_for_a_file_that_is_there() -> None:
    assert {file.rpartition("/")[0] for _, file, _ in EXCEPTIONS} <= {*FOLDERS}


BAD: Final = [(name, code) for name, rule in RULES.items() for code in rule.bad]
GOOD: Final = [(name, code) for name, rule in RULES.items() for code in rule.good]


@pytest.mark.parametrize(("name", "code"), BAD)
def test_what_breaks_a_rule_is_found(name: str, code: str) -> None:
    assert [*RULES[name].finds(Source(code))] != []


@pytest.mark.parametrize(("name", "code"), GOOD)
def test_what_keeps_a_rule_is_not_found(name: str, code: str) -> None:
    assert [*RULES[name].finds(Source(code))] == []


NAMES: Final[Mapping[str, tuple[Callable[[Sequence[str]], Sequence[object]], str, Sequence[str]]]] = {
    "forbidden": (
        forbidden_names,
        "a clone fails",
        ("a/b:c.py", "what?.md", "a/ends.", "a /b", "docs/aux.md", "COM1", "a/con.tar.gz", "tab\t.txt", "lpt¹.txt"),
    ),
    "long": (
        long_paths,
        f"the whole path has more than {LONGEST} characters in a folder as deep as {PREFIX}",
        ("a/" * 60 + "b.py",),
    ),
    "clash": (
        clashes,
        "two files or folders are one, also on macOS",
        ("docs/A.md", "docs/a.md", "Tests/a.py", "tests/b.py", "é.md", "e\N{COMBINING ACUTE ACCENT}.md"),
    ),
}
"""What the names of the repository's files must not be, why, and names that are it."""


@pytest.mark.parametrize("kind", NAMES)
def test_the_repository_can_be_cloned(kind: str) -> None:
    names = files()
    assert {"pyproject.toml", "tests/house/test_windows.py"} <= {*names}
    find, why, _ = NAMES[kind]
    assert [*find(names)] == [], why


@pytest.mark.parametrize(("kind", "found"), [("forbidden", 9), ("long", 1), ("clash", 3)])
def test_a_bad_name_is_found(kind: str, found: int) -> None:
    find, _, bad = NAMES[kind]
    assert len(find(["docs/README.md", *bad])) == found


def test_what_looks_like_a_device_is_none() -> None:
    assert [*filter(wrong, ("console.py", "com.py", "a.con", "com10.md", "nullable.py", ".gitignore"))] == []
