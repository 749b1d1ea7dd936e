"""docs/notebook.md as a notebook: the cells and outputs of the file that a reader runs.

`python -m tests.features.report.notebook` writes docs/examples/notebook.ipynb from the page.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.examples.pages import ROOT, Block, blocks_of

PAGE: Final = ROOT / "docs" / "notebook.md"
NOTEBOOK: Final = ROOT / "docs" / "examples" / "notebook.ipynb"

_DIRECTIVE: Final = re.compile(r"^<!-- example: .* -->$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: text of the page, or code with what it prints and what its last line returns."""

    source: str
    is_code: bool = False
    output: str = ""

    @property
    def result(self) -> ast.Expression | None:
        """The last line, if a notebook shows its value."""
        last = ast.parse(self.source).body[-1]
        if not isinstance(last, ast.Expr) or self.source.endswith(";"):
            return None
        return ast.Expression(last.value)

    @property
    def statements(self) -> ast.Module:
        """The code without the line whose value is shown."""
        tree = ast.parse(self.source)
        return ast.Module(tree.body[: -1 if self.result else None], type_ignores=[])

    @property
    def has_result(self) -> bool:
        """Whether the output is the value of the last line; otherwise it is printed."""
        return self.result is not None and "print(" not in self.source


def cells(page: str) -> list[Cell]:
    """The cells of a page: its Python is code, the `text` right after it is the output, all else is Markdown."""
    return [*_cells(page.splitlines(), [*blocks_of(PAGE, page)])]


def _cells(lines: list[str], blocks: list[Block]) -> Iterator[Cell]:
    written = 0
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if text := _text(lines[written : block.line - 2]):
            yield Cell(text)
        written = block.line + block.code.count("\n")
        if block.language == "python":
            output = after.code if after is not None and after.language == "text" else ""
            yield Cell(block.code.rstrip("\n"), is_code=True, output=output.rstrip("\n"))
    yield Cell(_text(lines[written:]))


def _text(lines: list[str]) -> str:
    return _DIRECTIVE.sub("", "\n".join(lines)).strip()


def text_of(outputs: list[Any]) -> str:
    """What a reader sees of a cell's outputs as plain text; a richer form, such as HTML, is left out."""
    return "".join("".join(each.get("text") or each["data"]["text/plain"]) for each in outputs).rstrip("\n")


def as_file(page: str) -> str:
    """The page in the format of Jupyter."""
    about = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = [_code(cell) if cell.is_code else _markdown(cell) for cell in cells(page)]
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    content = {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _markdown(cell: Cell) -> dict[str, Any]:
    """A cell of text. The notebook is in a folder of its own, so links to pages go one folder up."""
    text = re.sub(r"\]\((?!https?:)", "](../", cell.source).replace("](../examples/", "](")
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _code(cell: Cell) -> dict[str, Any]:
    outputs: list[dict[str, Any]] = []
    if cell.output and cell.has_result:
        data = {"text/plain": _lines(cell.output)}
        outputs = [{"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}]
    elif cell.output:
        outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(f"{cell.output}\n")}]
    source = _lines(cell.source)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs, "source": source}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.write_text(as_file(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
