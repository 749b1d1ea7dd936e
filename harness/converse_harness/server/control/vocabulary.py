"""The JSON form of replies and scripts: a table of members that create a reply, and a table of members that change it.

A member has the name and the arguments of a function of `reply` or of a method of Reply. Only `case` is additional: it
takes a reply from the catalogue of cases. Functions of `reply` stand in the table without being written here, unless
their JSON has a form of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, get_args

from converse_harness import bedrock, reply
from converse_harness.cases import CASES
from converse_harness.endpoint.condition import Condition
from converse_harness.endpoint.script import Answering, Queue
from converse_harness.errors import Argument, ReplyError, json_text, path_text
from converse_harness.features import names_of
from converse_harness.intercept.fake import Fake
from converse_harness.json_values import is_array, is_object
from converse_harness.reply.operation_output import OperationOutput
from converse_harness.reply.reply import Reply
from converse_harness.server.control.arguments import bind, convert, first, parameters
from converse_harness.server.control.patterns import check_length
from converse_harness.server.control.reading import ControlRefused, a_list, an_object, described, known, under
from converse_harness.stream.arguments import built_by

Made = Answering | OperationOutput
"""What a reply in JSON becomes."""


@dataclass(frozen=True, slots=True)
class Word:
    """A member of a reply in JSON. `function` makes or changes the reply; its parameters are the member's arguments.

    If `form` is "value", the member's value is the first argument, and each other argument is a further member of the
    reply. If it is "arguments", the member's value is an object with all arguments, or the first argument alone, or
    `true` if no argument is needed.
    """

    function: Callable[..., Made]
    form: Literal["value", "arguments"]
    shape: str | None = None
    """The name of the AWS shape of each item in the first argument, or None. In JSON, blobs in the items are base64."""
    changed_by: Sequence[str] | None = None
    """The names of the MODIFIERS that the reply may have; None means all of them."""
    items: str = ""
    """What each item must be, for messages, if the argument is a list of names or of pairs of name and input."""

    @property
    def beside(self) -> list[str]:
        """The names of the arguments that are further members of the reply, if `form` is "value"; otherwise none."""
        return [*parameters(self.function)][1:] if self.form == "value" else []


def _of_case(case: str) -> Reply:
    """Return the first reply of the case with the name `case`. Raises ReplyError for an unknown case."""
    return CASES[case].reply


def _response(response: Mapping[str, object] | Sequence[object], *, strict: bool = True) -> Reply:
    """Call `reply.response` with a response from JSON, whose blobs are base64."""
    given: Any = response.get("stream", response) if isinstance(response, Mapping) else response
    if is_array(given):
        at = Argument(name="response", path=() if is_array(response) else ("stream",))
        with built_by("response", {("response",): at}):
            return reply.response([bedrock.from_json("ConverseStreamOutput", event) for event in given], strict=strict)
    return reply.response(bedrock.from_json("ConverseResponse", given), strict=strict)


def _output(output: Mapping[str, object], *, strict: bool = True) -> OperationOutput:
    """Call `reply.output` with members from JSON, whose blobs are base64."""
    return replace(reply.output(output, strict=strict), in_json=True)


_WITH_A_FORM: Final[Mapping[str, Word]] = {
    "text": Word(reply.text, "value"),
    "tool_uses": Word(
        reply.tool_uses,
        "arguments",
        items='each tool is its name, or a list of name and input: [["get_weather", {"city": "Bern"}]].',
    ),
    "reasoning": Word(reply.reasoning, "value"),
    "json": Word(reply.json, "value"),
    "message": Word(reply.message, "value", shape="ContentBlock"),
    "events": Word(reply.events, "value", shape="ConverseStreamOutput"),
    "response": Word(_response, "value"),
    "cited": Word(reply.cited, "value"),
    "output": Word(
        _output,
        "value",
        changed_by=("times", "optional", "fails_after", "error_frame_after", "paced", "broken"),
    ),
}
"""The functions of `reply` whose arguments have another form in JSON than an object with all of them.

The others need no row.
"""


NOT_OVER_HTTP: Final[Mapping[str, str]] = {
    "connection_refused": (
        "a server that answers cannot refuse a connection. Give the client an endpoint where nothing listens, for "
        'instance "http://127.0.0.1:1"'
    ),
    "connect_timeout": (
        "a server that answers cannot be late to accept a connection. Give the client an address of no host, for "
        'instance "http://192.0.2.1"'
    ),
}
"""The functions of `reply` that the control API does not offer, each with what to do instead."""


def _with_arguments(name: str) -> Word:
    """Return the row of a function of `reply` that has none in _WITH_A_FORM."""
    # A feature's function makes a reply that is computed for each call, and such a reply can have no faults.
    changed_by = ("times", "optional") if name in names_of("reply") else None
    return Word(getattr(reply, name), "arguments", changed_by=changed_by)


REPLIES: Final[Mapping[str, Word]] = {
    **_WITH_A_FORM,
    **{name: _with_arguments(name) for name in reply.__all__ if name not in _WITH_A_FORM and name not in NOT_OVER_HTTP},
    "case": Word(_of_case, "value"),
}
"""The members that create a reply; a reply in JSON has exactly one of them.

They are the functions of `reply` that are not in NOT_OVER_HTTP, and `case`.
"""

MODIFIERS: Final[Mapping[str, Word]] = {
    "times": Word(Reply.times, "value"),
    "optional": Word(Reply.optional, "arguments"),
    "retry_after": Word(Reply.retry_after, "arguments"),
    "fails_after": Word(Reply.fails_after, "arguments"),
    "error_frame_after": Word(Reply.error_frame_after, "arguments"),
    "paced": Word(Reply.paced, "arguments"),
    "broken": Word(Reply.broken, "arguments"),
}
"""The members that change a reply; they are applied in this order, whatever their order in the JSON."""

_LIKE: Final = '{"text": "hi"}'


def members(word: str) -> list[str]:
    """Return the names of all members that a reply in JSON may have if the member `word` creates the reply."""
    allowed = REPLIES[word].changed_by
    return [word, *REPLIES[word].beside, *(MODIFIERS if allowed is None else allowed)]


def read_reply(value: object, path: str) -> Made:
    """Convert a JSON value to an answer of a script. Raises ControlRefused with the path of the mistake."""
    given = an_object(value, path, like=_LIKE)
    names = [name for name in given if name in REPLIES]
    if len(names) != 1:
        has = f"has {' and '.join(names)}" if names else f"is {described(given)} that says no reply"
        for name, why in NOT_OVER_HTTP.items():
            if name in given:
                raise ControlRefused(f"{path} has {name}; {why}.")
        if not names:
            known(given, [*REPLIES, *MODIFIERS], path)
        raise ControlRefused(f"{path} {has}; a reply has exactly one of {', '.join(REPLIES)}, for instance {_LIKE}.")
    word = names[0]
    _check_arguments_inside(given, word, path)
    known(given, members(word), path)
    made = _apply(REPLIES[word].function, word, REPLIES[word], given, path)
    for name in (name for name in MODIFIERS if name in given):
        made = _apply(getattr(made, name), name, MODIFIERS[name], given, path)
    if isinstance(made, Reply):
        try:
            made.plan.check_sendable("server")
        except ReplyError as error:
            raise ControlRefused(json_text(error, f"{path}.{word}")) from error
    return made


def _check_arguments_inside(given: dict[str, Any], word: str, path: str) -> None:
    """Raise ControlRefused if a member of the reply `given` belongs inside another member, as its argument."""
    for name in (name for name in given if name not in members(word)):
        for each, row in {word: REPLIES[word], **MODIFIERS}.items():
            if each in given and row.form == "arguments" and name in parameters(row.function):
                alone = {} if given[each] is True else {first(row.function): given[each]}
                inside = given[each] if isinstance(given[each], dict) else alone
                like = json.dumps({each: {**inside, name: given[name]}}, ensure_ascii=False)
                raise ControlRefused(f"{path} has the unknown member {described(name)}; it belongs to {each}: {like}.")


def _apply(function: Callable[..., Made], name: str, word: Word, given: dict[str, Any], path: str) -> Made:
    """Call `function` with the arguments that the JSON object `given` contains for its member `name`.

    Raises ControlRefused if the arguments are wrong.
    """
    arguments, items = _arguments(name, word, given, path), first(word.function)
    if word.shape is not None:
        arguments[items] = [bedrock.from_json(word.shape, item) for item in arguments[items]]
    positional: Sequence[Any] = arguments.pop(items) if _takes_many(word) else ()
    try:
        return function(*positional, **arguments)
    except ReplyError as error:
        problem = json_text(error, under(path, name), lambda argument: _path(argument, name, word, given[name], path))
        raise ControlRefused(problem) from error


def _path(argument: Argument, name: str, word: Word, value: object, path: str) -> str:
    """Return the path in the JSON at which an argument of the function of the member `name` is, with the `value`."""
    inside = under(path, name)
    if argument.name not in ("", *parameters(word.function)):
        return f"{inside}: {argument.place}"
    is_first = argument.name == first(word.function)
    if argument.name and not (is_first and (word.form == "value" or (_takes_many(word) and is_array(value)))):
        inside = under(path if word.form == "value" else inside, argument.name)
    return path_text(inside, argument.path)


def _arguments(name: str, word: Word, given: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the arguments of `word.function` that the JSON object `given` contains for its member `name`.

    They are written in the value of this member and, for some members, as further members of `given`.
    """
    value, inside = given[name], under(path, name)
    named, alone = parameters(word.function), first(word.function)
    if word.form == "value":
        beside = {each: (given[each], under(path, each)) for each in word.beside if each in given}
        written = {alone: (value, inside), **beside}
        return {each: _converted(item, named[each].annotation, where) for each, (item, where) in written.items()}
    if value is True or is_object(value):
        members_given: dict[str, Any] = {} if value is True else value
        outside = [each for each in members_given if each in MODIFIERS and each not in named]
        if outside and name in REPLIES:
            raise ControlRefused(_stands_beside(inside, name, outside[0], members_given[outside[0]]))
        return bind(word.function, members_given, inside)
    is_enough = not any(each.default is each.empty for each in named.values())  # whether `true` is enough as the value
    if value is None or not alone or (value is False and is_enough):
        takes = f"an object with any of {', '.join(named)}" if named else "true"
        if named and name in REPLIES and is_enough:
            takes = f"true, or {takes}"
        raise ControlRefused(f"{inside} is {described(value)}; it must be {takes}.")
    for index, item in enumerate(value if word.items and is_array(value) else ()):
        if not (isinstance(item, str) or (is_array(item) and 1 <= len(item) <= 2 and isinstance(item[0], str))):
            raise ControlRefused(f"{inside}[{index}] is {described(item)}; {word.items}")
    if _takes_many(word):
        return {alone: convert(value, named[alone].annotation, inside)}
    if type(value) is int and named[alone].annotation not in (int, float) and name in REPLIES and is_enough:
        raise ControlRefused(_stands_beside(inside, name, "times", value))
    return bind(word.function, {alone: value}, inside)


def _converted(value: object, hint: Any, path: str) -> Any:
    """Convert a JSON value as `convert` does, and an object to a reply if the type `hint` allows a Reply."""
    converted = convert(value, hint, path)
    return read_reply(converted, path) if Reply in get_args(hint) and is_object(converted) else converted


def _takes_many(word: Word) -> bool:
    """Return whether the first parameter of a member's function takes any number of arguments (`*blocks`)."""
    return any(each.kind is each.VAR_POSITIONAL for each in parameters(word.function).values())


def _stands_beside(path: str, name: str, modifier: str, value: object) -> str:
    """Return the error text for a modifier that is written inside the member `name`, but belongs beside it."""
    like = json.dumps({name: True, modifier: value}, ensure_ascii=False)
    return f'{path} has no member for this; "{modifier}" stands beside it, for instance {like}.'


SCRIPTING: Final = ("script", "when", "always")
"""The members of a request body that contain replies."""

ANSWERS: Final = ("script", "always")
"""The members of an item of `when` that contain replies, for the calls that meet the item's condition."""


def conditions() -> list[str]:
    """Return the names of the members of a condition: the parameters of `Fake.when`, except the predicate."""
    return list(parameters(Fake.when))


_LIKE_WHEN: Final = '{"turn": 1, "script": [{"text": "hi"}]}'


class ScriptPart(NamedTuple):
    """The script for calls that meet a condition: replies in order, then one reply for any number of calls.

    `condition` holds keyword arguments of `Fake.when`; if it is empty, the part applies to every call.
    """

    condition: dict[str, Any]
    replies: list[Made]
    always: list[Made]

    def apply(self, fake: Fake) -> None:
        """Add the replies of this part to the script of a fake."""
        when: Any = fake.when  # Any, because type checkers cannot find the overload for a dict of arguments
        scripted: Any = when(**self.condition) if self.condition else fake
        if self.replies:
            scripted.script(*self.replies)
        for made in self.always:
            scripted.always(made)


def read_scripting(body: dict[str, Any]) -> list[ScriptPart]:
    """Read `script`, `when` and `always` from a request body. Raises ControlRefused with the path of the mistake."""
    everything = _part({}, body, "")
    whens = a_list(body.get("when", []), "when", like=f"[{_LIKE_WHEN}]")
    return [*(_when(value, f"when[{index}]") for index, value in enumerate(whens)), everything]


def read_settings(body: dict[str, Any]) -> dict[str, Any]:
    """Read all members of a request body except SCRIPTING as settings of a Fake. Raises ControlRefused."""
    known(body, [*SCRIPTING, *parameters(Fake)], "")
    return bind(Fake, {name: value for name, value in body.items() if name not in SCRIPTING}, "")


def _when(value: object, path: str) -> ScriptPart:
    given = an_object(value, path, like=_LIKE_WHEN)
    known(given, [*conditions(), *ANSWERS], path)
    condition = bind(Fake.when, {name: value for name, value in given.items() if name not in ANSWERS}, path)
    for name, value in condition.items():
        if isinstance(value, str):
            check_length(value, under(path, name))
    if not condition:
        raise ControlRefused(
            f"{path} has no condition and so holds for every call. Give it one of {', '.join(conditions())}, or write "
            "its replies as script or always of the body."
        )
    part = _part(condition, given, path)
    if not (part.replies or part.always):
        why = "its script is empty. It needs a reply" if "script" in given else "it needs script or always"
        raise ControlRefused(f'{path} says no answer; {why}, for instance "script": [{{"text": "hi"}}].')
    return part


def _part(condition: dict[str, Any], given: dict[str, Any], path: str) -> ScriptPart:
    """Read the replies in `given` for the calls that meet `condition`.

    Adding the replies to a temporary queue finds all errors now, so that `ScriptPart.apply` raises none later.
    """
    script = under(path, "script")
    values = a_list(given.get("script", []), script, like='[{"text": "hi"}]')
    always = [_endless(given["always"], under(path, "always"))] if "always" in given else []
    replies = [read_reply(value, f"{script}[{index}]") for index, value in enumerate(values)]
    try:
        queue = Queue(path, Condition(**condition) if condition else None)
        if queue.operation is None and any(isinstance(each, OperationOutput) for each in (*replies, *always)):
            raise ControlRefused(f"{path or 'the script'} has an output, {_NEEDS_OPERATION}")
        queue.add(replies)
        if always:
            queue.add(always, endless=True)
        for slot in queue.slots:
            if isinstance(slot.responder, Reply):
                slot.responder.plan.check_sendable("server")
    except ReplyError as error:
        raise ControlRefused(json_text(error, path, lambda argument: under(path, argument.place))) from error
    return ScriptPart(condition, replies, always)


_NEEDS_OPERATION: Final = (
    'which answers an operation other than Converse and ConverseStream. Write it in "when", with the operation: '
    '"when": [{"operation": "InvokeModel", "script": [{"output": {...}}]}].'
)

NOT_ENDLESS: Final[Mapping[str, str]] = {
    "times": "any number of calls gets this answer",
    "optional": "this answer may stay unused anyway",
}
"""The names of the MODIFIERS that the reply of `always` may not have, each with the reason."""


def _endless(value: object, path: str) -> Made:
    """Read the reply of `always`. Raises ControlRefused if the reply is wrong or has a member in NOT_ENDLESS."""
    for name, why in NOT_ENDLESS.items():
        if is_object(value) and name in value:
            raise ControlRefused(f'{path} has "{name}": {why}. Leave out "{name}".')
    return read_reply(value, path)
