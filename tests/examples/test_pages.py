"""Every fenced code block of the README and of the docs runs as the page says."""

from pathlib import Path
from typing import Final

import pytest

from tests.examples.pages import PAGES_READ, ROOT, Block, Page, RunBlock, Way, examples, run_one

__all__ = ["run_one"]


@pytest.mark.parametrize(("page", "block"), examples())
def test_page(page: Page, block: Block, run_one: RunBlock) -> None:
    run_one(page, block)


def test_blocks_that_need_another_package_have_their_suites() -> None:
    packages = {block.directives["with"] for page in PAGES_READ for block in page.blocks if "with" in block.directives}
    folders = (ROOT / "tests" / "clients" / "pinned", *(ROOT / "tests" / "features").glob("*/pinned"))
    suites = (path for folder in folders for path in folder.glob("*/test_page_*.py"))
    assert packages == {path.stem.removeprefix("test_page_") for path in suites if path.parent.name in path.stem}


# What the runner itself must see.

PAGE: Final = """
<!-- example: file=agent.py -->
```python
def answer():
    return 42
```

```python
from math import sqrt
```

```pycon
>>> sqrt(4)
2.0
>>> int("x")
ValueError: invalid literal for int() with base 10: 'x'
```

```python
from agent import answer

def test_answer():
    assert answer() == 42
```

<!-- example: fails -->
```python
from agent import answer

def test_answer():
    assert answer() == 41
```

<!-- example: output -->
```text
assert 42 == 41
1 failed in ...
```

<!-- example: run -->
```console
$ python -c "print('a[0]'); print('b')"
a[0]
b
```

<!-- example: not run: needs an AWS account -->
```python
undefined
```
"""


def sample(old: str = "", new: str = "") -> Page:
    """The page above, with one thing changed."""
    assert old in PAGE
    return Page.read(Path("page.md"), PAGE.replace(old, new))


def test_each_block_runs_in_its_way(run_one: RunBlock) -> None:
    page = sample()
    assert [block.way for block in page.blocks] == [
        Way.FILE, Way.EXEC, Way.DOCTEST, Way.TEST, Way.TEST, Way.OUTPUT, Way.COMMANDS, Way.LEFT
    ]  # fmt: skip
    for block in page.blocks:
        if block.way not in (Way.FILE, Way.OUTPUT, Way.LEFT):
            run_one(page, block)


def test_block_builds_on_those_above_it(run_one: RunBlock) -> None:
    page = sample()
    run_one(page, page.blocks[2])


@pytest.mark.parametrize(
    ("old", "new", "number", "message"),
    [
        ("import sqrt", "import root", 1, "cannot import name 'root'"),
        ("import sqrt", "import root", 2, r"page.md:13 builds on page.md:9, which fails: cannot import name 'root'"),
        ("2.0", "3.0", 2, r"Expected:\n    3.0\nGot:\n    2.0"),
        ("literal for", "number for", 2, "Expected"),
        ("return 42", "return 41", 3, "page.md:20 ended with status 1"),
        ("== 41", "== 42", 4, "page.md:28 ended with status 0"),
        ("1 failed", "2 failed", 4, "page.md:28 does not print what the page shows"),
        ("\na[0]\nb\n", "\nb\na[0]\n", 6, "page.md:42 does not print what the page shows"),
        ("python -c", "pytest nothing.py -k", 6, "page.md:42 ended with status 4"),
        ("python -c", "converse-harness", 6, "page.md:42 ended with status 2"),
        ("python -c", "true\n$ false\n$ python -c", 6, "page.md:42 ended with status 1"),
    ],
)
def test_what_is_wrong_is_seen(old: str, new: str, number: int, message: str, run_one: RunBlock) -> None:
    page = sample(old, new)
    with pytest.raises((Exception, pytest.fail.Exception), match=message):
        run_one(page, page.blocks[number])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("example: fails", "example: failing", "page.md:26: there is no directive `failing`. Allowed: `file`, `fails`"),
        ("-->\n```python\nundefined", "-->\ntext\n```python\nundefined", "page.md:48: a directive stands right before"),
        ("\nundefined\n```", "\nundefined\n", "page.md:48: the code block is never closed"),
        ("example: not run: needs an AWS account", "example: not run:", "there is no directive `not run:`"),
    ],
)
def test_a_damaged_page_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample(old, new)
