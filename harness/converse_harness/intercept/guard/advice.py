"""What answers the clients of each library, as one table. Error messages and the documentation are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Fixture = Literal["converse", "converse_server"]


class AnsweredClients(NamedTuple):
    """Libraries whose clients one fixture answers.

    `libraries` are the names of their top-level packages. `who` are the clients, for readers of the documentation.
    """

    who: str
    libraries: tuple[str, ...]
    fixture: Fixture


CLIENTS: Final = (
    AnsweredClients("boto3, botocore, aiobotocore", ("botocore", "aiobotocore"), "converse"),
    AnsweredClients(
        "httpx, httpx2, aiohttp, and what sends requests over them", ("httpx", "httpx2", "aiohttp"), "converse"
    ),
    AnsweredClients("awscrt (AWS's SDK for Python)", ("awscrt",), "converse_server"),
    AnsweredClients("curl_cffi, pycurl", ("curl_cffi", "pycurl"), "converse_server"),
    AnsweredClients("urllib3, requests", ("urllib3",), "converse_server"),
)

_FIXTURES: Final[Mapping[str, Fixture]] = {name: row.fixture for row in CLIENTS for name in row.libraries}

LIBRARIES: Final = frozenset(_FIXTURES) - {"botocore", "aiobotocore"}
"""The names by which the guard recognises an HTTP library on the call stack."""

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
