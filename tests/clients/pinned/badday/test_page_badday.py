"""The blocks of docs/found.md run as the page says: the released clients still do what stands there."""

import pytest

from tests.examples.pages import Block, Page, RunBlock, examples, run_one

pytestmark = pytest.mark.any_answer

__all__ = ["run_one"]


@pytest.mark.parametrize(("page", "block"), examples("badday"))
def test_page(page: Page, block: Block, run_one: RunBlock) -> None:
    run_one(page, block)
