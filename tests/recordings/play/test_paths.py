"""A difference has the path of the request as it came: whatever one leaf of a request is changed, it leads there."""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from converse_harness.json_values import leaves, path_text
from converse_harness.recordings.differences import ABSENT, Difference
from converse_harness.recordings.play.matching import MatchKey
from converse_harness.recordings.play.request_differences import in_words, that_count
from tests.recordings.asking import result, tools, use, user

REQUEST: dict[str, Any] = json.loads(
    json.dumps(
        {
            "messages": [
                user("What is it like in Bern?", {"image": {"format": "png", "source": {"bytes": "aGk="}}}),
                {
                    "role": "assistant",
                    "content": [
                        {"text": "Let me look."},
                        *use("use_1")["content"],
                        *use("use_2", "get_time")["content"],
                    ],
                },
                user(*result("use_1")["content"], *result("use_2", "12:00", status="error")["content"]),
                user({"toolResult": {"toolUseId": "use_2", "content": [{"json": {"a": [1, 2]}}, {"text": "x"}]}}),
            ],
            "system": [{"text": "You are an agent."}, {"cachePoint": {"type": "default"}}, {"text": "Be short."}],
            "toolConfig": tools("get_weather", "get_time", "book", toolChoice={"tool": {"name": "book"}}),
            "inferenceConfig": {"maxTokens": 100, "temperature": 0.5},
            "promptVariables": {"city": {"text": "Bern"}, "day": {"text": "Monday"}},
            "additionalModelRequestFields": {"top_k": 3, "list": ["a", "b"]},
        }
    )
)


def asked(request: Any, operation: str = "Converse") -> MatchKey:
    return MatchKey(operation, {"modelId": "m"}, "", {}, request)


def changed(request: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy of a request with another value at a path."""
    made = copy.deepcopy(request)
    *way, last = path
    holder = made
    for step in way:
        holder = holder[step]
    holder[last] = value
    return made


def at(request: Any, path: str) -> Any:
    """What a path of a message leads to, read as a person reads it."""
    for part in path.replace("[", ".[").split("."):
        request = request[int(part[1:-1])] if part.startswith("[") else request[part]
    return request


LEAVES = [path for path, _ in leaves(REQUEST)]
IDS = [path for path in LEAVES if path[-1] == "toolUseId"]


def other(value: Any) -> Any:
    return f"other {value}" if isinstance(value, str) else value + 1


@pytest.mark.parametrize("path", [each for each in LEAVES if each not in IDS], ids=path_text)
def test_a_changed_leaf_is_where_the_path_leads(path: tuple[str | int, ...]) -> None:
    now = changed(REQUEST, path, other(at(REQUEST, path_text(path))))
    for found in (that_count("exact", asked(REQUEST), asked(now)), in_words(asked(REQUEST), asked(now))):
        (difference,) = found
        assert difference.path == path
        assert difference.new == at(now, path_text(difference.path))
    for difference in that_count("shape", asked(REQUEST), asked(now)):
        told = at(REQUEST if difference.new is ABSENT else now, path_text(difference.path))
        assert path[: len(difference.path)] == difference.path
        assert told is not None


def kinds_of_change() -> Iterator[Any]:
    """A change of shape: the new request, and the paths that a person would give, with `-` for what is gone."""
    tool = tools("book_train")["tools"][0]
    first, *others = REQUEST["toolConfig"]["tools"]
    config = REQUEST["toolConfig"]
    yield "tool added", {**REQUEST, "toolConfig": {**config, "tools": [first, tool, *others]}}, ["toolConfig.tools[1]"]
    yield "tool gone", {**REQUEST, "toolConfig": {**config, "tools": [first, others[1]]}}, ["-toolConfig.tools[1]"]
    yield "tools sorted", {**REQUEST, "toolConfig": {**config, "tools": [*others, first]}}, []
    doubled = {**config, "tools": [first, *others, first]}
    yield "tool twice", {**REQUEST, "toolConfig": doubled}, ["toolConfig.tools[3]"]
    renamed = {**config, "tools": [first, tool, others[1]]}
    yield "tool renamed", {**REQUEST, "toolConfig": renamed}, ["-toolConfig.tools[1]", "toolConfig.tools[1]"]
    yield "choice", {**REQUEST, "toolConfig": {**config, "toolChoice": {"any": {}}}}, ["toolConfig.toolChoice"]
    text, point, _ = REQUEST["system"]
    yield "system gone", {**REQUEST, "system": [text]}, ["-system[1]"]
    guarded = {"guardContent": {"text": {"text": "a"}}}
    yield "system added", {**REQUEST, "system": [text, point, text, guarded, guarded]}, ["system[3]"]
    yield "guardrail", {**REQUEST, "guardrailConfig": {"guardrailIdentifier": "g"}}, ["guardrailConfig"]
    variables = {"city": {"text": "x"}, "hour": {"text": "x"}}
    yield "variable", {**REQUEST, "promptVariables": variables}, ["-promptVariables.day", "promptVariables.hour"]
    start, end = REQUEST["messages"][:-1], REQUEST["messages"][-1]
    yield "message added", {**REQUEST, "messages": [*start, end, user("?")]}, ["messages[4]"]
    yield "message gone", {**REQUEST, "messages": start}, ["-messages[3]"]
    where = ("messages", 3, "content", 0, "toolResult", "content")
    short = changed(REQUEST, where, at(REQUEST, path_text(where))[:1])
    yield "nested gone", short, ["-messages[3].content[0].toolResult.content[1]"]
    nested = changed(REQUEST, (*where, 1), {"image": {"format": "png", "source": {"bytes": "aGk="}}})
    yield "nested kind", nested, ["messages[3].content[0].toolResult.content[1]"]
    link = ("messages", 2, "content", 0, "toolResult", "toolUseId")
    yield "link", changed(REQUEST, link, "use_9"), [path_text(link)]


@pytest.mark.parametrize(("now", "paths"), [pytest.param(*each, id=name) for name, *each in kinds_of_change()])
def test_each_kind_of_change_of_shape_has_its_place(now: Any, paths: list[str]) -> None:
    found = that_count("shape", asked(REQUEST), asked(now))
    assert [f"{'-' * (each.new is ABSENT)}{path_text(each.path)}" for each in found][: len(paths)] == paths
    assert bool(found) == bool(paths)
    for each in found:
        assert at(REQUEST if each.new is ABSENT else now, path_text(each.path)) is not None


def test_tokens_to_count_have_the_path_of_their_request() -> None:
    old, new = ({"input": {"converse": each}} for each in (REQUEST, {**REQUEST, "system": REQUEST["system"][:1]}))
    (difference,) = that_count("shape", asked(old, "CountTokens"), asked(new, "CountTokens"))
    assert path_text(difference.path) == "input.converse.system[1]"


def test_a_body_that_is_no_conversation_has_its_own_paths() -> None:
    old: Any = {"messages": [{"role": "user", "content": "a"}]}
    new: Any = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (difference,) = that_count("shape", asked(old, "InvokeModel"), asked(new, "InvokeModel"))
    assert path_text(difference.path) == "messages[1]"


def test_what_stands_in_the_path_of_a_url_has_its_name() -> None:
    other_model = replace(asked(REQUEST), labels={"modelId": "n"})
    for found in (that_count("shape", asked(REQUEST), other_model), in_words(asked(REQUEST), other_model)):
        assert found == [Difference(("modelId",), "m", "n", ("modelId",))]
