"""Prevent threads and processes that are started under a fake from reaching Bedrock later.

Calls of a thread that outlives its fake are refused. A multiprocessing child refuses its own calls. Any other program
gets an environment that leads away from Bedrock: endpoint variables for SDKs, and our proxy (`child_proxy`) for
everything else. Keys are not changed, so other hosts are reached as before.
"""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from converse_harness.intercept import pools, registry
from converse_harness.intercept.child_environment import away_from_bedrock, keep_running
from converse_harness.intercept.exchange import GIVE_ENVIRON, RefusingFake

_SPAWNED: Final = (
    "a call to Bedrock from process {child}, which process {parent} started while a converse-harness fake was open "
    f"there. {GIVE_ENVIRON}"
)


def start_thread(original: Any) -> Any:
    """`Thread.start`: a thread that outlived its fake passes this state on to the threads that it starts."""

    @functools.wraps(original)
    def start(self: Any) -> Any:
        registry.inherit(self)
        return original(self)

    return start


def start_process(original: Any) -> Any:
    """`BaseProcess.start` of multiprocessing: the child refuses calls as soon as it unpickles the process object."""
    return pools.starting(original, "_converse_harness", refuse_in_child)


def refuse_in_child() -> pools.InChild | None:
    """What makes a child refuse; None while no fake is open."""
    return None if registry.closing() is None else pools.InChild(_refuse, os.getpid())


def _refuse(parent: int) -> None:
    """From now on, refuse every call of this process to Bedrock, unless the process opens a fake of its own."""
    registry.open_fake(RefusingFake(_SPAWNED.format(child=os.getpid(), parent=parent)), boto=False)


def _with_environment(position: int) -> Callable[[Any], Any]:
    """Make replacements of functions whose argument `env`, given by name or at a position, is a program's environment.

    Where it is None or not given, it is this process's environment.
    """

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        def start_elsewhere(*args: Any, **kwargs: Any) -> Any:
            if registry.closing() is not None:
                if len(args) > position:
                    args = (*args[:position], away_from_bedrock(args[position]), *args[position + 1 :])
                else:
                    kwargs["env"] = away_from_bedrock(kwargs.get("env"))
            return original(*args, **kwargs)

        return start_elsewhere

    return replace


popen = _with_environment(11)
subprocess_of_loop = _with_environment(sys.maxsize)  # by name alone: what comes by position are the program's arguments
posix_spawn = _with_environment(2)


def execv(original: Any) -> Any:
    """`os.execv`, which `execl`, `execvp` and, in a forked child, `os.spawnv` also use."""

    @functools.wraps(original)
    def execute(path: Any, args: Any, /) -> Any:
        return original(path, args) if registry.closing() is None else os.execve(path, args, os.environ)

    return execute


def execve(original: Any) -> Any:
    """`os.execve`, whose last argument is the environment."""
    replaced = posix_spawn(original)

    @functools.wraps(original)
    def execute(path: Any, argv: Any, env: Any) -> Any:
        if registry.closing() is not None:
            keep_running()
        return replaced(path, argv, env)

    return execute


def system(original: Any) -> Any:
    """`os.system`: the command itself sets the variables, because the environment of this process must not change."""

    @functools.wraps(original)
    def run(command: Any) -> Any:
        if registry.closing() is None:
            return original(command)
        if os.name == "nt":
            return subprocess.call(os.fsdecode(command), shell=True)
        own, child = dict(os.environ), away_from_bedrock(None)
        changed = [f"export {name}={shlex.quote(value)}\n" for name, value in child.items() if own.get(name) != value]
        removed = [f"unset {name}\n" for name in own.keys() - child.keys()]
        return original("".join([*changed, *removed, os.fsdecode(command)]))

    return run
