"""The source of a test with its recording in it: what changes, and what is refused."""

from __future__ import annotations

import pytest

from converse_harness.recordings.edits import CannotEdit
from converse_harness.recordings.inlining import find, with_script

IMPORT = "from converse_harness import reply\n"
MARK = "@pytest.mark.converse_recording\n"


def edited(source: str, name: str = "test_a", line: int | None = None) -> str:
    if line is None:
        lines = source.split("\n")
        at = next(number for number, text in enumerate(lines, 1) if "converse_recording" in text)
        while at > 1 and lines[at - 2].strip().startswith("@"):
            at -= 1
        line = at
    found = find(source, name, line)
    made = with_script(source, found, f'{" " * len(found.indent)}converse.script(reply.text("hi"))\n', ["reply"])
    compile(made, "x.py", "exec")
    return made


SCRIPT = 'converse.script(reply.text("hi"))\n'

EDITED: dict[str, tuple[str, str]] = {
    "plain": (
        f"import pytest\n\n\n{MARK}def test_a():\n    assert  1\n",
        f"import pytest\n{IMPORT}\n\ndef test_a(converse):\n    {SCRIPT}    assert  1\n",
    ),
    "docstring and comments": (
        f'{IMPORT}# a\n{MARK}# b\ndef test_a():  # c\n    """D\n    d."""\n    # e\n    pass  # f\n# g',
        f'{IMPORT}# a\n# b\ndef test_a(converse):  # c\n    """D\n    d."""\n    {SCRIPT}    # e\n    pass  # f\n# g',
    ),
    "only a docstring": (
        f'{IMPORT}{MARK}def test_a():\n    """D"""',
        f'{IMPORT}def test_a(converse):\n    """D"""\n    {SCRIPT}',
    ),
    "arguments of the marker": (
        f'{IMPORT}@pytest.mark.converse_recording(\n    match="order",\n)  # why\ndef test_a(): # x\n  pass\n',
        f"{IMPORT}# why\ndef test_a(converse): # x\n  {SCRIPT}  pass\n",
    ),
    "other marks": (
        f"{IMPORT}@pytest.mark.asyncio\n{MARK}@pytest.mark.slow\nasync def test_a(path):\n    pass\n",
        f"{IMPORT}@pytest.mark.asyncio\n@pytest.mark.slow\nasync def test_a(converse, path):\n    {SCRIPT}    pass\n",
    ),
    "mark": (
        f"{IMPORT}from pytest import mark\n@mark.converse_recording\ndef test_a():\n    pass\n",
        f"{IMPORT}from pytest import mark\ndef test_a(converse):\n    {SCRIPT}    pass\n",
    ),
    "a method": (
        f"{IMPORT}class T:\n    {MARK}    def test_a(self): # é\n        pass\n",
        f"{IMPORT}class T:\n    def test_a(self, converse): # é\n        {SCRIPT}        pass\n",
    ),
    "a method with arguments": (
        f"{IMPORT}class T:\n\t{MARK}\tdef test_a(self, *, a, b=1):\n\t\tpass\n".replace("*, ", ""),
        f"{IMPORT}class T:\n\tdef test_a(self, converse, a, b=1):\n\t\t{SCRIPT}\t\tpass\n",
    ),
    "arguments in lines": (
        f"{IMPORT}{MARK}def test_a(\n    a: str,  # é\n    b,\n) -> None:\n    pass\n",
        f"{IMPORT}def test_a(\n    converse,\n    a: str,  # é\n    b,\n) -> None:\n    {SCRIPT}    pass\n",
    ),
    "the fixture is there": (
        f"{IMPORT}{MARK}def test_a(a, converse):\n    converse.calls\n",
        f"{IMPORT}def test_a(a, converse):\n    {SCRIPT}    converse.calls\n",
    ),
    "CRLF": (
        f"{IMPORT}{MARK}def test_a():\n    pass\n".replace("\n", "\r\n"),
        f"{IMPORT}def test_a(converse):\n    {SCRIPT}    pass\n".replace("\n", "\r\n"),
    ),
    "a form feed and U+2028": (
        f'{IMPORT}\x0c\nX = "\u2028"\n{MARK}def test_a():\n    pass\n',
        f'{IMPORT}\x0c\nX = "\u2028"\ndef test_a(converse):\n    {SCRIPT}    pass\n',
    ),
    "a lambda in a default": (
        f"{IMPORT}{MARK}def test_a(a=lambda x: {{1: 2}}[x]) -> dict[str, int]:\n    pass\n",
        f"{IMPORT}def test_a(converse, a=lambda x: {{1: 2}}[x]) -> dict[str, int]:\n    {SCRIPT}    pass\n",
    ),
    "in a block": (
        f"{IMPORT}if True:\n    {MARK}    def test_a():\n        pass\n",
        f"{IMPORT}if True:\n    def test_a(converse):\n        {SCRIPT}        pass\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), EDITED.values(), ids=EDITED)
def test_what_changes(before: str, after: str) -> None:
    assert edited(before) == after


REFUSED: dict[str, tuple[str, str]] = {
    "one line": (f"{MARK}def test_a(): pass\n", "begins on the line of `def`"),
    "parametrized": (f"@pytest.mark.parametrize('a', [1])\n{MARK}def test_a(a):\n    pass\n", "it is parametrized"),
    "another decorator": (f"@given(x)\n{MARK}def test_a():\n    pass\n", "the decorator @given"),
    "no marker": ("# converse_recording\ndef test_a():\n    pass\n", "not in the file"),
    "a name in use": (f"{MARK}def test_a():\n    reply = 1\n", "uses the name 'reply' for something else"),
    "an argument": (f"{MARK}def test_a(faults):\n    pass\n", "uses the name 'faults'"),
    "an import inside": (f"{MARK}def test_a():\n    from x import y as reply\n", "uses the name 'reply'"),
    "converse is another thing": (f"import converse\n{MARK}def test_a():\n    converse.x()\n", "the name 'converse'"),
    "a name of the module": (f"reply = 1\n{MARK}def test_a():\n    pass\n", "the module uses the name 'reply'"),
    "positional": (f"{MARK}def test_a(a, /):\n    pass\n", "have a form that is not known"),
    "keywords": (f"{MARK}def test_a(*, a):\n    pass\n", "have a form that is not known"),
    "stars": (f"class T:\n    {MARK}    def test_a(*args):\n        pass\n", "have a form that is not known"),
    "behind the docstring": (f'{MARK}def test_a():\n    """D"""; x = 1\n', "on the line of its docstring"),
    "CR": (f"{MARK}def test_a():\r    pass\n", "its lines end in CR alone"),
    "no Python": (f"{MARK}def test_a(:\n", "it is not valid Python"),
}


@pytest.mark.parametrize(("source", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(source: str, why: str) -> None:
    with pytest.raises(CannotEdit, match=why):
        edited(source)


def test_a_marker_on_the_class_is_refused() -> None:
    with pytest.raises(CannotEdit, match="its marker is not on the function itself"):
        edited(f"{MARK}class T:\n    def test_a(self):\n        pass\n", line=3)


def test_a_function_of_another_line_is_refused() -> None:
    with pytest.raises(CannotEdit, match="its function is not in the file"):
        edited(f"{MARK}def test_a():\n    pass\n", line=2)
    with pytest.raises(CannotEdit, match="its function is not in the file"):
        edited(f"{MARK}def test_a():\n    pass\n", "test_b")
