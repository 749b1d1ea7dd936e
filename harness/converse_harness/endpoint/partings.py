"""Compare the prompts of two requests of a conversation: find their first difference, and whether they alternate."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any, Final

from converse_harness.endpoint.cache import PromptUse
from converse_harness.endpoint.call import Parting
from converse_harness.endpoint.prompt import IMAGES, PromptBlock, cached_blocks, image_path, settings_of
from converse_harness.json_values import is_array, is_object
from converse_harness.secrets import common_length

_SHOWN: Final = 64
"""A Parting contains at most this number of characters of the old value, and of the new value."""

_BEFORE: Final = 24
"""A Parting contains at most this number of characters before the difference."""

_NOTHING: Final = "nothing"

_IMAGES: Final = ("no image in the request", "images in the request")
"""The texts for the two values (false, true) of the setting IMAGES. If this setting changes, the service
does not reuse the messages that it has cached."""


def given(use: PromptUse) -> list[PromptBlock]:
    """Return the blocks of the request that the service passes to the model, without the cachePoints."""
    return [each for each in cached_blocks(use.call.body, use.caching) if "cachePoint" not in each.block]


def parting_of(use: PromptUse, earlier: PromptUse, common: int) -> Parting | None:
    """Find the first difference of two requests whose first `common` blocks are equal.

    Return None if `use` begins with all blocks that `earlier` cached. Return None also if the difference is a reasoning
    block that both requests contain, but that the service does not pass to the model in `use`.
    """
    if use.prompt.common(earlier.prompt) >= max(earlier.prefixes, default=0):
        return None
    was, now = (dict(enumerate(given(each))).get(common) for each in (earlier, use))
    if was is None or (now is not None and was[1:] == now[1:]):
        return _of_settings(use, earlier)
    messages = use.call.body.get("messages", ())
    # A reasoning block that is not in `given(use)` may still be in the messages of `use`: then the service drops it.
    is_dropped = "reasoningContent" in was.block and was not in given(use)
    if is_dropped and any(was.block in message.get("content", ()) for message in messages):
        return None
    if now is None or was.place != now.place:
        return Parting((now or was).path, None, _spelled(was.block), _NOTHING if now is None else _spelled(now.block))
    path, one, other = _differ(now.path, was.block, now.block)
    if not (isinstance(one, str) and isinstance(other, str)):
        return Parting(path, None, _spelled(one), _spelled(other))
    at = common_length(one, other)
    at -= next((back for back in range(min(at, _BEFORE) + 1) if back == at or one[at - back - 1].isspace()), 0)
    return Parting(path, at, _shown(one, at), _shown(other, at))


def _of_settings(use: PromptUse, earlier: PromptUse) -> Parting | None:
    """Return the first setting in which two requests differ, as a Parting; None if all settings are equal."""
    was, now = settings_of(earlier.call.body), settings_of(use.call.body)
    for path in sorted({*was, *now}):
        if path == IMAGES and was[path] != now[path]:
            shown = next(image for each in (use, earlier) if (image := image_path(each.call.body)))
            return Parting(shown, None, *(_IMAGES[each] for each in (was[path], now[path])))
        if was.get(path) != now.get(path):
            return Parting(path, None, _spelled(was.get(path)), _spelled(now.get(path)))
    return None


def _differ(path: str, was: object, now: object) -> tuple[str, object, object]:
    """Return the path of the first difference of two JSON values, and the two values there.

    The path begins with `path`. At a path that only one of the JSON values has, the other value is given as None.
    """
    inner: list[tuple[str, object, object]] = []
    if is_object(was) and is_object(now):
        inner = [(f"{path}.{key}", was.get(key), now.get(key)) for key in sorted({*was, *now})]
    elif is_array(was) and is_array(now):
        inner = [(f"{path}[{number}]", *pair) for number, pair in enumerate(zip_longest(was, now))]
    parted = next((each for each in inner if each[1] != each[2]), None)
    return (path, was, now) if parted is None else _differ(*parted)


def _spelled(value: Any) -> str:
    return _NOTHING if value is None else _shown(json.dumps(value, ensure_ascii=False))


def _shown(text: str, at: int = 0) -> str:
    """Return at most _SHOWN characters of a text on one line, from shortly before the character at index `at`."""
    start = max(0, at - _BEFORE)
    part = text[start : start + _SHOWN].replace("\n", "\\n")
    return f"{'...' if start else ''}{part}{'...' if start + _SHOWN < len(text) else ''}"


def is_used_again(use: PromptUse, earlier: PromptUse) -> bool:
    """Whether a call after `use` has the prompt of `earlier`, or a call before `use` has the prompt of `use`.

    If so, the two prompts belong to two agents. A prompt that contains the time is never used again, because a clock
    does not go back.
    """
    now = use.call.number
    return any(each > now for each in _users(use, _end(earlier))) or any(each < now for each in _users(use, _end(use)))


def _end(use: PromptUse) -> bytes:
    return use.prompt.ends[use.prompt.static]


def _users(use: PromptUse, end: bytes) -> list[int]:
    """Return the numbers of the calls whose tools and system prompt have the digest `end`."""
    return [each.call.number for each in use.cache.uses if _end(each) == end]
