"""What a guardrail is asked to do, and what it found."""

from typing import Literal, TypeAlias, TypedDict

GuardrailAction: TypeAlias = Literal["ANONYMIZED", "BLOCKED"]
"""What becomes of what a guardrail finds: masked, or refused with the whole text."""

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
"""The kinds of personal data that guardrails know."""


class GuardrailConfig(TypedDict, total=False):
    """Which guardrail looks at a request: while it streams (`async`) or before (`sync`), with a trace or not."""

    guardrailIdentifier: str
    guardrailVersion: str
    streamProcessingMode: Literal["sync", "async"] | None
    trace: Literal["enabled", "disabled"]


class Topic(TypedDict):
    """A forbidden topic that a text was found to be about."""

    action: Literal["BLOCKED"]
    name: str
    type: Literal["DENY"]


class TopicPolicy(TypedDict):
    """The forbidden topics that were found."""

    topics: list[Topic]


class ContentFilter(TypedDict):
    """Harmful content of one kind that was found, and how sure the guardrail is of that."""

    action: Literal["BLOCKED"]
    confidence: Literal["NONE", "LOW", "MEDIUM", "HIGH"]
    type: Literal["INSULTS", "HATE", "SEXUAL", "VIOLENCE", "MISCONDUCT", "PROMPT_ATTACK"]


class ContentPolicy(TypedDict):
    """The harmful content that was found."""

    filters: list[ContentFilter]


class CustomWord(TypedDict):
    """A word of the guardrail's own list; `match` is as it stood in the text."""

    action: Literal["BLOCKED"]
    match: str


class ManagedWord(TypedDict):
    """A word of a list that AWS keeps; `match` is as it stood in the text."""

    action: Literal["BLOCKED"]
    match: str
    type: Literal["PROFANITY"]


class WordPolicy(TypedDict):
    """The words that were found."""

    customWords: list[CustomWord]
    managedWordLists: list[ManagedWord]


class PIIEntity(TypedDict):
    """A piece of personal data; `match` is as it stood in the text."""

    action: GuardrailAction
    match: str
    type: PIIType


class Regex(TypedDict):
    """What a regular expression of the guardrail found: the `match`, and the expression with its name."""

    action: GuardrailAction
    match: str
    name: str
    regex: str


class SensitiveInformationPolicy(TypedDict):
    """The personal data, and what matched the guardrail's own expressions."""

    piiEntities: list[PIIEntity]
    regexes: list[Regex]


class ContextualGroundingFilter(TypedDict):
    """How far an answer leans on its sources, or answers the question: `score` and `threshold` are from 0 to 1."""

    action: Literal["BLOCKED", "NONE"]
    score: float
    threshold: float
    type: Literal["GROUNDING", "RELEVANCE"]


class ContextualGroundingPolicy(TypedDict):
    """The checks of an answer against its sources."""

    filters: list[ContextualGroundingFilter]


class GuardrailAssessment(TypedDict):
    """All that a guardrail found in one text, a member for each of its policies."""

    contentPolicy: ContentPolicy
    contextualGroundingPolicy: ContextualGroundingPolicy
    sensitiveInformationPolicy: SensitiveInformationPolicy
    topicPolicy: TopicPolicy
    wordPolicy: WordPolicy


class GuardrailTrace(TypedDict):
    """What a guardrail did to one request: findings by guardrail id, and the texts that the model wrote first."""

    inputAssessment: dict[str, GuardrailAssessment]
    modelOutput: list[str]
    outputAssessments: dict[str, list[GuardrailAssessment]]


class Trace(TypedDict):
    """What the service tells of its own work on a request: so far, of the guardrail's."""

    guardrail: GuardrailTrace
