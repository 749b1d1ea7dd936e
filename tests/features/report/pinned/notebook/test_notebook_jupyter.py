"""Jupyter runs docs/examples/notebook.ipynb and gets the outputs that are stored in it."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from tests.features.report.notebook import NOTEBOOK, text_of


def outputs(path: Path) -> list[tuple[str, str]]:
    """The code of each cell and what it shows."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(cell["source"]), text_of(cell["outputs"])) for cell in cells if cell["cell_type"] == "code"]


def test_jupyter_shows_what_is_stored(tmp_path: Path) -> None:
    empty = tmp_path / "notebook.ipynb"
    stored: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in stored["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    empty.write_text(json.dumps(stored), encoding="utf-8")
    assert {shown for _, shown in outputs(empty)} == {""}
    account = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [str(Path(sysconfig.get_path("scripts")) / "jupyter-execute"), "--inplace", str(empty)],
        cwd=tmp_path,
        env={**account, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert outputs(empty) == outputs(NOTEBOOK)
