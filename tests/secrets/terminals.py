"""How tools that print to a terminal show a word: in colours, as a link, with marks that nobody sees.

A shape gets a text and a position in it, and puts what a terminal does not show around the text, or at the position.
Nothing here knows how the harness searches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final


def _around(before: str, after: str) -> Callable[[str, int], str]:
    return lambda text, at: f"{before}{text}{after}"


def _within(mark: str) -> Callable[[str, int], str]:
    return lambda text, at: f"{text[:at]}{mark}{text[at:]}"


SHAPES: Final[Mapping[str, Callable[[str, int], str]]] = {
    "ls, npm, cargo": _around("\x1b[32m", "\x1b[0m"),
    "jq -C": _around(
        '\x1b[1;39m{\n  \x1b[0m\x1b[34;1m"note"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"', '"\x1b[0m\x1b[1;39m\x1b[1;39m\n}'
    ),
    "grep --color": lambda text, at: f"\x1b[01;31m\x1b[K{text[:at]}\x1b[m\x1b[K{text[at:]}",
    "git diff --color": _around("\x1b[1mdiff\x1b[m\n\x1b[32m+\x1b[m\x1b[32m", "\x1b[m\n"),
    "git diff --color-words": lambda text, at: f"{text[:at]}\x1b[m\x1b[32m{text[at:]}\x1b[m",
    "terraform": _around("  token = \x1b[0m\x1b[1m", "\x1b[0m\x1b[0m"),
    "rich, 24 bits": _around("\x1b[1;38;2;255;135;0;48;2;0;0;0m", "\x1b[39m\x1b[49m"),
    "kitty, with colons": _around("\x1b[4:3m\x1b[58:2::255:0:0m", "\x1b[59m\x1b[4:0m"),
    "pygments": _around('\x1b[33m"\x1b[39;49;00m\x1b[33m', '\x1b[39;49;00m\x1b[33m"\x1b[39;49;00m'),
    "tput bold; tput sgr0": _around("\x1b[1m", "\x1b(B\x1b[m"),
    "tput on xterm": _around("\x1b[1m", "\x1b[m\x0f"),
    "a link": _around("\x1b]8;id=1;https://example.com/a\x1b\\", "\x1b]8;;\x1b\\"),
    "a link that ends with a bell": _around("\x1b]8;;https://example.com/a\x07", "\x1b]8;;\x07"),
    "the address of a link": _around("\x1b]8;;https://example.com/a?b=", "\x1b\\here\x1b]8;;\x1b\\"),
    "marks of a shell": _around("\x1b]133;A\x07$ \x1b]133;B\x07\x1b]633;E;echo\x07", "\x1b]133;D;0\x07"),
    "docker compose": _around("\x1b[36mweb-1  | \x1b[0m", "\n"),
    "a table": _around("\x1b[1mname\x1b[0m\x1b[20G", "\x1b[60Gend"),
    "a progress bar": _around("50 %\r\x1b[2K\x1b[1A\x1b[?25l", "\x1b[?25h"),
    "a saved position": _around("\x1b7", "\x1b8"),
    "C1": _around("\x9b32m", "\x9b0m"),
    "cat -v": lambda text, at: f"^[[32m{text[:at]}^[[1m{text[at:]}^[[0m",
    "a script": lambda text, at: f"\\033[32m{text[:at]}\\e[1m{text[at:]}\\x1b[0m",
    "a page that drops ESC": lambda text, at: f"[0;32m{text[:at]}[1m{text[at:]}[0m",
    "a colour within": lambda text, at: f"{text[:at]}\x1b[1;31m{text[at:]}\x1b[0m",
    "a colour behind a letter": _around("key\x1b[31m", "\x1b[0m"),
    "a zero-width space": _within("\u200b"),
    "a soft hyphen": _within("\u00ad"),
    "a joiner": _within("\u200d"),
    "a mark of order": lambda text, at: f"\ufeff{text[:at]}\ufeff{text[at:]}",
    "marks of direction": lambda text, at: f"\u202d\u2066{text[:at]}\u200e{text[at:]}\u2069\u202c",
    "a variation selector": _within("\ufe0f"),
    "tags": _within("\U000e0041\U000e007f"),
}
"""By the tool, or what it does."""

_TERMINAL: Final = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(?:\x1b\[|\x9b|\^\[\[|\\033\[|\\e\[|\\x1b\[)[0-9;:?]*[A-Za-z]|\x1b\(B|\x1b[78]|\x0f"
    r"|\[(?:0;32|1|0)m|[\u200b\u00ad\u200d\ufeff\u202d\u2066\u200e\u2069\u202c\ufe0f\U000e0041\U000e007f]"
)


def seen(text: str) -> str:
    """What a terminal shows of a text, if the only sequences in it are those of SHAPES."""
    return _TERMINAL.sub("", text)
