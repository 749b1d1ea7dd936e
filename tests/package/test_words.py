"""Small texts for messages: counts with their noun, lists, and texts that are cut."""

import pytest

from converse_harness.words import and_more, counted, cut, first_few, listed, one_line, plural


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (-1, "-1 calls"), (True, "True call")]
)
def test_only_one_has_the_singular(count: int, text: str) -> None:
    assert counted(count, "call") == text
    assert plural(count, "call") == text.split()[1]


def test_a_plural_of_its_own() -> None:
    assert [counted(count, "reply was", "replies were") for count in range(3)] == [
        "0 replies were",
        "1 reply was",
        "2 replies were",
    ]


@pytest.mark.parametrize(
    ("items", "text"),
    [("a", "a"), ("ab", "a or b"), ("abc", "a, b or c"), (["", "or"], " or or")],
)
def test_the_last_of_several_has_a_word_before_it(items: list[str], text: str) -> None:
    assert listed(items, "or") == text
    assert listed(iter(items), "or") == text


LETTERS = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("most", "items", "text"),
    [
        (5, LETTERS, "a, b, c, d"),
        (4, LETTERS, "a, b, c, d"),
        (3, ["a", "b", "c", "and 1 more"], "a, b, c and 1 more"),
        (1, ["a", "and 3 more"], "a and 3 more"),
    ],
)
def test_the_rest_is_a_number(most: int, items: list[str], text: str) -> None:
    assert and_more(LETTERS, most) == items
    assert first_few(LETTERS, most) == text


def test_the_text_about_the_rest() -> None:
    assert and_more(["{}", "{0}", "c"], 2, "... ({} more lines)") == ["{}", "{0}", "... (1 more lines)"]
    assert and_more([], 2) == []
    assert first_few([], 2) == ""


def test_the_given_list_stays_as_it_is() -> None:
    given = [*LETTERS]
    and_more(given, 4).append("e")
    and_more(given, 1)
    assert given == LETTERS


@pytest.mark.parametrize(
    ("text", "line"), [("", ""), ("a", "a"), (" a\r\n\n\tb  c ", "a b c"), ("a\u00a0b\u2028c", "a b c")]
)
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize("length", range(12))
def test_a_text_that_is_cut_has_the_whole_width(length: int) -> None:
    text = "0123456789ab"[:length]
    assert cut(text, 8) == (text if length <= 8 else "01234...")
