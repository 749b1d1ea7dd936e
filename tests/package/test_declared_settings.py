"""Whatever takes, offers or shows settings of fakes derives it from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from converse_harness import ConverseApp, ConverseServer, Endpoint, Fake, HttpxFake, fake_converse, record
from converse_harness.cli.serve import ARGUMENTS
from converse_harness.intercept.in_process import InProcessFake
from converse_harness.plugin.settings import MARKED, OF_TEST
from converse_harness.server.control.arguments import parameters
from converse_harness.server.mounts import ServerFake
from converse_harness.settings import OF_ENDPOINT, ONLY_SERVER, SETTINGS, Setting, Settings
from tests.house.public_api import options

MAKERS: Final[dict[str, tuple[Callable[..., object], Mapping[str, Setting]]]] = {
    "Fake": (Fake, SETTINGS),
    "InProcessFake": (InProcessFake, SETTINGS),
    "HttpxFake": (HttpxFake, SETTINGS),
    "ServerFake": (ServerFake, SETTINGS),
    "fake_converse": (fake_converse, SETTINGS),
    "record": (record, SETTINGS),
    "script": (ConverseServer.script, SETTINGS),
    "answer_all": (ConverseServer.answer_all, SETTINGS),
    "server.record": (ConverseServer.record, SETTINGS),
    "ConverseApp": (ConverseApp, OF_ENDPOINT),
    "Endpoint": (Endpoint, OF_ENDPOINT),
}
"""The public functions and classes that take settings, with the settings that each takes."""

OF_SERVERS: Final = {"ServerFake", "script", "answer_all", "server.record"}

TYPES: Final = get_type_hints(Settings)


def test_a_setting_is_where_its_declaration_says() -> None:
    registered = options()
    dashed = {name: name.replace("_", "-") for name in SETTINGS}
    ini = {name for name in SETTINGS if any(line.startswith(f"ini converse_{name} = ") for line in registered)}
    found = {
        "marker": set(MARKED) - set(OF_TEST),
        "option": {name for name in SETTINGS if f"--converse-{dashed[name]} {name.upper()}" in registered},
        "http": set(parameters(Fake)),
        "serve": {name for name in SETTINGS if f"--{dashed[name]}" in ARGUMENTS},
    }
    assert found == {place: {name for name, each in SETTINGS.items() if place in each.where} for place in found}
    assert ini == found["marker"]


@pytest.mark.parametrize("maker", MAKERS)
def test_the_signature_shows_names_types_and_defaults(maker: str) -> None:
    make, settings = MAKERS[maker]
    shown = inspect.signature(make).parameters
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())
    named = {name: (each.default, each.annotation) for name, each in shown.items() if name in SETTINGS}
    differ = ONLY_SERVER if maker in OF_SERVERS else {}
    assert named == {name: (differ.get(name, setting.default), TYPES[name]) for name, setting in settings.items()}


@pytest.mark.parametrize("kind", [Fake, Endpoint, ConverseApp])
def test_the_docstring_explains_every_setting(kind: type) -> None:
    text = " ".join((inspect.getdoc(kind) or "").split()).replace("`", "")
    _, settings = MAKERS[kind.__name__]
    left = [name for name, each in settings.items() if f"- {name}: {each.plain}; {each.allowed.said}" not in text]
    assert not left


@pytest.mark.parametrize("name", SETTINGS)
def test_the_allowed_values_are_those_of_the_type(name: str) -> None:
    allowed, hint = SETTINGS[name].allowed, TYPES[name]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    assert {*allowed.choices} == {each for kind in kinds if get_origin(kind) is Literal for each in get_args(kind)}
    for value in (None, True, 1, 0.5, "x", {}, {"a": "b"}, *allowed.choices, SETTINGS[name].default):
        assert allowed.test(value) is fits(value, hint), value


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a type."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return any(fits(value, kind) for kind in get_args(hint))
    if get_origin(hint) is Mapping:
        return isinstance(value, dict) and all(fits(each, get_args(hint)[1]) for each in value.values())
    return type(value) is hint


@pytest.mark.parametrize("name", [name for name, each in SETTINGS.items() if {"option", "serve"} & {*each.where}])
def test_the_text_of_a_value_is_read_as_this_value(name: str) -> None:
    setting = SETTINGS[name]
    assert NoneType not in get_args(TYPES[name]) or setting.allowed.none
    values = [setting.default, setting.example, setting.of_server, *setting.allowed.choices]
    for value in filter(setting.allowed.test, values):
        assert setting.allowed.read(setting.text(value)) == value
