"""Report the use of the prompt cache: tokens read and written, and rewrites.

A rewrite is a prefix of a prompt that a call wrote to the cache, although an earlier call had cached a prefix of that
length.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.request_items import has_cache_point
from converse_harness.endpoint.call import CONVERSATIONS, CacheOfCall, CacheUse, Call, Parting
from converse_harness.endpoint.prompt_cache.blocks import IMAGES, image_path, settings_of
from converse_harness.endpoint.prompt_cache.cache import PromptCache, PromptUse, has_failed, use_of
from converse_harness.endpoint.usage import PromptBlock, cached_blocks
from converse_harness.errors import Explained
from converse_harness.json_values import is_array, is_object
from converse_harness.notes import Note
from converse_harness.secrets.mask import common_length, mask
from converse_harness.words import counted

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
    return _without_points(use, use.call.body)


def _without_points(use: PromptUse, body: Mapping[str, Any]) -> list[PromptBlock]:
    return [each for each in cached_blocks(body, use.caching) if "cachePoint" not in each.block]


def _block_at(use: PromptUse, index: int) -> PromptBlock | None:
    """Return the block of `given(use)` at this index; None if there are not so many.

    Blocks after it are not read. In a long conversation they are most blocks, and `given` takes milliseconds there.
    """
    body, missing = use.call.body, index - use.prompt.static
    messages: Sequence[Mapping[str, Any]] = body.get("messages") or ()
    # If thoughts are dropped, all messages decide which ones.
    if not use.caching.drops_thoughts:
        read = 0
        while missing >= 0 and read < len(messages):
            missing -= sum(["cachePoint" not in block for block in messages[read].get("content") or ()])
            read += 1
        body = {**body, "messages": messages[:read]}
    return dict(enumerate(_without_points(use, body))).get(index)


def parting_of(use: PromptUse, earlier: PromptUse, common: int) -> Parting | None:
    """Find the first difference of two requests whose first `common` blocks are equal.

    Return None if `use` begins with all blocks that `earlier` cached. Return None also if the difference is a reasoning
    block that both requests contain, but that the service does not pass to the model in `use`.
    """
    if use.prompt.common(earlier.prompt) >= max(earlier.prefixes, default=0):
        return None
    was, now = _block_at(earlier, common), _block_at(use, common)
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
    was, now = settings_of(earlier.call.items), settings_of(use.call.items)
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


class _Users:
    """The first and the last call of each tools and system prompt, by their digest. They are read when first asked."""

    def __init__(self, cache: PromptCache) -> None:
        self._cache = cache

    @cached_property
    def _span(self) -> dict[bytes, tuple[int, int]]:
        found: dict[bytes, tuple[int, int]] = {}
        for use in [*self._cache.uses]:
            end, number = _end(use), use.call.number
            first, last = found.get(end, (number, number))
            found[end] = min(first, number), max(last, number)
        return found

    def use_again(self, use: PromptUse, earlier: PromptUse) -> bool:
        """Whether a call after `use` has the prompt of `earlier`, or a call before `use` has the prompt of `use`.

        If so, the two prompts belong to two agents. A prompt that contains the time is never used again, because a
        clock does not go back.
        """
        now, of_earlier, own = use.call.number, self._span.get(_end(earlier)), self._span.get(_end(use))
        return (of_earlier is not None and of_earlier[1] > now) or (own is not None and own[0] < now)


def _end(use: PromptUse) -> bytes:
    return use.prompt.ends[use.prompt.static]


_LISTED: Final = 3
"""The maximum number of rewrites that a message lists. The message also contains the number of further rewrites."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A prefix of a prompt that a call wrote to the cache, although an earlier call had cached a prefix of that length.

    `path` is the path of the first difference of the two prefixes, `character` is the start of the word that differs.
    `was` is the old text, `now` is the new text. If nothing differs, `path` is empty: then `blocks` is the number of
    blocks between the cache points of the two calls, and the model looks back over fewer blocks (`look_back`).
    """

    call: Call = field(repr=False)
    earlier: Call = field(repr=False)
    tokens: int
    path: str
    character: int | None
    was: str
    now: str
    blocks: int = 0
    look_back: int = 0

    @property
    def summary(self) -> str:
        """One line that contains the numbers of both calls, the number of tokens, and the reason."""
        parting = Parting(self.path, self.character, self.was, self.now)
        too_far = f"{self.blocks} blocks lie between their cache points"
        return (
            f"call {self.call.number} wrote {self.tokens:,} tokens again that call {self.earlier.number} had cached: "
            f"{f'the prefix parts at {parting}' if self.path else too_far}"
        )

    def __str__(self) -> str:
        if self.path:
            return mask(f"{self.summary}\n  was  {self.was}\n  now  {self.now}")
        return f"{self.summary}, and the model looks back over about {self.look_back}"


class Rewrites(tuple[Rewrite, ...], Explained):
    """A tuple of all rewrites, in the order of their calls."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "()"
        more = f", and {len(self) - 1} more" if len(self) > 1 else ""
        return mask(f"<{self[0].summary}{more}>")

    def explain(self) -> list[str]:
        """Return the lines for a failure message: the first three rewrites, and the number of further rewrites."""
        lines = [line for rewrite in self[:_LISTED] for line in str(rewrite).splitlines()]
        return lines + [f"and {len(self) - _LISTED} more"] * (len(self) > _LISTED)


class CacheSummary:
    """The cache use of several calls: the tokens `read` and `written`, the `hit_rate`, and the rewrites.

    `assert not converse.cache.rewrites` checks that no call wrote a prefix again.
    """

    def __init__(self, calls: Sequence[Call], note: Callable[[Note], None] | None = None) -> None:
        self._calls = calls
        self._note = note

    @property
    def read(self) -> int:
        """Tokens that the calls read from the cache."""
        return sum(_figures(call)[0] for call in self._calls)

    @property
    def written(self) -> int:
        """Tokens that the calls wrote to the cache."""
        return sum(_figures(call)[1] for call in self._calls)

    @property
    def hit_rate(self) -> float:
        """The read tokens divided by the sum of read and written tokens; nan if that sum is 0."""
        read, written = self.read, self.written
        return read / (read + written) if read + written else math.nan

    @property
    def by_model(self) -> dict[str, CacheSummary]:
        """Maps each model id in the requests to the summary of its calls, if one of these calls can use the cache."""
        calls: dict[str, list[Call]] = {}
        for call in self._calls:
            if use_of(call) is not None or any(_figures(call)):
                calls.setdefault(call.model_id, []).append(call)
        return {model_id: CacheSummary(of_model, self._note) for model_id, of_model in calls.items()}

    @property
    def rewrites(self) -> Rewrites:
        """The prefixes that calls wrote, although an earlier call had cached a prefix of that length.

        Calls whose cache use is uncertain are left out. If no call could use the cache, the result is empty and a note
        gives the reason, because then the empty result proves nothing.
        """
        if self._note is not None and (note := _nothing_cached(self._calls)) is not None:
            self._note(note)
        uses = [use for call in self._calls if (use := use_of(call)) is not None]
        users = {use.cache: _Users(use.cache) for use in uses}
        return Rewrites(found for use in uses if (found := _rewrite_of(use, users[use.cache])) is not None)

    def __repr__(self) -> str:
        rewritten = len(self.rewrites) if self._note is None else len(CacheSummary(self._calls).rewrites)
        return (
            f"<prompt cache: {self.read:,} tokens read, {self.written:,} written, hit rate {self.hit_rate:.2f}, "
            f"{counted(rewritten, 'rewrite')}>"
        )


class CacheReader(CacheOfCall):
    """Reads the cache use of a call, and the first difference of its prompt from an earlier prompt."""

    __slots__ = ()

    def used(self, call: Call) -> CacheUse:
        """Return the tokens that a call read and wrote, and the first difference of its prompt from an earlier one."""
        use = use_of(call)
        read, written = _figures(call)
        if use is None:
            return CacheUse(read, written, None, None, certain=True)
        use.cache.settle()
        compared = _compared(use, _Users(use.cache))
        parting = None if compared is None else parting_of(use, compared.earlier, compared.common)
        source = use.source.use.call.number if use.source is not None else None
        return CacheUse(read, written, parting, source, _is_certain(use))

    def lines(self, call: Call) -> list[str]:
        """Return the numbers of tokens that a call with a cachePoint read and wrote, and its rewrite."""
        use = use_of(call)
        if use is None or use.implicit:
            return []
        rewrite = _rewrite_of(use, _Users(use.cache))
        counted = f"{use.read:,} tokens read, {use.written:,} written"
        return [counted, *(str(rewrite).splitlines() if rewrite is not None else ())]


def _figures(call: Call) -> tuple[int, int]:
    """Return the numbers of tokens that a call read from the cache and wrote to it.

    For a recorded answer, these are the numbers in its usage.
    """
    if call.reply is not None and call.reply.plan.recorded is not None:
        usage: Mapping[str, Any] = (call.response.usage if call.response is not None else None) or {}
        return usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    use = use_of(call)
    return (0, 0) if use is None or has_failed(call) else (use.read, use.written)


class _Certain:
    """What a call stores once it is known that the use of the cache is certain."""


_CERTAIN: Final = _Certain()


def _is_certain(use: PromptUse) -> bool:
    """Whether the use of a call is certain, and that of the call whose prefix it reads, and so on.

    In a long conversation each call reads the prefix of the call before it. So the calls that are certain store this.
    It stays true: their answers have ended, and a call that the fake lets go only makes the chain shorter.
    """
    chain: list[Call] = []
    read: PromptUse | None = use
    while read is not None and read.call.of(_Certain) is None:
        if read.near or read.implicit or not _is_whole(read.call):
            return False
        chain.append(read.call)
        read = None if read.source is None else read.source.use
    for call in chain:
        call.keep(_Certain, _CERTAIN)
    return True


def _is_whole(call: Call) -> bool:
    # The response is stored, but events are made anew each time.
    return call.answered.outcome == "complete" and (call.response is not None or not call.events)


def _nothing_cached(calls: Sequence[Call]) -> Note | None:
    """Return a note with the reason why no call could use the cache.

    Return None if a call could use the cache, or if there are no calls.
    """
    uses = [use for call in calls if (use := use_of(call)) is not None]
    if not calls or any(use.cacheable and not use.implicit for use in uses):
        return None
    pointed = next((use for use in uses if not use.implicit), None)
    if pointed is None:
        conversations = [call for call in calls if call.operation in CONVERSATIONS and has_cache_point(call.items)]
        unknown = next((call for call in conversations if standing(call.stands_for).model is None), None)
        text = "no call to a model that is known to cache has a cachePoint."
        if unknown is not None:
            text = (
                f"nothing is known of the model behind {unknown.model_id}.\n"
                "If it caches, say which one it is with the setting converse_models."
            )
        text = f"nothing could be cached: {text}   More: converse-harness docs cache"
        return Note("cache_not_used", text, (unknown or calls[0]).number)
    tokens, least = pointed.prompt.tokens[max(pointed.prompt.points, default=0)], pointed.caching.minimum
    return Note(
        "cache_prefix_too_short",
        f"nothing could be cached: call {pointed.call.number} has about {tokens:,} tokens before its last cachePoint, "
        f"and {pointed.call.model_id} caches nothing below {least:,}.\n"
        "Short prompts of tests are cached with @pytest.mark.converse(cache_minimum=0).   "
        "More: converse-harness docs cache",
        pointed.call.number,
    )


class _Compared(NamedTuple):
    """The comparison of a call with an earlier call whose cached prefix the call should have read.

    `end` is the number of blocks of the longest prefix that the earlier call had cached. `common` is the number of
    equal blocks at the start of both prompts.
    """

    earlier: PromptUse
    end: int
    common: int


def _rewrite_of(use: PromptUse, users: _Users) -> Rewrite | None:
    """Return the Rewrite of the call with this cache use; None if the call rewrote nothing or the use is uncertain."""
    found = _compared(use, users) if use.written and _is_certain(use) else None
    if found is None or not _is_certain(found.earlier):
        return None
    earlier = found.earlier
    tokens = min(use.read + use.written, earlier.prompt.tokens[found.end]) - use.read
    if tokens <= 0:
        return None
    if found.common >= found.end:
        blocks = next((point for point in use.cacheable if point >= found.end), found.end) - found.end
        look_back = use.caching.look_back
        return Rewrite(use.call, earlier.call, tokens, "", None, "", "", blocks, look_back) if blocks else None
    parting = parting_of(use, earlier, found.common)
    return None if parting is None else Rewrite(use.call, earlier.call, tokens, *parting)


def _compared(use: PromptUse, users: _Users) -> _Compared | None:
    """Choose the earlier call with which a call is compared, and compare them; None if there is no such call.

    It is the nearest earlier call of the same conversation that cached something. A call whose tools or system prompt
    belong to another agent is passed over.
    """
    prompt = use.prompt
    parent = use.cache.parent(use.call)
    while parent is not None:
        earlier = use_of(parent)
        if earlier is not None and parent.model_id == use.call.model_id and (end := _cached(earlier, use)):
            common = max(0, prompt.common(earlier.prompt))
            same = common >= min(end, max(prompt.static, earlier.prompt.static))
            if same or not users.use_again(use, earlier):
                return _Compared(earlier, end, common)
        parent = use.cache.parent(parent)
    return None


def _cached(earlier: PromptUse, use: PromptUse) -> int:
    """Return the number of blocks of the longest prefix of `earlier` that was still cached at the time of `use`.

    Return 0 if no prefix was cached any more.
    """
    there = [end for end, each in earlier.prefixes.items() if each.born <= use.born and each.until > use.at]
    return max(there, default=0)
