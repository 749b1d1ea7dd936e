"""One use of a reply: what its answer takes from the call, the seed and the model, such as the ids of tool uses."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import shake_256
from typing import Any, Final, Literal, NamedTuple

from converse_harness.bedrock.families import UNNAMED_TOOL_USE, Family, family_of
from converse_harness.bedrock.models import ToolIdForm, tool_id_form, tool_use_type
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.usage import Count
from converse_harness.json_values import objects_of
from converse_harness.reply.body import MessageBody
from converse_harness.stream.events import LONGEST_PADDING, SHORTEST_PADDING

_UUID_VARIANTS: Final = "89ab" * 4
"""The digits that mark the variant of a UUID (RFC 9562). The index is a hexadecimal digit of a hash, from 0 to 15."""


def digest(seed: int, place: str, what: str, size: int) -> bytes:
    """Return a hash of `seed`, `place` and `what` with a length of `size` bytes."""
    return shake_256(f"{seed}|{place}|{what}".encode()).digest(size)


_PAD_LENGTHS: Final = bytes(SHORTEST_PADDING + byte % (LONGEST_PADDING - SHORTEST_PADDING + 1) for byte in range(256))
"""A table for `bytes.translate`: it maps each byte of a hash to a padding length from 2 to 61, as in recordings."""


def paddings(seed: int, place: str, count: int, what: str = "padding") -> bytes:
    """Return at least `count` padding lengths. A result for a larger `count` begins with those for a smaller one."""
    return digest(seed, place, what, 4 * count + 64).translate(_PAD_LENGTHS)


class Occasion(NamedTuple):
    """One use of a reply: the seed of the Endpoint, the name of the reply's Slot (`place`), and the answered call.

    `counts` are the methods `usage` of the stages, which count the tokens of the answer.
    """

    seed: int
    place: str
    call: Call
    counts: Sequence[Count] = ()

    @property
    def family(self) -> Family:
        """The family of the call's model, which determines how the answer is cut into chunks."""
        return family_of(self.call.stands_for)

    @property
    def request_id(self) -> str:
        """A UUID for x-amzn-RequestId, different for every request body and attempt."""
        body = shake_256(self.call.raw).hexdigest(16)
        name = digest(self.seed, self.place, f"request|{body}|{self.call.attempt}", 16).hex()
        return f"{name[:8]}-{name[8:12]}-4{name[13:16]}-{_UUID_VARIANTS[int(name[16], 16)]}{name[17:20]}-{name[20:]}"

    def tool_members(self, body: object) -> ToolUseMembers:
        """The members that the tool uses of a reply's `body` get if the reply does not set them."""
        given = not isinstance(body, MessageBody) or body.as_given
        config: Mapping[str, Any] = self.call.body.get("toolConfig") or {}
        type_ = None if given else tool_use_type(self.call.stands_for, self.call.operation, config)
        form = tool_id_form(self.call.stands_for)
        before, blocks = 0, tuple[int, ...]()
        if form == "functions." and isinstance(body, MessageBody):
            messages = objects_of(self.call.body.get("messages"))
            before = sum("toolUse" in each for message in messages for each in objects_of(message.get("content")))
            blocks = tuple(index for index, block in enumerate(body.content) if "toolUse" in block)
        return ToolUseMembers(self.seed, self.place, self.call.turn, type_, form, before, blocks)


class ToolUseMembers(NamedTuple):
    """The members of a tool use that a reply may leave out: its toolUseId, and the `type` that the model sends.

    Each id is a hash of `seed`, `place`, `turn` and the index of a content block. So each turn of a conversation has
    different ids. Without the turn, one reply of `always` would give an id twice in a conversation, which Bedrock
    refuses. An id of the form `functions.` has no hash: it counts the tool uses of the conversation, from the number
    `before` on. `blocks` are the indexes of the tool uses in the answer.
    """

    seed: int
    place: str
    turn: int
    type: Literal["tool_use"] | None = None
    form: ToolIdForm = "tooluse_"
    before: int = 0
    blocks: tuple[int, ...] = ()

    def id(self, block: int, tool: str) -> str:
        """Return the toolUseId for the block at this index, a use of `tool`; it has the form of recorded ids."""
        if self.form == "functions.":
            number = self.before + (self.blocks.index(block) if block in self.blocks else block)
            return f"functions.{tool}:{number}"
        name = digest(self.seed, self.place, f"toolUse|{self.turn}|{block}", 17)
        return self.form + (name[:16].hex() if self.form == "call_" else urlsafe_b64encode(name)[:22].decode())


def whole_start(event: dict[str, Any], members: ToolUseMembers) -> dict[str, Any]:
    """Return a contentBlockStart event in which a tool use has the members that it lacks."""
    index, start = event["contentBlockStart"]["contentBlockIndex"], event["contentBlockStart"]["start"]
    whole = whole_block(start, index, members)
    return event if whole is start else {"contentBlockStart": {"contentBlockIndex": index, "start": whole}}


def whole_block(block: Mapping[str, Any], index: int, members: ToolUseMembers) -> Mapping[str, Any]:
    """Return a content block in which a tool use has an id, and the type that the model sends.

    `block` may also be the `start` of a content block.
    """
    tool = block.get("toolUse")
    if tool is None:
        return block
    added = {"toolUseId": members.id(index, str(tool.get("name")))} if tool.get("toolUseId") == UNNAMED_TOOL_USE else {}
    if members.type is not None and "type" not in tool:
        added["type"] = members.type
    return {"toolUse": {**tool, **added}} if added else block
