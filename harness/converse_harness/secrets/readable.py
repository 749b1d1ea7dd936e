"""What a person reads of a text: without colours, characters of no width, quoting, line numbers and soft line breaks.

Tools that print to a terminal put colours around a word, and into it. Mails and listings have signs and numbers before
each line, and break long lines. A search must not depend on them. Escapes are decoded in `encodings`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

# The control character ESC, as itself or as people and tools write it: ^[ (cat -v), \e, \033, \x1b, \u001b, and its
# picture.
_ESC: Final = r"(?:\x1b|\^\[|\\(?:[eE]|033|[xX]1[bB]|u001[bB])|\u241b)"

_ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The characters that Unicode calls Default_Ignorable_Code_Point, and U+FFF9 to U+FFFB. A text shows none of them."""

# The commonest of these characters in UTF-8 that was decoded as Latin-1. Bytes within base64 are searched in this form.
_ZERO_WIDTH_BYTES: Final = (
    r"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\xa0[\x8b-\x8f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xb8[\x80-\x8f]"
    r"|\xef\xbb\xbf|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)

_SEQUENCE: Final = re.compile(
    # OSC, DCS, SOS, PM or APC: a text for the terminal, such as the address of a link. A reader does not see it.
    rf"(?P<open>{_ESC}[\]PX^_]|\x9d)(?P<unseen>[^\x00-\x1f\x7f\x9c\\^]{{0,4096}})"
    rf"(?P<close>\x07|{_ESC}\\{{1,2}}|\x9c|\^G|\\(?:a|007|x07|u0007))"
    # CSI: a colour, or a movement of the cursor. Sites and editors that drop ESC show the rest: [0;32m.
    rf"|(?:{_ESC}\[|\xc2?\x9b)[0-?]{{0,64}}[ -/]{{0,2}}[@-~][\x0e\x0f]?|(?P<rest>\[\d[\d;:]{{0,23}}[mK])"
    # Other sequences, such as ESC ( B of `tput sgr0`, and ESC alone. What follows ESC may also be a letter to be read.
    rf"|(?P<short>{_ESC}[#%(-/]|\x1b)(?P<final>[0-~])?"
    rf"|{_ZERO_WIDTH_BYTES}|[{_ZERO_WIDTH}]"
)
"""Matches what a text contains beside that which a person reads (ECMA-48, Unicode)."""

# `re` finds a character of a class quickly, and _SEQUENCE slowly. So _SEQUENCE is tried only where it may begin.
_BEGINS: Final = re.compile(rf"[\x1b^\\[\u241b\x9b\x9d\xc2\xcd\xd8\xe1\xe2\xef\xf3{_ZERO_WIDTH}]")
SIGNS: Final = _BEGINS.pattern.replace(r"^\\[", "")
r"""A pattern of the characters that are in every text from which `shown` leaves out something, besides `[` and `\\`."""
_SIGN: Final = re.compile(SIGNS)
_ESCAPES: Final = ("\\e", "\\E", "\\0", "\\x", "\\X", "\\u0")
_COLOUR_WITHOUT_ESC: Final = re.compile(r"\[\d[\d;:]{0,23}[mK]")


class Reading(NamedTuple):
    """One way to read a text; `text` is what is read, and `span` finds its place in the original."""

    text: str
    kept: Sequence[int] = ()
    """The positions in `text` at which a run of kept characters begins."""
    left_out: Sequence[int] = ()
    """For each of these runs, the number of characters of the original that are left out before the run."""
    of: Reading | None = None
    """The reading whose text is the original; None if the original is the text itself."""
    has_same_words: bool = False
    """Whether only whole words are left out of an earlier reading, so that no word is new."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, in the original, of a part of `text`."""
        if self.kept and start < end:
            first, last = (bisect_right(self.kept, at) - 1 for at in (start, end - 1))
            start, end = start + self.left_out[first], end + self.left_out[last]
        return (start, end) if self.of is None else self.of.span(start, end)


def readings(text: str) -> tuple[Reading, ...]:
    r"""Return the ways to read a text: only the text itself, if nothing in it is hidden from a person.

    Of a text with hidden sequences, such as colours, there are two readings. In the first, spaces of the same length
    take the place of each hidden sequence, but the address of a link stays. In the second, the hidden sequences are
    left out. Of a text in lines there is one more, without what stands before each line, and without soft line breaks.

    >>> [reading.text for reading in readings("\x1b[32mgr\u200been\x1b[0m")]
    ['     gr een    ', 'green']
    >>> readings("> token: gre=\n> en")[-1].text
    'token: green'
    """
    found = _of_terminal(text)
    lines = _of_lines(found[-1])
    return found if lines is None else (*found, lines)


def _of_terminal(text: str) -> tuple[Reading, ...]:
    """Return the ways to read a text on a terminal; only the text itself if nothing in it is hidden."""
    spaced = list[str]()
    spans = list[tuple[int, int]]()
    done = 0
    for begin in _BEGINS.finditer(text) if _hides(text) else ():
        if begin.start() < done or (found := _SEQUENCE.match(text, begin.start())) is None:
            continue
        spaced += [text[done : found.start()], _blank(found)]
        spans.append(found.span())
        done = found.end()
    return (Reading("".join([*spaced, text[done:]])), _without(text, spans)) if spans else (Reading(text),)


def _of_lines(reading: Reading) -> Reading | None:
    """Return a reading without quoting, line numbers and soft line breaks; None if the text has none of them."""
    text = reading.text
    spans = [found.span() for sign, broken in _BROKEN if sign in text for found in broken.finditer(text)]
    has_same_words = not spans
    if "\n" in text and _QUOTED.search(text):
        spans += [found.span() for found in _BEFORE_LINE.finditer(text) if found.end() > found.start()]
    spans.sort()
    made = _without(text, spans, of=reading if reading.kept else None)
    return made._replace(has_same_words=has_same_words) if spans else None


def _without(text: str, spans: Iterable[tuple[int, int]], of: Reading | None = None) -> Reading:
    """Return a reading of a text, or of the reading `of`, in which these parts are left out. They are in order."""
    joined = list[str]()
    kept, left_out = list[int](), list[int]()
    length = hidden = done = 0
    for start, end in spans:
        if start > done:
            joined.append(text[done:start])
            kept.append(length)
            left_out.append(hidden)
            length += start - done
        if end > done:
            hidden += end - max(start, done)
            done = end
    return Reading("".join([*joined, text[done:]]), [*kept, length], [*left_out, hidden], of)


_NUMBER: Final = (
    r"(?:[\w./-]{1,120}:\d{1,6}[:-]|[\w.-]{1,40}[ ]{1,8}\|[ ]"
    r"|\d{1,6}(?:[ \t]*[|:\u2502\u2192]|\t|[ ]{2}|(?<=[ ]\d\d)[ ])[ \t]?)?"
)
"""Matches the number of a line, with the name of its file, or the name of a service in the log of several."""
_LINE: Final = (
    rf"(?:E[ ]{{3,}})?(?:[+-](?=[\w\"'{{]))?[ \t]*{_NUMBER}"
    r"(?:[ \t]*(?:>+|[|\u2502+#;*!]|//|--?)(?=[ \t>]|$)[ \t]?){0,4}"
)
"""Matches what stands before a line that is quoted, numbered, a line of a diff, of a comment, of a list, or of an error
that pytest prints (`E       `)."""
_BEFORE_LINE: Final = re.compile(rf"^{_LINE}", re.MULTILINE)
_QUOTED: Final = re.compile(
    r"^[ \t]*(?:[>|\u2502+#;*!-]|E[ ]{3}|//|\d{1,6}[ \t|:\u2502\u2192]|[\w./-]{1,120}:\d)", re.MULTILINE
)
"""Matches in every text with a line before which `_BEFORE_LINE` matches something."""

_TOKEN: Final = r"[\w+/.~%=-]"
_JOINED: Final = rf"[ \t]*(?:[+.&\\]|\.\.)?(?:[ \t]{{0,40}}\r?\n(?:{_LINE})?)?\s{{0,80}}(?:[+.&][ \t]*)?[brf]?"
"""Matches between two literals of a program, which may stand on two lines."""

# Each pattern begins with a character, not with a look-behind, because `re` finds a character quickly. The first item
# is a text that a text with a match contains.
_BROKEN: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        # A soft line break of quoted-printable or of a shell, with what stands before the next line.
        ("=\n", rf"=\n(?<={_TOKEN}=\n)(?:{_LINE})?(?={_TOKEN})"),
        ("=\r\n", rf"=\r\n(?<={_TOKEN}=\r\n)(?:{_LINE})?(?={_TOKEN})"),
        ("\\\n", r"\\\n[ \t]*"),
        ("\\\r\n", r"\\\r\n[ \t]*"),
        # A long word that was cut at the end of a line: its second part has a digit, unlike most words.
        ("\n", rf"\n(?<=[\w+/-]{{8}}\n)(?:{_LINE})?(?=[A-Za-z_+/-]{{0,40}}\d)(?=[\w+/-]{{8}})"),
        ("\r\n", rf"\r\n(?<=[\w+/-]{{8}}\r\n)(?:{_LINE})?(?=[A-Za-z_+/-]{{0,40}}\d)(?=[\w+/-]{{8}})"),
        # A tag of HTML within a word.
        ("<", rf"<(?<={_TOKEN}<)/?(?:wbr|b|i|em|span|mark)\b[^<>]{{0,60}}>(?={_TOKEN})"),
        # A text in two literals of a program: "abc" + "def".
        ('"', rf"""\"(?<={_TOKEN}\"){_JOINED}\"(?={_TOKEN})"""),
        ("'", rf"""'(?<={_TOKEN}'){_JOINED}'(?={_TOKEN})"""),
    )
)


def readings_of_binary(data: str) -> tuple[Reading, ...]:
    """Return the ways to read binary data, such as an image with a text behind it. Each byte is a character of `data`.

    All of it is one reading. Its texts have further readings if something in them is hidden from a person; in the rest
    of the data, such sequences are accidental.
    """
    texts, kept, left_out = list[str](), list[int](), list[int]()
    length = done = 0
    for found in _TEXT.finditer(data):
        start, end = max(found.start() - _AROUND, done), min(found.end() + _AROUND, len(data))
        if start > done or not kept:
            if kept:
                texts.append(_BETWEEN)
                length += len(_BETWEEN)
            kept.append(length)
            left_out.append(start - length)
        texts.append(data[start:end])
        length += end - start
        done = end
    of = Reading("".join(texts), kept, left_out)
    more = readings(of.text)
    return (Reading(data), *(reading._replace(of=of) for reading in more if len(more) > 1))


_TEXT: Final = re.compile(r"[\t\n\r\x07\x0e\x0f\x1b -~]{8,}")
"""Matches text in binary data. By chance, random bytes have one such run in some 2,000 bytes."""
_AROUND: Final = 24
"""The number of characters before and after such a run that belong to the text. A character of no width, or of another
alphabet, may interrupt it."""
_BETWEEN: Final = "\n\0\n"


def shown(text: str) -> str:
    r"""Return a text without what a person does not see of it.

    >>> shown("\x1b]8;;https://example.com\x1b\\here\x1b]8;;\x1b\\")
    'here'
    """
    return _of_terminal(text)[-1].text


def _hides(text: str) -> bool:
    """Whether a text may contain a hidden sequence. Nearly all texts contain none, so this must be quick."""
    if "\x1b" in text or "^[" in text or ("[" in text and _COLOUR_WITHOUT_ESC.search(text) is not None):
        return True
    if "\\" in text and any(escape in text for escape in _ESCAPES):
        return True
    return not text.isascii() and _SIGN.search(text) is not None


def _blank(found: re.Match[str]) -> str:
    if found["open"] is not None:
        return " " * len(found["open"]) + found["unseen"] + " " * len(found["close"])
    if found["short"] is not None:
        return " " * len(found["short"]) + (found["final"] or "")
    return found["rest"] or " " * len(found[0])
