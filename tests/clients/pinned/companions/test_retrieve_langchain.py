"""langchain-aws: an agent whose tool asks a knowledge base and a reranker, both of bedrock-agent-runtime."""

from typing import Any

from langchain.agents import create_agent
from langchain_aws import AmazonKnowledgeBasesRetriever, BedrockRerank, ChatBedrockConverse
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
RERANKER = "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0"
TEXTS = ("Rock that melts is magma.", "Ice that moves is a glacier.", "Snow on a road is slippery.")


@tool
def search(question: str) -> str:
    """Search the handbook."""
    found = AmazonKnowledgeBasesRetriever(
        knowledge_base_id="KB12345678",
        retrieval_config={"vectorSearchConfiguration": {"numberOfResults": 4}},
        min_score_confidence=0.3,
    ).invoke(question)
    best = BedrockRerank(model_arn=RERANKER, top_n=1).compress_documents(found, question)
    return "\n".join(document.page_content for document in best)


def retrieved(text: str, score: float) -> dict[str, Any]:
    location = {"type": "S3", "s3Location": {"uri": "s3://handbook/ice.txt"}}
    return {"content": {"type": "TEXT", "text": text}, "location": location, "score": score}


def test_the_agent_answers_from_the_reranked_document(converse: Fake) -> None:
    results = [retrieved(text, score) for text, score in zip((*TEXTS, "Sand."), (0.6, 0.5, 0.4, 0.2), strict=True)]
    converse.script(reply.tool_use("search", {"question": "What is a glacier?"}), reply.text("Ice that moves."))
    converse.on_operation("Retrieve", {"retrievalResults": results}, service="bedrock-agent-runtime")
    converse.on_operation(
        "Rerank", {"results": [{"index": 1, "relevanceScore": 0.97}]}, service="bedrock-agent-runtime"
    )
    agent: Any = create_agent(ChatBedrockConverse(model=MODEL), [search])
    said = agent.invoke({"messages": [HumanMessage("What is a glacier?")]})["messages"]
    assert said[-1].text == "Ice that moves."
    assert converse.calls.of("Converse").last.tool_results[0]["content"] == [{"text": TEXTS[1]}]
    assert converse.calls.of("Retrieve").last.params == {
        "knowledgeBaseId": "KB12345678",
        "retrievalQuery": {"text": "What is a glacier?"},
        "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": 4}},
    }
    reranked = converse.calls.of("Rerank").last.params
    assert reranked["queries"] == [{"type": "TEXT", "textQuery": {"text": "What is a glacier?"}}]
    assert [each["inlineDocumentSource"]["textDocument"]["text"] for each in reranked["sources"]] == [*TEXTS]
    config = reranked["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    assert (config["modelConfiguration"]["modelArn"], config["numberOfResults"]) == (RERANKER, 1)
