r"""Texts that look like something else: a literal, a number, JSON, markup, an escape.

A consumer that looks for one of them finds it in a text or in an argument, where it is only text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class LookAlike(NamedTuple):
    """A text, and the kind of bug for which it stands."""

    text: str
    bug: str


LOOK_ALIKES: Final[Sequence[LookAlike]] = (
    LookAlike("true", "a string is read as a boolean"),
    LookAlike("false", "a string is read as a boolean, or its truth is tested after that"),
    LookAlike("null", "a string is read as null, and the argument is left out"),
    LookAlike("12", "a string of digits is read as an integer"),
    LookAlike("007", "a string of digits loses its zeros: postcodes, telephone numbers"),
    LookAlike("-0", "a string is read as a number, and loses its sign"),
    LookAlike("1e5", "a string is read as a number: commits, names of devices"),
    LookAlike("0x1F", "a string is read as a number of another base"),
    LookAlike("1.10", "a string is read as a number: versions"),
    LookAlike("12345678901234567890", "a string of digits is read as a number, and is rounded"),
    LookAlike('{"a": 1}', "JSON in a string is parsed a second time"),
    LookAlike("[1]", "JSON in a string is parsed a second time, as a list"),
    LookAlike('"a"', "a quoted string is parsed a second time, or loses its quotes"),
    LookAlike('{"a": "{\\"b\\": 1}"}', "JSON within JSON is parsed, or its backslashes are removed"),
    LookAlike('{"name": "f", "input": {}}', "a text of this form is run as a tool"),
    LookAlike("{'a': True}", "a string is read as a literal of Python"),
    LookAlike("{a}", "a text is used as a template of str.format"),
    LookAlike("%s", "a text is used as a template of the operator %"),
    LookAlike("${a} {{a}}", "a text is used as a template of a shell, or of Jinja"),
    LookAlike("```json\n{}\n```", "the fence of a code block is removed, or what is in it is parsed"),
    LookAlike("```", "a code block is taken as open to the end of the answer"),
    LookAlike("<thinking>a</thinking>", "tags of thoughts are cut out of a text"),
    LookAlike("<think>", "a text is taken for a thought, up to an end that never comes"),
    LookAlike("</tool>", "a tag ends what the consumer writes around a text"),
    LookAlike("<function=f>", "a text is run as a tool"),
    LookAlike("<tool_call>a</tool_call>", "a text is run as a tool, or cut out"),
    LookAlike("<|im_end|>", "a token of a chat template is cut out, or ends the answer"),
    LookAlike("<b>a</b>", "tags of HTML are cut out"),
    LookAlike("&lt;&amp;", "entities of HTML are decoded"),
    LookAlike("%20", "percent escapes are decoded"),
    LookAlike("a+b", "a plus sign becomes a space"),
    LookAlike("\\n", "a backslash and a letter are read as an end of line"),
    LookAlike("\\u0041", "an escape is decoded a second time"),
    LookAlike("\\ud83d", "an escape is decoded to half a character"),
    LookAlike("\ufeffa", "a byte order mark is removed"),
    LookAlike("a\x00b", "a text ends at a NUL"),
    LookAlike("a\u200bb", "characters without width are removed"),
    LookAlike("e\u0301", "characters are composed, so texts are no longer equal"),
    LookAlike("\ufb01", "letters are replaced by compatible ones"),
    LookAlike("\u202ea\u202c", "marks of the writing direction are removed"),
    LookAlike("\x1b[1ma\x1b[0m", "escapes of terminals are removed"),
    LookAlike("a\r\nb", "ends of lines are made equal"),
    LookAlike("a\u2028b", "a text is split into lines at U+2028"),
    LookAlike("data: [DONE]", "the marker of another protocol ends the answer"),
    LookAlike("\n\nHuman: ", "a marker of turns ends the answer"),
    LookAlike("None", "a string is read as null"),
    LookAlike("NaN", "a string is read as a number that JSON does not have"),
    LookAlike("Infinity", "a string is read as a number that JSON does not have"),
    LookAlike("2026-01-02", "a string is read as a date"),
    LookAlike("2026-01-02T03:04:05Z", "a string is read as a time, and is written in another form"),
    LookAlike("1:30", "a string is read as a number or a time, as by YAML"),
    LookAlike("yes", "a string is read as a boolean, as by YAML"),
    LookAlike("# a", "a text is taken for a comment or a heading"),
    LookAlike("~/a/../b", "a path is expanded or made shorter"),
    LookAlike("aGVsbG8=", "a string is decoded as base64"),
    LookAlike("[1](https://example.com/)", "a link is cut out, or taken for a citation"),
    LookAlike("{{a}}", "doubled braces are read as one brace of a template"),
    LookAlike("%%", "a doubled percent sign is read as one of a template"),
    LookAlike("\u201ca\u201d \u2018b\u2019", "typographic quotes are made straight"),
    LookAlike("a\u00adb", "soft hyphens are removed"),
    LookAlike("\u2600\ufe0f", "the mark that makes a character an emoji is removed"),
    LookAlike("**a**", "marks of Markdown are removed"),
    LookAlike("a | b", "a text is split at a mark of tables, lists or commands"),
    LookAlike("<answer>a</answer>", "tags that a prompt asks for are cut out"),
    LookAlike("[object Object]", "a string is taken for an error of the consumer's own"),
)
"""The table of all look-alikes."""
