"""The three snapshot libraries store an outline as it is, find it again, and a failure names the change first."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.extensions.amber.serializer import AmberDataSerializer

from converse_harness.features.outline.amber import value_of_amber
from tests.examples.pages import Block, blocks_of

PAGE = Path(__file__).parents[5] / "docs" / "outline.md"
BLOCKS = [*blocks_of(PAGE, PAGE.read_text(encoding="utf-8"))]
(AGENT,) = (block.code for block in BLOCKS if block.directives.get("file") == "agent.py")
RECIPES = [block for block in BLOCKS if block.directives.get("with") == "snapshots"]
WRITE = ("--snapshot-update", "--inline-snapshot=create", "--force-regen")
FIRST = "E       assert call 2: the agent sent something else: toolResult timetable"
LINES = {
    "snapshot": [FIRST, 'E           - messages[[]0].content[[]0].toolResult.status  "success"'],
    "snapshot()": [FIRST, 'E           + messages[[]0].content[[]0].toolResult.status  "error"'],
    "file_regression": ["E       +   user: toolResult timetable error: '09:58'"],
}

words = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.just("\n")
"""syrupy itself loses some of the other characters that end lines."""

plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(words),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab'\" :", max_size=5), inner, max_size=3),
)


def ids(block: Block) -> str:
    return next(name for name in reversed(LINES) if name in block.code)


@pytest.mark.parametrize("recipe", RECIPES, ids=ids)
def test_a_recipe_of_the_page(recipe: Block, pytester: pytest.Pytester) -> None:
    Path("agent.py").write_text(AGENT, encoding="utf-8")
    Path("test_trip.py").write_text(recipe.code, encoding="utf-8")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.runpytest_subprocess(*WRITE)  # which libraries call a new snapshot a failure differs
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    changed = AGENT.replace('"toolUseId": use["toolUseId"],', '"toolUseId": use["toolUseId"], "status": "error",')
    Path("agent.py").write_text(changed, encoding="utf-8")
    result = pytester.runpytest_subprocess()
    assert result.parseoutcomes()["failed"] == 1  # inline-snapshot adds an error of its own
    result.stdout.fnmatch_lines(LINES[ids(recipe)])


@given(plain)
def test_what_syrupy_writes_is_read(value: Any) -> None:
    text = AmberDataSerializer.serialize(value)
    assert value_of_amber(text) == value
