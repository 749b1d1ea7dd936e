"""Search for the smallest script with which the same is found: delta debugging over turns, blocks, members and texts.

Nothing is left to chance: the same script and the same answers of `is_found` give the same result.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from converse_harness.features.shrink import parts
from converse_harness.json_values import is_object, member_of, object_of
from converse_harness.plugin.reruns.finished import ScriptTurn
from converse_harness.reply.body import EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.reply.source import code_of
from converse_harness.stream.assemble import text_delta
from converse_harness.stream.grammar import is_exception

_T = TypeVar("_T")

_WORDS: Final = re.compile(r"\s*\S+|\s+")

_LEAST: Final = ("", parts.LEAST_TEXT)
"""The texts that are tried first in place of a text; those that are not shorter are left out."""


class OutOfTime(Exception):
    """Raised if the time of a search is over."""


class ScriptSearch:
    """A search. `turns` is the smallest script so far with which the same is found, and `tried` the number of tries.

    `is_found` runs the test with a script. `schemas` maps the names of tools to their schemas. The search begins no try
    after `until`, a time of `time.monotonic()`; then `finished` stays false. `told` is called after each try.
    """

    def __init__(
        self,
        turns: Sequence[ScriptTurn],
        is_found: Callable[[Sequence[ScriptTurn]], bool],
        *,
        schemas: Mapping[str, object],
        until: float,
        told: Callable[[ScriptSearch], object] = lambda _: None,
    ) -> None:
        self.turns = tuple(turns)
        self.tried = 0
        self.finished = False
        self._is_found = is_found
        self._schemas = schemas
        self._until = until
        self._told = told
        self._seen: set[tuple[tuple[int, str], ...]] = set()
        self._codes: dict[int, tuple[Reply, str]] = {}

    def run(self) -> None:
        """Make the script smaller until nothing more can be left out, or until the time is over."""
        try:
            self._fewest([*self.turns], self._try, least=1)
            self._make_plain()
            before: tuple[tuple[int, str], ...] = ()
            while before != self._key(self.turns):
                before = self._key(self.turns)
                self._fewest([*self.turns], self._try, least=1)
                for at in reversed(range(len(self.turns))):
                    self._shrink_reply(at)
            self.finished = True
        except OutOfTime:
            pass

    # The functions below try a smaller script.

    def _try(self, turns: Sequence[ScriptTurn]) -> bool:
        """Whether the same is found with other turns, which are smaller and not yet tried. If it is, keep them."""
        key = self._key(turns)
        if key in self._seen or not turns or _size(key) >= _size(self._key(self.turns)):
            return False
        if time.monotonic() >= self._until:
            raise OutOfTime
        self._seen.add(key)
        self.tried += 1
        found = self._is_found(turns)
        if found:
            self.turns = tuple(turns)
        self._told(self)
        return found

    def _key(self, turns: Sequence[ScriptTurn]) -> tuple[tuple[int, str], ...]:
        return tuple((turn.origin, self._code(turn.reply)) for turn in turns)

    def _code(self, reply: Reply) -> str:
        """Return the code that makes a reply. Replies are compared by it; one that is known as bytes is itself only."""
        known = self._codes.get(id(reply))
        if known is None:
            code = code_of(reply)
            recorded = reply.plan.recorded is not None
            # a reply with recorded bytes is larger than the same reply without them
            known = self._codes[id(reply)] = reply, f"{code}{id(reply.plan):020}" if recorded else code
        return known[1]

    def _put(self, at: int, reply: Reply | None) -> bool:
        """Whether the same is found with another reply in one turn."""
        if reply is None:
            return False
        return self._try([*self.turns[:at], self.turns[at]._replace(reply=reply), *self.turns[at + 1 :]])

    def _own(self, at: int) -> Reply:
        return self.turns[at].reply

    def _make_plain(self) -> None:
        """Make as many replies as possible as plain as possible at once. This saves most of the single steps."""
        turns = self.turns
        made = [parts.plainest(turn.reply, self._schemas) if not parts.is_whole(turn.reply) else None for turn in turns]
        plain = [turn if reply is None else turn._replace(reply=reply) for turn, reply in zip(turns, made, strict=True)]

        def try_with(kept: Sequence[int]) -> bool:
            return self._try([turns[at] if at in kept else plain[at] for at in range(len(turns))])

        self._fewest([*range(len(turns))], try_with)

    def _fewest(self, items: list[_T], is_enough: Callable[[Sequence[_T]], bool], *, least: int = 0) -> list[_T]:
        """Leave out ranges of items, large ones first, and return what is left when no single item can be left out.

        `is_enough` returns whether the same is found with some of the items.
        """
        if len(items) > least == 0 and is_enough([]):
            return []
        size = max(1, len(items) // 2)
        while True:
            at, shorter = 0, False
            while at < len(items):
                rest = [*items[:at], *items[at + size :]]
                if len(rest) >= least and is_enough(rest):
                    items, shorter = rest, True
                else:
                    at += size
            if size == 1 and not shorter:
                return items
            size = max(1, size // 2)

    # The functions below make one reply smaller.

    def _shrink_reply(self, at: int) -> None:
        if parts.is_whole(self._own(at)):
            return
        for number in reversed(range(len(parts.ends_of(self._own(at))))):
            self._put(at, parts.without_end(self._own(at), number))
        shorter = True
        while shorter:
            shorter = any(self._put(at, form) for form in parts.forms_of(self._own(at)))
        if isinstance(self._own(at).plan.body, MessageBody):
            self._shrink_message(at)
        else:
            self._shrink_events(at)
        self._shrink_positions(at)

    def _shrink_positions(self, at: int) -> None:
        """Move what breaks or fails the reply towards the begin."""
        for number, (name, arguments, options) in enumerate(parts.ends_of(self._own(at))):
            own = self._own(at)
            ends = parts.ends_of(own)
            bare = Reply(type(own.plan)(own.plan.body))
            if "after" in options:
                for after in sorted({0, options["after"] // 2, options["after"] - 1}):
                    ends[number] = name, arguments, {**options, "after": after}
                    if after >= 0 and self._put(at, parts.with_ends(bare, ends, own.plan.misfits)):
                        break
            elif arguments and type(arguments[0]) is int:
                for after in sorted({0, arguments[0] // 2, arguments[0] - 1}):
                    ends[number] = name, [after, *arguments[1:]], options
                    if after >= 0 and self._put(at, parts.with_ends(bare, ends, own.plan.misfits)):
                        break

    def _shrink_message(self, at: int) -> None:
        own, body = self._own(at), _message(self._own(at))
        self._fewest([*range(len(body.content))], lambda kept: self._put(at, parts.with_blocks(own, kept)), least=1)
        options = _message(self._own(at)).options
        self._shrink_value(options, lambda given: self._put(at, parts.message_with(self._own(at), options=given)))
        for index in range(len(_message(self._own(at)).content)):
            self._shrink_pieces(at, index)
            self._shrink_block(at, index)

    def _shrink_pieces(self, at: int, index: int) -> None:
        """Join the pieces in which a block is sent."""
        pieces = (_message(self._own(at)).pieces or {}).get(index)
        if pieces is None:
            return
        block = _message(self._own(at)).content[index]
        if self._put(at, parts.with_block(self._own(at), index, block)):
            return

        def joined(cuts: Sequence[int]) -> list[str]:
            return ["".join(pieces[start:end]) for start, end in zip([0, *cuts], [*cuts, len(pieces)], strict=True)]

        self._fewest(
            [*range(1, len(pieces))],
            lambda cuts: self._put(at, parts.with_block(self._own(at), index, block, joined(cuts))),
        )

    def _shrink_block(self, at: int, index: int) -> None:
        block = _message(self._own(at)).content[index]

        def put(other: Any) -> bool:
            return is_object(other) and self._put(at, parts.with_block(self._own(at), index, other))

        text, tool = block.get("text"), object_of(block.get("toolUse"))
        if text == parts.LEAST_TEXT:
            return
        if isinstance(text, str):
            self._shrink_text(text, lambda other: put({"text": other}), least=_LEAST[::-1])
        elif is_object(tool.get("input")):
            schema = self._schemas.get(str(tool.get("name")))
            put({"toolUse": {**tool, "input": parts.least_input(str(tool.get("name")), self._schemas)}})
            tool = object_of(_message(self._own(at)).content[index].get("toolUse"))
            self._shrink_value(tool["input"], lambda given: put({"toolUse": {**tool, "input": given}}), schema)
            tool = object_of(_message(self._own(at)).content[index].get("toolUse"))
            # the code under test and the request know the name of the tool
            named = {name: value for name, value in tool.items() if name in ("name", "input")}
            others = {name: value for name, value in tool.items() if name not in named}
            self._shrink_value(others, lambda rest: put({"toolUse": {**named, **object_of(rest)}}))
        elif parts.has_usual_signature(block):
            thought = object_of(member_of(block, "reasoningContent", "reasoningText"))
            self._shrink_text(
                thought["text"], lambda other: put({"reasoningContent": {"reasoningText": {**thought, "text": other}}})
            )
        else:
            self._shrink_value(block, put)

    def _shrink_events(self, at: int) -> None:
        body = self._own(at).plan.body
        assert isinstance(body, EventsBody)

        def put(events: Sequence[Mapping[str, Any]]) -> bool:
            return self._put(at, parts.events_with(self._own(at), events))

        put(parts.merged(body.events))
        if not body.strict:  # what is wrong with other events is a fault, which stays as it is
            self._shrink_deltas(at, put)
            return
        self._fewest(parts.in_blocks(_events(self._own(at))), lambda groups: put(parts.numbered(groups)))
        self._fewest([*_events(self._own(at))], put)
        for index in range(len(_events(self._own(at)))):
            events = _events(self._own(at))
            before, event, after = events[:index], events[index], events[index + 1 :]
            if is_exception(next(iter(event), "")):  # an error that was scripted stays as it is
                continue

            def put_event(other: Any, before: Any = before, after: Any = after) -> bool:
                return is_object(other) and len(other) == 1 and put([*before, other, *after])

            self._shrink_value(event, put_event)

    def _shrink_deltas(self, at: int, put: Callable[[Sequence[Mapping[str, Any]]], bool]) -> None:
        for index in range(len(_events(self._own(at)))):
            events = _events(self._own(at))
            found = text_delta(dict(events[index]))
            if found is not None:

                def put_text(text: str, events: Any = events, index: int = index, found: Any = found) -> bool:
                    other = parts.delta_with(events[index], (*found[:2], text))
                    return put([*events[:index], other, *events[index + 1 :]])

                self._shrink_text(found[2], put_text)

    # The functions below make one value of JSON smaller. `put` returns whether the same is found with another value.

    def _shrink_value(self, value: Any, put: Callable[[Any], bool], schema: object = None) -> Any:
        """Return the smallest value that was found; `schema` is what the value must satisfy, if this is known."""
        least = parts.least_of(schema)
        if least is not None and type(least) is type(value) and least != value and put(least):
            value = least
        if isinstance(value, str):
            return self._shrink_text(value, put)
        if isinstance(value, bytes):
            return next((each for each in (b"", b".") if len(each) < len(value) and put(each)), value)
        if is_object(value):
            return self._shrink_members(value, put, schema)
        if isinstance(value, list | tuple):
            return self._shrink_items([*value], put, schema)
        if type(value) in (int, float):
            return self._shrink_number(value, put)
        return value

    def _shrink_members(self, value: Mapping[str, Any], put: Callable[[Any], bool], schema: object) -> Any:
        names = self._fewest([*value], lambda kept: put({name: value[name] for name in kept}))
        members = {name: value[name] for name in names}
        for name in names:

            def put_member(other: Any, name: str = name) -> bool:
                return put({**members, name: other})

            members[name] = self._shrink_value(members[name], put_member, member_of(schema, "properties", name))
        return members

    def _shrink_items(self, value: list[Any], put: Callable[[Any], bool], schema: object) -> Any:
        items = self._fewest(value, lambda kept: put([*kept]))
        for at in range(len(items)):

            def put_item(other: Any, at: int = at) -> bool:
                return put([*items[:at], other, *items[at + 1 :]])

            items[at] = self._shrink_value(items[at], put_item, member_of(schema, "items"))
        return items

    def _shrink_text(self, value: str, put: Callable[[str], bool], *, least: Sequence[str] = _LEAST) -> str:
        for each in least:
            if len(each) < len(value) and put(each):
                return each
        words: list[str] = _WORDS.findall(value)
        if len(words) > 1:
            words = self._fewest(words, lambda kept: put("".join(kept)), least=1)
        return "".join(self._fewest([*"".join(words)], lambda kept: put("".join(kept)), least=1)) if value else value

    def _shrink_number(self, value: float, put: Callable[[float], bool]) -> float:
        """Return a number nearer to 0: 0, 1, or what is left after halves are taken, and then one less."""
        for least in (0, 1):
            if abs(value) > least and put(least):
                return least
        while abs(value) > 1:
            smaller = next((each for each in (int(value / 2), int(value) - 1) if each != value and put(each)), None)
            if smaller is None:
                return value
            value = smaller
        return value


def _message(reply: Reply) -> MessageBody:
    body = reply.plan.body
    assert isinstance(body, MessageBody)
    return body


def _events(reply: Reply) -> tuple[Mapping[str, Any], ...]:
    body = reply.plan.body
    assert isinstance(body, EventsBody)
    return body.events


def _size(key: Sequence[tuple[int, str]]) -> tuple[int, int, Sequence[tuple[int, str]]]:
    """Return what orders scripts: the number of turns, the length of their code, and then the code itself."""
    return len(key), sum(len(code) for _, code in key), key
