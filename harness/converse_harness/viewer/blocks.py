"""Texts, JSON and content blocks of messages as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.json_values import is_object, json_text, member_of, objects_of
from converse_harness.viewer.html import Html, element, joined

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
    return f"{count:,} {thing}{'s' * (count != 1)}"


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
