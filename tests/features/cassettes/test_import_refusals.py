"""Cassettes that are not imported: what is said of each, and that nothing of it was run or written."""

import copy
import gzip
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from converse_harness.features.cassettes import cassette_yaml, convert
from converse_harness.features.cassettes.convert import CannotImportAll, import_cassette
from converse_harness.features.cassettes.read import CannotImport
from tests.features.cassettes.hand_made import ANSWER, FIRST, HOSTS, MEND, interaction, written

REFUSED = f"is refused: it is not plain data, and nothing of it was run. {MEND}"
REPEATED = f"aliases repeat what begins here within itself, or more than 1000000 values in all. {MEND}"


def refusal(path: Path) -> str:
    """What is said of a cassette of which nothing is written."""
    made = path.with_suffix(".jsonl")
    with pytest.raises((CannotImport, CannotImportAll)) as refused:
        import_cassette(path, made, HOSTS)
    assert not made.exists()
    return str(refused.value).replace(f"{path}:", "")


BROKEN: Mapping[str, tuple[str, str]] = {
    "a command": (
        f"{FIRST}- request: !!python/object/apply:os.system ['touch ran']\n",
        f"9: the tag !!python/object/apply:os.system {REFUSED}",
    ),
    "a command by another name": (
        "%TAG !e! tag:yaml.org,2002:python/object/new:\n---\ninteractions: !e!subprocess.Popen [[touch, ran]]\n",
        f"3: the tag !!python/object/new:subprocess.Popen {REFUSED}",
    ),
    "a name": (
        "a: !!python/name:os.system ''",
        f"1: the tag !!python/name:os.system {REFUSED}",
    ),
    "an object": (
        "a: !!python/object:os.Thing {x: 1}",
        f"1: the tag !!python/object:os.Thing {REFUSED}",
    ),
    "a set": ("a: !!set {x}", f"1: the tag !!set {REFUSED}"),
    "a tag of its own": (
        "a: !secret x",
        f"1: the tag !secret {REFUSED}",
    ),
    "a merge": (
        "a: &a {b: 1}\nc:\n  <<: *a",
        f"3: the tag !!merge {REFUSED}",
    ),
    "no YAML": (
        f"{FIRST}- request: [\n",
        f"10: this is not YAML (while parsing a flow node, did not find expected node content). {MEND}",
    ),
    "a control character": ("a: 1\nb: \x01", f"2: this is not YAML (control characters are not allowed). {MEND}"),
    "two documents": (
        f"{FIRST}---\n{FIRST}",
        f"9: this is not YAML (expected a single document in the stream, but found another document). {MEND}",
    ),
    "deep": ("[" * 100_000, f"1: this is nested more than 200 deep. {MEND}"),
    "a deep mapping": ("{a: " * 100_000, f"1: this is nested more than 200 deep. {MEND}"),
    "a deep list": ("\n".join(" " * n + "-" for n in range(1, 300)), f"201: this is nested more than 200 deep. {MEND}"),
    "a loop": ("\ninteractions: &a [\n*a]", f"2: {REPEATED}"),
    "an alias of nothing": ("interactions:\n- *a", f"2: this is not YAML (found undefined alias). {MEND}"),
    "a bomb": (
        "a: &a [x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
            for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        f"6: {REPEATED}",
    ),
    "a key twice": (f"{FIRST}interactions: []\n", f"1: this mapping has the key 'interactions' twice. {MEND}"),
    "a key that is a list": (
        "? [a]\n: b",
        f"1: a key of this mapping is a list or a mapping; keys are scalars. {MEND}",
    ),
    "no base64": ("a: !!binary 'Secret!'", f"1: a value with the tag !!binary is none. {MEND}"),
    "no truth": ("a:\n- !!bool 'maybe'", f"2: a value with the tag !!bool is none. {MEND}"),
    "no file": (
        "a: !!python/object/new:_io.BytesIO {}",
        f"1: a value with the tag !!python/object/new:_io.BytesIO is none. {MEND}",
    ),
    "no name of a header": (
        "a: !!python/object/apply:multidict._multidict.istr [1]",
        f"1: a value with the tag !!python/object/apply:multidict._multidict.istr is none. {MEND}",
    ),
    "text as a list": ("a: !!seq x", f"1: the tag !!seq {REFUSED}"),
    "no number": ("a: !!int ''", f"1: a value with the tag !!int is none. {MEND}"),
    "a number that is none": (
        "a: !!float 1:" + ":".join(["59"] * 40),
        f"1: a value with the tag !!float is none. {MEND}",
    ),
    "empty": (" \n\n", "1: the file is empty. Record the cassette again, or remove it."),
    "comments": ("# nothing", f"1: this holds nothing; a cassette is a mapping. {MEND}"),
    "a list": ("[1, 2]", f"1: this holds a list; a cassette is a mapping. {MEND}"),
    "a text": ("hello", f"1: this holds a text; a cassette is a mapping. {MEND}"),
    "other keys": (
        "recordings: []\nrecorded_with: me",
        f"1: its keys are recordings, recorded_with; a cassette has interactions. {MEND}",
    ),
    "no keys": ("{}", f"1: its keys are none; a cassette has interactions. {MEND}"),
    "interactions that are none": ("interactions: 7", f"1: interactions is a number; it is a list. {MEND}"),
    "of before 1.0": (
        "- request: {}\n  response: {}\n",
        "1: this is a cassette of vcrpy before 1.0. Record it again with a newer vcrpy.",
    ),
    "another version": (f"{FIRST}version: 2", "1: its version is 2; cassettes of version 1 are read."),
    "more requests": ("requests: [{}, {}]\nresponses: [{}]", f"1: it has 2 requests and 1 responses. {MEND}"),
    "half an interaction": (
        f"{FIRST}- request: {{}}\n",
        f"9: this interaction is not a request and a response. {MEND}",
    ),
    "a text as interaction": (f"{FIRST}- hello\n", f"1: this interaction is not a request and a response. {MEND}"),
    "JSON": (
        '{\n"version": 1,\n"interactions": [\n{"request": {"uri": "https://x/"}, "response": {}},\n\n {"request": 1}]}',
        f"6: this interaction is not a request and a response. {MEND}",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_cassettes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, said = BROKEN[name]
    Path("broken.yaml").write_text(text)
    assert refusal(Path("broken.yaml")) == said
    assert os.listdir() == ["broken.yaml"]


@pytest.mark.slow
def test_aliases_may_repeat_as_many_values_as_the_limit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette_yaml, "_MAX_REPEATED", 40)
    ten = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"  # with the list itself

    def repeated(times: int) -> str:
        return ten + "b:\n" + "- *a\n" * times

    assert cassette_yaml.load(repeated(4)) == {"a": [*range(1, 10)], "b": [[*range(1, 10)]] * 4}
    with pytest.raises(cassette_yaml.BadYaml):
        cassette_yaml.load(repeated(5))


@pytest.mark.parametrize("loader", [cassette_yaml.LOADER, type("Slow", (cassette_yaml.Shallow, yaml.SafeLoader), {})])
def test_what_is_refused_without_libyaml_too(loader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette_yaml, "LOADER", loader)
    assert cassette_yaml.load("[" * 199 + "{a: 1}" + "]" * 199)
    for name in ("a command", "an object", "deep", "a deep list", "a loop", "a bomb"):
        text, said = BROKEN[name]
        with pytest.raises(cassette_yaml.BadYaml) as refused:
            cassette_yaml.load(text)
        line, problem = refused.value.args
        assert f"{line}: {problem} {MEND}" == said


def test_broken_json(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    for text, said in {
        '{"interactions": [\n{"request" 1}]}': "2: this is not JSON (Expecting ':' delimiter).",
        '{"interactions": [], "interactions": []}': "1: this is not JSON (an object has the key 'interactions' twice).",
        '{"a": ' + "[" * 100_000: "1: this is not JSON (maximum recursion depth exceeded",
    }.items():
        path.write_text(text)
        assert refusal(path).startswith(said)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    for data, said in {
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n": (
            "1: the file is a pointer of Git LFS, which has the content of the file elsewhere. Run `git lfs pull`; in "
            "CI, check out with LFS."
        ),
        b"a: 1\nb: \xff": f"2: byte 8 of the file is not UTF-8. {MEND}",
        gzip.compress(b"interactions: []")[:-9]: f"1: this is no gzip (it stops in the middle). {MEND}",
        gzip.compress(b"a: \xff"): f"1: byte 3 of the file is not UTF-8. {MEND}",
    }.items():
        path.write_bytes(data)
        assert refusal(path) == said


UNREADABLE: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no uri": ({"uri": None}, {}, "the uri of its request is nothing; it is a text."),
    "no status": (
        {},
        {"status": None},
        "the status of its response has the code None; it is a number from 100 to 599.",
    ),
    "a status of another kind": (
        {},
        {"status": {"code": "200"}},
        "the status of its response has the code '200'; it is a number from 100 to 599.",
    ),
    "a number": ({}, {"body": {"string": 7}}, "the body of its response is a number; it is a text or bytes."),
    "an unknown form": ({}, {"body": {"file": "secret"}}, "the body of its response has file; it has string."),
    "an unknown encoding": (
        {},
        {"body": {"string": "x", "encoding": "ebcdic"}},
        "the body of its response cannot be written as ebcdic (unknown encoding: ebcdic).",
    ),
    "an encoding that has no name": (
        {},
        {"body": {"string": "x", "encoding": "a\0"}},
        "the body of its response cannot be written as a\0 (embedded null character).",
    ),
    "unknown forms of any kind": ({}, {"body": {1: 2, "a": 3}}, "the body of its response has 1, a; it has string."),
    "no base64": (
        {},
        {"body": {"base64_string": "secret!"}},
        "the base64_string of its response is no base64 (Only base64 data is allowed).",
    ),
    "no JSON": (
        {},
        {"parsed_body": {"a": b"secret"}},
        "the parsed_body of its response is no JSON (Object of type bytes is not JSON serializable).",
    ),
    "headers": ({"headers": ["secret"]}, {}, "the headers of its request are a list; they are a mapping."),
    "an encoding that is not read": (
        {},
        {"headers": {"content-encoding": ["compress"]}, "body": {"string": b"\x01\x02"}},
        (
            "the body of its response is encoded as compress; gzip, x-gzip, deflate, br, zstd are read. "
            "vcrpy decodes while it records with decode_compressed_response=True."
        ),
    ),
    "damaged gzip": (
        {},
        {"body": {"string": gzip.compress(ANSWER)[:-9]}},
        "the body of its response is no gzip (it stops in the middle).",
    ),
    "damaged deflate": (
        {},
        {"body": {"string": zlib.compress(ANSWER)[:-9]}, "headers": {"Content-Encoding": "deflate"}},
        "the body of its response is no deflate (it stops in the middle).",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_interactions_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    request, response, said = UNREADABLE[name]
    good = interaction({"body": {"string": ANSWER}})
    bad = interaction(response)
    bad["request"] |= request
    cassette = written(tmp_path, good, bad, copy.deepcopy(bad))
    lines = [number for number, line in enumerate(cassette.read_text().splitlines(), 1) if line.startswith("- ")]
    # All of them are named, and nothing is written, not even of the good one.
    assert refusal(cassette) == f"{lines[1]}: {said} {MEND}\n{lines[2]}: {said} {MEND}"
    assert "secret" not in said


def test_bodies_that_unpack_to_too_much_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "MAX_FILE", 1024 * 1024)
    packed = {"body": {"string": gzip.compress(bytes(600 * 1024))}, "headers": {"Content-Encoding": ["gzip"]}}
    said = refusal(written(tmp_path, *[interaction(packed)] * 2))
    assert "once it is unpacked, and no more is" in said


def test_a_number_that_json_has_not(tmp_path: Path) -> None:
    cassette = written(tmp_path, interaction({"parsed_body": {"score": float("nan")}}))
    assert "the parsed_body of its response is no JSON (Out of range float values" in refusal(cassette)
