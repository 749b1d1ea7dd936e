"""Our vocabulary against that of the installed strands: names, fields, what is required, literals, signatures.

Drift is reported by name. What differs on purpose is one table, with reasons; a difference that is gone fails as well.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import types as runtime_types
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import (
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pytest

pytest.importorskip("strands")

OURS = (
    "content",
    "event_loop",
    "exceptions",
    "guardrails",
    "media",
    "session",
    "streaming",
    "tools",
    "citations",
    "memory",
)
THEIRS: Mapping[str, tuple[str, ...]] = {
    **{name: (f"strands.types.{name}",) for name in OURS},
    "memory": ("strands.memory.types", "strands.memory.extraction.types", "strands.injection.types"),
    "tools": ("strands.types.tools", "strands.types.interrupt", "strands.interrupt"),
}

DIFFERENT: Mapping[str, str] = {
    "media.S3Location.type": "strands forgot that its base requires it; every S3 location has one",
    "memory.ExtractionTriggerContext.agent": "strands' Agent; ours is any",
    "memory.ExtractorContext.default_model": "strands' Model; ours is any",
    "memory.InjectionContext.agent": "strands' LocalAgent; ours is any",
    "memory.InjectionContext.state": "strands' AgentState; ours is any",
    "session.SessionAgent.from_agent": "strands' LocalAgent; ours is anything with its attributes",
    "session.SessionAgent.initialize_internal_state": "strands' LocalAgent; ours is anything with its attributes",
    "tools.Interrupt.to_dict": "for strands' own sessions",
    "tools.JSONSchema": "a bare dict there: strict checkers want to know of what",
    "tools.ToolContext.interrupt": "strands inherits it from _Interruptible, where it reads the agent",
    "tools.ToolContext.interrupts": "ours alone: strands keeps the questions in its agent",
}
"""What differs on purpose: a name or a member of it, and why."""

NOT_OURS: Mapping[str, str] = {
    "content.SystemPrompt": "a parameter of agents, in no page of the vocabulary",
    "content.TextBlock": "an object that makes a dict; we take and give the dicts",
    "content.get_message_metadata": "a function of the agent's",
    "content.split_system_prompt": "a function of the agent's",
    "exceptions.AggregateMemoryError": "in no page of the vocabulary",
    "exceptions.CheckpointException": "in no page of the vocabulary",
    "exceptions.ConcurrencyException": "in no page of the vocabulary",
    "exceptions.IdempotencyAbortedError": "in no page of the vocabulary",
    "exceptions.MaxTokensReachedException": "in no page of the vocabulary",
    "exceptions.ProviderTokenCountError": "in no page of the vocabulary",
    "exceptions.SnapshotException": "in no page of the vocabulary",
    "exceptions.StorageError": "in no page of the vocabulary",
    "exceptions.StructuredOutputException": "in no page of the vocabulary",
    "exceptions.ToolProviderException": "in no page of the vocabulary",
    "media.AudioBlock": "an object that makes a dict",
    "media.ImageBlock": "an object that makes a dict",
    "tools.ToolResultBlock": "an object that makes a dict",
}
"""Public names of strands' modules that ours do not have, and why."""


def text(kind: Any) -> str:
    """A type as text that does not depend on how it was spelled."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is None or kind is type(None):
        return "None"
    if kind is Any or isinstance(kind, TypeVar):
        return "Any"
    if isinstance(kind, str | ForwardRef):
        return text_of_source(kind if isinstance(kind, str) else kind.__forward_arg__)
    if origin in (Required, NotRequired):
        return text(args[0])
    if origin is Literal:
        return f"Literal{sorted(args)}"
    if origin in (Union, runtime_types.UnionType):
        return " | ".join(sorted({text(arg) for arg in args}))
    if isinstance(kind, list):
        return f"[{', '.join(map(text, kind))}]"
    if origin is not None:
        name = getattr(origin, "__name__", str(origin))
        # A bare dict and one of anything are the same.
        plain = {("dict", "str, Any"): "dict", ("list", "Any"): "list"}
        inner = ", ".join(map(text, args))
        return plain.get((name, inner), f"{name}[{inner}]")
    return getattr(kind, "__name__", str(kind))


def text_of_source(source: str) -> str:
    return " | ".join(sorted(part.strip().strip("'\"") for part in source.split("|")))


def hints(thing: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    return get_type_hints(thing, localns=dict(known), include_extras=True)


def fields_of_typed_dict(kind: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, hint in hints(kind, known).items():
        spelled = get_origin(hint)
        required = spelled is Required or (spelled is not NotRequired and name in kind.__required_keys__)
        yield name, f"{'' if required else 'NotRequired '}{text(hint)}"


def fields_of_dataclass(kind: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    resolved = hints(kind, known)
    for place in dataclasses.fields(kind):
        optional = place.default is not dataclasses.MISSING or place.default_factory is not dataclasses.MISSING
        yield place.name, f"{text(resolved[place.name])}{' = ...' if optional else ''}"


def signature(function: Any, known: Mapping[str, Any]) -> str:
    resolved = hints(function, known)
    parts = [
        f"{parameter.kind.name} {name}: {text(resolved.get(name, Any))}"
        + ("" if parameter.default is parameter.empty else " = ...")
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
    ]
    return f"{'async ' if inspect.iscoroutinefunction(function) else ''}({', '.join(parts)})"


def methods(kind: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    abstract: frozenset[str] = getattr(kind, "__abstractmethods__", frozenset())
    for name, value in vars(kind).items():
        if name.startswith("_") and name not in ("__call__", "__init__"):
            continue
        if dataclasses.is_dataclass(kind) and name == "__init__":
            continue
        mark = "abstract " if name in abstract else ""
        if isinstance(value, property):
            yield name, f"{mark}property {text(hints(value.fget, known)['return'])}"
        elif isinstance(value, classmethod):
            yield name, f"{mark}classmethod {signature(value.__func__, known)}"
        elif inspect.isfunction(value) and not value.__qualname__.startswith("_no_init"):
            yield name, f"{mark}{signature(value, known)}"


def members(thing: Any, known: Mapping[str, Any]) -> dict[str, str]:
    """Everything of a name that a user can rely on, as text; the member `""` is the name itself."""
    if hasattr(thing, "__required_keys__"):  # typing.is_typeddict does not know those of typing_extensions
        return {"": "TypedDict", **dict(fields_of_typed_dict(thing, known))}
    if not isinstance(thing, type) or get_origin(thing) is not None:
        return {"": signature(thing, known) if inspect.isfunction(thing) else text(thing)}
    if issubclass(thing, enum.Enum):
        return {"": "enum", **{member.name: repr(member.value) for member in thing}}
    if dataclasses.is_dataclass(thing):
        return {"": "dataclass", **dict(fields_of_dataclass(thing, known)), **dict(methods(thing, known))}
    if issubclass(thing, Exception):
        return {"": thing.__bases__[0].__name__, **dict(methods(thing, known))}
    bases = [base.__name__ for base in thing.__mro__[1:] if base.__name__ in ("Protocol", "ABC")]
    attributes = {name: text(hint) for name, hint in hints(thing, known).items()}
    return {"": f"class {bases}", **attributes, **dict(methods(thing, known))}


def public_names(module: Any) -> set[str]:
    """What a module's source defines at its top."""
    found: set[str] = set()
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass
    return {name for name in found if not name.startswith("_")}


def theirs(module: str, name: str) -> Any:
    for place in THEIRS[module]:
        found = getattr(import_module(place), name, None)
        if found is not None:
            return found
    return None


def known_names(*modules: str) -> dict[str, Any]:
    """What annotations as strings may name that is imported for type checkers only."""
    found: dict[str, Any] = {}
    for module in modules:
        found.update({name: value for name, value in vars(import_module(module)).items() if not name.startswith("__")})
    return found


OUR_NAMES = [
    *(
        (module, name)
        for module in OURS
        for name in sorted(public_names(import_module(f"converse_harness.types.{module}")))
        if theirs(module, name) is not None
    ),
    ("streaming", "CitationLocation"),
    ("streaming", "Role"),
    ("streaming", "StopReason"),
    ("tools", "_Interruptible"),
]
"""The last four have no definition at the top of their module that is public."""


def differences(module: str, name: str) -> dict[str, str]:
    """What differs of one name, by member."""
    our_known = known_names(f"converse_harness.types.{module}")
    their_known = known_names("strands.types.agent", "strands.memory.extraction.types", "strands.agent.state")
    their_known |= known_names("strands.agent.agent") | known_names(*THEIRS[module])
    ours = members(getattr(import_module(f"converse_harness.types.{module}"), name), our_known)
    other = members(theirs(module, name), their_known)
    return {
        f"{module}.{name}{'.' if member else ''}{member}": f"{ours.get(member)} here, {other.get(member)} in strands"
        for member in ours.keys() | other.keys()
        if ours.get(member) != other.get(member)
    }


@pytest.mark.parametrize(("module", "name"), OUR_NAMES, ids=lambda value: value)
def test_name_is_as_in_strands(module: str, name: str) -> None:
    assert {place: what for place, what in differences(module, name).items() if place not in DIFFERENT} == {}


def test_every_known_difference_is_one() -> None:
    found = {place for module, name in OUR_NAMES for place in differences(module, name)}
    assert {place: reason for place, reason in DIFFERENT.items() if place not in found} == {}


def test_strands_has_no_public_name_that_nobody_decided_on() -> None:
    unknown = {
        f"{module}.{name}"
        for module in OURS
        for name in public_names(import_module(THEIRS[module][0]))
        if not hasattr(import_module(f"converse_harness.types.{module}"), name)
    }
    assert unknown == set(NOT_OURS)


def test_most_names_are_compared() -> None:
    assert len(OUR_NAMES) >= 117


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda kind: kind.__annotations__.pop("text"), "streaming.ContentBlockDelta.text"),
        (lambda kind: kind.__annotations__.update(text=int), "streaming.ContentBlockDelta.text"),
    ],
)
def test_a_field_that_is_not_as_in_strands_is_named(
    spoil: Callable[[Any], object], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from converse_harness.types import streaming

    monkeypatch.setattr(
        streaming.ContentBlockDelta, "__annotations__", dict(streaming.ContentBlockDelta.__annotations__)
    )
    spoil(streaming.ContentBlockDelta)
    assert set(differences("streaming", "ContentBlockDelta")) == {place}
