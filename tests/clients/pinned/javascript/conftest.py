"""Node for the suite: one process that asks as JavaScript clients ask."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from converse_harness.server.mounts import ServerFake
from tests.clients.scenarios import REQUEST, Order, Result, canonical

HERE = Path(__file__).parent
PACKAGES = Path(os.environ.get("CONVERSE_NODE_MODULES", HERE / "node_modules"))
LIMIT = 60.0
"""Seconds after which a client that says nothing is taken for stuck."""


class Node:
    """The process of a program, client.mjs by itself; it asks one question at a time."""

    protocol = ""
    """What the client of the last question says that it speaks, if it knows."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str] | None = None,
        limit: float = LIMIT,
        script: str = "client.mjs",
    ) -> None:
        self._limit = limit
        self._inherits = environ is not None
        self._environ = environ
        self._script = folder / script
        self._errors = (folder / f"{script}.stderr.txt").open("w+", encoding="utf-8")
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["node", "--no-warnings", str(self._script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env=self._environ,
        )

    def ask(self, client: str, order: Order) -> Result:
        """Ask with one client; it is told the variables of the fake, unless it was started with them."""
        assert isinstance(order.fake, ServerFake)
        environ = {} if self._inherits else {**order.fake.environ, "AWS_MAX_ATTEMPTS": "1"}
        return self.ask_under(environ, client, order.operation, order.on_piece, order.leave_at)

    def ask_under(
        self,
        environ: Mapping[str, str],
        client: str,
        operation: str,
        on_piece: Callable[[], None],
        leave_at: str | None = None,
    ) -> Result:
        """Ask with one client, which is told these variables first."""
        self._say(client, environ, operation, leaveAt=leave_at)
        while True:
            said = self.read()
            if "result" not in said:
                on_piece()
                continue
            result = said["result"]
            self.protocol = result.pop("protocol", "")
            tools = tuple((name, canonical(given)) for name, given in result.pop("tools"))
            usage = result.pop("usage")
            return Result(**result, tools=tools, usage=None if usage is None else tuple(usage))

    def hand_out(
        self,
        client: str,
        environ: Mapping[str, str],
        operation: str,
        patience: float,
        request: Mapping[str, Any] = REQUEST,
    ) -> dict[str, Any]:
        """What a client hands out, as it is; it asks as often as it does by itself, and waits that many seconds.

        The AWS SDK's `events` or `answer`, or the AI SDK's `parts`; then `error`, its `name` and what it `said`.
        """
        usual = {**environ, "AWS_MAX_ATTEMPTS": None}
        self._say(client, usual, operation, request, patience=1000 * patience)
        handed: dict[str, Any] = self.read()["handedOut"]
        return handed

    def _say(
        self,
        client: str,
        environ: Mapping[str, str | None],
        operation: str,
        request: Mapping[str, Any] = REQUEST,
        **more: object,
    ) -> None:
        self.say({"client": client, "environ": environ, "operation": operation, "request": request, **more})

    def say(self, question: Mapping[str, Any]) -> None:
        """Write a line to the process."""
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)

    def read(self) -> dict[str, Any]:
        """Return the next line of the process."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(self._limit, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            self._stop()
            self._process = self._start()
            self._errors.seek(0)
            pytest.fail(
                f"{self._script.name} ended, or said nothing for {self._limit:.0f} s. Its errors: {self._errors.read()}"
            )
        said: dict[str, Any] = json.loads(line)
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._errors.close()

    def _stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def folder_with_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the programs, in which a .mjs file can be run."""
    return with_packages(tmp_path_factory.mktemp("node"))


def with_packages(folder: Path) -> Path:
    """Put the packages and the programs into an empty folder, and return it."""
    if shutil.which("node") is None:
        pytest.fail("These tests need Node.js 20 or newer, and there is no `node` on the PATH.")
    if not PACKAGES.is_dir():
        pytest.fail(f"These tests need the packages of {HERE / 'package-lock.json'}: run `npm ci` beside it.")
    (folder / "node_modules").symlink_to(PACKAGES.resolve(), target_is_directory=True)
    for name in ("client.mjs", "operations.mjs"):
        shutil.copy(HERE / name, folder)
    return folder


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder for the session."""
    return folder_with_packages(tmp_path_factory)


@pytest.fixture(scope="session")
def node(project: Path) -> Iterator[Node]:
    """One Node for the session, so that its start is paid for once."""
    with Node(project) as started:
        yield started
