"""What AWS sends, in rules written by hand: each says what must hold of an answer, and where that was seen.

A rule takes an answer as a ConverseResponse and gives what is wrong with it; nothing is wrong if it gives nothing.
Source "recorded": none of the 349 recorded answers is otherwise. Source "from the model": AWS's documentation and
model say so, and no recorded answer is otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class SentRule:
    """One rule: its name, what must hold, its source, and the function that finds what is wrong."""

    name: str
    about: str
    source: str
    broken: Callable[[Answer], Iterable[object]]


def _content(answer: Answer) -> list[Mapping[str, Any]]:
    return list(answer["output"]["message"]["content"])


def _inside(answer: Answer, kind: str) -> list[Any]:
    return [block[kind] for block in _content(answer) if kind in block]


def _client_tools(answer: Answer) -> list[Any]:
    return [use for use in _inside(answer, "toolUse") if use.get("type") != "server_tool_use"]


def _server_tools(answer: Answer) -> list[Any]:
    return [use for use in _inside(answer, "toolUse") if use.get("type") == "server_tool_use"]


def _places(answer: Answer) -> list[str]:
    """The members of CitationLocation that the answer cites by."""
    cited = [each for block in _inside(answer, "citationsContent") for each in block["citations"]]
    return [kind for each in cited for kind in each.get("location", {})]


def _signed(answer: Answer) -> list[Any]:
    return [block for block in _inside(answer, "reasoningContent") if "signature" in block.get("reasoningText", block)]


def _redacted(answer: Answer) -> list[Any]:
    return [block for block in _inside(answer, "reasoningContent") if "redactedContent" in block]


def _entries(assessment: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for policy, lists in assessment.items():
        if policy.endswith("Policy"):
            for entries in lists.values():
                yield from entries


def _actions(answer: Answer, *sides: str) -> list[str]:
    guardrail = answer.get("trace", {}).get("guardrail", {})
    given = list(guardrail.get("inputAssessment", {}).values()) if "input" in sides else []
    made = guardrail.get("outputAssessments", {}).values() if "output" in sides else ()
    given += [assessment for each in made for assessment in each]
    return [entry["action"] for assessment in given for entry in _entries(assessment) if "action" in entry]


def _stopped_otherwise(answer: Answer, actions: Iterable[str], action: str) -> bool:
    return action in actions and answer["stopReason"] != "guardrail_intervened"


RECORDED: Final = "recorded"
FROM_THE_MODEL: Final = "from the model"

SENT: Final = (
    SentRule(
        "tokens_are_counted",
        "An answer has used tokens of both sides.",
        RECORDED,
        lambda answer: [name for name in ("inputTokens", "outputTokens") if answer["usage"][name] < 1],
    ),
    SentRule(
        "tokens_add_up",
        "The total is the sum of input, output, cache read and cache write.",
        RECORDED,
        lambda answer: (
            {answer["usage"]["totalTokens"]}
            - {
                answer["usage"]["inputTokens"]
                + answer["usage"]["outputTokens"]
                + answer["usage"].get("cacheReadInputTokens", 0)
                + answer["usage"].get("cacheWriteInputTokens", 0)
            }
        ),
    ),
    SentRule(
        "cache_details_add_up",
        "The entries of cacheDetails add up to what was written.",
        RECORDED,
        lambda answer: (
            {sum(each["inputTokens"] for each in answer["usage"].get("cacheDetails", ()))}
            - {0 if "cacheDetails" not in answer["usage"] else answer["usage"]["cacheWriteInputTokens"]}
        ),
    ),
    SentRule(
        "counts_are_repeated",
        "A count of the cache that comes twice is the same twice.",
        RECORDED,
        lambda answer: [
            name
            for name in ("cacheReadInputToken", "cacheWriteInputToken")
            if answer["usage"].get(f"{name}Count", answer["usage"].get(f"{name}s")) != answer["usage"].get(f"{name}s")
        ],
    ),
    SentRule(
        "tool_use_stops_for_a_tool",
        "The stop reason tool_use comes with a tool use for the client.",
        RECORDED,
        lambda answer: ["no tool"] if answer["stopReason"] == "tool_use" and not _client_tools(answer) else [],
    ),
    SentRule(
        "a_tool_does_not_end_the_turn",
        "A tool use for the client does not come with end_turn.",
        RECORDED,
        lambda answer: _client_tools(answer) if answer["stopReason"] == "end_turn" else [],
    ),
    SentRule(
        "tools_are_typed_alike",
        "All tool uses for the client in an answer have a type, or none has.",
        RECORDED,
        lambda answer: ["both"] if len({use.get("type") for use in _client_tools(answer)}) > 1 else [],
    ),
    SentRule(
        "a_malformed_tool_use_has_a_tool",
        "The stop reason malformed_tool_use comes with a tool use.",
        FROM_THE_MODEL,
        lambda answer: (
            ["no tool"] if answer["stopReason"] == "malformed_tool_use" and not _inside(answer, "toolUse") else []
        ),
    ),
    SentRule(
        "signatures_and_server_tools",
        "Signed or redacted reasoning, which is Claude's, is in no answer with a server tool, which is Nova's.",
        FROM_THE_MODEL,
        lambda answer: [*_signed(answer), *_redacted(answer)] if _server_tools(answer) else [],
    ),
    SentRule(
        "signatures_and_images",
        "Signed or redacted reasoning is in no answer with an image, which Claude does not make.",
        FROM_THE_MODEL,
        lambda answer: [*_signed(answer), *_redacted(answer)] if _inside(answer, "image") else [],
    ),
    SentRule(
        "citations_of_one_sort",
        "An answer cites web pages, or documents and search results.",
        RECORDED,
        lambda answer: _places(answer) if "web" in _places(answer) and {*_places(answer)} != {"web"} else [],
    ),
    SentRule(
        "documents_and_server_tools",
        "Citations of documents, which are Claude's, are in no answer with a server tool.",
        FROM_THE_MODEL,
        lambda answer: [place for place in _places(answer) if place != "web"] if _server_tools(answer) else [],
    ),
    SentRule(
        "signatures_and_the_web",
        "Signed or redacted reasoning is in no answer that cites web pages.",
        FROM_THE_MODEL,
        lambda answer: [*_signed(answer), *_redacted(answer)] if "web" in _places(answer) else [],
    ),
    SentRule(
        "blocked_is_intervened",
        "What a guardrail blocked stops with guardrail_intervened.",
        RECORDED,
        lambda answer: (
            ["BLOCKED"] if _stopped_otherwise(answer, _actions(answer, "input", "output"), "BLOCKED") else []
        ),
    ),
    SentRule(
        "anonymized_is_intervened",
        "What a guardrail anonymized of an output stops with guardrail_intervened.",
        RECORDED,
        lambda answer: ["ANONYMIZED"] if _stopped_otherwise(answer, _actions(answer, "output"), "ANONYMIZED") else [],
    ),
    SentRule(
        "server_tools_are_answered",
        "The result of a server tool follows its tool use, with the same id.",
        FROM_THE_MODEL,
        lambda answer: (
            {result["toolUseId"] for result in _inside(answer, "toolResult")}
            - {use["toolUseId"] for use in _server_tools(answer)}
        ),
    ),
    SentRule(
        "ids_differ",
        "No two tool uses have the same id.",
        RECORDED,
        lambda answer: [
            len(ids) for ids in [[use["toolUseId"] for use in _inside(answer, "toolUse")]] if len(ids) > len({*ids})
        ],
    ),
    SentRule(
        "an_image_has_bytes",
        "An image of an answer has bytes.",
        FROM_THE_MODEL,
        lambda answer: [image for image in _inside(answer, "image") if not image["source"].get("bytes")],
    ),
)
"""Every rule."""


def never_sent(answer: Answer) -> list[str]:
    """The names of the rules that an answer breaks."""
    return [rule.name for rule in SENT if [*rule.broken(answer)]]
