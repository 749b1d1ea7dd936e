"""The prompt cache of one fake. For each request, it counts the tokens that were read, written, or not cached.

A prefix of a request is cached if it has enough tokens and a cachePoint follows. A later request reads the prefix if
the request has the same model id, begins with the same blocks (tools, system, messages, in this order), and has a
cachePoint shortly after these blocks. Other requests can read a prefix as soon as the client has received the first
event of the answer to the request that wrote it. A prefix expires after five minutes or an hour on the fake's own
clock, and each read renews it. Token counts are estimates: it is uncertain whether AWS would cache a prefix of about
the minimum length. docs/cache.md lists the known facts and their sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from threading import Lock
from typing import Final

from converse_harness.bedrock.models import Caching, standing
from converse_harness.bedrock.request_items import has_cache_point
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.prompt_cache.blocks import Prompt, prompt_of
from converse_harness.errors import ReplyError
from converse_harness.stream.grammar import is_exception, kind

LASTS: Final[Mapping[str, float]] = {"5m": 300.0, "1h": 3600.0}
"""The lifetime of a prefix in seconds, by the ttl of its cachePoint."""

_DOUBT: Final = 0.15
"""The assumed relative error of token estimates.

Caching is uncertain if an estimated number of tokens differs from the model's minimum by at most this fraction of the
minimum.
"""


@dataclass(slots=True, eq=False)
class CachedPrefix:
    """One cached prefix.

    `use` is the PromptUse that wrote the prefix, `lasts` is its lifetime in seconds. The prefix expires at `until` on
    the fake's clock. `born` is the prefix's number in the order of writing, counted from 1. `last` is the number of the
    last call that read or wrote the prefix.
    """

    use: PromptUse
    lasts: float
    until: float
    born: int
    last: int


@dataclass(slots=True, eq=False)
class PromptUse:
    """One call's use of the cache. `read`, `written` and `rest` are numbers of input tokens: read, written, not cached.

    `source` is the prefix that the call reads; None if it reads none. `details` contains the number of written tokens
    for each ttl. `at` is the time of the call on the fake's clock. `born` is the number of prefixes that were written
    before the call. `cacheable` contains the number of blocks before each cachePoint whose prefix has enough tokens.
    `near` is true if a prefix is so close to the model's minimum of tokens that caching is uncertain. `implicit` is
    true if the request has no cachePoint and the model caches on its own. `prefixes` contains the prefixes that the
    call wrote or renewed, by their numbers of blocks; it is empty until the answer begins.
    """

    cache: PromptCache = field(repr=False)
    call: Call
    prompt: Prompt
    caching: Caching
    at: float
    born: int
    rest: int
    read: int = 0
    written: int = 0
    source: CachedPrefix | None = None
    details: tuple[tuple[str, int], ...] = ()
    cacheable: tuple[int, ...] = ()
    near: bool = False
    implicit: bool = False
    prefixes: dict[int, CachedPrefix] = field(default_factory=dict[int, CachedPrefix])


def use_of(call: Call) -> PromptUse | None:
    """Return the cache use of a call; None if the request or the model uses no cache."""
    return call.of(PromptUse)


class PromptCache:
    """The prefixes that one fake has cached, and the fake's clock (`now`), which counts seconds from 0.

    `parent` is a function that returns the earlier call that a call continues. `minimum` replaces every model's own
    minimum of tokens; None replaces nothing.

    Calls of several threads are answered at the same time, outside the fake's lock, because scripted functions run
    there. So the cache has a lock of its own, under which no code of the user runs.
    """

    def __init__(self, parent: Callable[[Call], Call | None], minimum: int | None = None) -> None:
        self.minimum = minimum
        self.now = 0.0
        self.uses: list[PromptUse] = []
        self.parent = parent
        self._born = 0
        self._prefixes: dict[bytes, CachedPrefix] = {}
        self._answered: list[tuple[PromptUse, float, float]] = []
        self._lock = Lock()

    def use(self, call: Call) -> PromptUse | None:
        """Return the PromptUse of a new call; None if the request or the model uses no cache."""
        known = standing(call.stands_for).model
        caching = None if known is None else known.caching
        if known is None or caching is None or call.operation not in SCRIPTED:
            return None
        implicit = not has_cache_point(call.items)
        if implicit and not caching.implicit:
            return None
        prompt = prompt_of(call.items, call.model_id, known, caching)
        if self.minimum is not None:
            caching = replace(caching, minimum=self.minimum)
        rest = max(1, prompt.tokens[-1])
        with self._lock:
            self._settle()
            use = PromptUse(self, call, prompt, caching, self.now, self._born, rest, implicit=implicit)
            self._count(use, {len(prompt.ends) - 1: "5m"} if implicit else prompt.points)
            self.uses.append(use)
        return use

    def answered(self, use: PromptUse, first: float, more: float) -> None:
        """Register the answer to a call.

        `first` is the pause before the first event of the answer, `more` is the sum of the later pauses, both in
        seconds. Other calls can read the prefixes of this call as soon as the client has received an event of the
        answer.
        """
        with self._lock:
            self._answered.append((use, first, more))

    def later(self, seconds: float) -> None:
        """Advance the fake's clock by `seconds`. Raises ReplyError unless the number is positive."""
        if not seconds > 0:
            raise ReplyError(
                f"later() lets {seconds:g} seconds go by; it takes more than none, minutes=6 for instance."
            )
        with self._lock:
            self._settle()
            self.now += seconds

    def forget(self, number: int) -> None:
        """Drop the calls with numbers up to `number`, and the prefixes that no later call has read or written."""
        with self._lock:
            for use in self.uses:
                if use.call.number <= number:
                    use.source = None  # otherwise each use would keep the earlier use alive in memory
                    use.prefixes = {}
            self.uses = [use for use in self.uses if use.call.number > number]
            self._prefixes = {end: each for end, each in self._prefixes.items() if each.last > number}

    def settle(self) -> None:
        """Store the prefixes of calls whose answers have begun. Advance the clock by the pauses in these answers."""
        with self._lock:
            self._settle()

    def _settle(self) -> None:
        waiting: list[tuple[PromptUse, float, float]] = []
        for use, first, more in self._answered:
            answered = use.call.answered
            # In this order: another thread may take the answer and end it between the two.
            is_running, is_taken = answered.outcome == "still running", bool(answered.taken)
            if is_taken and not has_failed(use.call):
                self._keep(use, self.now + first)
                self.now = self.now + first + more
            elif is_running and not is_taken:
                waiting.append((use, first, more))
        self._answered = waiting

    def _keep(self, use: PromptUse, begun: float) -> None:
        if use.source is not None:
            use.source.until = max(use.source.until, begun + use.source.lasts)
            use.source.last = max(use.source.last, use.call.number)
        prefixes = dict[int, CachedPrefix]()
        for point in use.cacheable:
            end, lasts = use.prompt.ends[point], LASTS.get(use.prompt.points.get(point, "5m"), LASTS["5m"])
            found = self._prefixes.get(end)
            if found is None or found.until <= use.at:
                self._born += 1
                found = CachedPrefix(use, lasts, begun + lasts, self._born, use.call.number)
                self._prefixes[end] = found
            found.until = max(found.until, begun + found.lasts)
            found.last = max(found.last, use.call.number)
            prefixes[point] = found
        use.prefixes = prefixes  # at once, because readers of `prefixes` do not hold the lock

    def _count(self, use: PromptUse, points: Mapping[int, str]) -> None:
        tokens, least = use.prompt.tokens, use.caching.minimum
        use.near = _is_near(tokens[max(points, default=0)], least)
        use.cacheable = tuple(point for point in points if point and tokens[point] >= least)
        if not use.cacheable:
            return
        look_back = len(tokens) if use.implicit else use.caching.look_back
        found = (self._longest(use, point, look_back) for point in use.cacheable)
        read_end, use.source = max(found, key=itemgetter(0))
        use.read, written_end = tokens[read_end], use.cacheable[-1]
        use.near = use.near or (use.read > 0 and _is_near(use.read, least))
        use.written = tokens[written_end] - use.read
        use.rest = max(1, tokens[-1] - tokens[written_end])
        use.details = _details({point: tokens[point] for point in use.cacheable}, points, use.read)

    def _longest(self, use: PromptUse, point: int, look_back: int) -> tuple[int, CachedPrefix | None]:
        """Find the longest cached prefix that the request can read at the cachePoint after `point` blocks.

        The prefix must end fewer than `look_back` blocks before this cachePoint. Return its number of blocks, and the
        prefix itself; 0 and None if there is none.
        """
        for end in range(point, max(point - look_back, 0), -1):
            found = self._prefixes.get(use.prompt.ends[end])
            if found is not None and found.until > use.at:
                return end, found
        return 0, None


def has_failed(call: Call) -> bool:
    """Whether the answer is an HTTP error or starts with an exception.

    Such a call neither reads nor writes the cache.
    """
    first = next(call.answered.taken.events, None)
    return call.status != 200 or (first is not None and is_exception(kind(first.event)))


def _is_near(tokens: int, least: int) -> bool:
    return abs(tokens - least) <= _DOUBT * least


def _details(cached: Mapping[int, int], points: Mapping[int, str], read: int) -> tuple[tuple[str, int], ...]:
    """Return the number of written tokens for each ttl. The first `read` tokens were read and not written.

    `cached` maps the number of blocks before a cachePoint to the number of their tokens, `points` maps it to the ttl.
    The ttl of a cachePoint applies to the blocks after the previous cachePoint.
    """
    found: Counter[str] = Counter()
    before = read
    for point, tokens in sorted(cached.items()):
        if tokens > before:
            found[points[point]] += tokens - before
            before = tokens
    return tuple(found.items())
