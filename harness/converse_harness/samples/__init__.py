"""Realistic example values: one for every message and tool type, and one for every kind of personal data.

The values fit each other, because they belong to one conversation: a traveller asks what to pack, the model asks a tool
for the weather, the tool answers. A value is the same in every process; each access returns a new copy, which you may
change. In pytest every value is also a fixture; `table.py` lists them. At its start pytest imports only this package
and the table; the other modules are imported when a value is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from converse_harness.errors import ReplyError
from converse_harness.samples.table import SAMPLES, VARIANTS

__all__ = ["NAMES", "UnknownSample", "pii", "sample", "variants"]

NAMES: Final = tuple(SAMPLES)
"""The names of all samples. A name is either `module.Type` for a type of `converse_harness.types`, such as
`content.Message`, or the name of a shape of AWS's API model, such as `TokenUsage`."""


class UnknownSample(ReplyError, LookupError):
    """Raised if no sample, kind or set of variants has this name, or if the name is ambiguous.

    The message suggests similar names.

    >>> sample("Mesage")
    UnknownSample: ...Message...
    """


def sample(name: str) -> Any:
    """Return a new sample value of a type or shape; the module may be omitted if only one module has the name.

    Raises UnknownSample for an unknown or ambiguous name.

    >>> sample("tools.ToolUse")
    {'toolUseId': 'tooluse_8Kf2mXq0RtWvY3hNcLbP5A', 'name': 'get_weather', 'input': {'city': 'Zürich', 'days': 2}}
    >>> sample("ToolResult")["toolUseId"] == sample("ToolUse")["toolUseId"]
    True
    """
    from converse_harness.samples.objects import OBJECTS, fresh
    from converse_harness.samples.values import VALUES

    if name not in SAMPLES:
        found = [each for each in SAMPLES if each.rpartition(".")[2] == name]
        if len(found) > 1:
            raise UnknownSample(f"{name!r} is the name of several samples: {', '.join(found)}. Write one of these.")
        if not found:
            raise UnknownSample(_unknown("sample", name, SAMPLES))
        (name,) = found
    return OBJECTS[name]() if name in OBJECTS else fresh(VALUES[name])


def pii(kind: str) -> str:
    """Return a made-up value of a kind of personal data, a member of AWS's enum GuardrailPiiEntityType.

    Raises UnknownSample for an unknown kind.

    >>> pii("US_SOCIAL_SECURITY_NUMBER").startswith("987-65-432")
    True
    """
    from converse_harness.samples.content import PII

    if kind not in PII:
        raise UnknownSample(_unknown("kind of personal data", kind, PII))
    return PII[kind]


def variants(name: str) -> dict[str, Any]:
    """Return a new value for each variant of a type. The keys are the paths of the variants in AWS's API model.

    `name` is the fixture's name without `converse_each_`. Variants that the installed botocore lacks are left out.
    Raises UnknownSample for an unknown name.

    >>> variants("tool_choice")
    {'auto': {'auto': {}}, 'any': {'any': {}}, 'tool': {'tool': {'name': 'get_weather'}}}
    """
    if name not in VARIANTS:
        raise UnknownSample(_unknown("set of variants", name, VARIANTS))
    from converse_harness.samples.objects import fresh
    from converse_harness.samples.values import variants_of

    return {path: fresh(value) for path, value in variants_of(name)}


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    import difflib

    names = list(known)
    short = {each.rpartition(".")[2].lower(): each for each in names} | {each.lower(): each for each in names}
    close = difflib.get_close_matches(str(name).lower(), short, n=1)
    hint = f" Did you mean {short[close[0]]!r}?" if close else ""
    listed = f"One of: {', '.join(names)}." if len(names) < 40 else "All: converse_harness.samples.NAMES."
    return f"there is no {what} {name!r}.{hint} {listed}"
