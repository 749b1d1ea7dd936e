"""Recorded answers of AWS are legal, and the JSON codec writes them byte for byte.

Compared with: 378 published recordings of Converse and ConverseStream, and botocore's own validator.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.api.beyond import BEYOND_MODEL, Beyond, ExtraError, MayBeAbsent
from converse_harness.bedrock.api.checks import Checks, FindingKind

HAS_ALL_THAT_IS_RECORDED = (1, 43, 117)
OUTSIDE_THE_CORPUS = {
    "ExpiredTokenException",
    "GuardrailWordPolicyAssessment",
    "InvalidSignatureException",
    "SerializationException",
    "UnrecognizedClientException",
}


@dataclass(frozen=True)
class Answer:
    """One JSON text that AWS sent: a body, an event's payload or an error's body."""

    place: str
    source: tuple[str, str]
    shape: str
    text: bytes
    raw: bool
    event: str | None = None
    error: str | None = None


@pytest.fixture(scope="session")
def answers(shared: Path) -> list[Answer]:
    """Every answer of the corpus."""
    corpus = shared / "corpus"
    index = json.loads((corpus / "index.json").read_text())
    assert len(index) == 378
    return [answer for entry in index for answer in _answers(corpus, entry)]


def _answers(corpus: Path, entry: Mapping[str, Any]) -> Iterator[Answer]:
    from botocore.eventstream import EventStreamBuffer

    response = json.loads((corpus / entry["file"]).read_text())["response"]
    body = base64.b64decode(response["body_base64"])
    source = (entry["source"]["repo"], entry["source"]["path"])
    if response["is_event_stream"]:
        frames = EventStreamBuffer()
        frames.add_data(body)
        for number, frame in enumerate(frames):
            name = frame.headers.get(":event-type") or frame.headers[":exception-type"]
            place = f"{entry['file']} event {number}"
            yield Answer(place, source, bedrock.stream_shape(name), frame.payload, raw=True, event=name)
    elif entry["status"] == 200:
        shape = bedrock.operation(entry["operation"]).output_shape.name
        yield Answer(entry["file"], source, shape, body, raw=entry["fidelity"] == "raw")
    else:
        headers = {name.lower(): value for name, value in response["headers"]}
        # 16 recorders kept no header; all of them have status 400.
        error = headers.get("x-amzn-errortype", "ValidationException").partition(":")[0]
        assert bedrock.all_errors()[error].status == entry["status"]
        yield Answer(entry["file"], source, error, body, raw=False, error=error)


def refusals(answers: list[Answer], checks: Checks) -> list[str]:
    """What the validator says against AWS's answers."""
    found: list[str] = []
    for answer in answers:
        value = bedrock.from_json(answer.shape, json.loads(answer.text))
        shape, whole = ("ConverseStreamOutput", {answer.event: value}) if answer.event else (answer.shape, value)
        found += [f"{answer.place}: {each.message}" for each in bedrock.validate(shape, whole, checks=checks)]
    return found


@pytest.fixture
def not_older_than_the_recordings() -> None:
    """Skip under a botocore that lacks what AWS has modelled since."""
    if tuple(map(int, bedrock.botocore_version().split("."))) < HAS_ALL_THAT_IS_RECORDED:
        pytest.skip(f"botocore {bedrock.botocore_version()} is older than some recorded answers")


def test_the_corpus_is_all_there(answers: list[Answer]) -> None:
    events = [answer for answer in answers if answer.event]
    errors = [answer for answer in answers if answer.error]
    bodies = [answer for answer in answers if not answer.event and not answer.error]
    assert len({answer.place.rpartition(" event ")[0] for answer in events}) == 67
    assert (len(events), len(bodies), len(errors)) == (2467, 289, 22)
    assert sum(answer.raw for answer in bodies) == 38


@pytest.mark.usefixtures("not_older_than_the_recordings")
def test_every_answer_is_legal(answers: list[Answer]) -> None:
    assert refusals(answers, Checks(BEYOND_MODEL)) == []


@pytest.mark.usefixtures("not_older_than_the_recordings")
@pytest.mark.parametrize("row", BEYOND_MODEL, ids=lambda row: f"{row.shape}.{getattr(row, 'member', '')}".rstrip("."))
def test_every_row_of_the_table_is_needed(answers: list[Answer], row: Beyond) -> None:
    if row.shape in OUTSIDE_THE_CORPUS:
        assert row.recording not in {answer.source for answer in answers}
        return
    if isinstance(row, ExtraError):
        needing = [answer.source for answer in answers if answer.error == row.shape]
        modelled = row.shape in bedrock.errors("Converse")
    else:
        without = Checks(other for other in BEYOND_MODEL if other is not row)
        needing = [answer.source for answer in answers if refusals([answer], without)]
        modelled = not isinstance(row, MayBeAbsent) and bedrock.has_member(row.shape, row.member)
    assert row.recording in needing or (not needing and modelled), "botocore's model has it now: the row can go"


def test_every_event_encodes_byte_for_byte(answers: list[Answer]) -> None:
    events = [answer for answer in answers if answer.event]
    assert [answer.place for answer in events if _encoded_again(answer) != answer.text] == []


def test_every_raw_body_encodes_byte_for_byte(answers: list[Answer]) -> None:
    bodies = [answer for answer in answers if answer.raw and not answer.event]
    assert [answer.place for answer in bodies if _encoded_again(answer) != answer.text] == []


def test_every_body_that_a_recorder_wrote_anew_keeps_its_value(answers: list[Answer]) -> None:
    bodies = [answer for answer in answers if not answer.raw]
    assert [answer.place for answer in bodies if json.loads(_encoded_again(answer)) != json.loads(answer.text)] == []


def _encoded_again(answer: Answer) -> bytes:
    value = bedrock.from_json(answer.shape, json.loads(answer.text))
    if bedrock.has_shape(answer.shape):
        value = _turned(bedrock.shape(answer.shape), value)
    return bedrock.to_json(answer.shape, value).encode()


def _turned(shape: bedrock.Shape, value: Any) -> Any:
    """The same value with the keys of its structures in reverse order: it is the codec that has to sort them."""
    if shape.type_name == "list":
        return [_turned(shape.member, item) for item in value]
    if shape.type_name == "map":
        return {key: _turned(shape.value, item) for key, item in reversed(value.items())}
    if shape.type_name == "structure" and not bedrock.is_document(shape):
        members = shape.members
        return {k: _turned(members[k], item) if k in members else item for k, item in reversed(value.items())}
    return value


# What botocore finds, the strict validator finds as well, at the same place.

OTHER_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    "",
    "x",
    b"",
    b"x",
    [],
    [None],
    [""],
    {},
    {"text": 5},
    {"unknown": 1},
]


class Varied:
    """A few answers, as shape and value, that together have every set of members that occurs in the corpus.

    Not a list: hypothesis warns of arguments that print long.
    """

    def __init__(self, answers: list[tuple[str, Any]]) -> None:
        self.answers = answers


@pytest.fixture(scope="session")
def varied(answers: list[Answer]) -> Varied:
    chosen: dict[str, tuple[str, Any]] = {}
    known = [answer for answer in answers if bedrock.has_shape(answer.shape)]
    for answer in sorted(known, key=lambda answer: len(answer.text)):
        value = bedrock.from_json(answer.shape, json.loads(answer.text))
        outline = (
            f"{answer.shape} {sorted({'.'.join(k for k in path if isinstance(k, str)) for path in _paths(value)})}"
        )
        chosen.setdefault(outline, (answer.shape, value))
    return Varied(list(chosen.values()))


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from _paths(inner, (*path, step))


@given(data=st.data())
def test_botocore_finds_nothing_that_the_validator_misses(varied: Varied, data: st.DataObject) -> None:
    shape, recorded = data.draw(st.sampled_from(varied.answers))
    value = deepcopy(recorded)
    for _ in range(data.draw(st.integers(1, 3), label="mutations")):
        value = _mutated(value, data)
    found = {
        _place(each.steps, each.limit if each.kind in (FindingKind.REQUIRED, FindingKind.UNKNOWN) else None)
        for each in bedrock.validate(shape, value, checks=Checks(()))
    }
    for place, is_ending in botocore_finds(shape, value):
        assert place in found or (is_ending and any(each.endswith(place) for each in found))


def _mutated(value: Any, data: st.DataObject) -> Any:
    path = data.draw(st.sampled_from(list(_paths(value))), label="at")
    if not path:
        return deepcopy(data.draw(st.sampled_from([value, *OTHER_VALUES])))
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    change = data.draw(st.sampled_from(["drop", "replace", "rename"]))
    if change == "drop":
        del holder[path[-1]]
    elif change == "rename" and isinstance(holder, dict):
        holder[data.draw(st.sampled_from(["text", "toolUse", "unknown", "message"]))] = holder.pop(path[-1])
    else:
        holder[path[-1]] = deepcopy(data.draw(st.sampled_from(OTHER_VALUES)))
    return value


def botocore_finds(shape: str, value: Any) -> Iterator[tuple[str, bool]]:
    """The place of each error that botocore's ParamValidator reports, and whether that is only the end of the place.

    A member that is missing or unknown is the place; inside a free-form document botocore forgets the way to it.
    """
    from botocore.validate import ParamValidator

    for reason, name, details in ParamValidator().validate(value, bedrock.shape(shape))._errors:
        if reason in ("missing required field", "unknown field"):
            yield f"{name}.{details.get('required_name') or details['unknown_param']}", False
        else:
            yield name, reason == "invalid type for document"


def _place(steps: tuple[str | int, ...], member: object) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path if member is None else f"{path}.{member}"
