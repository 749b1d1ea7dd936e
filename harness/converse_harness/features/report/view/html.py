"""Make HTML from texts. A single function, `escape`, makes the HTML of a text, so no text can become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final


class Html(str):
    """A text that is HTML already, so that `joined` and `element` do not escape it."""

    __slots__ = ()


_VOID: Final = frozenset({"input", "meta"})

_BIDI: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the direction of text. They are made visible, because they can make a text look different."""

_ESCAPED: Final = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **{code: f"\\u{code:04x}" for code in _BIDI},
    **{ord(char): f"&#{ord(char)};" for char in "\"'"},
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
}

_PLAIN: Final = re.compile(r"[\w .,:;/()=+*?!\n-]*", re.ASCII)


def escape(text: str) -> Html:
    r"""Return the HTML of a text, for the content of an element and for the value of an attribute in quotes.

    Control characters, lone surrogates and characters that change the direction of text become visible.

    >>> escape('<b class="x">\x00')
    '&lt;b class=&#34;x&#34;&gt;␀'
    """
    if _PLAIN.fullmatch(text):
        return Html(text)
    return Html(text.translate(_ESCAPED).encode("utf-8", "backslashreplace").decode())


def joined(parts: Iterable[str | None]) -> Html:
    """Return the parts as one text, in their order. A part that is not HTML is escaped, and None is left out."""
    return Html("".join([part if isinstance(part, Html) else escape(part) for part in parts if part is not None]))


def element(name: str, /, *content: str | None, **attributes: str | int | float | bool | None) -> Html:
    """Return an element with this content. A text that is not HTML is escaped, and None is left out.

    In the keyword of an attribute, `_` stands for `-`, and a `_` at the end is dropped (`class_`). An attribute whose
    value is None or False is left out. If the value is True, only the name of the attribute is written.

    >>> element("a", "Call <1>", href="#call-1", class_="to")
    '<a href="#call-1" class="to">Call &lt;1&gt;</a>'
    """
    written = [name]
    for attribute, value in attributes.items():
        called = attribute.rstrip("_").replace("_", "-")
        if value is True:
            written.append(called)
        elif value is not None and value is not False:
            written.append(f'{called}="{escape(str(value))}"')
    start = f"<{' '.join(written)}>"
    return Html(start if name in _VOID else f"{start}{joined(content)}</{name}>")


def anchor(text: str) -> str:
    """Return a text with `-` in place of each character that is not safe in an id and in a link to the id.

    >>> anchor("test_x.py::test[<é>]")
    'test_x-py--test-----'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)
