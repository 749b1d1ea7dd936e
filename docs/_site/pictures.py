"""Pictures as SVG, drawn when the site is built: `.. picture:: grammar` of a table, `.. picture:: time-line` of a call.

They take their colours from the page, light or dark, and hold a text that says the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape
from typing import Final

from converse_harness import Endpoint, Reply, reply
from converse_harness.stream.grammar import FAILED, FINISHED, ORDER, START
from converse_harness.stream.http import Request

_BETWEEN: Final = "message"
"""The state in which no block is open."""
_STOPPED: Final = "stopped"

_ROW: Final = 62
_TOP: Final = 70
_BAR: Final = (20, 100)
_BOX: Final = (400, 110, 30)
_RIGHT: Final = 840


def grammar(order: Mapping[str, Mapping[str, str]] = ORDER) -> str:
    """The order of the events of a stream: the blocks in rows, between two bars for the state without an open block."""
    blocks = [state for state in order if state not in (START, _BETWEEN, _STOPPED, FINISHED, FAILED)]
    bottom = _TOP + _ROW * len(blocks)
    parts = [
        _box(20, 10, 100, START),
        _arrow(70, 40, 70, _TOP),
        _text(80, 60, next(iter(order[START])), "label"),
        f'<rect class="state" x="20" y="{_TOP}" width="100" height="{_ROW * len(blocks)}" rx="6"/>',
        _text(70, (_TOP + bottom) / 2, _BETWEEN, "name"),
        f'<rect class="state" x="{_RIGHT}" y="{_TOP}" width="100" height="{_ROW * len(blocks)}" rx="6"/>',
        _text(_RIGHT + 50, (_TOP + bottom) / 2, _BETWEEN, "name"),
    ]
    for number, state in enumerate(blocks):
        parts += _row(order, state, _TOP + _ROW * number + _ROW // 2, blocks[number + 1 : number + 2])
    down = bottom + 40
    (stop,) = (symbol for symbol, following in order[_BETWEEN].items() if following == _STOPPED)
    (end,) = order[_STOPPED]
    parts += [
        _arrow(70, bottom, 70, down),
        _text(80, bottom + 24, stop, "label"),
        _box(20, down, 100, _STOPPED),
        _arrow(120, down + 15, _BOX[0], down + 15),
        _text(135, down + 9, end, "label"),
        _box(_BOX[0], down, _BOX[1], FINISHED),
        _text(20, down + 70, "In any state: an exception frame, which leads to", "label"),
        _box(_BOX[0], down + 50, _BOX[1], FAILED),
    ]
    moves = "; ".join(
        f"{state}: " + ", ".join(f"{symbol} leads to {following}" for symbol, following in moves.items())
        for state, moves in order.items()
        if moves
    )
    words = f"{moves}. In every state but the last two, an exception frame leads to {FAILED}."
    return _svg(960, down + 90, "The order of the events of a stream", words, parts)


def _row(order: Mapping[str, Mapping[str, str]], state: str, y: int, below: list[str]) -> list[str]:
    """One kind of block: how it begins, what keeps it open, how it ends, and what follows it in the same block."""
    x, width, height = _BOX
    parts = [_box(x, y - height // 2, width, state)]
    starts = [symbol for symbol, following in order[_BETWEEN].items() if following == state]
    if starts:
        event, _, member = ", ".join(starts).partition(".")  # the event above its arrow, the member below
        parts += [_arrow(120, y, x, y), _text(135, y - 6, event, "label"), _text(135, y + 16, f".{member}", "label")]
    for symbol, following in order[state].items():
        if following == state:
            loop = f"M{x + width - 30} {y - 15} c0 -16 26 -16 26 0"
            parts += [f'<path class="line" d="{loop}" marker-end="url(#head)"/>']
            parts += [_text(x + width + 6, y - 14, symbol, "label")]
        elif following == _BETWEEN:
            parts += [_arrow(x + width, y, _RIGHT, y), _text(x + width + 16, y + 14, symbol, "label")]
        elif [following] == below:
            parts += [_arrow(x + 74, y + 15, x + 74, y + _ROW - 15), _text(x + 68, y + 34, symbol, "label left")]
        else:
            raise ValueError(f"{state} leads to {following}, which is not the row below it: there is no room for that.")
    return parts


TIMED: Final = 'reply.text("18 °C and sunny.").paced(first=0.2, each=0.05)'
"""The reply whose time line is drawn."""


def time_line(answered: Reply | None = None) -> str:
    """When the events of one answer leave, after the request came in: what the endpoint really sends."""
    paced = reply.text("18 °C and sunny.").paced(first=0.2, each=0.05) if answered is None else answered
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": "How is the weather?"}]}]}).encode()
    endpoint = Endpoint(paced)
    exchange = endpoint.exchange(Request("POST", "/model/us.amazon.nova-lite-v1:0/converse-stream", (), body))
    rows, at = [("the request came in", 0.0)], 0.0
    for chunk in exchange.response.chunks:
        at += chunk.delay
        rows.append((_shown(chunk.event), at))
    left, right, step = 360, 930, 30
    scale = (right - left) / at
    marks = [second / 10 for second in range(int(at * 10 + 0.01) + 1)]
    bottom = 20 + step * len(rows)
    parts = [_text(left + mark * scale, bottom + 22, f"{mark:.1f} s", "label middle") for mark in marks] + [
        f'<path class="grid" d="M{left + mark * scale:.0f} 10 V{bottom + 6}"/>' for mark in marks
    ]
    before = 0.0
    for number, (label, second) in enumerate(rows):
        y, x = 30 + step * number, left + second * scale
        parts += [_text(20, y + 4, label, "label"), f'<circle class="dot" cx="{x:.0f}" cy="{y}" r="5"/>']
        if number:
            parts.append(f'<path class="line" d="M{left + before * scale:.0f} {y} H{x - 5:.0f}"/>')
        before = second
    words = f"{TIMED}: " + "; ".join(f"{label} at {second:.2f} s" for label, second in rows) + "."
    return _svg(980, bottom + 34, "The time line of one call", words, parts)


def _shown(event: Mapping[str, object] | None) -> str:
    """An event in a few words."""
    name, members = next(iter((event or {}).items()))
    delta = members.get("delta") if isinstance(members, dict) else None
    return f"{name} {json.dumps(delta, ensure_ascii=False)}" if delta else name


def _svg(width: int, height: int, title: str, words: str, parts: list[str]) -> str:
    name = title.lower().replace(" ", "-")
    return (
        f'<div class="picture"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name} {name}-words"><title id="{name}">{escape(title)}</title>'
        f'<desc id="{name}-words">{escape(words)}</desc>'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>{"".join(parts)}</svg></div>'
    )


def _box(x: float, y: float, width: float, name: str) -> str:
    rectangle = f'<rect class="state" x="{x}" y="{y}" width="{width}" height="30" rx="6"/>'
    return rectangle + _text(x + width / 2, y + 19, name, "name")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="line" d="M{x1} {y1} L{x2} {y2}" marker-end="url(#head)"/>'


PICTURES: Final[Mapping[str, Callable[[], str]]] = {"grammar": grammar, "time-line": time_line}
