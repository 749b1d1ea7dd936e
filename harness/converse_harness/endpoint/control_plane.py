"""Answer operations of Bedrock's control plane from the table of models: what models there are, and one of them.

The answers contain what the table knows, and no member beyond. They are built from AWS's model; no recording has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from converse_harness.bedrock.models import MODELS, Model, bare, standing, stands_for
from converse_harness.endpoint.call import Call

_REGION: Final = "us-east-1"
_ACCOUNT: Final = "123456789012"
_LONGEST_NAME: Final = 20
"""A longer modelName is not allowed by AWS's model."""

Output = Mapping[str, Any]
"""The members of an operation's output."""


def known_answer(call: Call, models: Mapping[str, str]) -> Output | None:
    """Return the output of an operation of the control plane; None if the table of models does not have the answer.

    `models` is the setting of this name: what stands behind ids such as ARNs.
    """
    answers = ANSWERS.get(call.operation or "")
    return None if answers is None else answers(call, models)


def _list_models(call: Call, models: Mapping[str, str]) -> Output | None:
    """List the models that Converse takes and that are not at the end of their life.

    The table has the maker and that they answer with text. It cannot answer other filters.
    """
    del models
    asked = dict(parse_qsl(urlsplit(call.request.target).query))
    provider = asked.pop("byProvider", "").lower().replace(" ", "")
    if asked.pop("byOutputModality", "TEXT") != "TEXT" or asked:
        return None
    rows = [model for model in MODELS if model.converses and not model.retired]
    rows = [
        model for model in rows if not provider or provider.startswith(model.maker) or model.maker.startswith(provider)
    ]
    return {"modelSummaries": [_described(model, model.example) for model in rows]}


def _get_model(call: Call, models: Mapping[str, str]) -> Output | None:
    asked = stands_for(models, call.path_params["modelIdentifier"])
    known = standing(asked)
    if known.model is None or known.inferred:
        return None
    return {"modelDetails": _described(known.model, bare(asked))}


def _described(model: Model, model_id: str) -> dict[str, Any]:
    name = {"modelName": model.name} if len(model.name) <= _LONGEST_NAME else {}
    return {"modelArn": _model_arn(model_id, _REGION), "modelId": model_id, **name}


def _model_arn(model_id: str, region: str) -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{model_id}"


def _get_profile(call: Call, models: Mapping[str, str]) -> Output | None:
    """Describe the profile of a region, such as `us.`, or one for which the setting `models` has the model."""
    asked = call.path_params["inferenceProfileIdentifier"]
    profile = asked.rpartition("/")[2]
    model = stands_for(models, asked)
    is_system = model == asked and bare(asked) != profile
    if standing(model).model is None or not (is_system or model != asked):
        return None
    region = asked.split(":")[3] if asked.startswith("arn:") and asked.count(":") > 3 else _REGION
    kind = "inference-profile" if is_system else "application-inference-profile"
    arn = asked if asked.startswith("arn:") else f"arn:aws:bedrock:{region}:{_ACCOUNT}:{kind}/{profile}"
    return {
        "inferenceProfileName": re.sub("[^0-9a-zA-Z]+", " ", profile).strip(),
        "inferenceProfileArn": arn,
        "inferenceProfileId": profile,
        "models": [{"modelArn": _model_arn(bare(model), region)}],
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED" if is_system else "APPLICATION",
    }


ANSWERS: Final[Mapping[str, Callable[[Call, Mapping[str, str]], Output | None]]] = {
    "ListFoundationModels": _list_models,
    "GetFoundationModel": _get_model,
    "GetInferenceProfile": _get_profile,
}
"""Maps each operation that the table of models can answer to the function that builds its output."""
