"""Strategies for `converse_harness.types.guardrails`: every policy is there, as Strands' types want it, and small."""

from __future__ import annotations

import string
from typing import Any, Final, get_args, get_type_hints

from hypothesis import strategies as st

from converse_harness.types import guardrails
from converse_strategies import leaves
from converse_strategies.strands.content import content_block_starts, roles
from converse_strategies.strands.making import (
    INDEXES,
    RARELY,
    Texts,
    Value,
    Values,
    built,
    cached,
    dicts,
    or_none,
    rarely,
    some,
    tagged,
)
from converse_strategies.strands.media import citation_locations as _citation_locations
from converse_strategies.strands.media import metrics, stop_reasons, usages

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


_BLOBS: Final = st.binary(min_size=1, max_size=48)
_STATUSES: Final = st.sampled_from((400, 408, 424, 429, 500, 503, 529))


@cached
def citation_locations() -> Values:
    """CitationLocations: dicts of one of the five tags; as `citations.citation_locations`."""
    return _citation_locations()


@cached
def message_start_events() -> Values:
    """MessageStartEvents."""
    return dicts({"role": roles()})


@cached
def content_block_start_events() -> Values:
    """ContentBlockStartEvents."""
    return dicts({"start": content_block_starts()}, contentBlockIndex=or_none(INDEXES))


@cached
def content_block_delta_texts(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaTexts."""
    return tagged("text", some(texts))


@cached
def content_block_delta_tool_uses(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaToolUses: a piece of JSON, cut anywhere; rarely with the id and name of the tool use."""
    names = dicts({"toolUseId": leaves.tool_use_ids(), "name": leaves.tool_names()})
    return rarely(tagged("input", some(texts)), names)


@cached
def citation_source_content_deltas(*, texts: Texts | None = None) -> Values:
    """CitationSourceContentDeltas."""
    return tagged("text", some(texts))


@cached
def citations_deltas(*, texts: Texts | None = None) -> Values:
    """CitationsDeltas: a location, and passages and a title where they come with it."""
    passages = st.lists(citation_source_content_deltas(texts=texts), max_size=2)
    return dicts({"location": citation_locations()}, sourceContent=passages, title=some(texts))


@cached
def reasoning_content_block_deltas(*, texts: Texts | None = None) -> Values:
    """ReasoningContentBlockDeltas: a text, a signature, something encrypted; or None for one of them.

    >>> from hypothesis import find
    >>> find(reasoning_content_block_deltas(), lambda delta: delta.get("signature"))
    {'signature': '0'}
    """
    return st.one_of(
        tagged("text", or_none(some(texts))),
        tagged("signature", or_none(some(texts))),
        tagged("redactedContent", or_none(_BLOBS)),
    )


@cached
def content_block_deltas(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltas: dicts of one of the four members; for those with an index see `content`.

    >>> from hypothesis import find
    >>> find(content_block_deltas(), lambda delta: True)
    {'text': ''}
    """
    return st.one_of(
        tagged("text", some(texts)),
        tagged("toolUse", content_block_delta_tool_uses(texts=texts)),
        tagged("reasoningContent", reasoning_content_block_deltas(texts=texts)),
        tagged("citation", citations_deltas(texts=texts)),
    )


@cached
def content_block_delta_events(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaEvents."""
    return dicts({"delta": content_block_deltas(texts=texts)}, contentBlockIndex=or_none(INDEXES))


@cached
def content_block_stop_events() -> Values:
    """ContentBlockStopEvents."""
    return dicts({}, contentBlockIndex=or_none(INDEXES))


@cached
def message_stop_events() -> Values:
    """MessageStopEvents: every reason that Strands knows; rarely with further fields of the answer, any JSON."""
    return rarely(dicts({"stopReason": stop_reasons()}), tagged("additionalModelResponseFields", leaves.json_values()))


@cached
def metadata_events(*, texts: Texts | None = None) -> Values:
    """MetadataEvents: usage and metrics, rarely a trace or None for it."""
    return rarely(dicts({"usage": usages(), "metrics": metrics()}), tagged("trace", or_none(traces(texts=texts))))


@cached
def exception_events(*, texts: Texts | None = None) -> Values:
    """ExceptionEvents."""
    return tagged("message", some(texts))


@cached
def model_stream_error_events(*, texts: Texts | None = None) -> Values:
    """ModelStreamErrorEvents."""
    return dicts({"message": some(texts), "originalMessage": some(texts), "originalStatusCode": _STATUSES})


@cached
def redact_content_events(*, texts: Texts | None = None) -> Values:
    """RedactContentEvents: what the user's words give way to, the model's, or both.

    >>> from hypothesis import find
    >>> find(redact_content_events(), lambda event: True)
    {'redactUserContentMessage': ''}
    """
    user = tagged("redactUserContentMessage", some(texts))
    assistant = tagged("redactAssistantContentMessage", some(texts))
    both = dicts(
        {"redactUserContentMessage": or_none(some(texts)), "redactAssistantContentMessage": or_none(some(texts))}
    )
    return st.one_of(user, assistant, both)


@cached
def stream_events(*, texts: Texts | None = None) -> Values:
    """StreamEvents of every kind, one at a time: dicts of one member, the exceptions rarely.

    >>> from hypothesis import find
    >>> find(stream_events(), lambda event: "redactContent" in event)
    {'redactContent': {'redactUserContentMessage': ''}}
    """
    exceptions = st.one_of(
        *(
            tagged(f"{name}Exception", exception_events(texts=texts))
            for name in ("throttling", "internalServer", "serviceUnavailable", "validation")
        ),
        tagged("modelStreamErrorException", model_stream_error_events(texts=texts)),
    )
    kinds = (
        tagged("messageStart", message_start_events()),
        tagged("contentBlockStart", content_block_start_events()),
        tagged("contentBlockDelta", content_block_delta_events(texts=texts)),
        tagged("contentBlockStop", content_block_stop_events()),
        tagged("messageStop", message_stop_events()),
        tagged("metadata", metadata_events(texts=texts)),
        tagged("redactContent", redact_content_events(texts=texts)),
        exceptions,
    )
    # Not st.one_of(*kinds), which would take the five exceptions for five of twelve.
    return st.sampled_from(kinds).flatmap(lambda kind: kind)
