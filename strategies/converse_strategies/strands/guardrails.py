"""Strategies for `converse_harness.types.guardrails`. Lists are short. Every assessment contains all policies, because
Strands' types require them.
"""

from __future__ import annotations

from typing import Any, Final, get_args, get_type_hints

from hypothesis import strategies as st

from converse_harness.types import guardrails
from converse_strategies.basics import (
    RARELY,
    Texts,
    Value,
    Values,
    built,
    cached,
    composite,
    dicts,
    or_none,
    some,
    tagged,
)
from converse_strategies.message.guardrails import IDS, VERSIONS

_PERCENT: Final = st.integers(0, 100)
_MOST: Final = 2
"""The largest number of entries in a list of a policy.

A trace has many such lists, and short ones are enough to reveal errors in consumers.
"""


def _literals(kind: Any, name: str) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of the member `name` of the TypedDict `kind`. The type of this member is a
    Literal.
    """
    return st.sampled_from(get_args(get_type_hints(kind)[name]))


@cached
def _entries(kind: Any, texts: Texts | None) -> Values:
    """Return a strategy for dicts of the TypedDict `kind`. The type of each member must be a Literal or str."""
    hints = get_type_hints(kind)
    return dicts({name: some(texts) if hint is str else _literals(kind, name) for name, hint in hints.items()})


@cached
def _policies(**lists: Values) -> Values:
    return dicts({name: st.lists(entries, max_size=_MOST) for name, entries in lists.items()})


@cached
def guardrail_configs() -> Values:
    """GuardrailConfigs: dicts with an id and a version; some have a stream processing mode or a trace setting."""
    streaming = or_none(st.sampled_from(("sync", "async")))
    return dicts(
        {"guardrailIdentifier": IDS, "guardrailVersion": VERSIONS},
        streamProcessingMode=streaming,
        trace=_literals(guardrails.GuardrailConfig, "trace"),
    )


def topics(*, texts: Texts | None = None) -> Values:
    """Topics: dicts with any name, the type `DENY` and the action `BLOCKED`."""
    return _entries(guardrails.Topic, texts)


def topic_policies(*, texts: Texts | None = None) -> Values:
    """TopicPolicies: dicts with a list of Topics, which may be empty."""
    return _policies(topics=topics(texts=texts))


def content_filters() -> Values:
    """ContentFilters of every type, confidence and action.

    >>> from hypothesis import find
    >>> find(content_filters(), lambda found: found["confidence"] != "NONE")
    {'action': 'BLOCKED', 'confidence': 'LOW', 'type': 'INSULTS'}
    """
    return _entries(guardrails.ContentFilter, None)


def content_policies() -> Values:
    """ContentPolicies: dicts with a list of ContentFilters, which may be empty."""
    return _policies(filters=content_filters())


def custom_words(*, texts: Texts | None = None) -> Values:
    """CustomWords: dicts with any text as the matched word, and an action."""
    return _entries(guardrails.CustomWord, texts)


def managed_words(*, texts: Texts | None = None) -> Values:
    """ManagedWords: dicts with any text as the matched word, the type `PROFANITY` and the action `BLOCKED`."""
    return _entries(guardrails.ManagedWord, texts)


def word_policies(*, texts: Texts | None = None) -> Values:
    """WordPolicies: dicts with lists of CustomWords and ManagedWords, which may be empty."""
    return _policies(customWords=custom_words(texts=texts), managedWordLists=managed_words(texts=texts))


def pii_entities(*, texts: Texts | None = None) -> Values:
    """PIIEntities of every type. `match` is any text; `converse_harness.samples` contains realistic examples."""
    return _entries(guardrails.PIIEntity, texts)


def regexes(*, texts: Texts | None = None) -> Values:
    """Regexes: dicts with a name, an expression, a match and an action. `regex` is any text, not always a valid
    expression.
    """
    return _entries(guardrails.Regex, texts)


def sensitive_information_policies(*, texts: Texts | None = None) -> Values:
    """SensitiveInformationPolicies: dicts with lists of PIIEntities and Regexes, which may be empty."""
    return _policies(piiEntities=pii_entities(texts=texts), regexes=regexes(texts=texts))


@cached
def contextual_grounding_filters() -> Values:
    """ContextualGroundingFilters. `action` is BLOCKED if the score is below the threshold, otherwise NONE.

    The score and the threshold are numbers from 0 to 1.

    >>> from hypothesis import find
    >>> find(contextual_grounding_filters(), lambda found: found["action"] == "BLOCKED")
    {'action': 'BLOCKED', 'score': 0.0, 'threshold': 0.01, 'type': 'GROUNDING'}
    """

    def found(score: int, threshold: int, type: str) -> Value:
        action = "BLOCKED" if score < threshold else "NONE"
        return {"action": action, "score": score / 100, "threshold": threshold / 100, "type": type}

    return built(found, _PERCENT, _PERCENT, _literals(guardrails.ContextualGroundingFilter, "type"))


def contextual_grounding_policies() -> Values:
    """ContextualGroundingPolicies: dicts with a list of ContextualGroundingFilters, which may be empty."""
    return _policies(filters=contextual_grounding_filters())


def guardrail_assessments(*, texts: Texts | None = None) -> Values:
    """GuardrailAssessments: dicts with all five policies, each of which may have no findings."""
    return dicts(
        {
            "contentPolicy": content_policies(),
            "contextualGroundingPolicy": contextual_grounding_policies(),
            "sensitiveInformationPolicy": sensitive_information_policies(texts=texts),
            "topicPolicy": topic_policies(texts=texts),
            "wordPolicy": word_policies(texts=texts),
        }
    )


@composite
def guardrail_traces(draw: st.DrawFn, *, texts: Texts | None = None) -> Value:
    """GuardrailTraces with the assessments of one guardrail: always of the input, sometimes also of the model's text.

    >>> from hypothesis import find
    >>> find(guardrail_traces(), lambda trace: trace["modelOutput"])["outputAssessments"].keys()
    dict_keys(['0'])
    """
    guardrail = draw(IDS)
    assessments = guardrail_assessments(texts=texts)
    trace: Value = {"inputAssessment": {guardrail: draw(assessments)}, "modelOutput": [], "outputAssessments": {}}
    if draw(st.booleans()):
        trace["modelOutput"] = [draw(some(texts))]
        trace["outputAssessments"] = {guardrail: [draw(assessments) for _ in range(1 + draw(RARELY))]}
    return trace


def traces(*, texts: Texts | None = None) -> Values:
    """Traces: dicts with a GuardrailTrace under `guardrail`."""
    return tagged("guardrail", guardrail_traces(texts=texts))
