"""The answers that are compared: recorded ones, those that the fake sends by default, of the cases, and drawn ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, bedrock, reply
from converse_harness.bedrock.families import USUAL_SIGNATURE
from converse_harness.cases import CASES
from converse_harness.errors import ConverseHarnessError, DamagedData
from converse_harness.json_values import is_object
from converse_harness.stream.assemble import assemble
from converse_harness.stream.events import encode_event, from_wire
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import is_exception
from converse_harness.stream.http import Request
from converse_strategies import converse_responses, guardrail_traces, stream_errors, stream_events, tool_uses
from tests.oracle.answers import month_of
from tests.oracle.census.reading import CensusAnswer, Kind, observations
from tests.oracle.conftest import HAND_MADE, body_with_media
from tests.oracle.fidelity import ASKED

OPERATIONS: Final = {"Converse": "converse", "ConverseStream": "converse-stream"}
NEUTRAL: Final = "my-model"
"""The id of a model that no row knows: cases and strategies are not of a model."""

_MASKED: Final = ("redacted", "masked", "filtered", "placeholder", "xxx", "test-")
_BATCH: Final = 30
_BATCHES: Final = 40
"""How many values of each strategy are drawn at a time, and how many times."""

What = tuple[Kind, str, str]
"""The kind, the operation and the content of an Observation, without its family."""


Asked = tuple[CensusAnswer, Mapping[str, Any] | None]
"""An answer with the JSON of its request, if that is known."""


def recorded(shared: Path) -> list[Asked]:
    """Every answer of both corpora that AWS sent."""
    found: list[Asked] = []
    for corpus in (shared / "corpus", shared / "corpus-2"):
        for row in json.loads((corpus / "index.json").read_text()):
            if row["operation"] in OPERATIONS and row["file"] not in HAND_MADE:
                file = json.loads((corpus / row["file"]).read_text())
                answer = _recorded(row, file)
                if answer is not None:
                    body = file["request"].get("body")
                    found.append((answer, body if is_object(body) and "messages" in body else None))
    return found


def _recorded(row: Mapping[str, Any], file: Mapping[str, Any]) -> CensusAnswer | None:
    response = file["response"]
    headers = tuple((name, value) for name, value in response.get("headers") or () if not _is_masked(value))
    if any(name.lower() == "via" for name, _ in headers):
        headers = ()  # a proxy wrote them
    answered = dict(headers) | {name.lower(): value for name, value in headers}
    error = ""
    if row["status"] != 200:
        error = answered.get("x-amzn-errortype", "").partition(":")[0]
        if not error:
            return None  # its recorder has not kept what error it was
    if response.get("events") is not None:
        events = tuple((name, members) for event in response["events"] for name, members in event.items())
    elif response.get("body") is not None:
        events = (("body", response["body"]),)
    else:
        data = base64.b64decode(response["body_base64"])
        events = tuple(events_in(data)) if response["is_event_stream"] else (("body", json.loads(data)),)
    if row["status"] == 200 and "Output" in dict(events).get("body", {}):
        return None  # the answer to a path that is no operation
    return CensusAnswer(
        str(row["model_id"]),
        row["operation"],
        events,
        month_of(file) or str(row.get("first_commit") or "")[:7],
        row["status"],
        error,
        headers,
        has_order=row["fidelity"] == "raw",
    )


def _is_masked(value: object) -> bool:
    return not value or any(word in str(value).lower() for word in _MASKED)


def events_in(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the type and the JSON of each event in the bytes of a stream, as far as they can be read."""
    try:
        frames = Decoder().feed(data)
    except DamagedData:
        return
    for frame in frames:
        name = frame.get(":event-type") or frame.get(":exception-type")
        if name:
            yield str(name), json.loads(frame.payload)


def sent(answers: Iterable[Asked]) -> Iterator[CensusAnswer]:
    """Yield what the fake answers to the recorded requests, if a test scripts the least of the recorded message.

    That is texts, names and inputs of tools, thoughts; the fake adds ids, types, usage, headers. A refused request is
    sent to the fake's rules. Of answers with the same kinds of blocks to requests of the same form, one is asked.
    """
    done: set[object] = set()
    for answer, asked in answers:
        made = reply.text("ok") if answer.error else _least(answer)
        if made is None or (answer.error and asked is None):
            continue
        body = body_with_media(ASKED if asked is None else asked)
        form = answer.model_id, answer.operation, *_form_of(made.plan.body), *(asked or ()), *_told_by(body)
        if answer.error or form not in done:
            done.add(form)
            yield _asked(made, answer.model_id, answer.operation, body, "default" if answer.error else "off")


def ours_to(answer: CensusAnswer, asked: Mapping[str, Any] | None) -> CensusAnswer | None:
    """Return what the fake answers to the request of one recorded answer; None for an answer without a message."""
    made = _least(answer)
    if made is None:
        return None
    body = body_with_media(ASKED if asked is None else asked)
    return _asked(made, answer.model_id, answer.operation, body, "off")


def _form_of(body: Any) -> Iterator[str]:
    yield body.stop_reason
    yield from (name for block in body.content for name in block)


def _told_by(body: bytes) -> Iterator[str]:
    """Yield the parts of a request on which the members of an answer depend."""
    yield from (name for name in ("cachePoint", "systemTool", "stopSequences", "latency") if name.encode() in body)


def _least(answer: CensusAnswer) -> Reply | None:
    """The message of an answer as a test would write it; None for an answer without a message."""
    if any(is_exception(name) for name, _ in answer.events):
        return None
    if answer.operation == "ConverseStream":
        try:
            read = assemble({name: from_wire(name, unpadded(members))} for name, members in answer.events)
        except ConverseHarnessError:
            return None
        message, reason = read.message, read.stop_reason
    else:
        whole = bedrock.from_json("ConverseResponse", answer.events[0][1])
        message, reason = whole["output"]["message"], whole["stopReason"]
    content = list(_least_blocks(message["content"])) or [{"text": "ok"}]
    reason = reason if reason in bedrock.enum("StopReason") else "end_turn"
    return reply.message(*content, stop_reason=reason, strict=False)


def unpadded(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in members.items() if name != "p"}


def _least_blocks(content: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The blocks that every test writes, thoughts as `reply.reasoning` makes them.

    What else the model sent must come from a case or a strategy.
    """
    for block in content:
        match block:
            case {"toolUse": {"type": "server_tool_use"}}:
                pass
            case {"toolUse": use}:
                yield {"toolUse": {"name": use["name"], "input": use["input"]}}
            case {"reasoningContent": {"reasoningText": {"text": str(text)}}} if text:
                yield {"reasoningContent": {"reasoningText": {"text": text, "signature": USUAL_SIGNATURE}}}
            case {"text": str(text)} if text:
                yield {"text": text}
            case _:
                pass


def _asked(scripted: Reply, model_id: str, operation: str, body: bytes, rules: Any = "off") -> CensusAnswer:
    endpoint = Endpoint(scripted, rules=rules, history="off")
    path = f"/model/{quote(model_id, safe='')}/{OPERATIONS[operation]}"
    response = endpoint.exchange(Request("POST", path, (), body)).response
    data = b"".join(chunk.data for chunk in response.chunks)
    headers = (("Date", ""), *response.headers)  # every transport adds it
    error = next((value.partition(":")[0] for name, value in headers if name.lower() == "x-amzn-errortype"), "")
    is_stream = not error and operation == "ConverseStream"
    events = tuple(events_in(data)) if is_stream else (("body", json.loads(data)),)
    return CensusAnswer(model_id, operation, events, status=response.status, error=error, headers=headers)


def of_cases() -> Iterator[tuple[str, CensusAnswer]]:
    """Yield each answer of each case, with the name of the case; not those with a fault, which is a breach."""
    for name, case in CASES.items():
        for made in case.replies:
            if not made.plan.placements and made.plan.failure is None:
                for operation in OPERATIONS:
                    if operation == "ConverseStream" or not case.stream_only:
                        yield name, _asked(made, NEUTRAL, operation, json.dumps(ASKED).encode())


def drawn(needed: Set[What]) -> set[What]:
    """Return what the strategies draw. They draw the same each time, and go on until all of `needed` is found, or until
    they have drawn _BATCHES times without it.
    """
    found: set[What] = set()
    for number in range(_BATCHES):
        for row in _DRAWN:
            if any(fnmatchcase(f"{operation} {what}", row.could) for _, operation, what in needed - found):
                for answer in (each for value in _draws(row.strategy(), number) for each in row.answers(value)):
                    found |= {(kind, answer.operation, what) for kind, what in observations(answer)}
    return found


def _of_trace(trace: Any) -> Iterator[CensusAnswer]:
    traced = _body({"trace": {"guardrail": trace}})
    yield CensusAnswer(NEUTRAL, "Converse", (("body", traced),))
    yield CensusAnswer(NEUTRAL, "ConverseStream", (("metadata", traced),))


def _of_use(use: Any) -> Iterator[CensusAnswer]:
    message = {"role": "assistant", "content": [{"toolUse": use}]}
    yield CensusAnswer(NEUTRAL, "Converse", (("body", _body({"output": {"message": message}})),))
    start = {"contentBlockIndex": 0, "start": {"toolUse": {name: use[name] for name in ("toolUseId", "name")}}}
    yield CensusAnswer(NEUTRAL, "ConverseStream", (("contentBlockStart", start),))


def _of_events(events: Any) -> Iterator[CensusAnswer]:
    yield CensusAnswer(NEUTRAL, "ConverseStream", tuple(events_in(b"".join(map(encode_event, events)))))


def _of_response(response: Any) -> Iterator[CensusAnswer]:
    yield CensusAnswer(NEUTRAL, "Converse", (("body", _body(response)),))


def _of_reply(made: Any) -> Iterator[CensusAnswer]:
    yield _asked(made, NEUTRAL, "ConverseStream", json.dumps(ASKED).encode())


def _body(response: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(bedrock.to_json("ConverseResponse", response))
    return made


class _Drawn(NamedTuple):
    """A strategy, the answers that a drawn value makes, and a pattern of what they could have."""

    strategy: Callable[[], st.SearchStrategy[Any]]
    answers: Callable[[Any], Iterator[CensusAnswer]]
    could: str


_DRAWN: Final = (
    _Drawn(guardrail_traces, _of_trace, "* *.trace.*"),
    _Drawn(partial(guardrail_traces, actions=["ANONYMIZED"]), _of_trace, "* *.sensitiveInformationPolicy.*"),
    _Drawn(tool_uses, _of_use, "* *.toolUseId: *"),
    _Drawn(stream_events, _of_events, "ConverseStream *"),
    _Drawn(converse_responses, _of_response, "Converse *"),
    _Drawn(stream_errors, _of_reply, "ConverseStream *"),
)


def _draws(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=_BATCH,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        deadline=None,
    )
    @seed(number)
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
