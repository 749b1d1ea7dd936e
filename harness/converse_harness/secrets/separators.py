"""Patterns of what stands between a name and its value, in code, configuration, markup, tables and sentences.

Each pattern is a group without a name, for `re`. All of them are bounded, so that a search does not become slow.
"""

from __future__ import annotations

from typing import Final

_QUOTE: Final = r"""["'`*\\]{0,6}"""

_TYPE: Final = r"(?::\s?&?(?:'static )?(?:[Ss]tr|[Ss]tring|SecretStr)\s?)?"
_SIGN: Final = r"(?:=>|:=|\|\||\?\?|[:=>\u2192\u2013\u2014]|->)=?"
_REMARK: Final = r"(?:[ \t]{1,2}(?:[\[(][^\])\n]{0,32}[\])]|for[ \t][\w.-]{1,24}))?"
_BLOCK: Final = r"(?:[|>][+-]?\s{1,40}|-\s{1,8})?"
_OPENING: Final = r"""(?:[\[(]\s{0,8})?(?:[bru](?=["'`]))?"""
IS: Final = rf"(?:{_QUOTE}[\])]?{_REMARK}[ \t]{{0,40}}{_TYPE}{_SIGN}{_QUOTE}\s{{0,8}}{_BLOCK}{_OPENING}{_QUOTE})"
"""Matches between the name and the value of a header or of a member: in JSON (plain or inside a string), in Markdown,
in Python and other languages (with a type, too), in YAML (also before a block of lines), in XML, and behind a label
with a remark, such as `Secret key [None]: `."""

_TAGS: Final = r"</[A-Za-z][\w:-]{0,20}>\s{0,40}(?:</?[A-Za-z][^<>]{0,80}>\s{0,40}){1,4}"
_BARS: Final = r"[ \t]?[|\u2502\u2503\t]{1,2}[ \t]{0,40}"
CELL: Final = rf"(?:{_QUOTE}\s{{0,40}}(?:{_TAGS}|{_BARS}){_QUOTE})"
"""Matches between two cells of a table: in HTML (and between two elements of XML), in Markdown, drawn, or with tabs."""

LISTED: Final = r"""(?:["'\\]{1,4}(?:,\s{0,3}b?|\s{1,8}(?:value|content)=|\r?\n\r?\n)["'\\]{0,4}|\(\s?["'`])"""
"""Matches between two items of a list, before the argument of a call, after the head of a part of a form, and between
name and value in <input name= value=>."""

_MEMBERS: Final = (
    r"""["'\\]{0,4}\s{0,3}(?:,|\n|\\n)\s{0,40}["'\\]{0,4}(?i:values?)["'\\]{0,4}\s{0,3}[:=]"""
    r"""\s{0,8}(?:\[\s{0,8})?["'\\]{0,4}"""
)
ASSIGNED: Final = rf"(?:{IS}|{CELL}|{LISTED}|{_MEMBERS})"
"""Matches what IS, CELL and LISTED match, and between a name and its value in {"name": "X", "value": "Y"}."""

_SENTENCE: Final = rf"(?i:\s+(?:is|was)\s?:?\s{{0,8}}){_QUOTE}"
_LINES: Final = rf"{_QUOTE}:?[ \t]{{0,4}}(?:\r?\n[ \t]{{0,40}}){{1,2}}{_QUOTE}"
GIVEN: Final = rf"""(?:{ASSIGNED}|[ \t]{{1,4}}["']?|{_SENTENCE}|{_LINES})"""
"""Matches what ASSIGNED matches, and between two arguments of a command, two lines, or a name and its value in a
sentence."""
