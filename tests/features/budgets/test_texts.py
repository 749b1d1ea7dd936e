"""The text of a budget that is over: a long table is cut, secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from converse_harness import CallError, Fake, fake_converse, reply
from converse_harness.intercept.clients import create_client


def failure(*questions: str, calls: int) -> str:
    """The text if an agent asks these questions."""
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        with pytest.raises(CallError) as raised:
            ask(fake, questions, calls)
    return str(raised.value)


def ask(fake: Fake, questions: Sequence[str], calls: int) -> None:
    client: Any = create_client()
    with fake.budget(calls=calls):
        for question in questions:
            client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": question}]}])


def test_a_long_table_shows_the_first_calls_that_are_over() -> None:
    text = failure(*(f"Question {number}" for number in range(1, 101)), calls=90)
    rows = re.findall(r"(?m)^(>| ) +(\d+)  text", text)
    assert [int(number) for mark, number in rows if mark == ">"] == [*range(91, 101)]
    assert [int(number) for mark, number in rows if mark == " "] == [*range(1, 31)]
    assert "\n   and 60 more\n" in text
    assert text.startswith("budget: 100 calls of 90. Call 91 went over.\n")


def test_secrets_are_masked_and_long_texts_cut() -> None:
    key = "AKIA2J5XNRQ4WVZ7LTMB"
    text = failure(f"Use {key}", "a very long question " * 20, calls=0)
    assert key not in text
    assert max(map(len, text.splitlines()[:5])) < 120
