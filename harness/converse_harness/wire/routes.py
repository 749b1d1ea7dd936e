"""Which operation an HTTP request asks for: the paths of AWS's model, matched raw, each label decoded afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from converse_harness import model
from converse_harness.wire.http import Request


class Route(NamedTuple):
    """An operation and the decoded labels of its path, `modelId` for instance."""

    operation: str
    path_params: Mapping[str, str]


def route(request: Request) -> Route | None:
    """The operation of Bedrock Runtime that the request asks for, or None.

    The raw path is matched: an ARN in it has its `/` as `%2F`, and decoding first would split it.

    >>> from converse_harness.wire.http import Request
    >>> route(Request("POST", "/model/arn%3Aaws%3Abedrock%3A%3A%3Aprompt%2Fx/converse", (), b""))
    Route(operation='Converse', path_params={'modelId': 'arn:aws:bedrock:::prompt/x'})
    """
    path = request.target.partition("?")[0]
    for method, pattern, operation in _paths():
        found = pattern.fullmatch(path) if method == request.method else None
        if found:
            return Route(operation, {name: unquote(value) for name, value in found.groupdict().items()})
    return None


@lru_cache(maxsize=1)
def _paths() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    paths: list[tuple[str, re.Pattern[str], str]] = []
    for name in model.operations():
        http = model.operation(name).http
        parts = re.split(r"\{(\w+)\}", http["requestUri"])
        pattern = "".join(f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
        paths.append((http["method"], re.compile(pattern), name))
    return tuple(paths)
