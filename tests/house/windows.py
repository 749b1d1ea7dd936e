"""What Windows lacks or does otherwise, as rules that a syntax tree can break.

tests/house/test_windows.py has the table of the rules, with the reason of each.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple, TypeVar, cast

from tests.house.file_names import wrong
from tests.house.measure import PACKAGES, ROOT

MODULES: Final = frozenset({
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog",
    "termios", "tty",
})  # fmt: skip
"""Modules of the standard library that Windows has not."""

NAMES: Final[Mapping[str, frozenset[str]]] = {
    "asyncio": frozenset({"open_unix_connection", "start_unix_server"}),
    "os": frozenset({
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchown", "fork", "forkpty", "getegid",
        "geteuid", "getgid", "getloadavg", "getpgid", "getpgrp", "getsid", "getuid", "killpg", "mkfifo", "mknod",
        "nice", "openpty", "posix_spawn", "posix_spawnp", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
        "sendfile", "setgid", "setpgid", "setsid", "setuid", "statvfs", "sysconf", "tcgetpgrp", "ttyname", "uname",
        "wait", "wait3", "wait4", "waitid",
        "kill",  # it is there, and ends the other process whatever the signal
    }),
    "select": frozenset({"epoll", "kqueue", "poll"}),
    "signal": frozenset({
        "ITIMER_PROF", "ITIMER_REAL", "ITIMER_VIRTUAL", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL",
        "SIGPIPE", "SIGPROF", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH",
        "alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigpending",
        "sigwait",
    }),
    "socket": frozenset({
        "AF_UNIX", "CMSG_LEN", "CMSG_SPACE", "MSG_DONTWAIT", "MSG_NOSIGNAL", "SCM_RIGHTS", "SO_REUSEPORT", "recv_fds",
        "send_fds",
    }),
    "time": frozenset({
        "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "clock_getres", "clock_gettime", "pthread_getcpuclockid", "tzset",
    }),
}  # fmt: skip
"""Names of modules that Windows has too, and that it has not. typeshed knows all: `mypy --platform win32 harness`."""


Node = TypeVar("Node", bound=ast.AST)


class Finding(NamedTuple):
    """A place that breaks a rule: the line, and its code or name."""

    line: int
    code: str


class Source:
    """A module of the product: its nodes by their kind, and the node around each."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self._nodes = defaultdict[type[ast.AST], list[ast.AST]](list)
        for node in ast.walk(self.tree):
            self._nodes[type(node)].append(node)

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for nodes in self._nodes.values() for node in nodes for child in ast.iter_child_nodes(node)}

    def all(self, *kinds: type[Node]) -> Iterator[Node]:
        """Every node of these kinds."""
        return (cast("Node", node) for kind in kinds for node in self._nodes[kind])

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def is_guarded(self, node: ast.AST) -> bool:
        """Whether the system is asked before: by an `if` around it, a `try`, or earlier in the same function."""
        for each in self.around(node):
            if isinstance(each, ast.If | ast.IfExp | ast.comprehension) and _asks(each):
                return True
            if isinstance(each, ast.Try) and any(
                handler.type and _is_missing(handler.type) for handler in each.handlers
            ):
                return True
            if isinstance(each, ast.With) and any(_is_missing(item.context_expr) for item in each.items):
                return True
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                tests = (inner for inner in ast.walk(each) if isinstance(inner, ast.If) and _asks(inner))
                if any(inner.lineno < _line(node) and isinstance(inner.body[-1], ast.Return) for inner in tests):
                    return True
        return False


_ASKED: Final = re.compile(r"\bsys\.platform\b|\bos\.name\b|\bhasattr\(")


def _asks(node: ast.If | ast.IfExp | ast.comprehension) -> bool:
    tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]
    return any(_ASKED.search(ast.unparse(test)) for test in tests)


def _is_missing(node: ast.expr) -> bool:
    return bool(re.search(r"\b(ImportError|ModuleNotFoundError|AttributeError)\b", ast.unparse(node)))


def named(node: ast.expr) -> str:
    """The dotted name of a function or attribute; only the last part where it belongs to the result of something."""
    match node:
        case ast.Name(id):
            return id
        case ast.Attribute(value, attr):
            left = named(value)
            return f"{left}.{attr}" if left and isinstance(value, ast.Name | ast.Attribute) else f".{attr}"
        case _:
            return ""


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else named(call.func)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _found(node: ast.AST) -> Finding:
    return Finding(_line(node), ast.unparse(node).partition("\n")[0])


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


# One function for each rule.


def lacking_modules(source: Source) -> Iterator[Finding]:
    """Imports of modules that Windows has not."""
    for node in source.all(ast.Import, ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if {name.partition(".")[0] for name in names} & MODULES and not source.is_guarded(node):
            yield _found(node)


def lacking_names(source: Source) -> Iterator[Finding]:
    """Names that Windows has not, as attributes of their module or imported from it."""
    for node in source.all(ast.ImportFrom, ast.Attribute):
        if isinstance(node, ast.ImportFrom):
            is_lacking = bool({alias.name for alias in node.names} & NAMES.get(node.module or "", frozenset()))
        elif isinstance(node, ast.Attribute):
            is_lacking = node.attr in NAMES.get(named(node.value).rpartition(".")[2], frozenset())
            is_lacking |= node.attr in ("add_signal_handler", "send_signal")  # of any event loop or process
        else:
            continue
        if is_lacking and not source.is_guarded(node):
            yield _found(node)


_READS_TEXT: Final = frozenset({"read_text", "write_text"})
_STARTS: Final = frozenset({"Popen", "call", "check_call", "check_output", "run", "getoutput", "getstatusoutput"})
_TEMPORARY: Final = frozenset({"NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryFile"})
_TAKES_MODE: Final[Mapping[str, tuple[int, str]]] = {
    "open": (1, "r"), "io.open": (1, "r"), "codecs.open": (1, "r"), "os.fdopen": (1, "r"), ".open": (0, "r"),
    "gzip.open": (1, "rb"), "bz2.open": (1, "rb"), "lzma.open": (1, "rb"),
    **dict.fromkeys(_TEMPORARY, (0, "w+b")),
}  # fmt: skip
"""Functions that open a file: the place of the argument `mode`, and the mode without it."""


def _text_mode(call: ast.Call) -> str:
    """The mode in which a call opens a text file; "" for another call, and for bytes."""
    name = named(call.func)
    if isinstance(call.func, ast.Attribute) and name not in _TAKES_MODE:
        name = call.func.attr if call.func.attr in _TEMPORARY else f".{call.func.attr}"
    if name not in _TAKES_MODE:
        return ""
    place, usual = _TAKES_MODE[name]
    given = _keyword(call, "mode") or (call.args[place] if len(call.args) > place else None)
    if given is None:
        # Other objects have a method `open` too; without any argument nothing tells a file.
        return "" if name == ".open" and not call.keywords and not _is_path(call.func) else _no_bytes(usual)
    mode = given.value if isinstance(given, ast.Constant) else None
    return _no_bytes(mode) if isinstance(mode, str) and re.fullmatch(r"[rwaxbt+U]{1,4}", mode) else ""


def _no_bytes(mode: str) -> str:
    return "" if "b" in mode else mode


def _is_path(function: ast.expr) -> bool:
    """Whether the object of a method is a path by its name."""
    return isinstance(function, ast.Attribute) and bool(
        re.search(r"(?i)path|file\b|folder", ast.unparse(function.value))
    )


def texts_without_encoding(source: Source) -> Iterator[Finding]:
    """Texts that are read, written or piped in the encoding of the machine."""
    for call in source.all(ast.Call):
        reads = _method(call) in _READS_TEXT and not (_method(call) == "read_text" and call.args)
        pipes = _method(call) in _STARTS and any(
            _is_true(_keyword(call, name)) for name in ("text", "universal_newlines")
        )
        if (reads or pipes or _text_mode(call) or named(call.func) == "io.TextIOWrapper") and not _keyword(
            call, "encoding"
        ):
            yield _found(call)


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def texts_without_newline(source: Source) -> Iterator[Finding]:
    """Texts that are written with the line ends of the machine."""
    for call in source.all(ast.Call):
        writes = _method(call) == "write_text" or bool(set(_text_mode(call)) & set("wax+"))
        if writes and _keyword(call, "newline") is None:
            yield _found(call)


def descriptors_of_text(source: Source) -> Iterator[Finding]:
    """Files that `os.open` opens as a text."""
    for call in source.all(ast.Call):
        if (
            named(call.func) == "os.open"
            and not re.search("O_BINARY|os.devnull", ast.unparse(call))
            and not source.is_guarded(call)
        ):
            yield _found(call)


_MOVES: Final = frozenset({"move", "remove", "rename", "renames", "replace", "unlink", "rmtree"})


def moved_while_open(source: Source) -> Iterator[Finding]:
    """Files that are moved or removed inside the `with` that opens them; temporary files that are opened again."""
    handles = {
        ast.unparse(target): ast.unparse(node.value.args[0])
        for node in source.all(ast.Assign)
        if isinstance(node.value, ast.Call) and named(node.value.func) == "os.open"
        for target in node.targets
    }
    blocks: list[ast.With | ast.AsyncWith] = [*source.all(ast.With), *source.all(ast.AsyncWith)]
    for node in blocks:
        opened = {path for item in node.items for path in _opened(item, handles)}
        for inner in (each for statement in node.body for each in ast.walk(statement)):
            if isinstance(inner, ast.Call) and _method(inner) in _MOVES and opened & _touched(inner):
                yield _found(inner)
            if isinstance(inner, ast.Attribute) and inner.attr == "name" and ast.unparse(inner) in opened:
                yield _found(inner)


def _opened(item: ast.withitem, handles: Mapping[str, str]) -> Iterator[str]:
    call = item.context_expr
    if not isinstance(call, ast.Call):
        return
    if _method(call) == "NamedTemporaryFile":
        keeps = any(isinstance(given := _keyword(call, name), ast.Constant) and not given.value
                    for name in ("delete", "delete_on_close"))  # fmt: skip
        if not keeps and item.optional_vars is not None:
            yield f"{ast.unparse(item.optional_vars)}.name"
    elif named(call.func) == "os.fdopen" and call.args:
        given = call.args[0]
        yield ast.unparse(given.args[0]) if isinstance(given, ast.Call) else handles.get(ast.unparse(given), "")
    elif _method(call) == "open":
        is_path = isinstance(call.func, ast.Attribute) and named(call.func) not in _TAKES_MODE
        path = call.func.value if is_path and isinstance(call.func, ast.Attribute) else next(iter(call.args), None)
        yield ast.unparse(path) if path is not None else ""


def _touched(call: ast.Call) -> set[str]:
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return {ast.unparse(each) for each in (*owner, *call.args)} - {""}


def shells_of_posix(source: Source) -> Iterator[Finding]:
    """Words that are quoted for, or split as by, a shell of POSIX."""
    for node in source.all(ast.ImportFrom, ast.Attribute):
        is_import = isinstance(node, ast.ImportFrom) and node.module == "shlex"
        is_use = isinstance(node, ast.Attribute) and named(node).startswith("shlex.")
        if (is_import or is_use) and not source.is_guarded(node):
            yield _found(node)


_NATIVE: Final = frozenset({"relative_to", "relpath"})
_CUTS: Final = frozenset({"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix"})


def paths_as_texts(source: Source) -> Iterator[Finding]:
    """Paths whose text is taken or cut as if "/" were their separator."""
    for node in source.all(ast.Call, ast.FormattedValue, ast.Compare):
        match node:
            case ast.Call(func=ast.Name("str"), args=[ast.Call() as path]) if _method(path) in _NATIVE:
                yield _found(node)
            case ast.FormattedValue(value=ast.Call() as path) if _method(path) in _NATIVE:
                yield _found(path)
            case ast.Call(func=ast.Attribute(value, attr), args=[ast.Constant(str(text)), *_]) if attr in _CUTS:
                if "/" in text and _is_text_of_path(value):
                    yield _found(node)
            case ast.Compare(left=ast.Constant(str(text)), ops=[ast.In() | ast.NotIn()], comparators=[value]):
                if "/" in text and _is_text_of_path(value):
                    yield _found(node)
            case _:
                pass


def _is_text_of_path(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    is_text = (
        named(node.func) in ("str", "os.fspath") and bool(node.args) and "path" in ast.unparse(node.args[0]).lower()
    )
    return is_text or named(node.func).startswith("os.path.") or _method(node) in _NATIVE


_NAMES_FILES: Final = frozenset(
    {"with_name", "with_stem", "with_suffix", "joinpath", "Path", "PurePath", "PurePosixPath"}
)
_STANDS: Final = "x"
"""What takes the place of a value in an f-string."""


def names_of_files(source: Source) -> Iterator[Finding]:
    """Literal names of files that Windows does not take."""
    for node in source.all(ast.Call, ast.BinOp):
        if isinstance(node, ast.Call) and (_method(node) in _NAMES_FILES or named(node.func) == "os.path.join"):
            given = node.args
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            given = [node.right]
        else:
            continue
        for each in given:
            text = _text(each)
            parts = [part for part in text.split("/") if part not in ("", ".", "..")]
            if any(wrong(part) for part in parts):
                yield _found(each)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(_text(each) if isinstance(each, ast.Constant) else _formatted(each) for each in values)
        case _:
            return ""


def _formatted(node: ast.expr) -> str:
    spec = node.format_spec if isinstance(node, ast.FormattedValue) else None
    of_time = _text(spec) if spec is not None and "%" in _text(spec) else ""
    return of_time or _STANDS


def times_of_posix(source: Source) -> Iterator[Finding]:
    """Formats of times that Windows refuses."""
    for node in source.all(ast.Call, ast.FormattedValue):
        if isinstance(node, ast.Call) and _method(node) == "strftime":
            given = " ".join(_text(each) for each in node.args)
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            given = _text(node.format_spec)
        else:
            continue
        if re.search(r"%[-_^#0]|%[eklsPEO]", given):
            yield _found(node)


SourceRule = Callable[[Source], Iterable[Finding]]


def sources(folder: str) -> Iterator[tuple[str, Source]]:
    """Each module directly in a folder of the product, by its file below the package's folder."""
    package = PACKAGES[folder.partition("/")[0]]
    for file in sorted((ROOT / package / folder).glob("*.py")):
        yield f"{folder}/{file.name}", Source(file.read_text("utf-8"))


def folders() -> list[str]:
    """The folders of the product that have modules."""
    files = (
        (ROOT / folder, file)
        for package, folder in PACKAGES.items()
        for file in (ROOT / folder / package).rglob("*.py")
    )
    return sorted({file.parent.relative_to(root).as_posix() for root, file in files})
