"""What a body scripts: replies in order, replies by what is asked, and one for everything else.

All of it is read before a fake is touched, so a body with a mistake changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from converse_harness.doors.control.arguments import bind, parameters
from converse_harness.doors.control.bodies import a_list, an_object, known, under
from converse_harness.doors.control.refusals import Refused
from converse_harness.doors.control.vocabulary import read_reply
from converse_harness.doors.fake import Fake
from converse_harness.errors import ReplyError
from converse_harness.replies import Reply
from converse_harness.script import Condition, Queue

SCRIPTING: Final = ("script", "when", "always")
"""The members of a body that say what is answered."""

ANSWERS: Final = ("script", "always")
"""The members of a condition that say what answers the calls that meet it."""


def conditions() -> list[str]:
    """The parts of a condition: those of `Fake.when`, but for the predicate."""
    return list(parameters(Fake.when))


@dataclass(frozen=True, slots=True)
class Answers:
    """Replies in order, then one any number of times."""

    replies: list[Reply] = field(default_factory=list[Reply])
    always: Reply | None = None


@dataclass(frozen=True, slots=True)
class Scripting:
    """A body that was read: `whens` are conditions as keyword arguments of `Fake.when`, with what answers them."""

    answers: Answers
    whens: list[tuple[dict[str, Any], Answers]]

    def apply(self, fake: Fake) -> None:
        """Say all of it to a fake."""
        for condition, answers in self.whens:
            when = fake.when(**condition)
            when.script(*answers.replies)
            if answers.always is not None:
                when.always(answers.always)
        fake.script(*self.answers.replies)
        if self.answers.always is not None:
            fake.always(self.answers.always)


def read_scripting(body: dict[str, Any]) -> Scripting:
    """The scripting members of a body. Raises Refused, with the path of what is wrong."""
    whens = a_list(body.get("when", []), "when", like='[{"turn": 1, "script": [{"text": "hi"}]}]')
    return Scripting(_answers(body, ""), [_when(value, f"when[{index}]") for index, value in enumerate(whens)])


def read_settings(body: dict[str, Any], function: Callable[..., object]) -> dict[str, Any]:
    """The other members of a body, as keyword arguments of a function. Raises Refused."""
    known(body, [*SCRIPTING, *parameters(function)], "")
    return bind(function, {name: value for name, value in body.items() if name not in SCRIPTING}, "")


def _when(value: object, path: str) -> tuple[dict[str, Any], Answers]:
    given = an_object(value, path, like='{"turn": 1, "script": [{"text": "hi"}]}')
    known(given, [*conditions(), *ANSWERS], path)
    condition = bind(Fake.when, {name: value for name, value in given.items() if name not in ANSWERS}, path)
    if not condition:
        raise Refused(
            f"{path} has no condition and so holds for every call. Give it one of {', '.join(conditions())}, or write "
            "its replies as script or always of the body."
        )
    if not any(name in given for name in ANSWERS):
        raise Refused(f"{path} says no answer; it needs script or always, for instance {LIKE_SCRIPT}.")
    answers = _answers(given, path)
    try:
        Queue(path, Condition(**condition)).add([*answers.replies, *([answers.always] if answers.always else [])])
    except ReplyError as error:
        raise Refused(f"{path}: {error}") from error
    return condition, answers


LIKE_SCRIPT: Final = '"script": [{"text": "hi"}]'


def _answers(given: dict[str, Any], path: str) -> Answers:
    script = under(path, "script")
    replies = a_list(given.get("script", []), script, like='[{"text": "hi"}]')
    return Answers(
        [read_reply(value, f"{script}[{index}]") for index, value in enumerate(replies)],
        read_reply(given["always"], under(path, "always")) if "always" in given else None,
    )
