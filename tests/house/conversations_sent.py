"""Whether two checkouts behave the same for growing conversations: random ones, half of their requests damaged.

`python -m tests.house.conversations_sent draw FILE --seed N` writes 1,000 requests as lines of JSON. The same with
`send FILE...` sends them in process and through the server. It prints lines for each request: short facts as they are,
long ones as hashes. Run it in both checkouts and compare the lines. A line with "late" has what the same
call shows after the last request of its fake. `--group N` sends one group of requests, and `--long` prints the values
in place of the hashes, one a line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any, Final

import httpx

from converse_harness import Call, ConverseServer, HttpxFake, ReplyError, UnusedReplies
from converse_harness.intercept.fake import Fake
from converse_harness.recordings.chance import DATES
from converse_harness.server.mounts import EndedAnswers, ServerFake
from tests.conversations import Asked, draw
from tests.house.sent import BEDROCK, DATE, over_a_socket

COUNT: Final = 1000
_EVERY: Final = 10
"""The cache's rewrites and the tools used are read after this number of requests, and at the end."""
_CHANCE: Final = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]+| *\b\d+\.\d+ m?s\b")
"""A server's URL, and seconds in the transcript."""
_SHORT: Final[dict[str, Callable[[Call], object]]] = {
    "n": attrgetter("number"),
    "status": attrgetter("status"),
    "outcome": attrgetter("outcome"),
    "refusal": lambda call: call.refusal and call.refusal.rule.name,
    "at": lambda call: call.refusal and call.refusal.path,
    "notes": lambda call: ",".join(note.kind for note in call.notes),
    "numbers": lambda call: ",".join(str(note.call) for note in call.notes),
    "parent": lambda call: call.parent and call.parent.number,
    "cache": lambda call: (*call.cache,),
    "turn": attrgetter("turn"),
    "attempt": attrgetter("attempt"),
    "tools": lambda call: len(call.tools),
    "choice": attrgetter("tool_choice"),
    "usage": lambda call: call.response and call.response.usage,
}
"""What is printed as it is. The cache's facts are: read, written, where it parted, the source's number, certain."""

_LONG: Final[dict[str, Callable[[Call], object]]] = {
    "malformed": attrgetter("malformed"),
    "refused": lambda call: call.refusal and (call.refusal.message, call.refusal.inferred_from, call.refusal.model),
    "notes#": lambda call: [(note.text, note.json) for note in call.notes],
    "raw": attrgetter("raw"),
    "body": attrgetter("body"),
    "params": attrgetter("params"),
    "messages": attrgetter("messages"),
    "system": lambda call: (call.system, call.system_text),
    "tools#": attrgetter("tools"),
    "names": attrgetter("tool_names"),
    "results": attrgetter("tool_results"),
    "last": attrgetter("last_user_text"),
    "config": lambda call: (call.inference, call.guardrail),
    "asked": attrgetter("asked"),
    "told": str,
    "response": lambda call: call.response and asdict(call.response),
    "events": lambda call: [event for event, _ in call.events],
    "answered": lambda call: (call.summary, call.answered.error, call.model_id, call.stands_for),
}
"""What is printed as a hash: of the value's repr, in which 1, 1.0 and True differ, and so does the order of keys."""


def _shown(read: Callable[[Any], object], of: object) -> object:
    try:
        return read(of)
    except Exception as error:  # noqa: BLE001 - whatever it is, both checkouts raise it
        return f"{type(error).__name__}: {error}"


@dataclass
class Group:
    """The requests of one fake, and how they are sent. `says` makes the lines; `sends` returns what came back."""

    name: str
    fake: Fake
    sends: Callable[[Asked], Sequence[bytes]]
    long: bool
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    problems: int = 0
    notes: int = 0

    def lines(self, rows: Sequence[tuple[int, Asked]]) -> Iterator[str]:
        """Send all requests; yield lines about each, some about the fake, and about the calls once more."""
        for count, (number, row) in enumerate(rows, 1):
            yield from self._line(number, row)
            if count % _EVERY == 0:
                yield from self._about_fake(f"after {count}")
        for number, call in self.calls.items():
            yield self._about_call(f"{self.name} late {number:04}", call)
        yield from self._about_fake("end")
        yield self._said(f"{self.name} transcript", {}, {"text": self.fake.transcript})
        for each in self.fake.failures():
            yield self._said(f"{self.name} left", {"type": type(each).__name__}, {"text": str(each)})

    def _line(self, number: int, row: Asked) -> Iterator[str]:
        if row.later:
            self.fake.later(seconds=row.later)
        place = f"{self.name} {number:04} g{row.group} c{row.conversation} {row.damage or 'plain'}"
        received = self.fake.endpoint.received
        came, unused = self._ask(row)
        new = [each for each in self.fake.endpoint.calls if each.number > received]
        problems = self.fake.endpoint.problems[self.problems :]
        self.problems += len(problems)
        kinds = ",".join(type(each).__name__ for each in problems)
        yield self._said(
            place, {"problems": kinds, "unused": unused}, {"problems#": [*map(str, problems)], "came": came}
        )
        for call in new:
            self.calls[number] = call
            if row.looks:
                yield self._about_call(place, call)
                if row.spoils:
                    _spoil(call)

    def _ask(self, row: Asked) -> tuple[Sequence[bytes], str]:
        """Script the answer and send the request. Return what came, and the text about the unused answer."""
        answer = row.reply
        if answer is None:
            return self.sends(row), ""
        came: Sequence[bytes] = ()
        try:
            if row.way == "always":
                self.fake.always(answer)
                return self.sends(row), ""
            with self.fake.script(answer):
                came = self.sends(row)
        except UnusedReplies as error:
            return came, _hashed(str(error))
        except ReplyError as error:
            return (*self.sends(row), str(error).encode()), "refused"
        return came, ""

    def _about_call(self, place: str, call: Call) -> str:
        short, long = ({name: _shown(read, call) for name, read in each.items()} for each in (_SHORT, _LONG))
        return self._said(place, short, long)

    def _about_fake(self, when: str) -> Iterator[str]:
        fake, place = self.fake, f"{self.name} {when}"
        notes = fake.endpoint.notes[self.notes :]
        self.notes += len(notes)
        kinds = ",".join(f"{note.kind}:{note.call}" for note in notes)
        texts = [(note.text, note.json) for note in notes]
        yield self._said(f"{place} notes", {"kinds": kinds, "calls": len(fake.calls.all)}, {"texts": texts})
        summary = fake.cache
        rewrites = [(each.call.number, each.earlier.number, each.tokens, each.path) for each in summary.rewrites]
        models = {name: repr(each) for name, each in summary.by_model.items()}
        long = {"texts": [*map(str, summary.rewrites)], "models": models}
        yield self._said(f"{place} cache", {"of": repr(summary), "rewrites": rewrites}, long)
        used = [(str(each), each.input, each.content, each.failed, each.call) for each in fake.calls.tools_used]
        yield self._said(f"{place} tools", {"used": [each[0] for each in used]}, {"all": used, "fake": repr(fake)})

    def _said(self, place: str, short: Mapping[str, object], long: Mapping[str, object]) -> str:
        if self.long:
            both = [f"{place} {name}={value!r}" for name, value in {**short, **long}.items()]
            return _CHANCE.sub("", "\n".join(both))
        facts = [f"{name}={_CHANCE.sub('', str(value))}" for name, value in short.items()]
        return " ".join((place, *facts, *(f"{name}={_hashed(repr(value))}" for name, value in long.items())))


def _hashed(text: str) -> str:
    return hashlib.sha256(_CHANCE.sub("", text).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _spoil(call: Call) -> None:
    """Change what the call shows, as a careless test may do; no other call may show that."""
    with suppress(Exception):
        for message in call.messages:
            message["content"].append({"text": "spoiled"})
            message["spoiled"] = True
        call.tools.clear()
        call.params["system"] = []


class _Client:
    """A client of httpx. It may hold an answer back until the next one has come."""

    def __init__(self, fake: HttpxFake) -> None:
        self.client = httpx.Client(transport=fake.httpx_transport)
        self.held: list[Callable[[], list[bytes]]] = []

    def sends(self, row: Asked) -> Sequence[bytes]:
        """Send one request, and return what came; then what came of the answer that was held."""
        came: list[bytes] = []
        held = [*self.held]
        self.held.clear()
        manager = self.client.stream("POST", f"{BEDROCK}{row.path}", content=row.data, headers=row.headers)
        try:
            response = manager.__enter__()
            headers = [item for item in response.headers.multi_items() if item[0].title() not in DATES]
            came.append(f"{response.status_code} {headers}".encode())
            rest = partial(_chunks, response.iter_raw(), manager)
            if row.holds and row.operation == "ConverseStream":
                came += _chunks(chunks := response.iter_raw(), None, 1)
                self.held.append(partial(_chunks, chunks, manager))
            else:
                came += rest(row.takes)
        except (httpx.TransportError, ValueError) as error:
            came.append(type(error).__name__.encode())
        for each in held:
            came += [b"held", *each()]
        return came

    def ends(self) -> None:
        """Read the answer that is held, and close the client."""
        for each in self.held:
            each()
        self.client.close()


def _chunks(
    chunks: Iterator[bytes], manager: AbstractContextManager[Any] | None, takes: int | None = None
) -> list[bytes]:
    came: list[bytes] = []
    try:
        for chunk in chunks:
            came.append(chunk)
            if len(came) == takes:
                break
    except (httpx.TransportError, ValueError) as error:
        came.append(type(error).__name__.encode())
    if manager is not None:
        with suppress(httpx.TransportError):
            manager.__exit__(None, None, None)
    return came


def _here(name: str, rows: Sequence[tuple[int, Asked]], settings: Any, *, long: bool) -> Iterator[str]:
    """Yield the lines of requests in process."""
    fake = HttpxFake(**settings).open()
    client = _Client(fake)
    yield from Group(name, fake, client.sends, long).lines(rows)
    client.ends()
    fake.close()  # without `check`, since its problems are lines


def _there(
    name: str, server: ConverseServer, rows: Sequence[tuple[int, Asked]], settings: Any, *, long: bool
) -> Iterator[str]:
    """Yield the lines of requests over a socket."""
    fake: ServerFake = server.script(**settings)
    ended = SimpleQueue[Call]()
    fake.endpoint.add(partial(EndedAnswers, ended.put))

    def sends(row: Asked) -> Sequence[bytes]:
        came = DATE.sub(b"", over_a_socket(fake.url, row.path, row.data, *map(": ".join, row.headers)))
        ended.get(timeout=20)  # the server knows of the end a little later than the client
        return [came]

    yield from Group(name, fake, sends, long).lines(rows)
    fake.close()


def send(files: Sequence[Path], only: int | None = None, *, long: bool = False) -> None:
    """Print the lines about the requests in some files."""
    with ConverseServer() as server:
        for file in files:
            read = (Asked(*json.loads(line)) for line in file.read_text("utf-8").splitlines())
            for group, numbered in groupby(enumerate(read), lambda each: each[1].group):
                if only in (None, group):
                    rows = [*numbered]
                    settings = rows[0][1].settings
                    for line in _here(f"{file.stem} here", rows, settings, long=long):
                        print(line)
                    for line in _there(f"{file.stem} there", server, rows, settings, long=long):
                        print(line)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("draw", "send"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", type=int)
    parser.add_argument("--long", action="store_true")
    given = parser.parse_args()
    if given.command == "send":
        send(given.files, given.group, long=given.long)
        return
    rows = draw(Random(given.seed), COUNT)
    given.files[0].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    _main()
