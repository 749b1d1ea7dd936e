"""The tables of the page about the architecture are complete."""

import re
from pathlib import Path
from types import FunctionType

from converse_harness.endpoint.stage import Stage

PAGE = Path(__file__).parents[2].joinpath("docs", "architecture.md").read_text(encoding="utf-8")


def test_the_table_of_stages_has_each_method_in_the_order_of_the_class() -> None:
    methods = [name for name, each in vars(Stage).items() if isinstance(each, FunctionType) and name != "__init__"]
    assert re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE) == methods
