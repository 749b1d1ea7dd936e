"""A secret in the colours of a terminal, or with a character of no width in it, is found and masked as any other."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Collection, Mapping
from itertools import cycle
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness.recordings.leaks import scan
from converse_harness.secrets.kinds import KINDS, SecretKind
from converse_harness.secrets.mask import mask, mask_encoded, secret_spans
from converse_harness.secrets.removal import value_without_secrets, without_secrets
from tests.profiles import examples
from tests.secrets.planted import READABLE, texts_of
from tests.secrets.planting import drawn
from tests.secrets.terminals import SHAPES, seen

MASKS: Final[Mapping[str, Callable[[str, Collection[str]], str]]] = {
    "mask": mask,
    "mask_encoded": mask_encoded,
    "without_secrets": lambda text, own: without_secrets(text, own).text,
    "value_without_secrets": lambda text, own: _only_text(value_without_secrets({"text": [text]}, own)),
}


def _only_text(value: Any) -> str:
    """The text in the value, or the mask of all of it."""
    return value if isinstance(value, str) else value["text"][0]


@settings(max_examples=examples(0.7))
@given(
    kind=st.sampled_from(KINDS),
    data=st.data(),
    shape=st.sampled_from(sorted(SHAPES)),
    name=st.sampled_from(sorted(MASKS)),
)
def test_every_mask_hides_every_kind(kind: SecretKind, data: st.DataObject, shape: str, name: str) -> None:
    text = data.draw(texts_of(kind, READABLE).filter(lambda text: bool(secret_spans(kind, text))))
    start, end = secret_spans(kind, text)[0]
    shown = SHAPES[shape](text, data.draw(st.integers(1, len(text) - 1)))
    assert text[start:end] in shown + seen(shown)  # the address of a link is there, and not seen
    left = MASKS[name](shown, ())
    assert text[start:end] not in left + seen(left)


@settings(max_examples=examples(0.7))
@given(
    kind=st.sampled_from(KINDS),
    data=st.data(),
    shape=st.sampled_from(sorted(SHAPES)),
    name=st.sampled_from(sorted({*MASKS} - {"mask"})),
)
def test_base64_is_hidden_too(kind: SecretKind, data: st.DataObject, shape: str, name: str) -> None:
    text = data.draw(texts_of(kind, READABLE).filter(lambda text: bool(secret_spans(kind, text))))
    encoded = base64.b64encode(text.encode()).decode()
    assert encoded not in seen(MASKS[name](SHAPES[shape](encoded, data.draw(st.integers(1, len(encoded) - 1))), ()))


@settings(max_examples=examples(0.7))
@given(kind=st.sampled_from(KINDS), data=st.data(), shape=st.sampled_from(sorted(SHAPES)), number=st.integers(0, 99))
def test_it_is_found_behind_an_image(kind: SecretKind, data: st.DataObject, shape: str, number: int) -> None:
    text = data.draw(texts_of(kind, READABLE).filter(lambda text: bool(secret_spans(kind, text))))
    shown = SHAPES[shape](text, data.draw(st.integers(1, len(text) - 1)))
    image = random.Random(number).randbytes(9000)
    file = base64.b64encode(image + f"\n{shown}\n".encode() + image).decode()
    assert kind.name in [leak.kind for leak in scan([{"body": {"bytes": file}}], own=())]


@pytest.mark.slow
def test_every_kind_is_hidden_in_every_shape() -> None:
    for turn, kind in enumerate(KINDS):
        for text, secret in drawn(kind, 1, 1)[:2]:
            for name, (shape, show) in zip(cycle([*MASKS][turn % 4 :] + [*MASKS][: turn % 4]), SHAPES.items()):
                left = MASKS[name](show(text, len(text) // 2), ())
                assert secret not in left + seen(left), (kind.name, shape, name)
