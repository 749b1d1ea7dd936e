"""langchain-aws, unchanged: BedrockEmbeddings and a vector store find the document that was planned."""

from typing import Any

import pytest
from langchain_aws import BedrockEmbeddings
from langchain_core.vectorstores import InMemoryVectorStore

from converse_harness import Fake, reply

TEXTS = ["Rock that melts is magma.", "Ice that moves is a glacier.", "Snow on a road is slippery."]


@pytest.mark.parametrize(
    ("model", "options", "length", "calls"),
    [
        ("amazon.titan-embed-text-v1", {}, 1536, 3),
        ("amazon.titan-embed-text-v2:0", {"dimensions": 256}, 256, 3),
        ("cohere.embed-english-v3", {}, 1024, 1),
        ("us.cohere.embed-v4:0", {"dimensions": 512, "provider": "cohere"}, 512, 1),
    ],
)
def test_a_document_is_found(converse: Fake, model: str, options: dict[str, Any], length: int, calls: int) -> None:
    converse.on_operation("InvokeModel", reply.embedding())
    store = InMemoryVectorStore(BedrockEmbeddings(model_id=model, **options))
    store.add_texts(TEXTS)
    assert len(converse.calls.of("InvokeModel")) == calls
    (first, score), (_, second) = store.similarity_search_with_score(TEXTS[1], k=2)
    assert (first.page_content, round(score, 6)) == (TEXTS[1], 1)
    assert second < 0.3
    assert {len(row["vector"]) for row in store.store.values()} == {length}
    converse.on_operation("InvokeModel", reply.embedding(TEXTS[2]))
    ((found, score),) = store.similarity_search_with_score("Why did the car slide?", k=1)
    assert (found.page_content, round(score, 6)) == (TEXTS[2], 1)
