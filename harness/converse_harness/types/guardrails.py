"""The configuration of a guardrail, and its findings.

>>> word: CustomWord = {"action": "BLOCKED", "match": "secret"}
>>> word["match"]
'secret'
"""

from typing import Literal, TypeAlias, TypedDict

GuardrailAction: TypeAlias = Literal["ANONYMIZED", "BLOCKED"]
"""The action of a guardrail on a finding: mask the finding, or block the whole text."""

PIIType: TypeAlias = Literal[
    "ADDRESS",
    "AGE",
    "AWS_ACCESS_KEY",
    "AWS_SECRET_KEY",
    "CA_HEALTH_NUMBER",
    "CA_SOCIAL_INSURANCE_NUMBER",
    "CREDIT_DEBIT_CARD_CVV",
    "CREDIT_DEBIT_CARD_EXPIRY",
    "CREDIT_DEBIT_CARD_NUMBER",
    "DRIVER_ID",
    "EMAIL",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER",
    "IP_ADDRESS",
    "LICENSE_PLATE",
    "MAC_ADDRESS",
    "NAME",
    "PASSWORD",
    "PHONE",
    "PIN",
    "SWIFT_CODE",
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER",
    "UK_NATIONAL_INSURANCE_NUMBER",
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER",
    "URL",
    "USERNAME",
    "US_BANK_ACCOUNT_NUMBER",
    "US_BANK_ROUTING_NUMBER",
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER",
    "US_PASSPORT_NUMBER",
    "US_SOCIAL_SECURITY_NUMBER",
    "VEHICLE_IDENTIFICATION_NUMBER",
]
"""The kinds of personal data that a guardrail can detect."""


class GuardrailConfig(TypedDict, total=False):
    """The guardrail for a request.

    `streamProcessingMode` says when the guardrail checks an answer: while it is streamed ("async") or before ("sync").
    """

    guardrailIdentifier: str
    guardrailVersion: str
    streamProcessingMode: Literal["sync", "async"] | None
    trace: Literal["enabled", "disabled"]


class Topic(TypedDict):
    """A forbidden topic that was found in a text."""

    action: Literal["BLOCKED"]
    name: str
    type: Literal["DENY"]


class TopicPolicy(TypedDict):
    """The forbidden topics that were found."""

    topics: list[Topic]


class ContentFilter(TypedDict):
    """Harmful content of one kind, with the guardrail's confidence."""

    action: Literal["BLOCKED"]
    confidence: Literal["NONE", "LOW", "MEDIUM", "HIGH"]
    type: Literal["INSULTS", "HATE", "SEXUAL", "VIOLENCE", "MISCONDUCT", "PROMPT_ATTACK"]


class ContentPolicy(TypedDict):
    """The harmful content that was found."""

    filters: list[ContentFilter]


class CustomWord(TypedDict):
    """A word from the guardrail's own list that was found in a text; `match` is the word as the text spells it."""

    action: Literal["BLOCKED"]
    match: str


class ManagedWord(TypedDict):
    """A word from AWS's list that was found in a text; `match` is the word as the text spells it."""

    action: Literal["BLOCKED"]
    match: str
    type: Literal["PROFANITY"]


class WordPolicy(TypedDict):
    """The forbidden words that were found."""

    customWords: list[CustomWord]
    managedWordLists: list[ManagedWord]


class PIIEntity(TypedDict):
    """A piece of personal data that was found in a text; `match` is the piece as the text spells it."""

    action: GuardrailAction
    match: str
    type: PIIType


class Regex(TypedDict):
    """A match of a regular expression of the guardrail: the matched text, the expression and the expression's name."""

    action: GuardrailAction
    match: str
    name: str
    regex: str


class SensitiveInformationPolicy(TypedDict):
    """Personal data that was found, and matches of the guardrail's own expressions."""

    piiEntities: list[PIIEntity]
    regexes: list[Regex]


class ContextualGroundingFilter(TypedDict):
    """A check whether an answer is grounded in its sources, or whether the answer is relevant to the question.

    `score` and `threshold` are from 0 to 1.
    """

    action: Literal["BLOCKED", "NONE"]
    score: float
    threshold: float
    type: Literal["GROUNDING", "RELEVANCE"]


class ContextualGroundingPolicy(TypedDict):
    """The checks of an answer for grounding in its sources and for relevance to the question."""

    filters: list[ContextualGroundingFilter]


class GuardrailAssessment(TypedDict):
    """All findings of a guardrail in one text, one member per policy."""

    contentPolicy: ContentPolicy
    contextualGroundingPolicy: ContextualGroundingPolicy
    sensitiveInformationPolicy: SensitiveInformationPolicy
    topicPolicy: TopicPolicy
    wordPolicy: WordPolicy


class GuardrailTrace(TypedDict):
    """The findings in a request and in the answer, by guardrail id, and the model's original texts."""

    inputAssessment: dict[str, GuardrailAssessment]
    modelOutput: list[str]
    outputAssessments: dict[str, list[GuardrailAssessment]]


class Trace(TypedDict):
    """The service's report on the processing of a request; the guardrail's report is its only member so far."""

    guardrail: GuardrailTrace
