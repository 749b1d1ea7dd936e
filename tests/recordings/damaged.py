"""Recordings line by line: sound ones, and what can be wrong with one, with what is said of it."""

import base64
import json
from typing import Any

from converse_harness import bedrock
from converse_harness.recordings.format.read import NESTED

BOTOCORE = f"botocore {bedrock.botocore_version()}"
SOME_OPERATIONS = ", ".join(bedrock.operations())
EVENTS = bedrock.operation("ConverseStream").get_event_stream_output().members
DELTAS = ", ".join(map(repr, bedrock.shape("ContentBlockDelta").members))
REASONS = ", ".join(map(repr, bedrock.enum("StopReason")))

MEND = "Mend the line, or record the session again."
MEANT = 'Mend it; or if it is meant, say so in line 2: "faults": ["what is wrong"].'

HEADER = {"format": "converse-recording", "version": 2}
CALL = {"call": 1, "operation": "ConverseStream", "modelId": "m", "request": {"messages": []}}
HEAD = {"t": 398, "status": 200, "requestId": "5d4c"}
START = {"t": 412, "messageStart": {"role": "assistant"}, "p": 31}
TEXT = {"t": 413, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "From Chur"}}, "p": 7}
MORE = {
    "t": 414,
    "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": " to Tirano"}},
    "p": 9,
    "joined": True,
}
CLOSE = {"t": 415, "contentBlockStop": {"contentBlockIndex": 0}, "p": 3}
STOP = {"t": 415, "messageStop": {"stopReason": "end_turn"}, "p": 12}
USAGE = {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13}
LAST = {"t": 416, "metadata": {"usage": USAGE, "metrics": {"latencyMs": 397}}, "p": 5}
STREAM = [HEADER, CALL, HEAD, START, TEXT, MORE, CLOSE, STOP, LAST]

SECOND = {"call": 2, "operation": "Converse", "modelId": "m", "request": {"messages": []}}
THROTTLED = {"t": 20, "status": 429, "type": "ThrottlingException", "body": {"message": "Too many requests"}}
REFUSED = {"t": 1, "failed": "connection refused"}
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}},
    "stopReason": "end_turn",
    "usage": USAGE,
    "metrics": {"latencyMs": 12},
}


def text(*lines: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def stream(at: int, *instead: dict[str, Any]) -> str:
    """The sound stream with other lines in the place of one."""
    return text(*STREAM[: at - 1], *instead, *STREAM[at:])


PARTS: list[dict[str, Any]] = [
    {"part": "system 1", "is": [{"text": "You are a guide."}]},
    {"part": "message 1", "is": {"role": "user", "content": [{"text": "Where to?"}]}},
]
NAMING = {"call": 1, "operation": "ConverseStream", "modelId": "m", "parts": ["system 1", "message 1"]}
GOING_ON = {**NAMING, "call": 2, "parts": ["system 1", "message 1", "answer 1", "message 2"]}
IN_PARTS: list[dict[str, Any]] = [
    HEADER,
    *PARTS,
    NAMING,
    *STREAM[2:],
    {"part": "message 2", "is": {}},
    GOING_ON,
    *STREAM[2:],
]


def in_parts(at: int, *instead: dict[str, Any]) -> str:
    """The sound session of two calls that name parts, with other lines in the place of one."""
    return text(*IN_PARTS[: at - 1], *instead, *IN_PARTS[at:])


def without(key: str, line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != key}


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


SOUND = {
    "a stream": text(*STREAM),
    "no call": text(HEADER),
    "calls that name parts": text(*IN_PARTS),
    "parts beside a request": in_parts(4, {**NAMING, "request": {"inferenceConfig": {"maxTokens": 9}}}),
    "lines that end in CRLF": text(*STREAM).replace("\n", "\r\n"),
    "a last line without an end": text(*STREAM).rstrip("\n"),
    "spaces around the lines": text(*STREAM).replace("\n", " \n "),
    "an error and an answer": text(HEADER, CALL, THROTTLED, SECOND, {"t": 3, "status": 200, "body": ANSWER}),
    "a failure": text(HEADER, CALL, REFUSED, SECOND, REFUSED),
    "a client that left": text(*STREAM[:5], {"t": 500, "end": "closed by client"}),
    "a connection that broke in a frame": text(
        *STREAM[:5], {"t": 500, "bytes": base64_of(bytes(9))}, {"t": 500, "end": "connection reset"}
    ).replace(base64_of(bytes(9)), base64_of(b"\x00\x00\x00\x9b\x00\x00\x00\x55\x11")),
    "an exception in the stream": text(*STREAM[:5], {"t": 500, "throttlingException": {"message": "slow down"}}),
    "an unmodelled error in the stream": text(*STREAM[:5], {"t": 500, ":error": {"code": "500", "message": "oh"}}),
    "an operation that is not known": text(
        HEADER, {"call": 1, "method": "GET", "path": "/x"}, {"t": 1, "status": 200, "bodyText": "hi"}
    ),
    "a control-plane operation": text(
        HEADER,
        {"call": 1, "operation": "GetInferenceProfile", "inferenceProfileIdentifier": "us.x"},
        {"t": 1, "status": 200, "body": {"any": "thing"}},
    ),
    "a body that was cut": text(
        HEADER,
        {**CALL, "operation": "Converse"},
        {"t": 1, "status": 200, "bodyText": '{"outp'},
        {"t": 2, "end": "stalled"},
    ),
    "a faulty stream that says so": text(HEADER, {**CALL, "faults": ["messageStop is missing"]}, *STREAM[2:-2], LAST),
    "an error without its header": text(HEADER, CALL, without("type", THROTTLED)),
    "a body of another operation": text(
        HEADER,
        {"call": 1, "operation": "InvokeModel", "modelId": "m", "requestText": "prompt"},
        {"t": 1, "status": 200, "bodyText": "anything"},
    ),
    "a newer botocore with members that are not known": text(
        {**HEADER, "botocore": "999.0.0"},
        {"call": 1, "operation": "ConverseTwice", "modelId": "m", "another": "label"},
        {"t": 1, "status": 200, "body": {}},
        {**SECOND, "operation": "Converse"},
        {"t": 3, "status": 200, "body": {**ANSWER, "stopReason": "bored", "mood": "fine"}},
        {**CALL, "call": 3},
        {"t": 1, "status": 418, "type": "TeapotException", "body": {}},
    ),
    "an older botocore with less that was required": text(
        {**HEADER, "botocore": "1.0.0"},
        {**CALL, "operation": "Converse"},
        {"t": 3, "status": 200, "body": without("usage", ANSWER)},
    ),
}

DAMAGED: dict[str, tuple[str, int, str]] = {
    "not JSON": (
        stream(5).replace('{"t": 414', '{"t: 414'),
        5,
        "this line is not JSON (Expecting ':' delimiter: column 12).",
    ),
    "cut off": (
        text(*STREAM)[:-30],
        9,
        "this line is not JSON (Expecting value: column 102). The file ends in the middle of it.",
    ),
    "cut off at its beginning": (
        text(*STREAM[:4]) + "{",
        5,
        (
            "this line is not JSON (Expecting property name enclosed in double quotes: column 2). The"
            " file ends in the middle of it."
        ),
    ),
    "two on a line": (
        text(*STREAM[:4]).rstrip("\n") + text(STREAM[4]),
        4,
        "this line is not JSON (there is more behind its value: column 59).",
    ),
    "a list": (
        text(*STREAM[:4]) + '["Zürich"]\n',
        5,
        'this line is ["Zürich"]; a line is a JSON object.',
    ),
    "value over two lines": (
        text(HEADER) + '{"call": [{}\n{}]},{"a":{}}\n',
        2,
        "this line is not JSON (Expecting ',' delimiter: column 13).",
    ),
    "NaN": (
        stream(3, {**HEAD, "t": float("nan")}),
        3,
        "this line is not JSON (NaN is not JSON).",
    ),
    "too large a number": (
        text(*STREAM).replace('"latencyMs": 397', '"latencyMs": 1e999'),
        9,
        "this line is not JSON (1e999 is larger than any float).",
    ),
    "nested deep": (
        stream(2, {**CALL, "request": nested(NESTED)}),
        2,
        "this line is nested more than 203 levels deep.",
    ),
    "nested deeper than Python goes": (
        stream(2, {**CALL, "request": "XX"}).replace('"XX"', "[" * 100000 + "]" * 100000),
        2,
        "this line is nested more than 203 levels deep.",
    ),
    "unknown in header": (
        text({**HEADER, "botcore": "1.2"}),
        1,
        (
            'the key "botcore" is not known; did you mean "botocore"? It is the header of a file, '
            "with format, version, recorded, imported, by, botocore."
        ),
    ),
    "unknown in call": (
        stream(2, {**CALL, "fault": ["x"]}),
        2,
        (
            'the key "fault" is not known; did you mean "faults"? It is a call, with call, operation,'
            " service, method, path, query, headers, faults, masked, anyRequest, parts, request, requestText,"
            " requestBase64, modelId."
        ),
    ),
    "unknown label": (
        stream(2, {**CALL, "modelid": "x"}),
        2,
        (
            'the key "modelid" is not known; did you mean "modelId"? It is a call, with call, '
            "operation, service, method, path, query, headers, faults, masked, anyRequest, parts, request, "
            "requestText, requestBase64, modelId."
        ),
    ),
    "no label": (
        stream(2, without("modelId", CALL)),
        2,
        '"modelId" is missing: a label in the path of ConverseStream.',
    ),
    "an operation misspelt": (
        stream(2, {**CALL, "operation": "ConversStream"}),
        2,
        f'"operation" is "ConversStream", which {BOTOCORE} does not have; did you mean "ConverseStream"?',
    ),
    "no operation of AWS": (
        stream(2, {**CALL, "operation": "Zzz"}),
        2,
        f'"operation" is "Zzz", which {BOTOCORE} does not have; it has {SOME_OPERATIONS}, for instance.',
    ),
    "an operation that is no text": (
        stream(2, {**CALL, "operation": 5}),
        2,
        '"operation" is 5; it must be a text that is not empty.',
    ),
    "neither operation nor path": (
        stream(2, without("operation", without("modelId", CALL))),
        2,
        'it has either "operation", or "method" and "path" where that is not known.',
    ),
    "operation and path": (
        stream(2, {**CALL, "method": "GET", "path": "/"}),
        2,
        'it has either "operation", or "method" and "path" where that is not known.',
    ),
    "two requests": (
        stream(2, {**CALL, "requestText": "x"}),
        2,
        "it has request and requestText; one of them says it all.",
    ),
    "faults in one text": (
        stream(2, {**CALL, "faults": "x"}),
        2,
        '"faults" is "x"; it must be a list of texts, none of them empty.',
    ),
    "a fault without words": (
        stream(2, {**CALL, "faults": [""]}),
        2,
        '"faults" is [""]; it must be a list of texts, none of them empty.',
    ),
    "an absent request header": (
        stream(2, {**CALL, "headers": {"a": None}}),
        2,
        '"headers" is {"a": null}; it must be an object with the values of HTTP headers.',
    ),
    "a request that is no base64": (
        stream(2, {**without("request", CALL), "requestBase64": "%%"}),
        2,
        '"requestBase64" is "%%"; it must be a text in base64.',
    ),
    "the first call is 2": (
        stream(2, {**CALL, "call": 2}),
        2,
        '"call" is 2; the calls are numbered from 1, and this is call 1.',
    ),
    "a call's number again": (
        text(*STREAM, CALL, REFUSED),
        10,
        '"call" is 1; the calls are numbered from 1, and this is call 2.',
    ),
    "a call's number left out": (
        text(*STREAM, {**SECOND, "call": 3}, REFUSED),
        10,
        '"call" is 3; the calls are numbered from 1, and this is call 2.',
    ),
    "a call's number as text": (
        stream(2, {**CALL, "call": "1"}),
        2,
        '"call" is "1"; it must be a whole number from 1.',
    ),
    "nothing after a call": (
        text(HEADER, CALL),
        2,
        ("the file ends after this line; after a call comes the head of an answer or a failure instead of an answer."),
    ),
    "a call after a call": (
        text(HEADER, CALL, SECOND, REFUSED),
        3,
        ("this line is a call; after a call comes the head of an answer or a failure instead of an answer."),
    ),
    "event first": (
        text(HEADER, START),
        2,
        "this line is an event, messageStart; after the header of a file comes a call or a part of requests.",
    ),
    "status misspelt": (
        stream(3, {"t": 1, "staus": 200}),
        3,
        ("this line is an event, staus; after a call comes the head of an answer or a failure instead of an answer."),
    ),
    "a part that is not there": (
        in_parts(13, {**GOING_ON, "parts": ["message 3"]}),
        13,
        '"parts" names "message 3"; no line before this one has that part.',
    ),
    "a part that comes later": (
        in_parts(4, {**NAMING, "parts": ["message 2"]}),
        4,
        '"parts" names "message 2"; no line before this one has that part.',
    ),
    "the answer to itself": (
        in_parts(13, {**GOING_ON, "parts": ["message 1", "answer 2"]}),
        13,
        '"parts" names "answer 2"; there is no message that call 2 was answered with.',
    ),
    "an answer that is no message": (
        text(HEADER, *PARTS, NAMING, THROTTLED, {"part": "message 2", "is": {}}, GOING_ON, REFUSED),
        7,
        '"parts" names "answer 1"; there is no message that call 1 was answered with.',
    ),
    "two system prompts": (
        in_parts(4, {**NAMING, "request": {"system": []}}),
        4,
        'it has "system" twice: it is in "parts" once, or in "request".',
    ),
    "messages here and there": (
        in_parts(4, {**NAMING, "request": {"messages": []}}),
        4,
        'it has "messages" twice: it is in "parts" once, or in "request".',
    ),
    "parts beside a request that is none": (
        in_parts(4, {**NAMING, "request": []}),
        4,
        '"request" is []; beside "parts" it is an object.',
    ),
    "a part of another name": (
        in_parts(2, {"part": "prompt 1", "is": 1}),
        2,
        '"part" is "prompt 1"; it must be a name such as "message 1", for message, system, toolConfig, tools.',
    ),
    "a part that is nothing": (in_parts(2, {"part": "system 1"}), 2, '"is" is missing: the part itself.'),
    "no parts": (
        in_parts(4, {**NAMING, "parts": []}),
        4,
        '"parts" is []; it must be a list of the names of parts, or of answers, such as "message 1" and "answer 1".',
    ),
    "a part that is there twice": (
        in_parts(12, PARTS[0]),
        12,
        'the part "system 1" is there already, in line 2.',
    ),
    "a file that ends in a part": (
        text(*IN_PARTS[:12]),
        12,
        "the file ends after this line; after a part of requests comes a call or a part of requests.",
    ),
    "status as text": (
        stream(3, {**HEAD, "status": "200"}),
        3,
        '"status" is "200"; it must be an HTTP status from 200 to 599.',
    ),
    "an informational status": (
        stream(3, {**HEAD, "status": 100}),
        3,
        '"status" is 100; it must be an HTTP status from 200 to 599.',
    ),
    "a time before the request": (
        stream(3, {**HEAD, "t": -1}),
        3,
        '"t" is -1; it must be whole milliseconds, from 0 to 10000000000.',
    ),
    "half a millisecond": (
        stream(3, {**HEAD, "t": 1.5}),
        3,
        '"t" is 1.5; it must be whole milliseconds, from 0 to 10000000000.',
    ),
    "no time": (
        stream(3, without("t", HEAD)),
        3,
        '"t" is missing: milliseconds from the request to the data of this line.',
    ),
    "a key misspelt": (
        stream(3, {**HEAD, "requestid": "x"}),
        3,
        (
            'the key "requestid" is not known; did you mean "requestId"? It is the head of an answer,'
            " with t, status, type, requestId, headers, body, bodyText, bodyBase64."
        ),
    ),
    "a header's name": (
        stream(3, {**HEAD, "headers": {"a b": "c"}}),
        3,
        (
            '"headers" is {"a b": "c"}; it must be an object with the values of HTTP headers; null '
            "for a header that was not sent."
        ),
    ),
    "two headers in one": (
        stream(3, {**HEAD, "headers": {"a": "c\r\nd: e"}}),
        3,
        (
            '"headers" is {"a": "c\\r\\nd: e"}; it must be an object with the values of HTTP headers; '
            "null for a header that was not sent."
        ),
    ),
    "a header that is a number": (
        stream(3, {**HEAD, "headers": {"a": 5}}),
        3,
        (
            '"headers" is {"a": 5}; it must be an object with the values of HTTP headers; null for '
            "a header that was not sent."
        ),
    ),
    "an error's name": (
        text(HEADER, CALL, {**THROTTLED, "type": "a b"}),
        3,
        '"type" is "a b"; it must be the name of an error.',
    ),
    "body and events": (
        stream(3, {**HEAD, "body": {}}),
        4,
        "this line is an event, messageStart; after a head with a body comes a bad end, a call or a part of requests.",
    ),
    "two bodies": (
        text(HEADER, CALL, {**THROTTLED, "bodyText": "x"}),
        3,
        "it has body and bodyText; one of them says it all.",
    ),
    "half a character": (
        text(HEADER, CALL, {**THROTTLED, "body": "X"}).replace('"X"', '"\\ud800"'),
        3,
        '"body" is "\\ud800"; it must be JSON without half of a surrogate pair.',
    ),
    "two heads": (
        stream(4, HEAD, START),
        4,
        (
            "this line is the head of an answer; after the head of an answer comes an event, bytes of"
            " a stream, a bad end, a call or a part of requests."
        ),
    ),
    "another failure": (
        text(HEADER, CALL, {"t": 1, "failed": "x"}),
        3,
        (
            "\"failed\" is \"x\"; it must be one of 'connection refused', 'connect timeout', 'read "
            "timeout', 'connection closed'."
        ),
    ),
    "events after a failure": (
        text(HEADER, CALL, REFUSED, START),
        4,
        (
            "this line is an event, messageStart; after a failure instead of an answer comes a call or a part of "
            "requests."
        ),
    ),
    "an end after a failure": (
        text(HEADER, CALL, REFUSED, {"t": 5, "end": "stalled"}),
        4,
        "this line is a bad end; after a failure instead of an answer comes a call or a part of requests.",
    ),
    "status and failure": (
        text(HEADER, CALL, {**REFUSED, "status": 200}),
        3,
        (
            'the key "failed" is not known; it is the head of an answer, with t, status, type, '
            "requestId, headers, body, bodyText, bodyBase64."
        ),
    ),
    "another end": (
        text(*STREAM[:5], {"t": 5, "end": "x"}),
        6,
        ("\"end\" is \"x\"; it must be one of 'closed by client', 'connection reset', 'connection closed', 'stalled'."),
    ),
    "events after an end": (
        text(*STREAM[:5], {"t": 5, "end": "stalled"}, LAST),
        7,
        "this line is an event, metadata; after a bad end comes a call or a part of requests.",
    ),
    "an end without time": (
        text(*STREAM[:5], {"end": "stalled"}),
        6,
        '"t" is missing: milliseconds from the request to the data of this line.',
    ),
    "padding too long": (
        stream(4, {**START, "p": 63}),
        4,
        '"p" is 63; it must be a length from 0 to 62.',
    ),
    "padding of a delta too long": (
        stream(5, {**TEXT, "p": 63}),
        5,
        '"p" is 63; it must be a length from 0 to 62.',
    ),
    "padding below 0": (
        stream(4, {**START, "p": -1}),
        4,
        '"p" is -1; it must be a length from 0 to 62.',
    ),
    "padding that is no number": (
        stream(4, {**START, "p": True}),
        4,
        '"p" is true; it must be a length from 0 to 62.',
    ),
    "joined as number": (
        stream(4, {**START, "joined": 1}),
        4,
        '"joined" is 1; it must be true or false.',
    ),
    "payload as number": (
        stream(4, {**START, "payload": 1}),
        4,
        '"payload" is 1; it must be a text.',
    ),
    "frame that is no base64": (
        stream(4, {**START, "frame": "?"}),
        4,
        '"frame" is "?"; it must be a text in base64.',
    ),
    "payload and frame": (
        stream(4, {**START, "frame": "AAAA", "payload": "x"}),
        4,
        "it has payload and frame; one of them says it all.",
    ),
    "payload without event": (
        stream(4, {"t": 1, "frame": "AAAA", "payload": "x"}),
        4,
        "it has payload and frame; one of them says it all.",
    ),
    "no event": (
        stream(4, {"t": 1}),
        4,
        "it has no event; a line has one, and beside it t, p, joined, payload, frame.",
    ),
    "padding without event": (
        stream(4, {"t": 1, "p": 5}),
        4,
        "it has no event; a line has one, and beside it t, p, joined, payload, frame.",
    ),
    "two events": (
        stream(4, {**START, "messageStop": {}}),
        4,
        ('it has "messageStart" and "messageStop"; a line has one event, and beside it t, p, joined, payload, frame.'),
    ),
    "joined misspelt": (
        stream(4, {**START, "join": True}),
        4,
        ('it has "messageStart" and "join"; a line has one event, and beside it t, p, joined, payload, frame.'),
    ),
    "an event that is no object": (
        stream(4, {"t": 1, "messageStart": "assistant"}),
        4,
        '"messageStart" is "assistant"; it must be an object.',
    ),
    "an error frame without message": (
        text(*STREAM[:5], {"t": 5, ":error": {"code": 5}}),
        6,
        '":error" is {"code": 5}; it has a "code" and a "message", each a text.',
    ),
    "bytes that are no base64": (
        stream(4, {"t": 1, "bytes": "?"}),
        4,
        '"bytes" is "?"; it must be a text in base64.',
    ),
    "padded bytes": (
        stream(4, {"t": 1, "bytes": "", "p": 1}),
        4,
        'the key "p" is not known; it is bytes of a stream, with t, joined, bytes.',
    ),
    "an event's name with half a character": (
        stream(4, {"t": 1, "XX": {}, "p": 1}).replace("XX", "\\ud800"),
        4,
        '"\\ud800" cannot be sent as an event.',
    ),
}
"""What is wrong with a file and is to be mended: the text, the line and what is said of it."""

ILLEGAL: dict[str, tuple[str, int, str]] = {
    "an error without a body": (
        stream(3, {**HEAD, "status": 429}),
        3,
        'status 429 has no body; only 200 has a stream. Give it a "body".',
    ),
    "an event without a name": (
        stream(4, {"t": 1, "": {}, "p": 1}),
        4,
        f'ConverseStream has no event "" ({BOTOCORE}); it has {", ".join(EVENTS)}.',
    ),
    "a delta before messageStart": (
        stream(4, TEXT),
        4,
        ("events[0] is contentBlockDelta.text before any messageStart. Legal there: messageStart, an exception frame."),
    ),
    "unknown event": (
        stream(5, {"t": 1, "contentBlokDelta": {}}),
        5,
        f'ConverseStream has no event "contentBlokDelta" ({BOTOCORE}); did you mean "contentBlockDelta"?',
    ),
    "unknown member": (
        stream(5, {**TEXT, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"txt": "a"}}}),
        5,
        (
            "contentBlockDelta.delta has the unknown member 'txt'; did you mean 'text'? A ContentBlockDelta has "
            f"{DELTAS} (AWS model ContentBlockDelta, {BOTOCORE})."
        ),
    ),
    "a member too many where a block goes on": (
        stream(6, {"t": 414, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}, "x": 1}, "p": 9}),
        6,
        (
            "contentBlockDelta has the unknown member 'x'; a ContentBlockDeltaEvent has "
            f"{', '.join(map(repr, bedrock.shape('ContentBlockDeltaEvent').members))}, 'p' (AWS model "
            f"ContentBlockDeltaEvent, {BOTOCORE})."
        ),
    ),
    "type of member": (
        stream(5, {**TEXT, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": 5}}}),
        5,
        "contentBlockDelta.delta.text is 5 (int); it must be a str (AWS model String).",
    ),
    "another block's index": (
        stream(6, {**MORE, "contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "5"}}}),
        6,
        (
            "events[2] contentBlockDelta has contentBlockIndex 1; the open block is 0: blocks are "
            "numbered from 0 and never interleave."
        ),
    ),
    "unfinished": (
        text(*STREAM[:6]),
        6,
        (
            "The stream ends in block 0 (text) after 3 events. Legal there: contentBlockDelta.text, "
            "contentBlockStop, an exception frame."
        ),
    ),
    "no events": (
        text(*STREAM[:3]),
        3,
        ("The stream ends before any messageStart after 0 events. Legal there: messageStart, an exception frame."),
    ),
    "after exception": (
        text(*STREAM[:4], {"t": 5, "throttlingException": {"message": "x"}}, TEXT),
        6,
        ("events[2] is contentBlockDelta.text after an exception frame, which ends a stream. Legal there: nothing."),
    ),
    "bytes between events": (
        stream(5, {"t": 1, "bytes": "AAAA"}),
        5,
        "these bytes are no event of a stream.",
    ),
    "bytes at an end that is none": (
        text(*STREAM[:5], {"t": 1, "bytes": "AAAA"}),
        6,
        "these bytes are no event of a stream.",
    ),
    "a frame that cannot be read": (
        stream(5, {"t": 1, "frame": "AAAA"}),
        5,
        "these bytes are no event of a stream.",
    ),
    "damage before a bad end": (
        text(*STREAM[:5], {"t": 1, "bytes": base64_of(bytes(20))}, {"t": 2, "end": "stalled"}),
        6,
        "these bytes are no event of a stream.",
    ),
    "a stop reason misspelt": (
        stream(8, {**STOP, "messageStop": {"stopReason": "endturn"}}),
        8,
        (
            "messageStop.stopReason is 'endturn'; did you mean 'end_turn'? A StopReason is one of "
            f"{REASONS} (AWS model StopReason, {BOTOCORE})."
        ),
    ),
    "another stop reason": (
        text(HEADER, {**CALL, "operation": "Converse"}, {"t": 3, "status": 200, "body": {**ANSWER, "stopReason": "x"}}),
        3,
        f"stopReason is 'x'; a StopReason is one of {REASONS} (AWS model StopReason, {BOTOCORE}).",
    ),
    "a body without its members": (
        text(HEADER, {**CALL, "operation": "Converse"}, {"t": 3, "status": 200, "body": {}}),
        3,
        (
            "the ConverseResponse lacks 'output'; a ConverseResponse needs 'output', 'stopReason', "
            "'usage', 'metrics' (AWS model ConverseResponse)."
        ),
    ),
    "a body of HTML": (
        text(HEADER, {**CALL, "operation": "Converse"}, {"t": 3, "status": 200, "bodyText": "<html>"}),
        3,
        "the body is not the JSON of a ConverseResponse.",
    ),
    "a list as body": (
        text(HEADER, {**CALL, "operation": "Converse"}, {"t": 3, "status": 200, "body": []}),
        3,
        "the ConverseResponse is [] (list); it must be a dict (AWS model ConverseResponse).",
    ),
    "a stream for Converse": (
        stream(2, {**CALL, "operation": "Converse"}),
        3,
        "Converse answers with a body, not with an event stream.",
    ),
    "a body for ConverseStream": (
        text(HEADER, CALL, {"t": 3, "status": 200, "body": ANSWER}),
        3,
        "ConverseStream answers with an event stream, not with a body.",
    ),
    "an error misspelt": (
        text(HEADER, CALL, {**THROTTLED, "type": "ThrotlingException"}),
        3,
        (f'AWS\'s API model has no error "ThrotlingException" ({BOTOCORE}); did you mean "ThrottlingException"?'),
    ),
    "an error's status": (
        text(HEADER, CALL, {**THROTTLED, "status": 400}),
        3,
        "ThrottlingException has status 429, not 400 (AWS model).",
    ),
    "an error's member": (
        text(HEADER, CALL, {**THROTTLED, "body": {"message": 5}}),
        3,
        "message is 5 (int); it must be a str (AWS model NonBlankString).",
    ),
    "status 201": (
        text(HEADER, CALL, {"t": 3, "status": 201, "body": {}}),
        3,
        "ConverseStream answers with status 200, not 201.",
    ),
    "content that is no list": (
        text(
            HEADER,
            {**CALL, "operation": "Converse"},
            {"t": 3, "status": 200, "body": {**ANSWER, "output": {"message": {"role": "assistant", "content": 5}}}},
        ),
        3,
        "output.message.content is 5 (int); it must be a list (AWS model ContentBlocks).",
    ),
}
"""What AWS would not have sent."""

OTHERS: dict[str, tuple[str, int, str]] = {
    "an empty file": ("", 1, "the file is empty. Record the session again."),
    "a byte order mark": (
        "\ufeff" + text(*STREAM),
        1,
        "the file begins with a byte order mark. Save it as UTF-8 without one.",
    ),
    "another file": (
        text({"log": {"version": "1.2"}}),
        1,
        (
            'the first line is {"log": {"version": "1.2"}}; that of a recording has "format": "converse-recording". '
            "Is it another file?"
        ),
    ),
    "a newer version": (
        text({**HEADER, "version": 3}),
        1,
        (
            '"version" is 3; this converse-harness reads version 2. Install a newer converse-harness, or record the '
            "session again."
        ),
    ),
    "an older version": (
        text({**HEADER, "version": 1}),
        1,
        '"version" is 1; this converse-harness reads version 2. Record the session again.',
    ),
    "no version": (
        text(without("version", HEADER)),
        1,
        '"version" is null; this converse-harness reads version 2. Record the session again.',
    ),
    "no header": (
        text(*STREAM[2:]),
        1,
        (
            'the first line is {"t": 398, "status": 200, "requestId": "5d4c"}; that of a recording has "format": '
            '"converse-recording". Is it another file?'
        ),
    ),
    "blank": (
        text(*STREAM[:4]) + "\n" + text(*STREAM[4:]),
        5,
        "this line is empty. Delete it.",
    ),
}
"""What has an advice of its own."""
