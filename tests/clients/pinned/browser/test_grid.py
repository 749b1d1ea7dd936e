"""The grid of the matrix in Chromium: it filters, opens what was seen, is reached by keys, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests.clients.matrix.base import clients
from tests.clients.matrix.grid import grid
from tests.clients.matrix.verdicts import verdicts
from tests.clients.pinned.browser.conftest import Open


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The grid on disk, apart from the pages that a build of the site writes and removes."""
    file = tmp_path_factory.mktemp("grid") / "matrix-grid.html"
    file.write_text(grid(), encoding="utf-8")
    return file


ROWS = "#grid tbody:not([hidden]) tr:not([hidden], :first-child)"
CASES = {operation: [*clients()["strands"].read()[operation]] for operation in ("ConverseStream", "Converse")}
ALL = sum(map(len, CASES.values()))


def rows(page: Page) -> list[str]:
    """The cases whose rows are shown, from top to bottom."""
    names: list[str] = page.locator(f"{ROWS} th").all_inner_texts()
    assert page.locator("#count").inner_text() == f"{len(names)} of {ALL} rows"
    return names


def cell(page: Page, operation: str, case: str, client: str) -> Locator:
    row = page.locator(f"[data-operation={operation}] tr").filter(has=page.get_by_role("link", name=case, exact=True))
    return row.locator("td").nth([*clients()].index(client))


def test_it_opens_from_disk_and_a_cell_shows_what_was_seen(visit: Open, page_file: Path) -> None:
    page = visit(page_file).page
    assert rows(page) == [*CASES["ConverseStream"], *CASES["Converse"]]
    cell(page, "ConverseStream", "server_tool_nova", "strands").click()
    seen = page.get_by_role("dialog")
    assert seen.get_by_role("heading").inner_text() == "server_tool_nova: Strands Agents 1.62.0"
    this = seen.locator("li[aria-current]").inner_text()
    assert this.startswith("mishandled: lost\n")
    assert "'OK.'; it was '18 °C and sunny in Zürich.'" in this
    page.keyboard.press("Escape")
    assert not seen.is_visible()


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_can_be_read(visit: Open, page_file: Path, width: int, dark: bool) -> None:
    opened = visit(page_file, width=width, dark=dark)
    name = f"grid-{width}-{'dark' if dark else 'light'}"
    opened.picture(name)
    assert opened.sideways() == 0
    opened.page.locator("#verdict").select_option("differ")  # axe-core needs half a minute for all rows
    assert opened.faults(exclude="article ~ article") == []
    cell(opened.page, "ConverseStream", "tool_input_not_json", "strands").click()
    opened.picture(f"{name}-seen")
    assert (opened.sideways(), opened.faults("dialog")) == (0, [])
    opened.page.get_by_role("button", name="Close").click()
    opened.page.locator("#text_bytewise").scroll_into_view_if_needed()
    opened.picture(f"{name}-below")


@pytest.mark.nightly
def test_the_headers_stay_in_sight(visit: Open, page_file: Path) -> None:
    page = visit(page_file, width=800).page
    page.locator("#grid").evaluate("grid => grid.scrollTo(400, 3000)")
    frame = page.locator("#grid").bounding_box()
    corner = page.locator("#grid thead th").first.bounding_box()
    assert frame is not None
    assert corner is not None
    assert (corner["x"], corner["y"]) == (frame["x"] + 1, frame["y"] + 1)
    assert page.locator("#grid thead th").last.bounding_box() != corner


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("refused", lambda found: "refused" in found),
        ("mishandled: silent success", lambda found: "mishandled: silent success" in found),
        ("mishandled", lambda found: any(verdict.startswith("mishandled") for verdict in found)),
        ("differ", lambda found: len(found) > 1),
    ],
    ids=["refused", "flaw", "mishandled", "differ"],
)
def test_rows_are_filtered_by_verdict(
    visit: Open, page_file: Path, choice: str, left: Callable[[set[str]], bool]
) -> None:
    page = visit(page_file).page
    page.locator("#verdict").select_option(choice)
    read = [client.read() for client in clients().values()]
    expected = [
        case
        for operation, cases in CASES.items()
        for case in cases
        if left({verdict for seen in read if case in seen[operation] for verdict in verdicts(seen[operation][case])})
    ]
    assert 0 < len(expected) < ALL
    assert rows(page) == expected


@pytest.mark.nightly
def test_rows_are_filtered_by_case_text_and_operation_and_come_back(visit: Open, page_file: Path) -> None:
    page = visit(page_file).page
    page.locator("#find").fill("Server_Tool_Nova")
    assert rows(page) == ["server_tool_nova"] * 2
    page.locator("#operation").select_option("Converse")
    assert rows(page) == ["server_tool_nova"]
    page.locator("#find").fill("one text in several deltas")  # of the case's sentence
    assert rows(page) == ["text_basic"]
    page.locator("#find").fill("no case has this")
    assert rows(page) == []
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("document.querySelectorAll('#grid tr[hidden]').length === 0")
    assert len(rows(page)) == ALL


@pytest.mark.nightly
def test_columns_are_filtered_by_client_and_rows_by_what_these_do(visit: Open, page_file: Path) -> None:
    page = visit(page_file).page
    page.get_by_text("Clients", exact=True).click()
    for client in clients().values():
        if client.name != "strands":
            page.get_by_label(client.title, exact=True).uncheck()
    assert [head.split(" ")[0] for head in page.locator("#grid thead th:visible").all_inner_texts()] == [
        "case",
        "Strands",
    ]
    page.locator("#verdict").select_option("mishandled: lost")
    seen = clients()["strands"].read()
    assert rows(page) == [
        case for operation in CASES for case, row in seen[operation].items() if "mishandled: lost" in verdicts(row)
    ]


@pytest.mark.nightly
def test_keys_lead_from_cell_to_cell_and_open_one(visit: Open, page_file: Path) -> None:
    page = visit(page_file).page
    page.locator("#grid").focus()
    for key in ("Tab", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    seen = page.get_by_role("dialog")
    case = CASES["ConverseStream"][1]
    assert seen.get_by_role("heading").inner_text() == f"{case}: Strands Agents 1.62.0"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == CASES["ConverseStream"][0]
    # One of all cells is in the order of Tab.
    assert page.locator("#grid tbody a[tabindex='0']").count() == 1


@pytest.mark.nightly
def test_without_scripts_a_cell_leads_to_what_was_seen(visit: Open, page_file: Path) -> None:
    page = visit(page_file, scripts=False).page
    assert not page.locator("#filters").is_visible()
    cell(page, "Converse", "server_tool_nova", "strands").click()
    assert page.locator("li:target").inner_text().startswith("mishandled: lost\n")
    assert page.locator("li:target").is_visible()
