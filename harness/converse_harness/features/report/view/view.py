"""The data that a page shows about one call, as plain JSON values: `CallView`."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from converse_harness.json_values import columns, is_array, is_object, json_text, member_of, object_of, objects_of
from converse_harness.secrets.mask import MASK, mask, mask_encoded
from converse_harness.secrets.process import own_secrets

_LONG: Final = 120
"""If the base64 of a blob is longer than this number of characters, its size and its hash are shown instead."""

_BLOBS: Final = frozenset({"bytes", "redactedContent"})
"""The members of Bedrock's JSON whose text is base64."""

_DEEPEST: Final = 100
"""The maximum number of nested levels of a value that are shown."""


class RefusedBy(NamedTuple):
    """The rule that refused a request: its name, the words of the refusal, and the source of the rule."""

    rule: str
    words: str
    source: str


@dataclass(frozen=True)
class CallView:
    """The data that a page shows about one call. All values are plain JSON, in which secrets are masked already.

    Times are in milliseconds. `started` is the time from the first call on the page to this one. `took` is the time
    until the client received the last byte. `waited` is the time that the client waited, or would have waited, before
    its next attempt. `request` is the JSON of the body, `headers` are pairs of name and value. `status` is 0 if no HTTP
    answer was sent. `outline` is the answer in one line. `events` are pairs of the time since the request and the
    event. `answer` is the JSON of the whole answer, None if there is no answer. `line` is the line of the test that
    scripted the reply, such as `test_x.py:12`. `error` is the error that was raised instead of an answer. A text that
    is not known is empty.
    """

    number: int
    operation: str = ""
    model_id: str = ""
    started: float = 0.0
    took: float = 0.0
    waited: float = 0.0
    request: Any = None
    headers: Sequence[tuple[str, str]] = ()
    status: int = 0
    outline: str = ""
    outcome: str = ""
    events: Sequence[tuple[float, Any]] = ()
    answer: Any = None
    faults: Sequence[str] = ()
    refusal: RefusedBy | None = None
    notes: Sequence[str] = ()
    line: str = ""
    uses: tuple[str, ...] = ()
    """The paths of the members of the request that the answer uses."""
    error: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether the call was answered without an error, and the answer was not broken off (outcome "cut")."""
        failed = any(name.endswith("Exception") for _, event in self.events for name in object_of(event))
        return 0 < self.status < 400 and self.outcome != "cut" and not (failed or self.error or self.refusal)

    @cached_property
    def conversation(self) -> Mapping[str, Any]:
        """The JSON object that has the messages: the body itself or, for CountTokens, the request inside of it."""
        inside = member_of(self.request, "input", "converse") if self.operation == "CountTokens" else None
        return inside if is_object(inside) else object_of(self.request)

    @cached_property
    def messages(self) -> list[Any]:
        """The messages of the request; empty if there are none."""
        messages = self.conversation.get("messages")
        return messages if is_array(messages) else []

    @cached_property
    def message_keys(self) -> list[str]:
        """The SHA-256 of each message of the request, by which messages of different calls are compared."""
        return [sha256(json_text(each, indent=None).encode("utf-8", "replace")).hexdigest() for each in self.messages]

    @cached_property
    def tool_uses(self) -> Mapping[str, str]:
        """The names of the tools that the answer uses, by the ids of these tool uses."""
        starts = [member_of(event, "contentBlockStart", "start", "toolUse") for _, event in self.events]
        blocks = objects_of(member_of(self.answer, "output", "message", "content"))
        uses = [object_of(each) for each in (*starts, *(block.get("toolUse") for block in blocks))]
        return {str(use["toolUseId"]): str(use.get("name", "")) for use in uses if "toolUseId" in use}


def plain(value: Any, name: str = "", depth: int = 0) -> Any:
    """Return a value as JSON that a page can show. Long blobs are replaced by their size and their SHA-256.

    >>> plain({"image": {"source": {"bytes": bytes(3000)}}, "at": (1, 2)})
    {'image': {'source': {'bytes': '3,000 bytes, SHA-256 c81ca5eda594...'}}, 'at': [1, 2]}
    """
    if depth > _DEEPEST:
        return "(nested too deeply to be shown)"
    if isinstance(value, bytes | bytearray):
        text = b64encode(value).decode()
        return text if len(text) <= _LONG else _size(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, Any]", value)
        return {str(key): plain(member, str(key), depth + 1) for key, member in members.items()}
    if isinstance(value, list | tuple):
        return [plain(item, "", depth + 1) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str) and name in _BLOBS and len(value) > _LONG:
        with suppress(ValueError):  # the text is not base64
            return _size(b64decode(value, validate=True))
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def mask_value(value: Any, name: str = "", own: Collection[str] | None = None) -> Any:
    """Return a JSON value with its secrets masked, including secrets in base64.

    `name` is the name of the member that has the value; it may show that the value is a secret. `own` are the secrets
    of this process, by default `own_secrets()`.

    >>> mask_value({"note": "QUtJQVE3RVhBTVBMRUtFWUFCQ0QgaXMgbXkga2V5", "n": [1]})
    {'note': '***', 'n': [1]}
    """
    own = own_secrets() if own is None else own
    if isinstance(value, str):
        before = f"{name}: " if name else ""
        made = mask_encoded(before + value, own)
        return made.removeprefix(before) if made.startswith(before) else mask_encoded(value, own)
    if is_object(value):
        return {mask_encoded(key, own): mask_value(each, key, own) for key, each in value.items()}
    if not is_array(value):
        return value
    items = [mask_value(each, name, own) for each in value]
    for texts in columns(items):  # a private key may be a list of its lines
        lines = "\n".join(text for *_, text in texts)
        for index, key, _ in texts if mask(lines, own) != lines else ():
            items[index] = items[index] | {key: MASK} if is_object(items[index]) else MASK
    return items


def _size(data: bytes | bytearray) -> str:
    return f"{len(data):,} bytes, SHA-256 {sha256(data).hexdigest()[:12]}..."
