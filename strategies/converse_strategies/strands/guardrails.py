"""Strategies for `converse_harness.types.guardrails`: every policy is there, as Strands' types want it, and small."""

from __future__ import annotations

import string
from typing import Any, Final, get_args, get_type_hints

from hypothesis import strategies as st

from converse_harness.types import guardrails
from converse_strategies import leaves
from converse_strategies.strands.making import RARELY, Texts, Value, Values, built, cached, dicts, or_none, some

_IDS: Final = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
_VERSIONS: Final = leaves.made(st.integers(0, 99), lambda number: str(number) if number else "DRAFT")
_PERCENT: Final = st.integers(0, 100)
_MOST: Final = 2
"""Entries of a policy: a trace has many lists, and a long one shows nothing that a short one does not."""


def _literals(kind: Any, name: str) -> st.SearchStrategy[Any]:
    """What a member may say: the values of its Literal."""
    return st.sampled_from(get_args(get_type_hints(kind)[name]))


def _entries(kind: Any, texts: Texts | None) -> Values:
    """Dicts of a type whose members are literals and texts."""
    hints = get_type_hints(kind)
    return dicts({name: some(texts) if hint is str else _literals(kind, name) for name, hint in hints.items()})


def _policies(texts: Texts | None, **lists: Values) -> Values:
    return dicts({name: st.lists(entries, max_size=_MOST) for name, entries in lists.items()})


@cached
def guardrail_configs() -> Values:
    """GuardrailConfigs: an id and a version; how it streams and what is traced where that is said."""
    streaming = or_none(st.sampled_from(("sync", "async")))
    return dicts(
        {"guardrailIdentifier": _IDS, "guardrailVersion": _VERSIONS},
        streamProcessingMode=streaming,
        trace=_literals(guardrails.GuardrailConfig, "trace"),
    )


@cached
def topics(*, texts: Texts | None = None) -> Values:
    """Topics."""
    return _entries(guardrails.Topic, texts)


@cached
def topic_policies(*, texts: Texts | None = None) -> Values:
    """TopicPolicies."""
    return _policies(texts, topics=topics(texts=texts))


@cached
def content_filters() -> Values:
    """ContentFilters.

    >>> from hypothesis import find
    >>> find(content_filters(), lambda found: found["confidence"] != "NONE")
    {'action': 'BLOCKED', 'confidence': 'LOW', 'type': 'INSULTS'}
    """
    return _entries(guardrails.ContentFilter, None)


@cached
def content_policies() -> Values:
    """ContentPolicies."""
    return _policies(None, filters=content_filters())


@cached
def custom_words(*, texts: Texts | None = None) -> Values:
    """CustomWords."""
    return _entries(guardrails.CustomWord, texts)


@cached
def managed_words(*, texts: Texts | None = None) -> Values:
    """ManagedWords."""
    return _entries(guardrails.ManagedWord, texts)


@cached
def word_policies(*, texts: Texts | None = None) -> Values:
    """WordPolicies."""
    return _policies(texts, customWords=custom_words(texts=texts), managedWordLists=managed_words(texts=texts))


@cached
def pii_entities(*, texts: Texts | None = None) -> Values:
    """PIIEntities of every kind; `match` is any text: `converse_harness.samples` has matches that look like one."""
    return _entries(guardrails.PIIEntity, texts)


@cached
def regexes(*, texts: Texts | None = None) -> Values:
    """Regexes; `regex` is any text as well."""
    return _entries(guardrails.Regex, texts)


@cached
def sensitive_information_policies(*, texts: Texts | None = None) -> Values:
    """SensitiveInformationPolicies."""
    return _policies(texts, piiEntities=pii_entities(texts=texts), regexes=regexes(texts=texts))


@cached
def contextual_grounding_filters() -> Values:
    """ContextualGroundingFilters: BLOCKED where, and only where, the score is below the threshold; both from 0 to 1.

    >>> from hypothesis import find
    >>> find(contextual_grounding_filters(), lambda found: found["action"] == "BLOCKED")
    {'action': 'BLOCKED', 'score': 0.0, 'threshold': 0.01, 'type': 'GROUNDING'}
    """

    def found(score: int, threshold: int, type: str) -> Value:
        action = "BLOCKED" if score < threshold else "NONE"
        return {"action": action, "score": score / 100, "threshold": threshold / 100, "type": type}

    return built(found, _PERCENT, _PERCENT, _literals(guardrails.ContextualGroundingFilter, "type"))


@cached
def contextual_grounding_policies() -> Values:
    """ContextualGroundingPolicies."""
    return _policies(None, filters=contextual_grounding_filters())


@cached
def guardrail_assessments(*, texts: Texts | None = None) -> Values:
    """GuardrailAssessments: all five policies, of which any may have found nothing."""
    return dicts(
        {
            "contentPolicy": content_policies(),
            "contextualGroundingPolicy": contextual_grounding_policies(),
            "sensitiveInformationPolicy": sensitive_information_policies(texts=texts),
            "topicPolicy": topic_policies(texts=texts),
            "wordPolicy": word_policies(texts=texts),
        }
    )


@st.composite
def guardrail_traces(draw: st.DrawFn, *, texts: Texts | None = None) -> Value:
    """GuardrailTraces of one guardrail: what it found in the input, the model's text, what it found in that.

    >>> from hypothesis import find
    >>> find(guardrail_traces(), lambda trace: trace["modelOutput"])["outputAssessments"].keys()
    dict_keys(['0'])
    """
    guardrail = draw(_IDS)
    assessments = guardrail_assessments(texts=texts)
    trace: Value = {"inputAssessment": {guardrail: draw(assessments)}, "modelOutput": [], "outputAssessments": {}}
    if draw(st.booleans()):
        trace["modelOutput"] = [draw(some(texts))]
        trace["outputAssessments"] = {guardrail: [draw(assessments) for _ in range(1 + draw(RARELY))]}
    return trace


@cached
def traces(*, texts: Texts | None = None) -> Values:
    """Traces: what a guardrail did."""
    return dicts({"guardrail": guardrail_traces(texts=texts)})
