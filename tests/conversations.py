"""Random conversations of agents, as the requests that real clients send: `draw` returns them as plain data.

Each conversation grows turn by turn. Each request contains the messages of the one before, the scripted answer, and the
user's next message, and has cachePoints where clients put them. About half of the requests are damaged, see
`tests.conversation_damage`. The bytes of all requests come from the scripted replies, and not from a fake's answers.
"""

from __future__ import annotations

import base64
import json
import re
from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from converse_harness import Reply, faults, reply
from converse_harness.bedrock.rules import RuleRequest, refusal_of
from tests.conversation_damage import DAMAGES, NEARLY_EQUAL, NEVER_KEPT, WORDS, Body, sentence, spelled

DAMAGED: Final = 0.48
"""The part of the requests that are damaged."""

_IN_GROUP: Final = 40

ALIAS: Final = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghijkl"

MODELS: Final = (
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    "anthropic.claude-3-haiku-20240307-v1:0",
    "us.amazon.nova-lite-v1:0",
    "us.amazon.nova-2-lite-v1:0",
    "us.meta.llama3-1-70b-instruct-v1:0",
    "cohere.command-r-plus-v1:0",
    "mistral.mistral-large-2402-v1:0",
    ALIAS,
)
_WEIGHTS: Final = (5, 4, 2, 4, 2, 4, 1, 2, 1, 2, 2)

_ERRORS: Final = (
    "throttled()",
    "model_error()",
    "context_overflow()",
    "internal_server_error()",
    "validation_error('no')",
)
_BREAKS: Final = (
    ".fails_after(2, 'modelStreamErrorException')",
    ".fails_after(0, 'throttlingException')",
    ".error_frame_after(2)",
    ".broken(faults.reset)",
    ".broken(faults.closed)",
    ".broken(faults.cut_off)",
    ".broken(faults.no_metadata)",
    ".broken(faults.truncated_frame)",
    ".broken(faults.bad_crc)",
    ".broken(faults.one_chunk)",
)

_ASKING: Final = ("Converse", "ConverseStream")

_PATHS: Final = {
    "Converse": "converse",
    "ConverseStream": "converse-stream",
    "CountTokens": "count-tokens",
    "InvokeModel": "invoke",
}

_PNG: Final = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0").decode()


class Asked(NamedTuple):
    """One request.

    `group` numbers the fakes; `settings` are those of this fake. `damage` names what is wrong with the request, "" for
    nothing. `body` is UTF-8 with surrogateescape. `answer` is the reply as code, "" for none; `way` is the method that
    scripts it. `looks` is whether the call is read right after it; `spoils` whether its reader then changes what it
    got. The fake's clock advances by `later` seconds before. A client of a stream leaves after `takes` chunks, or
    `holds` the answer after its first chunk until the next request was answered.
    """

    group: int
    settings: dict[str, Any]
    conversation: int
    damage: str
    operation: str
    model: str
    attempt: int
    body: str
    answer: str
    way: str
    looks: bool
    spoils: bool
    later: int
    takes: int | None
    holds: bool

    @property
    def path(self) -> str:
        """The path of the request's URL."""
        return f"/model/{quote(self.model, safe='')}/{_PATHS[self.operation]}"

    @property
    def data(self) -> bytes:
        """The bytes of the request's body."""
        return self.body.encode("utf-8", "surrogateescape")

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The header with the number of the attempt."""
        return (("amz-sdk-request", f"attempt={self.attempt}; max=5"),)

    @property
    def reply(self) -> Reply | None:
        """The scripted reply; None if there is none."""
        return eval(self.answer, {"reply": reply, "faults": faults}) if self.answer else None


class _Talk:
    """One agent's conversation."""

    def __init__(self, random: Random, number: int) -> None:
        self.random, self.number = random, number
        (self.model,) = random.choices(MODELS, _WEIGHTS)
        known = random.choice(("claude", "nova")) if self.model == ALIAS else self.model
        self.claude, self.nova = "claude" in known, "nova" in known
        self.caches = (self.claude and "claude-3-haiku" not in known) or self.nova
        self.shows = self.claude or self.nova
        self.speaks = "llama" not in known and "mistral" not in known
        """Whether an answer may have a text beside tool uses."""
        self.stream = random.random() < 0.5 and (self.claude or self.nova or "cohere" in known)
        self.thinks = random.random() < 0.4 and ("claude" in known and "claude-3-haiku" not in known)
        self.tools = [_tool(each, random) for each in range(random.choice((0, 1, 3, 3, 20)))]
        self.points = random.choice(("", "moving", "moving", "two", "static")) if self.caches else ""
        if self.nova and self.tools and self.points:
            self.points = "static"  # Nova takes no cachePoint beside tool results
        length = random.choice((0, 1, 3, 60 if self.points else 2))
        self.rest: Body = {}
        if length:
            self.rest["system"] = [{"text": " ".join(WORDS[each % 8] for each in range(length)) + " You are an agent."}]
        if random.random() < 0.6 or self.thinks:
            warm: dict[str, Any] = {"maxTokens": random.choice((1, 500)), "temperature": random.choice((0, 0.5, 1))}
            self.rest["inferenceConfig"] = {"maxTokens": 4000} if self.thinks else warm
        if self.thinks:
            self.rest["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
        elif self.claude and random.random() < 0.2:
            self.rest["additionalModelRequestFields"] = {"top_k": 1}
        if random.random() < 0.15:
            self.rest["guardrailConfig"] = {"guardrailIdentifier": "abcdefghij12", "guardrailVersion": "1"}
        if self.tools and random.random() < 0.2:
            self.rest["toolChoice"] = {"auto": {}}
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": self.said()}]
        self.turn = 0
        self.attempt = 1

    def said(self) -> list[dict[str, Any]]:
        """Return what a person says."""
        random = self.random
        content: list[dict[str, Any]] = [{"text": sentence(random)}]
        if self.shows and random.random() < 0.15:
            content.append({"image": {"format": "png", "source": {"bytes": _PNG}}})
        if self.shows and random.random() < 0.1:
            source = {"bytes": base64.b64encode(sentence(random).encode()).decode()}
            content.append({"document": {"format": "txt", "name": f"report {random.randrange(100)}", "source": source}})
        return content

    def request(self) -> Body:
        """Return the request's body, with cachePoints."""
        body: Body = deepcopy({"messages": self.messages, **self.rest})
        choice = body.pop("toolChoice", None)
        if self.tools:
            body["toolConfig"] = {"tools": deepcopy(self.tools), **({} if choice is None else {"toolChoice": choice})}
        point = {"cachePoint": {"type": "default"}}
        if self.points:
            if self.tools and self.claude:
                body["toolConfig"]["tools"].append(dict(point))
            if "system" in body:
                body["system"].append(dict(point))
            if self.points != "static":
                users = [each for each in body["messages"] if each["role"] == "user" and each["content"]]
                for each in users[-1:] if self.points == "moving" else users[-2:]:
                    if not each["content"][-1].keys() & {"image", "document"}:
                        each["content"].append(dict(point))
        return body

    def answer(self) -> list[dict[str, Any]]:
        """Return the blocks of the next answer, as a request repeats them."""
        random, content = self.random, list[dict[str, Any]]()
        if self.thinks and random.random() < 0.8:
            thought: dict[str, Any] = {"text": f"Thought {self.number}.{self.turn}: {sentence(random)}"}
            thought["signature"] = base64.b64encode(f"signed {self.number} {random.random()}".encode()).decode()
            content.append({"reasoningContent": {"reasoningText": thought}})
        names = [each["toolSpec"]["name"] for each in self.tools]
        names = [each for each in names if re.fullmatch("[a-zA-Z0-9_-]{1,64}", each)]  # others no reply may have
        uses = random.choice((0, 1, 1, 1, 2, 3)) if names else 0
        if not uses or (self.speaks and random.random() < 0.6):
            content.append({"text": sentence(random)})
        for each in range(uses):
            given = {
                "city": random.choice(("Bern", "Zürich")),
                "days": random.choice((0, 1, 3)),
                "deep": [{"on": True}, 1],
            }
            use_id = f"tooluse_{self.number:04}{self.turn:04}{each:02}{random.randrange(10**12):012}"
            content.append({"toolUse": {"toolUseId": use_id, "name": random.choice(names), "input": given}})
        return content

    def goes_on(self, answer: list[dict[str, Any]]) -> None:
        """Append the answer and the next message of the user."""
        self.turn += 1
        self.attempt = 1
        content = [{"toolResult": self.result(each["toolUse"])} for each in answer if "toolUse" in each]
        self.messages.append({"role": "assistant", "content": deepcopy(answer)})
        self.messages.append({"role": "user", "content": content or self.said()})

    def result(self, use: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a tool."""
        random = self.random
        content: list[dict[str, Any]] = [{"text": sentence(random)}]
        if random.random() < 0.4:
            content = [{"json": {"n": random.choice((0, 1)), "ok": True, "list": [1, 0, 2.5], "city": "Zürich"}}]
        if self.claude and random.random() < 0.1:
            content.append({"image": {"format": "png", "source": {"bytes": _PNG}}})
        status = {"status": random.choice(("success", "success", "error"))} if self.claude or self.nova else {}
        return {"toolUseId": use["toolUseId"], "content": content, **(status if random.random() < 0.6 else {})}

    def adopts(self, body: Body) -> None:
        """Go on with a damaged body."""
        without = [
            {**each, "content": [block for block in each["content"] if "cachePoint" not in block]}
            for each in body["messages"]
        ]
        self.messages = [each for each in without if each["content"]] or self.messages
        config = body.get("toolConfig", {})
        self.tools = [each for each in config.get("tools", ()) if "cachePoint" not in each]
        self.rest = {name: each for name, each in body.items() if name not in ("messages", "toolConfig")}
        if "system" in self.rest:
            self.rest["system"] = [each for each in self.rest["system"] if "cachePoint" not in each]
        if "toolChoice" in config:
            self.rest["toolChoice"] = config["toolChoice"]


def _tool(number: int, random: Random) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": random.choice((0, 1))},
            "deep": {"type": "array", "uniqueItems": False, "items": {"type": "object", "additionalProperties": True}},
        },
        "required": ["city"],
    }
    spec = {"name": f"tool_{number}", "description": sentence(random), "inputSchema": {"json": schema}}
    return {"toolSpec": spec}


def draw(random: Random, count: int, in_group: int = _IN_GROUP) -> list[Asked]:
    """Return `count` requests, in groups; each group is for a fake of its own."""
    rows: list[Asked] = []
    for group in range(-(-count // in_group)):
        rows += _group(random, group, min(in_group, count - len(rows)))
    return rows


def _group(random: Random, group: int, count: int) -> list[Asked]:
    settings = {
        "rules": random.choice(("default", "default", "default", "strict", "warn", "off")),
        "history": random.choice(("note", "note", "fail", "off")),
        "cache_minimum": random.choice((0, 0, None)),
        "keep_calls": random.choice((None, None, 5)),
        "models": random.choice((None, {ALIAS: MODELS[0]}, {"arn:*": MODELS[5], "cohere.*": MODELS[7]})),
        "unused": random.choice(("fail", "allow")),
    }
    spoils = random.random() < 0.2
    talks = [_Talk(random, 10 * group + each) for each in range(random.choice((1, 2, 3, 4)))]
    rows: list[Asked] = []
    same: _Talk | None = None
    while len(rows) < count:
        talk = same or random.choice(talks)
        row, same = _asked(random, _Place(group, settings, spoils, rows), talk, plain=same is not None)
        rows.append(row)
        if talk.turn > 14 or (not row.damage and random.random() < 0.01):
            talks[talks.index(talk)] = _Talk(random, 10 * group + len(rows) + 4)
            same = None
    return rows


class _Place(NamedTuple):
    """What requests of one group share, and the requests before."""

    group: int
    settings: dict[str, Any]
    spoils: bool
    before: list[Asked]


def _asked(random: Random, place: _Place, talk: _Talk, *, plain: bool) -> tuple[Asked, _Talk | None]:
    """Return the next request of a conversation, and the conversation if the same request must come again."""
    content = talk.answer()
    code, arrives = _code(random, content)
    body, model, damage = talk.request(), talk.model, ""
    text: bytes | None = None
    if not plain and random.random() < DAMAGED:
        chance, before = random.random(), [each for each in place.before if each.operation in _ASKING and each.body]
        if chance < 0.05 and before:
            again = random.choice(before[-6:])
            damage, text, model = "same_bytes", again.data, again.model
        elif chance < 0.12 and before:
            again = random.choice(before[-2:])
            near = twin(random, again)
            damage, text, model = near.damage, near.data, near.model
        elif chance < 0.15:
            damage, model = "model_changed", random.choice((*MODELS, "no.such-model-v1:0"))
        else:
            damage, text = _damaged(random, body)
    fate = random.choice(("once", "again", "kept")) if damage else "once"
    if fate == "kept" and (text is not None or damage in NEVER_KEPT):
        fate = "again"
    if fate == "kept" and random.random() < 0.9 and refusal_of(RuleRequest("Converse", model, body)) is not None:
        fate = "again"  # a client corrects most of what Bedrock refuses
    if fate == "kept":
        talk.model = model
        talk.adopts(deepcopy(body))
    operation = "ConverseStream" if talk.stream else "Converse"
    chance = random.random()
    if text is None and chance < 0.06:
        operation = "InvokeModel" if chance > 0.05 else "CountTokens" if talk.claude or chance < 0.01 else operation
        fate = fate if operation in _ASKING else "again"
    if operation == "CountTokens":
        counted = {name: body[name] for name in ("messages", "system", "toolConfig") if name in body}
        body = {"input": {"converse": counted}}
    row = Asked(
        place.group,
        place.settings,
        talk.number,
        damage,
        operation,
        model,
        talk.attempt,
        (spelled(body) if text is None else text).decode("utf-8", "surrogateescape"),
        "" if random.random() < 0.03 or operation not in _ASKING else code,
        random.choice(("script", "script", "always")),
        random.random() < 0.6,
        place.spoils,
        random.choice((30, 200, 400)) if random.random() < 0.05 else 0,
        random.randrange(1, 4) if talk.stream and random.random() < 0.05 else None,
        talk.stream and random.random() < 0.1,
    )
    if fate != "again" and arrives:
        talk.goes_on(content)
    elif fate != "again":
        talk.attempt += 1
    return row, talk if damage in NEARLY_EQUAL and fate == "again" and random.random() < 0.7 else None


def twin(random: Random, row: Asked) -> Asked:
    """Return a request that nearly equals another one, or the same one if its body has no place for a difference."""
    try:
        body = json.loads(row.body)
        name = random.choice(NEARLY_EQUAL)
        text = DAMAGES[name][1](random, body)
    except (ValueError, RecursionError, LookupError, AttributeError, TypeError):
        return row._replace(damage="same_bytes")
    text = spelled(body) if text is None else text
    return row._replace(damage=f"twin_{name}", body=text.decode("utf-8", "surrogateescape"))


def _damaged(random: Random, body: Body) -> tuple[str, bytes | None]:
    """Damage a body, and return the damage's name, and the bytes if there is no body any more."""
    weights = [weight for weight, _ in DAMAGES.values()]
    while True:
        (name,) = random.choices([*DAMAGES], weights)
        changed = deepcopy(body)
        try:
            text = DAMAGES[name][1](random, changed)
        except (LookupError, AttributeError, TypeError):
            continue  # there is no place for it in this body, or an earlier damage is in its way
        if text is not None or changed != body or repr(changed) != repr(body):
            body.clear()
            body.update(changed)
            return name, text


def _code(random: Random, content: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return a reply as code, and whether its whole content arrives."""
    chance = random.random()
    if chance < 0.06:
        return f"reply.{random.choice(_ERRORS)}", False
    uses = any("toolUse" in each for each in content)
    stop = "max_tokens" if 0.06 <= chance < 0.08 else "tool_use" if uses else "end_turn"
    usage = ", usage={'inputTokens': 7, 'outputTokens': 5}" if 0.08 <= chance < 0.12 else ""
    code = f"reply.message(*{content!r}, stop_reason={stop!r}{usage})"
    if 0.12 <= chance < 0.18:
        return code + random.choice(_BREAKS), random.random() < 0.3
    return code, True
