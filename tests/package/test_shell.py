"""What is printed for people to type: a shell gives the program the same words, and on Windows cmd does."""

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import shell

WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1), min_size=1, max_size=3)


@given(WORDS)
def test_words_are_the_same_after_they_were_joined(words: list[str]) -> None:
    assert shell.words(shell.joined(words)) == words


@pytest.mark.needs_os
def test_the_shell_gives_a_program_the_same_words() -> None:
    words = [
        "test_trip[a-b].jsonl",
        "two words",
        "$HOME",
        'say "hi"',
        "it's",
        "~",
        "a\\b",
        "x;y",
        "*",
        "ü",
        "a!b",
        "-k",
    ]
    command = f"printf '%s\\n' {shell.joined(words)}"
    printed = subprocess.run(["sh", "-c", command], check=True, capture_output=True, encoding="utf-8")
    assert printed.stdout.splitlines() == words


@pytest.mark.parametrize(
    ("word", "always", "posix", "windows"),
    [
        ("tests/test_trip.py", False, "tests/test_trip.py", "tests/test_trip.py"),
        ("tests/test_trip.py", True, '"tests/test_trip.py"', '"tests/test_trip.py"'),
        ("test_trip[a b]", False, '"test_trip[a b]"', '"test_trip[a b]"'),
        ("C:\\trips", False, "'C:\\trips'", '"C:\\trips"'),
        ("it's", False, '"it\'s"', '"it\'s"'),
        ('say "hi"', False, "'say \"hi\"'", r'"say \"hi\""'),
        ("", False, '""', '""'),
    ],
)
def test_a_word_has_quotes_that_the_shells_of_the_system_know(
    word: str, always: bool, posix: str, windows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell.quoted(word, always=always) == posix
    monkeypatch.setattr(shell, "_ON_WINDOWS", True)
    assert shell.quoted(word, always=always) == windows


def test_on_windows_a_path_keeps_its_separators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_ON_WINDOWS", True)
    assert shell.words(r'-k "a b" tests\unit') == ["-k", "a b", r"tests\unit"]
    assert shell.make_folder("a/b") == 'mkdir "a/b"'
    assert (
        shell.set_variables({"AWS_REGION": "us-east-1", "A": "b c"}) == '$env:AWS_REGION = "us-east-1"; $env:A = "b c"'
    )


def test_a_folder_and_variables_on_posix() -> None:
    assert shell.make_folder("a/b c") == 'mkdir -p "a/b c"'
    assert shell.set_variables({"AWS_REGION": "us-east-1", "A": "b c"}) == 'export AWS_REGION=us-east-1 A="b c"'
    assert re.fullmatch(r"[\w/]+", shell.quoted("a/b"))
