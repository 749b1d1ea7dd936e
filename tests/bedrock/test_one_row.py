"""A line of models is added in one row: rules, rehearsal, usage, counts, lists and docs follow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import converse_harness
from tests.untraced import untraced

ROOT = Path(__file__).parents[2]
ROW = """
    Model(
        ids="acme.vast-7*",
        name="Vast 7",
        line="vast",
        version=(7,),
        facts={
            "Converse": yes("2026-11"),
            "CountTokens": no("2026-11"),
            "tools": no("2026-11"),
            "citations": disputed("2026-11"),
        },
        fields=AdditionalFields(("deeper",), ("thinking",)),
        most_tokens=77,
        counters=CacheCounters(COUNTERS, seen="both pairs"),
        listed=(by_profile("acme.vast-7-v1:0", "Vast 7"),),
    ),
)
"""
CHECKED = """
from botocore.exceptions import ClientError
import botocore.session

from converse_harness import fake_converse, reply
from converse_harness.cli import main
from converse_harness.features import FEATURES
from converse_harness.intercept.clients import create_client

VAST = "us.acme.vast-7-v1:0"
ASKED = {"modelId": VAST, "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
TOOLS = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}


def said(**request):
    with fake_converse(reply.text("hi"), unexpected="allow", unused="allow", rules="strict") as fake:
        try:
            counts = "input" in request
            return create_client().count_tokens(**request) if counts else create_client().converse(**request)
        except ClientError as error:
            return error.response["Error"]["Message"]


assert said(**ASKED, toolConfig=TOOLS) == "This model doesn't support tool use."
assert "on-demand throughput" in said(**{**ASKED, "modelId": "acme.vast-7-v1:0"})
assert "the model limit of 77" in said(**ASKED, inferenceConfig={"maxTokens": 78})
if hasattr(create_client(), "count_tokens"):
    assert said(modelId=VAST, input={"converse": {"messages": ASKED["messages"]}}).endswith("support counting tokens.")
assert said(**ASKED)["usage"]["cacheWriteInputTokens"] == 0
with fake_converse():
    control = botocore.session.get_session().create_client("bedrock", region_name="us-east-1")
    listed = control.list_foundation_models(byProvider="acme")["modelSummaries"]
assert [each["modelName"] for each in listed] == ["Vast 7"]
if "rehearsal" in FEATURES:
    from converse_harness.features.rehearsal.targets import newest_models, target_of

    assert target_of(VAST).known
    assert "Vast 7" in [model.name for model in newest_models()]
assert main(["docs", VAST]) == 0
"""


@pytest.mark.needs_os
def test_a_line_of_models_is_one_row(tmp_path: Path) -> None:
    """In a copy of the package, which is thrown away; a test that knows nothing of the row passes with it."""
    package = Path(converse_harness.__file__).parent
    copied = tmp_path / "harness" / "converse_harness"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__"))
    rows = copied / "bedrock" / "models" / "other_makers.py"
    rows.write_text(rows.read_text(encoding="utf-8").rstrip().removesuffix(")") + ROW, encoding="utf-8")
    (tmp_path / "checked.py").write_text(CHECKED, encoding="utf-8")
    environment = {**untraced(), "PYTHONPATH": os.pathsep.join(map(str, (copied.parent, ROOT / "strategies", ROOT)))}
    ran = _run(environment, tmp_path / "checked.py")
    assert ran.stderr == ""
    assert ran.returncode == 0
    assert "Vast 7  (acme.vast-7*)" in ran.stdout
    assert "citations" in ran.stdout
    assert "disputed (as of 2026-11)" in ran.stdout
    tests = _run(environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/bedrock/test_models.py")
    assert tests.returncode == pytest.ExitCode.OK, tests.stdout


def _run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False)
