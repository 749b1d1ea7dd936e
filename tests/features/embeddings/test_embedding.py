"""`reply.embedding` answers in the bodies of Titan and Cohere, with vectors that depend only on texts and seed."""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import Any, Final, NamedTuple
from uuid import UUID

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Fake, Reply, ReplyError, fake_converse, reply
from converse_harness.features.embeddings.embedding import EMBEDDING_MODELS, Embedding
from tests.package.test_wrong_arguments_of_fakes import VALUES, check_named

TITAN = "amazon.titan-embed-text-v2:0"
COHERE = "cohere.embed-multilingual-v3"
GLACIERS: Final = [-0.5626812111241878, -0.3527960235924586, 0.09314004948840775, 0.7417882120703075]
"""The vector of the text "glaciers" with four dimensions and the seed 0."""


class Asked(NamedTuple):
    """What the function reads of a call."""

    body: Mapping[str, Any]
    stands_for: str
    operation: str = "InvokeModel"


def asked(answer: Embedding, model: str, **body: Any) -> Any:
    """Return what the function answers, as JSON."""
    output = answer(Asked(body, model))
    assert output["contentType"] == "application/json"
    return json.loads(output["body"])


def vector(answer: Embedding, text: str) -> Any:
    return asked(answer, TITAN, inputText=text)["embedding"]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other))


def invoke(model: str, **body: Any) -> Any:
    client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
    return json.loads(client.invoke_model(modelId=model, body=json.dumps(body).encode())["body"].read())


@given(st.text(min_size=1), st.text(min_size=1), st.integers(), st.integers(1, 300))
def test_a_vector_depends_on_text_seed_and_dimensions(one: str, other: str, seed: int, dimensions: int) -> None:
    answer = reply.embedding(seed, dimensions)
    first, second = asked(answer, COHERE, texts=[one, other])["embeddings"]
    assert len(first) == dimensions
    assert cosine(first, first) == pytest.approx(1)
    assert vector(reply.embedding(seed, dimensions), one) == first
    assert (first == second) is (one == other) or dimensions < 8
    assert vector(reply.embedding(one, dimensions), other) == vector(reply.embedding(0, dimensions), one)


@given(st.lists(st.text(min_size=1), min_size=2, max_size=8, unique=True), st.integers())
def test_the_nearest_document_is_the_equal_one(texts: list[str], seed: int) -> None:
    documents = asked(reply.embedding(seed), COHERE, texts=texts)["embeddings"]
    for index, text in enumerate(texts):
        (query,) = asked(reply.embedding(seed), COHERE, texts=[text])["embeddings"]
        scores = [cosine(query, document) for document in documents]
        assert scores[index] == pytest.approx(1)
        assert max(abs(score) for at, score in enumerate(scores) if at != index) < 0.25


def test_it_is_the_same_in_each_run() -> None:
    assert vector(reply.embedding("glaciers", 4), "anything") == GLACIERS
    ask = "from converse_harness import reply; print(reply.embedding(0, 4)(call)['body'].decode())"
    made = f"S(body={{'inputText': 'glaciers'}}, stands_for={TITAN!r}, operation='InvokeModel')"
    call = f"from types import SimpleNamespace as S; call = {made}"
    told = subprocess.check_output([sys.executable, "-c", f"{call}; {ask}"], env={"PYTHONHASHSEED": "7"})
    assert json.loads(told)["embedding"] == GLACIERS


def test_a_lone_surrogate_has_a_vector_too() -> None:
    assert vector(reply.embedding(), "\ud800") != vector(reply.embedding(), "\udc00")


MEMBERS: Final[Mapping[str, tuple[Mapping[str, Any], int, Sequence[str]]]] = {
    "amazon.titan-embed-text-v1": ({}, 1536, ["embedding", "inputTextTokenCount"]),
    TITAN: ({"normalize": True}, 1024, ["embedding", "embeddingsByType", "inputTextTokenCount"]),
    "amazon.titan-embed-image-v1": ({}, 1024, ["embedding", "inputTextTokenCount", "message"]),
}
"""For each of Titan's models: more members of a request, the dimensions of the answer, and its members.

Recorded, all but titan-embed-image: pydantic/pydantic-ai tests/cassettes/test_embeddings.
"""


@pytest.mark.parametrize("model", MEMBERS)
def test_titan_answers_as_recorded(model: str) -> None:
    more, dimensions, members = MEMBERS[model]
    answer = asked(reply.embedding(), model, inputText="Hello, world!", **more)
    assert sorted(answer) == members
    assert len(answer["embedding"]) == dimensions
    assert answer["inputTextTokenCount"] == 3  # 4 and 5 are recorded; ours is the estimate of all token counts
    assert answer.get("embeddingsByType", {"float": answer["embedding"]}) == {"float": answer["embedding"]}
    assert answer.get("message") is None


COHERE_ANSWERS: Final = {
    "cohere.embed-english-v3": (1024, "embeddings_floats", "hello, world!"),
    COHERE: (1024, "embeddings_floats", "Hello, world!"),
    "cohere.embed-v4:0": (1536, "embeddings_by_type", "Hello, world!"),
}
"""For each of Cohere's models: the dimensions, the type and the text of its answer, as recorded there."""


@pytest.mark.parametrize("model", COHERE_ANSWERS)
def test_cohere_answers_as_recorded(model: str) -> None:
    dimensions, kind, text = COHERE_ANSWERS[model]
    answer = asked(reply.embedding(), model, texts=["Hello, world!"], input_type="search_query", truncate="NONE")
    assert sorted(answer) == ["embeddings", "id", "response_type", "texts"]
    assert (answer["response_type"], answer["texts"]) == (kind, [text])
    found = answer["embeddings"]["float"] if kind == "embeddings_by_type" else answer["embeddings"]
    assert [len(each) for each in found] == [dimensions]


def test_every_line_is_tested() -> None:
    assert len(EMBEDDING_MODELS) == len(MEMBERS) + len(COHERE_ANSWERS)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (TITAN, {"inputText": "a", "dimensions": 256}),
        ("amazon.titan-embed-image-v1", {"inputText": "a", "embeddingConfig": {"outputEmbeddingLength": 256}}),
        ("cohere.embed-v4:0", {"texts": ["a"], "output_dimension": 256}),
    ],
)
def test_the_request_chooses_the_dimensions(model: str, body: Mapping[str, Any]) -> None:
    def size(answer: Embedding) -> int:
        found = asked(answer, model, **body)
        return len(found["embedding"] if "embedding" in found else found["embeddings"]["float"][0])

    assert (size(reply.embedding()), size(reply.embedding(dimensions=5))) == (256, 5)


@given(st.text(min_size=1), st.integers(1, 40))
def test_each_type_has_the_signs_of_the_numbers(text: str, dimensions: int) -> None:
    types = ["float", "int8", "uint8", "binary", "ubinary"]
    answer = asked(reply.embedding(0, dimensions), COHERE, texts=[text], embedding_types=types)
    found: dict[str, list[Any]] = {name: vectors[0] for name, vectors in answer["embeddings"].items()}
    assert (answer["response_type"], [*found]) == ("embeddings_by_type", types)
    assert max(abs(each) for each in found["int8"]) == 127
    assert [each + 128 for each in found["int8"]] == found["uint8"]
    assert [each + 128 for each in found["binary"]] == found["ubinary"]
    bits = "".join(f"{each:08b}" for each in found["ubinary"])[:dimensions]
    assert bits == "".join("1" if each > 0 else "0" for each in found["float"])
    titan = asked(reply.embedding(0, dimensions), TITAN, inputText=text, embeddingTypes=["binary"])
    assert titan["embeddingsByType"] == {"binary": [int(bit) for bit in bits]}
    assert titan["embedding"] == found["float"]


def test_images_and_texts_are_embedded_together() -> None:
    text = {"type": "text", "text": "a glacier"}
    image = {"type": "image_url", "image_url": "data:image/png;base64,aGk="}
    nested = {"type": "image_url", "image_url": {"url": image["image_url"]}}
    inputs = [{"content": each} for each in ([text], [image], [text, image], [nested])]
    v4 = asked(reply.embedding(), "cohere.embed-v4:0", inputs=inputs)["embeddings"]["float"]
    texts = asked(reply.embedding(), "cohere.embed-v4:0", texts=["a glacier"])["embeddings"]["float"]
    images = asked(reply.embedding(), "cohere.embed-v4:0", images=[image["image_url"]])["embeddings"]["float"]
    assert [v4[0], v4[1], v4[3]] == [texts[0], images[0], images[0]]
    assert cosine(v4[0], v4[1]) == pytest.approx(0, abs=0.2)
    assert cosine(v4[2], v4[0]) == pytest.approx(cosine(v4[2], v4[1]), abs=0.05) == pytest.approx(0.7, abs=0.1)
    only = asked(reply.embedding(), "amazon.titan-embed-image-v1", inputImage="aGk=")
    assert only["inputTextTokenCount"] == 0


def test_one_answer_for_any_number_of_calls() -> None:
    arn = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.{COHERE}"
    profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    with fake_converse(models={"*/abc": TITAN}) as fake:
        fake.on_operation("InvokeModel", reply.embedding("glaciers", 4))
        fake.when(operation="InvokeModel", model="*.titan-*").always(reply.embedding(7, 4))
        both = [invoke(arn, texts=["a", "b"]), invoke(f"us.{COHERE}", texts=["a", "b"])]
        assert both[0] == both[1]
        assert both[0]["embeddings"] == [GLACIERS, GLACIERS]
        assert invoke(profile, inputText="b")["embedding"] == GLACIERS
        assert invoke(TITAN, inputText="b")["embedding"] == vector(reply.embedding(7, 4), "b")
        assert invoke(TITAN, inputText="glaciers")["embedding"] != GLACIERS


def test_ids_differ_by_request() -> None:
    first, again, other = (asked(reply.embedding(), COHERE, texts=[text])["id"] for text in ("a", "a", "b"))
    assert first == again != other
    assert UUID(first).version == 4  # as recorded


WRONG: Final[Mapping[str, tuple[str, Mapping[str, Any], str]]] = {
    "another model": (
        "amazon.nova-2-multimodal-embeddings-v1:0",
        {"inputText": "a"},
        r"models of Titan and Cohere, and the model of this call is 'amazon\.nova-2-\S+ .* bytes .* reply\.output",
    ),
    "nothing": (TITAN, {}, r"the body \{\} came for amazon\.titan-embed-text-v2:0; .* \{\"inputText\": \"\.\.\.\"\}\."),
    "no text": (TITAN, {"inputText": 1}, r"the body \{'inputText': 1\} came"),
    "no texts": (COHERE, {"texts": []}, r"came for cohere\S+; .* \{\"texts\": \[\"\.\.\.\"\], \"input_type\""),
    "no parts": ("cohere.embed-v4:0", {"inputs": [{"content": []}]}, "the body .* came"),
    "a wrong part": ("cohere.embed-v4:0", {"inputs": [{"content": [{"type": "x"}]}]}, "the body .* came"),
    "dimensions": (TITAN, {"inputText": "a", "dimensions": 0}, "dimensions 0 came .*; it is a whole number from 1"),
    "length": (
        "amazon.titan-embed-image-v1",
        {"inputText": "a", "embeddingConfig": {"outputEmbeddingLength": "7"}},
        r"embeddingConfig\.outputEmbeddingLength '7' came",
    ),
    "a type": (TITAN, {"inputText": "a", "embeddingTypes": ["int8"]}, "'int8'.* came .* a list of float, binary"),
    "types": (COHERE, {"texts": ["a"], "embedding_types": "float"}, "'float' came .* float, int8, uint8, binary, ubi"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_answered_is_told(name: str) -> None:
    model, body, said = WRONG[name]
    with pytest.raises(ReplyError, match=said):
        asked(reply.embedding(), model, **body)


def ask_another_model() -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", reply.embedding())
        invoke("some.model", inputText="a")


def test_another_operation_is_told() -> None:
    with pytest.raises(ReplyError, match="answers InvokeModel, and this call is Retrieve"):
        reply.embedding()(Asked({}, "", "Retrieve"))


def test_another_model_fails_the_test_and_names_its_line() -> None:
    with pytest.raises(ReplyError, match="embedding models of Titan and Cohere") as raised:
        ask_another_model()
    assert any("the function embedding given to on_operation" in note for note in raised.value.__notes__)


ARGUMENTS: Final[Mapping[str, tuple[Callable[[Any], object], str, tuple[str, ...]]]] = {
    "of": (reply.embedding, "embedding(of=", ("one", "minus", "text")),
    "dimensions": (lambda value: reply.embedding(0, value), "embedding(dimensions=", ("one", "none")),
}
"""Maps each argument to a function that takes a value for it, to what the message names, and to the right values."""


@pytest.mark.parametrize(
    ("argument", "value"),
    [(name, value) for name, (_, _, right) in ARGUMENTS.items() for value in VALUES if value not in right],
)
def test_a_wrong_argument_is_named(argument: str, value: str) -> None:
    give, named, _ = ARGUMENTS[argument]
    check_named(give, named, value)


def test_an_empty_text_is_no_argument() -> None:
    with pytest.raises(ReplyError, match=r"^embedding\(of=''\): it is a seed, a whole number, or the text"):
        reply.embedding("")


def test_it_reads_as_what_it_is() -> None:
    assert repr(reply.embedding()) == "<Embedding of each text, seed=0>"
    assert repr(reply.embedding("glaciers", 256)) == "<Embedding of 'glaciers', dimensions=256>"


def test_it_must_be_called() -> None:
    with pytest.raises(ReplyError, match=r"reply\.embedding is a function that makes a reply\. Call it"):
        Fake().on_operation("InvokeModel", reply.embedding)  # type: ignore[arg-type]
    assert not isinstance(reply.embedding(), Reply)
