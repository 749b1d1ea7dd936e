"""Where the oracle tests find what they compare with: recordings and conformance vectors from outside the project."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

SOME_AND_ALL = pytest.mark.parametrize(
    "step", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["every fourth", "all"]
)
"""How many of the 378 recordings a test takes that does much with each."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the project's root.

    Without it the test skips, so that a lone checkout stays green; under `CI=true` it fails, so that CI proves it all.
    """
    folder = ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    message = "the folder ../shared (seen from the project's root) is not there: this test compares with what it holds"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{message}; under CI=true it must be there", pytrace=False)
    pytest.skip(message)


def body_with_media(recorded: Any) -> bytes:
    """The body of a recorded request, with media in the place of what the corpus says of those that it left out."""
    return re.sub(r'"ELIDED base64 [^"]*"', '"AAAA"', json.dumps(recorded)).encode()
