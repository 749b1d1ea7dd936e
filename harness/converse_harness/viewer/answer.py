"""The answer of a call as HTML: its events as they came, with runs of deltas joined, or the body as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from converse_harness.json_values import is_object, member_of, object_of, parsed_json
from converse_harness.viewer.blocks import counted, json_html, message_html, milliseconds, text_html, titled
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.pieces import DeltaPiece, piece_of
from converse_harness.viewer.view import CallView, json_text

_PAUSE: Final = 100.0
"""The shortest pause between two events that is marked, in milliseconds."""

_PIECES: Final = 2_000
"""In a run of deltas, at most this number of pieces is marked."""

_ON_A_LINE: Final = 160
"""An event with at most this number of characters stands on the line of its name."""

_READABLE: Final = 60
"""The input of a tool with more characters is shown indented as well."""

_NO_EVENT: Final = frozenset({"bytes", "frame"})
"""The names under which bytes stand that are no event."""

_Pieces = list[tuple[float, DeltaPiece]]


def answer_html(view: CallView) -> Html:
    """Return what a call was answered: its events, or its body, and how it ended."""
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
    before: float | None = None
    run: _Pieces = []
    for at, event in events:
        piece = piece_of(event)
        if run and (piece is None or not piece.continues(run[-1][1])):
            yield _run_html(run, before)
            before, run = run[-1][0], []
        if piece is not None:
            run.append((at, piece))
        else:
            yield _event_html(at, event, before)
            before = at
    if run:
        yield _run_html(run, before)


def _head(at: str, name: str, note: str = "") -> Html:
    small = element("small", f" {note}") if note else None
    return element("div", element("span", at, class_="at"), element("b", name), small, class_="event-head")


def _pause(at: float, before: float | None) -> Html | None:
    wait = at if before is None else at - before
    return element("p", f"pause of {milliseconds(wait)}", class_="pause") if wait >= _PAUSE else None


def _event_html(at: float, event: Any, before: float | None) -> Html:
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


def _run_html(run: _Pieces, before: float | None) -> Html:
    (first, (index, kind, _)), last = run[0], run[-1][0]
    when = milliseconds(first) if first == last else f"{first:,.1f} to {milliseconds(last)}"
    head = _head(when, kind, f"block {index}, {counted(len(run), 'piece')}")
    pieces: list[Html] = []
    previous = first
    for at, piece in run[:_PIECES]:
        if at - previous >= _PAUSE:
            pieces.append(element("span", f" pause of {milliseconds(at - previous)} ", class_="pause"))
        pieces.append(element("span", piece.text, title=milliseconds(at)))
        previous = at
    if len(run) > _PIECES:
        pieces.append(element("span", "".join(piece.text for _, piece in run[_PIECES:])))
    whole = "".join(piece.text for _, piece in run)
    parsed = parsed_json(whole) if kind == "tool input" else None
    indented = json_html(parsed) if is_object(parsed) and len(whole) > _READABLE else None
    return element("li", _pause(first, before), head, element("pre", *pieces, class_="pieces"), indented, class_="run")
