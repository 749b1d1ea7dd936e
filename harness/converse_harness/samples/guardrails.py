"""Sample findings of a guardrail: the traveller asks about investments and mentions an e-mail address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ID: Final = "gr1example7x"

PII: Final[Mapping[str, str]] = {
    "ADDRESS": "33959 Lisa Way, North Jerry, PA 93033",
    "AGE": "42 years",
    # AWS's own documentation uses this key and the next one as examples.
    "AWS_ACCESS_KEY": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "CA_HEALTH_NUMBER": "9628-797-293",
    # The Canadian government uses this number in specimens; numbers that begin with 0 are not issued to persons.
    "CA_SOCIAL_INSURANCE_NUMBER": "046 454 286",
    "CREDIT_DEBIT_CARD_CVV": "355",
    "CREDIT_DEBIT_CARD_EXPIRY": "04/32",
    # Payment providers use this number for tests.
    "CREDIT_DEBIT_CARD_NUMBER": "4111 1111 1111 1111",
    "DRIVER_ID": "D1268686",
    "EMAIL": "veronica00@example.com",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": "GB30IHOL33463044201689",
    "IP_ADDRESS": "192.0.2.105",  # reserved for documentation, RFC 5737
    "LICENSE_PLATE": "N80-81D",
    "MAC_ADDRESS": "00:00:5E:00:53:43",  # reserved for documentation, RFC 7042
    "NAME": "Mark Hines",
    "PASSWORD": "c8*s$7qt$7TZdB",
    "PHONE": "(206) 555-0120",
    "PIN": "0967",
    "SWIFT_CODE": "RQQOGBEB",
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": "999 726 5262",  # 999 is reserved for tests
    "UK_NATIONAL_INSURANCE_NUMBER": "QQ 12 34 56 C",  # no number is issued with the prefix QQ
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": "1123456789",
    "URL": "https://www.example.com/categories/wp-content/wp-content",
    "USERNAME": "jonathanwarner",
    "US_BANK_ACCOUNT_NUMBER": "000107594886",
    "US_BANK_ROUTING_NUMBER": "123456780",  # its check digit is correct, but no bank uses it
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": "906-90-9984",
    "US_PASSPORT_NUMBER": "C77581201",
    "US_SOCIAL_SECURITY_NUMBER": "987-65-4325",  # reserved for advertisements
    "VEHICLE_IDENTIFICATION_NUMBER": "1P32GEL97UK936896",
}
"""Maps each kind of personal data (AWS enum GuardrailPiiEntityType) to a made-up value in the correct format.

Numbers are from ranges reserved for documentation, tests or advertising, if such a range exists; check digits are
correct.
"""


CONFIG: Final = {
    "guardrailIdentifier": _ID,
    "guardrailVersion": "1",
    "streamProcessingMode": "sync",
    "trace": "enabled",
}

TOPIC: Final = {"name": "Investment advice", "type": "DENY", "action": "BLOCKED"}
CONTENT_FILTER: Final = {"type": "INSULTS", "confidence": "HIGH", "action": "BLOCKED"}
CUSTOM_WORD: Final = {"match": "crypto", "action": "BLOCKED"}
MANAGED_WORD: Final = {"match": "damn", "type": "PROFANITY", "action": "BLOCKED"}
EMAIL: Final = {"type": "EMAIL", "match": PII["EMAIL"], "action": "ANONYMIZED"}
REGEX: Final = {"name": "Booking", "match": "BK-482913", "regex": "BK-[0-9]{6}", "action": "ANONYMIZED"}
GROUNDING_FILTER: Final = {"type": "GROUNDING", "threshold": 0.75, "score": 0.25, "action": "BLOCKED"}

ASSESSMENT: Final = {
    "topicPolicy": {"topics": [TOPIC]},
    "contentPolicy": {"filters": [CONTENT_FILTER]},
    "wordPolicy": {"customWords": [CUSTOM_WORD], "managedWordLists": [MANAGED_WORD]},
    "sensitiveInformationPolicy": {"piiEntities": [EMAIL], "regexes": [REGEX]},
    "contextualGroundingPolicy": {"filters": [GROUNDING_FILTER]},
}
"""A sample assessment: findings of every policy of a guardrail except automated reasoning."""

TRACE: Final = {
    "modelOutput": ["Buy crypto, damn it."],
    "inputAssessment": {_ID: ASSESSMENT},
    "outputAssessments": {_ID: [ASSESSMENT]},
}
"""A sample trace of a guardrail: findings in the question and in the answer, and the model's original answer."""

DETECTED_TRACE: Final = {
    "inputAssessment": {
        _ID: {
            "topicPolicy": {
                "topics": [{"name": "Investment advice", "type": "DENY", "action": "NONE", "detected": True}]
            },
            "invocationMetrics": {
                "guardrailProcessingLatency": 214,
                "usage": {
                    "topicPolicyUnits": 1,
                    "contentPolicyUnits": 0,
                    "wordPolicyUnits": 0,
                    "sensitiveInformationPolicyUnits": 0,
                    "sensitiveInformationPolicyFreeUnits": 0,
                    "contextualGroundingPolicyUnits": 0,
                },
                "guardrailCoverage": {"textCharacters": {"guarded": 42, "total": 42}},
            },
        }
    },
    "actionReason": "No action.",
}
"""The trace that AWS sends for a guardrail in detect mode: every finding has `detected` True and the action NONE."""
