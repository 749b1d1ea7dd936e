"""Whatever citations are drawn: as an answer they reach botocore as they were, in a stream and not."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import assemble, bedrock, citing, fake_converse, reply
from converse_harness.bedrock.citations import COUNTING
from converse_strategies import citations, documents

pytestmark = pytest.mark.any_answer

ASKED: dict[str, Any] = {
    "modelId": "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def client() -> Any:
    with fake_converse():
        return boto3.client("bedrock-runtime", **KEYS)


@given(st.lists(st.tuples(st.text(), st.lists(citations(), max_size=3)), min_size=1, max_size=4))
def test_an_answer_with_citations_comes_through_boto_as_it_was(
    client: Any, said: list[tuple[str, list[dict[str, Any]]]]
) -> None:
    parts: list[Any] = [part for text, cited in said for part in (text, *cited)]
    answer = reply.cited(*parts)
    with fake_converse(answer.times(2)):
        whole = client.converse(**ASKED)["output"]["message"]["content"]
        streamed = assemble(client.converse_stream(**ASKED)["stream"]).message["content"]
    assert whole == streamed
    assert len(whole) == len(said)
    for block, (text, cited) in zip(whole, said, strict=True):
        if not cited:
            assert block == {"text": text}
            continue
        assert block["citationsContent"]["citations"] == cited
        assert block["citationsContent"].get("content", []) == ([{"text": text}] if text else [])


@given(st.data(), documents(), st.integers(0, 4))
def test_every_document_can_be_cited_at_any_place(data: st.DataObject, document: dict[str, Any], index: int) -> None:
    drawn = data.draw(citations(document=document, index=index))
    (kind, place), *_ = drawn["location"].items()
    units = {COUNTING[kind].units: range(place["start"], place["end"])}
    if place["start"] == place["end"]:  # an empty document; there is nothing to cite
        return
    document["citations"] = {"enabled": True}
    read = COUNTING[kind].units != "pages"
    citation = citing({"document": document}, None if read else "as it says", index=index, **units)
    bedrock.check("Citation", citation)
    assert citation == drawn if read else citation | {"sourceContent": drawn["sourceContent"]} == drawn
