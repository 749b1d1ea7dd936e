"""The control plane: what models there are and what stands behind a profile, from the table of models."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import Fake, UnexpectedCall, bedrock, fake_converse, reply
from converse_harness.bedrock.models import standing
from converse_harness.endpoint.own_answers.control_plane import ANSWERS
from converse_harness.errors import json_text
from converse_harness.intercept.clients import create_client
from tests.intercept.conftest import QUESTION

ARN = "arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc123def456"


def control(**options: Any) -> Any:
    import botocore.session

    return botocore.session.get_session().create_client("bedrock", region_name="us-east-1", **options)


def valid(operation: str, output: dict[str, Any]) -> None:
    """Fail unless the members are those of AWS's API model, with its patterns, and its lengths and enums but for two.

    AWS itself lists names of more than 20 characters, and inference types that are not in the enum.
    """
    output.pop("ResponseMetadata")
    shape = bedrock.service(bedrock.CONTROL_PLANE).operation_model(operation).output_shape
    found = problems(shape, output, operation)
    assert [each for each in found if not re.search(r"\.modelName is |is 'INFERENCE_PROFILE'$", each)] == []


def problems(shape: Any, value: Any, path: str) -> list[str]:
    """What botocore's own shapes say of a value, with patterns and enums, which botocore does not check itself."""
    if shape.type_name == "structure":
        found = [f"{path} lacks {name}" for name in shape.required_members if name not in value]
        found += [f"{path} has {name}" for name in value if name not in shape.members]
        return found + [each for name in value for each in problems(shape.members[name], value[name], f"{path}.{name}")]
    if shape.type_name == "list":
        return [each for item in value for each in problems(shape.member, item, path)]
    pattern, longest = shape.metadata.get("pattern", ".*"), shape.metadata.get("max", len(value))
    fits = re.fullmatch(pattern, value) and len(value) <= longest and value in (shape.enum or [value])
    return [] if fits else [f"{path} is {value!r}"]


def test_the_models_are_listed() -> None:
    with fake_converse() as fake:
        answer = control().list_foundation_models()
    ids = [model["modelId"] for model in answer["modelSummaries"]]
    assert len(ids) == len(set(ids)) > 50
    assert "amazon.nova-lite-v1:0" in ids
    assert all(standing(each).model is not None and not standing(each).inferred for each in ids)
    nova = next(model for model in answer["modelSummaries"] if model["modelId"] == "amazon.nova-lite-v1:0")
    assert nova == {
        "modelArn": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
        "modelId": "amazon.nova-lite-v1:0",
        "modelName": "Nova Lite",
        "providerName": "Amazon",
        "outputModalities": ["TEXT"],
        "inferenceTypesSupported": ["ON_DEMAND", "INFERENCE_PROFILE"],
    }
    valid("ListFoundationModels", answer)
    assert fake.calls == []
    assert [call.operation for call in fake.calls.all] == ["ListFoundationModels"]


def test_every_listed_model_can_be_asked() -> None:
    with fake_converse(rules="strict") as fake:
        fake.always(reply.text("hi"))
        listed = control().list_foundation_models()["modelSummaries"]
        client = create_client()
        for model in listed:
            prefix = "" if "ON_DEMAND" in model["inferenceTypesSupported"] else "us."
            client.converse(**{**QUESTION, "modelId": prefix + model["modelId"]})
            assert control().get_foundation_model(modelIdentifier=model["modelId"])["modelDetails"] == model
    assert fake.notes == []
    assert len(fake.calls) == len(listed)


@pytest.mark.parametrize(
    ("asked", "makers"),
    [
        ({"byProvider": "Anthropic"}, {"anthropic"}),
        ({"byProvider": "Mistral AI", "byOutputModality": "TEXT"}, {"mistral"}),
        ({"byProvider": "anthropic"}, {"anthropic"}),
        ({"byProvider": "zai"}, {"zai"}),
        ({"byProvider": "Moonshot AI"}, {"moonshot", "moonshotai"}),
        ({"byProvider": "nobody"}, set()),
    ],
)
def test_models_of_one_maker(asked: dict[str, str], makers: set[str]) -> None:
    with fake_converse():
        answer = control().list_foundation_models(**asked)
    assert {model["modelId"].partition(".")[0] for model in answer["modelSummaries"]} == makers


def test_models_that_are_asked_by_their_own_id() -> None:
    with fake_converse():
        answer = control().list_foundation_models(byInferenceType="ON_DEMAND", byProvider="Amazon")
    assert {model["modelId"] for model in answer["modelSummaries"]} == {
        f"amazon.nova-{size}-v1:0" for size in ("micro", "lite", "pro")
    }


@pytest.mark.parametrize(
    ("operation", "asked", "reason"),
    [
        (
            "ListFoundationModels",
            {"byOutputModality": "EMBEDDING"},
            "byOutputModality='EMBEDDING' came, and the table of models has only models that answer with text. ",
        ),
        ("ListFoundationModels", {"byInferenceType": "PROVISIONED"}, "byInferenceType='PROVISIONED' came, "),
        (
            "GetFoundationModel",
            {"modelIdentifier": "nope"},
            "no row of the table of models has the model 'nope'.\n\n",
        ),
    ],
)
def test_what_the_table_does_not_have_is_not_answered(operation: str, asked: dict[str, str], reason: str) -> None:
    method = re.sub("(?<!^)(?=[A-Z])", "_", operation).lower()
    with pytest.raises(UnexpectedCall) as raised, fake_converse(), pytest.raises(ClientError):
        getattr(control(), method)(**asked)
    assert str(raised.value).startswith(f"{operation} is not answered: {reason}")
    assert f'\nconverse.on_operation("{operation}", {{}})\n' in str(raised.value)
    in_json = json_text(raised.value)
    assert in_json.startswith(f"{operation} is not answered: {reason}")
    assert "on_operation" not in in_json
    assert f'"when": [{{"operation": "{operation}", "script": [{{"output": {{}}}}]}}]' in in_json


@pytest.mark.parametrize(
    "asked", ["amazon.nova-lite-v1:0", "arn:aws:bedrock:us-west-2::foundation-model/amazon.nova-lite-v1:0"]
)
def test_one_model(asked: str) -> None:
    with fake_converse():
        answer = control().get_foundation_model(modelIdentifier=asked)
    assert answer["modelDetails"]["modelId"] == "amazon.nova-lite-v1:0"
    assert answer["modelDetails"]["modelName"] == "Nova Lite"
    valid("GetFoundationModel", answer)


@pytest.mark.parametrize(
    ("asked", "models", "expected"),
    [
        ("us.amazon.nova-lite-v1:0", {}, ("us-east-1", "amazon.nova-lite-v1:0", "SYSTEM_DEFINED")),
        (
            "arn:aws:bedrock:eu-west-1:111122223333:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            {},
            ("eu-west-1", "anthropic.claude-sonnet-4-5-20250929-v1:0", "SYSTEM_DEFINED"),
        ),
        (ARN, {"arn:*": "us.amazon.nova-pro-v1:0"}, ("eu-central-1", "amazon.nova-pro-v1:0", "APPLICATION")),
    ],
)
def test_what_stands_behind_a_profile(asked: str, models: dict[str, str], expected: tuple[str, str, str]) -> None:
    with fake_converse(models=models):
        answer = control().get_inference_profile(inferenceProfileIdentifier=asked)
    region, model, kind = expected
    assert answer["models"] == [{"modelArn": f"arn:aws:bedrock:{region}::foundation-model/{model}"}]
    assert (answer["type"], answer["status"], answer["inferenceProfileId"]) == (
        kind,
        "ACTIVE",
        asked.rpartition("/")[2],
    )
    valid("GetInferenceProfile", answer)


@pytest.mark.parametrize("asked", [ARN, "us.my.model", "amazon.nova-lite-v1:0", "my-profile"])
def test_a_profile_of_which_nothing_is_known_fails_with_advice(asked: str) -> None:
    with pytest.raises(UnexpectedCall) as raised, fake_converse(), pytest.raises(ClientError):
        control().get_inference_profile(inferenceProfileIdentifier=asked)
    assert '@pytest.mark.converse(models={"arn:*": "us.amazon.nova-lite-v1:0"})' in str(raised.value)
    assert '\nconverse.on_operation("GetInferenceProfile", lambda call: {' in str(raised.value)


def test_on_operation_overrides() -> None:
    with fake_converse() as fake:
        fake.on_operation("ListFoundationModels", lambda call: {"modelSummaries": []})
        fake.on_operation("GetInferenceProfile", lambda call: reply.access_denied())
        assert control().list_foundation_models()["modelSummaries"] == []
        with pytest.raises(ClientError, match="AccessDenied"):
            control().get_inference_profile(inferenceProfileIdentifier="us.amazon.nova-lite-v1:0")


def test_scripts_and_replies_stay_as_they_are() -> None:
    with fake_converse(reply.text("hi")):
        control().list_foundation_models()
        assert create_client().converse(**QUESTION)["output"]["message"]["content"] == [{"text": "hi"}]


def test_every_operation_is_one_of_the_control_plane() -> None:
    assert set(ANSWERS) <= set(bedrock.service(bedrock.CONTROL_PLANE).operation_names)
    assert Fake().calls.of(next(iter(ANSWERS))) == []
