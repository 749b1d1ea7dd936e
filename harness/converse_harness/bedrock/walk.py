"""The one walk over AWS's shapes: it makes a function of each shape, such as its check or its encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from converse_harness.bedrock.service import Shape, body_shape, is_document

_Function = TypeVar("_Function", bound=Callable[[Any], Any])


class ShapeWalk(dict[str, _Function], ABC):
    """The functions of all shapes by name, each made when first needed; raises NotInModel for an unknown one."""

    def __missing__(self, shape_name: str) -> _Function:
        fresh: dict[str, _Function] = {}
        found = self._function(body_shape(shape_name), fresh)
        # Published once complete: another thread never meets a structure that still lacks members.
        self.update({**fresh, shape_name: found})
        return found

    @abstractmethod
    def plain(self, shape: Shape) -> _Function:
        """Make the function of a shape that holds no others; a free-form document is such a one."""

    @abstractmethod
    def holder(self, shape: Shape, inner: Mapping[str, _Function]) -> _Function:
        """Make the function of a structure, list or map, which may use those in `inner` once it is called.

        They have the names of a structure's members, or the names "member", "key" and "value".
        """

    def more_members(self, shape: Shape) -> Mapping[str, _Function]:
        """The functions of members that the model lacks, or has otherwise."""
        return {}

    def _function(self, shape: Shape, fresh: dict[str, _Function]) -> _Function:
        held = _held(shape)
        if held is None:
            return self.plain(shape)
        known = self.get(shape.name) or fresh.get(shape.name)
        if known is None:
            # Stored before the functions inside exist, because a shape may contain itself.
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
