"""Which exchange of a recording answers a call: by order, by the exact request, by shape.

Compared with: what hypothesis draws, changed in one way.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from converse_harness import Endpoint
from converse_harness.json_values import TOO_DEEP, canonical
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.play.matching import (
    MATCHES,
    PARTS,
    Match,
    MatchKey,
    asked_by,
    asked_in,
    key,
    with_accounts_equal,
)
from converse_strategies import converse_requests
from tests.recordings.asking import (
    NOVA,
    body,
    counts_tokens,
    json_of,
    request,
    result,
    tools,
    use,
    user,
    with_other_prose,
)

ARN = "arn:aws:bedrock:us-east-1:{}:application-inference-profile/abc"


def key_of(rule: Match, asked: Any, *, operation: str = "Converse", model: str = NOVA) -> str:
    """What a call with this request is for a rule."""
    return key(rule, asked_by(Endpoint().receive(request(asked, operation=operation, model=model))))


def recorded_key(rule: Match, asked: Any, *, operation: str = "Converse", model: str = NOVA) -> str:
    """What an exchange with this request is for a rule."""
    return key(
        rule, asked_in(RecordedExchange(2, {"call": 1, "operation": operation, "modelId": model, "request": asked}, {}))
    )


# What counts for shape


BASE = body(
    user("What is it like?"),
    use("tooluse_1"),
    result("tooluse_1"),
    {"role": "assistant", "content": [{"text": "Warm."}]},
    user("And", "tomorrow?"),
    system=[{"text": "You are a weather agent."}],
    toolConfig=tools("get_weather", "pay"),
)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The request above with a change."""
    made = deepcopy(BASE)
    change(made)
    return made


def renamed(request: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(request).replace(old, new))


@pytest.mark.parametrize(
    "other",
    [
        changed(lambda it: it["system"].append({"text": "Be brief."})),
        changed(lambda it: it["messages"][0]["content"][0].update(text="Is it nice there?")),
        changed(lambda it: it["messages"][1]["content"][0]["toolUse"].update(input={"town": "Bern", "days": 2})),
        changed(lambda it: it["messages"][2]["content"][0]["toolResult"].update(content=[{"text": "rain"}])),
        changed(lambda it: it["messages"][2]["content"][0]["toolResult"].update(status="success")),
        changed(lambda it: it["toolConfig"]["tools"].reverse()),
        changed(
            lambda it: it["toolConfig"]["tools"][0]["toolSpec"].update(description="d", inputSchema={"json": {"a": 1}})
        ),
        changed(lambda it: it.update(inferenceConfig={"temperature": 0.5})),
        changed(lambda it: it.update(additionalModelRequestFields={"top_k": 5}, requestMetadata={"a": "b"})),
        changed(lambda it: it["messages"][1]["content"][0]["toolUse"].update(type="tool_use")),
        renamed(BASE, "tooluse_1", "tooluse_another"),
    ],
    ids=[
        "system",
        "text",
        "input",
        "result",
        "status",
        "order of tools",
        "schema",
        "inference",
        "fields",
        "type",
        "ids",
    ],
)
def test_prose_may_change(other: dict[str, Any]) -> None:
    assert key_of("shape", other) == recorded_key("shape", BASE)
    assert key_of("exact", other) != recorded_key("exact", BASE)


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (changed(lambda it: it.pop("system")), "system"),
        (changed(lambda it: it["system"].append({"cachePoint": {"type": "default"}})), "system"),
        (changed(lambda it: it["messages"][4].update(role="assistant")), "messages"),
        (changed(lambda it: it["messages"].pop()), "messages"),
        (changed(lambda it: it["messages"][4]["content"].pop()), "messages"),
        (changed(lambda it: it["messages"][4]["content"].append({"cachePoint": {"type": "default"}})), "messages"),
        (changed(lambda it: it["messages"][4]["content"].insert(0, {"image": {"format": "png"}})), "messages"),
        (changed(lambda it: it["messages"][1]["content"][0]["toolUse"].update(name="pay")), "messages"),
        (changed(lambda it: it["messages"][1]["content"][0]["toolUse"].update(type="server_tool_use")), "messages"),
        (changed(lambda it: it["messages"][2]["content"][0]["toolResult"].update(toolUseId="other")), "messages"),
        (changed(lambda it: it["messages"][2]["content"][0]["toolResult"].update(status="error")), "messages"),
        (changed(lambda it: it["messages"][2]["content"][0]["toolResult"].update(content=[{"json": {}}])), "messages"),
        (changed(lambda it: it["toolConfig"].update(tools("get_weather"))), "toolConfig.tools"),
        (changed(lambda it: it["toolConfig"].update(toolChoice={"any": {}})), "toolConfig.toolChoice"),
        (changed(lambda it: it.update(guardrailConfig={"guardrailIdentifier": "g"})), "guardrailConfig"),
        (changed(lambda it: it.update(promptVariables={"a": {"text": "b"}})), "promptVariables"),
    ],
)
def test_structure_may_not_change(other: dict[str, Any], part: str) -> None:
    ours, theirs = json.loads(key_of("shape", other)), json.loads(recorded_key("shape", BASE))
    assert [name for name in PARTS if ours.get(name) != theirs.get(name)] == [part]


def test_the_tool_that_is_forced_counts() -> None:
    choices: list[dict[str, Any]] = [{"tool": {"name": "a"}}, {"tool": {"name": "b"}}, {"auto": {}}]
    asked = [body(user("a"), toolConfig=tools("a", "b", toolChoice=choice)) for choice in choices]
    assert len({key_of("shape", each) for each in asked}) == 3


@counts_tokens
def test_a_conversation_that_is_to_be_counted_has_the_same_shape() -> None:
    counted = recorded_key("shape", {"input": {"converse": BASE}}, operation="CountTokens")
    other = changed(lambda it: it["messages"][0]["content"][0].update(text="Is it nice there?"))
    assert key_of("shape", {"input": {"converse": other}}, operation="CountTokens") == counted
    other = changed(lambda it: it["messages"][0].update(role="assistant"))
    assert key_of("shape", {"input": {"converse": other}}, operation="CountTokens") != counted


def test_links_between_uses_and_results_count() -> None:
    crossed = [{"toolResult": {"toolUseId": each, "content": [{"text": "a"}]}} for each in ("tooluse_b", "tooluse_a")]
    uses = {"role": "assistant", "content": [use(each)["content"][0] for each in ("tooluse_a", "tooluse_b")]}
    assert key_of("shape", body(user("a"), uses, user(*crossed))) != recorded_key(
        "shape", body(user("a"), uses, user(*reversed(crossed)))
    )


@pytest.mark.parametrize("rule", MATCHES)
def test_operation_and_model_count_for_every_rule(rule: Match) -> None:
    known = recorded_key(rule, BASE)
    assert key_of(rule, BASE) == known
    assert key_of(rule, BASE, operation="ConverseStream") != known
    assert key_of(rule, BASE, model="us.amazon.nova-pro-v1:0") != known


@pytest.mark.parametrize("rule", MATCHES)
def test_of_the_account_that_a_model_belongs_to_only_its_place_counts(rule: Match) -> None:
    known = recorded_key(rule, BASE, model=ARN.format("111122000001"))
    assert key_of(rule, BASE, model=ARN.format("210987654321")) == known
    assert key_of(rule, BASE, model=ARN.format("210987654321").replace("abc", "abd")) != known


@given(st.characters(exclude_categories=["Cs", "Nd"]))
def test_an_account_is_one_whatever_stands_before_its_number(before: str) -> None:
    one, other = ({"arn": ARN.format(number), "said": f"{before}{number}"} for number in ("210987654321", "1" * 12))
    assert with_accounts_equal(one) == with_accounts_equal(other)


def test_of_a_request_that_is_the_same_null_is_absent_and_the_order_of_keys_does_not_count() -> None:
    one = {"messages": [user("a")], "system": None, "inferenceConfig": {"temperature": 1, "topP": 0.5}}
    other = {"inferenceConfig": {"topP": 0.5, "temperature": 1}, "messages": [user("a")]}
    assert key_of("exact", one) == recorded_key("exact", other) == recorded_key("exact", one)


@pytest.mark.parametrize("broken", [{}, {"messages": 5}, {"messages": [5, {"content": "a"}]}, {"system": {}}, [1], "a"])
def test_an_edited_request_that_is_none_has_a_key_too(broken: Any) -> None:
    for rule in MATCHES:
        assert recorded_key(rule, broken) == recorded_key(rule, deepcopy(broken))
    assert recorded_key("exact", broken) != recorded_key("exact", BASE)


def test_nesting_without_end_has_a_key_too() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert canonical(deep) == TOO_DEEP
    asked = MatchKey("InvokeModel", {}, "", {}, deep)
    assert {key(rule, asked) for rule in MATCHES if rule != "order"} == {TOO_DEEP}


# Properties


@given(converse_requests())
def test_every_request_is_itself(params: dict[str, Any]) -> None:
    model_id, asked = json_of(params)
    for rule in MATCHES:
        assert key_of(rule, asked, model=model_id) == recorded_key(rule, asked, model=model_id)


@given(converse_requests(min_turns=1))
def test_every_text_and_every_id_may_change(params: dict[str, Any]) -> None:
    model_id, asked = json_of(params)
    other = with_other_prose(asked)
    assert other != asked
    assert recorded_key("shape", other, model=model_id) == recorded_key("shape", asked, model=model_id)


@given(converse_requests(), st.data())
def test_a_change_of_role_kind_or_tool_is_seen(params: dict[str, Any], data: st.DataObject) -> None:
    model_id, asked = json_of(params)
    assume(asked.get("messages"))  # a prompt of Prompt management may have none
    other = deepcopy(asked)
    message = data.draw(st.sampled_from(other["messages"]))
    block = data.draw(st.sampled_from(message["content"]))
    uses = [each["toolUse"] for each in message["content"] if "toolUse" in each]
    specs = [each["toolSpec"] for each in other.get("toolConfig", {}).get("tools", ()) if "toolSpec" in each]
    changes: dict[str, Callable[[], object]] = {
        "role": lambda: message.update(role={"user": "assistant", "assistant": "user"}[message["role"]]),
        "kind": lambda: (block.clear(), block.update(aKindOfTheFuture={})),
        "fewer": message["content"].pop,
        "more": lambda: message["content"].insert(0, {"text": "more"}),
    }
    if uses:
        changes["name of a use"] = lambda: uses[0].update(name=uses[0]["name"] + "_")
    if specs:
        changes["name of a tool"] = lambda: specs[0].update(name=specs[0]["name"] + "_")
    changes[data.draw(st.sampled_from(sorted(changes)))]()
    assert recorded_key("shape", other, model=model_id) != recorded_key("shape", asked, model=model_id)
