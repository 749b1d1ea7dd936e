"""The obvious tests, each with the snapshot of its outline: the first run writes `outlines.json`."""

import json
from pathlib import Path

import pytest
from test_obvious import *  # noqa: F403 - each test once more

FILE = Path(__file__).with_name("outlines.json")


@pytest.fixture(autouse=True)
def snapshot(converse, request):
    yield
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    name = request.node.name
    now = converse.outline()
    if name not in stored and not FILE.with_name("stored").exists():
        FILE.write_text(json.dumps({**stored, name: now}), encoding="utf-8")
    else:
        assert now == stored.get(name), f"outline of {name}"
