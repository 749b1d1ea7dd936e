"""Requests whose path is no operation of Bedrock: what Bedrock answers to them, and what the developer can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from converse_harness import bedrock
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.operations import host_of, route
from converse_harness.errors import NOTHING, Advice
from converse_harness.stream.http import UNKNOWN_OPERATION, HttpResponse, Request, json_response
from converse_harness.words import nearest

_SILENCE: Final = (
    " Bedrock answers such a path with HTTP 200 and no answer: its body has UnknownOperationException in a place that "
    "clients do not read."
)

_NO_ANSWER: Final = "no answer: UnknownOperationException in a body that clients do not read"

_TWO_SLASHES: Final = (
    'The path begins with two slashes: the endpoint that the client was given ends in "/". Use the address as it is.\n'
)

_LOOK: Final = "Look at the endpoint URL that the client was given: "

_OTHER_PATH: Final = Advice(
    "it is fake.url, with nothing added.   More: converse-harness docs server clients-find-it-by-their-environment",
    "it is the `url` of the fake, with nothing added.   "
    "More: converse-harness docs server clients-find-it-by-their-environment",
)


_BASES: Final = ("", "/v1", "/openai/v1")

OTHER_APIS: Final[Mapping[str, str]] = {
    "/v1/messages": "Messages",
    "/anthropic/v1/messages": "Messages",
    **{f"{base}/chat/completions": "Chat Completions" for base in _BASES},
    **{f"{base}/responses": "Responses" for base in _BASES},
}
"""Maps paths to the names of the other APIs of Bedrock. The clients of OpenAI and Anthropic use these APIs at the hosts
bedrock-runtime and bedrock-mantle.
"""

OTHER_API: Final = "a path of Bedrock's {api} API; converse-harness answers Converse and ConverseStream."

_MORE: Final = "   More: converse-harness docs transports other-apis-of-bedrock"

OF_ITS_OWN: Final = Advice(
    "Give this client a transport of its own in this test: httpx.MockTransport, or httpx2.MockTransport if the client\n"
    f"is built on httpx2.{_MORE}",
    f"Give this client a double of its own, or another endpoint.{_MORE}",
)
"""The advice for a client of an API in OTHER_APIS."""


def other_api(target: str) -> str | None:
    """Return the name of the API to which a path belongs, or is below a path of; None if it is not in OTHER_APIS.

    >>> other_api("/openai/v1/responses/resp_1?stream=true"), other_api("/model/m/converse")
    ('Responses', None)
    """
    path = target.partition("?")[0] + "/"
    return next((api for known, api in OTHER_APIS.items() if path.startswith(f"{known}/")), None)


_OTHER_HOST: Final = (
    "The host is {host}. If an operation of AWS is meant, correct its method and path.\n"
    "If not, as at the MCP endpoint of a gateway:\n"
)


class PathProblem(NamedTuple):
    """What an error says about a path: its first paragraph, its last paragraph, and advice at the end."""

    first: str
    last: str
    advice: Advice = NOTHING


def gets_no_answer(call: Call) -> bool:
    """Whether Bedrock answers the path of a call with UNKNOWN_OPERATION. This was recorded only for the method POST."""
    return call.operation is None and call.head.method == "POST" and other_api(call.request.target) is None


def no_answer(call: Call, request_id: str, *, delay: float = 0.0) -> HttpResponse:
    """Return the response with UNKNOWN_OPERATION, and store in the call that it is no answer."""
    call.answered.error = _NO_ANSWER
    return json_response(UNKNOWN_OPERATION, request_id, delay=delay)


def problem_of(call: Call) -> PathProblem:
    """Return what is wrong with the path of a call that is no operation."""
    request = call.request
    if (api := other_api(request.target)) is not None:
        return PathProblem(f"{request.method} {request.target} is {OTHER_API.format(api=api)}", "", OF_ITS_OWN)
    host, service = host_of(request)
    if service != bedrock.SERVICE and service in bedrock.services():
        first = (
            f"{request.method} {request.target} is no operation of {service} in botocore {bedrock.botocore_version()}."
        )
        return PathProblem(first, _OTHER_HOST.format(host=host), OF_ITS_OWN)
    first = f"{request.method} {request.target} is no operation of Bedrock."
    if gets_no_answer(call):
        first += _SILENCE
    if encoded := _encoded(request):
        return PathProblem(first, f"The model id has a slash. Send it as %2F: {encoded}")
    return PathProblem(first, _near(request) + _LOOK, _OTHER_PATH)


def _encoded(request: Request) -> str:
    """Return the path with `%2F` for each slash in the model id; "" if this is no operation either."""
    path, _, last = request.target.partition("?")[0].rpartition("/")
    model_id = path.removeprefix("/model/")
    target = f"/model/{model_id.replace('/', '%2F')}/{last}"
    return target if model_id != path and route(replace(request, target=target)) is not None else ""


def _near(request: Request) -> str:
    """Return a sentence about how a request differs from that of a similar operation; empty if none is similar."""
    target = request.target
    if route(replace(request, method="POST")) is not None:
        return f"This path is asked with POST, and the request is a {request.method}.\n"
    if target.startswith("//"):
        return _TWO_SLASHES
    last = target.partition("?")[0].rpartition("/")[2]
    known = {"converse": "Converse", "converse-stream": "ConverseStream", "count-tokens": "CountTokens"}
    close = nearest(last.replace("_", "-").lower(), known)
    return f"The path of {known[close]} ends in /{close}, and this one in /{last}.\n" if close else ""
