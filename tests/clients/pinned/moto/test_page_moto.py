"""The blocks of the pages that need moto run as the pages say."""

import pytest

from tests.examples.pages import Block, Page, RunBlock, examples, run_one

__all__ = ["run_one"]


@pytest.mark.parametrize(("page", "block"), examples("moto"))
def test_page(page: Page, block: Block, run_one: RunBlock) -> None:
    run_one(page, block)
