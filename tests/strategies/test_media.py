"""Blocks of media: valid, with names that Bedrock takes, and every format and source is reached and can be chosen."""

import re
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_strategies.message.media import (
    AUDIOS,
    DOCUMENTS,
    IMAGES,
    TEXTS,
    VIDEOS,
    audios,
    document_names,
    documents,
    images,
    videos,
)
from tests.strategies.conftest import drawn, found, never, smallest

HAS_AUDIO = bedrock.has_shape("AudioBlock")
KINDS = {"Image": images, "Document": documents, "Video": videos, **({"Audio": audios} if HAS_AUDIO else {})}
BUILDERS = {"Image": IMAGES, "Document": {**TEXTS, **DOCUMENTS}, "Video": VIDEOS, "Audio": AUDIOS}
RULE_13 = re.compile(r"[A-Za-z0-9\-()\[\]]+( [A-Za-z0-9\-()\[\]]+)*", re.ASCII)


@pytest.mark.parametrize("kind", KINDS)
def test_every_block_is_valid_and_every_format_and_source_is_reached(kind: str) -> None:
    def seen(block: dict[str, Any]) -> set[str]:
        bedrock.check(f"{kind}Block", block)
        if "bytes" in block["source"]:
            assert len(block["source"]["bytes"]) < 4000
        return {block.get("format", ""), *block["source"]}

    assert (
        never(KINDS[kind](), {*bedrock.enum(f"{kind}Format"), *bedrock.shape(f"{kind}Source").members}, seen) == set()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_and_source_can_be_chosen(kind: str) -> None:
    for form in bedrock.enum(f"{kind}Format"):
        chosen = drawn(KINDS[kind](formats=[form], sources=["bytes"]), 0.25)
        assert {(each["format"], *each["source"]) for each in chosen} == {(form, "bytes")}
    for source in bedrock.shape(f"{kind}Source").members:
        assert {tuple(each["source"]) for each in drawn(KINDS[kind](sources=[source]), 0.25)} == {(source,)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_of_the_model_can_be_built(kind: str) -> None:
    assert set(BUILDERS[kind]) >= set(bedrock.enum(f"{kind}Format"))


@given(documents(), document_names())
def test_names_of_documents_are_those_that_bedrock_takes(document: dict[str, Any], name: str) -> None:
    for each in (document["name"], name):
        assert RULE_13.fullmatch(each)
        assert len(each) <= 200


@given(documents(names=st.just("policy"), texts=st.sampled_from(["leave", " "]), sources=["text", "content", "bytes"]))
def test_a_document_has_the_name_and_texts_that_are_given(document: dict[str, Any]) -> None:
    assert document["name"] == "policy"
    texts = [document["source"].get("text", "leave"), *(each["text"] for each in document["source"].get("content", ()))]
    assert {*texts, document.get("context", "leave")} <= {"leave", " 0"}


def test_a_text_has_no_format_or_one_of_plain_text() -> None:
    texts = drawn(documents(sources=["text", "content"]), 5)
    assert {document.get("format") for document in texts} == {None, "txt", "md", "csv", "html"}


@pytest.mark.parametrize("member", ["context", "citations"])
def test_a_document_may_have_a_context_and_be_cited(member: str) -> None:
    assert never(documents(), [True, False], lambda document: [member in document]) == set()


@given(images(formats=["png"], sources=["bytes"]))
def test_images_are_small(image: dict[str, Any]) -> None:
    width, height = struct.unpack(">II", image["source"]["bytes"][16:24])
    assert 1 <= width <= 16
    assert 1 <= height <= 16


def test_the_simplest_image_is_one_black_pixel() -> None:
    image = smallest(images(), lambda image: "bytes" in image["source"] and len(image["source"]["bytes"]) > 0)
    assert image == {"format": "png", "source": {"bytes": IMAGES["png"]}}


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (
            images(formats=["bmp"]),
            "images(formats=['bmp']): 'bmp' is no choice of formats. Give a list of some of: png",
        ),
        (images(sources="bytes"), "'bytes'): "),
        (videos(sources=["text"]), "some of: bytes, s3Location"),
        (documents(formats=["pdf"], sources=["text"]), "such a source is plain text"),
        (documents(formats=[]), "[] is no choice"),
    ],
)
def test_what_is_wrong_is_said_when_drawn(strategy: st.SearchStrategy[Any], told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert told in str(caught.value)


if not HAS_AUDIO:  # no skip: under CI every test runs

    def test_an_old_botocore_has_no_audio() -> None:
        with pytest.raises(InvalidArgument, match="has no AudioBlock"):
            found(audios())
