"""The table of settings in docs/fixtures.md is that of the code; run as a script, this file writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from converse_harness.settings import SETTINGS, Setting
from converse_harness.words import listed
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "fixtures.md"


def settings() -> Iterator[Row]:
    """The settings of fakes."""
    yield "argument", "ini option", "command line", "elsewhere", "what it decides"
    for name, setting in SETTINGS.items():
        yield _argument(name, setting), *_in_pytest(name, setting), _elsewhere(name, setting), setting.meaning


def _argument(name: str, setting: Setting) -> str:
    """The default and the other values, or one other value."""
    choices: list[object] = [setting.default, *(each for each in setting.allowed.choices if each != setting.default)]
    if len(choices) == 1:
        choices = [setting.example if setting.example is not None else not setting.default]
    elif setting.example is not None:
        choices.append(json.dumps(setting.example))
    values = [f'"{each}"' if isinstance(each, str) and each[0] != "{" else str(each) for each in choices]
    return listed([code(f"{name}={values[0]}".replace("'", '"')), *map(code, values[1:])], "or")


def _in_pytest(name: str, setting: Setting) -> tuple[str, str]:
    lines = isinstance(setting.example, dict) and setting.default is None
    ini = f"`converse_{name}`{', lines `GLOB = MODEL`' if lines else ''}"
    option = code(f"--converse-{name.replace('_', '-')}")
    return ini if "marker" in setting.where else "", option if "option" in setting.where else ""


def _elsewhere(name: str, setting: Setting) -> str:
    places = {"http": "[HTTP](control-api.md)", "serve": f"`serve --{name.replace('_', '-')}`"}
    default = f"; with a server {setting.of_server:,} by default" if setting.of_server is not None else ""
    return ", ".join(text for place, text in places.items() if place in setting.where) + default


TABLES: Final[Tables] = {"settings": settings}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_fixtures_page"
    assert names(text) == list(TABLES)


if __name__ == "__main__":
    write(PAGE, TABLES)
