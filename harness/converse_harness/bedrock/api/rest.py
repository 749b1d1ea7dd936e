"""The places of an operation's members in an HTTP request and in its response: path, query, headers, status, body.

AWS's API model names the place of each member. All Bedrock services but one have the protocol "rest-json". A service of
the protocol "json" has all members in the body, and the operation's name in a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from converse_harness.bedrock.api.checks import FindingKind, Violation, wrong_type
from converse_harness.bedrock.api.codec import from_json, to_datetime, to_json
from converse_harness.bedrock.api.service import Operation, Shape, operation, service
from converse_harness.words import shown

_TARGET: Final = "x-amz-target"
"""The header with the operation's name, in the protocol "json"."""


def is_json_protocol(of: str) -> bool:
    """Whether a service has the protocol "json": all requests go to one path, and errors are named in the body."""
    return bool(service(of).metadata["protocol"] == "json")


class Path(NamedTuple):
    """The path of an operation: HTTP method, pattern of the percent-encoded path, and the operation's name."""

    method: str
    pattern: re.Pattern[str]
    operation: str


@cache
def paths(of: str) -> tuple[Path, ...]:
    """Return the paths of a service's operations. A path with fewer parameters comes first, because it is narrower."""
    found: list[Path] = []
    for name in service(of).operation_names if not is_json_protocol(of) else ():
        http = operation(name, of).http
        # At this point, re.escape() has turned the labels {name} and {name+} into \{name\} and \{name\+\}.
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(http["requestUri"].partition("?")[0]))
        pattern = re.sub(r"\\{(\w+)\\\+\\}", r"(?P<\1>.+)", pattern)
        found.append(Path(http["method"], re.compile(pattern), name))
    return tuple(sorted(found, key=lambda each: each.pattern.groups))


def named_in_header(headers: Iterable[tuple[str, str]], of: str) -> str | None:
    """Return the operation that a request of the protocol "json" names; None if it names none of this service."""
    prefix = f"{service(of).metadata.get('targetPrefix')}."
    target = next((value for name, value in headers if name.lower() == _TARGET), "")
    name = target.removeprefix(prefix)
    return name if target.startswith(prefix) and name in service(of).operation_names else None


def params_of(
    described: Operation,
    of: str,
    *,
    path: Mapping[str, str],
    target: str,
    headers: Mapping[str, str],
    raw: bytes,
    body: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the members of an operation's input, as the keyword arguments of a boto3 call.

    `path` are the decoded parameters in the path, `target` is the path with the query, the names in `headers` are in
    lower case, `body` is the JSON object in the body `raw`.
    """
    query = parse_qs(target.partition("?")[2], keep_blank_values=True)
    shape = described.input_shape
    payload = shape.serialization.get("payload")
    found: dict[str, Any] = {}
    for name, each in shape.members.items():
        in_http = each.serialization.get("name", name)
        match each.serialization.get("location"):
            case "uri" if in_http in path:
                found[name] = _from_text(each, path[in_http])
            case "querystring" if in_http in query:
                several = query[in_http]
                is_list = each.type_name == "list"
                found[name] = (
                    [_from_text(each.member, text) for text in several] if is_list else _from_text(each, several[-1])
                )
            case "header" if in_http.lower() in headers:
                found[name] = _from_text(each, _header_text(headers[in_http.lower()]))
            case _ if name == payload and each.type_name == "blob":
                found[name] = raw
            case _ if name == payload and raw:
                found[name] = from_json(each.name, body, of)
            case _:
                pass
    return found if payload else {**found, **from_json(shape.name, body, of)}


def _header_text(text: str) -> str:
    """Return the text of a header. boto3 sends headers in UTF-8, and servers read headers as Latin-1."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _from_text(shape: Shape, text: str) -> Any:
    convert = _FROM_TEXT.get(shape.type_name)
    try:
        return text if convert is None else convert(text)
    except ValueError:  # the client has not checked it, as boto3 would
        return text


def _time_from_text(text: str) -> Any:
    in_iso8601 = to_datetime(text)
    return parsedate_to_datetime(text).astimezone(UTC) if isinstance(in_iso8601, str) else in_iso8601


_FROM_TEXT: Final[Mapping[str, Callable[[str], Any]]] = {
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda text: {"true": True, "false": False}.get(text, text),
    "timestamp": _time_from_text,
}
"""Maps a type of AWS's API model to the function that reads a value in a path, a query or a header."""


WITHOUT_BODY: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
"""The HTTP statuses of answers that have no body."""


class ResponseParts(NamedTuple):
    """The parts of the response that carry an output: the status, the headers of members, and the body.

    The body is empty if the output contains a stream of events.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def response_parts(described: Operation, of: str, output: Mapping[str, Any]) -> ResponseParts:
    """Return the response to an operation with this output. Raises ReplyError for a value that JSON cannot carry."""
    shape = described.output_shape
    status: int = described.http.get("responseCode", 200)
    headers: dict[str, str] = {}
    in_body: dict[str, Any] = {}
    payload: Any = None
    for name, value in output.items():
        member = shape.members.get(name)
        if member is None:
            in_body[name] = value
            continue
        match member.serialization.get("location"):
            case "header" if value is None:
                pass
            case "header":
                headers[member.serialization.get("name", name)] = _to_text(member, value)
            case "statusCode":
                status = value
            case _ if name == shape.serialization.get("payload") or member.serialization.get("eventstream"):
                payload = value
            case _:
                in_body[name] = value
    carrier = shape.serialization.get("payload")
    if status in WITHOUT_BODY:
        return ResponseParts(status, headers, b"")
    if carrier is None:
        return ResponseParts(status, headers, to_json(shape.name, in_body, of).encode())
    if isinstance(payload, str) and shape.members[carrier].type_name == "blob":
        payload = payload.encode("utf-8", "backslashreplace")  # of an output that is not strict
    if isinstance(payload, bytes | bytearray):
        return ResponseParts(status, headers, bytes(payload))
    is_stream = bool(shape.members[carrier].serialization.get("eventstream"))
    body = b"" if payload is None or is_stream else to_json(shape.members[carrier].name, payload, of).encode()
    return ResponseParts(status, headers, body)


def unsendable(described: Operation, output: Mapping[str, Any]) -> list[Violation]:
    """Return what no HTTP response can carry: in a header, in the status, and in the body of a status without one."""
    shape = described.output_shape
    found: list[Violation] = []
    for name, member in shape.members.items():
        value = output.get(name)
        match member.serialization.get("location"):
            case "header" if value is not None and not _IN_HEADER.fullmatch(_to_text(member, value)):
                header = member.serialization.get("name", name)
                text = (
                    f"is {shown(value)}; its place is the HTTP header {header}, which carries printable ASCII without "
                    f"spaces at its ends (AWS model {member.name})."
                )
                found.append(Violation(FindingKind.PATTERN, member.name, text, _IN_HEADER.pattern, (name,)))
            case "statusCode" if name in output:
                found += [each.under(name) for each in _wrong_status(described, member.name, value, output)]
            case _:
                pass
    return found


_IN_HEADER: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_STATUSES: Final = (200, 599)


def _wrong_status(described: Operation, name: str, value: object, output: Mapping[str, Any]) -> list[Violation]:
    low, high = _STATUSES
    if type(value) is not int:
        return [wrong_type(name, "integer", value)]
    if not low <= value <= high:
        text = f"is {value}; it is the HTTP status of the answer, from {low} to {high} (AWS model {name})."
        return [Violation(FindingKind.RANGE, name, text, _STATUSES)]
    payload = described.output_shape.serialization.get("payload", "")
    if value in WITHOUT_BODY and output.get(payload):
        text = (
            f"is {value}, and an answer with this HTTP status has no body; leave out {payload!r}, or change the status."
        )
        return [Violation(FindingKind.RANGE, name, text, _STATUSES)]
    return []


def _to_text(shape: Shape, value: object) -> str:
    time = to_datetime(value) if shape.type_name == "timestamp" else None
    if isinstance(time, datetime):
        return format_datetime(time, usegmt=True)
    return json.dumps(value) if isinstance(value, bool) else str(value)
