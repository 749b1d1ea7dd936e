"""Wrong arguments: each is an error at its line, which names the function, the argument and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from converse_harness import ConverseApp, ConverseServer, Endpoint, Fake, HttpxFake, ReplyError, fake_converse, reply
from converse_harness.settings import OF_ENDPOINT, SETTINGS
from converse_harness.words import shown


async def coroutine(call: object) -> object:
    """What a user may write for a function of the call."""
    return call


VALUES: Final[dict[str, Any]] = {
    "none": None,
    "one": 1,
    "true": True,
    "minus": -1,
    "half": 0.5,
    "nan": float("nan"),
    "text": "x",
    "bytes": b"x",
    "list": [],
    "dict": {},
    "object": object(),
    "class": dict,
    "coroutine function": coroutine,
    "function": lambda call: reply.text("x"),
    "reply": reply.text("x"),
    "module": reply,
}
"""Values of many types; none of them is right for everything."""

_FUNCTIONS: Final = ("function",)

FUNCTIONS: Final[dict[str, tuple[Callable[[Any], object], str, tuple[str, ...]]]] = {
    "script": (lambda value: Fake().script(value), "script()", ("reply", *_FUNCTIONS)),
    "script second": (lambda value: Fake().script(reply.text("a"), value), "script()", ("reply", *_FUNCTIONS)),
    "always": (lambda value: Fake().always(value), "always()", ("reply", *_FUNCTIONS)),
    "when script": (lambda value: Fake().when(turn=1).script(value), "when().script()", ("reply", *_FUNCTIONS)),
    "when always": (lambda value: Fake().when(turn=1).always(value), "when().always()", ("reply", *_FUNCTIONS)),
    "fake_converse": (fake_converse, "fake_converse()", ("reply", *_FUNCTIONS)),
    "HttpxFake": (HttpxFake, "HttpxFake()", ("reply", *_FUNCTIONS)),
    "when predicate": (lambda value: Fake().when(value), "when(", _FUNCTIONS),
    "when model": (lambda value: Fake().when(model=value), "when(model=", ("text",)),
    "when system": (lambda value: Fake().when(system=value), "when(system=", ("text",)),
    "when tool": (lambda value: Fake().when(tool=value), "when(tool=", ("text",)),
    "when text": (lambda value: Fake().when(last_user_text=value), "when(last_user_text=", ("text",)),
    "when turn": (lambda value: Fake().when(turn=value), "when(turn=", ("one",)),
    "when operation": (lambda value: Fake().when(operation=value), "when(operation=", ()),
    "on_operation name": (lambda value: Fake().on_operation(value, lambda call: {}), "on_operation(", ()),
    "on_operation answer": (
        lambda value: Fake().on_operation("DeleteGuardrail", value),
        "on_operation('DeleteGuardrail', ",
        ("dict", *_FUNCTIONS),
    ),
    "when operation script": (
        lambda value: Fake().when(operation="DeleteGuardrail").script({}, value),
        "when().script(): ",
        ("dict", *_FUNCTIONS),
    ),
    "calls.of": (Fake().calls.of, "calls.of(", ()),
    "times": (lambda value: reply.text("a").times(value), "times(", ("one",)),
}
"""Maps each argument to a function that takes a value for it, to what the message names, and to the right values."""

NOT_GIVEN: Final = (
    "when predicate",
    "when model",
    "when system",
    "when tool",
    "when text",
    "when turn",
    "when operation",
)
"""Arguments for which None is the same as none."""

RIGHT: Final[dict[str, tuple[str, ...]]] = {
    "seed": ("one", "minus"),
    "sleeps": ("true",),
    "keep_calls": ("none", "one"),
    "models": ("none", "dict"),
    "rules": ("dict",),
    "answers": ("dict",),
    "cache_minimum": ("none", "one"),
    "attempts": ("none", "one"),
}

WRONG: Final = [(name, value) for name in SETTINGS for value in VALUES if value not in RIGHT.get(name, ())]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (name, value)
        for name, (_, _, right) in FUNCTIONS.items()
        for value in VALUES
        # A class is what a decorator without parentheses gets, which is a TypeError of its own.
        if value not in right and (name, value) != ("fake_converse", "class")
    ],
)
def test_a_wrong_argument_is_named(function: str, value: str) -> None:
    give, named, _ = FUNCTIONS[function]
    if function in NOT_GIVEN and value == "none":
        with pytest.raises(ReplyError, match="without a condition"):
            give(VALUES[value])
    else:
        check_named(give, named, value)


def check_named(give: Callable[[Any], object], named: str, value: str) -> None:
    """Give a function a wrong value; the error names the argument and the value."""
    with pytest.raises(ReplyError) as raised:
        give(VALUES[value])
    said = str(raised.value)
    assert said.startswith(named), said
    came = [repr(VALUES[value]), str(VALUES[value]), shown(VALUES[value]), getattr(VALUES[value], "summary", None)]
    assert any(each[:20] in said for each in came if each)


@pytest.mark.parametrize(
    ("function", "value"), [(name, value) for name, (_, _, right) in FUNCTIONS.items() for value in right]
)
@pytest.mark.filterwarnings("ignore::converse_harness.FakeNotOpenWarning")
def test_a_right_argument_is_taken(function: str, value: str) -> None:
    FUNCTIONS[function][0](VALUES[value])


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    came = {name: VALUES[value]}
    makers: list[tuple[Callable[..., object], str]] = [(fake_converse, "fake_converse("), (Fake, "Fake(")]
    makers += [(HttpxFake, "HttpxFake("), *[(ConverseApp, "ConverseApp(")] * (name in OF_ENDPOINT)]
    for make, said in makers:
        with pytest.raises(ReplyError) as raised:
            make(**came)
        assert str(raised.value).startswith(f"{said}{name}={VALUES[value]!r}): ")
    if name in OF_ENDPOINT:
        with pytest.raises(ReplyError, match=f"^{name}="):
            Endpoint(**came)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_setting_is_taken(name: str) -> None:
    for value in RIGHT[name]:
        fake_converse(**{name: VALUES[value]})


@pytest.mark.parametrize(
    ("make", "said", "close"),
    [
        (fake_converse, "fake_converse(atempts=1): ", "did you mean attempts=? Settings: unused=, "),
        (Fake, "Fake(atempts=1): ", "did you mean attempts=? Settings: unused=, "),
        (HttpxFake, "HttpxFake(atempts=1): ", "did you mean attempts=? Settings: unused=, "),
        (ConverseApp, "ConverseApp(atempts=1): ", "Settings: rules=, "),
        (Endpoint, "atempts=1; ", "Settings: rules=, "),
    ],
)
def test_an_unknown_setting_is_named_with_a_near_one(make: Callable[..., object], said: str, close: str) -> None:
    with pytest.raises(ReplyError) as raised:
        make(atempts=1)
    assert str(raised.value).startswith(f"{said}no setting has this name. {close}")


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in OF_ENDPOINT])
def test_an_endpoint_and_an_app_take_no_setting_of_a_fake(name: str) -> None:
    for make in (Endpoint, ConverseApp):
        with pytest.raises(ReplyError, match="no setting has this name"):
            make(**{name: SETTINGS[name].default})


def test_a_script_with_a_wrong_reply_adds_none_of_them() -> None:
    fake = Fake()
    with pytest.raises(ReplyError):
        fake.script(reply.text("a"), "b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fake.check()


@pytest.mark.needs_os
def test_a_wrong_setting_of_a_fake_on_the_server_is_named() -> None:
    with (
        ConverseServer() as server,
        pytest.raises(ReplyError, match=r"^script\(attempts=0\): it is a whole "),
    ):
        server.script(attempts=0)
    with ConverseServer() as server, pytest.raises(ReplyError, match=r"^script\(atempts=1\): no setting "):
        server.script(atempts=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("InvokeModelWithBidirectionalStream", "sends a stream of events in both directions"),
        ("ListSessions", 'Name the service: service="bedrock-agent-runtime" or service="bedrock-agentcore".'),
        ("ConverseStream", "is scripted: converse.always(lambda call: ...)"),
        ("InvokModel", "InvokeModel"),
    ],
)
def test_an_operation_without_a_handler_is_an_error_where_it_is_written(operation: str, said: str) -> None:
    with pytest.raises(ReplyError) as raised:
        Fake().on_operation(operation, lambda call: {})
    assert said in str(raised.value)
