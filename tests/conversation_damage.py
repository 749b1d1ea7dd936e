"""What goes wrong in a request of a growing conversation: `DAMAGES`, each a function that changes a Converse body.

`tests.conversations` draws the requests. A damage returns None after it has changed the body, or the whole body as
bytes. It raises LookupError if this body has no place for it.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, cast

from converse_harness.json_values import is_array, is_object

Body = dict[str, Any]
Damage = Callable[[Random, Body], "bytes | None"]

_RAW: Final = re.compile(r'"@@([A-Za-z0-9+/=]*)@@"')

WORDS: Final = (
    "Zürich has 18 degrees and wind from the north.",
    "Let me look at the next city of the journey now.",
    "The café opens at 7 and closes at 19 o'clock.",
    "I looked at the three files; the second one is empty.",
    "No. 5 of the list comes first, then the others.",
    "The answer is forty-two, as far as I can tell.",
    "Please tell me more about the plan — and the price.",
    "One of the tools failed; I will try it once more.",
)


def sentence(random: Random) -> str:
    """Return some text, which may occur again."""
    return " ".join(random.choice(WORDS) for _ in range(random.choice((1, 1, 2, 3))))


def raw(text: str) -> str:
    """Return a stand-in for a value that `spelled` writes as this JSON text."""
    return f"@@{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}@@"


def spelled(body: object, **options: Any) -> bytes:
    """Return the JSON of a body. In place of a stand-in of `raw` stands its text."""
    text = json.dumps(body, **options)
    text = _RAW.sub(lambda found: base64.b64decode(found[1]).decode("utf-8", "surrogatepass"), text)
    return text.encode("utf-8", "surrogatepass")


# Places in a body


def early(random: Random, items: list[Any]) -> int:
    """Return an index, more often a low one. Raises IndexError for an empty list."""
    if not items:
        raise IndexError("nothing there")
    return min(random.randrange(len(items)), random.randrange(len(items)))


def blocks(body: Body, *kinds: str, role: str = "") -> list[tuple[list[Any], int]]:
    """Return the places of the content blocks of these kinds, or of all kinds, as (content, index)."""
    found: list[tuple[list[Any], int]] = []
    for message in body["messages"]:
        content: list[Any] = message["content"] if role in ("", message["role"]) else []
        found += [(content, at) for at, each in enumerate(content) if not kinds or any(kind in each for kind in kinds)]
    return found


def block(random: Random, body: Body, *kinds: str, role: str = "") -> tuple[list[Any], int]:
    """Return the place of one of these blocks, more often an early one. Raises IndexError if there is none."""
    places = blocks(body, *kinds, role=role)
    return places[early(random, places)]


def value(random: Random, body: Body, *kinds: str, role: str = "") -> dict[str, Any]:
    """Return the value of one of these blocks, which is an object."""
    content, at = block(random, body, *kinds, role=role)
    found: dict[str, Any] = content[at][next(kind for kind in kinds if kind in content[at])]
    return found


def message(random: Random, body: Body) -> dict[str, Any]:
    """Return one of the messages, more often an early one."""
    found: dict[str, Any] = body["messages"][early(random, body["messages"])]
    return found


def tool_specs(body: Body) -> list[dict[str, Any]]:
    """Return the ToolSpecifications. Raises KeyError if the body has no tools."""
    return [tool["toolSpec"] for tool in body["toolConfig"]["tools"] if "toolSpec" in tool]


def numbers(node: object) -> Iterator[tuple[Any, Any]]:
    """Yield the place of each number and bool in free-form JSON, as (object or list, key)."""
    for key, item in _items(node):
        if isinstance(item, bool | int | float):
            yield node, key
        yield from numbers(item)


def _items(node: Any) -> list[tuple[Any, Any]]:
    if is_object(node):
        return [*node.items()]
    return [*enumerate(node)] if is_array(node) else []


def _documents(random: Random, body: Body) -> list[Any]:
    """Return the free-form JSON of one kind: inputs of tools, or their results."""
    inputs = [content[at]["toolUse"]["input"] for content, at in blocks(body, "toolUse")]
    results = [content[at]["toolResult"]["content"] for content, at in blocks(body, "toolResult")]
    return random.choice((inputs, results))


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    for each in _inner(node):
        if isinstance(each, dict):
            yield cast("Body", each)


def _inner(node: Any) -> Iterator[Any]:
    """Yield a JSON value and all values in it."""
    yield node
    for _, item in _items(node):
        yield from _inner(item)


# Texts


def text_changed(random: Random, body: Body) -> None:
    content, at = block(random, body, "text")
    was = content[at]["text"]
    content[at]["text"] = random.choice(
        (
            was + " ",
            was + " Yes.",
            "So: " + was,
            was.replace(" ", "  ", 1),
            was.swapcase(),
            was[: len(was) // 2],
            was[: max(1, len(was) - 3)],
            sentence(random),
            was.replace("'", "\u2019").replace("—", "-"),
            unicodedata.normalize("NFD", was),
            was + "\n",
            was + "\n\nAnd more.",
        )
    )


def answer_changed(random: Random, body: Body) -> None:
    content, at = block(random, body, "text", role="assistant")
    was = content[at]["text"]
    cut = random.randrange(len(was)) if was else 0
    content[at]["text"] = random.choice((was[:cut], was[:cut] + "x" + was[cut:], was + sentence(random), was.upper()))


def text_split(random: Random, body: Body) -> None:
    content, at = block(random, body, "text")
    was = content[at]["text"]
    cut = random.randrange(1, max(2, len(was)))
    content[at : at + 1] = [{"text": was[:cut]}, {"text": was[cut:] or "x"}]


def texts_joined(random: Random, body: Body) -> None:
    content, at = block(random, body, "text")
    content[at : at + 2] = [{"text": content[at]["text"] + content[at + 1]["text"]}]


def text_blank(random: Random, body: Body) -> None:
    content, at = block(random, body, "text")
    content[at]["text"] = random.choice(("", " ", "\n", "\u200b", "\u00a0"))


def text_ends_blank(random: Random, body: Body) -> None:
    content, at = blocks(body, "text", role="assistant")[-1]
    content[at]["text"] += random.choice((" ", "\n", "\t"))


def text_surrogate(random: Random, body: Body) -> None:
    content, at = block(random, body, "text")
    content[at]["text"] = raw(
        '"' + random.choice(("\\ud800", "\\udc00 a", "\\ud83d\\ude00", "\\u0000", "\\u00e9")) + '"'
    )


# Blocks and messages


def block_removed(random: Random, body: Body) -> None:
    content, at = block(random, body)
    del content[at]


def block_added(random: Random, body: Body) -> None:
    content, at = block(random, body)
    content.insert(at + random.randrange(2), {"text": sentence(random)})


def block_repeated(random: Random, body: Body) -> None:
    content, at = block(random, body)
    content.insert(at, content[at])


def blocks_swapped(random: Random, body: Body) -> None:
    content, at = block(random, body)
    content[at], content[at + 1] = content[at + 1], content[at]


def block_moved(random: Random, body: Body) -> None:
    content, at = block(random, body)
    message(random, body)["content"].append(content.pop(at))


def message_repeated(random: Random, body: Body) -> None:
    at = early(random, body["messages"])
    body["messages"].insert(at, body["messages"][at])


def message_removed(random: Random, body: Body) -> None:
    del body["messages"][early(random, body["messages"])]


def turn_left_out(random: Random, body: Body) -> None:
    at = early(random, body["messages"][1:])
    del body["messages"][at : at + 2]


def messages_swapped(random: Random, body: Body) -> None:
    given = body["messages"]
    at = early(random, given[1:])
    given[at], given[at + 1] = given[at + 1], given[at]


def front_cut(random: Random, body: Body) -> None:
    del body["messages"][: random.choice((1, 2, 2, 3, 4))]


def messages_merged(random: Random, body: Body) -> None:
    at = early(random, body["messages"][2:])
    body["messages"][at]["content"] += body["messages"].pop(at + 2)["content"]


def history_in_short(random: Random, body: Body) -> None:
    body["messages"][:-1] = [{"role": "user", "content": [{"text": "What was before, in short: " + sentence(random)}]}]


def role_changed(random: Random, body: Body) -> None:
    message(random, body)["role"] = random.choice(("user", "assistant", "system", "User", "tool", ""))


def role_missing(random: Random, body: Body) -> None:
    del message(random, body)["role"]


def content_empty(random: Random, body: Body) -> None:
    message(random, body)["content"] = []


def content_missing(random: Random, body: Body) -> None:
    del message(random, body)["content"]


def messages_empty(random: Random, body: Body) -> None:
    if random.random() < 0.5:
        body["messages"] = []
    else:
        del body["messages"]


def ends_with_assistant(random: Random, body: Body) -> None:
    body["messages"].append({"role": "assistant", "content": [{"text": random.choice(("{", "Yes ", "I think"))}]})


def begins_with_assistant(random: Random, body: Body) -> None:
    body["messages"].insert(0, {"role": "assistant", "content": [{"text": sentence(random)}]})


# Tools


def tool_removed(random: Random, body: Body) -> None:
    del body["toolConfig"]["tools"][early(random, body["toolConfig"]["tools"])]


def tools_removed(random: Random, body: Body) -> None:
    del body["toolConfig"]


def tools_empty(random: Random, body: Body) -> None:
    body["toolConfig"]["tools"] = []


def tools_rotated(random: Random, body: Body) -> None:
    given = body["toolConfig"]["tools"]
    given.append(given.pop(0))


def tool_added(random: Random, body: Body) -> None:
    spec = {"name": f"extra_{random.randrange(3)}", "inputSchema": {"json": {"type": "object"}}}
    given = body.setdefault("toolConfig", {"tools": []})["tools"]
    given.insert(random.randrange(len(given) + 1), {"toolSpec": spec})


def tool_repeated(random: Random, body: Body) -> None:
    given = body["toolConfig"]["tools"]
    given.append(given[early(random, given)])


def tool_described(random: Random, body: Body) -> None:
    specs = tool_specs(body)
    specs[early(random, specs)]["description"] = random.choice((sentence(random), "", " ", "x" * 300))


def tool_renamed(random: Random, body: Body) -> None:
    specs = tool_specs(body)
    specs[early(random, specs)]["name"] = random.choice(("a b", "x" * 65, "", "get_weather2", "tool-ü", "1"))


def tool_cached(random: Random, body: Body) -> None:
    body["toolConfig"]["tools"].insert(random.randrange(2), {"cachePoint": {"type": "default"}})


def schema_changed(random: Random, body: Body) -> None:
    specs = tool_specs(body)
    schema = specs[early(random, specs)]["inputSchema"]["json"]
    change = random.randrange(5)
    if change == 0:
        schema["required"] = ["nothing"]
    elif change == 1:
        schema["type"] = random.choice(("array", "string", 1, None))
    elif change == 2:
        schema.setdefault("properties", {})["more ü"] = {"type": "string"}
    elif change == 3:
        schema.pop("type", None)
    else:
        schema["$defs"] = {"a": {"$ref": "#/$defs/a"}}


def choice_changed(random: Random, body: Body) -> None:
    names = [spec["name"] for spec in tool_specs(body)]
    choices: tuple[dict[str, Any], ...] = (
        {"auto": {}},
        {"any": {}},
        {"tool": {"name": random.choice(names)}},
        {"tool": {"name": "no_such"}},
        {},
    )
    body["toolConfig"]["toolChoice"] = random.choice(choices)


# Tool uses and results


def use_id_changed(random: Random, body: Body) -> None:
    use = value(random, body, "toolUse")
    use["toolUseId"] = random.choice((use["toolUseId"] + "x", "call_1", "a b", "", "tooluse_" + "y" * 60))


def use_ids_renamed(random: Random, body: Body) -> None:
    names: dict[str, str] = {}
    for content, at in blocks(body, "toolUse", "toolResult"):
        each = content[at].get("toolUse") or content[at]["toolResult"]
        each["toolUseId"] = names.setdefault(each["toolUseId"], f"call_{len(names)}")
    if not names:
        raise LookupError("no tool use")


def use_ids_equal(random: Random, body: Body) -> None:
    uses = [content[at]["toolUse"] for content, at in blocks(body, "toolUse")]
    uses[early(random, uses) + 1]["toolUseId"] = uses[0]["toolUseId"]


def use_name_changed(random: Random, body: Body) -> None:
    value(random, body, "toolUse")["name"] = random.choice(("other", "a b", "", "get_weather"))


def use_input_changed(random: Random, body: Body) -> None:
    use = value(random, body, "toolUse")
    use["input"] = random.choice(({}, {**use["input"], "more": 1}, {"city": "Bern"}, [], "text", None))


def result_missing(random: Random, body: Body) -> None:
    content, at = block(random, body, "toolResult")
    del content[at]


def result_repeated(random: Random, body: Body) -> None:
    content, at = block(random, body, "toolResult")
    content.append(content[at])


def result_id_changed(random: Random, body: Body) -> None:
    result = value(random, body, "toolResult")
    result["toolUseId"] = random.choice((result["toolUseId"][:-1], "call_1", ""))


def result_changed(random: Random, body: Body) -> None:
    result = value(random, body, "toolResult")
    result["content"] = random.choice(
        ([], [{"text": ""}], [{"text": sentence(random)}], [{"json": {"n": 1}}], [{"json": [1]}], [{}], [{"json": "x"}])
    )


def result_status(random: Random, body: Body) -> None:
    value(random, body, "toolResult")["status"] = random.choice(("error", "success", "done"))


# Reasoning, images, documents


def signature_changed(random: Random, body: Body) -> None:
    thought = value(random, body, "reasoningContent")["reasoningText"]
    thought["signature"] = random.choice(("other", thought.get("signature", "") + "A", ""))


def signature_removed(random: Random, body: Body) -> None:
    del value(random, body, "reasoningContent")["reasoningText"]["signature"]


def reasoning_changed(random: Random, body: Body) -> None:
    value(random, body, "reasoningContent")["reasoningText"]["text"] += random.choice((".", " Or not.", " "))


def reasoning_removed(random: Random, body: Body) -> None:
    content, at = block(random, body, "reasoningContent")
    del content[at]


def reasoning_redacted(random: Random, body: Body) -> None:
    content, at = block(random, body, "reasoningContent")
    content[at] = {"reasoningContent": {"redactedContent": "AAEC"}}


def reasoning_last(random: Random, body: Body) -> None:
    content, at = block(random, body, "reasoningContent")
    content.append(content.pop(at))


def image_changed(random: Random, body: Body) -> None:
    image = value(random, body, "image")
    change = random.choice(("jpeg", "bmp", "bytes", "empty"))
    if change in ("jpeg", "bmp"):
        image["format"] = change
    else:
        image["source"] = {"bytes": "" if change == "empty" else "AAEC"}


def image_added(random: Random, body: Body) -> None:
    image = {"image": {"format": "png", "source": {"bytes": random.choice(("iVBORw0KGgo=", "AAEC", "!", "iVBORw0"))}}}
    message(random, body)["content"].insert(0, image)


def document_added(random: Random, body: Body) -> None:
    name = random.choice(("report", "report", "a_b", "two  spaces", ""))
    document = {"document": {"format": "txt", "name": name, "source": {"bytes": "aGVsbG8="}}}
    message(random, body)["content"].append(document)


# Caching, system, settings


def point_added(random: Random, body: Body) -> None:
    content = message(random, body)["content"]
    content.insert(random.randrange(len(content) + 1), {"cachePoint": {"type": "default"}})


def point_removed(random: Random, body: Body) -> None:
    places = [each for each in (body.get("system"), body.get("toolConfig", {}).get("tools")) if each]
    places += [each["content"] for each in body["messages"]]
    found = [(place, at) for place in places for at, each in enumerate(place) if "cachePoint" in each]
    place, at = found[early(random, found)]
    del place[at]


def point_moved(random: Random, body: Body) -> None:
    point_removed(random, body)
    point_added(random, body)


def point_lasting(random: Random, body: Body) -> None:
    value(random, body, "cachePoint").update(
        random.choice(({"ttl": "1h"}, {"ttl": "5m"}, {"ttl": "2h"}, {"type": "x"}))
    )


def points_everywhere(random: Random, body: Body) -> None:
    for each in body["messages"]:
        each["content"].append({"cachePoint": {"type": "default"}})


def system_changed(random: Random, body: Body) -> None:
    was = body.get("system") or [{"text": ""}]
    body["system"] = random.choice(
        ([{"text": was[0].get("text", "") + " It is 12:03."}], [{"text": " "}], [], [*was, {"text": "Be short."}], [{}])
    )


def system_removed(random: Random, body: Body) -> None:
    del body["system"]


def inference_changed(random: Random, body: Body) -> None:
    config = body.setdefault("inferenceConfig", {})
    change: tuple[dict[str, Any], ...] = (
        {"maxTokens": 0},
        {"maxTokens": 1},
        {"maxTokens": raw("1.0")},
        {"maxTokens": True},
        {"maxTokens": 10_000_000},
        {"temperature": 1},
        {"temperature": raw("1.0")},
        {"temperature": True},
        {"temperature": 1.5},
        {"temperature": 0.5, "topP": 0.5},
        {"topP": 1},
        {"stopSequences": []},
        {"stopSequences": [" "]},
        {"stopSequences": ["a", "a", "b", "c", "d", "e"]},
    )
    config.update(random.choice(change))


def fields_changed(random: Random, body: Body) -> None:
    change: tuple[dict[str, Any], ...] = (
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        {"thinking": {"type": "enabled", "budget_tokens": 1000}},
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled", "budget_tokens": raw("2000.0")}},
        {"top_k": 1},
        {"top_k": raw("1.0")},
        {"top_k": True},
        {"top_p": 0.5},
        {},
    )
    body["additionalModelRequestFields"] = random.choice(change)


def fields_removed(random: Random, body: Body) -> None:
    del body["additionalModelRequestFields"]


def guardrail_changed(random: Random, body: Body) -> None:
    body["guardrailConfig"] = random.choice(
        (
            {"guardrailIdentifier": "abcdefghij12", "guardrailVersion": "1", "trace": "enabled"},
            {"guardrailIdentifier": "abcdefghij12", "guardrailVersion": "DRAFT"},
            {"guardrailIdentifier": "A B", "guardrailVersion": "1"},
            {"guardrailIdentifier": "abcdefghij12"},
        )
    )


def member_added(random: Random, body: Body) -> None:
    places = [body, message(random, body), *(content[at] for content, at in blocks(body)[:1])]
    name = random.choice(("somethingNew", "requestMetadata", "performanceConfig", "metadata"))
    random.choice(places)[name] = random.choice(({"a": "b"}, {"latency": "optimized"}, 1, None, "x"))


# The same JSON value, or nearly


def number_respelled(random: Random, body: Body) -> None:
    _respell(random, [*numbers(_documents(random, body))])


def schema_respelled(random: Random, body: Body) -> None:
    _respell(random, [*numbers([spec["inputSchema"]["json"] for spec in tool_specs(body)])])


def setting_respelled(random: Random, body: Body) -> None:
    _respell(random, [*numbers([body.get("inferenceConfig"), body.get("additionalModelRequestFields")])])


def _respell(random: Random, found: list[tuple[Any, Any]]) -> None:
    """Write one of these numbers in another way; 1 and 0 as bools too, which equal them in Python only."""
    if not found:
        raise LookupError("no number")
    node, key = random.choice(found)
    was = node[key]
    others = ["1", "1.0", "true", "1e0", "10e-1"] if was == 1 else ["0", "0.0", "-0.0", "false"]
    if was not in (0, 1):
        others = [f"{was}.0", f"{was}e0"] if isinstance(was, int) else [f"{was}0"]
    node[key] = raw(random.choice([each for each in others if each != json.dumps(was)]))


def number_strange(random: Random, body: Body) -> None:
    found = [*numbers(_documents(random, body))]
    node, key = found[early(random, found)]
    node[key] = raw(random.choice(("NaN", "Infinity", "-Infinity", "1e999", "9" * 30, "9" * 5000, "1E400", "01", "+1")))


def keys_reordered(random: Random, body: Body) -> None:
    found = [each for each in _objects(body["messages"]) if len(each) > 1]
    chosen = found[early(random, found)]
    items = [*chosen.items()][::-1]
    chosen.clear()
    chosen.update(items)


def all_keys_reordered(random: Random, body: Body) -> bytes:
    return spelled(body, sort_keys=True)


def spaced(random: Random, body: Body) -> bytes:
    if random.random() < 0.5:
        return spelled(body, indent=random.choice((1, 2)))
    return spelled(body, separators=(",", ":"))


def escaped(random: Random, body: Body) -> bytes:
    return spelled(body, ensure_ascii=False)


def key_repeated(random: Random, body: Body) -> bytes:
    found = [each for each in _objects(body["messages"]) if each]
    chosen = found[early(random, found)]
    name = random.choice([*chosen])
    text = spelled(chosen[name]).decode("utf-8", "surrogatepass")
    other = random.choice((text, '"x"', "null", "[]", '"user"', '{"a": 1}'))
    pair = [f'"{name}": {text}', f'"{name}": {other}'][:: random.choice((1, -1))]
    rest = [f"{json.dumps(key)}: {spelled(item).decode('utf-8', 'surrogatepass')}" for key, item in chosen.items()]
    whole = raw("{" + ", ".join([*pair, *rest[1:]]) + "}")
    for node in _inner(body):
        for key, item in _items(node):
            if item is chosen:
                node[key] = whole
                return spelled(body)
    raise LookupError("not found")


def nulls_added(random: Random, body: Body) -> None:
    found = [each for each in _objects(body["messages"]) if each]
    chosen = found[early(random, found)]
    chosen[random.choice(("status", "image", "guardContent", "cachePoint", next(iter(chosen))))] = None


# No Converse body


def malformed(random: Random, body: Body) -> bytes:
    text = spelled(body)
    return random.choice(
        (
            text[: random.randrange(len(text))],
            text[:-1] + b",}",
            text + b"x",
            b"",
            b"\xef\xbb\xbf" + text,
            text.replace(b" ", b"\xff", 1),
            text.replace(b'"', b"'"),
            b"[]",
            b"1",
            b"null",
            b'"text"',
            b"[" + text + b"]",
            text.decode().encode("utf-16"),
        )
    )


def wrong_type(random: Random, body: Body) -> None:
    others: tuple[Any, ...] = (1, 1.5, True, "text", [], {}, None, [1], [None], ["a"], {"a": 1}, "!")
    other = random.choice(others)
    content, at = block(random, body)
    each = message(random, body)
    places: list[tuple[Any, Any]] = [
        (body, "messages"),
        (body, "system"),
        (body, "toolConfig"),
        (body, "inferenceConfig"),
        (body, "additionalModelRequestFields"),
        (each, "content"),
        (each, "role"),
        (content, at),
        (content[at], next(iter(content[at]))),
        (body["messages"], early(random, body["messages"])),
    ]
    inner: Any = content[at][next(iter(content[at]))]
    if isinstance(inner, dict) and inner:
        places += [(inner, random.choice([*cast("Body", inner)]))] * 4
    if "toolConfig" in body:
        spec = tool_specs(body)[0]
        places += [(body["toolConfig"], "tools"), (spec, "name"), (spec, "inputSchema"), (spec["inputSchema"], "json")]
    node, key = random.choice(places)
    node[key] = other


def union_of_two(random: Random, body: Body) -> None:
    content, at = block(random, body)
    content[at] = random.choice(({}, {**content[at], "text": "a", "image": {"format": "png"}}, {"unknown": {"a": 1}}))


def nested(random: Random, body: Body) -> bytes:
    depth = random.choice((50, 100_000))
    deep = raw('{"a":' * depth + "1" + "}" * depth)
    content, at = block(random, body, "toolUse", "toolResult", "text")
    content[at] = random.choice(
        (
            {"toolUse": {"toolUseId": "tooluse_deep", "name": "deep", "input": deep}},
            {"toolResult": {"toolUseId": "tooluse_deep", "content": [{"json": deep}]}},
            {"unknown": deep},
        )
    )
    return spelled(body)


DAMAGES: Final[dict[str, tuple[int, Damage]]] = {
    damage.__name__: (weight, damage)
    for weight, damages in {
        8: (number_respelled, schema_respelled),
        5: (text_changed, answer_changed, keys_reordered, setting_respelled),
        3: (
            block_removed,
            block_added,
            message_repeated,
            message_removed,
            turn_left_out,
            front_cut,
            tools_removed,
            tool_removed,
            tools_rotated,
            tool_described,
            schema_changed,
            choice_changed,
            use_id_changed,
            use_ids_renamed,
            use_input_changed,
            result_missing,
            result_repeated,
            result_changed,
            signature_changed,
            reasoning_changed,
            point_added,
            point_moved,
            system_changed,
            wrong_type,
        ),
        2: (
            text_split,
            texts_joined,
            text_blank,
            block_repeated,
            blocks_swapped,
            block_moved,
            messages_swapped,
            role_changed,
            content_empty,
            tool_added,
            tool_repeated,
            tool_renamed,
            use_ids_equal,
            use_name_changed,
            result_id_changed,
            result_status,
            signature_removed,
            reasoning_removed,
            reasoning_last,
            image_added,
            document_added,
            point_removed,
            point_lasting,
            inference_changed,
            fields_changed,
            number_strange,
            key_repeated,
            spaced,
            escaped,
            malformed,
            union_of_two,
            nulls_added,
            member_added,
        ),
        1: (
            text_ends_blank,
            text_surrogate,
            messages_merged,
            history_in_short,
            role_missing,
            content_missing,
            messages_empty,
            ends_with_assistant,
            begins_with_assistant,
            tools_empty,
            tool_cached,
            reasoning_redacted,
            image_changed,
            points_everywhere,
            system_removed,
            fields_removed,
            guardrail_changed,
            all_keys_reordered,
            nested,
        ),
    }.items()
    for damage in damages
}
"""The damages by name, each with its weight in the choice."""

NEARLY_EQUAL: Final = (
    "number_respelled",
    "schema_respelled",
    "schema_respelled",  # twice, since the rules look at the type of no other number
    "setting_respelled",
    "keys_reordered",
    "key_repeated",
)
"""After these damages, Python's `==` may find no difference."""

NEVER_KEPT: Final = frozenset(
    {
        "wrong_type",
        "union_of_two",
        "role_missing",
        "content_missing",
        "messages_empty",
        "number_strange",
        "text_surrogate",
        "nulls_added",
    }
)
"""After these damages and after those that give bytes, a client does not go on with the damaged conversation."""
