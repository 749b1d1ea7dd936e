"""A value for each kind of personal data that guardrails know: right in form, and made up.

Numbers are taken from the ranges that are kept for documentation, tests and advertising where there are such, and check
digits are right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from converse_harness.samples import check_digits
from converse_harness.samples.fakery import digits, fake

_STREET: Final = ("street_address", "city")
_VIN_CHARACTERS: Final = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"


def _address() -> str:
    street, city = (fake("ADDRESS", part) for part in _STREET)
    return f"{street}, {city}, {fake('ADDRESS', 'state_abbr', include_territories=False)} {digits('ADDRESS', '#####')}"


def _health_number() -> str:
    number = check_digits.luhn(digits("CA_HEALTH_NUMBER", "9########"))
    return f"{number[:4]}-{number[4:7]}-{number[7:]}"


def _nhs_number() -> str:
    number = check_digits.nhs(digits("UK_NATIONAL_HEALTH_SERVICE_NUMBER", "999######"))
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def _vin() -> str:
    made = fake("VEHICLE_IDENTIFICATION_NUMBER", "lexify", text="1?????????", letters=_VIN_CHARACTERS)
    return check_digits.vin(f"{made}K{digits('VEHICLE_IDENTIFICATION_NUMBER', '######')}")


PII: Final[Mapping[str, Callable[[], str]]] = {
    "ADDRESS": _address,
    "AGE": lambda: f"{digits('AGE', '4#')} years",
    # The two that stand in AWS's own documentation.
    "AWS_ACCESS_KEY": lambda: "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_KEY": lambda: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "CA_HEALTH_NUMBER": _health_number,
    # On the Canadian government's own specimens; numbers that begin with 0 are not given to people.
    "CA_SOCIAL_INSURANCE_NUMBER": lambda: "046 454 286",
    "CREDIT_DEBIT_CARD_CVV": lambda: digits("CREDIT_DEBIT_CARD_CVV", "###"),
    "CREDIT_DEBIT_CARD_EXPIRY": lambda: digits("CREDIT_DEBIT_CARD_EXPIRY", "0%/3#"),
    # The number that payment providers take for tests.
    "CREDIT_DEBIT_CARD_NUMBER": lambda: "4111 1111 1111 1111",
    "DRIVER_ID": lambda: digits("DRIVER_ID", "D#######"),
    "EMAIL": lambda: f"{fake('EMAIL', 'user_name')}@example.com",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": lambda: fake("INTERNATIONAL_BANK_ACCOUNT_NUMBER", "iban"),
    "IP_ADDRESS": lambda: digits("IP_ADDRESS", "192.0.2.1##"),  # RFC 5737
    "LICENSE_PLATE": lambda: fake("LICENSE_PLATE", "license_plate"),
    "MAC_ADDRESS": lambda: digits("MAC_ADDRESS", "00:00:5E:00:53:##"),  # RFC 7042
    "NAME": lambda: fake("NAME", "name"),
    "PASSWORD": lambda: fake("PASSWORD", "password", length=14),
    "PHONE": lambda: digits("PHONE", "(206) 555-01##"),
    "PIN": lambda: digits("PIN", "####"),
    "SWIFT_CODE": lambda: fake("SWIFT_CODE", "swift8"),
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": _nhs_number,  # 999 is kept for tests
    "UK_NATIONAL_INSURANCE_NUMBER": lambda: "QQ 12 34 56 C",  # no number is issued with the prefix QQ
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": lambda: check_digits.utr("123456789"),
    "URL": lambda: f"https://www.example.com/{fake('URL', 'uri_path')}",
    "USERNAME": lambda: fake("USERNAME", "user_name"),
    "US_BANK_ACCOUNT_NUMBER": lambda: digits("US_BANK_ACCOUNT_NUMBER", "0001########"),
    "US_BANK_ROUTING_NUMBER": lambda: "123456780",  # its check digit is right, and no bank has it
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": lambda: fake("US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER", "itin"),
    "US_PASSPORT_NUMBER": lambda: digits("US_PASSPORT_NUMBER", "C########"),
    "US_SOCIAL_SECURITY_NUMBER": lambda: digits("US_SOCIAL_SECURITY_NUMBER", "987-65-432#"),  # for advertisements only
    "VEHICLE_IDENTIFICATION_NUMBER": _vin,
}
"""Kind, as in AWS's model (GuardrailPiiEntityType) -> what makes a value of it."""
