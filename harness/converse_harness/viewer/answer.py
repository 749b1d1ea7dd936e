"""The answer of a call as HTML: its events as they came, with runs of deltas joined, or the body as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from converse_harness.json_values import is_object, member_of, object_of, parsed_json
from converse_harness.viewer.blocks import counted, json_html, message_html, milliseconds, text_html, titled
from converse_harness.viewer.html import Html, element, joined
from converse_harness.viewer.view import CallView, json_text

_PAUSE: Final = 100.0
"""The shortest pause between two events that is marked, in milliseconds."""

_PIECES: Final = 2_000
"""In a run of deltas, at most this number of pieces is marked."""

_TEXTS: Final = (
    ("text", ("text",)),
    ("reasoning", ("reasoningContent", "text")),
    ("tool input", ("toolUse", "input")),
)
"""The deltas that are pieces of a text: the name of the text, and the path to the piece in `delta`."""

_Piece = tuple[float, str]


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
    run: list[_Piece] = []
    block: tuple[object, str] | None = None
    for at, event in events:
        found = _piece(event)
        if run and (found is None or found[0] != block):
            yield _run_html(run, block, before)
            before, run = run[-1][0], []
        if found is not None:
            block = found[0]
            run.append((at, found[1]))
        else:
            yield _event_html(at, event, before)
            before = at
    if run:
        yield _run_html(run, block, before)


def _piece(event: Any) -> tuple[tuple[object, str], str] | None:
    """Return the block and the kind of a piece of text, and the piece; None for every other event."""
    if not is_object(event) or len(event) != 1:
        return None
    members = member_of(event, "contentBlockDelta")
    delta = member_of(members, "delta")
    if not is_object(delta) or len(delta) != 1:
        return None
    for kind, path in _TEXTS:
        text = member_of(delta, *path)
        if isinstance(text, str) and (len(path) == 1 or len(object_of(delta[path[0]])) == 1):
            return (str(member_of(members, "contentBlockIndex")), kind), text
    return None


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
    wrong = name.endswith("Exception") or not members
    use = member_of(value, "start", "toolUse")
    if name == "contentBlockStart" and is_object(use):
        note = f"uses {use.get('name')}, {use.get('toolUseId')}"
        head = _head(milliseconds(at), name, f"block {member_of(value, 'contentBlockIndex')}, {note}")
        return element("li", _pause(at, before), head, class_="tool-use")
    text = json_text(value, indent=None)
    short = len(text) <= 90
    head = _head(milliseconds(at), name, text if short and value is not None else "")
    content = None if short else json_html(value)
    return element("li", _pause(at, before), head, content, class_="failed" if wrong else None)


def _run_html(run: Sequence[_Piece], block: tuple[object, str] | None, before: float | None) -> Html:
    index, kind = block if block is not None else ("", "")
    first, last = run[0][0], run[-1][0]
    when = milliseconds(first) if first == last else f"{first:,.1f} to {milliseconds(last)}"
    head = _head(when, kind, f"block {index}, {counted(len(run), 'piece')}")
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
    indented = json_html(parsed) if is_object(parsed) and len(whole) > 60 else None
    return element("li", _pause(first, before), head, element("pre", *pieces, class_="pieces"), indented, class_="run")
