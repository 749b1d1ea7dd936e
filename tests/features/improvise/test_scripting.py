"""Where an improvised reply may stand in a script, and how it reads."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from converse_harness import Fake, ReplyError, fake_converse, reply
from tests.package.test_wrong_arguments_of_fakes import VALUES, check_named

ARGUMENTS: Final[Mapping[str, tuple[Callable[[Any], object], str, tuple[str, ...]]]] = {
    "seed": (lambda value: Fake().improvise(seed=value), "improvised(", ("one", "minus")),
    "at_once": (lambda value: Fake().improvise(at_once=value), "improvised(", ("one",)),
    "tools": (lambda value: Fake().improvise(tools=value), "improvised(tools=", ("list",)),
}
"""Maps each argument to a function that takes a value for it, to what the message names, and to the right values."""


@pytest.mark.parametrize(
    ("argument", "value"),
    [(name, value) for name, (_, _, right) in ARGUMENTS.items() for value in VALUES if value not in right],
)
def test_a_wrong_argument_is_named(argument: str, value: str) -> None:
    give, named, _ = ARGUMENTS[argument]
    check_named(give, named, value)


@pytest.mark.parametrize(
    ("argument", "value"), [(name, value) for name, (_, _, right) in ARGUMENTS.items() for value in right]
)
def test_a_right_argument_is_taken(argument: str, value: str) -> None:
    ARGUMENTS[argument][0](VALUES[value])


def test_it_reads_as_what_it_is() -> None:
    assert repr(reply.improvised(seed=1)) == "<Improvised reply, seed=1>"


def test_it_answers_no_other_operation() -> None:
    said = r"^on_operation\('InvokeModel', ...\): <Improvised reply> does not answer InvokeModel. Give the members"
    with fake_converse() as fake, pytest.raises(ReplyError, match=said):
        fake.on_operation("InvokeModel", reply.improvised())
    assert fake.endpoint.script.unused() == []


def test_always_takes_no_number_of_uses() -> None:
    with pytest.raises(ReplyError, match=r"^always\(\): (.|\n)+ Leave out \.times\(3\)\."):
        Fake().always(reply.improvised().times(3))
