"""Every single part that can be left out of a script, and what becomes of a test then. Nothing of the leaf is used."""

from __future__ import annotations

import linecache
import signal
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final

from converse_harness import Reply, fake_converse, reply
from converse_harness.bedrock.families import UNNAMED_TOOL_USE, USUAL_SIGNATURE
from converse_harness.bedrock.fit import BY_NAME
from converse_harness.errors import ConverseHarnessError
from converse_harness.json_values import is_array, is_object
from converse_harness.reply.body import EventsBody, MessageBody
from converse_harness.stream.chunk import default_stop_reason

LIMIT: Final = 3.0
"""Seconds after which a test that hangs is ended. Forty turns take less, also on a busy machine."""

_FILLED_IN = (("toolUse", "toolUseId", UNNAMED_TOOL_USE), ("reasoningText", "signature", USUAL_SIGNATURE))


@dataclass
class Seen:
    """How a test ended, and what Bedrock would not do in it. A test that was at its time limit has no line."""

    error: str
    line: tuple[str, int] | None
    hangs: bool
    illegal: Counter[str]

    def is_as(self, other: Seen) -> bool:
        """Whether the failure is the same, and no more is illegal."""
        own, others = (self.error, self.line, self.hangs), (other.error, other.line, other.hangs)
        return own == others and self.illegal <= other.illegal


def seen_with(source: Path, agent: Path, replies: Sequence[Reply]) -> Seen:
    """Run the function `test_it` of a file with a script of these replies, whatever it scripts itself."""

    class Scripting:
        def script(self, *given: Reply) -> None:
            del given

    error: BaseException | None = None
    with fake_converse(*replies, unused="allow") as fake:
        try:
            names: dict[str, Any] = {}
            exec(compile(agent.read_text(), str(agent), "exec"), names)
            lines = source.read_text().replace("from agent import *", "")
            exec(compile(lines, str(source), "exec"), names)
            linecache.clearcache()
            with _limited():
                names["test_it"](Scripting())
        except BaseException as raised:  # noqa: BLE001 - also what pytest.fail raises
            error = raised
        problems = [*fake.endpoint.problems]
        fake.endpoint.problems.clear()
        illegal = Counter(call.refusal.rule.name for call in fake.calls if call.refusal is not None)
        illegal.update(note.kind for note in fake.endpoint.notes if note.kind in BY_NAME)
    lines_of = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__ if error else None)]
    own = [each for each in lines_of if each[0] in (str(source), str(agent))]
    told = type(problems[0] if problems else error).__name__
    hangs = isinstance(error, _Hangs)
    return Seen(told, own[-1] if own and not hangs else None, hangs, illegal)


class _Hangs(BaseException):
    """What ends a test at its time limit: no Exception, so that an agent that catches all of them ends too."""


@contextmanager
def _limited() -> Generator[None]:
    def stop(*_: object) -> None:
        raise _Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def removals(replies: Sequence[Reply]) -> Iterator[tuple[str, list[Reply]]]:
    """Yield each script without one turn, block or member that AWS's API model allows, with what was left out."""
    for at, own in enumerate(replies):
        before, after = [*replies[:at]], [*replies[at + 1 :]]
        if before or after:
            yield f"turn {at}", [*before, *after]
        for what, smaller in _smaller(own):
            yield f"turn {at}: {what}", [*before, smaller, *after]


def _smaller(own: Reply) -> Iterator[tuple[str, Reply]]:
    body = own.plan.body
    made: Iterator[tuple[str, Reply | None]] = iter(())
    if isinstance(body, MessageBody):
        made = _smaller_messages(own, body)
    elif isinstance(body, EventsBody):
        made = ((what, _events(each, body)) for what, each in _without_a_member([*body.events], "events"))
    for what, smaller in made:
        if smaller is not None:
            yield what, smaller


def _smaller_messages(own: Reply, body: MessageBody) -> Iterator[tuple[str, Reply | None]]:
    content, stop = [*body.content], body.stop_reason
    for index in range(len(content)) if len(content) > 1 else ():
        kept = [block for at, block in enumerate(content) if at != index]
        usual = stop == default_stop_reason(content)
        yield f"block {index}", _message(own, kept, body.options, None if usual else stop)
    for what, blocks in _without_a_member(content, "content"):
        if blocks:
            yield what, _message(own, blocks, body.options, stop)
    for what, options in _without_a_member(dict(body.options), "options"):
        yield what, _message(own, content, options, stop)
    if own.plan.failure is not None or own.plan.placements:
        yield "fault", _message(own, content, body.options, stop, ends=False)


def _events(events: Sequence[Mapping[str, Any]], body: EventsBody) -> Reply | None:
    try:
        return reply.events(events, strict=body.strict)
    except (ConverseHarnessError, LookupError):
        return None


_KEYWORDS = {"additionalModelResponseFields": "additional", "serviceTier": "service_tier"}


def _message(
    own: Reply, content: Sequence[Mapping[str, Any]], options: Mapping[str, Any], stop: str | None, ends: bool = True
) -> Reply | None:
    body = own.plan.body
    assert isinstance(body, MessageBody)
    given: dict[str, Any] = {_KEYWORDS.get(name, name): value for name, value in options.items()}
    same = len(content) == len(body.content)
    pieces = {at: each for at, each in (body.pieces or {}).items() if same and content[at] == body.content[at]}
    try:
        made = reply.message(*content, stop_reason=stop, pieces=pieces or None, strict=body.strict, **given)
        failure = own.plan.failure if ends else None
        if failure is not None:
            most = len([*made.events()]) - 1
            (members,) = failure.event.values()
            made = made.fails_after(min(failure.after, most), failure.name, members["message"], strict=False)
        for placement in own.plan.placements if ends else ():
            made = made.broken(placement.fault)
    except (ConverseHarnessError, LookupError, TypeError, ValueError):
        return None
    return made


def _without_a_member(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a value of JSON without one of its members or items, at any depth."""
    if is_object(value):
        for name, member in value.items():
            if not any(path.endswith(of) and name == key and member == usual for of, key, usual in _FILLED_IN):
                yield f"{path}.{name}", {key: each for key, each in value.items() if key != name}
            for what, smaller in _without_a_member(member, f"{path}.{name}"):
                yield what, {**value, name: smaller}
    elif is_array(value):
        for at, item in enumerate(value):
            yield f"{path}[{at}]", [*value[:at], *value[at + 1 :]]
            for what, smaller in _without_a_member(item, f"{path}[{at}]"):
                yield what, [*value[:at], smaller, *value[at + 1 :]]
