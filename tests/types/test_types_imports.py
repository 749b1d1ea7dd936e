"""The types cost nothing: they import the standard library alone, and not its slow parts."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

from converse_harness import types

MODULES = [f"converse_harness.types.{found.name}" for found in pkgutil.iter_modules(types.__path__)]
CODE = "import sys, json, {modules}; print(json.dumps(sorted(sys.modules)))"


@pytest.mark.needs_os
def test_types_import_nothing_heavy() -> None:
    code = CODE.format(modules=", ".join(MODULES))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    heavy = {"asyncio", "botocore", "faker", "httpx", "hypothesis", "pydantic", "strands", "typing_extensions"}
    assert loaded & heavy == set()
    ours = [name for name in json.loads(run.stdout) if name.startswith("converse_")]
    assert ours == sorted(["converse_harness", "converse_harness.imports", "converse_harness.types", *MODULES])
