"""The data for the oracle tests: recordings and conformance vectors from outside the project."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.shared_folder import LACKS

ROOT = Path(__file__).resolve().parents[2]

SOME_AND_ALL = pytest.mark.parametrize(
    "step", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["every fourth", "all"]
)
"""For tests that do much with each of the 378 recordings: they use every fourth, and in the slow tier all."""


class HandMade(NamedTuple):
    """The reason why an answer of the corpus is not AWS's, or was edited. `certain` is False if it may be AWS's."""

    why: str
    certain: bool = True


_BEDROCK: Final = "pydantic__pydantic-ai/test_bedrock__test_"
_MOCK: Final = "newrelic__newrelic-python-agent/external_botocore___mock_external_bedrock_server_converse__"

HAND_MADE: Final[Mapping[str, HandMade]] = {
    f"{_BEDROCK}bedrock_model_other_parameters.json": HandMade("206 bytes by its header, 5 tokens for 60 words"),
    f"{_BEDROCK}bedrock_model_service_tier.json": HandMade("the same; and it has tier flex, where default was asked"),
    f"{_BEDROCK}bedrock_model_usage_limit_not_exceeded__01.json": HandMade("longer than by its header", certain=False),
    f"{_BEDROCK}video_as_binary_content_input.json": HandMade("its request is no JSON, and has a PNG for a video"),
    f"{_BEDROCK}video_url_input__01.json": HandMade("it has the other video's text, and a JPEG for a video"),
    **{f"{_MOCK}0{number}.json": HandMade("a table of a mock server: no request, few headers") for number in range(4)},
}
"""The answers of the corpus that people wrote or edited. They are read and replayed as others, but prove no fact."""


def rows_of_aws(shared: Path) -> list[dict[str, Any]]:
    """The index of the corpus without what is made by hand: 369 answers, from which facts may be taken."""
    rows: list[dict[str, Any]] = json.loads((shared / "corpus" / "index.json").read_text())
    return [row for row in rows if row["file"] not in HAND_MADE]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the project's root.

    Without it the test skips, so that a lone checkout stays green; under `CI=true` it fails, so that CI proves it all.
    """
    folder = ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    if os.environ.get("CI") == "true":
        pytest.fail(f"{LACKS}; under CI=true it must be there", pytrace=False)
    pytest.skip(LACKS)


def body_with_media(recorded: Any) -> bytes:
    """Return the body of a recorded request, with short media in place of the corpus's notes about omitted media."""
    return re.sub(r'"ELIDED base64 [^"]*"', '"AAAA"', json.dumps(recorded)).encode()
