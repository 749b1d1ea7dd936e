"""Copies of the content of botocore's data files, for each session its own.

botocore writes into what it has read. A client completes the entry of its endpoint, references in the table of retries
are resolved, and extras are merged into a model. Tests may write into it too, so nothing is shared.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any


def copies_of(data: Any) -> Callable[[], Any]:
    """Return a function that makes a copy of a value from JSON at each call.

    >>> make = copies_of({"a": [1]})
    >>> make()["a"].append(2)
    >>> make()
    {'a': [1]}
    """
    # The value is kept as bytes. Objects would be looked at by each run of the garbage collector.
    return partial(marshal.loads, marshal.dumps(data))


def copies_of_endpoints(data: Any) -> Callable[[], Any]:
    """Return such a function for the content of `endpoints.json`.

    A copy reads the entry of a service when it is asked for. All entries are as large as all other files that a client
    reads, and the client needs one of them. Models are not copied in parts, because libraries in C (pydantic, orjson)
    read a dict without `__getitem__`.
    """
    try:
        partitions = data["partitions"]
        services = [{name: marshal.dumps(each) for name, each in one["services"].items()} for one in partitions]
    except (AttributeError, KeyError, TypeError):  # a format that no botocore has yet
        return copies_of(data)
    make_rest = copies_of({**data, "partitions": [{**one, "services": None} for one in partitions]})

    def make() -> Any:
        made = make_rest()
        for one, packed in zip(made["partitions"], services, strict=True):
            one["services"] = LazyObject(packed)
        return made

    return make


class LazyObject(OrderedDict[str, Any]):
    """A JSON object that is made from the bytes of its members, and makes a member when the member is read.

    What Python makes of it, such as its copy or its pickle, is a dict.
    """

    __slots__ = ("_read",)

    def __init__(self, packed: Mapping[str, bytes]) -> None:
        super().__init__(packed)
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value: Any = super().__getitem__(name)
        if type(value) is bytes:
            # Two threads may be here at once. Both must get the same object, because one of them may write into it.
            self[name] = value = self._read.setdefault(name, marshal.loads(value))
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Return a member, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _of_dict(name: str) -> Callable[..., Any]:
    """Make a method that calls the method `name` of a dict with the same members."""

    def call(self: LazyObject, *args: Any) -> Any:
        return getattr(dict[str, Any](self), name)(*args)

    return call


def _after_reading(name: str) -> Callable[..., Any]:
    """Make a method that reads all members, and then calls the method `name` of OrderedDict."""
    method = getattr(OrderedDict, name)

    def call(self: LazyObject, *args: Any, **kwargs: Any) -> Any:
        for member in self:
            self[member]
        return method(self, *args, **kwargs)

    return call


# OrderedDict is written in C, and these methods would read its members without `__getitem__`.
for _name in ("__eq__", "__ne__", "__or__", "__ror__", "__repr__", "copy"):
    setattr(LazyObject, _name, _of_dict(_name))
for _name in ("items", "pop", "popitem", "setdefault", "values"):
    setattr(LazyObject, _name, _after_reading(_name))
