"""Improvised replies over the control API: the same as in Python."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import reply
from converse_harness.server.control.vocabulary import REPLIES
from tests.server.control.conftest import Client, client, exchange
from tests.server.control.test_control import FAKES, refused
from tests.server.control.test_openapi import REPLY_SCHEMAS
from tests.server.control.test_page import OF_FEATURES, check_pair
from tests.server.control.test_properties import check_both_ways, names
from tests.server.control.test_wording import HOPELESS, check_problem

__all__ = ["client"]


@pytest.mark.parametrize(("written", "python"), [pair for pair in OF_FEATURES if "improvised" in json.loads(pair[0])])
def test_a_reply_is_the_one_beside_it(written: str, python: str) -> None:
    check_pair(written, python)


def test_the_description_has_its_word_in_its_place() -> None:
    assert list(REPLY_SCHEMAS) == list(REPLIES)


@given(seed=st.integers(), tools=st.lists(names, max_size=2) | st.just("all"), times=st.integers(1, 3))
def test_a_reply_in_json_is_the_reply_in_python(seed: int, tools: Any, times: int) -> None:
    written = {"times": times, "improvised": {"seed": seed, "tools": tools}}
    check_both_ways(written, reply.improvised(seed=seed, tools=tools).times(times))


def test_an_optional_reply_is_not_missed(client: Client) -> None:
    client.opened({"script": [{"improvised": True, "optional": {}}]})
    assert client.ask("DELETE", f"{FAKES}/fake-1").value == {"ok": True, "unused": [], "problems": [], "notes": []}


def test_always_takes_no_number_of_uses(client: Client) -> None:
    said = 'always has "times": any number of calls gets this answer. Leav'
    assert refused(client, {"always": {"improvised": True, "times": 2}}).startswith(said)


def test_a_problem_has_no_python_in_it(client: Client) -> None:
    check_problem(client, {"always": {"improvised": True}}, lambda client, fake: exchange(fake, toolConfig=HOPELESS))
