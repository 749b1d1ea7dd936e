"""Compare the prompts of two requests: find their first difference, and whether one is a changed version of the other.

A prompt that contains the time changes with each request. However, a similar prompt may also belong to another agent of
a team. Two facts help to distinguish the cases: the kind of the difference, and whether an old prompt is used again. A
prompt with the time is never used again, because a clock does not go back.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, zip_longest
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

_SHORT: Final = 12
"""Texts with at least this number of words are compared word by word, shorter texts character by character."""

_ALIKE_IF_SHORT: Final = 0.5
_ALIKE: Final = 0.2
"""Two prompts of one conversation count as versions of each other from this share of equal triples on.

A triple is three consecutive words (_ALIKE) or characters (_ALIKE_IF_SHORT). The share is computed for the prompt with
fewer triples.
"""

_PLACEHOLDER: Final = "0"

_DATE: Final = re.compile(
    r"\W*((mon|tues|wednes|thurs|fri|satur|sun)day|(mon|tue|wed|thu|fri|sat|sun)|[ap]\.?m\.?"
    r"|jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    r"|dec(ember)?)\W*",
    re.IGNORECASE,
)
"""Matches a word without digits in a date or time: the name of a day, the name of a month, am or pm."""

_LONG: Final = 80
"""Words with more than this number of characters are not searched for times, ids and numbers.

They may have thousands of characters.
"""

_WORD: Final = re.compile(r"[A-Za-z0-9.:+-]+|[^\x00-\x7f]+")
"""Matches a word.

In a writing system without spaces, a word ends only at the next ASCII character, for example a digit.
"""

_NUMBER: Final = re.compile(r"[0-9a-f]*[0-9][0-9a-f]*|[0-9a-f]{4,}", re.IGNORECASE)
"""Matches a decimal or hexadecimal number, which may be a part of a time, an id or a count."""

_MIXED: Final = re.compile(r"([A-Za-z]+[0-9]+){3,}[A-Za-z]*|([0-9]+[A-Za-z]+){3,}[0-9]*")
"""Matches an id in which letters and digits alternate."""

_SMALL_NUMBER: Final = re.compile(r"\D*\d{1,2}\D*")
"""Matches a word with one number of one or two digits. Such a word may be the name of an agent, for example "agent-2".
"""


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


def is_version(use: PromptUse, earlier: PromptUse, common: int, *, goes_on: bool) -> bool:
    """Whether the tools and system prompt of `use` are a changed version of those of `earlier`.

    The first `common` blocks of both requests are equal. A changed version differs only in times, ids, numbers, the
    order of its blocks, or tools that only one request has. If `goes_on` is true, both requests belong to one
    conversation; then a changed version may differ in other ways too.
    """
    was, now = (given(each)[common : each.prompt.static] for each in (earlier, use))
    if not (was and now):
        return goes_on
    if Counter(map(_in_order, was)) == Counter(map(_in_order, now)):
        return True
    if _of(was, "system") == _of(now, "system"):
        few, many = sorted((Counter(_of(each, "tools")) for each in (was, now)), key=lambda each: each.total())
        if goes_on:
            return True
        if few <= many:
            return not _are_two(use, earlier)
    one, other = _words(was), _words(now)
    if sorted(map(_bare, one)) == sorted(map(_bare, other)):
        return True
    if _timeless(one) == _timeless(other):
        small = all(map(_SMALL_NUMBER.fullmatch, set(one) ^ set(other)))
        return not (small and (_comes_back if goes_on else _are_two)(use, earlier))
    return goes_on and _are_alike(one, other) and not _comes_back(use, earlier)


def _of(blocks: Sequence[PromptBlock], place: str) -> list[str]:
    return [_in_order(each) for each in blocks if each.place == place]


def _in_order(block: PromptBlock) -> str:
    """Return the JSON of a block with sorted members, so that their order does not matter."""
    return json.dumps(block.block, ensure_ascii=False, sort_keys=True)


def _words(blocks: Sequence[PromptBlock]) -> list[str]:
    return _WORD.findall("\n".join(map(_in_order, blocks)).replace("\\n", " "))


def _bare(word: str) -> str:
    return re.sub(r"\W", "", word)


def _timeless(words: Sequence[str]) -> list[str]:
    """Return the words with a placeholder for each time, id and number, and one word for each run of equal words."""
    return [word for word, _ in groupby(map(_masked, words))]


def _masked(word: str) -> str:
    if len(word) > _LONG:
        return word
    return _PLACEHOLDER if _DATE.fullmatch(word) else _NUMBER.sub(_PLACEHOLDER, _MIXED.sub(_PLACEHOLDER, word))


def _are_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    if min(len(one), len(other)) < _SHORT:
        one, other = " ".join(one), " ".join(other)
    threes, others = (set(zip(words, words[1:], words[2:], strict=False)) for words in (one, other))
    least = _ALIKE_IF_SHORT if isinstance(one, str) else _ALIKE
    return len(threes & others) >= least * min(len(threes), len(others))


def _are_two(use: PromptUse, earlier: PromptUse) -> bool:
    """Whether the two prompts probably belong to two agents: they alternate, or each was used more than once."""
    return _comes_back(use, earlier) or all(len(_users(use, _end(each))) > 1 for each in (use, earlier))


def _comes_back(use: PromptUse, earlier: PromptUse) -> bool:
    """Whether a call after `use` has the prompt of `earlier`, or a call before `use` has the prompt of `use`."""
    now = use.call.number
    return any(each > now for each in _users(use, _end(earlier))) or any(each < now for each in _users(use, _end(use)))


def _end(use: PromptUse) -> bytes:
    return use.prompt.ends[use.prompt.static]


def _users(use: PromptUse, end: bytes) -> list[int]:
    """Return the numbers of the calls whose tools and system prompt have the digest `end`."""
    return [each.call.number for each in use.cache.uses if _end(each) == end]
