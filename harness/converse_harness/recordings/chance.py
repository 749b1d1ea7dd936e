"""One table of what differs by chance between two recordings of one session, and the form of a recording without it.

`CHANCE` is the table. `normalised` returns the lines of an exchange without these values. The views in `VIEWS` are the
commands and rules that read the table. Each has the kinds of chance that it leaves out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from converse_harness.bedrock.models import COUNTERS
from converse_harness.json_values import Unsearched, canonical, is_array, is_number, is_object, parsed_json
from converse_harness.recordings.differences import Pair, aligned
from converse_harness.recordings.format.lines import Line, body_bytes, event_of, usual_delta
from converse_harness.recordings.format.readable import is_other, readable
from converse_harness.stream.assemble import joined

Kind = Literal["time", "recorder", "number", "padding", "id", "link", "default", "cache", "form", "cut"]
"""The kinds of chance. A `link` is an id that later requests repeat, so equal ids must stay equal."""

Where = Literal["header", "line", "answer", "request or answer", "HTTP"]
"""Where a name occurs: in the header of a file, as a key of another line, in the JSON or a header of an answer, in the
JSON of requests and answers, or in HTTP headers that no recording contains.
"""


class Chance(NamedTuple):
    """A row of CHANCE: the kind, the place, and why the value differs. `label` is the form of a numbered id."""

    kind: Kind
    where: Where
    why: str
    label: str = ""


_SERVICE_ID: Final = Chance("link", "request or answer", "The service, or the client, makes a new id each time.", "#{}")
_TOKEN: Final = Chance(
    "link", "request or answer", "The client makes a new one for each call, so that a repeated call counts once.", "#{}"
)
_CACHE: Final = Chance(
    "cache",
    "answer",
    "It depends on earlier sessions what the prompt cache contains. The sum of the input is compared.",
)

CHANCE: Final[Mapping[str, Chance]] = {
    "recorded": Chance("recorder", "header", "It is the time of the recording."),
    "imported": Chance("recorder", "header", "It is the time of the import."),
    "by": Chance("recorder", "header", "It is the program that recorded, not the session."),
    "botocore": Chance("recorder", "header", "It is the botocore of the recorder."),
    "call": Chance("number", "line", "It changes if an earlier exchange is added or removed."),
    "t": Chance("time", "line", "The service and the network are not equally fast each time."),
    "*latency": Chance("time", "answer", "It is a duration, if it is a number."),
    "*latencyMs": Chance("time", "answer", "It is a duration."),
    "created": Chance("time", "answer", "It is the time of the answer, if it is a number."),
    "Date": Chance("time", "HTTP", "It is the time of the answer."),
    "p": Chance("padding", "line", "Bedrock pads each event by a random length."),
    "joined": Chance("padding", "line", "The network decides which events share an HTTP chunk."),
    "requestId": Chance("id", "line", "Bedrock makes a new id for each request.", "(request id {})"),
    "toolUseId": _SERVICE_ID,
    "id": _SERVICE_ID,
    "tool_use_id": _SERVICE_ID,
    "tool_call_id": _SERVICE_ID,
    "clientToken": _TOKEN,
    "clientRequestToken": _TOKEN,
    "signature": _SERVICE_ID._replace(why="It is encrypted anew each time.", label="signature {}"),
    "redactedContent": _SERVICE_ID._replace(why="It is encrypted anew each time.", label="redacted {}"),
    "type": Chance("default", "request or answer", "`tool_use` is the default: some models send it, clients drop it."),
    **dict.fromkeys((*COUNTERS, "cacheDetails"), _CACHE),
    "payload": Chance("form", "line", "It contains the padding and the ids; its event is compared instead."),
    "frame": Chance("form", "line", "It contains the padding and the ids; its event, if it has one, is compared."),
    "bodyText": Chance("form", "line", "If it is JSON, the JSON is compared, since ids and times can be in it."),
    "bodyBase64": Chance("form", "line", "If it is JSON, the JSON is compared, since ids and times can be in it."),
    "delta": Chance("cut", "answer", "A text can be cut into other deltas; a tool input is compared as JSON."),
}
"""Maps each name of a value that differs by chance to its row. A name that begins with `*` stands for all names that
end so. The names of JSON members do not count inside JSON of the application (APPLICATION).
"""

APPLICATION: Final = frozenset(
    {
        *("input", "json", "inputSchema"),
        *("arguments", "input_schema", "parameters"),
        *("additionalModelRequestFields", "promptVariables", "requestMetadata"),
    }
)
"""Members that contain JSON of the application, such as the input of a tool. An `id` in this JSON is not chance, unless
it is an id that occurs elsewhere in the session under a name of CHANCE.
"""

EVERY: Final[frozenset[Kind]] = frozenset(get_args(Kind))
_SENT: Final[frozenset[Kind]] = frozenset({"time", "padding", "id", "form"})

VIEWS: Final[Mapping[str, frozenset[Kind]]] = {
    "record again": EVERY,
    "record --again": EVERY - {"default"},
    "diff": EVERY,
    "diff --times": EVERY - {"time", "cut"},
    "diff --bytes": frozenset({"time", "recorder", "number"}),
    "show --stable": EVERY,
    "new-test": _SENT,
    "new-test --short": EVERY - {"recorder", "number", "cache"},
    "stale": frozenset({"link", "default"}),
    'match="shape"': frozenset({"link", "default"}),
    'match="exact"': frozenset(),
}
"""Maps each view to the kinds of chance that it leaves out. The last three views compare requests only, of which just
the links differ by chance; `stale` are requests that differ from their recording. `record --again` leaves out only the
values of times, ids and counts, and the places where a text is cut: a member that is no longer sent is a change.
"""


def _names(*, kind: Kind | None = None, where: Where | None = None) -> frozenset[str]:
    rows = CHANCE.items()
    return frozenset(name for name, row in rows if kind in (None, row.kind) and where in (None, row.where))


LINKS: Final = _names(kind="link")
"""The members that contain ids which later requests repeat."""

TOKENS: Final = frozenset(name for name, row in CHANCE.items() if row is _TOKEN)
"""The members that contain a token of one call. A query can have them, too."""

DATES: Final = _names(where="HTTP")
"""The HTTP headers that differ by chance and are in no recording."""

RECORDER: Final = _names(where="header")
"""The keys of a file's header that differ although the session is the same."""

_IDS: Final = sorted(_names(kind="id"))
_KEYS: Final = _names(where="line")
DURATIONS: Final = tuple(name[1:].lower() for name in CHANCE if name.startswith("*"))
"""The ends of the names of members that contain a duration, in lower case, if the value is a number."""

_TIMES: Final = _names(kind="time", where="answer")
_COUNTS: Final = _names(kind="cache")
_CACHED: Final = ("cacheReadInputTokens", "cacheWriteInputTokens")

_WORD: Final = re.compile(r"[A-Za-z0-9_-]{12,}")
"""Matches each word in a text that is long enough to be an id. Shorter ids could be ordinary words."""


def normalised(
    lines: Sequence[Line], hidden: frozenset[Kind] = EVERY, names: Mapping[str, str] | None = None
) -> list[Line]:
    """Return the lines of one exchange without the values of the kinds `hidden`.

    The first line is that of the call, with its whole request. `names` maps ids to the texts that replace them, if
    links are hidden. If cuts are hidden, the successive deltas of one text are one line, and the input of a tool is
    JSON in it.

    >>> call = {"call": 1, "operation": "Converse", "modelId": "m"}
    >>> normalised([call, {"t": 7, "status": 200, "requestId": "a", "body": {"metrics": {"latencyMs": 5}}}])
    [{'operation': 'Converse', 'modelId': 'm'}, {'status': 200}]
    """
    call, *answer = lines
    made = [{key: value for key, value in call.items() if not _is_hidden_key(key, call, hidden)}]
    if "request" in call:
        made[0] |= {"request": _of_request(call["request"], hidden)}
    for line in joined(answer) if "cut" in hidden else answer:
        kept = {key: value for key, value in line.items() if not _is_hidden_key(key, line, hidden)}
        parsed = parsed_json(body_bytes("body", line) or b"") if "form" in hidden else None
        if is_object(parsed) or is_array(parsed):
            kept = {key: value for key, value in kept.items() if not key.startswith("body")} | {"body": parsed}
        made.append(without_chance(_shown(kept), hidden - {"link"}))
    return renamed(made, names) if names and "link" in hidden else made


def _is_hidden_key(key: str, line: Line, hidden: frozenset[Kind]) -> bool:
    if key not in _KEYS or key.startswith("body") or CHANCE[key].kind not in hidden:
        return False
    return CHANCE[key].kind != "form" or event_of(line) is not None  # alone, a frame is the content of its line


def _shown(line: Line) -> Line:
    """Return a line with JSON and texts in place of the base64 in its event, as older recordings have it."""
    found = event_of(line)
    return {**line, found[0]: readable(found[1])} if found is not None and is_other(found[0]) else line


def without_chance(value: Any, hidden: frozenset[Kind], *, top: bool = False) -> Any:
    """Return an answer's JSON, or an event, without the values of the kinds `hidden`. A hidden link is the text "".

    An object that becomes empty is left out, too. `top` has to be true for the body of a request.

    >>> without_chance({"usage": {"inputTokens": 1, "cacheReadInputTokens": 9}, "metrics": {"latencyMs": 5}}, EVERY)
    {'usage': {'inputTokens': 10}}
    """
    if is_array(value):
        return [without_chance(each, hidden) for each in value]
    if not is_object(value):
        return value
    if "cache" in hidden and not _COUNTS.isdisjoint(value):
        counted = sum(value[name] for name in ("inputTokens", *_CACHED) if is_number(value.get(name)))
        value = {**value, "inputTokens": counted}
    made: dict[str, Any] = {}
    for name, each in value.items():
        if ("cache" in hidden and name in _COUNTS) or ("time" in hidden and _is_time(name, each)):
            continue
        if "default" in hidden and (name, each) == ("type", "tool_use") and "toolUseId" in value:
            continue
        if _is_applications(name, top=top):
            made[name] = _as_json(each) if "cut" in hidden and name == "input" and isinstance(each, str) else each
        elif "link" in hidden and name in LINKS and not is_object(each):
            made[name] = ""
        else:
            inner = without_chance(each, hidden)
            if not is_object(inner) or inner or not each:
                made[name] = inner
    return made


def _is_time(name: str, value: object) -> bool:
    """Whether a value is a time. A header with a duration is a text of digits; `latency` can also be "optimized"."""
    digits = is_number(value) or (isinstance(value, str) and value.isdecimal())
    return digits and (name in _TIMES or name.lower().endswith(DURATIONS))


def _as_json(text: str) -> Any:
    parsed = parsed_json(text)
    return parsed if is_object(parsed) else text


# Ids


class Id(NamedTuple):
    """An id in an exchange: the name of its member, the object around it as text without ids, and the id itself."""

    name: str
    holder: str
    id: str


def ids_in(lines: Sequence[Line]) -> list[Id]:
    """Return the ids in the lines of an exchange: those of requests and answers, and the request id.

    The order is that of the lines, and of the names and indexes within a line. An id can occur several times.
    """
    call, *answer = lines
    found = [*_ids(call.get("request"), top=True)]
    for line in answer:
        if usual_delta(line) is not None:
            continue  # no member of most lines contains an id
        body = parsed_json(body_bytes("body", line) or b"")
        found += _ids({**_shown(line), "body": body})
        found += [Id(name, name, line[name]) for name in _IDS if name in line]
    return found


def _ids(value: Any, *, top: bool = False) -> Iterator[Id]:
    if is_array(value):
        for each in value:
            yield from _ids(each)
    elif is_object(value):
        own = [name for name in sorted(LINKS & value.keys()) if isinstance(value[name], str)]
        if own:
            holder = canonical(without_chance({**value, **dict.fromkeys(own, "")}, EVERY))
            yield from (Id(name, holder, value[name]) for name in own)
        for name in sorted(value):
            if not _is_applications(name, top=top):
                yield from _ids(value[name])


def _is_applications(name: str, *, top: bool) -> bool:
    """Whether a member contains JSON of the application. In a request, `input` is the conversation itself."""
    return name in APPLICATION and not (top and name == "input")


def numbers(ids: Iterable[Id]) -> dict[str, str]:
    """Map each id to its label and its number, in the order of appearance: `#1`, `#2`, `signature 1`.

    >>> numbers([Id("toolUseId", "", "b"), Id("signature", "", "x"), Id("toolUseId", "", "a")])
    {'b': '#1', 'x': 'signature 1', 'a': '#2'}
    """
    made: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for each in ids:
        if each.id not in made:
            label = CHANCE[each.name].label
            counts[label] += 1
            made[each.id] = label.format(counts[label])
    return made


def numbered(request: Any) -> Any:
    """Return the JSON of a request without what differs by chance: ids are numbers, in the order of appearance."""
    return renamed(_of_request(request, EVERY), numbers(_ids(request, top=True)), top=True)


def _of_request(request: Any, hidden: frozenset[Kind]) -> Any:
    return without_chance(request, hidden & {"default"}, top=True)


def renamed(value: Any, names: Mapping[str, str], *, top: bool = False) -> Any:
    """Return JSON with `names[id]` in place of each id.

    In other texts and in JSON of the application, only ids of at least 12 characters are replaced. `top` has to be true
    for the body of a request.
    """
    return _renamed(
        value, names, {each: name for each, name in names.items() if len(each) >= _LONG}, top, applications=False
    )


_LONG: Final = 12


def _renamed(value: Any, names: Mapping[str, str], long: Mapping[str, str], top: bool, *, applications: bool) -> Any:
    if isinstance(value, Unsearched):
        return value
    if isinstance(value, str):
        return long.get(value) or (_WORD.sub(lambda found: long.get(found[0], found[0]), value) if long else value)
    if is_array(value):
        return [_renamed(each, names, long, top=False, applications=applications) for each in value]
    if not is_object(value):
        return value
    return {
        name: names.get(each, each)
        if name in LINKS and isinstance(each, str) and not applications
        else _renamed(
            each, names, long, name == "request", applications=applications or _is_applications(name, top=top)
        )
        for name, each in value.items()
    }


def outline(lines: Sequence[Line]) -> str:
    """Return a text that is equal for two exchanges which differ only by chance, in whatever session they are."""
    return canonical(normalised(lines, names=numbers(ids_in(lines))))


def corresponding(
    old: Sequence[Sequence[Line]], new: Sequence[Sequence[Line]], pairs: Iterable[Pair]
) -> dict[str, str]:
    """Map ids of a new session to the ids of the old session which they replace.

    `old` and `new` are the exchanges of both sessions, `pairs` those that correspond. No two ids of the new session
    become equal: a new id is left out if the id that it replaces is also another id of the new session.
    """
    every = {each.id for exchange in new for each in ids_in(exchange)}
    made: dict[str, str] = {}
    taken = set[str]()
    for pair in pairs:
        if pair.old is None or pair.new is None:
            continue
        before, after = ids_in(old[pair.old]), ids_in(new[pair.new])
        for same in aligned(before, after, lambda each: canonical(each[:2]), lambda each: each.name, leftovers=False):
            one, other = same.items(before, after)
            if one is not None and other is not None and other.id not in made and one.id not in taken:
                made[other.id] = one.id
                taken.add(one.id)
    while refused := [mine for mine, name in made.items() if name in every and name not in made]:
        for mine in refused:
            del made[mine]
    return {mine: name for mine, name in made.items() if mine != name}
