"""What an answer consists of: its members, values, headers, forms of ids and orders of keys, as Observations.

One reader reads recorded answers, those of the fake, of the cases and of the strategies, so all are compared alike.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock.models import standing
from converse_harness.json_values import is_array, is_object
from converse_harness.stream.grammar import is_exception

Kind = Literal["member", "member of a union", "value", "exception", "header", "order of keys", "form of an id"]

NO_FAMILY: Final = "not named"
ERROR: Final = "error"
"""The beginning of the paths in the body of an error."""

_OWN_FAMILIES: Final = {"amazon", "openai"}
"""Makers whose lines of models answer differently."""

_SAME_MAKER: Final = {"moonshotai": "moonshot"}
_BODY: Final = "ConverseResponse"
_FREE: Final = {"input", "json"}
"""Members that contain JSON of the application. Neither they nor documents of AWS's API model are looked into."""

_FIELDS: Final = "additionalModelResponseFields"
"""A document that is looked into, because it is the model's."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,40}")
_IDS: Final = {"toolUseId", "x-amzn-requestid"}
_FORMS: Final = (
    ("a UUID", re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    ("tooluse_ and 22 of A-Za-z0-9_-", re.compile(r"tooluse_[A-Za-z0-9_-]{22}")),
    ("call_ and 32 hex digits", re.compile(r"call_[0-9a-f]{32}")),
    ("functions.NAME:N", re.compile(r"functions\.[\w-]+:\d+")),
)
_SHOWN: Final = {"content-type", "connection", "transfer-encoding"}
"""Headers whose values are observed too."""


class Observation(NamedTuple):
    """One thing that an answer has. `what` is a path, a path with a value, a name, a header or a form."""

    kind: Kind
    family: str
    operation: str
    what: str


@dataclass(frozen=True)
class CensusAnswer:
    """One answer: a body (`events` has its JSON under the name "body"), or a stream's events, the JSON by the types.

    `month` is "" if it is not known. `error` is the name of an HTTP error. `has_order` is whether keys are in the order
    in which they were sent.
    """

    model_id: str
    operation: str
    events: tuple[tuple[str, Any], ...]
    month: str = ""
    status: int = 200
    error: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    has_order: bool = True

    @property
    def family(self) -> str:
        """The maker of its model, or the line of models if the maker has several that answer differently."""
        model = standing(self.model_id).model
        if model is None:
            return NO_FAMILY
        return model.line if model.maker in _OWN_FAMILIES else _SAME_MAKER.get(model.maker, model.maker)


@dataclass
class Seen:
    """How often something was observed, and in which months."""

    count: int = 0
    months: set[str] = field(default_factory=set[str])


def census(answers: Iterable[CensusAnswer]) -> dict[Observation, Seen]:
    """Count in how many answers each observation is."""
    found: defaultdict[Observation, Seen] = defaultdict(Seen)
    for answer in answers:
        family = answer.family
        for kind, what in set(observations(answer)):
            seen = found[Observation(kind, family, answer.operation, what)]
            seen.count += 1
            seen.months |= {answer.month} - {""}
    return dict(found)


def observations(answer: CensusAnswer) -> Iterator[tuple[Kind, str]]:
    """Yield what an answer has; what it has several times may be yielded several times."""
    for name, value in answer.headers:
        yield "header", name.lower()
        if name.lower() in _SHOWN:
            yield "value", f"header {name.lower()} = {value.lower()}"
        if name.lower() in _IDS:
            yield "form of an id", f"header {name.lower()}: {_form(value)}"
    if answer.error:
        yield "exception", f"{answer.error} {answer.status}"
    for name, members in answer.events:
        if answer.error:
            shape = bedrock.shape(answer.error) if bedrock.has_shape(answer.error) else None
            yield from _inside(ERROR, members, shape, answer)
            continue
        if name == "body":
            yield from _inside("body", members, bedrock.shape(_BODY), answer)
            continue
        if is_exception(name):
            yield "exception", f"{name} in a stream"
        else:
            yield "member of a union", name
        is_known = name in bedrock.stream_events() or name in bedrock.stream_exceptions()
        yield from _inside(name, members, bedrock.shape(bedrock.stream_shape(name)) if is_known else None, answer)


def _inside(path: str, value: Any, shape: Any, answer: CensusAnswer) -> Iterator[tuple[Kind, str]]:
    """Yield what is in a JSON value, whose shape in AWS's API model is `shape`, or None."""
    if is_object(value):
        yield from _object(path, value, shape, answer)
    elif is_array(value):
        if not value:
            yield "value", f"{path} = []"
        for each in value:
            yield from _inside(path, each, getattr(shape, "member", None), answer)
    elif value is None:
        yield "value", f"{path} = null"
    elif isinstance(value, str):
        yield from _text(path, value, shape)


def _object(path: str, value: Mapping[str, Any], shape: Any, answer: CensusAnswer) -> Iterator[tuple[Kind, str]]:
    if not value:
        yield "value", f"{path} = {{}}"
    keys = list(value)
    if answer.has_order and len(keys) > 1:
        is_sorted = keys == sorted(keys)
        yield "order of keys", "alphabetical" if is_sorted else f"{path}: {', '.join(keys)}"
    type_name = getattr(shape, "type_name", "")
    if type_name == "map":  # its keys are names of the user, such as the id of a guardrail
        for each in value.values():
            yield from _inside(f"{path}.*", each, shape.value, answer)
        return
    members: Mapping[str, Any] = shape.members if type_name == "structure" and not bedrock.is_document(shape) else {}
    is_union = bool(members) and bedrock.is_union(shape)
    for name, inner in value.items():
        if name == "p" and path in bedrock.stream_events():
            yield "member", "the padding p of an event"
            continue
        place = f"{path}.{name}"
        yield "member of a union" if is_union else "member", place
        inside = members.get(name)
        is_free = name in _FREE if inside is None else bedrock.is_document(inside) and name != _FIELDS
        if not is_free:
            yield from _inside(place, inner, inside, answer)


def _text(path: str, value: str, shape: Any) -> Iterator[tuple[Kind, str]]:
    name = path.rpartition(".")[2]
    if not value:
        yield "value", f"{path} = empty"
    elif name in _IDS:
        yield "form of an id", f"{path}: {_form(value)}"
    elif getattr(shape, "enum", None) or (shape is None and _WORD.fullmatch(value) and name != "message"):
        yield "value", f"{path} = {value}"


def _form(value: str) -> str:
    return next((name for name, pattern in _FORMS if pattern.fullmatch(value)), "another form")
