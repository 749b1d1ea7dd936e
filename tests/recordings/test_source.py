"""Values and calls as Python source: equal when evaluated, and laid out as ruff lays them out."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import faults
from converse_harness.recordings.source import Unwritable, chain_source, source_of
from tests.profiles import examples

WORDS = [
    "a",
    "the",
    "'q'",
    '"d"',
    "naïve",
    "東京",
    "🎉",
    "\x00",
    "\u202e",
    "\n",
    "\t",
    "\ud800",
    "\\",
    "word" * 30,
    "e\u0301",
]
texts = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(max_size=200)
values = st.recursive(
    texts | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
calls = st.tuples(
    st.just("message"), st.lists(values, max_size=3), st.dictionaries(st.sampled_from(["usage", "trace"]), values)
)
MORE: tuple[Any, ...] = (
    ("fails_after", (3, "x" * 40, "because " * 5), {}),
    ("broken", (faults.reset,), {"after": 3}),
    ("times", (2,), {}),
)
chains = st.tuples(calls, st.lists(st.sampled_from(MORE), max_size=3)).map(lambda drawn: [drawn[0], *drawn[1]])


@settings(max_examples=examples(3))
@given(values, st.integers(0, 80), st.integers(40, 120))
def test_a_value_is_itself_again(value: Any, indent: int, width: int) -> None:
    assert eval(source_of(value, indent=indent, width=width)) == value


def test_a_long_text_is_cut_after_lines_and_words() -> None:
    made = source_of({"text": "One line.\nAnother line, which is longer than the others, and so it is cut."}, width=40)
    assert made == (
        "{\n"
        '    "text": (\n'
        '        "One line.\\n"\n'
        '        "Another line, which is longer "\n'
        '        "than the others, and so it is "\n'
        '        "cut."\n'
        "    ),\n"
        "}"
    )


def test_a_word_wider_than_a_line_fills_each_line_but_the_last() -> None:
    lines = [34, 34, 2]
    assert source_of("x" * sum(lines), width=40) == "(\n" + "".join(f'    "{"x" * each}"\n' for each in lines) + ")"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), {1: object()}, (1, 2)])
def test_what_has_no_source_is_refused(value: Any) -> None:
    with pytest.raises(Unwritable):
        source_of(value)


def test_an_argument_that_is_no_name_is_refused() -> None:
    for name in ("a-b", "class"):
        with pytest.raises(Unwritable):
            chain_source([("error", ("X",), {name: 1})])


@pytest.mark.nightly  # it needs ruff, which the extra [test] does not have
@pytest.mark.parametrize("width", [88, 120])
def test_ruff_leaves_it_as_it_is(width: int, tmp_path: Path) -> None:
    ruff = shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed here")
    lines: list[str] = ["def test(converse):\n"]

    @settings(max_examples=100)
    @given(chains)
    def write(drawn: Any) -> None:
        made = chain_source(drawn, indent=8, after=1, width=width)
        if "\\ud800" not in made:
            lines.append(f"    converse.script(\n        {made},\n    )\n")

    write()
    path = tmp_path / "test_it.py"
    path.write_text("".join(lines), encoding="utf-8")
    command = [ruff, "format", "--isolated", "--no-cache", "--diff", f"--line-length={width}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:3000]
