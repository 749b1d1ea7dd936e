"""The rules that decide which exchange of a recording answers a request: the next, an equal, or a similar one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from converse_harness import bedrock
from converse_harness.endpoint.call import CONVERSATIONS, SCRIPTED, Call
from converse_harness.endpoint.condition import NAMED
from converse_harness.endpoint.operations import other_service
from converse_harness.errors import DamagedData
from converse_harness.json_values import (
    TOO_DEEP,
    canonical,
    is_array,
    is_object,
    mapped,
    member_of,
    object_of,
    objects_of,
)
from converse_harness.recordings.chance import APPLICATION, LINKS, TOKENS
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.format.lines import FORMS, request_members
from converse_harness.recordings.format.media import request_by_digest
from converse_harness.secrets.kinds import ACCOUNT_IN_ARN
from converse_harness.secrets.mask import MASK, STAND_IN, compiled
from converse_harness.secrets.process import own_secrets
from converse_harness.stream.http import MEMBER_HEADERS

if TYPE_CHECKING:
    from converse_harness.recordings.redaction import Redaction


def kind_of_block(block: Mapping[str, Any]) -> str:
    """Return the kind of a content block: the name of its only member. An invalid block may have several, or none."""
    return " + ".join(sorted(block)) if block else "nothing"


_Links = dict[str, int]
"""Maps each id in a request, as JSON text, to its number: ids are numbered from 1 in order of appearance."""


def _number(links: _Links, id: object) -> int:
    return links.setdefault(canonical(id), len(links) + 1)


def _messages_shape(conversation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the roles, kinds of blocks and names of used tools.

    Each toolUseId becomes its number, by first appearance.
    """
    links: _Links = {}
    return [
        {"role": each.get("role"), "content": [_block(block, links) for block in objects_of(each.get("content"))]}
        for each in objects_of(conversation.get("messages"))
    ]


def _block(block: Mapping[str, Any], links: _Links) -> Any:
    kind = kind_of_block(block)
    if kind == "toolUse":
        use = object_of(block[kind])
        typed = {"type": use["type"]} if use.get("type", "tool_use") != "tool_use" else {}
        return {kind: {"toolUseId": _number(links, use.get("toolUseId")), "name": use.get("name"), **typed}}
    if kind == "toolResult":
        result = object_of(block[kind])
        content = [kind_of_block(each) for each in objects_of(result.get("content"))]
        link, status = _number(links, result.get("toolUseId")), result.get("status", "success")
        return {kind: {"toolUseId": link, "status": status, "content": content}}
    return kind


def name_of_tool(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool in toolConfig. If the tool is not a toolSpec, its kind stands before the name."""
    kind = kind_of_block(tool)
    name = member_of(tool, kind, "name")
    return str(name) if kind == "toolSpec" else kind if name is None else f"{kind} {name}"


def _tool_choice_shape(conversation: Mapping[str, Any]) -> Any:
    """Return the kind of a request's toolChoice, and the tool that it names, if any; None without a toolChoice."""
    choice = object_of(member_of(conversation, "toolConfig", "toolChoice"))
    if "tool" in choice:
        return f"tool {member_of(choice, 'tool', 'name')}"
    return kind_of_block(choice) if choice else None


_COUNTED: Final = frozenset({"role", "type", "name", "source", "status"})
"""In a body that is not a Converse conversation, the texts of only these members are compared by the rule "shape"."""

_LEFT_OUT: Final = APPLICATION | {"description"}
"""In a body that is not a Converse conversation, the rule "shape" compares only whether these members are present, not
their values.
"""


def _free_shape(value: Any, name: str, links: _Links) -> Any:
    """Return what the rule "shape" compares in a body that is not a Converse conversation, as for InvokeModel.

    `value` is the body or a part of it. `name` is the key of this part; an item of a list has the key of the list.
    """
    if name in _LEFT_OUT:
        return "any"
    if name in LINKS:
        return _number(links, value)
    if is_object(value) or is_array(value):
        return mapped(value, lambda key, each: _free_shape(each, key or name, links))
    if isinstance(value, str):
        return value if name in _COUNTED else "text"
    return value if value is None or isinstance(value, bool) else "number"


Match = Literal["order", "exact", "shape"]

MATCHES: Final[tuple[Match, ...]] = get_args(Match)

MatchFunction = Callable[[dict[str, Any], dict[str, Any]], object]
"""A user's own rule: a function that returns whether a recorded exchange answers a call. Its two arguments are the
`MatchKey.members` of the recorded request and those of the call.
"""


def name_of(rule: Match | MatchFunction) -> str:
    """Return the name of a rule for error messages: a user's function by its name, and another rule in quotes."""
    return f"the function {getattr(rule, '__qualname__', rule)}" if callable(rule) else f'"{rule}"'


_BODIES: Final = tuple(f"request{form}" for form in FORMS)

_WITHIN_TEXT: Final = r"""(?:[^"\\]|\\.)*?"""
"""A pattern that matches any characters within one string of a JSON text."""

_STAND_IN: Final = re.compile(rf"(?<!\d){STAND_IN}\d{{6}}(?!\d)")
"""Matches a stand-in: an invented account id that is recorded in place of a real one."""


@dataclass(frozen=True, slots=True)
class MatchKey:
    """The parts of a request that the rules compare. The request is that of a call, or a recorded one.

    `labels` maps the names of members in the URL's path, such as `modelId`, to their decoded values. `request` is the
    JSON value of the body, or its text if it is not JSON.
    """

    operation: str
    labels: Mapping[str, str]
    query: str
    headers: Mapping[str, str]
    request: Any

    @property
    def conversation(self) -> Mapping[str, Any]:
        """The object in `request` that contains the messages; empty if the operation has no messages."""
        request: Any = self.request if self.operation in CONVERSATIONS else {}
        return object_of(member_of(request, *self.steps))

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys that lead from `request` to `conversation`; none if they are the same object."""
        return ("input", "converse") if self.operation == "CountTokens" else ()

    @property
    def members(self) -> dict[str, Any]:
        """The operation, and the request's members by the names that they have in an AWS client's call.

        If the body is not a JSON object, it is the member `body`.
        """
        body = self.request if is_object(self.request) else {} if self.request is None else {"body": self.request}
        return {"operation": self.operation, **self.labels, **body}

    @property
    def by_digest(self) -> MatchKey:
        """A copy of this match key with digests in place of the bytes of files in the request."""
        return replace(self, request=request_by_digest(self.request, self.operation))

    def with_conversation(self, conversation: Mapping[str, Any]) -> MatchKey:
        """Return a copy of this match key with `conversation` in place of its own."""
        request: Any = conversation
        for step in reversed(self.steps):
            request = {step: request}
        return replace(self, request={**object_of(self.request), **request} if self.steps else request)


def asked_by(call: Call) -> MatchKey:
    """Return the match key of a call that the endpoint received."""
    request = call.request
    path, _, query = request.target.partition("?")
    return _without_auto(
        call.operation or f"{request.method} {path}",
        {**other_service(call.service), **call.path_params},
        _without_tokens(query),
        {name.lower(): value for name, value in call.headers.items() if name.startswith(MEMBER_HEADERS)},
        call.body or _as_read(call.operation, request_members(call.raw) if call.raw else {}),
    )


def asked_in(exchange: RecordedExchange) -> MatchKey:
    """Return the match key of the request in a recorded exchange."""
    line = exchange.call
    return _without_auto(
        exchange.operation,
        exchange.labels,
        _without_tokens(str(line.get("query", ""))),
        {name.lower(): value for name, value in line.get("headers", {}).items()},
        _as_read(exchange.operation, line),
    )


def _without_tokens(query: str) -> str:
    """Return a query without the tokens that no two calls share.

    >>> _without_tokens("clientToken=4bbf8cb9-dd56-4024-977b&maxResults=5")
    'maxResults=5'
    """
    return "&".join(each for each in query.split("&") if each.partition("=")[0] not in TOKENS)


def _without_auto(*parts: Any) -> MatchKey:
    """Make a match key from its fields. A toolChoice of `auto` is left out: it has the same effect as no toolChoice."""
    asked = MatchKey(*parts)
    config = object_of(asked.conversation.get("toolConfig"))
    if config.get("toolChoice") != {"auto": {}}:
        return asked
    without = {name: value for name, value in config.items() if name != "toolChoice"}
    return asked.with_conversation({**asked.conversation, "toolConfig": without})


def as_recorded(asked: MatchKey, redaction: Redaction | None = None, own: Collection[str] | None = None) -> MatchKey:
    """Return a copy of a match key with the replacements that are made in recordings.

    They are the user's replacements in `redaction`, `***` for secrets, and invented account ids for real ones. `own`
    contains the secrets of this process; the default is `own_secrets()`.
    """
    # Imported here, because it is slow to import and few requests need it.
    from converse_harness.recordings.redaction import Redaction, for_comparison

    asks = {"labels": asked.labels, "query": asked.query, "headers": asked.headers, "request": asked.request}
    try:
        return replace(asked, **for_comparison(asks, redaction or Redaction(), own_secrets() if own is None else own))
    except RecursionError:
        return asked


def _as_read(operation: str | None, line: Mapping[str, Any]) -> Any:
    """Return the body on the line of a call, without the members that are null: the endpoint drops these, too."""
    body = next((line[name] for name in _BODIES if name in line), None)
    if operation in (*SCRIPTED, *NAMED) and operation in bedrock.operations():
        with suppress(DamagedData):
            return bedrock.read_json(bedrock.operation(operation).input_shape.name, body, recorded=True)
    return body


def _without_accounts(text: str, like: str | None = None) -> str:
    """Replace account ids in a text by `account 1`, `account 2` and so on, in order of appearance.

    An account id that occurs in an ARN is replaced everywhere in the text. If `like` is given, the order of appearance
    in `like` decides.

    >>> _without_accounts("arn:aws:bedrock:us-east-1:123456789012:prompt/X is of 123456789012")
    'arn:aws:bedrock:us-east-1:account 1:prompt/X is of account 1'
    """
    if "arn" not in text:
        return text
    found = compiled(ACCOUNT_IN_ARN).finditer(like or text)
    accounts = dict.fromkeys(each[0].removeprefix(each["kept"]) for each in found)
    for number, account in enumerate(accounts, 1):
        # A digit before the account id may be the end of an escape such as \u0000.
        text = re.sub(rf"(?:(?<!\d)|(?<=\\u00[01]\d)){account}(?!\d)", f"account {number}", text)
    return text


def with_accounts_equal(value: object) -> Any:
    """Return a JSON value with account ids replaced by `account 1` and so on, in order of appearance.

    So values that differ only in their account ids become equal. Raises RecursionError for a value that is nested too
    deeply.
    """
    return json.loads(_without_accounts(json.dumps(value, ensure_ascii=False), canonical(value)))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a match key: its description, a function that returns it, and the rules that compare it."""

    what: str
    of: Callable[[MatchKey], Any]
    rules: tuple[Match, ...]


PARTS: Final[Mapping[str, Part]] = {
    "operation": Part("the operation", lambda asked: asked.operation, ("order", "exact", "shape")),
    "path": Part("the model id, or the other names in the path", lambda asked: dict(asked.labels), MATCHES),
    "query": Part("the query", lambda asked: asked.query, ("exact", "shape")),
    "headers": Part(
        "the headers with members, such as x-amzn-bedrock-*", lambda asked: dict(asked.headers), ("exact",)
    ),
    "request": Part("the whole request", lambda asked: asked.request, ("exact",)),
    "messages": Part(
        "roles, kinds of blocks in their order, names of the tools used, which toolResult belongs to which toolUse, "
        "whether it is an error, and the kinds of its content",
        lambda asked: _messages_shape(asked.conversation),
        ("shape",),
    ),
    "system": Part(
        "the kinds of system blocks",
        lambda asked: sorted({kind_of_block(block) for block in objects_of(asked.conversation.get("system"))}),
        ("shape",),
    ),
    "toolConfig.tools": Part(
        "the names of the tools offered, in any order",
        lambda asked: sorted(map(name_of_tool, objects_of(member_of(asked.conversation, "toolConfig", "tools")))),
        ("shape",),
    ),
    "toolConfig.toolChoice": Part(
        "the kind of toolChoice, and the tool that it names; without a toolChoice the kind is `auto`",
        lambda asked: _tool_choice_shape(asked.conversation),
        ("shape",),
    ),
    "guardrailConfig": Part(
        "whether there is a guardrail", lambda asked: "guardrailConfig" in asked.conversation, ("shape",)
    ),
    "promptVariables": Part(
        "the names of prompt variables",
        lambda asked: sorted(object_of(asked.conversation.get("promptVariables"))),
        ("shape",),
    ),
    "body": Part(
        "of a body that is not a conversation: its keys, roles, types and names, and which ids are equal",
        lambda asked: (
            None if asked.operation in CONVERSATIONS and asked.conversation else _free_shape(asked.request, "", {})
        ),
        ("shape",),
    ),
}
"""The parts of a request, each with the rules that compare it. A part that a rule does not compare may differ. For the
rule "shape", these are all texts, the inputs and schemas of tools, media, and the inference settings.
"""


def parts(rule: Match, asked: MatchKey) -> dict[str, Any]:
    """Return the values that a rule compares, by the names of the parts in PARTS."""
    return {name: part.of(asked) for name, part in PARTS.items() if rule in part.rules}


def key(rule: Match, asked: MatchKey) -> str:
    """Return a text that is equal for two requests if, and only if, they match according to this rule."""
    try:
        return _without_accounts(canonical(parts(rule, asked)))
    except RecursionError:
        return TOO_DEEP


def masks(recorded: str, asked: str, *, secrets: bool = False) -> bool:
    """Whether two results of `key` are equal, if stand-ins (invented account ids) in `recorded` match any account ids.

    Equal stand-ins must match equal account ids, and different stand-ins different account ids. Such stand-ins remain
    in a result of `key` if the request itself has no ARN with the account id. If `secrets` is true, `***` in `recorded`
    matches any text, because a text that was masked during recording need not be a secret during replay.

    >>> masks('"my key is ***"', '"my key is only a test"', secrets=True)
    True
    >>> masks("it is 111122000001, not 111122000002", "it is 210987654321, not 310987654322")
    True
    >>> masks("it is 111122000001, not 111122000002", "it is 210987654321, not 210987654321")
    False
    """
    stand_ins = dict.fromkeys(_STAND_IN.findall(recorded))
    pattern = re.escape(recorded)
    if secrets:
        pattern = pattern.replace(re.escape(MASK), _WITHIN_TEXT)
    for number, stand_in in enumerate(stand_ins, 1):
        before, *others = re.split(rf"(?<!\d){stand_in}(?!\d)", pattern)
        pattern = before + r"(\d{12})" + rf"(?:\{number})".join(others)
    found = re.fullmatch(pattern, asked) if stand_ins or secrets else None
    return found is not None and len({*found.groups()}) == len(stand_ins)
