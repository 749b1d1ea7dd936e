"""Parting: where the prompt of a request stops being that of an earlier one."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from converse_harness.endpoint.cache import PromptUse
from converse_harness.endpoint.call import Parting
from converse_harness.endpoint.prompt import IMAGES, PromptBlock, cached_blocks, image_path, settings_of

_SHOWN: Final = 64
"""Characters that are shown of what was and of what is."""

_BEFORE: Final = 24
"""How many of them stand before the difference, at most."""

_NOTHING: Final = "nothing"

_IMAGES: Final = ("no image in the request", "images in the request")
"""Whether there are some: that alone makes a model forget messages."""


def given(use: PromptUse) -> list[PromptBlock]:
    """The request's blocks in the form that the model receives."""
    return [each for each in cached_blocks(use.call.body, use.caching) if "cachePoint" not in each.block]


def parting_of(use: PromptUse, earlier: PromptUse, common: int) -> Parting | None:
    """Find where two requests differ, whose first `common` blocks are equal.

    None if all cached blocks are equal, or if only reasoning differs that the model does not receive.
    """
    if use.prompt.common(earlier.prompt) >= max(earlier.prefixes, default=0):
        return None
    was, now = (dict(enumerate(given(each))).get(common) for each in (earlier, use))
    if was is None or (now is not None and was[1:] == now[1:]):
        return _of_settings(use, earlier)
    if "reasoningContent" in was.block and was not in given(use) and _sends(use, was):
        return None
    if now is None or was.place != now.place:
        return Parting((now or was).path, None, _spelled(was.block), _NOTHING if now is None else _spelled(now.block))
    path, one, other = _differ(now.path, was.block, now.block)
    if not (isinstance(one, str) and isinstance(other, str)):
        return Parting(path, None, _spelled(one), _spelled(other))
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), None)
    at = min(len(one), len(other)) if at is None else at
    at -= next((back for back in range(min(at, _BEFORE) + 1) if back == at or one[at - back - 1].isspace()), 0)
    return Parting(path, at, _shown(one, at), _shown(other, at))


def _sends(use: PromptUse, block: PromptBlock) -> bool:
    """Whether the request contains the block, even if the model does not receive it."""
    messages = use.call.body.get("messages", ())
    return any(block.block in message.get("content", ()) for message in messages)


def _of_settings(use: PromptUse, earlier: PromptUse) -> Parting | None:
    """The first setting in which two requests differ."""
    was, now = settings_of(earlier.call.body), settings_of(use.call.body)
    for path in sorted({*was, *now}):
        if path == IMAGES and was[path] != now[path]:
            shown = next(image for each in (use, earlier) if (image := image_path(each.call.body)))
            return Parting(shown, None, *(_IMAGES[each] for each in (was[path], now[path])))
        if was.get(path) != now.get(path):
            return Parting(path, None, _spelled(was.get(path)), _spelled(now.get(path)))
    return None


def _differ(path: str, was: object, now: object) -> tuple[str, object, object]:
    """The path and both values of the first difference between two JSON values; None stands for a missing value."""
    pair = was, now
    if all(isinstance(each, dict) for each in pair):
        one, other = cast("tuple[dict[str, object], dict[str, object]]", pair)
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return _differ(f"{path}.{key}", one.get(key), other.get(key))
    if all(isinstance(each, list) for each in pair):
        numbered = [dict(enumerate(each)) for each in cast("tuple[list[object], list[object]]", pair)]
        for number in range(max(map(len, numbered))):
            before, after = (each.get(number) for each in numbered)
            if before != after:
                return _differ(f"{path}[{number}]", before, after)
    return path, was, now


def _spelled(value: Any) -> str:
    return _NOTHING if value is None else _shown(json.dumps(value, ensure_ascii=False))


def _shown(text: str, at: int = 0) -> str:
    """The text around a character, on one line."""
    start = max(0, at - _BEFORE)
    part = text[start : start + _SHOWN].replace("\n", "\\n")
    return f"{'...' if start else ''}{part}{'...' if start + _SHOWN < len(text) else ''}"
