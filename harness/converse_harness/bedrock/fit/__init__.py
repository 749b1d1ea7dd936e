"""What an answer needs in its request, as one table: FITS. `misfits_of` applies it to a request and an answer.

It is the mirror of the rules: a rule says what a request must not have, and a row of this table what an answer can have
only if the request has something. What is not known to need anything is not in the table, such as the stop reasons
content_filtered and malformed_tool_use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from converse_harness.bedrock.fit.contents import (
    CONTENTS,
    MEDIA,
    misfits_of_citations,
    misfits_of_formats,
    misfits_of_media,
    misfits_of_prefills,
    misfits_of_reasoning,
    thinks,
)
from converse_harness.bedrock.fit.guardrails import GUARDRAILS, TRACE_IS_ASKED, misfits_of_guardrails
from converse_harness.bedrock.fit.metadata import (
    METADATA,
    misfits_of_limits,
    misfits_of_members,
    misfits_of_stops,
    misfits_of_usage,
)
from converse_harness.bedrock.fit.row import (
    FREE_STOPS,
    LIKELIHOODS,
    Answer,
    Fit,
    FitFinder,
    Likelihood,
    Misfit,
    ids_in,
    needed_of,
    parts_of_request,
)
from converse_harness.bedrock.fit.tools import (
    TOOLS,
    is_usual,
    misfits_of_forced_tools,
    misfits_of_server_tools,
    misfits_of_tools,
    offered_in,
)
from converse_harness.bedrock.rules.request import RuleRequest
from converse_harness.json_values import member_of
from converse_harness.words import unknown_in_table

__all__ = [
    "BY_NAME",
    "FITS",
    "FREE_STOPS",
    "LIKELIHOODS",
    "TRACE_IS_ASKED",
    "Answer",
    "Fit",
    "Likelihood",
    "Misfit",
    "ids_in",
    "is_usual",
    "misfits_of",
    "needed_of",
    "offered_in",
    "thinks",
    "unknown_fit",
    "used_of",
]

FITS: Final[tuple[Fit, ...]] = (*TOOLS, *GUARDRAILS, *CONTENTS, *METADATA)
"""All rows of the table."""

BY_NAME: Final[Mapping[str, Fit]] = {fit.name: fit for fit in FITS}
"""The rows by their names."""


def unknown_fit(name: object) -> str:
    """Return the text of an error about a name that no row has; "" if a row has it."""
    return unknown_in_table(
        name, BY_NAME, "row", "`converse-harness docs answers` lists the rows; a note has the name in its line `row`."
    )


_FINDERS: Final[tuple[tuple[frozenset[str], FitFinder], ...]] = (
    (frozenset({"toolUse", "stop tool_use"}), misfits_of_tools),
    (frozenset({"forced tool"}), misfits_of_forced_tools),
    (frozenset({"toolUse", "toolResult", "usage"}), misfits_of_server_tools),
    (frozenset({"trace", "stop guardrail_intervened"}), misfits_of_guardrails),
    (frozenset({"reasoningContent"}), misfits_of_reasoning),
    (frozenset({"citationsContent"}), misfits_of_citations),
    (frozenset({"text format"}), misfits_of_formats),
    (frozenset({"prefill"}), misfits_of_prefills),
    (frozenset(MEDIA), misfits_of_media),
    (frozenset({"usage", "fewer tokens"}), misfits_of_usage),
    (frozenset({"stop max_tokens"}), misfits_of_limits),
    (frozenset({"stop stop_sequence", "stop sequences"}), misfits_of_stops),
    (frozenset({"additionalModelResponseFields", "serviceTier", "performanceConfig", "trace"}), misfits_of_members),
)
"""The functions that look for misfits, each with the parts of an answer or a request for which it must be called."""


@lru_cache(1024)
def _finders_for(parts: frozenset[str], of_request: tuple[str, ...]) -> tuple[FitFinder, ...]:
    there = parts.union(of_request)
    return tuple(find for needed, find in _FINDERS if not there.isdisjoint(needed))


def misfits_of(asked: RuleRequest, answer: Answer) -> Iterator[Misfit]:
    """Yield one Misfit for each row by which an answer does not fit its request.

    >>> asked = RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": []})
    >>> answer = Answer([{"toolUse": {"name": "book", "input": {}}}], "tool_use")
    >>> [misfit.fit.name for misfit in misfits_of(asked, answer)]
    ['tools_are_offered']
    """
    found: set[str] = set()
    for find in _finders_for(answer.parts, parts_of_request(asked.items_of_body, answer.tokens)):
        for name, values in find(asked, answer):
            fit = BY_NAME[name]
            if name not in found and asked.model.id in fit.models:
                found.add(name)
                yield Misfit(fit, fit.text.format(**values))


def used_of(asked: RuleRequest, answer: Answer) -> list[str]:
    """Return the paths of the members of a request that an answer uses: those that it needs, and that are there.

    >>> tool = {"toolSpec": {"name": "book", "inputSchema": {"json": {"type": "object"}}}}
    >>> asked = RuleRequest("Converse", "us.amazon.nova-lite-v1:0", {"messages": [], "toolConfig": {"tools": [tool]}})
    >>> used_of(asked, Answer([{"toolUse": {"name": "book", "input": {}}}], "tool_use"))
    ['toolConfig.tools']
    """
    lacking = {misfit.fit.member for misfit in misfits_of(asked, answer)}
    there = answer.parts.union(parts_of_request(asked.items_of_body, answer.tokens))
    rows = (fit for fit in FITS if not there.isdisjoint(fit.parts) and asked.model.id in fit.models)
    members = dict.fromkeys(fit.member for fit in rows if fit.member not in lacking)
    return [path for path in members if member_of(asked.body, *path.split(".")) is not None]
