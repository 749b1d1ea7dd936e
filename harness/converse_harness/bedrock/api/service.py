"""AWS's API models of the Bedrock services (the service descriptions in botocore), each loaded at first use.

Without the name of a service, the functions are about Bedrock Runtime. If the installed botocore lacks a requested
name, the functions raise NotInModel, which states botocore's version.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar

from converse_harness.bedrock.api.beyond import BEYOND_MODEL, ExtraError
from converse_harness.errors import ReplyError
from converse_harness.words import nearest

SERVICE: Final = "bedrock-runtime"
CONTROL_PLANE: Final = "bedrock"
"""The service with the operations for inference profiles and models."""


class NotInModel(ReplyError, LookupError):
    """Raised if the installed botocore lacks a service, shape, member or operation.

    The message contains botocore's version, and the most similar name or the advice to upgrade.
    """


class Shape(Protocol):
    """The attributes of a botocore shape that this package uses.

    A structure has `members`, a list has `member`, a map has `key` and `value`.
    """

    name: str
    type_name: str
    metadata: Mapping[str, Any]
    serialization: Mapping[str, Any]
    members: Mapping[str, Shape]
    member: Shape
    key: Shape
    value: Shape
    enum: Sequence[str]


class Operation(Protocol):
    """The attributes of a botocore operation that this package uses; `http` contains `method` and `requestUri`."""

    name: str
    http: Mapping[str, Any]
    input_shape: Shape
    output_shape: Shape
    error_shapes: Sequence[Shape]
    has_event_stream_output: bool
    has_event_stream_input: bool

    def get_event_stream_output(self) -> Shape:
        """Return the union of the events and exceptions that the operation can stream."""
        ...


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """An error in AWS's API model: its name, its HTTP status, the side at fault, and the members of its body."""

    name: str
    status: int
    fault: Literal["client", "server"]
    members: tuple[str, ...]


def botocore_version() -> str:
    """Return the version of the installed botocore, `1.44.5` for instance."""
    version: str = _botocore("").__version__
    return version


@cache
def service(name: str = SERVICE) -> Any:
    """Return botocore's ServiceModel of a service; service models in the user's home directory are not read.

    Raises NotInModel if botocore has no such service.
    """
    try:
        description = _loader().load_service_model(name, "service-2")
    except _botocore(".exceptions").UnknownServiceError as error:
        raise NotInModel(f"botocore {botocore_version()} has no service {name!r}. {_REMEDY}") from error
    return _botocore(".model").ServiceModel(description, name)


def has_shape(name: str, of: str = SERVICE) -> bool:
    """Whether AWS's API model of the service `of` in the installed botocore has this shape."""
    return name in service(of).shape_names


def has_member(shape_name: str, member_name: str) -> bool:
    """Whether AWS's API model in the installed botocore has this structure with this member."""
    return has_shape(shape_name) and member_name in _members(shape_name)


@cache
def shape(name: str, of: str = SERVICE) -> Shape:
    """Return the shape with this name from AWS's API model of the service `of`. Raises NotInModel if there is none.

    >>> shape("StopReason").type_name
    'string'
    """
    if not has_shape(name, of):
        raise _lacks("shape", name, service(of).shape_names, of)
    found: Shape = service(of).shape_for(name)
    return found


def body_shape(name: str, of: str = SERVICE) -> Shape:
    """Return a shape by its name; for the name of an ExtraError, return the shape of the error's body.

    Raises NotInModel for an unknown name.
    """
    return shape(_EXTRA_ERROR_BODIES.get(name, name) if of == SERVICE else name, of)


def member(shape_name: str, member_name: str, of: str = SERVICE) -> Shape:
    """Return the shape of a structure's member. Raises NotInModel if the structure or the member is unknown.

    >>> member("ConverseResponse", "usage").name
    'TokenUsage'
    """
    members = _members(shape_name, of)
    if member_name not in members:
        raise _lacks(f"member of {shape_name}", member_name, members, of)
    return members[member_name]


@cache
def operation(name: str, of: str = SERVICE) -> Operation:
    """Return the operation with this name from AWS's API model of the service `of`. Raises NotInModel if there is none.

    >>> operation("Converse").http["requestUri"]
    '/model/{modelId}/converse'
    """
    if name not in operations(of):
        raise _lacks("operation", name, operations(of), of)
    found: Operation = service(of).operation_model(name)
    return found


@cache
def operations(of: str = SERVICE) -> tuple[str, ...]:
    """Return the names of all operations of a service. Raises NotInModel if botocore has no such service."""
    return tuple(service(of).operation_names)


@cache
def services() -> tuple[str, ...]:
    """Return the names of the Bedrock services in botocore: SERVICE, CONTROL_PLANE, then the others by name."""
    others = (name for name in _loader().list_available_services("service-2") if name.startswith(f"{CONTROL_PLANE}-"))
    return (SERVICE, CONTROL_PLANE, *sorted({*others} - {SERVICE}))


@cache
def services_of(operation_name: str) -> tuple[str, ...]:
    """Return the names of the Bedrock services that have this operation, in the order of `services`.

    SERVICE and CONTROL_PLANE take precedence: if one of them has the operation, the other services are not searched.

    >>> services_of("GetInferenceProfile"), services_of("Retrieve")
    (('bedrock',), ('bedrock-agent-runtime',))
    """
    for name in (SERVICE, CONTROL_PLANE):
        if operation_name in operations(name):
            return (name,)
    return tuple(name for name in services()[2:] if operation_name in operations(name))


def method_of(operation_name: str) -> str:
    """Return the name of boto3's client method for an operation.

    >>> method_of("RetrieveAndGenerate")
    'retrieve_and_generate'
    """
    method: str = _botocore("").xform_name(operation_name)
    return method


@cache
def enum(shape_name: str) -> tuple[str, ...]:
    """Return the values of an enum; the result is empty for any other shape. Raises NotInModel for an unknown shape.

    >>> enum("ConversationRole")[:2]
    ('user', 'assistant')
    """
    return tuple(getattr(shape(shape_name), "enum", ()))


@cache
def errors(operation_name: str, of: str = SERVICE) -> Mapping[str, ErrorShape]:
    """Return the errors of an operation in AWS's API model, by name. Raises NotInModel for an unknown operation.

    >>> errors("Converse")["ModelTimeoutException"].status
    408
    """
    return MappingProxyType({each.name: _error(each) for each in operation(operation_name, of).error_shapes})


@cache
def all_errors(of: str = SERVICE) -> Mapping[str, ErrorShape]:
    """Return every error of a service by its name: the errors of AWS's API model and those of BEYOND_MODEL.

    The latter are recorded of Bedrock Runtime. They come from the gateway, which stands before each of the services.
    """
    found = {each.name: _error(each) for each in service(of).error_shapes}
    for row in BEYOND_MODEL:
        if isinstance(row, ExtraError):
            found.setdefault(row.shape, ErrorShape(row.shape, row.status, "client", tuple(_members(row.body))))
    return MappingProxyType(found)


@cache
def services_with_error(name: str) -> tuple[str, ...]:
    """Return the Bedrock services that have an error of this name. If SERVICE has it, the others are not searched.

    >>> services_with_error("DependencyFailedException")
    ('bedrock-agent-runtime',)
    """
    return (SERVICE,) if name in all_errors() else tuple(each for each in services() if name in all_errors(each))


@cache
def stream_events() -> tuple[str, ...]:
    """Return the events that ConverseStream can send, without exceptions, in the order of AWS's API model.

    >>> stream_events()[0]
    'messageStart'
    """
    return tuple(name for name, each in _stream().items() if not each.metadata.get("exception"))


@cache
def stream_exceptions() -> Mapping[str, ErrorShape]:
    """Return the exceptions that ConverseStream can send as a frame, by the value of the header `:exception-type`.

    >>> stream_exceptions()["throttlingException"].name
    'ThrottlingException'
    """
    return MappingProxyType({name: _error(each) for name, each in _stream().items() if each.metadata.get("exception")})


class EventStream(NamedTuple):
    """The event stream in an operation's output: the member that contains it, and the shapes of its events.

    `events` and `exceptions` map the type of each event and exception to its shape; `union` is the shape of both.
    """

    member: str
    union: Shape
    events: Mapping[str, Shape]
    exceptions: Mapping[str, Shape]


@cache
def event_stream(operation_name: str, of: str = SERVICE) -> EventStream | None:
    """Return the event stream of an operation; None if it does not answer with one.

    Raises NotInModel for an unknown operation.

    >>> stream = event_stream("InvokeModelWithResponseStream")
    >>> stream.member, [*stream.events]
    ('body', ['chunk'])
    """
    described = operation(operation_name, of)
    if not described.has_event_stream_output:
        return None
    union = described.get_event_stream_output()
    member = next(
        name for name, each in described.output_shape.members.items() if each.serialization.get("eventstream")
    )
    exceptions = {name: each for name, each in union.members.items() if each.metadata.get("exception")}
    events = {name: each for name, each in union.members.items() if name not in exceptions}
    return EventStream(member, union, events, exceptions)


def stream_shape(member_name: str) -> str:
    """Return the name of the payload's shape for a stream event or exception. Raises NotInModel for an unknown name.

    >>> stream_shape("contentBlockDelta")
    'ContentBlockDeltaEvent'
    """
    if member_name not in _stream():
        raise _lacks(f"event of {_STREAMING}", member_name, _stream())
    return _stream()[member_name].name


def is_document(shape: Shape) -> bool:
    """Whether a shape is free-form JSON, which botocore represents as a structure without members."""
    return shape.type_name == "structure" and bool(shape.metadata.get("document"))


def is_union(shape: Shape) -> bool:
    """Whether a structure is a union. An event stream counts as a union; botocore marks it in another attribute."""
    return bool(shape.metadata.get("union") or shape.serialization.get("eventstream"))


_EXTRA_ERROR_BODIES: Final[Mapping[str, str]] = {
    row.shape: row.body for row in BEYOND_MODEL if isinstance(row, ExtraError)
}
_STREAMING: Final = "ConverseStream"
_REMEDY: Final = "Correct the name, or upgrade (pip install --upgrade botocore)."


def _botocore(module: str) -> Any:
    # No import statement at the top: importing this package must not import botocore, and botocore has no types.
    return importlib.import_module(f"botocore{module}")


def _loader() -> Any:
    """Return a loader of the service models that botocore ships; those in the user's home directory are not read."""
    loaders = _botocore(".loaders")
    return loaders.Loader([loaders.Loader.BUILTIN_DATA_PATH], include_default_search_paths=False)


def _lacks(what: str, name: str, known: Iterable[str], where: str = SERVICE) -> NotInModel:
    close = nearest(name, known)
    hint = f" Did you mean {close!r}?" if close else ""
    came = f"botocore {botocore_version()} has no {what} {name!r} in its model of {where}."
    return NotInModel(f"{came}{hint or f' {_REMEDY}'}")


def _members(shape_name: str, of: str = SERVICE) -> Mapping[str, Shape]:
    members: Mapping[str, Shape] = getattr(shape(shape_name, of), "members", {})
    return members


@cache
def _stream() -> Mapping[str, Shape]:
    return operation(_STREAMING).get_event_stream_output().members


def _error(shape: Shape) -> ErrorShape:
    error: Mapping[str, Any] = shape.metadata.get("error") or {}
    status = error.get("httpStatusCode")
    if status is None:  # a model of the protocol "json" leaves the status out
        usual = service().shape_for(shape.name) if has_shape(shape.name) else None
        return ErrorShape(shape.name, 400, "client", tuple(shape.members)) if usual is None else _error(usual)
    return ErrorShape(shape.name, status, "client" if error.get("senderFault") else "server", tuple(shape.members))


_Function = TypeVar("_Function", bound=Callable[[Any], Any])


class ShapeWalk(dict[str, _Function], ABC):
    """A mapping of the shape names of a service to functions. A function is made when it is first accessed.

    Access raises NotInModel for an unknown shape.
    """

    def __init__(self, of: str = SERVICE) -> None:
        super().__init__()
        self.service = of

    def __missing__(self, shape_name: str) -> _Function:
        fresh: dict[str, _Function] = {}
        found = self._function(body_shape(shape_name, self.service), fresh)
        # The functions are stored only when all are complete, so that another thread never gets an incomplete function.
        self.update({**fresh, shape_name: found})
        return found

    @abstractmethod
    def plain(self, shape: Shape) -> _Function:
        """Make the function of a scalar shape or a free-form document."""

    @abstractmethod
    def holder(self, shape: Shape, inner: Mapping[str, _Function]) -> _Function:
        """Make the function of a structure, list or map.

        `inner` contains the functions of a structure's members by name, or the functions "member" of a list or "key"
        and "value" of a map. `inner` is empty during this call and filled later; the returned function may read it.
        """

    def more_members(self, shape: Shape) -> Mapping[str, _Function]:
        """Return, by name, functions of members that AWS's API model lacks or defines differently; by default none."""
        return {}

    def _function(self, shape: Shape, fresh: dict[str, _Function]) -> _Function:
        held = _held(shape)
        if held is None:
            return self.plain(shape)
        known = self.get(shape.name) or fresh.get(shape.name)
        if known is None:
            # `known` is stored in `fresh` before the functions of the members exist, because a shape may contain
            # itself.
            inner: dict[str, _Function] = {}
            known = fresh[shape.name] = self.holder(shape, inner)
            inner |= {name: self._function(each, fresh) for name, each in held.items()}
            inner |= self.more_members(shape)
        return known


def _held(shape: Shape) -> Mapping[str, Shape] | None:
    match shape.type_name:
        case "structure":
            return None if is_document(shape) else shape.members
        case "list":
            return {"member": shape.member}
        case "map":
            return {"key": shape.key, "value": shape.value}
        case _:
            return None
