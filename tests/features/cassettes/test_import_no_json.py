"""Bodies of cassettes that are no JSON: `import` says where each is, how it begins, and what to do."""

from pathlib import Path
from typing import Any

import pytest

from converse_harness.cli import main
from tests.features.cassettes.hand_made import ANSWER, BEDROCK, STREAM, interaction, written

OURS = interaction({"body": {"string": ANSWER}})
MODEL = f"{BEDROCK}/model/m"
REQUEST = (
    "It is imported as text, and only a call with the same text gets its answer. If a filter of the recorder changed "
    "it, mend the cassette or record it again."
)
RESPONSE = (
    "It is imported as it is, and a client that expects JSON fails. If a filter of the recorder changed it, or a proxy "
    "answered, mend the cassette or record it again."
)

BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "a page of a proxy": (
        interaction({"body": {"string": "<html><head>\n<title>503"}, "status": {"code": 503}}),
        f'the body of its response is no JSON and no event stream: "<html><head>\\n<title>503". {RESPONSE}',
    ),
    "a long one": (
        interaction({"body": {"string": "x" * 99}}),
        f'the body of its response is no JSON and no event stream: "{"x" * 43}...". {RESPONSE}',
    ),
    "a filtered one": (
        interaction({"body": {"string": "***"}}),
        f'the body of its response is no JSON and no event stream: "***". {RESPONSE}',
    ),
    "none": (interaction({"body": {"string": ""}}), f"the body of its response is empty. {RESPONSE}"),
    "half a request": (
        interaction({"body": {"string": ANSWER}}, body='{"messages": ['),
        f'the body of its request is no JSON: "{{\\"messages\\": [". {REQUEST}',
    ),
    "a secret": (
        interaction({"body": {"string": "key AKIAQ7EXAMPLEKEYABCD"}}),
        f'the body of its response is no JSON and no event stream: "key ***". {RESPONSE}',
    ),
}


@pytest.mark.parametrize(("no_json", "told"), BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], no_json: dict[str, Any], told: str
) -> None:
    path = written(tmp_path, OURS, no_json)
    assert main(["import", str(path)]) == 1
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if "interaction" in line]
    line = path.read_text().split("- request:")[0:2]
    number = "- request:".join(line).count("\n") + 1
    assert lines == [f"converse-harness import: {path}:{number}: interaction 2: {told}"]
    assert "2 exchanges in 1 recording" in out
    assert out.endswith("\n1 body is not what Bedrock sends or takes: no JSON. Each is named above, with what to do.\n")


@pytest.mark.parametrize(
    "fine",
    [
        OURS,
        interaction({"body": {"string": STREAM}}, f"{MODEL}/converse-stream"),
        interaction({"body": {"string": b"\x00\x01"}}, f"{MODEL}/invoke", body="words"),
        interaction({"body": {"string": b"null"}}, body=""),
        interaction({"parsed_body": {"message": "no"}, "status": {"code": 400}}),
        interaction({"body": {"string": "<html>"}}, "https://example.com/"),
    ],
)
def test_other_bodies(tmp_path: Path, capsys: pytest.CaptureFixture[str], fine: dict[str, Any]) -> None:
    assert main(["import", str(written(tmp_path, OURS, fine))]) == 0
    assert capsys.readouterr().err == ""
