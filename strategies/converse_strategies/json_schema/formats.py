"""The table `FORMATS` has a strategy for the texts of each supported string format of JSON Schema.

Source: JSON Schema 2020-12, section 7.3. An unknown format is only an annotation, as in JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import string
from collections.abc import Mapping
from typing import Final

from hypothesis import strategies as st

_WORDS: Final = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
"""Short texts of lowercase letters and digits, which are valid parts of email addresses, URIs and host names."""

_ZONES: Final = st.sampled_from(("Z", "+00:00", "+02:00", "-05:30"))
_DOMAINS: Final = st.sampled_from(("com", "net", "org"))


def _joined(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda drawn: pattern.format(*drawn))


_POINTERS: Final = st.lists(_WORDS | st.sampled_from(("a~1b", "~0", "")), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)

FORMATS: Final[Mapping[str, st.SearchStrategy[str]]] = {
    "date": st.dates().map(dt.date.isoformat),
    "time": _joined("{}{}", st.times().map(dt.time.isoformat), _ZONES),
    "date-time": _joined("{}{}", st.datetimes().map(dt.datetime.isoformat), _ZONES),
    "duration": _joined("P{}DT{}S", st.integers(0, 1000), st.integers(0, 86399)),
    "email": _joined("{}@example.{}", _WORDS, _DOMAINS),
    "uri": _joined("{}://example.com/{}", st.sampled_from(("https", "http")), _WORDS),
    "uuid": st.uuids().map(str),
    "ipv4": st.integers(0, 2**32 - 1).map(lambda number: str(ipaddress.IPv4Address(number))),
    "ipv6": st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number))),
    "hostname": _joined("{}.example.{}", _WORDS, _DOMAINS),
    "json-pointer": _POINTERS,
    "relative-json-pointer": _joined("{}{}", st.integers(0, 9), _POINTERS),
}
"""Name of each supported format -> a strategy for its texts. Other formats are ignored."""
