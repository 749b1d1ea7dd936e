"""Haystack: embedders and a chat generator ask bedrock-runtime, and a ranker asks bedrock-agent-runtime."""

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.embedders.amazon_bedrock import (
    AmazonBedrockDocumentEmbedder,
    AmazonBedrockTextEmbedder,
)
from haystack_integrations.components.generators.amazon_bedrock import AmazonBedrockChatGenerator
from haystack_integrations.components.rankers.amazon_bedrock import AmazonBedrockRanker

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
EMBEDDER, RANKER = "cohere.embed-multilingual-v3", "cohere.rerank-v3-5:0"
GLACIER, MAGMA, SNOW = "Ice that moves is a glacier.", "Rock that melts is magma.", "Snow on a road is slippery."


def test_a_question_is_answered_from_the_nearest_documents(converse: Fake) -> None:
    converse.on_operation("InvokeModel", reply.embedding())
    query = converse.when(lambda call: call.body["input_type"] == "search_query", operation="InvokeModel")
    query.always(reply.embedding(GLACIER))
    results = [{"index": 1, "relevanceScore": 0.75}, {"index": 0, "relevanceScore": 0.5}]
    converse.on_operation("Rerank", {"results": results}, service="bedrock-agent-runtime")
    converse.script(reply.text("Ice that moves."))

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    documents = [Document(content=text) for text in (MAGMA, GLACIER, SNOW)]
    store.write_documents(AmazonBedrockDocumentEmbedder(model=EMBEDDER).run(documents)["documents"])
    vector = AmazonBedrockTextEmbedder(model=EMBEDDER).run("What is a glacier?")["embedding"]
    found = InMemoryEmbeddingRetriever(store, top_k=2).run(vector)["documents"]
    assert found[0].content == GLACIER
    assert round(found[0].score, 6) == 1
    assert found[1].score < 0.5

    ranker = AmazonBedrockRanker(model=RANKER, top_k=2, aws_region_name="us-east-1")
    ranked = ranker.run("What is a glacier?", found)["documents"]
    assert [(each.content, each.score) for each in ranked] == [(found[1].content, 0.75), (GLACIER, 0.5)]
    prompt = "\n".join([*(each.content for each in ranked), "What is a glacier?"])
    answer = AmazonBedrockChatGenerator(model=MODEL).run([ChatMessage.from_user(prompt)])["replies"][0]
    assert answer.text == "Ice that moves."
    assert converse.calls.of("Converse").last.last_user_text == prompt
    bodies = [call.body for call in converse.calls.of("InvokeModel")]
    assert [body["texts"] for body in bodies] == [[MAGMA, GLACIER, SNOW], ["What is a glacier?"]]
    reranked = converse.calls.of("Rerank").last.params
    assert reranked["queries"] == [{"type": "TEXT", "textQuery": {"text": "What is a glacier?"}}]
    assert reranked["sources"][0]["inlineDocumentSource"] == {"type": "TEXT", "textDocument": {"text": GLACIER}}
    config = reranked["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    arn = f"arn:aws:bedrock:us-east-1::foundation-model/{RANKER}"
    assert config == {"modelConfiguration": {"modelArn": arn}, "numberOfResults": 2}
