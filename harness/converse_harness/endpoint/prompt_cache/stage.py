"""The stage of the prompt cache, and the members of a Fake that stand on it."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from converse_harness.bedrock.families import family_of
from converse_harness.bedrock.models import COUNTERS, READ, cache_counters
from converse_harness.endpoint.call import SCRIPTED, CacheOfCall, Call
from converse_harness.endpoint.prompt_cache.cache import PromptCache, PromptUse
from converse_harness.endpoint.prompt_cache.rewrites import CacheReader, CacheSummary
from converse_harness.endpoint.stage import MembersOfStage, Stage
from converse_harness.errors import ReplyError
from converse_harness.notes import Note
from converse_harness.reply.body import ErrorBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import HttpResponse

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint

_READER: Final = CacheReader()


class PromptCaching(Stage):
    """Counts the tokens that each call reads from the prompt cache and writes to it. `cache` has a lock of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.cache = PromptCache(attrgetter("parent"), endpoint.cache_minimum)

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Find the prefixes that the call can read now: its prompt arrived before any later answer begins."""
        if reply is None or call.operation not in SCRIPTED:
            return
        use = self.cache.use(call)
        if use is not None:
            call.keep(PromptUse, use)
        if use is not None or reply.plan.recorded is not None:  # otherwise there are no tokens to be read
            call.keep(CacheOfCall, _READER)

    def usage(self, call: Call, counted: dict[str, Any]) -> None:
        """Set the counters of the cache. A model that caches without a cachePoint counts all tokens as normal input."""
        use = call.of(PromptUse)
        if use is None:
            return
        if use.implicit:
            counted["inputTokens"] = max(1, use.prompt.tokens[-1])
            return
        counted["inputTokens"] = use.rest
        keys = [key for key in COUNTERS if key in counted]
        counted.update({key: use.read if key in READ else use.written for key in keys})
        if keys and use.written and cache_counters(call.stands_for, call.operation).details:
            counted["cacheDetails"] = [{"inputTokens": tokens, "ttl": ttl} for ttl, tokens in use.details]

    def sending(self, call: Call, reply: Reply, response: HttpResponse) -> HttpResponse:
        """Let other calls read the prefixes of this call as soon as the client has received an event of the answer."""
        use, body = call.of(PromptUse), reply.plan.body
        if use is None or response.status != 200 or response.failure is not None or isinstance(body, ErrorBody):
            return response
        pace = reply.plan.pace
        more = pace.each * reply.plan.later_events(family_of(call.stands_for)) if pace.each else 0.0
        self.cache.answered(use, pace.first, more)
        return response

    def forgotten(self, call: Call) -> None:
        """Forget the calls that the fake has dropped, `keep_calls` of them at a time, because this takes long."""
        kept = self.endpoint.keep_calls
        if kept and not self.endpoint.received % kept:
            self.cache.forget(self.endpoint.received - kept)


class CacheOfFake(MembersOfStage):
    """The members of a Fake that stand on the prompt cache."""

    @property
    def cache(self) -> CacheSummary:
        """The calls' use of the prompt cache: tokens read and written, and prefixes that were written repeatedly."""
        with self.endpoint.lock:
            self.endpoint.stage(PromptCaching).cache.settle()
            return CacheSummary(list(self.endpoint.calls), self._note)

    def _note(self, note: Note) -> None:
        if note.kind not in [each.kind for each in self.endpoint.notes]:
            self.endpoint.notes.append(note)

    def later(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Advance the fake's own clock by this duration, so that cached prefixes expire.

        Raises ReplyError unless the duration is more than 0.
        """
        for name, value in (("hours", hours), ("minutes", minutes), ("seconds", seconds)):
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise ReplyError(f"later({name}={value!r}): it is a number of {name}, 0 or more, as later(minutes=6).")
        with self.endpoint.lock:
            self.endpoint.stage(PromptCaching).cache.later(3600 * hours + 60 * minutes + seconds)
