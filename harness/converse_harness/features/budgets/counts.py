"""Count the calls of a test, or of a `with` block, and what they cost by each key of a budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from converse_harness.bedrock.request_items import RequestItems
from converse_harness.endpoint.call import SCRIPTED, Call, Calls, UsedTool
from converse_harness.endpoint.stage import Stage
from converse_harness.endpoint.stages import StagesOfFake
from converse_harness.notes import Note
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import HttpResponse

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint


class SpentOn(NamedTuple):
    """What one call added to a key of a budget: an amount, and the reason in a few words; "" if there is none."""

    call: Call
    amount: float = 1
    why: str = ""


class BudgetCount:
    """The calls for answers of models that came while a stage of this count was attached, and what they cost.

    Ask for the costs when the calls have ended: each is computed once.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        """The calls to all fakes, in the order of their arrival."""
        self.before: dict[int, RequestItems | None] = {}
        """Maps the `id()` of each call to the items of an earlier request that begins with the same messages."""
        self._spent: dict[str, Sequence[SpentOn]] = {}
        self._fakes: dict[int, Endpoint] = {}
        """Maps the `id()` of each call to its fake, which lives as long as this count."""

    def stage(self, endpoint: Endpoint) -> Stage:
        """Return a stage that counts the calls to one fake."""
        return _Counting(self, endpoint)

    def add(self, call: Call, endpoint: Endpoint) -> None:
        """Count a call that has just arrived. Any thread may call this."""
        self._fakes[id(call)] = endpoint
        self.before[id(call)] = call.items.before  # the call itself keeps it no longer than it runs
        self.calls.append(call)

    def spent(self, key: str) -> Sequence[SpentOn]:
        """Return what each call added to a key of a budget, in the order of arrival."""
        if key not in self._spent:
            found = [*_SPENT[key](self)]
            self._spent[key] = found if len(self.by_fake) < 2 else sorted(found, key=self._place)
        return self._spent[key]

    def label(self, call: Call) -> str:
        """Return the number of a call; with several fakes, after the number of its fake and a dot."""
        fakes = [*self.by_fake]
        return f"{fakes.index(id(self._fakes[id(call)])) + 1}.{call.number}" if len(fakes) > 1 else str(call.number)

    @cached_property
    def by_fake(self) -> Mapping[int, Sequence[Call]]:
        """The calls of each fake, by the `id()` of the fake, in the order of the first calls."""
        found: dict[int, list[Call]] = {}
        for call in self.calls:
            found.setdefault(id(self._fakes[id(call)]), []).append(call)
        return found

    @cached_property
    def retries(self) -> Mapping[int, Call]:
        """Maps the `id()` of each retry to the call that it repeats."""
        return {number: call for calls in self.by_fake.values() for number, call in _retries(calls)}

    @cached_property
    def tools_used(self) -> Sequence[UsedTool]:
        """The tools that the agent executed, those of one fake after those of the other."""
        return [used for calls in self.by_fake.values() for used in Calls(calls).tools_used]

    @cached_property
    def cache_notes(self) -> Sequence[Note]:
        """A note why no call could use the prompt cache, if it is so: then no rewrite proves nothing."""
        self.spent("rewrites")
        notes = [note for each in self.caches for note in each.noted]
        return notes[:1] if len(notes) == len(self.caches) else ()

    @cached_property
    def caches(self) -> Sequence[CacheOfCalls]:
        """The prompt cache of each fake."""
        return [CacheOfCalls(self._fakes[id(calls[0])], calls) for calls in self.by_fake.values()]

    def _place(self, spent: SpentOn) -> int:
        return self._places[id(spent.call)]

    @cached_property
    def _places(self) -> Mapping[int, int]:
        return {id(call): place for place, call in enumerate(self.calls)}


def _calls(count: BudgetCount) -> Iterator[SpentOn]:
    return (SpentOn(call) for call in count.calls if id(call) not in count.retries)


def _attempts(count: BudgetCount) -> Iterator[SpentOn]:
    for call in count.calls:
        first = count.retries.get(id(call))
        yield SpentOn(call, why="" if first is None else f"is a retry of call {count.label(first)}")


def _tool_calls(count: BudgetCount) -> Iterator[SpentOn]:
    return (SpentOn(used.call) for used in count.tools_used if used.call is not None)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True)
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _same_tool_again(count: BudgetCount) -> Iterator[SpentOn]:
    earlier: dict[tuple[int, str, str], list[UsedTool]] = {}
    roots: dict[int, Call] = {}
    for used in count.tools_used:
        if used.call is None:
            continue
        key = id(_root(used.call, roots)), str(used), _CANONICAL.encode(used.input)
        before = earlier.setdefault(key, [])
        # After an error, to try once more with the same input may be right; to go on so is a loop.
        is_retry = len(before) == 1 and before[0].failed
        if before and before[0].call is not None and not is_retry:
            first = count.label(before[0].call)
            yield SpentOn(used.call, why=f"asked {used} again with the input of call {first}")
        before.append(used)


def _characters(count: BudgetCount) -> Iterator[SpentOn]:
    known: dict[int, list[int]] = {}
    for call in count.calls:
        if id(call) in count.retries:
            continue
        items, before = call.items, count.before[id(call)]
        # An agent sends its whole conversation again with each call, so only the new messages are looked at.
        sums = known.get(id(before)) or [0]
        common = min(items.repeated, len(sums) - 1)
        if common < len(sums) - 1:  # another call went on from here: the list is its own
            sums = sums[: common + 1]
        for each in items.messages[common:]:
            sums.append(sums[-1] + each.once(_in_message))
        known[id(items)] = sums
        members = items.members
        system = members["system"].once(_in_blocks) if "system" in members else 0
        tools = members["toolConfig"].once(_in_tools) if "toolConfig" in members else 0
        yield SpentOn(call, system + tools + sums[-1])


def _rewrites(count: BudgetCount) -> Iterator[SpentOn]:
    for cache in count.caches:
        own = {id(call) for call in cache.calls}
        for each in cache.cache.rewrites if hasattr(cache, "cache") else ():  # without the stage, nothing is cached
            if id(each.call) in own:
                place, lines = each.summary.partition(": ")[2], str(each).splitlines()[1:]
                earlier = count.label(each.earlier) if id(each.earlier) in own else each.earlier.number
                why = f"wrote again what call {earlier} had cached: {place}"
                yield SpentOn(each.call, why="\n".join((why, *lines)))


def _waited(count: BudgetCount) -> Iterator[SpentOn]:
    for call in count.calls:
        pauses = call.of(_Pauses)
        if pauses is not None:
            yield SpentOn(call, pauses.received(len(call.answered.taken)))


_SPENT: Final[Mapping[str, Callable[[BudgetCount], Iterator[SpentOn]]]] = {
    "calls": _calls,
    "attempts": _attempts,
    "tool_calls": _tool_calls,
    "same_tool_again": _same_tool_again,
    "characters": _characters,
    "rewrites": _rewrites,
    "waited": _waited,
}
"""Maps each key of a budget to the function that computes what the calls add to it."""


class _Pauses(NamedTuple):
    """The pauses in the answer to a call, in seconds: those before the `given` chunks; or `first` and `each`."""

    wait: float
    first: float
    each: float
    given: tuple[float, ...]

    def received(self, chunks: int) -> float:
        """Return the sum of the pauses before the chunks that the client received."""
        if not chunks:
            return 0.0
        between = sum(self.given[:chunks]) if self.given else self.first + self.each * (chunks - 1)
        return self.wait + between


class _Counting(Stage):
    """Counts the calls to one fake. `received` and `sending` must be fast: all else is computed at the end."""

    def __init__(self, count: BudgetCount, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._count = count
        self._own = endpoint

    def received(self, call: Call) -> None:
        """Count a call that asks a model for an answer."""
        if call.operation in SCRIPTED:
            self._count.add(call, self._own)

    def sending(self, call: Call, reply: Reply, response: HttpResponse) -> HttpResponse:
        """Note the pauses in the answer."""
        pace, chunks = reply.plan.pace, response.chunks
        given = tuple([chunk.delay for chunk in chunks]) if isinstance(chunks, tuple) else ()
        if pace.first or pace.each or response.wait or any(given):
            call.keep(_Pauses, _Pauses(response.wait, pace.first, pace.each, given))
        return response


class CacheOfCalls(StagesOfFake):
    """The prompt cache of a fake that answered these calls. Its notes come into `noted`."""

    def __init__(self, endpoint: Endpoint, calls: Sequence[Call]) -> None:
        self.endpoint = endpoint
        self.calls = calls
        self.noted: list[Note] = []

    def _note(self, note: Note) -> None:
        self.noted.append(note)


def _root(call: Call, roots: dict[int, Call]) -> Call:
    """Return the first call of a conversation. `roots` are those that are known, by the `id()` of a call."""
    passed: list[Call] = []
    parent: Call | None = call
    while parent is not None and id(parent) not in roots:
        passed.append(parent)
        parent = parent.parent
    root = passed[-1] if parent is None else roots[id(parent)]
    roots.update({id(each): root for each in passed})
    return root


def _retries(calls: Sequence[Call]) -> Iterator[tuple[int, Call]]:
    """Yield the `id()` of each retry among the calls of one fake, with the call that it repeats."""
    failed: dict[Hashable, Call] = {}
    for before, call in zip((None, *calls), calls, strict=False):
        # A client without the header, and an agent that asks again by itself, send the same body.
        again = failed.pop(_request(call), None) if failed else None
        if again is None and call.attempt > 1:
            again = before
        if again is not None:
            yield id(call), again
        if _has_failed(call):
            failed[_request(call)] = call


def _request(call: Call) -> Hashable:
    items = call.items
    texts = [each.text for each in (*items.messages, *items.members.values())]
    return (call.model_id, *texts) if texts and all(texts) else (call.model_id, call.raw)


def _has_failed(call: Call) -> bool:
    """Whether the answer was an error or did not arrive as a whole. On a server it may still be on its way."""
    return call.status != HTTPStatus.OK or (call.outcome == "cut" and call.response is None)


def _compact(value: object) -> int:
    return len(_COMPACT.encode(value))


def _in_message(message: Mapping[str, Any]) -> int:
    return _in_blocks(message.get("content"))


def _in_tools(config: Mapping[str, Any]) -> int:
    return sum([_compact(tool) for tool in config.get("tools") or () if "cachePoint" not in tool])


def _in_blocks(blocks: Sequence[Mapping[str, Any]] | None) -> int:
    """Return the number of characters of text in content blocks of any kind; files and cachePoints have none."""
    found = 0
    for block in blocks or ():
        for kind, value in block.items():
            if kind in _TEXTS:
                found += _TEXTS[kind](value)
    return found


def _in_block(block: Mapping[str, Any]) -> int:
    return _in_blocks((block,))


def _in_content(value: Mapping[str, Any]) -> int:
    return _in_blocks(value.get("content"))


_TEXTS: Final[Mapping[str, Callable[[Any], int]]] = {
    # The text of a guardContent is an object with a text in it.
    "text": lambda value: len(value) if isinstance(value, str) else _in_block(value),
    "json": _compact,
    "toolUse": lambda value: _compact(value.get("input")),
    "toolResult": _in_content,
    "citationsContent": _in_content,
    "searchResult": _in_content,
    "guardContent": _in_block,
    "reasoningContent": _in_block,
    "reasoningText": _in_block,
}
"""Maps the members of content blocks that have text to functions that return its number of characters."""
