"""Which exchange answers: by a function of the test's own, and without the parts of requests that do not count."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from converse_harness import Endpoint, ReplyError, recording
from converse_harness.recordings.play.ignored_parts import IgnoredParts
from converse_harness.recordings.play.stale import take
from tests.recordings.asking import ask, body, counts_tokens, exchange, request, tools, use, user, write


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    take()


def described(text: str, *names: str) -> dict[str, Any]:
    """A request with tools that have a description, and a system prompt."""
    config = tools(*names)
    for tool in config["tools"]:
        tool["toolSpec"]["description"] = text
    return body(user("a"), system=[{"text": text}, {"cachePoint": {"type": "default"}}], toolConfig=config)


IGNORE = ["system", "toolConfig.tools[*].description"]


def answers(path: Path, asked: Any, **how: Any) -> bool:
    endpoint = Endpoint(recording(path, **how), rules="off")
    ask(endpoint, asked)
    return not endpoint.problems


@pytest.mark.parametrize("match", ["exact", "shape"])
def test_what_is_ignored_does_not_count(tmp_path: Path, match: Any) -> None:
    path = write(tmp_path / "a.jsonl", exchange(described("old", "one", "two")))
    now = described("new", "one", "two")
    assert answers(path, now, match=match) == (match == "shape")
    assert [each.counted for each in take()] == (["1 of 1 request"] if match == "shape" else [])
    assert answers(path, now, match=match, ignore=IGNORE)
    assert answers(path, {**now, "system": []}, match=match, ignore=IGNORE)
    assert take() == []
    assert not answers(path, described("new", "one", "three"), match=match, ignore=IGNORE)


def test_ignored_parts_are_no_differences(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", exchange(described("old", "one")))
    endpoint = Endpoint(recording(path, match="exact", ignore=IGNORE))
    ask(endpoint, {**described("new", "one"), "messages": [user("b")]})
    told = str(endpoint.problems[0])
    assert "messages[0].content[0].text" in told
    assert "system" not in told.partition("differs")[2].partition("match ")[0]
    assert "description" not in told


@pytest.mark.parametrize(
    ("ignore", "old", "new", "equal"),
    [
        ("messages[0]", body(user("a"), user("b")), body(use("1"), user("b")), True),
        ("messages[-1]", body(user("a"), user("b")), body(user("a"), user("c")), True),
        ("messages[-1]", body(user("a"), user("b")), body(user("c"), user("b")), False),
        ("messages", body(user("a")), body(user("a"), user("b")), True),
        ("messages[*]", body(user("a")), body(user("a"), user("b")), True),
        ("messages[*].content[*].text", body(user("a")), body(user("b")), True),
        ("messages[*].content[*].toolUse.input", body(use("1", city="Bern")), body(use("1", city="Chur")), True),
        ("messages[*].content[*].input.city", body(use("1", city="Bern")), body(use("1", city="Chur")), True),
        ("messages[*].content[*].input.town", body(use("1", city="Bern")), body(use("1", city="Chur")), False),
        ("inferenceConfig", body(user("a"), inferenceConfig={"maxTokens": 3}), body(user("a")), True),
        ("inferenceConfig.maxTokens", body(user("a"), inferenceConfig={"maxTokens": 3}), body(user("a")), True),
        ("toolConfig.toolChoice", body(user("a"), toolConfig={"toolChoice": {"any": {}}}), body(user("a")), True),
        ("requestMetadata.trace", body(user("a"), requestMetadata={"trace": "1"}), body(user("a")), True),
        ("requestMetadata.trace", body(user("a"), requestMetadata={"user": "1"}), body(user("a")), False),
    ],
)
def test_paths(tmp_path: Path, ignore: str, old: Any, new: Any, equal: bool) -> None:
    path = write(tmp_path / "a.jsonl", exchange(old))
    assert answers(path, new, match="exact", ignore=[ignore]) == equal


def test_the_model_may_be_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", exchange(body(user("a"))))
    for ignore, problems in (("modelId", 0), ("system", 1)):
        endpoint = Endpoint(recording(path, ignore=[ignore]))
        ask(endpoint, body(user("a")), model="us.amazon.nova-pro-v1:0")
        assert len(endpoint.problems) == problems


@counts_tokens
def test_a_conversation_whose_tokens_are_counted_is_one(tmp_path: Path) -> None:
    def counted(system: str) -> dict[str, Any]:
        return {"input": {"converse": body(user("a"), system=[{"text": system}])}}

    count = exchange(counted("old"), operation="CountTokens")
    path = write(tmp_path / "a.jsonl", [count[0], {"t": 5, "status": 200, "body": {"inputTokens": 42}}])
    for ignore, tokens in (["system"], 42), ([], None):
        asked = request(counted("new"), operation="CountTokens")
        answered = Endpoint(recording(path, match="exact", ignore=ignore)).exchange(asked).response
        assert tokens is None or json.loads(b"".join(each.data for each in answered.chunks)) == {"inputTokens": tokens}


@pytest.mark.parametrize(
    ("ignore", "problem"),
    [
        ("system", "ignore='system': it is a list of paths in the request. For instance ignore=["),
        (7, "ignore=7: it is a list of paths"),
        ([7], "ignore=[7]: this is no path. It is names with a dot between them"),
        (["a b"], "ignore=['a b']: this is no path."),
        (["system[x]"], "ignore=['system[x]']: this is no path."),
        ([""], "ignore=['']: this is no path."),
        (["sytem"], 'the request of Converse has no member "sytem". Did you mean "system"? It has modelId, messages, '),
        (["modelid"], 'has no member "modelid". Did you mean "modelId"?'),
        (["toolConfig.tools[*].descripton"], '"toolConfig.tools[*]" has no member "descripton". Did you mean "descri'),
        (["toolConfig.tools.description"], '"toolConfig.tools" is a list. Write toolConfig.tools[*] for all its items'),
        (["toolConfig[0]"], '"toolConfig" is no list, so it has no [0].'),
        (["system[0].text.x"], '"system[0].text" has no member "x". It has no members'),
    ],
)
def test_what_is_no_path_is_refused_at_its_line(tmp_path: Path, ignore: Any, problem: str) -> None:
    path = write(tmp_path / "a.jsonl", exchange(body(user("a"))))
    with pytest.raises(ReplyError) as raised:
        recording(path, ignore=ignore)
    assert problem in str(raised.value)


def test_a_union_may_be_left_out_of_a_path() -> None:
    short, long = (IgnoredParts.of([f"toolConfig.tools[*].{path}"]) for path in ("name", "toolSpec.name"))
    assert set(long.paths) <= set(short.paths)


# A function


def by_question(recorded: dict[str, Any], asked: dict[str, Any]) -> bool:
    return bool(recorded["messages"][0] == asked["messages"][0])


def test_a_function_decides(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *(exchange(body(user(each)), f"{each}!") for each in "abca"))
    endpoint = Endpoint(recording(path, match=by_question), rules="off")
    for question in ("b", "a"):
        assert ask(endpoint, body(user(question), use("1"), user("more"))) == f"{question}!"
    assert [slot.used_by for slot in endpoint.script.recordings[0].slots] == [[2], [1], [], []]
    told = ask(endpoint, body(user("d")))
    assert told == f"call 3 matches no exchange of {path}."
    problem = str(endpoint.problems[0])
    assert "match     the function by_question: it returned a false value for each exchange that was not" in problem
    assert 'match="shape" would play it' in problem
    assert [each.counted for each in take()] == ["2 of 2 requests"]


def test_of_those_that_a_function_accepts_an_equal_one_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *(exchange(body(user(each)), f"{each}!") for each in "abc"))
    endpoint = Endpoint(recording(path, match=lambda recorded, asked: True))
    assert [ask(endpoint, body(user(each))) for each in "cxb"] == ["c!", "a!", "b!"]


def test_a_function_gets_the_arguments_of_a_call(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", exchange(body(user("a"), system=[{"text": "s"}])))
    got: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def match(*requests: dict[str, Any]) -> bool:
        got.append((requests[0], requests[1]))
        return True

    ask(Endpoint(recording(path, match=match, ignore=["system"])), body(user("b")))
    ((recorded, asked),) = got
    assert recorded == {"operation": "Converse", "modelId": "us.amazon.nova-lite-v1:0", "messages": [user("a")]}
    assert asked == {**recorded, "messages": [user("b")]}


def test_an_error_of_a_function_is_not_swallowed(tmp_path: Path) -> None:
    def broken(recorded: dict[str, Any], asked: dict[str, Any]) -> bool:
        return bool(recorded["nothing"] == asked["nothing"])

    endpoint = Endpoint(recording(write(tmp_path / "a.jsonl", exchange(body(user("a")))), match=broken))
    ask(endpoint, body(user("b")))
    (problem,) = endpoint.problems
    assert re.search(r"match function broken \(.*\) raised KeyError: 'nothing'", str(problem))
    assert isinstance(problem.__cause__, KeyError)


def of_one(call: object) -> bool:
    return bool(call)


def of_two_names(*, recorded: object, asked: object) -> bool:
    return recorded == asked


@pytest.mark.parametrize("match", [of_one, of_two_names])
def test_a_function_takes_two_requests(tmp_path: Path, match: Callable[..., object]) -> None:
    path = write(tmp_path / "a.jsonl", exchange(body(user("a"))))
    with pytest.raises(ReplyError, match=r"recording\(match=\w+\): .*\. It is a function \(recorded, asked\)"):
        recording(path, match=match)


# No toolChoice is `auto`


@pytest.mark.parametrize("match", ["order", "exact", "shape"])
@pytest.mark.parametrize(("old", "new"), [({}, {"auto": {}}), ({"auto": {}}, {})])
def test_no_tool_choice_is_auto(tmp_path: Path, match: Any, old: dict[str, Any], new: dict[str, Any]) -> None:
    def asked(choice: dict[str, Any]) -> dict[str, Any]:
        return body(user("a"), toolConfig=tools("one", **({"toolChoice": choice} if choice else {})))

    path = write(tmp_path / "a.jsonl", exchange(asked(old)))
    assert answers(path, asked(new), match=match)
    assert take() == []
    assert answers(path, asked({"any": {}}), match=match) == (match == "order")
