"""What the contracts of the JavaScript clients share: the Node that asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from converse_harness.contract import Target
from tests.clients.matrix.base import MatrixContract
from tests.clients.pinned.javascript.conftest import Node, folder_with_packages


class JavaScriptContract(MatrixContract):
    """The contract of a client that client.mjs asks with; `asked_with` is its name there."""

    door = "server"
    asked_with: ClassVar[str]
    node: ClassVar[Node]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _node(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """One Node for all cases, so that its start is paid for once; a client that hangs takes it along."""
        with Node(folder_with_packages(tmp_path_factory), limit=cls.time_limit + 1) as cls.node:
            yield

    def hand_out(self, target: Target) -> dict[str, Any]:
        """What the client hands out, as it is."""
        return self.node.hand_out(self.asked_with, target.environ, self.operation, target.patience, target.request)
