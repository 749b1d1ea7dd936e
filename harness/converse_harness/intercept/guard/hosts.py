"""Recognise Bedrock's host names, and find the host in the bytes of a request."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final
from urllib.parse import urlsplit

from converse_harness.intercept.clients import is_loopback

DOMAINS: Final = (
    "amazonaws.com",
    "api.aws",
    "amazonaws.com.cn",
    "api.amazonwebservices.com.cn",
    "amazonaws.eu",
    "api.amazonwebservices.eu",
    "c2s.ic.gov",
    "api.aws.ic.gov",
    "sc2s.sgov.gov",
    "api.aws.scloud",
    "cloud.adc-e.uk",
    "api.cloud-aws.adc-e.uk",
    "csp.hci.ic.gov",
    "api.aws.hci.ic.gov",
)
"""AWS's domains: for each partition in botocore's `partitions.json`, the normal domain and the dual-stack domain."""

_HOSTS: Final = re.compile(
    r"(?:^|\.)bedrock(?:-[a-z0-9-]+)?"  # bedrock, bedrock-runtime or bedrock-runtime-fips, after any subdomains
    r"\.[a-z0-9-]+"  # the region
    rf"(?:\.vpce)?\.(?:{'|'.join(map(re.escape, DOMAINS))})$",
    re.IGNORECASE,
)
"""Matches a host of any Bedrock service.

Examples: `bedrock-runtime-fips.us-east-1.amazonaws.com`, `vpce-1.bedrock.eu-west-1.vpce.amazonaws.com`."""

_UNSEEN: Final = re.compile("[\u00ad\u034f\u180b-\u180d\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff]")
"""Matches the characters that IDNA removes from a host name (RFC 3454, table B.1)."""


def text(value: object) -> str:
    """Return a value as text; bytes are decoded as UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)


def is_bedrock_host(host: object) -> bool:
    """Whether a host name (str or bytes) belongs to Bedrock. Case, a final dot and Unicode forms do not matter.

    >>> is_bedrock_host("Bedrock-Runtime.us-east-1.amazonaws.com."), is_bedrock_host("s3.us-east-1.amazonaws.com")
    (True, False)
    """
    if not isinstance(host, str):
        host = text(host)
    if not host.isascii():
        host = _UNSEEN.sub("", unicodedata.normalize("NFKC", host).replace("\u3002", "."))
    return "bedrock" in host.lower() and _HOSTS.search(host.rstrip(".")) is not None


def host_in(target: str) -> str | None:
    """Return the host in a request's target (`http://host/path` or `host:443`); None if the target is only a path."""
    if target.startswith("/"):
        return None
    try:
        return urlsplit(target if "://" in target else f"//{target}").hostname
    except ValueError:
        return None


_HEAD: Final = re.compile(rb"[A-Z]{3,7} ([^ ]+) HTTP/1\.[01]\r?\n")
_HOST_HEADER: Final = re.compile(rb"\nhost:[ \t]*([^\r\n]+)", re.IGNORECASE)
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_SEARCHED: Final = 65_536
"""The number of bytes at the start of a request that are searched for the Host header."""


def written_in(data: Any) -> tuple[str | None, str | None] | None:
    r"""Return the host in the target (None for a path) and the host in the Host header of an HTTP/1 request.

    `data` is the start of the request. If it is a list of buffers, only the first buffer is searched. Return None if
    `data` is not the start of a request. This function runs at every write; to save time, it also returns None if
    "bedrock" does not occur in the head.

    >>> written_in(b"POST /model/m/converse HTTP/1.1\r\nHost: bedrock.example:443\r\n\r\n{}")
    (None, 'bedrock.example')
    """
    try:
        head = _HEAD.match(data)
    except TypeError:  # `data` is a list of buffers, or has a wrong type, for which the write raises an error
        return written_in(data[0]) if isinstance(data, list | tuple) and data else None
    if head is None:
        return None
    blank = _BLANK_LINE.search(data, head.end() - 1, _SEARCHED)
    end = blank.start() if blank else _SEARCHED  # the body may be long, and to copy it takes time
    if b"bedrock" not in bytes(data[:end]).lower():
        return None
    header = _HOST_HEADER.search(data, head.end() - 1, end)
    return host_in(text(head[1])), named(header[1]) if header else None


def named(header: bytes | str) -> str | None:
    """Return the host in the value of a Host header, without the port."""
    return host_in(text(header).strip())


def host_of(address: Any) -> Any:
    """Return the host of a socket address: the first item if it is a tuple, otherwise the address itself."""
    return address[0] if address.__class__ is tuple and address else address


def is_own_machine(host: object) -> bool:
    """Whether a host name or IP address is localhost or a loopback address."""
    name = text(host)
    return is_loopback(f"http://[{name}]" if ":" in name else f"http://{name}")
