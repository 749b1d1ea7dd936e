"""The model is the installed botocore's: names, errors and events come from it, and what it lacks is said clearly."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from converse_harness import model
from converse_harness.errors import ReplyError
from converse_harness.model.beyond import ExtraError

# Measured on botocore 1.40.0 and 1.44.5, where they are the same.
STATUSES = {
    "AccessDeniedException": (403, "client"),
    "ConflictException": (400, "client"),
    "InternalServerException": (500, "server"),
    "ModelErrorException": (424, "client"),
    "ModelNotReadyException": (429, "client"),
    "ModelStreamErrorException": (424, "client"),
    "ModelTimeoutException": (408, "client"),
    "ResourceNotFoundException": (404, "client"),
    "ServiceQuotaExceededException": (400, "client"),
    "ServiceUnavailableException": (503, "server"),
    "ThrottlingException": (429, "client"),
    "ValidationException": (400, "client"),
}


def test_importing_the_model_loads_no_botocore() -> None:
    code = "import sys, converse_harness.model; print([name for name in sys.modules if name.startswith('botocore')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"


def test_the_model_is_loaded_once() -> None:
    assert model.service() is model.service()
    assert model.shape("Message") is model.shape("Message")


def test_models_in_the_home_of_the_user_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.loaders

    own = tmp_path / "bedrock-runtime" / "2099-01-01"
    own.mkdir(parents=True)
    (own / "service-2.json").write_text('{"metadata": {"apiVersion": "2099-01-01"}, "operations": {}, "shapes": {}}')
    monkeypatch.setattr(botocore.loaders.Loader, "CUSTOMER_DATA_PATH", str(tmp_path))
    assert botocore.loaders.Loader().determine_latest_version("bedrock-runtime", "service-2") == "2099-01-01"
    assert model.service.__wrapped__().api_version == model.service().api_version == "2023-09-30"


def test_version_is_that_of_the_installed_botocore() -> None:
    import botocore

    assert model.botocore_version() == botocore.__version__


def test_operations_and_their_shapes() -> None:
    assert {"Converse", "ConverseStream"} <= set(model.operations())
    assert model.operation("Converse").output_shape.name == "ConverseResponse"
    assert model.operation("Converse").http["requestUri"] == "/model/{modelId}/converse"


def test_has_shape_and_has_member() -> None:
    assert model.has_shape("ContentBlock")
    assert not model.has_shape("Contentblock")
    assert model.has_member("ContentBlock", "text")
    assert not model.has_member("ContentBlock", "Text")
    assert not model.has_member("NoSuchShape", "text")
    assert not model.has_member("StopReason", "text")
    assert model.member("ConverseResponse", "usage").name == "TokenUsage"


@pytest.mark.parametrize(
    ("ask", "lacks"),
    [
        (lambda: model.shape("ContentBlok"), "shape 'ContentBlok' in its model of bedrock-runtime. Did you mean 'Cont"),
        (lambda: model.operation("converse"), "operation 'converse' in its model of bedrock-runtime. Did you mean 'C"),
        (lambda: model.member("Message", "roles"), "member of Message 'roles' in its model of bedrock-runtime. Did"),
        (lambda: model.stream_shape("delta"), "event of ConverseStream 'delta' in its model of bedrock-runtime."),
        (
            lambda: model.check_operation("Konverse"),
            "operation 'Konverse' in its model of bedrock-runtime and bedrock.",
        ),
        (lambda: model.enum("Nothing"), "shape 'Nothing' in its model"),
        (lambda: model.validate("Nothing", {}), "shape 'Nothing' in its model"),
        (lambda: model.to_json("Nothing", {}), "shape 'Nothing' in its model"),
        (lambda: model.from_json("Nothing", {}), "shape 'Nothing' in its model"),
    ],
)
def test_what_the_model_lacks_is_said_with_the_version(ask: Callable[[], object], lacks: str) -> None:
    with pytest.raises(model.NotInModel) as caught:
        ask()
    message = str(caught.value)
    assert message.startswith(f"botocore {model.botocore_version()} has no {lacks}")
    assert message.endswith("Correct the name, or upgrade (pip install --upgrade botocore).")
    assert isinstance(caught.value, ReplyError)


def test_a_botocore_without_the_service_is_named() -> None:
    with pytest.raises(model.NotInModel, match=f"^botocore {model.botocore_version()} has no service 'bedrok'"):
        model.service("bedrok")


def test_an_operation_without_a_stream_names_those_that_have_one() -> None:
    with pytest.raises(model.NotInModel, match=r"^Converse does not answer with a stream .*: ConverseStream, "):
        model.stream_events("Converse")


def test_operations_of_the_control_plane_are_known() -> None:
    model.check_operation("ConverseStream")
    model.check_operation("InvokeModel")
    model.check_operation("GetInferenceProfile")


def test_errors_have_the_measured_statuses() -> None:
    recorded = {row.shape for row in model.BEYOND_MODEL if isinstance(row, ExtraError)}
    modelled = {name: (each.status, each.fault) for name, each in model.all_errors().items() if name not in recorded}
    assert modelled == STATUSES
    assert set(model.errors("Converse")) == set(STATUSES) - {
        "ConflictException",
        "ModelStreamErrorException",
        "ServiceQuotaExceededException",
    }
    assert model.errors("Converse") == model.errors("ConverseStream")
    assert set(model.errors("Converse")["ModelErrorException"].members) == {
        "message",
        "originalStatusCode",
        "resourceName",
    }


def test_errors_beyond_the_model_are_among_all_errors() -> None:
    assert model.all_errors()["UnrecognizedClientException"] == model.ErrorShape(
        "UnrecognizedClientException", 403, "client", ("message",)
    )
    assert "UnrecognizedClientException" not in model.errors("Converse")


def test_tables_handed_out_cannot_be_changed() -> None:
    for table in (model.errors("Converse"), model.all_errors(), model.stream_exceptions()):
        with pytest.raises(TypeError):
            table["Other"] = None  # type: ignore[index]


def test_the_stream_has_six_events_and_five_exceptions() -> None:
    assert model.stream_events() == (
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    )
    assert {name: each.name for name, each in model.stream_exceptions().items()} == {
        "internalServerException": "InternalServerException",
        "modelStreamErrorException": "ModelStreamErrorException",
        "serviceUnavailableException": "ServiceUnavailableException",
        "throttlingException": "ThrottlingException",
        "validationException": "ValidationException",
    }
    assert model.stream_exceptions()["modelStreamErrorException"].status == 424
    assert model.stream_shape("metadata") == "ConverseStreamMetadataEvent"
    assert model.stream_shape("throttlingException") == "ThrottlingException"


def test_enums() -> None:
    assert {"end_turn", "tool_use", "max_tokens"} <= set(model.enum("StopReason"))
    assert model.enum("ToolName") == ()
    assert model.enum("Message") == ()


def test_the_union_of_events_counts_as_a_union_and_a_document_as_one() -> None:
    assert model.is_union(model.shape("ConverseStreamOutput"))
    assert model.is_union(model.shape("ContentBlock"))
    assert not model.is_union(model.shape("Message"))
    assert model.is_document(model.member("ToolUseBlock", "input"))
    assert not model.is_document(model.shape("AnyToolChoice"))  # a structure that has no members
