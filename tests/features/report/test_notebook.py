"""What a notebook shows of a Call, a Fake and a Reply: HTML without a script and without a secret."""

import botocore.session
import pytest

from converse_harness import Reply, fake_converse, faults, reply
from tests.features.report.test_viewer import Parsed

KEY = "AK" + "IAQ7EXAMPLEKEYABCD"


def notebook(shown: object) -> Parsed:
    html = shown._repr_html_()  # type: ignore[attr-defined]
    assert KEY not in html
    parsed = Parsed(html)
    names = [name for name, _ in parsed.elements]
    assert names.count("style") == 1
    assert {"script", "html", "body"}.isdisjoint(names)
    return parsed


def test_calls_and_their_fake() -> None:
    with fake_converse(reply.text(f"<b>hi {KEY}"), reply.text("again")) as fake:
        client = botocore.session.get_session().create_client("bedrock-runtime", region_name="us-east-1")
        messages = [{"role": "user", "content": [{"text": f"the key {KEY}"}]}]
        for _ in client.converse_stream(modelId="amazon.nova-lite-v1:0", messages=messages)["stream"]:
            pass
        client.converse(modelId="amazon.nova-lite-v1:0", messages=messages)
    text = notebook(fake.calls[0]).text
    assert "the key ***" in text
    assert "<b>hi ***" in text
    assert "answer fromtest_notebook.py:" in text or "answer fromtests/features/report/test_notebook.py:" in text
    whole = notebook(fake)
    assert "InProcessFake" in whole.text
    assert whole.values("id").count("call-2") == 1
    assert "message 1: as in call 1" in whole.text


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (reply.text(f"hi {KEY}"), "hi ***"),
        (reply.tool_use("pay", {"a": 1}), "uses pay"),
        (reply.throttled(), "ThrottlingException"),
        (reply.text("hi").broken(faults.reset, after=1), "reset"),
        (reply.events([{"messageStart": {"role": "assistant"}}], strict=False), "messageStart"),
        (reply.text("x").times(3), "3 times"),
    ],
    ids=["text", "tool", "error", "fault", "events", "times"],
)
def test_replies(given: Reply, seen: str) -> None:
    assert seen in notebook(given).text
