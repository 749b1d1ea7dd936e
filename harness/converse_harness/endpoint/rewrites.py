"""Report the use of the prompt cache: tokens read and written, and rewrites.

A rewrite is a prefix of a prompt that a call wrote to the cache, although an earlier call had cached a prefix of that
length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from converse_harness.bedrock.models import standing
from converse_harness.endpoint.cache import PromptUse, has_failed, use_of
from converse_harness.endpoint.call import CONVERSATIONS, CacheUse, Call, Parting
from converse_harness.endpoint.partings import is_used_again, parting_of
from converse_harness.endpoint.prompt import has_cache_point
from converse_harness.notes import Note
from converse_harness.secrets import mask

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


class Rewrites(tuple[Rewrite, ...]):
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
        return Rewrites(found for use in uses if (found := rewrite_of(use)) is not None)

    def __repr__(self) -> str:
        rewritten = len(self.rewrites) if self._note is None else len(CacheSummary(self._calls).rewrites)
        return (
            f"<prompt cache: {self.read:,} tokens read, {self.written:,} written, hit rate {self.hit_rate:.2f}, "
            f"{rewritten} rewrite{'s' * (rewritten != 1)}>"
        )


def cache_use(call: Call) -> CacheUse:
    """Return the tokens that a call read and wrote, and the first difference of its prompt from an earlier prompt."""
    use = use_of(call)
    read, written = _figures(call)
    if use is None:
        return CacheUse(read, written, None, None, certain=True)
    use.cache.settle()
    compared = _compared(use)
    parting = None if compared is None else parting_of(use, compared.earlier, compared.common)
    source = use.source.use.call.number if use.source is not None else None
    return CacheUse(read, written, parting, source, _is_certain(use))


def _figures(call: Call) -> tuple[int, int]:
    """Return the numbers of tokens that a call read from the cache and wrote to it.

    For a recorded answer, these are the numbers in its usage.
    """
    if call.reply is not None and call.reply.recorded is not None:
        usage: Mapping[str, Any] = (call.response.usage if call.response is not None else None) or {}
        return usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    use = use_of(call)
    return (0, 0) if use is None or has_failed(call) else (use.read, use.written)


def _is_certain(use: PromptUse) -> bool:
    answered = use.call.answered
    whole = answered.outcome == "complete" and (not use.call.events or use.call.response is not None)
    return whole and not use.near and not use.implicit and (use.source is None or _is_certain(use.source.use))


def _nothing_cached(calls: Sequence[Call]) -> Note | None:
    """Return a note with the reason why no call could use the cache.

    Return None if a call could use the cache, or if there are no calls.
    """
    uses = [use for call in calls if (use := use_of(call)) is not None]
    if not calls or any(use.cacheable and not use.implicit for use in uses):
        return None
    pointed = next((use for use in uses if not use.implicit), None)
    if pointed is None:
        conversations = [call for call in calls if call.operation in CONVERSATIONS and has_cache_point(call)]
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


def rewrite_of(use: PromptUse) -> Rewrite | None:
    """Return the Rewrite of the call with this cache use; None if the call rewrote nothing or the use is uncertain."""
    found = _compared(use) if use.written and _is_certain(use) else None
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


def _compared(use: PromptUse) -> _Compared | None:
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
            if same or not is_used_again(use, earlier):
                return _Compared(earlier, end, common)
        parent = use.cache.parent(parent)
    return None


def _cached(earlier: PromptUse, use: PromptUse) -> int:
    """Return the number of blocks of the longest prefix of `earlier` that was still cached at the time of `use`.

    Return 0 if no prefix was cached any more.
    """
    there = [end for end, each in earlier.prefixes.items() if each.born <= use.born and each.until > use.at]
    return max(there, default=0)
