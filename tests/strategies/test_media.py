"""Blocks of media: valid, with names that Bedrock takes, and every format and source is reached and can be chosen."""

import re
import struct
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import model
from converse_strategies.files import AUDIOS, DOCUMENTS, IMAGES, VIDEOS
from converse_strategies.media import audios, document_names, documents, images, videos

HAS_AUDIO = model.has_shape("AudioBlock")
KINDS = {"Image": images, "Document": documents, "Video": videos, **({"Audio": audios} if HAS_AUDIO else {})}
BUILDERS = {"Image": IMAGES, "Document": DOCUMENTS, "Video": VIDEOS, "Audio": AUDIOS}
RULE_13 = re.compile(r"[A-Za-z0-9\-()\[\]]+( [A-Za-z0-9\-()\[\]]+)*", re.ASCII)


@pytest.mark.parametrize("kind", KINDS)
def test_every_block_is_valid_and_every_format_and_source_is_reached(kind: str) -> None:
    missing = {*model.enum(f"{kind}Format"), *model.shape(f"{kind}Source").members}

    @settings(max_examples=400, database=None, derandomize=True)
    @given(KINDS[kind]())
    def check(block: dict[str, Any]) -> None:
        model.check(f"{kind}Block", block)
        missing.difference_update({block.get("format", ""), *block["source"]})
        if "bytes" in block["source"]:
            assert len(block["source"]["bytes"]) < 4000

    check()
    assert not missing


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_and_source_can_be_chosen(kind: str) -> None:
    def drawn(**arguments: Any) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []

        @settings(max_examples=5, database=None)
        @given(KINDS[kind](**arguments))
        def collect(block: dict[str, Any]) -> None:
            blocks.append(block)

        collect()
        return blocks

    for form in model.enum(f"{kind}Format"):
        assert {(each["format"], *each["source"]) for each in drawn(formats=[form], sources=["bytes"])} == {
            (form, "bytes")
        }
    for source in model.shape(f"{kind}Source").members:
        assert {tuple(each["source"]) for each in drawn(sources=[source])} == {(source,)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_of_the_model_can_be_built(kind: str) -> None:
    assert set(BUILDERS[kind]) >= set(model.enum(f"{kind}Format"))


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
    missing: set[str | None] = {None, "txt", "md", "csv", "html"}

    @settings(database=None, derandomize=True)
    @given(documents(sources=["text", "content"]))
    def check(document: dict[str, Any]) -> None:
        assert document.get("format") in {None, "txt", "md", "csv", "html"}
        missing.discard(document.get("format"))

    check()
    assert not missing


@pytest.mark.parametrize("member", ["context", "citations"])
def test_a_document_may_have_a_context_and_be_cited(member: str) -> None:
    find(documents(), lambda document: member in document)
    find(documents(), lambda document: member not in document)


@given(images(formats=["png"], sources=["bytes"]))
def test_images_are_small(image: dict[str, Any]) -> None:
    width, height = struct.unpack(">II", image["source"]["bytes"][16:24])
    assert 1 <= width <= 16
    assert 1 <= height <= 16


def test_the_simplest_image_is_one_black_pixel() -> None:
    image = find(images(), lambda image: "bytes" in image["source"] and len(image["source"]["bytes"]) > 0)
    assert image == {"format": "png", "source": {"bytes": IMAGES["png"](1, 1, 0)}}


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (
            images(formats=["bmp"]),
            "images(formats=('bmp',)): 'bmp' is no choice of formats. Give a list of some of: png",
        ),
        (images(sources="bytes"), "'bytes'): "),
        (videos(sources=["text"]), "some of: bytes, s3Location"),
        (documents(formats=["pdf"], sources=["text"]), "such a source is plain text"),
        (documents(formats=[]), "() is no choice"),
    ],
)
def test_what_is_wrong_is_said_when_drawn(strategy: st.SearchStrategy[Any], told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        find(strategy, lambda _: True)
    assert told in str(caught.value)


if not HAS_AUDIO:  # no skip: under CI every test runs

    def test_an_old_botocore_has_no_audio() -> None:
        with pytest.raises(InvalidArgument, match="has no AudioBlock"):
            find(audios(), lambda _: True)
