"""Answer operations of Bedrock's control plane from the table of models: list the models, or describe one of them.

An answer contains only the members whose values are in the table. The list contains the ids that
`bedrock.models.listed_models` returns, with the names and inference types that AWS listed. AWS's API model determines
the form of the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from converse_harness.bedrock.models import bare, listed_model, listed_models, provider_of, standing, stands_for
from converse_harness.endpoint.call import Call

_REGION: Final = "us-east-1"
_ACCOUNT: Final = "123456789012"

Output = Mapping[str, Any]
"""The members of an operation's output."""


def _list_models(call: Call, models: Mapping[str, str]) -> Output | None:
    """Return the listed models that support Converse, are not retired, and match the filters of the request.

    Return None if the request contains a filter that the table of models cannot answer.
    """
    asked = _filters(call)
    if _unanswered_filter(asked) is not None:
        return None
    provider, inference = _folded(asked.get("byProvider", "")), asked.get("byInferenceType")
    rows = [each for each in listed_models() if inference is None or inference in each.inference]
    shown = [_described(each.id, each.name) for each in rows if _folded(provider_of(each.id)).startswith(provider)]
    return {"modelSummaries": shown}


def _filters(call: Call) -> Mapping[str, str]:
    return dict(parse_qsl(urlsplit(call.head.target).query))


def _folded(provider: str) -> str:
    return re.sub("[^a-z0-9]", "", provider.lower())


_FILTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "byInferenceType": ("ON_DEMAND",),
    "byOutputModality": ("TEXT",),
    "byProvider": (),
}
"""Maps each supported filter to the values for which the table has models; an empty tuple means every value."""


def _unanswered_filter(asked: Mapping[str, str]) -> tuple[str, str] | None:
    for name, value in asked.items():
        if name not in _FILTERS or (_FILTERS[name] and value not in _FILTERS[name]):
            return name, value
    return None


def why_unknown(call: Call) -> str | None:
    """Return the reason why the table of models has no answer to a call, as the rest of a sentence.

    The sentence begins with the operation and `is not answered: `. Return None if the table answers no call of the
    operation.
    """
    if call.operation == "ListFoundationModels":
        name, value = _unanswered_filter(_filters(call)) or ("", "")
        return (
            f"{name}={value!r} came, and the table of models has only models that answer with text. The filters that "
            "it can answer are byProvider, byOutputModality='TEXT' and byInferenceType='ON_DEMAND'."
        )
    if call.operation == "GetFoundationModel":
        return f"no row of the table of models has the model {call.path_params['modelIdentifier']!r}."
    if call.operation == "GetInferenceProfile":
        profile = call.path_params["inferenceProfileIdentifier"]
        return f"the table of models does not have the model behind {profile!r}."
    return None


def _get_model(call: Call, models: Mapping[str, str]) -> Output | None:
    asked = stands_for(models, call.path_params["modelIdentifier"])
    known = standing(asked)
    if known.model is None or known.inferred:
        return None
    return {"modelDetails": _described(bare(asked), known.model.name)}


def _described(model_id: str, name: str) -> dict[str, Any]:
    """Return the known facts about a model as members of the output. `name` is used if AWS has not listed the model."""
    listed = listed_model(model_id)
    described = {
        "modelArn": _model_arn(model_id, _REGION),
        "modelId": model_id,
        "modelName": name if listed is None else listed.name,
        "providerName": provider_of(model_id),
    }
    if listed is None:
        return described
    return {**described, "outputModalities": ["TEXT"], "inferenceTypesSupported": [*listed.inference]}


def _model_arn(model_id: str, region: str) -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{model_id}"


def _get_profile(call: Call, models: Mapping[str, str]) -> Output | None:
    """Return the output for an inference profile; None if the model behind the profile is unknown.

    The profile has a region prefix such as `us.`, or its id matches a glob in the setting `models`.
    """
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
"""Maps each operation that the table of models can answer to the function that builds its output.

The function takes the call and the setting `models`, which maps ids such as ARNs to the ids of models. It returns None
if the table of models does not contain the answer.
"""
