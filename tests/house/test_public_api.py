"""What others build on changes only where the change is seen in a review."""

import difflib

import pytest

from tests.house.public_api import FILE, WRITE, surface, without_docstring

CHANGED = """\
What is public is not what {file} says:

{difference}

If that is meant, write the file anew and commit it with the change:

    {write}

CONTRIBUTING.md says under "What is public" what a version promises. A line that is gone or changed is news for
CHANGELOG.md.
"""


def test_what_is_public_is_what_the_file_says() -> None:
    before, now = FILE.read_text(encoding="utf-8").splitlines(), surface().splitlines()
    difference = "\n".join(list(difflib.unified_diff(before, now, "before", "now", n=1, lineterm=""))[2:])
    if difference:
        pytest.fail(CHANGED.format(file=FILE.name, difference=difference, write=WRITE), pytrace=False)


def test_what_is_public_has_a_docstring() -> None:
    assert without_docstring() == []
