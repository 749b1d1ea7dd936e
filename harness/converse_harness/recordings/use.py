"""The file that lists the recordings used by a project's tests. A pytest run writes the file, and `prune` reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object, parsed_json

FORMAT: Final = "converse-use"
"""The value of the member `format`, with which the file begins."""


class Use(NamedTuple):
    """The result of a pytest run: which recordings its tests use.

    `root` is the rootdir and `folder` the folder of recordings. `missing` is the reason why the run did not include
    every test; "" if it included all. `failed` and `skipped` are node ids. `unused` are recordings that no test uses.
    `left` maps recordings to the line numbers of the exchanges that no test plays.
    """

    root: Path
    folder: Path
    missing: str
    failed: Sequence[str]
    skipped: Sequence[str]
    unused: Sequence[str]
    left: Mapping[str, Sequence[int]]


def write_use(path: Path, use: Use) -> None:
    """Write the result of a run to a file. Raises OSError."""
    values = {**use._asdict(), "root": str(use.root), "folder": str(use.folder)}
    path.write_text(json.dumps({"format": FORMAT, **values}, indent=1), encoding="utf-8", newline="\n")


def read_use(path: Path) -> Use:
    """Read the result of a run from a file. Raises OSError, and DamagedData for a file that `write_use` has not
    written.
    """
    values = parsed_json(path.read_bytes())
    if not is_object(values) or values.pop("format", None) != FORMAT or values.keys() != set(Use._fields):
        raise DamagedData(f"{path} is not what `pytest --converse-used={path}` writes. Write it again.")
    root, folder = Path(values.pop("root")), Path(values.pop("folder"))
    return Use(root, folder, **values)
