"""Every shape of the installed botocore's model is drawn, valid, and survives JSON; all that it allows is reached."""

import json
import sys
from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.stream.events import encode_event
from converse_strategies import shapes
from tests.profiles import examples
from tests.strategies.conftest import drawn, drift, found, never, smallest

NAMES: tuple[str, ...] = tuple(bedrock.service().shape_names)
THREE = ("Converse", "ConverseStream", "CountTokens")
UNIONS = [name for name in NAMES if bedrock.is_union(bedrock.shape(name))]
ENUMS = [name for name in NAMES if bedrock.enum(name)]
STRUCTURES = [name for name in NAMES if bedrock.shape(name).type_name == "structure" and name not in UNIONS]
WHOLE = ("ConverseRequest", "ConverseResponse", "ConverseStreamOutput", "CountTokensRequest")


def inputs_and_outputs(operations: tuple[str, ...]) -> Iterator[str]:
    for name in operations:
        if name in bedrock.operations():
            operation = bedrock.operation(name)
            yield from (
                shape.name for shape in (operation.input_shape, operation.output_shape, *operation.error_shapes)
            )


@cache
def reached(name: str) -> frozenset[str]:
    """The shapes that a shape holds, and itself."""
    shape = bedrock.shape(name)
    held: list[bedrock.Shape] = []
    if shape.type_name == "structure":
        held = [*shape.members.values()]
    elif shape.type_name == "list":
        held = [shape.member]
    elif shape.type_name == "map":
        held = [shape.key, shape.value]
    return frozenset({name}).union(*(reached(each.name) for each in held))


@pytest.mark.parametrize("name", NAMES)
def test_every_shape_is_drawn_valid_and_survives_json(name: str) -> None:
    @settings(max_examples=examples(0.1), database=None)
    @given(shapes.values(name))
    def holds(value: Any) -> None:
        bedrock.check(name, value)
        assert bedrock.from_json(name, json.loads(bedrock.to_json(name, value))) == value

    holds()


def test_the_three_operations_reach_as_many_shapes_as_they_should() -> None:
    names = frozenset[str]().union(*(reached(name) for name in inputs_and_outputs(THREE)))
    assert names <= set(NAMES)
    if bedrock.has_member("ContentBlockStart", "toolResult"):
        assert len(names) >= 275


@pytest.mark.parametrize("name", [name for name in WHOLE if name in NAMES])
@given(data=st.data())
def test_what_is_large_is_valid_too(name: str, data: st.DataObject) -> None:
    value = data.draw(shapes.values(name))
    bedrock.check(name, value)
    assert bedrock.from_json(name, json.loads(bedrock.to_json(name, value))) == value


@pytest.mark.parametrize("name", sorted({*inputs_and_outputs(bedrock.operations())}))
def test_what_operations_take_and_give_passes_botocores_own_validator(name: str) -> None:
    from botocore.validate import ParamValidator

    validator: Any = ParamValidator()

    @settings(max_examples=examples(0.1), database=None)
    @given(shapes.values(name))
    def holds(value: Any) -> None:
        assert validator.validate(value, bedrock.shape(name)).generate_report() == ""

    holds()


@given(event=shapes.values("ConverseStreamOutput"))
def test_events_come_through_a_frame_and_botocores_parser(event: dict[str, Any]) -> None:
    from botocore.eventstream import EventStreamBuffer
    from botocore.parsers import EventStreamJSONParser

    frames: Any = EventStreamBuffer()
    frames.add_data(encode_event(event, padding=7))
    (frame,) = frames
    parser: Any = EventStreamJSONParser()
    parsed = parser.parse(frame.to_response_dict(), bedrock.shape("ConverseStreamOutput"))
    ((name, members),) = event.items()
    if name in bedrock.stream_exceptions():
        assert parsed["Error"]["Code"] == name
        assert parsed["Error"]["Message"] == members.get("message", "")
    else:
        assert parsed == event


@pytest.mark.parametrize("name", UNIONS)
def test_every_member_of_a_union_is_reached(name: str) -> None:
    wanted = [(member,) for member in bedrock.shape(name).members]
    assert never(shapes.values(name), wanted, lambda value: [tuple(value)]) == set()


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_member_is_reached_and_the_optional_ones_can_be_absent(name: str) -> None:
    shape = bedrock.shape(name)
    required = set(shape.metadata.get("required", ()))
    wanted: set[Hashable] = {*shape.members, frozenset(required)}
    assert never(shapes.values(name), wanted, lambda value: {*value, frozenset(value)}) == set()


@pytest.mark.parametrize("name", ENUMS)
def test_every_value_of_an_enum_is_reached(name: str) -> None:
    assert never(shapes.values(name), bedrock.enum(name), lambda value: [value]) == set()


@pytest.mark.parametrize("name", ["ConverseTrace", pytest.param("InferenceConfiguration", marks=pytest.mark.slow)])
def test_all_optional_members_are_reached_together(name: str) -> None:
    found(shapes.values(name), lambda value: set(value) == set(bedrock.shape(name).members))


def test_exceptions_are_rare_among_events() -> None:
    events = [name for event in drawn(shapes.values("ConverseStreamOutput"), 5) for name in event]
    exceptions = [name for name in events if name in bedrock.stream_exceptions()]
    assert len(exceptions) < len(events) / 5


def test_what_is_simplest_comes_first() -> None:
    assert found(shapes.values("ToolUseBlock")) == {"toolUseId": "0", "name": "0", "input": {}}
    assert found(shapes.values("ConverseRequest")) == {"modelId": "amazon.nova-lite-v1:0"}


@pytest.mark.nightly
def test_what_is_found_is_small() -> None:
    def has(message: dict[str, Any], *kinds: str) -> bool:
        return all(any(kind in block for block in message["content"]) for kind in kinds)

    assert smallest(shapes.values("Message"), lambda message: has(message, "toolUse")) == {
        "role": "user",
        "content": [{"toolUse": {"toolUseId": "0", "name": "0", "input": {}}}],
    }
    asked = smallest(shapes.values("ConverseRequest"), lambda request: "requestMetadata" in request)
    assert asked["modelId"] == "amazon.nova-lite-v1:0"
    assert asked["requestMetadata"] == {"0": ""}
    assert len(asked) <= 3  # hypothesis gives up after some vain attempts, so it may leave one that is not needed


@given(shapes.values("Message"))
def test_lists_are_short(message: dict[str, Any]) -> None:
    assert len(message["content"]) <= shapes.MOST_ITEMS


@given(shapes.values("Body"))
def test_blobs_are_short(body: bytes) -> None:
    assert len(body) <= shapes.MOST_BYTES


def test_what_is_drawn_is_fresh() -> None:
    first, second = found(shapes.values("ToolUseBlock")), found(shapes.values("ToolUseBlock"))
    assert first == second
    assert first is not second
    assert first["input"] is not second["input"]


@given(
    shapes.values(
        "ToolUseBlock", overrides={"ToolUseId": st.just("tooluse_1"), "ToolUseBlock.input": st.just({"a": 1})}
    )
)
def test_shapes_and_members_can_be_overridden(use: dict[str, Any]) -> None:
    assert use["toolUseId"] == "tooluse_1"
    assert use["input"] == {"a": 1}


@given(
    shapes.values(
        "ToolUseBlock", overrides={"ToolUseBlock.name": st.just("of the member"), "ToolName": st.just("of the shape")}
    )
)
def test_an_override_of_a_member_goes_before_that_of_its_shape(use: dict[str, Any]) -> None:
    assert use["name"] == "of the member"


@given(shapes.values("Message", overrides={"ContentBlock": st.just({"text": "hi"})}))
def test_what_is_deep_inside_can_be_overridden(message: dict[str, Any]) -> None:
    assert all(block == {"text": "hi"} for block in message["content"])


@given(shapes.values("Tool", texts=st.just("Faker's word")))
def test_texts_are_for_free_strings_only(tool: dict[str, Any]) -> None:
    bedrock.check("Tool", tool)
    spec = tool.get("toolSpec", {})
    assert spec.get("description", "Faker's word") == "Faker's word"


def test_texts_that_are_too_short_are_left_out() -> None:
    asked = found(
        shapes.values("SystemContentBlock", texts=st.sampled_from(["", "longer"])), lambda block: "text" in block
    )
    assert asked == {"text": "longer"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (shapes.values("Mesage"), r"values\('Mesage'\): .*no shape 'Mesage'.*Did you mean 'Message'\?"),
        (
            shapes.values("Message", overrides={"ToolUseID": st.text()}),
            "no shape 'ToolUseID'.*Did you mean 'ToolUseId'",
        ),
        (
            shapes.values("Message", overrides={"ToolUseBlock.inputs": st.text()}),
            "no member of ToolUseBlock 'inputs'.*Did you mean 'input'",
        ),
        (shapes.values("Message", overrides={"ToolUse.input": st.text()}), "ToolUse"),
        (shapes.values("Message", overrides={"ToolUseId": "x"}), r"overrides\['ToolUseId'\]='x'.*st\.just\('x'\)"),  # type: ignore[dict-item]
        (shapes.values("Message", overrides=["ToolUseId"]), "overrides=.*expected a mapping"),  # type: ignore[arg-type]
        (shapes.values("Message", texts="x"), r"values\(texts='x'\): texts is a strategy for strings"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said_when_it_is_drawn(wrong: st.SearchStrategy[Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        found(wrong)


def test_a_shape_may_hold_itself_and_patterns_that_only_java_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.model import ServiceModel

    described: Any = {
        "metadata": {},
        "shapes": {
            "Tree": {"type": "structure", "members": {"leaf": {"shape": "Leaf"}, "twigs": {"shape": "Twigs"}}},
            "Twigs": {"type": "list", "member": {"shape": "Tree"}},
            "Leaf": {"type": "string", "min": 2, "pattern": r"\p{Alpha}+"},
        },
    }
    own: Any = ServiceModel(described)
    for module in (bedrock, sys.modules["converse_harness.bedrock.api.service"]):
        monkeypatch.setattr(module, "shape", lambda name, of: own.shape_for(name))
    deep = smallest(shapes.values("Tree"), lambda tree: any(twig.get("twigs") for twig in tree.get("twigs", ())))
    assert deep == {"twigs": [{"twigs": [{}]}]}
    assert len(found(shapes.values("Leaf"))) == 2


def test_drift_from_the_snapshot_is_told_at_the_end() -> None:
    assert drift(NAMES, NAMES) == []
    assert drift(["A", "B"], ["B", "C"]) == ["more: A", "less: C"]
