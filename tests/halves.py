"""A pytest plugin with the option `--half`: run one half of the test files. The name of a file decides its half.

On the oldest Python, the complete default tier runs. On the newest, tests that may depend on the version of Python run,
and of the other files one half, which is always the same, so that a failure can be bisected.
"""

from hashlib import sha256
from typing import Final

import pytest

HALVES: Final = "12"
ON_ALL: Final = (
    *("bedrock", "cases", "endpoint", "faults", "features", "intercept", "package", "plugin", "reply", "samples"),
    *("server", "stream", "suite", "types"),
)
"""The folders below tests/ that run whole in each half."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("converse-harness's own tests").addoption(
        "--half",
        choices=HALVES,
        help=f"run only the files of this half, and all files of {', '.join(ON_ALL)}; a file is in the half that the "
        "hash of its name says",
    )


def halves_of(file: str) -> str:
    """Return the halves in which a file runs. `file` is its path relative to the root of the project."""
    _, *folders, name = file.split("/")
    return HALVES if {*folders[:1]}.intersection(ON_ALL) else HALVES[sha256(name.encode()).digest()[0] % 2]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if half := config.getoption("half"):
        kept = [item for item in items if half in halves_of(item.nodeid.partition("::")[0])]
        gone = set(items).difference(kept)
        items[:] = kept
        config.hook.pytest_deselected(items=list(gone))
