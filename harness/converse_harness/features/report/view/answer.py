"""The answer of a call as HTML: its events in their order, or the whole body. Pieces of one text are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from converse_harness.features.report.view.html import Html, element, joined
from converse_harness.features.report.view.view import CallView
from converse_harness.json_values import is_object, json_text, member_of, object_of, objects_of, parsed_json
from converse_harness.secrets.mask import common_length
from converse_harness.words import plural

_OPEN: Final = 1_200

_LINES: Final = 16
"""A text with more than _OPEN characters or _LINES lines is folded: a reader must open it."""

_MOST: Final = 100_000
"""The maximum number of characters of a text that are shown; the rest is left out."""

_BEGIN: Final = 90
"""The number of characters that the summary of a folded text shows."""

FindUse = Callable[[str], tuple[str, Html] | None]
"""A function that takes the id of a tool use, and returns the name of the tool and a link to the call that used it.

The link is empty if no call on the page used the tool. The function returns None if the id is unknown.
"""


def counted(count: int, thing: str) -> str:
    """Return a number with the noun `thing`, which gets an `s` unless the number is 1.

    >>> counted(1, "message"), counted(1200, "message")
    ('1 message', '1,200 messages')
    """
    return f"{count:,} {plural(count, thing)}"


def milliseconds(value: float) -> str:
    """Return a time in milliseconds with its unit: `ms` below ten seconds, otherwise `s`.

    >>> milliseconds(12.34), milliseconds(65432.1)
    ('12.3 ms', '65.4 s')
    """
    return f"{value:,.1f} ms" if value < 10_000 else f"{value / 1000:,.1f} s"


def text_html(text: str, kind: str = "text") -> Html:
    """Return the HTML of a text with its spaces and line ends. `kind` is its CSS class.

    A long text is folded: only its beginning and its length are visible until a reader opens it.
    """
    whole = text if len(text) <= _MOST else f"{text[:_MOST]}\n... ({counted(len(text) - _MOST, 'more character')})"
    shown = element("pre", whole, class_=kind)
    if len(text) <= _OPEN and text.count("\n") <= _LINES:
        return shown
    begin = " ".join(text[: 2 * _BEGIN].split())[:_BEGIN]
    return folded(joined([f"{begin}... ", element("small", f"({counted(len(text), 'character')})")]), shown)


def folded(summary: str, *content: str, opened: bool = False, class_: str | None = None) -> Html:
    """Return HTML that shows `summary`; under it, a reader can open and close `content`."""
    return element("details", element("summary", summary), *content, open=opened, class_=class_)


def json_html(value: Any) -> Html:
    """Return the HTML of a JSON value as indented text."""
    return text_html(json_text(value), "json")


def titled(
    title: str, *content: str | None, kind: str = "", note: str = "", beside: Sequence[Html | None] = ()
) -> Html:
    """Return the HTML of a block: its title, `beside` on the same line, `note` in small print, then its content."""
    small = element("small", note) if note else None
    head = element("div", element("b", title), *beside, " " if note else None, small, class_="block-title")
    return element("div", head, *content, class_=f"block {kind}".rstrip())


def table_html(heads: Sequence[str], rows: Iterable[Html]) -> Html:
    """Return a table with the titles of its columns and its rows, each a `tr` element."""
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    return element("div", element("table", element("thead", head), element("tbody", *rows)), class_="scroll")


def message_html(message: Any, find_use: FindUse) -> Html:
    """Return the HTML of the content blocks of a message."""
    if not is_object(message):
        return json_html(message)
    content = message.get("content")
    if isinstance(content, str):  # Bedrock refuses a string, but some clients send one
        return text_html(content)
    return joined(part for block in objects_of(content) for part in block_html(block, find_use))


def block_html(block: Mapping[str, Any], find_use: FindUse) -> Iterator[Html]:
    """Yield the HTML of each member of a content block. A valid block has one member, but clients may send more."""
    for name, value in block.items():
        match name, value:
            case "text", str(text):
                yield text_html(text)
            case "toolUse", use if is_object(use):
                yield titled(f"uses {use.get('name')}", json_html(use.get("input")), kind="tool-use", note=_id_of(use))
            case "toolResult", result if is_object(result):
                yield _result_html(result, find_use)
            case "reasoningContent", reasoning if is_object(reasoning):
                text = member_of(reasoning, "reasoningText", "text")
                shown = text_html(text) if isinstance(text, str) else json_html(reasoning)
                yield titled("reasoning", shown, kind="reasoning")
            case (("image" | "document" | "video" | "audio"), media) if is_object(media):
                about = ", ".join(str(media[each]) for each in ("name", "format") if each in media)
                yield titled(name, json_html(media.get("source")), kind="media", note=about)
            case "cachePoint", _:
                yield titled("cachePoint", kind="cache", note=json_text(value, indent=None))
            case _:
                yield titled(name, json_html(value))


def _id_of(use: Mapping[str, Any]) -> str:
    return str(use.get("toolUseId", "without an id"))


def _result_html(result: Mapping[str, Any], find_use: FindUse) -> Html:
    found = find_use(_id_of(result))
    name, where = found if found is not None else ("", Html())
    parts = [
        text_html(block["text"]) if isinstance(block.get("text"), str) else json_html(block.get("json", block))
        for block in objects_of(result.get("content"))
    ]
    status = str(result.get("status", ""))
    beside = element("i", f" {status}") if status else None, element("small", " used in ", where) if where else None
    kind = "tool-result" + " failed" * (status == "error")
    title = f"result of {name}" if name else "result"
    return titled(title, *parts, kind=kind, note=_id_of(result), beside=beside)


_TEXTS: Final = (
    ("text", ("text",)),
    ("reasoning", ("reasoningContent", "text")),
    ("tool input", ("toolUse", "input")),
)
"""The kinds of text that deltas send in pieces: the name of the kind, and the path to the piece in `delta`."""


class DeltaPiece(NamedTuple):
    """A piece of a text: the index of the text's block, the kind of the text, and the characters of the piece."""

    block: str
    kind: str
    text: str


def piece_of(event: Any) -> DeltaPiece | None:
    """Return the piece of text that an event contains; None if it contains no piece, or has further members."""
    members = member_of(event, "contentBlockDelta")
    delta = member_of(members, "delta")
    if not is_object(delta) or len(delta) != 1 or len(event) != 1:
        return None
    for kind, path in _TEXTS:
        text = member_of(delta, *path)
        if isinstance(text, str) and (len(path) == 1 or len(object_of(delta[path[0]])) == 1):
            return DeltaPiece(str(member_of(members, "contentBlockIndex")), kind, text)
    return None


def changed_events(events: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Return the events in which each text was changed by `change`.

    `change` is called with the whole text that several events send in pieces, and with every event that has no piece.
    The changed text is cut into as many pieces as before. Pieces that the change does not touch stay as they are.

    >>> texts = ("a s", "ec", "ret")
    >>> deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": each}}} for each in texts]
    >>> changed = changed_events(deltas, lambda text: text.replace("secret", "***"))
    >>> [each["contentBlockDelta"]["delta"]["text"] for each in changed]
    ['a ***', '', '']
    """
    made = list(events)
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for at, event in enumerate(events):
        piece = piece_of(event)
        if piece is None:
            made[at] = change(event)
        else:
            texts.setdefault(piece[:2], []).append((at, piece.text))
    for (_, kind), placed in texts.items():
        pieces = [text for _, text in placed]
        whole = "".join(pieces)
        new = str(change(whole))
        if new != whole:
            for (at, _), text in zip(placed, _cut_again(pieces, whole, new), strict=True):
                delta: Any = text
                for name in reversed(dict(_TEXTS)[kind]):
                    delta = {name: delta}
                made[at] = {"contentBlockDelta": {**events[at]["contentBlockDelta"], "delta": delta}}
    return made


def _cut_again(pieces: Sequence[str], whole: str, new: str) -> Iterator[str]:
    """Cut a changed text into as many pieces as before. The first piece that the change touches gets all new text."""
    start = common_length(whole, new)
    end = min(common_length(whole[::-1], new[::-1]), len(whole) - start, len(new) - start)
    changed, stop, at = new[start : len(new) - end], len(whole) - end, 0
    for piece in pieces:
        kept, tail = piece[: max(start - at, 0)], piece[max(stop - at, 0) :]
        at += len(piece)
        if at > start or at == len(whole):  # the second condition is for text that is added at the end
            kept, changed = kept + changed, ""
        yield kept + tail


_PAUSE: Final = 100.0
"""The shortest pause between two events that is shown, in milliseconds."""

_PIECES: Final = 2_000
"""The maximum number of pieces of one text that are shown with their times; the rest is shown as one piece."""

_ON_A_LINE: Final = 160
"""An event with at most this number of characters is shown on the same line as its name."""

_READABLE: Final = 60
"""A tool input with more characters than this is shown a second time, as indented JSON."""

_NO_EVENT: Final = frozenset({"bytes", "frame"})
"""The names of members that contain received bytes which could not be read as an event."""


def answer_html(view: CallView) -> Html:
    """Return the HTML of a call's answer: its events or its body, and the outcome unless this is "complete"."""
    parts: list[Html] = []
    if view.error:
        parts.append(titled("Error in place of an answer", text_html(view.error), kind="failed"))
    if view.events:
        parts.append(element("ol", *_rows(view.events), class_="events"))
    elif view.answer is not None:
        parts += _whole(view.answer)
    if not parts:
        parts.append(element("p", "Nothing was received.", class_="none"))
    if view.outcome not in ("", "complete"):
        parts.append(element("p", view.outcome, class_="ended"))
    return joined(parts)


def _whole(answer: Any) -> Iterator[Html]:
    message = member_of(answer, "output", "message")
    if not is_object(message):
        yield text_html(answer) if isinstance(answer, str) else json_html(answer)
        return
    yield element("div", message_html(message, lambda _: None), class_="message assistant")
    rest = {name: value for name, value in object_of(answer).items() if name != "output"}
    if rest:
        yield titled("Beside the message", json_html(rest))


def _rows(events: Sequence[tuple[float, Any]]) -> Iterator[Html]:
    before = 0.0
    timed = ((at, event, piece_of(event)) for at, event in events)
    for text, run in groupby(timed, key=lambda each: None if each[2] is None else (each[2].block, each[2].kind)):
        if text is None:
            for at, event, _ in run:
                yield _event_html(at, event, before)
                before = at
        else:
            pieces = [(at, piece.text) for at, _, piece in run if piece is not None]
            yield _run_html(*text, pieces, before)
            before = pieces[-1][0]


def _head(at: str, name: str, note: str = "") -> Html:
    small = element("small", f" {note}") if note else None
    return element("div", element("span", at, class_="at"), element("b", name), small, class_="event-head")


def _pause(at: float, before: float) -> Html | None:
    return element("p", f"pause of {milliseconds(at - before)}", class_="pause") if at - before >= _PAUSE else None


def _event_html(at: float, event: Any, before: float) -> Html:
    members = object_of(event)
    name = next(iter(members), "bytes that are no event")
    value = members.get(name) if len(members) == 1 else event
    wrong = name.endswith("Exception") or name in _NO_EVENT or not members
    use = member_of(value, "start", "toolUse")
    if name == "contentBlockStart" and is_object(use):
        note = f"uses {use.get('name')}, {use.get('toolUseId')}"
        head = _head(milliseconds(at), name, f"block {member_of(value, 'contentBlockIndex')}, {note}")
        return element("li", _pause(at, before), head, class_="tool-use")
    text = json_text(value, indent=None)
    short = len(text) <= _ON_A_LINE
    head = _head(milliseconds(at), name, text if short and value is not None else "")
    content = None if short else json_html(value)
    return element("li", _pause(at, before), head, content, class_="failed" if wrong else None)


def _run_html(block: str, kind: str, run: Sequence[tuple[float, str]], before: float) -> Html:
    """Return the HTML of one text that was sent in pieces; `kind` is the kind of the text.

    `run` has the pieces, each with its time; `before` is the time of the previous event. Times are in milliseconds.
    """
    first, last = run[0][0], run[-1][0]
    when = milliseconds(first) if first == last else f"{first:,.1f} to {milliseconds(last)}"
    head = _head(when, kind, f"block {block}, {counted(len(run), 'piece')}")
    pieces: list[Html] = []
    previous = first
    for at, text in run[:_PIECES]:
        if at - previous >= _PAUSE:
            pieces.append(element("span", f" pause of {milliseconds(at - previous)} ", class_="pause"))
        pieces.append(element("span", text, title=milliseconds(at)))
        previous = at
    if len(run) > _PIECES:
        pieces.append(element("span", "".join(text for _, text in run[_PIECES:])))
    whole = "".join(text for _, text in run)
    parsed = parsed_json(whole) if kind == "tool input" else None
    indented = json_html(parsed) if is_object(parsed) and len(whole) > _READABLE else None
    return element("li", _pause(first, before), head, element("pre", *pieces, class_="pieces"), indented, class_="run")
