"""Answers of InvokeModel with vectors that are hashes of the texts, in the bodies of Titan's and Cohere's models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import shake_256
from operator import mul
from struct import iter_unpack
from typing import Any, ClassVar, Final, NamedTuple, Protocol
from uuid import UUID

from converse_harness.bedrock.models import bare
from converse_harness.errors import ReplyError
from converse_harness.json_values import is_array, member_of, objects_of
from converse_harness.stream.arguments import wrong
from converse_harness.stream.chunk import weigh
from converse_harness.words import shown

_Json = Mapping[str, Any]
_Vector = list[float]

_Parts = Sequence[Any]
"""The texts and images from which one vector is made; a wrong request may have anything in their place."""

_RAW: Final = 'reply.output({"body": b"...", "contentType": "application/json"})'


class EmbeddingCall(Protocol):
    """A Call, as far as `reply.embedding` reads it."""

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON of the request."""
        ...

    @property
    def operation(self) -> str | None:
        """The name of the operation."""
        ...

    @property
    def stands_for(self) -> str:
        """The id of the model."""
        ...


class _MakersBodies(NamedTuple):
    """The bodies of one maker's models.

    `inputs` reads the parts of each vector from a request. `types_at` is the member with the wanted types of numbers,
    and `types` maps each of these to a function that converts a vector.
    """

    inputs: Callable[[_Json], Sequence[_Parts]]
    types_at: str
    types: Mapping[str, Callable[[_Vector], Sequence[float]]]


class EmbeddingModel(NamedTuple):
    """A line of embedding models: their ids as a glob, and what is known of their requests and answers.

    `form` shows a request. At the path `asked`, it may have the number of dimensions; the default is `dimensions`.
    `answer` makes the body of an answer from the request and from the vectors of each type.
    """

    ids: str
    maker: _MakersBodies
    form: str
    dimensions: int
    asked: tuple[str, ...]
    answer: Callable[[_Json, Mapping[str, Sequence[Sequence[float]]]], _Json]


def _titan_inputs(body: _Json) -> Sequence[_Parts]:
    return [[body[name] for name in ("inputText", "inputImage") if name in body]]


def _cohere_inputs(body: _Json) -> Sequence[_Parts]:
    listed = next((body[name] for name in ("texts", "images") if is_array(body.get(name))), None)
    if listed is not None:
        return [[each] for each in listed]
    return [[*map(_cohere_part, objects_of(each.get("content")))] for each in objects_of(body.get("inputs"))]


def _cohere_part(part: _Json) -> Any:
    return part.get("text", member_of(part, "image_url", "url") or part.get("image_url"))


def _bits(vector: _Vector) -> list[int]:
    return [int(each > 0) for each in vector]


def _bytes(vector: _Vector) -> list[int]:
    bits = "".join(map(str, _bits(vector)))
    return [int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8)]


def _scaled(vector: _Vector) -> list[int]:
    most = max(map(abs, vector)) or 1.0
    return [round(each / most * 127) for each in vector]


def _bytes_signed(vector: _Vector) -> list[int]:
    return [each - 128 for each in _bytes(vector)]


def _scaled_unsigned(vector: _Vector) -> list[int]:
    return [each + 128 for each in _scaled(vector)]


_TITAN: Final = _MakersBodies(_titan_inputs, "embeddingTypes", {"float": list, "binary": _bits})

_COHERE: Final = _MakersBodies(
    _cohere_inputs,
    "embedding_types",
    {
        "float": list,
        "int8": _scaled,
        "uint8": _scaled_unsigned,
        "binary": _bytes_signed,
        "ubinary": _bytes,
    },
)


def _titan(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    text = body.get("inputText", "")
    return {"embedding": of_type["float"][0], "inputTextTokenCount": max(1, round(weigh(text))) if text else 0}


def _titan_v2(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    wanted = body.get(_TITAN.types_at) or ["float"]
    return {**_titan(body, of_type), "embeddingsByType": {name: of_type[name][0] for name in wanted}}


def _titan_image(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    return {**_titan(body, of_type), "message": None}


def _cohere(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    wanted = body.get(_COHERE.types_at)
    hashed = shake_256(json.dumps(body, sort_keys=True).encode()).digest(16)
    return {
        "embeddings": {name: of_type[name] for name in wanted} if wanted else of_type["float"],
        "id": str(UUID(bytes=hashed, version=4)),
        "response_type": "embeddings_by_type" if wanted else "embeddings_floats",
        "texts": body.get("texts") or [],
    }


def _cohere_english(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    answer = _cohere(body, of_type)
    return {**answer, "texts": [text.lower() for text in answer["texts"]]}


def _cohere_v4(body: _Json, of_type: Mapping[str, Sequence[Sequence[float]]]) -> _Json:
    return _cohere({_COHERE.types_at: ["float"], **body}, of_type)


_TEXT: Final = '{"inputText": "..."}'
_IMAGE: Final = '{"inputText": "...", "inputImage": "BASE64"}, with one of them or both'
_TEXTS: Final = '{"texts": ["..."], "input_type": "search_document"}'
_LENGTH: Final = ("embeddingConfig", "outputEmbeddingLength")

EMBEDDING_MODELS: Final = (
    EmbeddingModel("amazon.titan-embed-text-v2*", _TITAN, _TEXT, 1024, ("dimensions",), _titan_v2),
    EmbeddingModel("amazon.titan-embed-text-v1*", _TITAN, _TEXT, 1536, (), _titan),
    EmbeddingModel("amazon.titan-embed-image-v1*", _TITAN, _IMAGE, 1024, _LENGTH, _titan_image),
    EmbeddingModel("cohere.embed-english-v3*", _COHERE, _TEXTS, 1024, (), _cohere_english),
    EmbeddingModel("cohere.embed-multilingual-v3*", _COHERE, _TEXTS, 1024, (), _cohere),
    EmbeddingModel("cohere.embed-v4*", _COHERE, _TEXTS, 1536, ("output_dimension",), _cohere_v4),
)
"""The lines of models, from AWS's documentation, read 2026-12: the pages "Amazon Titan Embeddings G1 - Text", "Amazon
Titan Multimodal Embeddings G1", "Cohere Embed v3" and "Cohere Embed v4".

Recorded, in pydantic/pydantic-ai `tests/cassettes/test_embeddings` and in DataDog/dd-trace-py
`tests/contrib/botocore/bedrock_cassettes`: the members of the answers to texts, but for titan-embed-image; that
titan-embed-text-v2 sends vectors of the length 1 with `"normalize": false` too; that cohere.embed-english-v3 returns
its texts in lower case; that cohere.embed-v4 names the type without `embedding_types` too. Not recorded: types other
than `float`, and the `texts` in an answer to `images` or `inputs`. Only titan-embed-text-v1 sends longer vectors, of
the length 19.
"""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A function of a call that answers with vectors. It is made by `reply.embedding`.

    Called with a Call of InvokeModel, it returns the members of the operation's output.
    """

    __name__: ClassVar[str] = "embedding"  # by which failures name it, as they name a function

    of: str | int = 0
    dimensions: int | None = None

    def __call__(self, call: EmbeddingCall) -> Mapping[str, Any]:
        """Return the members `body` and `contentType` of the answer to a call.

        Raises ReplyError for another operation, if the model is not one of Titan's or Cohere's embedding models, or if
        it does not take the body of the request.
        """
        if call.operation != "InvokeModel":
            raise ReplyError(
                f"reply.embedding answers InvokeModel, and this call is {call.operation}. Give it to "
                'converse.on_operation("InvokeModel", reply.embedding()).'
            )
        name = bare(call.stands_for)
        model = next((each for each in EMBEDDING_MODELS if fnmatchcase(name, each.ids)), None)
        if model is None:
            raise ReplyError(
                f"reply.embedding answers InvokeModel for the embedding models of Titan and Cohere, and the model of "
                f"this call is {call.stands_for!r}. For another model, give the bytes of its answer: {_RAW}. If the id "
                'stands for one of these models, say so in the setting models: {"ID": "amazon.titan-embed-text-v2:0"}.'
            )
        body, inputs = call.body, model.maker.inputs(call.body)
        if not inputs or not all(parts and all(isinstance(part, str) for part in parts) for parts in inputs):
            raise _unread(name, f"the body {shown(dict(body))}", f"the body of a request to it is {model.form}")
        asked = member_of(body, *model.asked) if model.asked else None
        size = next(each for each in (self.dimensions, asked, model.dimensions) if each is not None)
        if type(size) is not int or size < 1:
            raise _unread(name, f"{'.'.join(model.asked)} {shown(size)}", "it is a whole number from 1")
        _, at, known = model.maker
        wanted = body.get(at, [])
        if not is_array(wanted) or not all(isinstance(each, str) and each in known for each in wanted):
            raise _unread(name, f"{at} {shown(wanted)}", f"it is a list of {', '.join(known)}")
        vectors = [self._vector(parts, size) for parts in inputs]
        answer = model.answer(
            body, {each: [*map(known[each], vectors)] for each in {"float": 0, **dict.fromkeys(wanted)}}
        )
        return {"body": json.dumps(answer, separators=(",", ":")).encode(), "contentType": "application/json"}

    def _vector(self, parts: Sequence[str], size: int) -> _Vector:
        return _vector(0, [self.of], size) if isinstance(self.of, str) else _vector(self.of, parts, size)

    def __repr__(self) -> str:
        what = f"of {shown(self.of)}" if isinstance(self.of, str) else f"of each text, seed={self.of}"
        return f"<Embedding {what}{'' if self.dimensions is None else f', dimensions={self.dimensions}'}>"


def _unread(model: str, came: str, allowed: str) -> ReplyError:
    return ReplyError(
        f"reply.embedding: {came} came for {model}; {allowed}. Correct the request; or, if Bedrock takes it, give the "
        f"bytes of the answer: {_RAW}."
    )


def _vector(seed: int, parts: Sequence[str], size: int) -> _Vector:
    """Return the vector of the parts, with the length 1: the direction of the sum of their vectors.

    It is made of whole numbers, a square root and a division, which all machines and versions of Python round alike.
    """
    numbers = [sum(each) for each in zip(*(_numbers(seed, part, size) for part in parts), strict=True)]
    length = math.sqrt(sum(map(mul, numbers, numbers))) or 1.0
    return [each / length for each in numbers]


def _numbers(seed: int, part: str, size: int) -> Iterator[int]:
    """Yield odd numbers around 0, about normally distributed: each is the sum of four drawn from a hash."""
    hashed = shake_256(f"{seed}|{part}".encode("utf-8", "surrogatepass")).digest(8 * size)
    return (2 * (a + b + c + d - 2 * 0xFFFF) + 1 for a, b, c, d in iter_unpack("<4H", hashed))


def embedding(of: str | int = 0, dimensions: int | None = None) -> Embedding:
    """Answer InvokeModel with vectors, as the embedding models of Amazon Titan and Cohere do.

    Give it to `on_operation("InvokeModel", ...)`, or to a `when` with this operation; it answers any number of calls.
    If `of` is a whole number, a seed, each text of a request gets a vector of its own, which is a hash of the seed and
    the text: equal texts have equal vectors, in all calls and runs, and other texts are about at right angles. If `of`
    is a text, all vectors are the one that this text has with the seed 0, whatever the request says. Vectors have the
    length 1 (L2 norm). `dimensions` is how many numbers a vector has: by default, what the request asks for, otherwise
    what the model has by default. Raises ReplyError for a wrong argument. When a call is answered, ReplyError is raised
    for another model and for a body that the model does not take.

    >>> import json, boto3
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse() as fake:
    ...     fake.on_operation("InvokeModel", reply.embedding(dimensions=4))
    ...     client = boto3.client("bedrock-runtime")
    ...     answer = client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=b'{"inputText": "glaciers"}')
    <1 scripted reply, 0 must still be used: embedding(call)>
    >>> [round(each, 2) for each in json.loads(answer["body"].read())["embedding"]]
    [-0.56, -0.35, 0.09, 0.74]
    """
    if type(of) not in (str, int) or of == "":
        raise wrong("embedding", "of", of, "it is a seed, a whole number, or the text whose vector all inputs get.")
    if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
        raise wrong("embedding", "dimensions", dimensions, "it is a whole number from 1, or None for the model's own.")
    return Embedding(of, dimensions)
