"""Prevent threads and processes that are started under a fake from reaching Bedrock, also after the fake has closed.

Calls of a thread that outlives its fake are refused. A multiprocessing child refuses its own calls. Any other program
gets an environment in which clients do not reach Bedrock: endpoint variables for SDKs, and our proxy (`child_proxy`)
for all other clients. `refused` returns the refusals of the proxies. Access keys are not changed, so programs reach
other hosts as before.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from urllib.parse import urlsplit

from converse_harness.intercept.clients import ENDPOINTS, LOCAL, is_loopback
from converse_harness.intercept.exchange import GIVE_ENVIRON, RefusingFake
from converse_harness.intercept.guard import workers
from converse_harness.intercept.guard.hosts import DOMAINS, is_bedrock_host
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import OPEN_FAKES, forwarding

_SPAWNED: Final = (
    "a call to Bedrock from process {child}, which process {parent} started while a converse-harness fake was open "
    f"there. {GIVE_ENVIRON}"
)

CLOSED_PORT_URL: Final = (
    "http://127.0.0.1:1/this-process-was-started-inside-a-converse-harness-fake--give-it-converse_server.environ"
)
"""The endpoint URL in a program's environment if no proxy can be started. Nothing listens at this URL."""

_ASKED: Final = (
    f"{{host}} was asked by a process that was started while a converse-harness fake was open. {GIVE_ENVIRON}"
)
_PROGRAM: Final = (
    "import sys; sys.path += sys.argv[1:]; from converse_harness.intercept.guard.child_proxy import main; main()"
)
_ROOT: Final = str(Path(__file__).parents[3])

_reports: Final = os.path.join(tempfile.gettempdir(), f"converse-harness-{os.getpid()}-{os.urandom(8).hex()}.refused")
"""The path of the file to which the proxies of this process and of its forks append each refused host."""
_owner: Final = os.getpid()
_read = 0


class _Running(NamedTuple):
    url: str
    """The URL for variables such as HTTPS_PROXY. It has a password if the user's own proxy has one."""
    endpoint: str
    """The URL without the password, for the endpoint variables of Bedrock: requests to it are refused anyway."""
    held: IO[bytes]
    """The write end of the pipe to the proxy's standard input. The proxy ends when no process keeps it open."""


_running: dict[tuple[str, str, str], _Running] = {}
_starting = threading.Lock()
_forked: Final[set[bool]] = set()
"""Contains True if this process has forked a child, which may have started a proxy that is not in `_running` here."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=functools.partial(_forked.add, True))


# Replacements for functions of the standard library, gevent and uvloop. `patch_points` lists the replaced functions.


@replacement
def start_thread(original: Any, self: Any) -> Any:
    """Replace `Thread.start`: if the current thread outlived its fake, calls of the new thread are refused too."""
    OPEN_FAKES.inherit(self)
    return original(self)


def start_process(original: Any) -> Any:
    """Replace multiprocessing's `BaseProcess.start`: a child started while Bedrock is blocked refuses its own calls.

    It begins to refuse calls to Bedrock when it unpickles its process object.
    """
    return workers.starting(original, "_converse_harness", refuse_in_child)


@replacement
def start_worker(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace execnet's `Group.makegateway`: under the guard of a session, a worker gets the unchanged environment.

    pytest-xdist starts its workers in this way. Each worker has a guard of its own, and its tests may turn it off.
    """
    with forwarding() if OPEN_FAKES.newest() is None else nullcontext():
        return original(*args, **kwargs)


def refuse_in_child() -> workers.InChild | None:
    """Return an object that makes a child process refuse its Bedrock calls as soon as it unpickles the object.

    Return None while calls to Bedrock are not blocked.
    """
    return None if OPEN_FAKES.blocker() is None else workers.InChild(_refuse, os.getpid())


def _refuse(parent: int) -> None:
    """From now on, refuse all calls of this process to Bedrock, unless the process opens a fake of its own."""
    OPEN_FAKES.open(RefusingFake(_SPAWNED.format(child=os.getpid(), parent=parent)), boto=False)


def _with_environment(position: int) -> Callable[[Any], Any]:
    """Make the replacement of a function that starts a program with the environment `env`.

    While Bedrock is blocked, the program gets `away_from_bedrock(env)`. `position` is the index of the argument `env`,
    which may also be passed by name. If `env` is missing or None, the environment of this process is used.
    """

    @replacement
    def start_elsewhere(original: Any, *args: Any, **kwargs: Any) -> Any:
        if OPEN_FAKES.blocker() is not None:
            if len(args) > position:
                args = (*args[:position], away_from_bedrock(args[position]), *args[position + 1 :])
            else:
                kwargs["env"] = away_from_bedrock(kwargs.get("env"))
        return original(*args, **kwargs)

    return start_elsewhere


popen = _with_environment(11)
subprocess_of_loop = _with_environment(sys.maxsize)  # uvloop takes `env` only by name
posix_spawn = _with_environment(2)


@replacement
def execv(original: Any, path: Any, args: Any, /) -> Any:
    """Replace `os.execv`: while Bedrock is blocked, call `os.execve`, whose replacement changes the environment.

    `os.execl`, `os.execvp` and, in a forked child, `os.spawnv` also call `os.execv`.
    """
    return original(path, args) if OPEN_FAKES.blocker() is None else os.execve(path, args, os.environ)


@replacement
def execve(original: Any, path: Any, argv: Any, env: Any) -> Any:
    """Replace `os.execve`: while Bedrock is blocked, the new program's environment is `away_from_bedrock(env)`."""
    if OPEN_FAKES.blocker() is not None:
        env = away_from_bedrock(env)
        for each in _running.values():  # the new program inherits the pipes, so that the proxies do not end
            os.set_inheritable(each.held.fileno(), True)
    return original(path, argv, env)


@replacement
def system(original: Any, command: Any) -> Any:
    """Replace `os.system`: while Bedrock is blocked, the shell first sets the variables of `away_from_bedrock`.

    The shell sets them, because the environment of this process must not change.
    """
    if OPEN_FAKES.blocker() is None:
        return original(command)
    if os.name == "nt":
        return subprocess.call(os.fsdecode(command), shell=True)
    own, child = dict(os.environ), away_from_bedrock(None)
    changed = [f"export {name}={shlex.quote(value)}\n" for name, value in child.items() if own.get(name) != value]
    removed = [f"unset {name}\n" for name in own.keys() - child.keys()]
    return original("".join([*changed, *removed, os.fsdecode(command)]))


# The functions below make the environment of a started program.


def away_from_bedrock(env: Mapping[Any, Any] | None) -> dict[str, str]:
    """Return a copy of `env` that keeps a program away from Bedrock: it sends requests for Bedrock to localhost.

    If `env` is None, this process's environment is copied.
    """
    child = {os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()}
    proxy = _proxy_for(child)
    everywhere = is_loopback(child.get("AWS_ENDPOINT_URL", ""))
    for name in ENDPOINTS:
        covered = everywhere and name.startswith("AWS_ENDPOINT_URL_") and name not in child
        if not covered and not is_loopback(child.get(name, "")):
            child[name] = proxy.endpoint if proxy else CLOSED_PORT_URL
    if proxy is not None:
        child |= variables(proxy.url, child)
    # The loopback uses plain HTTP, and boto refuses to send a bearer token over plain HTTP.
    child.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    child["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"
    return child


def refused() -> list[str]:
    """Return a message for each request that a proxy has refused since the last call of this function."""
    global _read
    if not (_running or _forked):
        return []  # this function runs for every test; it would be slow if it always opened the file
    try:
        with open(_reports, "rb") as file:
            file.seek(_read)
            new = file.read()
    except OSError:  # no proxy has refused anything yet
        return []
    _read += len(new)
    return [_ASKED.format(host=host) for host in new.decode().splitlines()]


def _proxy_for(env: Mapping[str, str]) -> _Running | None:
    """Return the proxy for a program with this environment, and start the proxy if it does not run yet.

    Return None if the proxy cannot start, or cannot forward requests through the user's own proxy.
    """
    users = _of(env, "http"), _of(env, "https"), env.get("no_proxy") or env.get("NO_PROXY") or ""
    for each in _running.values():
        if {*users[:2], ""} == {each.url, ""}:
            return each  # the environment was made by this module
    if any(urlsplit(each).scheme not in ("", "http", "https") for each in users[:2]):
        return None  # the user's proxy is a SOCKS proxy, through which our proxy cannot forward
    with _starting:
        if users not in _running:
            with suppress(OSError, ValueError), forwarding():  # our proxy gets the unchanged environment
                _running[users] = _started(users)
    return _running.get(users)


def _of(env: Mapping[str, str], scheme: str) -> str:
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    found = next((env[name] for name in names if env.get(name)), "")
    return found if "://" in found or not found else f"http://{found}"


def _started(users: tuple[str, str, str]) -> _Running:
    # A password of the user's proxy is for the user's own programs. The proxy adds it to their requests, so it must not
    # serve others. It asks nobody else's programs for a password, because some (Chromium) ignore one in a proxy's URL.
    token = os.urandom(16).hex() if any("@" in each for each in users[:2]) else ""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, _ROOT, _folder_of("h11")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    # The settings may have passwords. Every user of the machine can read a command line, but not this pipe.
    process.stdin.write(json.dumps([*users, _reports, GIVE_ENVIRON, token]).encode() + b"\n")
    process.stdin.flush()
    with process.stdout:
        port = int(process.stdout.readline())
    if os.name == "posix":
        process.wait()  # the started process forks the proxy and then ends
    if not _running:
        atexit.register(_end)
    login = f"converse:{token}@" if token else ""
    return _Running(f"http://{login}127.0.0.1:{port}", f"http://127.0.0.1:{port}", process.stdin)


def _folder_of(package: str) -> str:
    """Return the folder from which a package can be imported, without importing it."""
    found = find_spec(package)
    if found is None or not found.origin:
        raise ValueError(f"{package} is not installed")
    return str(Path(found.origin).parents[1])


def _end() -> None:
    for each in _running.values():
        each.held.close()
    if os.getpid() == _owner:
        with suppress(OSError):  # the file does not exist if no proxy has refused a request
            os.unlink(_reports)


def variables(url: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables that make `url` the proxy of a program for all hosts except localhost.

    The entries of NO_PROXY in `env` are kept, except for entries that match a Bedrock host.
    """
    names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
    names += [name for name in ("all_proxy", "ALL_PROXY") if env.get(name)]
    past = (env.get("no_proxy") or env.get("NO_PROXY") or "").split(",")
    kept = [entry.strip() for entry in past if entry.strip() and not _passes_bedrock(entry.strip())]
    without = ",".join(dict.fromkeys([*kept, *LOCAL]))
    return {**dict.fromkeys(names, url), "no_proxy": without, "NO_PROXY": without}


def _passes_bedrock(entry: str) -> bool:
    """Whether an entry of NO_PROXY would exempt a Bedrock host from the proxy."""
    name = entry.lstrip("*").lstrip(".").lower().partition(":")[0]
    below = (name, f"bedrock-runtime.{name}", f"bedrock-runtime.us-east-1.{name}")
    above = any(f".{domain}".endswith(f".{name}") for domain in DOMAINS)
    return entry == "*" or above or any(map(is_bedrock_host, below))
