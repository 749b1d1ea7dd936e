"""Prevent threads and processes that are started under a fake from reaching Bedrock, also after the fake has closed.

Calls of a thread that outlives its fake are refused. A multiprocessing child refuses its own calls. Any other program
gets an environment in which clients do not reach Bedrock: endpoint variables for SDKs, and our proxy (`child_proxy`)
for all other clients. The proxies report their refusals to the file of `refusals`. Access keys are not changed, so
programs reach other hosts as before.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from urllib.parse import urlsplit

from converse_harness import refusals
from converse_harness.errors import BlockedConnection
from converse_harness.intercept.clients import ENDPOINTS, LOCAL, is_loopback
from converse_harness.intercept.exchange import GIVE_ENVIRON, RefusingInWorker
from converse_harness.intercept.guard import workers
from converse_harness.intercept.guard.hosts import DOMAINS, is_bedrock_host
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import OPEN_FAKES, forwarding

_SPAWNED: Final = (
    "a call to Bedrock{{host}} from process {child}, which process {parent} started while a converse-harness fake was "
    f"open there. {GIVE_ENVIRON}"
)

CLOSED_PORT_URL: Final = (
    "http://127.0.0.1:1/this-process-was-started-inside-a-converse-harness-fake--give-it-converse_server.environ"
)
"""The endpoint URL in a program's environment if no proxy can be started. Nothing listens at this URL."""

_PROGRAM: Final = (
    "import sys; sys.path += sys.argv[1:]; from converse_harness.intercept.guard.child_proxy import main; main()"
)
_ROOT: Final = str(Path(__file__).parents[3])
_PROGRAMS: Final = str(Path(__file__).with_name("programs"))
"""The folder of the files that programs run when they start."""


class _Running(NamedTuple):
    url: str
    """The URL for variables such as HTTPS_PROXY. It has a password if the user's own proxy has one."""
    endpoint: str
    """The URL without the password, for the endpoint variables of Bedrock: requests to it are refused anyway."""
    held: IO[bytes]
    """The write end of the pipe to the proxy's standard input. The proxy ends when no process keeps it open."""


_running: dict[tuple[str, str, str], _Running] = {}
_starting = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=refusals.path)  # a fork has its own refusals to report, and may start a proxy


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
    return None if OPEN_FAKES.blocker() is None else workers.InChild(_refuse, os.getpid(), refusals.path())


def _refuse(parent: int, reports: str) -> None:
    """From now on, refuse all calls of this process to Bedrock, unless the process opens a fake of its own.

    Each refusal is appended to the file `reports`.
    """
    refusals.report_to(reports)
    OPEN_FAKES.open(RefusingInWorker(_SPAWNED.format(child=os.getpid(), parent=parent)), boto=False)


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


# Functions that audit hooks see under any name, also if a module bound them before a fake was open.

_FROM_BEFORE: Final = (
    "os.{name} cannot start a program while a converse-harness fake is open, if it was bound before the fake was "
    "opened, as in `from os import {name}`: the program could call Bedrock. Write `import os` and `os.{name}(...)`, or "
    "use subprocess.   More: converse-harness docs guard children"
)


def _on_exec(path: Any, argv: Any, env: Any) -> None:
    """While Bedrock is blocked, replace this process by the new program at once, with its environment changed.

    The hook runs too late to change `env`: it is parsed already.
    """
    child = away_from_bedrock(env)
    if child != _as_text(env):
        for each in _running.values():  # the new program inherits the pipes, so that the proxies do not end
            os.set_inheritable(each.held.fileno(), True)
        os.execve(path, argv, child)


def _on_posix_spawn(path: Any, argv: Any, env: Any) -> None:
    if away_from_bedrock(env) != _as_text(env):  # `_with_environment` has not seen this call
        raise BlockedConnection(_FROM_BEFORE.format(name="posix_spawn"))


def _on_system(command: Any) -> None:
    """While Bedrock is blocked, lend the shell a changed environment: that of C, not `os.environ`.

    Nothing tells when the shell has ended, but then this thread goes on, and sooner or later raises an audit event.
    """
    own, child = dict(os.environ), away_from_bedrock(None)
    for name in child.keys() | own.keys():
        if child.get(name) != own.get(name):
            _lent.add(name)
            _put(name, child.get(name))
    _borrowers.add(threading.get_ident())


_borrowers: Final[set[int]] = set()
"""The threads that run a shell, or whose shell has just ended."""
_lent: Final[set[str]] = set()
"""The names of the variables that are changed in the environment of C while there are borrowers."""


def _take_back() -> None:
    """After a shell of this thread, set C's environment to `os.environ` again, unless another thread runs a shell."""
    if threading.get_ident() in _borrowers:
        _borrowers.remove(threading.get_ident())
        while _lent and not _borrowers:
            name = _lent.pop()
            _put(name, os.environ.get(name))


def _put(name: str, value: str | None) -> None:
    if value is None:
        os.unsetenv(name)
    else:
        os.putenv(name, value)


_STARTS: Final[dict[str, Callable[..., None]]] = {
    "os.system": _on_system,
    "os.exec": _on_exec,
    "os.posix_spawn": _on_posix_spawn,
}
"""Maps Python's audit events about a new program to what is done while Bedrock is blocked."""


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _borrowers:
        _take_back()
    if event in _STARTS and OPEN_FAKES.blocker() is not None:
        _STARTS[event](*args)


sys.addaudithook(_audit)  # a hook cannot be removed; therefore this module is imported only with the first patch


# The functions below make the environment of a started program.


def away_from_bedrock(env: Mapping[Any, Any] | None) -> dict[str, str]:
    """Return a copy of `env` that keeps a program away from Bedrock: it sends requests for Bedrock to localhost.

    If `env` is None, this process's environment is copied.
    """
    child = _as_text(env)
    proxy = _proxy_for(child)
    everywhere = is_loopback(child.get("AWS_ENDPOINT_URL", ""))
    for name in ENDPOINTS:
        covered = everywhere and name.startswith("AWS_ENDPOINT_URL_") and name not in child
        if not covered and not is_loopback(child.get(name, "")):
            child[name] = proxy.endpoint if proxy else CLOSED_PORT_URL
    if proxy is not None:
        child |= variables(proxy.url, child)
        child |= _guards_of_programs(proxy.endpoint, child)
    # The loopback uses plain HTTP, and boto refuses to send a bearer token over plain HTTP.
    child.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    child["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"
    return child


def _as_text(env: Mapping[Any, Any] | None) -> dict[str, str]:
    return {os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()}


def _guards_of_programs(url: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which programs of Python and Node.js guard themselves; `url` is that of our proxy.

    Many clients do not use the proxy of the environment: aiohttp, Node's `fetch`, and clients with other settings.
    """
    own = env.get("PYTHONPATH", "")
    python = [folder for folder in own.split(os.pathsep) if folder != _PROGRAMS] if own else []
    path = os.path.join(_PROGRAMS, "node.cjs").replace("\\", "\\\\").replace('"', '\\"')
    node = env.get("NODE_OPTIONS", "").replace(wanted := f'--require "{path}"', "").strip()
    return {
        "CONVERSE_HARNESS_GUARD": str(urlsplit(url).port),
        "PYTHONPATH": os.pathsep.join([_PROGRAMS, *python]),
        "NODE_OPTIONS": f"{wanted} {node}".strip(),
    }


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
    process.stdin.write(json.dumps([*users, refusals.path(), GIVE_ENVIRON, token]).encode() + b"\n")
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
