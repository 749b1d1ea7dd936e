"""What a target of the fuzzers is, and the answers from which their seeds are made."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from converse_harness import Endpoint
from converse_harness.cases import CASES
from converse_harness.stream.http import HttpResponse, Request

ASKED = b'{"messages":[{"role":"user","content":[{"text":"What is it like in Z\xc3\xbcrich?"}]}]}'


@dataclass(frozen=True)
class Target:
    """Code that reads what others wrote."""

    check: Callable[[bytes], None]
    """Raises for an input that is a finding."""
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[str, ...]
    """What inputs are made of, beside the seeds."""


Operation = Literal["Converse", "ConverseStream"]

PATHS: Final[Mapping[Operation, str]] = {"Converse": "converse", "ConverseStream": "converse-stream"}


class Answer(NamedTuple):
    """What the fake answers for a case of the catalogue."""

    case: str
    operation: Operation
    request: Request
    response: HttpResponse


def answers() -> Iterator[Answer]:
    """The first answer of every case, to both operations where both can have it, that comes over HTTP."""
    for case in CASES.values():
        if not case.available:
            continue
        for operation, path in PATHS.items():
            if operation == "Converse" and case.stream_only:
                continue
            request = Request("POST", f"/model/us.amazon.nova-lite-v1%3A0/{path}", (), ASKED)
            response = Endpoint(case.reply).exchange(request).response
            if response.failure is None:
                yield Answer(case.name, operation, request, response)


@cache
def folder() -> Path:
    """A folder for the files of one input after the other: to make and remove one takes longer than to read a file."""
    _folders.append(made := TemporaryDirectory())
    return Path(made.name)


_folders: list[TemporaryDirectory[str]] = []
"""They live as long as the process."""


def body_of(response: HttpResponse) -> bytes:
    """Its body, whole."""
    return b"".join(chunk.data for chunk in response.chunks)
