"""What blocks of an answer other than tool uses need in the request: reasoning, citations, text by a schema, media."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from converse_harness.bedrock.citations import COUNTING, Source, read_source
from converse_harness.bedrock.families import USUAL_SIGNATURE, family_of
from converse_harness.bedrock.fit.row import FREE_STOPS, Answer, Fit, Found, prefill_of
from converse_harness.bedrock.rules.finders.tools import OUTPUT, OWN_OUTPUT
from converse_harness.bedrock.rules.request import FIELDS, RuleRequest
from converse_harness.bedrock.rules.rule import Claude, Models, documented, recorded
from converse_harness.errors import ReplyError
from converse_harness.json_schema.quick import breaks
from converse_harness.json_values import is_object, member_of, object_of, objects_of
from converse_harness.words import counted, cut


def thinks(body: Mapping[str, Any]) -> bool:
    """Whether a request asks Claude to think: with `thinking`, or with `reasoning_config` as some clients send it.

    >>> thinks({"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}})
    True
    """
    types = (member_of(body, FIELDS, name, "type") for name in ("thinking", "reasoning_config"))
    return any(each in ("enabled", "adaptive") for each in types)


def misfits_of_reasoning(asked: RuleRequest, answer: Answer) -> Found:
    """Find reasoning that the request does not ask for, or that the model does not have."""
    yield "model_thinks", {"model": asked.model_id}
    if not thinks(asked.body):
        yield "thinking_is_asked", {}
    if member_of(asked.fields, "reasoningConfig", "type") != "enabled":
        yield "reasoning_is_asked", {}
    model = asked.model.model
    if model is not None and not family_of(asked.model.id).signs and any(map(_is_signed, answer.content)):
        yield "model_signs_its_thoughts", {"model": model.name}


def _is_signed(block: Mapping[str, Any]) -> bool:
    """Whether a block is reasoning with a signature of the script's; the usual one is sent by models that sign."""
    return member_of(block, "reasoningContent", "reasoningText", "signature") not in (None, "", USUAL_SIGNATURE)


def misfits_of_citations(asked: RuleRequest, answer: Answer) -> Found:
    """Find citations without a source that may be cited, and locations that no source has."""
    sources = {name: [object_of(each) for *_, each in asked.shown(name)] for name in ("document", "searchResult")}
    searches = any(object_of(tool.get("systemTool")).get("name") == "nova_grounding" for tool in asked.tools)
    there = [each for several in sources.values() for each in several]
    if not searches and not any(object_of(each.get("citations")).get("enabled") is True for each in there):
        lacks = "has none with citations enabled" if there else "has no document and no searchResult"
        yield "citations_are_enabled", {"request": lacks}
        return
    for block in answer.content:
        for citation in objects_of(object_of(block.get("citationsContent")).get("citations")):
            for kind, place in object_of(citation.get("location")).items():
                if kind == "web" and not searches:
                    yield "citation_is_of_a_source", {"kind": kind, "request": "offers no systemTool nova_grounding"}
                elif kind in COUNTING:
                    yield from _misfits_of_place(sources, kind, object_of(place), citation)


def _misfits_of_place(
    sources: Mapping[str, list[Mapping[str, Any]]], kind: str, place: Mapping[str, Any], citation: Mapping[str, Any]
) -> Found:
    """Find a citation whose location, of this `kind`, no source has, or whose quote its source does not have."""
    name = "searchResult" if kind == "searchResultLocation" else "document"
    there, index = sources[name], place.get(COUNTING[kind].index)
    source = _read(there[index]) if isinstance(index, int) and 0 <= index < len(there) else None
    if not there:
        problem = f"has no {name}"
    elif isinstance(index, int) and index >= len(there):
        problem = f"has {len(there)} {name}: the index {index} is too large"
    else:
        problem = "" if source is None else _unlike(source, kind, place)
        problem = problem and f"has a {name} there {problem}"
    if problem:
        yield "citation_is_of_a_source", {"kind": kind, "request": problem}
    elif source is not None and (quote := _invented(source, citation)) is not None:
        yield "citation_quotes_its_source", {"quote": cut(json.dumps(quote, ensure_ascii=False), 60)}


def _unlike(source: Source, kind: str, place: Mapping[str, Any]) -> str:
    """Return why a source does not have a location of this kind; "" if it has one."""
    if source.kind != kind:
        return f"that is cited by {source.kind}"
    counting, end = COUNTING[kind], place.get("end")
    if source.size is None or not isinstance(end, int) or end <= counting.first + source.size:
        return ""
    return f"of {counted(source.size, counting.units[:-1])}: the end {end} is too large"


def _invented(source: Source, citation: Mapping[str, Any]) -> str | None:
    """Return a quote of a citation that its source does not have; None if there is none, or if it is not known."""
    if source.parts is None:
        return None
    text = source.parts if isinstance(source.parts, str) else "\n".join(source.parts)
    quotes = (each.get("text") for each in objects_of(citation.get("sourceContent")))
    return next((quote for quote in quotes if isinstance(quote, str) and quote not in text), None)


def _read(source: Mapping[str, Any]) -> Source | None:
    """Read a document or search result of a request's JSON, in which bytes are base64."""
    origin = object_of(source.get("source"))
    try:
        if isinstance(origin.get("bytes"), str):
            source = {**source, "source": {**origin, "bytes": base64.b64decode(origin["bytes"])}}
        return read_source(source)
    except (ReplyError, ValueError):  # such as a document in S3, of which nothing is known
        return None


def _check_of_format(config: object) -> Callable[[Any], str | None] | None:
    """Return the check of the text's JSON by an outputConfig; None if it has no schema, or one that is not JSON."""
    given = member_of(config, *OUTPUT.split(".")[1:])
    try:
        schema = json.loads(given) if isinstance(given, str) else None
    except (ValueError, RecursionError):
        return None
    return breaks(schema) if is_object(schema) else None


def _check_of_own_format(fields: object) -> Callable[[Any], str | None] | None:
    schema = member_of(fields, *OWN_OUTPUT.split(".")[1:])
    return breaks(schema) if is_object(schema) else None


def misfits_of_formats(asked: RuleRequest, answer: Answer) -> Found:
    """Find texts that do not follow the format that the request asks for."""
    if answer.stop_reason in FREE_STOPS or "toolUse" in answer.parts:
        return
    members = asked.items_of_body.members
    for name, read in (("outputConfig", _check_of_format), (FIELDS, _check_of_own_format)):
        item = members.get(name)
        check = None if item is None else item.once(read)
        if check is None:
            continue
        try:
            at = check(json.loads(answer.text))
            problem = "" if at is None else f"breaks {at} of the schema"
        except (ValueError, RecursionError):
            problem = "is not JSON"
        if problem:
            shown = cut(json.dumps(answer.text, ensure_ascii=False), 60)
            yield "text_follows_the_format", {"text": shown, "problem": problem}


MEDIA: Final = ("image", "document", "video", "audio")
"""The kinds of blocks that no known model of Converse makes."""


def misfits_of_prefills(asked: RuleRequest, answer: Answer) -> Found:
    """Find answers that repeat the text that they should continue."""
    prefill = asked.items_of_body.messages[-1].once(prefill_of)
    nests = prefill in ("[", "(")  # an array of arrays goes on so
    if not nests and answer.text.lstrip().startswith(prefill):
        yield "answer_continues_the_prefill", {"prefill": cut(json.dumps(prefill, ensure_ascii=False), 60)}


def misfits_of_media(asked: RuleRequest, answer: Answer) -> Found:
    """Find blocks that the model does not make. Of unknown models, nothing is known."""
    if asked.model.model is not None:
        for kind in MEDIA:
            if kind in answer.parts:
                yield "model_makes_media", {"kind": kind, "model": asked.model.model.name}


_THOUGHTS: Final = "reasoningContent"
_GUIDE: Final = "AWS's user guide"

CONTENTS: Final = (
    Fit(
        "model_thinks",
        "reasoningContent",
        "a model that thinks: not Claude before 3.7, Nova 1, Llama, Titan or Cohere",
        "reasoningContent; {model} does not think. Was another model meant?",
        (_THOUGHTS,),
        (recorded("none of these models' answers", "2026-09"),),
        "never",
        models=Models(
            only=(
                Claude(before=(3, 7)),
                *(f"amazon.nova-{name}-v1*" for name in ("micro", "lite", "pro", "premier")),
                *("meta.llama*", "amazon.titan-text*", "cohere.command*"),
            )
        ),
    ),
    Fit(
        "thinking_is_asked",
        "reasoningContent of Claude 3.7 to 4.8",
        "`thinking` with the type enabled or adaptive in `additionalModelRequestFields`",
        "reasoningContent; the request does not ask for it (additionalModelRequestFields.thinking). Was the field "
        "dropped on the way?",
        (_THOUGHTS,),
        (recorded("84 of 84; none of 531 answers without thinking", "2026-09"),),
        "never",
        f"{FIELDS}.thinking",
        Models(only=(Claude(since=(3, 7), before=(5,)),)),
    ),
    Fit(
        "reasoning_is_asked",
        "reasoningContent of Nova 2",
        "`reasoningConfig` with the type enabled in `additionalModelRequestFields`",
        "reasoningContent; the request does not ask for it (additionalModelRequestFields.reasoningConfig). Was the "
        "field dropped on the way?",
        (_THOUGHTS,),
        (recorded("1 of 1; none of 312 answers without reasoningConfig", "2026-07"),),
        "seldom",
        f"{FIELDS}.reasoningConfig",
        Models(only=("amazon.nova-2-lite*",)),
    ),
    Fit(
        "model_signs_its_thoughts",
        "a signature of reasoning",
        "a model that signs: Claude",
        "reasoningText.signature; {model} is not known to sign its reasoning. Was another model meant?",
        (_THOUGHTS,),
        (recorded("49 of 49 of Claude; none of 22 of other models", "2026-09"),),
        "seldom",
    ),
    Fit(
        "citations_are_enabled",
        "citationsContent",
        "a document or searchResult with `citations` enabled, or the system tool nova_grounding",
        "citationsContent; the request {request}. Were the citations dropped on the way?",
        ("citationsContent",),
        (recorded("26 of 26", "2026-09"), documented("AWS's API model, CitationsContentBlock", "2026-11")),
        "never",
        "messages",
    ),
    Fit(
        "citation_is_of_a_source",
        "a citation's location",
        "a source of this kind at its index, which is long enough for its end",
        "a citation with the location {kind}; the request {request}.",
        ("citationsContent",),
        (recorded("26 of 26", "2026-09"),),
        "seldom",
        "messages",
    ),
    Fit(
        "citation_quotes_its_source",
        "a citation's sourceContent",
        "a source with this text",
        "a citation that quotes {quote}; the source in the request does not have this text. Was it changed on the way?",
        ("citationsContent",),
        (recorded("19 of 19", "2026-09"),),
        "seldom",
        "messages",
    ),
    Fit(
        "answer_continues_the_prefill",
        "a text that begins with the prefill",
        "no such text in an assistant's message at the end: an answer continues it",
        "a text that begins with {prefill}; the request has this as prefill (an assistant's message at the end), and "
        "an answer goes on behind it.",
        ("prefill",),
        (
            recorded("1 of 1", "2026-09", "Claude 3.5 Haiku"),
            documented("Anthropic's guide, prefilling Claude's response", "2026-11"),
        ),
        "seldom",
        "messages",
    ),
    Fit(
        "text_follows_the_format",
        "a text that is no JSON, or breaks the schema",
        "no `outputConfig.textFormat`",
        "the text {text}, which {problem}; the request asks for this format (outputConfig.textFormat).",
        ("text format",),
        (recorded("70 of 70", "2026-09"), documented(f"{_GUIDE}, structured output", "2026-11")),
        "seldom",
        "outputConfig.textFormat",
    ),
    Fit(
        "model_makes_media",
        "an image, a document, a video or audio",
        "a model that makes them: none that Converse can call is known",
        "a block {kind}; {model} is not known to make any.",
        MEDIA,
        (
            documented(f"{_GUIDE}, Converse has no models for images", "2026-11"),
            recorded("none of 1,609 answers", "2026-09"),
        ),
        "seldom",
    ),
)
"""The rows about the content of an answer."""
