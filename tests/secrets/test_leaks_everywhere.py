"""Each kind of secret, drawn from its pattern: in every form, in every place, whole and in pieces, behind anything."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness.recordings.leaks import scan
from converse_harness.secrets.kinds import KINDS, SecretKind
from converse_harness.secrets.mask import secret_spans
from tests.profiles import examples
from tests.secrets.planted import FORMS, texts_of

Line = dict[str, Any]

HEAD: Final[list[Line]] = [{"format": "x"}, {"call": 1, "operation": "Converse", "modelId": "m"}]


@cache
def secrets_of(kind: SecretKind) -> st.SearchStrategy[str]:
    """Texts of a kind; what is looked ahead to is drawn as well."""
    texts = texts_of(kind)
    return texts.filter(lambda text: len(text) < 2000 and bool(secret_spans(kind, text)))


def delta(text: str) -> Line:
    return {"t": 1, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}


def invoked(text: str) -> Line:
    """A chunk of InvokeModelWithResponseStream with a model's own event."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"t": 1, "chunk": {"bytes": base64.b64encode(json.dumps(event).encode()).decode()}}


def server_sent(pieces: list[str]) -> list[Line]:
    events = [json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces]
    return [{"t": 1, "status": 200, "bodyText": "".join(f"data: {event}\n\n" for event in events)}]


def in_bytes(pieces: list[str]) -> list[Line]:
    """A body in chunks that is no stream of frames: server-sent events, cut anywhere."""
    body = server_sent(pieces)[0]["bodyText"].encode()
    cuts = [body[at : at + 37] for at in range(0, len(body), 37)]
    return [{"t": 1, "status": 200}, *({"t": 2, "bytes": base64.b64encode(cut).decode()} for cut in cuts)]


PLACES: Final[Mapping[str, Callable[[str], list[Line]]]] = {
    "a message": lambda text: [{"request": {"messages": [{"content": [{"text": text}]}]}}],
    "the input of a tool": lambda text: [{"request": {"input": {"nested": [{"value": text}]}}}],
    "a key": lambda text: [{"request": {text: 1}}],
    "a list": lambda text: [{"request": {"tags": ["a", text, "b"]}}],
    "a body of text": lambda text: [{"t": 1, "status": 200, "bodyText": f"<p>{text}</p>"}],
    "a body of bytes": lambda text: [{"bodyBase64": base64.b64encode(b"\xff" + text.encode()).decode()}],
    "a payload": lambda text: [{"t": 1, "messageStop": {}, "payload": json.dumps({"a": text})}],
    "a header": lambda text: [{"headers": {"x-amzn-bedrock-a": text}}],
    "an event": lambda text: [delta(text)],
    "a chunk of another model": lambda text: [invoked(text)],
}

FRAMINGS: Final[Mapping[str, Callable[[list[str]], list[Line]]]] = {
    "ConverseStream": lambda pieces: [delta(piece) for piece in pieces],
    "InvokeModelWithResponseStream": lambda pieces: [invoked(piece) for piece in pieces],
    "server-sent events": server_sent,
    "a chunked body": in_bytes,
    "lines of JSON": lambda pieces: [{"bodyText": "\n".join(json.dumps({"response": each}) for each in pieces)}],
    "a list of events": lambda pieces: [{"body": [{"response": each} for each in pieces]}],
}

NEIGHBOURS: Final = st.sampled_from(["", " ", "\n", "é", "«", '"', "(", ": ", "> ", "\t", "… ", "\u200b"])

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.hints[0]}")


def found(kind: SecretKind, lines: list[Line]) -> bool:
    return any(leak.kind == kind.name for leak in scan([*HEAD, *lines], own=()))


@each_kind
@settings(max_examples=examples(0.15))
@given(data=st.data(), form=st.sampled_from(sorted(FORMS)), place=st.sampled_from(sorted(PLACES)), before=NEIGHBOURS)
def test_it_is_found_in_every_form_and_place(
    kind: SecretKind, data: st.DataObject, form: str, place: str, before: str
) -> None:
    text = data.draw(secrets_of(kind))
    assert found(kind, PLACES[place](FORMS[form](before + text)))


@each_kind
@settings(max_examples=examples(0.15))
@given(data=st.data(), framing=st.sampled_from(sorted(FRAMINGS)), before=NEIGHBOURS)
def test_it_is_found_in_pieces(kind: SecretKind, data: st.DataObject, framing: str, before: str) -> None:
    text = before + data.draw(secrets_of(kind))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), min_size=1, max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert found(kind, FRAMINGS[framing](pieces))
