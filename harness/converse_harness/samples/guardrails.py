"""Guardrail samples: findings when the traveller asks about investments and gives an e-mail address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ID: Final = "gr1example7x"
_VERSION: Final = "1"
_BLOCKED: Final = "Sorry, I cannot help with that."

PII: Final[Mapping[str, str]] = {
    "ADDRESS": "33959 Lisa Way, North Jerry, PA 93033",
    "AGE": "42 years",
    # Both appear in AWS's own documentation.
    "AWS_ACCESS_KEY": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "CA_HEALTH_NUMBER": "9628-797-293",
    # Taken from the Canadian government's specimens; no person gets a number that begins with 0.
    "CA_SOCIAL_INSURANCE_NUMBER": "046 454 286",
    "CREDIT_DEBIT_CARD_CVV": "355",
    "CREDIT_DEBIT_CARD_EXPIRY": "04/32",
    # The number that payment providers use for tests.
    "CREDIT_DEBIT_CARD_NUMBER": "4111 1111 1111 1111",
    "DRIVER_ID": "D1268686",
    "EMAIL": "veronica00@example.com",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": "GB30IHOL33463044201689",
    "IP_ADDRESS": "192.0.2.105",  # RFC 5737
    "LICENSE_PLATE": "N80-81D",
    "MAC_ADDRESS": "00:00:5E:00:53:43",  # RFC 7042
    "NAME": "Mark Hines",
    "PASSWORD": "c8*s$7qt$7TZdB",
    "PHONE": "(206) 555-0120",
    "PIN": "0967",
    "SWIFT_CODE": "RQQOGBEB",
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": "999 726 5262",  # 999 is kept for tests
    "UK_NATIONAL_INSURANCE_NUMBER": "QQ 12 34 56 C",  # no number is issued with the prefix QQ
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": "1123456789",
    "URL": "https://www.example.com/categories/wp-content/wp-content",
    "USERNAME": "jonathanwarner",
    "US_BANK_ACCOUNT_NUMBER": "000107594886",
    "US_BANK_ROUTING_NUMBER": "123456780",  # its check digit is right, and no bank has it
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": "906-90-9984",
    "US_PASSPORT_NUMBER": "C77581201",
    "US_SOCIAL_SECURITY_NUMBER": "987-65-4325",  # for advertisements only
    "VEHICLE_IDENTIFICATION_NUMBER": "1P32GEL97UK936896",
}
"""Kind of personal data, as in AWS's model (GuardrailPiiEntityType) -> a value that is right in form, and made up.

Numbers are of the ranges that are kept for documentation, tests and advertising where there are such, and check digits
are right.
"""


def config() -> dict[str, Any]:
    """A guardrailConfig for a streaming request."""
    return {
        "guardrailIdentifier": _ID,
        "guardrailVersion": _VERSION,
        "streamProcessingMode": "sync",
        "trace": "enabled",
    }


def topic() -> dict[str, Any]:
    """A Topic: the forbidden one that was found."""
    return {"name": "Investment advice", "type": "DENY", "action": "BLOCKED"}


def topic_policy() -> dict[str, Any]:
    """A TopicPolicy with the topics that were found."""
    return {"topics": [topic()]}


def content_filter() -> dict[str, Any]:
    """A ContentFilter that found an insult."""
    return {"type": "INSULTS", "confidence": "HIGH", "action": "BLOCKED"}


def content_policy() -> dict[str, Any]:
    """A ContentPolicy with the harmful content that was found."""
    return {"filters": [content_filter()]}


def custom_word() -> dict[str, Any]:
    """A CustomWord of the guardrail's own list."""
    return {"match": "crypto", "action": "BLOCKED"}


def managed_word() -> dict[str, Any]:
    """A ManagedWord of AWS's list."""
    return {"match": "damn", "type": "PROFANITY", "action": "BLOCKED"}


def word_policy() -> dict[str, Any]:
    """A WordPolicy with the words that were found."""
    return {"customWords": [custom_word()], "managedWordLists": [managed_word()]}


def pii(kind: str) -> dict[str, Any]:
    """A PIIEntity of this type, as a guardrail reports it."""
    return {"type": kind, "match": PII[kind], "action": "ANONYMIZED"}


def email() -> dict[str, Any]:
    """A PIIEntity with an e-mail address."""
    return pii("EMAIL")


def regex() -> dict[str, Any]:
    """A Regex finding: the number of a booking."""
    return {"name": "Booking", "match": "BK-482913", "regex": "BK-[0-9]{6}", "action": "ANONYMIZED"}


def sensitive_information_policy() -> dict[str, Any]:
    """A SensitiveInformationPolicy with the personal data that was found."""
    return {"piiEntities": [email()], "regexes": [regex()]}


def grounding_filter() -> dict[str, Any]:
    """A ContextualGroundingFilter for an answer without support in the sources."""
    return {"type": "GROUNDING", "threshold": 0.75, "score": 0.25, "action": "BLOCKED"}


def grounding_policy() -> dict[str, Any]:
    """A ContextualGroundingPolicy with the checks against the sources."""
    return {"filters": [grounding_filter()]}


def assessment() -> dict[str, Any]:
    """A GuardrailAssessment with a finding of every policy."""
    return {
        "topicPolicy": topic_policy(),
        "contentPolicy": content_policy(),
        "wordPolicy": word_policy(),
        "sensitiveInformationPolicy": sensitive_information_policy(),
        "contextualGroundingPolicy": grounding_policy(),
    }


def guardrail_trace() -> dict[str, Any]:
    """A GuardrailTrace with findings in the question and in the answer, and the model's original answer."""
    return {
        "modelOutput": ["Buy crypto, damn it."],
        "inputAssessment": {_ID: assessment()},
        "outputAssessments": {_ID: [assessment()]},
    }


def trace() -> dict[str, Any]:
    """A Trace with the sample GuardrailTrace."""
    return {"guardrail": guardrail_trace()}


def detected_trace() -> dict[str, Any]:
    """The trace of a guardrail in detect mode, in the AWS API's form: every finding is `detected`, with action NONE."""
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
    return {"inputAssessment": {_ID: found}, "actionReason": "No action."}
