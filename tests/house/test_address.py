"""Where the project lives is written once, as `[project.urls]` in pyproject.toml; nothing else names another place."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
OURS = re.compile(r"https?://[^\s)>\"'`]*converse-harness[^\s)>\"'`]*")


def test_nobody_names_another_address() -> None:
    urls: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    repository = urls.get("Repository", "")
    named = {(page.name, url) for page in PAGES for url in OURS.findall(page.read_text("utf-8"))}
    named |= {("pyproject.toml", url) for url in urls.values()}
    assert [each for each in sorted(named) if not repository or not each[1].startswith(repository)] == []
    assert repository in (ROOT / "README.md").read_text("utf-8")
    assert bool(urls) == bool(repository)
