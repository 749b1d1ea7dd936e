"""The formats of strings, as one table: what they are drawn from, and how they are told.

Source: JSON Schema 2020-12, section 7.3. A format that is not here is an annotation, as JSON Schema has it.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from hypothesis import strategies as st

_TIME: Final = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_LABEL: Final = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_WORD: Final = string.ascii_lowercase + string.digits
_DURATION: Final = r"P(?!\Z)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?!\Z)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: a function that gives the strategy for it, and whether a text has it."""

    texts: Callable[[], st.SearchStrategy[str]]
    holds: Callable[[str], object]


@cache
def words(max_size: int = 12) -> st.SearchStrategy[str]:
    """Words of lower-case letters and digits, which are right in every format that has words."""
    return st.text(_WORD, min_size=1, max_size=max_size)


@cache
def _zones() -> st.SearchStrategy[str]:
    return st.sampled_from(("Z", "+00:00", "+02:00", "-05:30"))


def _joined(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


def _dates() -> st.SearchStrategy[str]:
    return st.dates().map(dt.date.isoformat)


def _times() -> st.SearchStrategy[str]:
    return _joined("{}{}", st.times().map(dt.time.isoformat), _zones())


def _date_times() -> st.SearchStrategy[str]:
    return _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _zones())


def _durations() -> st.SearchStrategy[str]:
    return _joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399))


def _emails() -> st.SearchStrategy[str]:
    return _joined("{}@example.{}", words(), st.sampled_from(("com", "net", "org")))


def _uris() -> st.SearchStrategy[str]:
    return _joined("{}://example.com/{}", st.sampled_from(("https", "http")), words())


def _hostnames() -> st.SearchStrategy[str]:
    return _joined("{}.example.{}", words(), st.sampled_from(("com", "net", "org")))


def _uuids() -> st.SearchStrategy[str]:
    return st.uuids().map(str)


def _ipv4() -> st.SearchStrategy[str]:
    return st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number)))


def _ipv6() -> st.SearchStrategy[str]:
    return st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number)))


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)) and _parses(dt.date.fromisoformat, text)


def _matches(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


FORMATS: Final[Mapping[str, Format]] = {
    "date": Format(_dates, _is_date),
    "time": Format(_times, _matches(_TIME)),
    "date-time": Format(_date_times, lambda text: _is_date(text[:10]) and _matches(f"[Tt]{_TIME}")(text[10:])),
    "duration": Format(_durations, _matches(_DURATION)),
    "email": Format(_emails, _matches(rf"[^\s@\"(),:;<>\[\]\\]+@{_LABEL}(\.{_LABEL})*")),
    "uri": Format(_uris, _matches(r"[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-\[\]_a-z~]+")),
    "uuid": Format(_uuids, _matches(r"[\da-fA-F]{8}-([\da-fA-F]{4}-){3}[\da-fA-F]{12}")),
    "ipv4": Format(_ipv4, lambda text: _parses(ipaddress.IPv4Address, text)),
    "ipv6": Format(_ipv6, lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text)),
    "hostname": Format(_hostnames, lambda text: len(text) <= 253 and _matches(rf"{_LABEL}(\.{_LABEL})*")(text)),
}
"""Every format that is kept to."""


@cache
def texts_of(name: str) -> st.SearchStrategy[str]:
    """Texts of a format, one of FORMATS.

    >>> from hypothesis import find
    >>> find(texts_of("email"), lambda text: True)
    '0@example.com'
    """
    return FORMATS[name].texts()
