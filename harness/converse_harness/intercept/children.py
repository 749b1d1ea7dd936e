"""Threads and processes that are started while a fake is open.

A fake answers inside its own process. A forked child has a copy that refuses (see `registry`); here the others are
seen to: a spawned process, which knows nothing of the fake, is told to refuse before it runs anything; any other
program gets an environment in which Bedrock's endpoints lead to a closed port of the loopback whose path says why.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from inspect import signature
from typing import Any

from converse_harness.intercept import registry
from converse_harness.intercept.clients import ENDPOINTS, is_loopback
from converse_harness.intercept.exchange import RefusingFake

NOWHERE = "http://127.0.0.1:1/this-process-was-started-inside-a-converse-harness-fake--give-it-converse_server.environ"
SPAWNED = (
    "a call to Bedrock from process {child}, which process {parent} started while a converse-harness fake was open "
    "there. A fake answers in its own process only. Give the child the loopback server: use the fixture "
    "`converse_server` and put `fake.environ` into the child's environment"
)


def start_thread(original: Any) -> Any:
    """`Thread.start`: a thread that outlived its fake hands that on to the threads it starts."""

    @functools.wraps(original)
    def start(self: Any) -> Any:
        registry.inherit(self)
        return original(self)

    return start


def start_process(original: Any) -> Any:
    """`BaseProcess.start` of multiprocessing: the child refuses as soon as the process is unpickled there."""

    @functools.wraps(original)
    def start(self: Any) -> Any:
        if registry.guarding() is None:
            return original(self)
        self._converse_harness = _RefuseInChild()
        try:
            return original(self)
        finally:
            del self._converse_harness

    return start


class _RefuseInChild:
    """Travels with a process object; to unpickle it is to refuse."""

    def __reduce__(self) -> tuple[Any, ...]:
        return refuse_in_child, (os.getpid(),)


def refuse_in_child(parent: int) -> None:
    """From now on every call to Bedrock from this process is refused, unless it opens a fake of its own."""
    if os.getpid() != parent:
        registry.open_fake(RefusingFake(SPAWNED.format(child=os.getpid(), parent=parent)), boto=False)


def start_program(original: Any) -> Any:
    """`Popen.__init__`: the environment of the child, and only that, leads away from Bedrock."""
    parameters = signature(original)

    @functools.wraps(original)
    def start_elsewhere(*args: Any, **kwargs: Any) -> Any:
        if registry.guarding() is None:
            return original(*args, **kwargs)
        bound = parameters.bind(*args, **kwargs)
        bound.arguments["env"] = away_from_bedrock(bound.arguments.get("env"))
        return original(*bound.args, **bound.kwargs)

    return start_elsewhere


def away_from_bedrock(env: Mapping[Any, Any] | None) -> dict[str, str]:
    """A copy of `env` (None: of this process's environment) in which no endpoint of Bedrock leads off the loopback."""
    child = {os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()}
    everywhere = is_loopback(child.get("AWS_ENDPOINT_URL", ""))
    for name in ENDPOINTS:
        covered = everywhere and name.startswith("AWS_ENDPOINT_URL_") and name not in child
        if not covered and not is_loopback(child.get(name, "")):
            child[name] = NOWHERE
    # A real key; and boto refuses any over plain HTTP, which is what the loopback speaks.
    child.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    child["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"
    # Without keys an SDK would ask the metadata service of a machine that has none.
    child.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    return child
