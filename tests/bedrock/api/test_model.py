"""The model is the installed botocore's: names, errors and events come from it, and what it lacks is said clearly."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from converse_harness import bedrock
from converse_harness.bedrock.api.beyond import ExtraError
from converse_harness.errors import ReplyError

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


@pytest.mark.needs_os
def test_importing_the_model_loads_no_botocore() -> None:
    code = "import sys, converse_harness.bedrock; print([name for name in sys.modules if name.startswith('botocore')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"


def test_the_model_is_loaded_once() -> None:
    assert bedrock.service() is bedrock.service()
    assert bedrock.shape("Message") is bedrock.shape("Message")


def test_models_in_the_home_of_the_user_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.loaders

    own = tmp_path / "bedrock-runtime" / "2099-01-01"
    own.mkdir(parents=True)
    (own / "service-2.json").write_text('{"metadata": {"apiVersion": "2099-01-01"}, "operations": {}, "shapes": {}}')
    monkeypatch.setattr(botocore.loaders.Loader, "CUSTOMER_DATA_PATH", str(tmp_path))
    assert botocore.loaders.Loader().determine_latest_version("bedrock-runtime", "service-2") == "2099-01-01"
    assert bedrock.service.__wrapped__().api_version == bedrock.service().api_version == "2023-09-30"


def test_version_is_that_of_the_installed_botocore() -> None:
    import botocore

    assert bedrock.botocore_version() == botocore.__version__


def test_operations_and_their_shapes() -> None:
    assert {"Converse", "ConverseStream"} <= set(bedrock.operations())
    assert bedrock.operation("Converse").output_shape.name == "ConverseResponse"
    assert bedrock.operation("Converse").http["requestUri"] == "/model/{modelId}/converse"


def test_has_shape_and_has_member() -> None:
    assert bedrock.has_shape("ContentBlock")
    assert not bedrock.has_shape("Contentblock")
    assert bedrock.has_member("ContentBlock", "text")
    assert not bedrock.has_member("ContentBlock", "Text")
    assert not bedrock.has_member("NoSuchShape", "text")
    assert not bedrock.has_member("StopReason", "text")
    assert bedrock.member("ConverseResponse", "usage").name == "TokenUsage"


@pytest.mark.parametrize(
    ("ask", "lacks"),
    [
        (
            lambda: bedrock.shape("ContentBlok"),
            "shape 'ContentBlok' in its model of bedrock-runtime. Did you mean 'Cont",
        ),
        (
            lambda: bedrock.operation("converse"),
            "operation 'converse' in its model of bedrock-runtime. Did you mean 'C",
        ),
        (lambda: bedrock.member("Message", "roles"), "member of Message 'roles' in its model of bedrock-runtime. Did"),
        (lambda: bedrock.stream_shape("delta"), "event of ConverseStream 'delta' in its model of bedrock-runtime."),
        (
            lambda: bedrock.operation("Retreive", "bedrock-agent-runtime"),
            "operation 'Retreive' in its model of bedrock-agent-runtime. Did you mean 'Retrieve'",
        ),
        (lambda: bedrock.shape("Nothing", "bedrock"), "shape 'Nothing' in its model of bedrock."),
        (lambda: bedrock.enum("Nothing"), "shape 'Nothing' in its model"),
        (lambda: bedrock.validate("Nothing", {}), "shape 'Nothing' in its model"),
        (lambda: bedrock.to_json("Nothing", {}), "shape 'Nothing' in its model"),
        (lambda: bedrock.from_json("Nothing", {}), "shape 'Nothing' in its model"),
    ],
)
def test_what_the_model_lacks_is_said_with_the_version(ask: Callable[[], object], lacks: str) -> None:
    with pytest.raises(bedrock.NotInModel) as caught:
        ask()
    message = str(caught.value)
    assert message.startswith(f"botocore {bedrock.botocore_version()} has no {lacks}")
    remedy = "Correct the name, or upgrade (pip install --upgrade botocore)."
    assert message.endswith(remedy) != ("Did you mean" in message)  # an upgrade would not help
    assert isinstance(caught.value, ReplyError)


def test_a_botocore_without_the_service_is_named() -> None:
    with pytest.raises(bedrock.NotInModel, match=f"^botocore {bedrock.botocore_version()} has no service 'bedrok'"):
        bedrock.service("bedrok")


def test_every_service_of_bedrock_is_known_and_the_usual_ones_come_first() -> None:
    assert bedrock.services()[:2] == ("bedrock-runtime", "bedrock")
    assert {"bedrock-agent", "bedrock-agent-runtime"} <= set(bedrock.services()[2:])
    assert len(set(bedrock.services())) == len(bedrock.services())


@pytest.mark.parametrize(
    ("operation", "services"),
    [
        ("ConverseStream", ("bedrock-runtime",)),
        ("GetInferenceProfile", ("bedrock",)),
        ("Retrieve", ("bedrock-agent-runtime",)),
        ("GetFlow", ("bedrock-agent",)),
        ("ListTagsForResource", ("bedrock",)),  # others have it too: the usual services take precedence
        ("Konverse", ()),
    ],
)
def test_services_of_an_operation(operation: str, services: tuple[str, ...]) -> None:
    assert bedrock.services_of(operation) == services


def test_errors_have_the_measured_statuses() -> None:
    recorded = {row.shape for row in bedrock.BEYOND_MODEL if isinstance(row, ExtraError)}
    modelled = {name: (each.status, each.fault) for name, each in bedrock.all_errors().items() if name not in recorded}
    assert modelled == STATUSES
    assert set(bedrock.errors("Converse")) == set(STATUSES) - {
        "ConflictException",
        "ModelStreamErrorException",
        "ServiceQuotaExceededException",
    }
    assert bedrock.errors("Converse") == bedrock.errors("ConverseStream")
    assert set(bedrock.errors("Converse")["ModelErrorException"].members) == {
        "message",
        "originalStatusCode",
        "resourceName",
    }


def test_errors_beyond_the_model_are_among_all_errors() -> None:
    assert bedrock.all_errors()["UnrecognizedClientException"] == bedrock.ErrorShape(
        "UnrecognizedClientException", 403, "client", ("message",)
    )
    assert "UnrecognizedClientException" not in bedrock.errors("Converse")


def test_tables_handed_out_cannot_be_changed() -> None:
    for table in (bedrock.errors("Converse"), bedrock.all_errors(), bedrock.stream_exceptions()):
        with pytest.raises(TypeError):
            table["Other"] = None  # type: ignore[index]


def test_the_stream_has_six_events_and_five_exceptions() -> None:
    assert bedrock.stream_events() == (
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    )
    assert {name: each.name for name, each in bedrock.stream_exceptions().items()} == {
        "internalServerException": "InternalServerException",
        "modelStreamErrorException": "ModelStreamErrorException",
        "serviceUnavailableException": "ServiceUnavailableException",
        "throttlingException": "ThrottlingException",
        "validationException": "ValidationException",
    }
    assert bedrock.stream_exceptions()["modelStreamErrorException"].status == 424
    assert bedrock.stream_shape("metadata") == "ConverseStreamMetadataEvent"
    assert bedrock.stream_shape("throttlingException") == "ThrottlingException"


def test_enums() -> None:
    assert {"end_turn", "tool_use", "max_tokens"} <= set(bedrock.enum("StopReason"))
    assert bedrock.enum("ToolName") == ()
    assert bedrock.enum("Message") == ()


def test_the_union_of_events_counts_as_a_union_and_a_document_as_one() -> None:
    assert bedrock.is_union(bedrock.shape("ConverseStreamOutput"))
    assert bedrock.is_union(bedrock.shape("ContentBlock"))
    assert not bedrock.is_union(bedrock.shape("Message"))
    assert bedrock.is_document(bedrock.member("ToolUseBlock", "input"))
    assert not bedrock.is_document(bedrock.shape("AnyToolChoice"))  # a structure that has no members
