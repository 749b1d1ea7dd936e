"""The table of Bedrock's models. The request rules, the chunking, the usage and the prompt cache read this table.

`standing` finds the row of a model id. If an id is not in the table but belongs to a known line of models, such as
Claude Opus, `standing` returns the row of the closest earlier model of this line. Messages about the id then mention
this. To all other unknown ids, only the rules for all models apply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from converse_harness.bedrock.models.amazon import AMAZON
from converse_harness.bedrock.models.claude import CLAUDE
from converse_harness.bedrock.models.other_makers import OTHER_MAKERS
from converse_harness.bedrock.models.row import Model

MODELS: Final[tuple[Model, ...]] = (*CLAUDE, *AMAZON, *OTHER_MAKERS)
"""The known models; the first row whose glob matches an id applies.

Sources, beside those that a row names: AWS's model cards, model lifecycle page and prompt caching page, as of autumn
2026. Of models that have reached their end of life, those without a date here were recorded in public after it.
"""

_REGIONS: Final = frozenset({"apac", "au", "ca", "eu", "global", "in", "jp", "sa", "us", "us-gov"})
"""The id prefixes of cross-region inference profiles."""


def bare(model_id: str) -> str:
    """Remove, from a model id, the rest of its ARN and the region prefix of an inference profile.

    >>> bare("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0")
    'amazon.nova-lite-v1:0'
    """
    name = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
    region, _, rest = name.partition(".")
    return rest if region in _REGIONS else name


class Standing(NamedTuple):
    """What the table MODELS contains about a model id.

    `model` is the row that applies, or None. `id` is the model id that selects the request rules. If `inferred` is
    true, the row and this id belong to an older model of the same line.
    """

    id: str
    model: Model | None
    inferred: bool = False


@lru_cache(512)
def standing(model_id: str) -> Standing:
    """Find the row of the table MODELS for a model id, an inference profile id or an ARN.

    >>> standing("us.anthropic.claude-opus-4-8").model.name
    'Claude Opus 4.8'
    >>> later = standing("us.anthropic.claude-opus-9")
    >>> later.model.name, later.inferred
    ('Claude Opus 5.5', True)
    >>> standing("my-model").model is None
    True
    """
    name = bare(model_id)
    for model in MODELS:
        if fnmatchcase(name, model.ids):
            return Standing(name, model)
    known = _last_before(name)
    return Standing(name, None) if known is None else Standing(known.example, known, inferred=True)


_VERSION: Final = re.compile(r"(?:-?[a-z]+)*-?v?([0-9]{1,2})(?:[-.]([0-9]{1,2})(?![0-9a-z]))?(?![0-9a-z])")
"""Matches the version number in a model id, with the text between the prefix `Model.line` and this number. Sizes, such
as 70b, and dates do not count as versions."""


_OPEN: Final = frozenset({"claude"})
"""Lines that contain models with several names; for example, the line `claude` contains `claude-fable` and
`claude-opus`. For an id with an unknown name, `_last_before` searches the rows of all names.
"""


def _last_before(name: str) -> Model | None:
    """Return the row of the newest model that has the line of the model id `name` and at most its version.

    Return None if there is no such row, or if the id has no known line or no version.
    """
    maker, _, rest = name.partition(".")
    of_maker = [model for model in MODELS if model.maker == maker]
    line = max((model.line for model in of_maker if rest.startswith(model.line)), key=len, default="")
    found = _VERSION.match(rest.removeprefix(line)) if line else None
    if found is None:
        return None
    version = tuple(int(each) for each in found.groups() if each)
    lines = {model.line for model in of_maker if line in _OPEN and model.line.startswith(line)} | {line}
    before = [model for model in of_maker if model.line in lines and model.version <= version]
    return max(before, key=lambda model: model.version, default=None)


def stands_for(model_ids: Mapping[str, str], model_id: str) -> str:
    """Return the value of the first key of `model_ids` that, as a glob, matches `model_id`.

    If no key matches, return `model_id`.

    >>> stands_for({"arn:*": "anthropic.claude-sonnet-5"}, "arn:aws:bedrock:us-east-1:1:imported-model/x")
    'anthropic.claude-sonnet-5'
    """
    return next((model for glob, model in model_ids.items() if fnmatchcase(model_id, glob)), model_id)


@lru_cache(512)
def cut_as(model_id: str) -> str:
    """Return the name of the family that describes how a model's answers are cut into deltas.

    >>> cut_as("amazon.titan-text-lite-v1"), cut_as("my-model")
    ('titan', 'neutral')
    """
    model = standing(model_id).model
    return _CUT_OF_UNKNOWN.get(bare(model_id).partition(".")[0], "neutral") if model is None else model.cut


_CUT_OF_UNKNOWN: Final[Mapping[str, str]] = {
    model.maker: model.cut for model in sorted(MODELS, key=lambda model: model.version)
}
"""Maps each maker to the family of its newest row; it applies to the maker's ids that have no row."""
