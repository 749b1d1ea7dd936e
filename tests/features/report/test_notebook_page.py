"""The cells of docs/notebook.md print what the page shows, and the notebook beside it is made from the page."""

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from converse_harness import ConverseServer, Fake
from tests.features.report.notebook import NOTEBOOK, PAGE, as_file, cells, text_of


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names that the cells share; what a failing cell leaves open is closed."""
    monkeypatch.chdir(tmp_path)
    shared: dict[str, Any] = {"__name__": "__main__"}
    yield shared
    for value in shared.values():
        match value:
            case Fake():
                value.close()
            case ConverseServer():
                value.stop()
            case _:
                pass


def run(source: str, namespace: dict[str, Any]) -> str:
    """Run a page of one or more cells; return the output of the last one as a notebook shows it."""
    printed = io.StringIO()
    for cell in (cell for cell in cells(source) if cell.is_code):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(cell.statements, "cell", "exec"), namespace)
            if cell.result and (value := eval(compile(cell.result, "cell", "eval"), namespace)) is not None:
                print(repr(value))
        assert printed.getvalue().rstrip("\n") == cell.output, cell.source
    return printed.getvalue()


def test_the_cells_print_what_the_page_shows(namespace: dict[str, Any]) -> None:
    run(PAGE.read_text(encoding="utf-8"), namespace)
    assert namespace["fake"].calls.last.status == 200


@pytest.mark.parametrize(
    ("page", "output"),
    [
        ("```python\nprint(1)\n2\n```\n\n```text\n1\n2\n```\n", "1\n2\n"),
        ("```python\n2;\n```\n", ""),
        ("```python\n[None][0]\n```\n", ""),
        ("```python\nx = 2\n```\n\n```python\nx\n```\n```text\n2\n```\n", "2\n"),
    ],
    ids=["printed and returned", "semicolon", "None", "shared"],
)
def test_a_cell_shows_what_it_does_in_a_notebook(page: str, output: str, namespace: dict[str, Any]) -> None:
    assert run(page, namespace) == output


def test_another_output_is_seen(namespace: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="1 \\+ 1"):
        run("```python\n1 + 1\n```\n\n```text\n3\n```\n", namespace)


def test_the_notebook_is_the_page() -> None:
    assert NOTEBOOK.read_text(encoding="utf-8") == as_file(PAGE.read_text(encoding="utf-8")), (
        "docs/examples/notebook.ipynb is behind; write it with: python -m tests.features.report.notebook"
    )


def test_html_is_left_out_of_what_is_compared() -> None:
    rich = {"output_type": "execute_result", "data": {"text/html": ["<p>"], "text/plain": ["<Call", " 1>"]}}
    assert text_of([{"output_type": "stream", "text": "a\n"}, rich]) == "a\n<Call 1>"
