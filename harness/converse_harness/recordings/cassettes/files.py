"""Cassettes of vcrpy, as its serializers and those of its users write them: YAML or JSON, plain or gzip.

Two layouts are read, `{"interactions": [{"request", "response"}, ...]}` and `{"requests": [...], "responses": [...]}`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.errors import DamagedData

GZIP: Final = b"\x1f\x8b"
VERSION: Final = 1

_MEND: Final = "Mend it, or record the cassette again."
_DECODER: Final = json.JSONDecoder()


KINDS: Final[Mapping[type, str]] = {
    list: "a list",
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


class CannotImport(DamagedData):
    """A cassette that cannot be imported: `path`, `line` (from 1) and what is wrong with it."""

    def __init__(self, path: object, line: int, problem: str, advice: str = _MEND) -> None:
        super().__init__(f"{path}:{line}: {problem} {advice}".rstrip())
        self.path, self.line, self.problem = path, line, problem


class NoCassette(CannotImport):
    """A file of YAML or JSON that holds something else."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One request and its response as the cassette has them; `line` is where it begins."""

    line: int
    request: Mapping[str, Any]
    response: Mapping[str, Any]


def read_cassette(path: Path) -> list[Interaction]:
    """The interactions of a cassette in their order.

    Raises CannotImport, and OSError for a file that cannot be read.
    """
    text = _text_of(path)
    if text.lstrip().startswith("{"):
        try:
            document = json.loads(text, object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            if _is_json(path):
                line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
                reason = error.msg if isinstance(error, json.JSONDecodeError) else error
                raise CannotImport(path, line, f"this is not JSON ({reason}).") from error
        else:
            return list(_interactions(document, path, _json_lines(text)))
    document = _yaml(text, path)
    return list(_interactions(document, path, {}))


def kind_of(value: object) -> str:
    """What a value is, in words that tell nothing of what it says: that may be a secret."""
    return KINDS.get(type(value), "a mapping" if isinstance(value, dict) else "of another kind")


def _is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".json")


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise CannotImport(path, 1, f"this is not gzip to its end ({error}).") from error
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
        from converse_harness.recordings.cassettes.yaml_data import BadYaml, load
    except ModuleNotFoundError as error:
        if error.name != "yaml":
            raise
        advice = "Install it: pip install 'converse-harness[import]'"
        raise CannotImport(path, 1, "this is YAML, and PyYAML, which reads it, is not installed.", advice) from error
    try:
        return load(text)
    except BadYaml as error:
        raise CannotImport(path, *error.args) from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice[:40]!r} twice")
    return made


def _interactions(document: Any, path: Path, lines: Mapping[str, Sequence[int]]) -> Iterator[Interaction]:
    items: Sequence[Any] = cast("Sequence[Any]", document) if isinstance(document, list) else ()
    if items and isinstance(items[0], dict) and "request" in items[0]:
        raise CannotImport(path, 1, "this is a cassette of vcrpy before 1.0.", "Record it again with a newer vcrpy.")
    if not isinstance(document, dict):
        held = kind_of(cast("object", document))
        raise NoCassette(path, 1, f"this holds {held}; a cassette is a mapping.")
    document = cast("dict[str, Any]", document)
    version = document.get("version", VERSION)
    if "interactions" in document:
        entries = _list(document, "interactions", path)
        sides = [(_side(entry, "request"), _side(entry, "response")) for entry in entries]
        begin = lines.get("interactions", ())
    elif "requests" in document and "responses" in document:
        requests, responses = (_list(document, name, path) for name in ("requests", "responses"))
        if len(requests) != len(responses):
            raise CannotImport(path, 1, f"it has {len(requests)} requests and {len(responses)} responses.")
        sides, begin = list(zip(requests, responses, strict=True)), lines.get("requests", ())
        entries = requests
    else:
        keys = ", ".join(str(key) for key in list(document)[:5])
        raise NoCassette(path, 1, f"its keys are {keys or 'none'}; a cassette has interactions.")
    if version != VERSION:
        raise CannotImport(path, 1, f"its version is {version!r:.20}; cassettes of version {VERSION} are read.", "")
    for number, (request, response) in enumerate(sides):
        line = begin[number] if begin else getattr(entries[number], "line", 1)
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise CannotImport(path, line, "this interaction is not a request and a response.")
        yield Interaction(line, cast("dict[str, Any]", request), cast("dict[str, Any]", response))


def _list(document: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    found = document[name]
    if not isinstance(found, list):
        raise CannotImport(path, 1, f"{name} is {kind_of(found)}; it is a list.")
    return [*cast("Sequence[Any]", found)]


def _side(entry: Any, name: str) -> Any:
    return cast("dict[str, Any]", entry).get(name) if isinstance(entry, dict) else None


def _json_lines(text: str) -> dict[str, list[int]]:
    """On which lines the entries of each list of a JSON document begin, which is known to be an object."""
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
    """Where the next value or bracket begins: past white space, a comma or a colon."""
    while text[at] in " \t\r\n,:":
        at += 1
    return at
