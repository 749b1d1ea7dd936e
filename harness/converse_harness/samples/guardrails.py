"""What a guardrail finds when the traveller asks about investments and gives an e-mail address."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples.personal_data import PII

ID: Final = "gr1example7x"
VERSION: Final = "1"
BLOCKED: Final = "Sorry, I cannot help with that."


def config() -> dict[str, Any]:
    """Which guardrail a streaming request asks for."""
    return {
        "guardrailIdentifier": ID,
        "guardrailVersion": VERSION,
        "streamProcessingMode": "sync",
        "trace": "enabled",
    }


def topic() -> dict[str, Any]:
    """The forbidden topic."""
    return {"name": "Investment advice", "type": "DENY", "action": "BLOCKED"}


def topic_policy() -> dict[str, Any]:
    """The topics that were found."""
    return {"topics": [topic()]}


def content_filter() -> dict[str, Any]:
    """The insult."""
    return {"type": "INSULTS", "confidence": "HIGH", "action": "BLOCKED"}


def content_policy() -> dict[str, Any]:
    """The harmful content that was found."""
    return {"filters": [content_filter()]}


def custom_word() -> dict[str, Any]:
    """A word of the guardrail's own list."""
    return {"match": "crypto", "action": "BLOCKED"}


def managed_word() -> dict[str, Any]:
    """A word of a list of AWS."""
    return {"match": "damn", "type": "PROFANITY", "action": "BLOCKED"}


def word_policy() -> dict[str, Any]:
    """The words that were found."""
    return {"customWords": [custom_word()], "managedWordLists": [managed_word()]}


def pii(kind: str) -> dict[str, Any]:
    """Personal data of a kind, as the guardrail tells of it."""
    return {"type": kind, "match": PII[kind](), "action": "ANONYMIZED"}


def email() -> dict[str, Any]:
    """An e-mail address."""
    return pii("EMAIL")


def regex() -> dict[str, Any]:
    """The number of a booking."""
    return {"name": "Booking", "match": "BK-482913", "regex": "BK-[0-9]{6}", "action": "ANONYMIZED"}


def sensitive_information_policy() -> dict[str, Any]:
    """The personal data that was found."""
    return {"piiEntities": [email()], "regexes": [regex()]}


def grounding_filter() -> dict[str, Any]:
    """An answer that leans on no source."""
    return {"type": "GROUNDING", "threshold": 0.75, "score": 0.25, "action": "BLOCKED"}


def grounding_policy() -> dict[str, Any]:
    """The checks against the sources."""
    return {"filters": [grounding_filter()]}


def assessment() -> dict[str, Any]:
    """All policies, each with a finding."""
    return {
        "topicPolicy": topic_policy(),
        "contentPolicy": content_policy(),
        "wordPolicy": word_policy(),
        "sensitiveInformationPolicy": sensitive_information_policy(),
        "contextualGroundingPolicy": grounding_policy(),
    }


def guardrail_trace() -> dict[str, Any]:
    """What was found in the question and in the answer, and the answer as the model wrote it."""
    return {
        "modelOutput": ["Buy crypto, damn it."],
        "inputAssessment": {ID: assessment()},
        "outputAssessments": {ID: [assessment()]},
    }


def trace() -> dict[str, Any]:
    """The same under its tag."""
    return {"guardrail": guardrail_trace()}


def detected_trace() -> dict[str, Any]:
    """A guardrail that only detects, as the AWS API tells of it: each finding is `detected`, and nothing is done."""
    finding = {"name": "Investment advice", "type": "DENY", "action": "NONE", "detected": True}
    usage = {
        "topicPolicyUnits": 1,
        "contentPolicyUnits": 0,
        "wordPolicyUnits": 0,
        "sensitiveInformationPolicyUnits": 0,
        "sensitiveInformationPolicyFreeUnits": 0,
        "contextualGroundingPolicyUnits": 0,
    }
    metrics = {
        "guardrailProcessingLatency": 214,
        "usage": usage,
        "guardrailCoverage": {"textCharacters": {"guarded": 42, "total": 42}},
    }
    found = {"topicPolicy": {"topics": [finding]}, "invocationMetrics": metrics}
    return {"inputAssessment": {ID: found}, "actionReason": "No action."}
