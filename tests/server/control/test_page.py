"""What docs/control-api.md shows in JSON and JavaScript is so; its Python runs with that of all pages."""

import json
import re
from pathlib import Path
from textwrap import indent

import pytest

from converse_harness import faults, reply
from converse_harness.cases import CASES
from converse_harness.features import names_of
from converse_harness.reply.operation_output import OperationOutput
from converse_harness.reply.usable import Usable
from converse_harness.server.control.vocabulary import MODIFIERS, REPLIES, read_reply
from tests.server.control.conftest import DOCUMENT, Client, rendered

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "control-api.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"^\| `(\{.*\})` \| `((?:reply\.|CASES\[).*)` \|$", PAGE, re.MULTILINE)


OF_FEATURES = [pair for pair in PAIRS if not {*json.loads(pair[0])} & ({*REPLIES} - {*names_of("reply")})]
"""What a feature adds is tested in the feature's folder."""


@pytest.mark.parametrize(("written", "python"), [pair for pair in PAIRS if pair not in OF_FEATURES])
def test_a_reply_is_the_one_beside_it(written: str, python: str) -> None:
    check_pair(written, python)


def check_pair(written: str, python: str) -> None:
    """Compare what is sent for a reply in JSON with what is sent for the one in Python."""
    made = eval(python, {"reply": reply, "faults": faults, "CASES": CASES})
    assert isinstance(made, Usable)
    if isinstance(made, OperationOutput):
        read = read_reply(json.loads(written), "here")
        assert isinstance(read, OperationOutput)
        assert read.members == made.members
        return
    for operation in ("converse", "converse-stream"):
        assert rendered(read_reply(json.loads(written), "here"), operation) == rendered(made, operation)


def test_every_word_is_shown() -> None:
    shown = {name for written, _ in PAIRS for name in json.loads(written)}
    assert shown >= {*REPLIES, *MODIFIERS}


def test_every_body_works(client: Client) -> None:
    bodies = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert [client.post(body.encode()).status for body in bodies] == [201]


def test_every_path_is_shown() -> None:
    shown = re.findall(r"^\| `(\w+) (/\S+)` \|", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(
        (method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item if method != "parameters"
    )


def test_the_javascript_is_that_of_the_example() -> None:
    example = (DOCS / "examples/node/weather.example.mjs").read_text(encoding="utf-8")
    blocks = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    assert [block in example or indent(block, "  ") in example for block in blocks] == [True, True]
