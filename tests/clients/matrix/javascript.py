"""What the contracts of the JavaScript clients share: the Node that asks for them."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from converse_harness.contract import Target
from tests.clients.matrix.base import MatrixContract
from tests.clients.pinned.javascript.conftest import Node, folder_with_packages


class JavaScriptContract(MatrixContract):
    """The contract of a client that client.mjs asks with; `asked_with` is its name there."""

    transport = "server"
    asked_with: ClassVar[str]
    node: ClassVar[Node]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _node(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """One Node for all cases, so that its start is paid for once."""
        with cls.started(folder_with_packages(tmp_path_factory)):
            yield

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Generator[None]:
        """Node for the clients of a folder with packages; a client that hangs takes it along."""
        settings = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        no_files = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
        with Node(folder, settings | no_files, limit=cls.time_limit + 1) as cls.node:
            yield

    def hand_out(self, target: Target) -> dict[str, Any]:
        """What the client hands out, as it is."""
        return self.node.hand_out(self.asked_with, target.environ, self.operation, target.patience, target.request)
