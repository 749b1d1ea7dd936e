"""The answer of a call as HTML: its events in their order, or the whole body. Pieces of one text are joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from converse_harness.json_values import is_object, json_text, member_of, object_of, parsed_json
from converse_harness.viewer.blocks import counted, json_html, message_html, milliseconds, text_html, titled
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.pieces import piece_of
from converse_harness.viewer.view import CallView

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
