"""Read vcrpy cassettes: YAML or JSON files, plain or gzipped, from vcrpy's own serializers or from a user's serializer.

The module reads two layouts: `{"interactions": [{"request", "response"}, ...]}` and `{"requests": [...], "responses":
[...]}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from converse_harness.errors import DamagedData
from converse_harness.features.cassettes.other_tools import OTHER_KINDS, other_kind
from converse_harness.json_values import is_array, is_object, member_of, object_of, repeated
from converse_harness.recordings.format.other_files import other_file
from converse_harness.secrets.encodings import GZIP, MAX_FILE, CannotUnpack, unpack

_VERSION: Final = 1

READ: Final = "vcrpy's cassettes, answers of Converse, and events of ConverseStream"
_MEND: Final = "Mend it, or record the cassette again."
_DECODER: Final = json.JSONDecoder()


_KINDS: Final[Mapping[type, str]] = {
    list: "a list",
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


class CannotImport(DamagedData):
    """Raised for a cassette that cannot be imported. The message begins with the path and the line of the problem."""

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}".rstrip())


class NoCassette(CannotImport):
    """Raised for a YAML or JSON file that is not a cassette."""


class OtherTool(NoCassette):
    """Raised for a file of a kind in OTHER_KINDS; `tool` is the name of this kind."""

    def __init__(self, path: object, tool: str) -> None:
        super().__init__(path, 1, f"this is of {tool}; import reads {READ}.", OTHER_KINDS[tool].advice)
        self.tool = tool


class Interaction(NamedTuple):
    """A request and its response, as the cassette contains them; `line` is the number of their first line, from 1."""

    line: int
    request: Mapping[str, Any]
    response: Mapping[str, Any]


def read_cassette(path: Path) -> list[Interaction]:
    """Return the interactions of a cassette in their order.

    Raises CannotImport, and OSError for a file that cannot be read.
    """
    try:
        return _read(text_of(path), path)
    except CannotImport:
        check_tool(path)
        raise


def check_tool(path: Path) -> None:
    """Raise OtherTool if this file is of a kind in OTHER_KINDS. Raises CannotImport if the file is not text."""
    tool = other_kind(text_of(path))
    if tool is not None:
        raise OtherTool(path, tool)


def _read(text: str, path: Path) -> list[Interaction]:
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text, object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            if path.name.lower().removesuffix(".gz").endswith(".json"):
                line, reason = (error.lineno, error.msg) if isinstance(error, json.JSONDecodeError) else (1, error)
                raise CannotImport(path, line, f"this is not JSON ({reason}).") from error
        else:
            return list(_interactions(document, path, _json_lines(text)))
    return list(_interactions(_yaml(text, path), path, {}))


def kind_of(value: object) -> str:
    """Return the type of a value in words, without its content, which may be a secret."""
    return _KINDS.get(type(value), "a mapping" if isinstance(value, dict) else "of another kind")


def text_of(path: Path) -> str:
    """Return the text of a file, decompressed if necessary.

    Raises CannotImport, and OSError for a file that cannot be read.
    """
    data = path.read_bytes()
    if data.startswith(GZIP):
        try:
            data = unpack("gzip", data, MAX_FILE)
        except CannotUnpack as error:
            raise CannotImport(path, 1, f"this {error}.") from error
    if (other := other_file(data, path.name)) is not None:
        raise CannotImport(path, 1, *other)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CannotImport(path, line, f"byte {error.start} of the file is not UTF-8.") from error
    if not text.strip():
        raise CannotImport(path, 1, "the file is empty.", "Record the cassette again, or remove it.")
    return text


def _yaml(text: str, path: Path) -> Any:
    try:
        from converse_harness.features.cassettes.cassette_yaml import BadYaml, load
    except ModuleNotFoundError as error:
        advice = "Install it: pip install 'converse-harness[import]'"
        raise CannotImport(path, 1, "this is YAML, and PyYAML, which reads it, is not installed.", advice) from error
    try:
        return load(text)
    except BadYaml as error:
        raise CannotImport(path, *error.args) from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(pairs):
        raise ValueError(f"an object has the key {twice[0][:40]!r} twice")
    return dict(pairs)


def _interactions(document: Any, path: Path, lines: Mapping[str, Sequence[int]]) -> Iterator[Interaction]:
    if is_array(document) and document and "request" in object_of(document[0]):
        raise CannotImport(path, 1, "this is a cassette of vcrpy before 1.0.", "Record it again with a newer vcrpy.")
    if not is_object(document):
        raise NoCassette(path, 1, f"this holds {kind_of(document)}; a cassette is a mapping.")
    version = document.get("version", _VERSION)
    if "interactions" in document:
        entries = _list(document, "interactions", path)
        sides = [(member_of(entry, "request"), member_of(entry, "response")) for entry in entries]
    elif "requests" in document and "responses" in document:
        entries, responses = _list(document, "requests", path), _list(document, "responses", path)
        if len(entries) != len(responses):
            raise CannotImport(path, 1, f"it has {len(entries)} requests and {len(responses)} responses.")
        sides = list(zip(entries, responses, strict=True))
    else:
        keys = ", ".join(map(str, list(document)[:5]))
        raise NoCassette(path, 1, f"its keys are {keys or 'none'}; a cassette has interactions.")
    if version != _VERSION:
        raise CannotImport(path, 1, f"its version is {version!r:.20}; cassettes of version {_VERSION} are read.", "")
    begin = lines.get("interactions") or lines.get("requests") or [getattr(entry, "line", 1) for entry in entries]
    for line, (request, response) in zip(begin, sides, strict=True):
        if not is_object(request) or not is_object(response):
            raise CannotImport(path, line, "this interaction is not a request and a response.")
        yield Interaction(line, request, response)


def _list(document: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    found = document[name]
    if not is_array(found):
        raise CannotImport(path, 1, f"{name} is {kind_of(found)}; it is a list.")
    return found


def _json_lines(text: str) -> dict[str, list[int]]:
    """Return the line numbers of the items of each non-empty list in a JSON object, by the list's key."""
    lines: dict[str, list[int]] = {}
    line, counted = 1, 0
    at = _next(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _next(text, at)
        if text[at] != "[":
            _, at = _DECODER.raw_decode(text, at)
        else:
            at = _next(text, at + 1)
            while text[at] != "]":
                line, counted = line + text.count("\n", counted, at), at
                lines.setdefault(key, []).append(line)
                _, at = _DECODER.raw_decode(text, at)
                at = _next(text, at)
            at += 1
        at = _next(text, at)
    return lines


def _next(text: str, at: int) -> int:
    """Return the position of the next value or bracket from `at` on: white space, commas and colons are skipped."""
    while text[at] in " \t\r\n,:":
        at += 1
    return at
