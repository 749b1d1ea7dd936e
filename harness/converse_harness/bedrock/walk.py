"""A base class that visits the shapes of AWS's API model and makes a function (such as a check) for each shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from converse_harness.bedrock.service import Shape, body_shape, is_document

_Function = TypeVar("_Function", bound=Callable[[Any], Any])


class ShapeWalk(dict[str, _Function], ABC):
    """A mapping of shape names to functions. A function is made when it is first accessed.

    Access raises NotInModel for an unknown shape.
    """

    def __missing__(self, shape_name: str) -> _Function:
        fresh: dict[str, _Function] = {}
        found = self._function(body_shape(shape_name), fresh)
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
