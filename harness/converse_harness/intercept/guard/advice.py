"""What answers the clients of each library, as one table. Error messages and the documentation are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Fixture = Literal["converse", "converse_httpx", "converse_server"]


class AnsweredClients(NamedTuple):
    """Clients that one fixture answers; `fixture` is None if none does.

    `who` are the clients, and `how` is what they need, in the words of the documentation. `libraries` are the names of
    top-level packages by which the guard recognises them.
    """

    who: str
    fixture: Fixture | None
    how: str
    libraries: tuple[str, ...] = ()


HTTP_LIBRARIES: Final = ("httpx", "httpx2", "aiohttp")
"""The libraries whose requests a fake answers in this process, besides those of boto clients."""

_BOTO: Final = ("botocore", "aiobotocore")

_URL: Final = "give the client `fake.environ` or `fake.url`"

CLIENTS: Final = (
    AnsweredClients("boto3, botocore, aiobotocore, and what is built on them", "converse", "nothing", _BOTO),
    AnsweredClients(
        "httpx, httpx2, aiohttp, and what is built on them, such as litellm",
        "converse",
        "nothing, if the request goes to a host of Bedrock",
        HTTP_LIBRARIES,
    ),
    AnsweredClients(
        "a client of httpx or httpx2 that is given its transport",
        "converse_httpx",
        "`transport=`, whatever its host is",
    ),
    AnsweredClients("requests, urllib3", "converse_server", _URL, ("urllib3",)),
    AnsweredClients("curl_cffi, pycurl", "converse_server", _URL, ("curl_cffi", "pycurl")),
    AnsweredClients(
        "AWS's SDK for Python on awscrt", "converse_server", f"{_URL}; its C code cannot be hooked", ("awscrt",)
    ),
    AnsweredClients("clients in other processes, and in other languages", "converse_server", _URL),
    AnsweredClients(
        "the clients of OpenAI and Anthropic", None, "[another API](#other-apis-of-bedrock): give it a mock of its own"
    ),
)

_FIXTURES: Final[Mapping[str, Fixture | None]] = {name: row.fixture for row in CLIENTS for name in row.libraries}

LIBRARIES: Final = frozenset(_FIXTURES).difference(_BOTO)
"""The names by which the guard recognises an HTTP library on the call stack. botocore sends its requests by urllib3."""

_TAKE_CONVERSE: Final = "The fixture `converse` answers {library}: take it in this test."
_TAKE_SERVER: Final = (
    "No fixture answers {how} in this process. Use the fixture `converse_server` and give the client its "
    "`fake.environ` or `fake.url`. A client that takes no URL cannot be answered."
)


def advice_for(library: str, *, answered: bool) -> str:
    """Return what answers a request that was refused.

    `answered`: an open fake answers requests of the library. The client then went past the places where it does so.
    """
    if _FIXTURES.get(library) != "converse":
        return _TAKE_SERVER.format(how=library)
    return _TAKE_SERVER.format(how=f"this way of {library}") if answered else _TAKE_CONVERSE.format(library=library)
