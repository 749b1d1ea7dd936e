"""The table of JSON Schema's string formats. Each row has a function that makes texts and one that checks a text.

Source: JSON Schema 2020-12, section 7.3, and the formats that pydantic writes. An unknown format is only an annotation,
as in JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

_TIME: Final = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL: Final = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DURATION: Final = r"P(?!\Z)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!\Z)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)"
_URI: Final = r"[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-\[\]_a-z~]+"


@dataclass(frozen=True, slots=True)
class StringFormat:
    """A string format: a function that makes a different text for each number, and a function that checks a text."""

    text: Callable[[int], str]
    holds: Callable[[str], object]


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _matches(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


def is_date(text: str) -> bool:
    """Whether a text is a full date, such as 2026-01-31."""
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)) and _parses(dt.date.fromisoformat, text)


def _is_moment(text: str) -> bool:
    return is_date(text[:10]) and bool(re.fullmatch(f"[Tt]{_TIME}", text[10:], re.ASCII))


def _is_host(text: str) -> bool:
    return len(text) <= 253 and bool(re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", text, re.ASCII))


def _day(number: int) -> str:
    return (dt.date(2026, 1, 1) + dt.timedelta(days=number % 3000)).isoformat()


def _uuid(version: int, number: int) -> str:
    return f"00000000-0000-{version}000-8000-{number:012x}"


def _numbered(start: str, number: int, end: str = "") -> str:
    return f"{start}{number or ''}{end}"


_IPV4: Final = StringFormat(lambda number: f"192.0.2.{number % 254 + 1}", partial(_parses, ipaddress.IPv4Address))
_IPV6: Final = StringFormat(
    lambda number: f"2001:db8::{number % 9999 + 1}",
    lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text),
)
_EMAIL: Final = StringFormat(
    lambda number: _numbered("a", number, "@example.com"), _matches(rf"[^\s@\"(),:;<>\[\]\\]+@{_LABEL}(\.{_LABEL})*")
)
_HOST: Final = StringFormat(lambda number: _numbered("a", number, ".example.com"), _is_host)
_WEB: Final = StringFormat(lambda number: _numbered("https://example.com/", number), _matches(_URI))
_UUID: Final = r"[\da-fA-F]{8}-([\da-fA-F]{4}-){3}[\da-fA-F]{12}"

STRING_FORMATS: Final[Mapping[str, StringFormat]] = {
    "date": StringFormat(_day, is_date),
    "time": StringFormat(lambda number: f"12:{number % 60:02}:00Z", _matches(_TIME)),
    "date-time": StringFormat(lambda number: f"{_day(number)}T12:00:00Z", _is_moment),
    "duration": StringFormat(lambda number: f"P{number + 1}D", _matches(_DURATION)),
    "email": _EMAIL,
    "idn-email": _EMAIL,
    "hostname": _HOST,
    "idn-hostname": _HOST,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uri": _WEB,
    "uri-reference": _WEB,
    "iri": _WEB,
    "iri-reference": _WEB,
    "url": _WEB,
    "uri-template": StringFormat(lambda number: _numbered("https://example.com/", number), lambda text: True),
    "uuid": StringFormat(partial(_uuid, 4), _matches(_UUID)),
    **{f"uuid{version}": StringFormat(partial(_uuid, version), _matches(_UUID)) for version in range(1, 9)},
    "json-pointer": StringFormat(lambda number: _numbered("/a", number), _matches(r"(/([^~/]|~[01])*)*")),
    "relative-json-pointer": StringFormat(lambda number: str(number % 10), _matches(r"\d+(#|(/([^~/]|~[01])*)*)")),
    "regex": StringFormat(lambda number: "a" * (number + 1), partial(_parses, re.compile)),
    "json-string": StringFormat(str, partial(_parses, json.loads)),
    "ipv4network": StringFormat(lambda number: f"192.0.{number % 256}.0/24", partial(_parses, ipaddress.IPv4Network)),
    "ipv6network": StringFormat(
        lambda number: f"2001:db8:{number % 9999:x}::/48", partial(_parses, ipaddress.IPv6Network)
    ),
    "ipv4interface": _IPV4,
    "ipv6interface": _IPV6,
    "ipvanyaddress": _IPV4,
    "ipvanyinterface": _IPV4,
    "ipvanynetwork": _IPV4,
}
"""Every known format; other formats are ignored."""
