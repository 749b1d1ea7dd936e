"""The pictures of the site show what the tables and the endpoint have, and hold the same as a text."""

import re
from xml.etree import ElementTree as ET

import pytest

from converse_harness import reply
from converse_harness.stream.grammar import ORDER
from docs._site.pictures import PICTURES, grammar, time_line

SVG = "{http://www.w3.org/2000/svg}"


def shown(picture: str) -> str:
    """The words in a picture, a line for each."""
    return "\n".join(text.text or "" for text in ET.fromstring(picture).iter(f"{SVG}text"))


def words(picture: str) -> str:
    """The text that a picture holds for those who do not see it."""
    return next(ET.fromstring(picture).iter(f"{SVG}desc")).text or ""


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_a_title_and_a_text(name: str) -> None:
    (svg,) = ET.fromstring(PICTURES[name]())
    names = {each.get("id") for each in svg if each.tag in (f"{SVG}title", f"{SVG}desc")}
    assert names == set((svg.get("aria-labelledby") or "").split())
    assert svg.get("role") == "img"


def test_the_grammar_shows_every_state_and_every_move() -> None:
    picture = grammar()
    lines = shown(picture).splitlines()
    for state, moves in ORDER.items():
        assert state in lines
        for symbol, following in moves.items():
            event, _, member = symbol.partition(".")
            assert symbol in lines or (event in lines and f".{member}" in lines)
            assert f"{symbol} leads to {following}" in words(picture)


def test_a_move_of_the_table_moves_in_the_picture() -> None:
    changed = {**ORDER, "text": {**ORDER["text"], "contentBlockDelta.new": "text"}}
    assert "contentBlockDelta.new" not in shown(grammar())
    assert "contentBlockDelta.new" in shown(grammar(changed))


def test_a_move_without_room_is_refused() -> None:
    changed = {**ORDER, "text": {**ORDER["text"], "contentBlockDelta.toolUse": "toolUse"}}
    with pytest.raises(ValueError, match="text leads to toolUse, which is not the row below it"):
        grammar(changed)


def test_the_time_line_has_the_times_of_the_answer() -> None:
    times = [float(each) for each in re.findall(r" at ([\d.]+) s", words(time_line()))]
    assert times == [0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    slower = words(time_line(reply.text("hi").paced(first=1, each=0.5)))
    assert "messageStart at 1.00 s" in slower
    assert slower.endswith("metadata at 3.50 s.")
